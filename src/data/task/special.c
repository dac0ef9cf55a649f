#include "data/task/special.h"

#include "base/python_text.h"
#include "base/text.h"

#include <math.h>
#include <string.h>

static char *replace_all(const char *text, const char *from, const char *to)
{
    g_auto(GStrv) parts = g_strsplit(text, from, -1);
    return g_strjoinv(to, parts);
}

/* ---- STS-B ---- */

char *round_fifth(const char *text)
{
    double number;
    if (!python_float(&number, text) || !isfinite((float)number))
        return NULL;
    const float score = (float)number;
    return g_strdup_printf("%.1f", (double)(rintf(score * 5) / 5));
}

/* ---- MultiRC ---- */

char *strip_markup(G_GNUC_UNUSED const char *field, char *text)
{
    g_autofree char *first = text, *second = replace_all(first, "<br>", " "), *third = replace_all(second, "<b>", "");
    return replace_all(third, "</b>", "");
}

/* Answers are grouped by question: the group's name is the numbers of passage and question. */
bool multirc_make(const Task *task, const Record *record, TaskExample *out, GError **error)
{
    json_int_t numbers[RECORD_LEVELS] = { 0 };
    for (int level = 0; level < record->n_levels; level++)
        numbers[level] = json_integer_value(json_object_get(record->levels[level], "idx"));
    out->group = g_strdup_printf("%" JSON_INTEGER_FORMAT "-%" JSON_INTEGER_FORMAT, numbers[0], numbers[2]);
    out->id = g_strdup_printf("%s-%" JSON_INTEGER_FORMAT, out->group, numbers[3]);
    return example_take_input(task, record, out, error) && example_take_targets(task, record, out, error);
}

/* ---- ReCoRD ---- */

/* Sorts texts (char *, owned by the array) and leaves out repeated ones. */
static void sort_once(GPtrArray *texts)
{
    g_ptr_array_sort(texts, text_compare);
    for (guint i = 1; i < texts->len;)
        if (strcmp(texts->pdata[i], texts->pdata[i - 1]) == 0)
            g_ptr_array_remove_index(texts, i);
        else
            i++;
}

/* Appends characters [start, end] of the passage for each of its entities. */
static bool take_entities(const Record *record, const char *passage, GPtrArray *entities, GError **error)
{
    const json_t *list = record_value(record, "passage.entities");
    gint64 length = g_utf8_strlen(passage, -1);
    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *item = json_array_get(list, i);
        json_int_t start = json_integer_value(json_object_get(item, "start"));
        json_int_t end = json_integer_value(json_object_get(item, "end"));
        if (start < 0 || end < start || end >= length)
            return fail_user(error,
                             "%s: entity %zu is characters %" JSON_INTEGER_FORMAT " to %" JSON_INTEGER_FORMAT
                             " of a passage of %" G_GINT64_FORMAT,
                             record->where, i + 1, start, end, length);
        g_ptr_array_add(entities, g_utf8_substring(passage, (glong)start, (glong)end + 1));
    }
    sort_once(entities);
    return true;
}

/* Removes the marker "@highlight", which starts a sentence, and ends the sentence before it with a full stop unless it
 * has an end. */
static char *join_highlights(const char *passage)
{
    g_auto(GStrv) parts = g_strsplit(passage, "\n@highlight\n", -1);
    GString *joined = g_string_new(parts[0]);
    for (char **part = parts; *part && part[1]; part++) {
        bool ends = **part && strchr(".?!\"'", (*part)[strlen(*part) - 1]);
        g_string_append_printf(joined, "%s%s", ends ? " " : ". ", part[1]);
    }
    return g_string_free(joined, false);
}

bool record_task_make(const Task *task, const Record *record, TaskExample *out, GError **error)
{
    const char *query = json_string_value(record_value(record, "query"));
    const char *text = json_string_value(record_value(record, "passage.text"));
    g_autoptr(GPtrArray) entities = g_ptr_array_new_with_free_func(g_free);
    if (query == NULL || text == NULL)
        return record_fail_missing(record, query == NULL ? "query" : "passage.text", error);
    if (!take_entities(record, text, entities, error) || !example_take_targets(task, record, out, error))
        return false;
    g_ptr_array_add(entities, NULL);
    g_autofree char *passage = join_highlights(text), *names = g_strjoinv(", ", (char **)entities->pdata);
    out->input = g_strdup_printf("record query: %s entities: %s passage: %s", query, names, passage);
    sort_once(out->targets);
    return example_fill(task, record, "{idx}", &out->id, error);
}

/* ---- WSC ---- */

/* Whether `word` is the pronoun, perhaps with punctuation after it. */
static bool is_pronoun(const char *word, const char *pronoun)
{
    size_t n = strlen(pronoun);
    return strncmp(word, pronoun, n) == 0 && (word[n] == '\0' || g_ascii_ispunct(word[n]));
}

/* Index of the word nearest to `at` that is the pronoun, preferably one without punctuation; -1 if there is none. */
static int find_pronoun(GStrv words, const char *pronoun, int at)
{
    int best = -1, best_cost = G_MAXINT, n = (int)g_strv_length(words);
    for (int i = 0; i < n; i++) {
        int cost = 2 * ABS(i - at) + (strcmp(words[i], pronoun) != 0);
        if (is_pronoun(words[i], pronoun) && cost < best_cost) {
            best = i;
            best_cost = cost;
        }
    }
    return best;
}

/* Corrects a span that does not occur in the text, as TensorFlow Datasets does: case of its first letter as in the
 * text, no final full stop, no newlines. */
static char *mend_span(const char *text, const char *span, GStrv words, json_int_t at)
{
    g_autofree char *flat = replace_all(span, "\n", " ");
    if (strstr(text, span) || at < 0 || at >= (json_int_t)g_strv_length(words) || *flat == '\0')
        return g_strdup(span);
    flat[0] = g_ascii_islower(words[at][0]) ? g_ascii_tolower(flat[0]) : g_ascii_toupper(flat[0]);
    for (size_t n = strlen(flat); n > 0 && flat[n - 1] == '.'; n--)
        flat[n - 1] = '\0';
    return g_steal_pointer(&flat);
}

static char *mark_pronoun(const char *text, const char *pronoun, int at)
{
    g_auto(GStrv) words = g_strsplit(text, " ", -1);
    int found = find_pronoun(words, pronoun, at);
    if (found < 0)
        return NULL;
    const char *rest = words[found] + strlen(pronoun);
    char *marked = g_strdup_printf("*%s*%s%s", pronoun, *rest ? " " : "", rest);
    g_free(words[found]);
    words[found] = marked;
    return g_strjoinv(" ", words);
}

static bool has_span(const Record *record, const char *name, json_int_t *at, const char **text)
{
    g_autofree char *text_name = g_strconcat("target.", name, "_text", NULL);
    g_autofree char *index_name = g_strconcat("target.", name, "_index", NULL);
    const json_t *index = record_value(record, index_name);
    *text = json_string_value(record_value(record, text_name));
    *at = json_integer_value(index);
    return *text && json_is_integer(index) && *at >= 0 && *at <= G_MAXINT16;
}

bool wsc_make(const Task *task, const Record *record, TaskExample *out, GError **error)
{
    const char *text = json_string_value(record_value(record, "text")), *referent, *pronoun;
    const json_t *label = record_value(record, "label");
    json_int_t referent_at, pronoun_at;
    if (text == NULL || !has_span(record, "span1", &referent_at, &referent) ||
        !has_span(record, "span2", &pronoun_at, &pronoun))
        return fail_user(error,
                         "%s: a text and a target of span1_text, span1_index, span2_text and span2_index are wanted",
                         record->where);
    g_auto(GStrv) words = g_strsplit(text, " ", -1);
    g_autofree char *mended = mend_span(text, pronoun, words, pronoun_at);
    g_autofree char *marked = mark_pronoun(text, mended, (int)pronoun_at);
    if (marked == NULL)
        return fail_user(error, "%s: the pronoun \"%s\" is not a word of the text", record->where, pronoun);
    out->input = g_strconcat("wsc: ", marked, NULL);
    g_ptr_array_add(out->targets, mend_span(text, referent, words, referent_at));
    out->known = label != NULL;
    out->answer = label ? g_strdup(json_is_true(label) || json_integer_value(label) > 0 ? "True" : "False") : NULL;
    out->excluded = !out->answer || strcmp(out->answer, "True") != 0;
    return example_fill(task, record, "{idx}", &out->id, error);
}

/* The words of a text in lower case, without determiners. */
static GHashTable *content_words(const char *text)
{
    static const char *const determiners[] = { "a",    "an",    "few",   "her",   "his",  "each", "every", "many",
                                               "much", "my",    "our",   "some",  "that", "the",  "their", "these",
                                               "this", "those", "which", "whose", "your", NULL };
    GHashTable *words = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
    g_autofree char *lower = g_utf8_strdown(text, -1);
    g_auto(GStrv) parts = g_strsplit(g_strstrip(lower), " ", -1);
    for (char **part = parts; *part; part++)
        if (!g_strv_contains(determiners, *part))
            g_hash_table_add(words, g_strdup(*part));
    return words;
}

static bool is_subset(GHashTable *of, GHashTable *words)
{
    GHashTableIter iter;
    gpointer word;
    g_hash_table_iter_init(&iter, words);
    while (g_hash_table_iter_next(&iter, &word, NULL))
        if (!g_hash_table_contains(of, word))
            return false;
    return true;
}

void wsc_grade(const TaskExample *example, char **prediction, GPtrArray *references)
{
    const char *referent = example->targets->pdata[0];
    g_autoptr(GHashTable) said = content_words(*prediction), wanted = content_words(referent);
    bool same_owner = (strchr(*prediction, '\'') != NULL) ==
                      (strchr(referent, '\'') != NULL); /* both are the same kind of thing: "Bob" is not "Bob's hat" */
    bool empty = g_hash_table_size(said) == 0;
    bool right = same_owner && (is_subset(wanted, said) || is_subset(said, wanted));
    g_free(*prediction);
    *prediction = g_strdup(empty ? "" : (right ? "True" : "False"));
    g_ptr_array_set_size(references, 0);
    g_ptr_array_add(references, g_strdup(example->answer));
}

/* ---- CNN/Daily Mail ---- */

void break_sentences(G_GNUC_UNUSED const TaskExample *example, char **prediction, GPtrArray *references)
{
    g_autofree char *before = *prediction;
    *prediction = replace_all(before, " . ", " .\n");
    for (guint i = 0; i < references->len; i++) {
        g_autofree char *reference = references->pdata[i];
        references->pdata[i] = replace_all(reference, " . ", " .\n");
    }
}

/* ---- Hyperpartisan ---- */

void true_or_false(G_GNUC_UNUSED const TaskExample *example, char **prediction, G_GNUC_UNUSED GPtrArray *references)
{
    g_autoptr(GString) letters = g_string_new(NULL);
    int n_true = 0, n_other = 0;
    for (const char *at = *prediction; *at; at++)
        if (!g_ascii_ispunct(*at))
            g_string_append_c(letters, g_ascii_tolower(*at));
    g_auto(GStrv) words = g_strsplit_set(letters->str, " \t\r\n", -1);
    for (char **word = words; *word; word++) {
        bool article = strcmp(*word, "a") == 0 || strcmp(*word, "an") == 0 || strcmp(*word, "the") == 0;
        n_true += strcmp(*word, "true") == 0;
        n_other += **word && !article && strcmp(*word, "true") != 0;
    }
    g_free(*prediction);
    *prediction = g_strdup(n_true == 1 && n_other == 0 ? "true" : "false");
}

/* ---- CodeXGLUE ---- */

char *single_spaces(G_GNUC_UNUSED const char *field, char *text)
{
    char *out = text;
    for (const char *at = text; *at; at++)
        if (!g_ascii_isspace(*at))
            *out++ = *at;
        else if (out > text && out[-1] != ' ')
            *out++ = ' ';
    *out = '\0';
    return g_strchomp(text);
}
