#include "scores/porter.h"

#include <glib.h>
#include <stdbool.h>
#include <string.h>

/* A word and its length; a stem is a prefix of the word. */
typedef struct Word {
    char *at;
    int n;
} Word;

/* Whether a letter is a consonant, given whether the letter before it is one; y is a consonant at the start of a word
 * and after a vowel. */
static bool is_consonant_after(char letter, bool after_consonant)
{
    return letter == 'y' ? !after_consonant : strchr("aeiou", letter) == NULL;
}

static bool is_consonant(const char *word, int i)
{
    int first = i; /* first of the letters y that end at i, or i */
    while (first > 0 && word[first] == 'y')
        first--;
    bool consonant = false;
    for (; first <= i; first++)
        consonant = is_consonant_after(word[first], consonant);
    return consonant;
}

/* Porter's measure: the m of a word of the form [C](VC)^m[V], with C and V runs of consonants and vowels. */
static int measure_word(const char *word, int n)
{
    int m = 0;
    bool before = false;
    for (int i = 0; i < n; i++) {
        bool consonant = is_consonant_after(word[i], before);
        m += i > 0 && consonant && !before;
        before = consonant;
    }
    return m;
}

static bool has_vowel(const char *word, int n)
{
    bool consonant = false;
    for (int i = 0; i < n; i++)
        if (!(consonant = is_consonant_after(word[i], consonant)))
            return true;
    return false;
}

static bool ends_double_consonant(const char *word, int n)
{
    return n >= 2 && word[n - 1] == word[n - 2] && is_consonant(word, n - 1);
}

/* Whether the word ends in consonant, vowel, consonant other than w, x, y; NLTK also accepts a word of one vowel and
 * one consonant. */
static bool ends_cvc(const char *word, int n)
{
    if (n == 2)
        return !is_consonant(word, 0) && is_consonant(word, 1);
    return n >= 3 && is_consonant(word, n - 3) && !is_consonant(word, n - 2) && is_consonant(word, n - 1) &&
           strchr("wxy", word[n - 1]) == NULL;
}

static bool ends_with(const Word *word, const char *suffix)
{
    int bytes = (int)strlen(suffix);
    return word->n >= bytes && memcmp(word->at + word->n - bytes, suffix, (size_t)bytes) == 0;
}

static void replace(Word *word, const char *suffix, const char *by)
{
    size_t bytes = strlen(by);
    word->n -= (int)strlen(suffix);
    memcpy(word->at + word->n, by, bytes);
    word->n += (int)bytes;
}

/* ---- rules ---- */

typedef struct Rule {
    const char *suffix, *by;
} Rule;

/* Finds the first rule whose suffix ends the word, and replaces it if the measure of the stem is above `least`. */
static void apply_rules(Word *word, const Rule *rules, size_t n, int least)
{
    for (size_t i = 0; i < n; i++)
        if (ends_with(word, rules[i].suffix)) {
            if (measure_word(word->at, word->n - (int)strlen(rules[i].suffix)) > least)
                replace(word, rules[i].suffix, rules[i].by);
            return;
        }
}

static const Rule step_2_rules[] = {
    { "ational", "ate" }, { "tional", "tion" }, { "enci", "ence" }, { "anci", "ance" }, { "izer", "ize" },
    { "bli", "ble" },     { "alli", "al" },     { "entli", "ent" }, { "eli", "e" },     { "ousli", "ous" },
    { "ization", "ize" }, { "ation", "ate" },   { "ator", "ate" },  { "alism", "al" },  { "iveness", "ive" },
    { "fulness", "ful" }, { "ousness", "ous" }, { "aliti", "al" },  { "iviti", "ive" }, { "biliti", "ble" },
    { "fulli", "ful" },
};

static const Rule step_3_rules[] = {
    { "icate", "ic" }, { "ative", "" }, { "alize", "al" }, { "iciti", "ic" },
    { "ical", "ic" },  { "ful", "" },   { "ness", "" },
};

static const Rule step_4_rules[] = {
    { "al", "" },   { "ance", "" }, { "ence", "" },  { "er", "" },   { "ic", "" },  { "able", "" },
    { "ible", "" }, { "ant", "" },  { "ement", "" }, { "ment", "" }, { "ent", "" }, { "ou", "" },
    { "ism", "" },  { "ate", "" },  { "iti", "" },   { "ous", "" },  { "ive", "" }, { "ize", "" },
};

/* Step 1a: plurals. */
static void step_1a(Word *word)
{
    if (word->n == 4 && ends_with(word, "ies"))
        word->n--;
    else if (ends_with(word, "sses") || ends_with(word, "ies"))
        word->n -= 2;
    else if (ends_with(word, "s") && !ends_with(word, "ss"))
        word->n--;
}

/* Repairs the stem after -ed or -ing was removed: hopp → hop, hat → hate, fil → file. */
static void mend_stem(Word *word)
{
    if (ends_with(word, "at") || ends_with(word, "bl") || ends_with(word, "iz")) {
        word->at[word->n++] = 'e';
    } else if (ends_double_consonant(word->at, word->n)) {
        if (strchr("lsz", word->at[word->n - 1]) == NULL)
            word->n--;
    } else if (measure_word(word->at, word->n) == 1 && ends_cvc(word->at, word->n)) {
        word->at[word->n++] = 'e';
    }
}

/* Step 1b: -eed, -ed and -ing. */
static void step_1b(Word *word)
{
    if (ends_with(word, "ied")) {
        word->n -= word->n == 4 ? 1 : 2;
    } else if (ends_with(word, "eed")) {
        if (measure_word(word->at, word->n - 3) > 0)
            word->n--;
    } else {
        int suffix = ends_with(word, "ed") ? 2 : ends_with(word, "ing") ? 3 : 0;
        if (suffix > 0 && has_vowel(word->at, word->n - suffix)) {
            word->n -= suffix;
            mend_stem(word);
        }
    }
}

static void step_1c(Word *word)
{
    if (word->n > 2 && ends_with(word, "y") && is_consonant(word->at, word->n - 2))
        word->at[word->n - 1] = 'i';
}

static void step_2(Word *word)
{
    if (ends_with(word, "alli") && measure_word(word->at, word->n - 4) > 0)
        word->n -= 2;
    if (ends_with(word, "logi") && measure_word(word->at, word->n - 3) > 0)
        word->n--;
    else
        apply_rules(word, step_2_rules, G_N_ELEMENTS(step_2_rules), 0);
}

static void step_4(Word *word)
{
    if (!ends_with(word, "ion"))
        apply_rules(word, step_4_rules, G_N_ELEMENTS(step_4_rules), 1);
    else if (measure_word(word->at, word->n - 3) > 1 && strchr("st", word->at[word->n - 4]))
        word->n -= 3;
}

static void step_5(Word *word)
{
    if (ends_with(word, "e")) {
        int m = measure_word(word->at, word->n - 1);
        if (m > 1 || (m == 1 && !ends_cvc(word->at, word->n - 1)))
            word->n--;
    }
    if (ends_with(word, "ll") && measure_word(word->at, word->n - 1) > 1)
        word->n--;
}

/* Words whose stems NLTK has in a list. */
static const Rule irregular[] = {
    { "skies", "sky" },      { "sky", "sky" },         { "dying", "die" },        { "lying", "lie" },
    { "tying", "tie" },      { "news", "news" },       { "innings", "inning" },   { "inning", "inning" },
    { "outings", "outing" }, { "outing", "outing" },   { "cannings", "canning" }, { "canning", "canning" },
    { "howe", "howe" },      { "proceed", "proceed" }, { "exceed", "exceed" },    { "succeed", "succeed" },
};

void porter_stem(char *text)
{
    Word word = { text, (int)strlen(text) };
    for (size_t i = 0; i < G_N_ELEMENTS(irregular); i++)
        if (strcmp(text, irregular[i].suffix) == 0) {
            strcpy(text, irregular[i].by);
            return;
        }
    if (word.n <= 2)
        return;
    step_1a(&word);
    step_1b(&word);
    step_1c(&word);
    step_2(&word);
    apply_rules(&word, step_3_rules, G_N_ELEMENTS(step_3_rules), 0);
    step_4(&word);
    step_5(&word);
    word.at[word.n] = '\0';
}
