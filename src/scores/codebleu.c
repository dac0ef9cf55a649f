/* codebleu.c: CodeBLEU (Ren et al. 2020) without its data-flow match: BLEU of words, the same with keywords counting
 * five times as much, and the share of the reference's subtrees that the prediction has. Also exact match of words, by
 * which Concode is scored. */
#include "base/python_text.h"
#include "scores/kind.h"
#include "scores/ngrams.h"
#include "scores/python_code.h"
#include "text/syntax/syntax.h"

#include <math.h>
#include <string.h>

/* Columns of a row. An order of n-grams is counted from 0. */
enum {
    LENGTH,
    REFERENCE_LENGTH,
    MATCHES,                        /* n-grams of the prediction that the reference has */
    NGRAMS = MATCHES + BLEU_ORDERS, /* n-grams of the prediction, at least 1 */
    WEIGHTED = NGRAMS +
               BLEU_ORDERS, /* n-grams of the reference that the prediction has; order 1 counts the weights of words */
    WEIGHTS = WEIGHTED + BLEU_ORDERS, /* n-grams of the reference, at least 1; order 1 counts the weights of words */
    SUBTREE_MATCHES = WEIGHTS + BLEU_ORDERS,
    SUBTREES,
    WIDTH
};
G_STATIC_ASSERT(WIDTH == CODEBLEU_WIDTH);

#define OTHER_WEIGHT 0.2 /* weight of a word that is not a keyword; a keyword has weight 1 */
#define NO_MATCH     0.1 /* counts in place of 0 matches (Chen and Cherry 2014, method 1) */

static const SyntaxLimits limits = { .max_bytes = 1 << 18, .max_depth = 1000, .max_seconds = 5, .max_errors = 1 };

static char *without_comments(const char *text);

typedef struct Language {
    const char *name, *keywords;     /* keywords: from CodeBLEU's lists */
    char *(*bare)(const char *text); /* the text whose syntax is compared; g_free */
} Language;
static const Language languages[] = {
    { "java",
      " abstract assert boolean break byte case catch char class const continue default do double else enum "
      "extends final finally float for goto if implements import instanceof int interface long native new "
      "package private protected public return short static strictfp super switch synchronized this throw "
      "throws transient try void volatile while ",
      without_comments },
    { "c_sharp",
      " abstract add alias as ascending async await base bool break by byte case catch char checked class "
      "const continue decimal default delegate descending do double dynamic else enum equals event explicit "
      "extern false finally fixed float for foreach from get global goto group if implicit in int interface "
      "internal into is join let lock long nameof namespace new notnull null object on operator orderby out "
      "override params partial private protected public readonly ref remove return sbyte sealed select set "
      "short sizeof stackalloc static string struct switch this throw true try typeof uint ulong unchecked "
      "unmanaged unsafe ushort using value var virtual void volatile when where while yield ",
      without_comments },
    { "c",
      " _Packed auto break case char const continue default do double else enum extern float for goto if int long "
      "register return short signed sizeof static struct switch typedef union unsigned void volatile while ",
      without_comments },
    { "javascript",
      " True await break case catch class const continue debugger default delete do else enum export "
      "extends false finally for function if implements import in instanceof interface let new null "
      "package private protected public return static super switch this throw try typeof var void while "
      "with yield ",
      without_comments },
    { "go",
      " break case chan const continue default defer else fallthrough false for func go goto if import interface "
      "map package range return select struct switch true type var ",
      without_comments },
    { "python",
      " False None True and as assert async await break case class continue def del elif else except finally "
      "for from global if import in is lambda match nonlocal not or pass raise return try type while with "
      "yield ",
      python_code_bare },
};

/* ---- exact match of words ---- */

static bool same_words(const char *a, const char *b)
{
    const char *word_a, *word_b;
    size_t n_a, n_b;
    while (true) {
        const bool more_a = python_next_word(&a, &word_a, &n_a), more_b = python_next_word(&b, &word_b, &n_b);
        if (!more_a || !more_b)
            return more_a == more_b;
        if (n_a != n_b || memcmp(word_a, word_b, n_a) != 0)
            return false;
    }
}

bool exact_words_measure(ScoreStats *stats, const ScoreInput *in, G_GNUC_UNUSED GError **error)
{
    for (int64_t i = 0; i < in->n; i++) {
        const char *const *reference = in->references[i];
        while (*reference && !same_words(in->predictions[i], *reference))
            reference++;
        stats->at[i] = *reference != NULL;
    }
    return true;
}

/* ---- n-grams ---- */

/* State that is shared by all examples. */
typedef struct Measure {
    NgramTable *table;
    GArray *is_keyword; /* bool, indexed by the number of a token */
    const Language *language;
    const Grammar *grammar;
    SyntaxParser *parser;
    GArray *subtrees[2]; /* uint64_t: hashes of the subtrees of the prediction, of the reference */
} Measure;

/* The words of a text; marks in is_keyword those that are keywords. */
static Tokens take_words(Measure *m, const char *text)
{
    const char *at = text, *word;
    size_t bytes;
    Tokens tokens = ngrams_words(m->table, text);
    for (int64_t i = 0; python_next_word(&at, &word, &bytes); i++) {
        g_autofree char *key = g_strdup_printf(" %.*s ", (int)bytes, word);
        const bool found = strstr(m->language->keywords, key) != NULL;
        if (m->is_keyword->len <= (guint)tokens.ids[i])
            g_array_set_size(m->is_keyword, (guint)tokens.ids[i] + 1);
        g_array_index(m->is_keyword, bool, tokens.ids[i]) = found;
    }
    return tokens;
}

/* Adds up the weights of the reference's words: of those that the prediction has, and of all. */
static void weigh_words(const Measure *m, double *row, const Tokens *prediction, const Tokens *reference)
{
    g_autofree int32_t *left = g_new0(int32_t, (gsize)m->table->n);
    double all = 0;
    for (int64_t i = 0; i < prediction->n; i++)
        left[prediction->ids[i]]++;
    for (int64_t i = 0; i < reference->n; i++) {
        const int32_t id = reference->ids[i];
        const double weight = g_array_index(m->is_keyword, bool, id) ? 1 : OTHER_WEIGHT;
        all += weight;
        if (left[id] > 0 && left[id]-- > 0)
            row[WEIGHTED] += weight;
    }
    row[WEIGHTS] = fmax(all, 1);
}

static void count_ngrams(Measure *m, double *row, const char *prediction_text, const char *reference_text)
{
    ngrams_reset(m->table);
    g_array_set_size(m->is_keyword, 0);
    Tokens prediction = take_words(m, prediction_text), reference = take_words(m, reference_text);
    g_autofree int32_t *a = g_memdup2(prediction.ids, (gsize)prediction.n * sizeof(int32_t)),
                       *b = g_memdup2(reference.ids, (gsize)reference.n * sizeof(int32_t));
    row[LENGTH] = (double)prediction.n;
    row[REFERENCE_LENGTH] = (double)reference.n;
    weigh_words(m, row, &prediction, &reference);
    for (int order = 1; order <= BLEU_ORDERS; order++) {
        const int64_t n_a = ngrams_lengthen(m->table, a, &prediction, order),
                      n_b = ngrams_lengthen(m->table, b, &reference, order);
        const double common = (double)ngrams_common(m->table, a, n_a, b, n_b);
        row[MATCHES + order - 1] = common;
        row[NGRAMS + order - 1] = (double)MAX(n_a, 1);
        if (order > 1) {
            row[WEIGHTED + order - 1] = common;
            row[WEIGHTS + order - 1] = (double)MAX(n_b, 1);
        }
    }
    g_free(prediction.ids);
    g_free(reference.ids);
}

/* ---- subtrees ---- */

/* The end of a comment, a string or a character constant that begins at `at`; NULL if none does. */
static const char *token_end(const char *at)
{
    if (at[0] == '/' && at[1] == '/')
        return at + strcspn(at, "\n");
    if (at[0] == '/' && at[1] == '*') {
        const char *end = strstr(at + 2, "*/");
        return end ? end + 2 : NULL;
    }
    if (*at != '"' && *at != '\'')
        return NULL;
    for (const char *end = at + 1; *end; end++) {
        if (*end == *at)
            return end + 1;
        if (*end == '\\' && *++end == '\0')
            break;
    }
    return NULL;
}

/* The text with a space in place of each comment, without empty lines. g_free. */
static char *without_comments(const char *text)
{
    g_autoptr(GString) plain = g_string_new(NULL);
    while (*text) {
        const char *end = token_end(text);
        const bool comment = end && *text == '/';
        end = end ? end : text + 1;
        g_string_append_len(plain, comment ? " " : text, comment ? 1 : end - text);
        text = end;
    }
    return python_drop_empty_lines(plain->str);
}

static bool take_subtrees(Measure *m, const char *text, GArray *hashes)
{
    g_autofree char *code = python_strip(text), *plain = m->language->bare(code);
    return syntax_subtrees(m->parser, m->grammar, plain, strlen(plain), &limits, hashes) == SYNTAX_TREE;
}

static gboolean same_hash(gconstpointer a, gconstpointer b)
{
    return *(const uint64_t *)a == *(const uint64_t *)b;
}

/* Counts the subtrees of the reference that the prediction has too; equal ones of the reference count separately. */
static void count_subtrees(Measure *m, double *row)
{
    g_autoptr(GHashTable) has = g_hash_table_new(g_int64_hash, same_hash);
    const GArray *prediction = m->subtrees[0], *reference = m->subtrees[1];
    for (guint i = 0; i < prediction->len; i++)
        g_hash_table_add(has, &g_array_index(prediction, uint64_t, i));
    for (guint i = 0; i < reference->len; i++)
        row[SUBTREE_MATCHES] += g_hash_table_contains(has, &g_array_index(reference, uint64_t, i));
    row[SUBTREES] = reference->len;
}

/* ---- the score ---- */

static const Language *find_language(const char *name, GError **error)
{
    g_autoptr(GString) names = g_string_new(NULL);
    for (size_t i = 0; i < G_N_ELEMENTS(languages); i++) {
        if (g_strcmp0(languages[i].name, name) == 0)
            return &languages[i];
        g_string_append_printf(names, "%s%s", i > 0 ? ", " : "", languages[i].name);
    }
    return fail_user(error, "CodeBLEU needs to know the language: --language NAME, one of %s", names->str);
}

static void measure_all(Measure *m, ScoreStats *stats, const ScoreInput *in)
{
    for (int64_t i = 0; i < in->n; i++) {
        double *row = stats_row(stats, i);
        const char *prediction = in->predictions[i], *reference = in->references[i][0];
        count_ngrams(m, row, prediction, reference);
        const bool sound = take_subtrees(m, prediction, m->subtrees[0]);
        stats->n_invalid += !take_subtrees(m, reference, m->subtrees[1]) || !sound;
        count_subtrees(m, row);
    }
}

bool codebleu_measure(ScoreStats *stats, const ScoreInput *in, GError **error)
{
    const char *name = stats->options->language;
    const Language *language = find_language(name, error);
    g_autoptr(GPtrArray) grammars = language ? grammars_open(NULL, error) : NULL;
    if (!grammars)
        return false;
    const int at = grammars_find(grammars, name);
    if (at < 0)
        return fail_user(error,
                         "no grammar of %s is installed, which CodeBLEU needs to compare syntax: "
                         "tools/install-grammars %s, then loam grammars install --from build/grammars",
                         name, name);
    g_autoptr(NgramTable) table = ngrams_open();
    g_autoptr(GArray) is_keyword = g_array_new(false, true, sizeof(bool)),
                      written = g_array_new(false, false, sizeof(uint64_t)),
                      wanted = g_array_new(false, false, sizeof(uint64_t));
    Measure m = { .language = language,
                  .grammar = grammars->pdata[at],
                  .parser = syntax_parser_open(),
                  .table = table,
                  .is_keyword = is_keyword,
                  .subtrees = { written, wanted } };
    measure_all(&m, stats, in);
    syntax_parser_close(m.parser);
    return true;
}

/* The brevity penalty times the geometric mean of matches / n-grams of each order. reference: length of the references.
 */
static double bleu_of(const double *sums, int matches, int ngrams, double reference)
{
    const double length = sums[LENGTH];
    double logs = 0, penalty = length > reference ? 1 : length > 0 ? exp(1 - reference / length) : 0;
    if (sums[matches] <= 0)
        return 0;
    for (int order = 0; order < BLEU_ORDERS; order++) {
        const double found = sums[matches + order];
        logs += log((found > 0 ? found : NO_MATCH) / sums[ngrams + order]) / BLEU_ORDERS;
    }
    return penalty * exp(logs);
}

void codebleu_finish(double *values, const ScoreStats *stats, const int64_t *pick, int64_t n)
{
    double sums[MOST_WIDTH];
    stats_sum(sums, stats, pick, n);
    values[1] = 100 * bleu_of(sums, MATCHES, NGRAMS, sums[REFERENCE_LENGTH]);
    /* CodeBLEU's script takes the length of the pair (words, weights), which is 2, as the length of each reference. */
    values[2] = 100 * bleu_of(sums, WEIGHTED, WEIGHTS, 2 * (double)n);
    values[3] = 100 * ratio(sums[SUBTREE_MATCHES], sums[SUBTREES]);
    values[0] = (values[1] + values[2] + values[3]) / 3;
}
