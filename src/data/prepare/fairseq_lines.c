#include "data/prepare/prepare.h"

#include "base/file.h"
#include "base/log.h"
#include "format/fairseq_dict.h"
#include "text/kind.h"
#include "text/word_table.h"

#include <stdlib.h>
#include <string.h>

#define UNKNOWN 3
#define END     2

/* ---- the dictionary ---- */

static bool count_line(void *context, char *line, G_GNUC_UNUSED size_t bytes, G_GNUC_UNUSED GError **error)
{
    for (char *word; (word = fairseq_next_word(&line));)
        word_table_add(context, word, strlen(word), 1);
    return true;
}

/* By falling count, then by code point, which is by byte in UTF-8. text: WordTable.text. */
static int compare_entries(const void *a, const void *b, void *text)
{
    const WordEntry *x = a, *y = b;
    const char *words = text;
    if (x->count != y->count)
        return x->count > y->count ? -1 : 1;
    int order = memcmp(words + x->begin, words + y->begin, MIN(x->bytes, y->bytes));
    return order != 0 ? order : (x->bytes > y->bytes) - (x->bytes < y->bytes);
}

static FairseqDict *choose_words(const WordTable *words, const FairseqLinesOptions *options)
{
    FairseqDict *dict = fairseq_dict_new();
    g_autofree WordEntry *sorted = g_memdup2(words->entries, words->n * sizeof *sorted);
    if (words->n > 0)
        qsort_r(sorted, words->n, sizeof *sorted, compare_entries, words->text);
    for (size_t i = 0; i < words->n && sorted[i].count >= options->min_count; i++) {
        if (options->most_ids > 0 && fairseq_dict_size(dict) >= options->most_ids)
            break;
        g_autofree char *word = g_strndup(words->text + sorted[i].begin, sorted[i].bytes);
        if (fairseq_dict_special(word) < 0)
            fairseq_dict_add(dict, word, sorted[i].count);
    }
    return dict;
}

/* Adds made-up words that the dictionary does not have until its size is a multiple of the factor. */
static void fill_up(FairseqDict *dict, int64_t factor)
{
    g_autoptr(GHashTable) ids = fairseq_dict_ids(dict);
    for (int i = 0; factor > 1 && fairseq_dict_size(dict) % factor != 0; i++) {
        g_autofree char *word = g_strdup_printf("madeupword%04d", i);
        if (!g_hash_table_contains(ids, word))
            fairseq_dict_add(dict, word, 0);
    }
}

static FairseqDict *build_dictionary(const FairseqLinesOptions *options, GError **error)
{
    for (char **path = options->train; path && *path; path++)
        if (!g_file_test(*path, G_FILE_TEST_IS_REGULAR) && !g_file_test(*path, G_FILE_TEST_IS_DIR) &&
            g_file_test(*path, G_FILE_TEST_EXISTS))
            return fail_user(error, "%s: a pipe cannot be read twice, for its words and for its lines; give --dict",
                             *path);
    g_auto(WordTable) words;
    word_table_init(&words);
    if (!corpus_each_line(options->train, (int)g_strv_length(options->train), options->interrupted, count_line, &words,
                          error))
        return NULL;
    FairseqDict *dict = choose_words(&words, options);
    fill_up(dict, options->factor);
    return dict;
}

bool fairseq_lines_write_identity(const Tokenizer *tok, const char *folder, const int64_t *counts, GError **error)
{
    g_autofree char *path = g_build_filename(folder, "dict.txt", NULL);
    g_autoptr(FairseqDict) dict = fairseq_dict_new();
    for (int id = FAIRSEQ_SPECIALS; id < tokenizer_size(tok); id++) {
        const char *piece = tokenizer_piece(tok, id);
        g_autofree char *unprintable = g_strdup_printf("madeupword%04d", id);
        bool plain = piece && *piece && !strpbrk(piece, "\r\n") && g_utf8_validate(piece, -1, NULL);
        fairseq_dict_add(dict, plain ? piece : unprintable, counts[id]);
    }
    if (tokenizer_pad(tok) != 1 || tokenizer_eos(tok) != 2)
        log_warning(
            "fairseq takes id 1 for padding and id 2 for the end of a line; this tokenizer's are %d and %d, and "
            "the files hold its own",
            tokenizer_pad(tok), tokenizer_eos(tok));
    return fairseq_dict_write(dict, path, error);
}

/* ---- the sets ---- */

typedef struct SetWriter {
    const FairseqLinesOptions *options;
    GHashTable *ids;      /* of the words of the dictionary; NULL with a tokenizer */
    DatasetMeta meta;     /* metadata of every dataset, without the counts */
    int64_t *counts;      /* of each id of the tokenizer, while `train` is written; NULL otherwise */
    GArray *line;         /* of int32_t: the current line */
    FairseqLinesSet *set; /* the dataset being written, and its writer */
    DatasetWriter *writer;
    GPtrArray *writers; /* of every dataset so far */
} SetWriter;

static void look_up_words(SetWriter *out, char *line)
{
    for (char *word; (word = fairseq_next_word(&line));) {
        gpointer found = NULL;
        bool known = g_hash_table_lookup_extended(out->ids, word, NULL, &found);
        const int32_t id = known ? GPOINTER_TO_INT(found) : UNKNOWN;
        g_array_append_val(out->line, id);
        out->set->unknown += !known;
    }
}

static bool encode_pieces(SetWriter *out, const char *line, size_t bytes, GError **error)
{
    const Tokenizer *tok = out->options->tok;
    if (!tokenizer_encode(tok, line, bytes, out->options->specials, out->line, error))
        return false;
    for (guint i = 0; i < out->line->len; i++)
        out->set->unknown += g_array_index(out->line, int32_t, i) == tokenizer_unk(tok);
    return true;
}

static bool write_ids(void *context, char *line, size_t bytes, GError **error)
{
    SetWriter *out = context;
    const Tokenizer *tok = out->options->tok;
    const int32_t end = tok ? tokenizer_eos(tok) : END;
    g_array_set_size(out->line, 0);
    if (!tok)
        look_up_words(out, line);
    else if (!encode_pieces(out, line, bytes, error))
        return false;
    g_array_append_val(out->line, end);
    for (guint i = 0; out->counts && i < out->line->len; i++)
        out->counts[g_array_index(out->line, int32_t, i)]++;
    out->set->sentences++;
    out->set->tokens += out->line->len;
    return dataset_writer_add(out->writer, (int32_t *)(void *)out->line->data, out->line->len, error) &&
           dataset_writer_end_document(out->writer, error);
}

static bool write_set(SetWriter *out, FairseqLinesSet *set, char *const *paths, int n_paths, GError **error)
{
    out->set = set;
    out->writer = dataset_writer_open(set->prefix, &out->meta, true, error);
    if (!out->writer)
        return false;
    g_ptr_array_add(out->writers, out->writer);
    if (!corpus_each_line(paths, n_paths, out->options->interrupted, write_ids, out, error))
        return false;
    return set->sentences > 0 || fail_user(error, "%s: there is no line in it", *paths);
}

/* Appends the prefixes of n datasets of one name: valid, valid1, valid2, … */
static void add_prefixes(GStrvBuilder *prefixes, const char *folder, const char *name, guint n)
{
    for (guint i = 0; i < n; i++) {
        g_autofree char *numbered = i > 0 ? g_strdup_printf("%s%u", name, i) : g_strdup(name),
                        *prefix = g_build_filename(folder, numbered, NULL);
        g_strv_builder_add(prefixes, prefix);
    }
}

static guint count_paths(char **paths)
{
    return paths ? g_strv_length(paths) : 0;
}

char **fairseq_lines_prefixes(const FairseqLinesOptions *options)
{
    g_autoptr(GStrvBuilder) prefixes = g_strv_builder_new();
    add_prefixes(prefixes, options->out, "train", count_paths(options->train) > 0);
    add_prefixes(prefixes, options->out, "valid", count_paths(options->valid));
    add_prefixes(prefixes, options->out, "test", count_paths(options->test));
    return g_strv_builder_end(prefixes);
}

static FairseqLinesSet *add_lines_set(FairseqLinesStats *stats, const char *prefix)
{
    FairseqLinesSet *set = g_new0(FairseqLinesSet, 1);
    set->prefix = g_strdup(prefix);
    g_ptr_array_add(stats->sets, set);
    return set;
}

static void set_free(void *memory)
{
    FairseqLinesSet *set = memory;
    g_free(set->prefix);
    g_free(set);
}

/* counts: filled in with the count of each id in `train`. */
static bool write_whole_set(SetWriter *out, int64_t *counts, FairseqLinesStats *stats, GError **error)
{
    const FairseqLinesOptions *options = out->options;
    g_auto(GStrv) prefixes = fairseq_lines_prefixes(options);
    char **prefix = prefixes, **const others[] = { options->valid, options->test };
    const guint n_train = count_paths(options->train);
    out->counts = counts;
    if (n_train > 0 && !write_set(out, add_lines_set(stats, *prefix++), options->train, (int)n_train, error))
        return false;
    out->counts = NULL;
    for (size_t kind = 0; kind < G_N_ELEMENTS(others); kind++)
        for (char **path = others[kind]; path && *path; path++)
            if (!write_set(out, add_lines_set(stats, *prefix++), path, 1, error))
                return false;
    return true;
}

/* The files of all datasets appear at the end, or none does. */
static bool write_sets(SetWriter *out, int64_t *counts, FairseqLinesStats *stats, GError **error)
{
    out->line = g_array_new(false, false, sizeof(int32_t));
    out->writers = g_ptr_array_new_with_free_func((GDestroyNotify)dataset_writer_close);
    bool good = write_whole_set(out, counts, stats, error);
    for (guint i = 0; good && i < out->writers->len; i++)
        good = dataset_writer_finish(out->writers->pdata[i], error);
    g_ptr_array_unref(out->writers);
    g_array_unref(out->line);
    return good;
}

/* Fails for a file whose lines hold fields, such as a table. */
static bool check_files(char **paths, GError **error)
{
    for (char **path = paths; path && *path; path++)
        if (record_name_has_values(*path) && g_file_test(*path, G_FILE_TEST_IS_REGULAR))
            return fail_user(
                error,
                "%s: records with fields, not lines of text; --format fairseq reads a field (--field) with "
                "--tokenizer and without --lines",
                *path);
    return true;
}

static bool run_words(const FairseqLinesOptions *options, FairseqLinesStats *stats, GError **error)
{
    g_autofree char *path = g_build_filename(options->out, "dict.txt", NULL);
    if (!options->dictionary && g_file_test(path, G_FILE_TEST_EXISTS))
        return fail_user(error, "%s is there already, and sets that were made with it may be; --dict %s uses it", path,
                         path);
    g_autoptr(FairseqDict) dict =
        options->dictionary ? fairseq_dict_read(options->dictionary, error) : build_dictionary(options, error);
    if (!dict)
        return false;
    g_autoptr(GHashTable) ids = fairseq_dict_ids(dict);
    stats->dictionary = fairseq_dict_size(dict);
    SetWriter out = { .options = options, .ids = ids, .meta = { .vocab = stats->dictionary } };
    return write_sets(&out, NULL, stats, error) && fairseq_dict_write(dict, path, error);
}

static bool run_pieces(const FairseqLinesOptions *options, FairseqLinesStats *stats, GError **error)
{
    stats->dictionary = tokenizer_size(options->tok);
    if (tokenizer_eos(options->tok) < 0)
        return fail_user(error, "the tokenizer %s has no end-of-sequence token to end a line with",
                         tokenizer_path(options->tok));
    g_autofree int64_t *counts = g_new0(int64_t, stats->dictionary);
    SetWriter out = { .options = options, .meta = dataset_meta_of(options->tok, true) };
    return write_sets(&out, counts, stats, error) &&
           fairseq_lines_write_identity(options->tok, options->out, counts, error);
}

bool fairseq_lines_run(const FairseqLinesOptions *options, FairseqLinesStats *stats, GError **error)
{
    *stats = (FairseqLinesStats){ .sets = g_ptr_array_new_with_free_func(set_free) };
    return check_files(options->train, error) && check_files(options->valid, error) &&
           check_files(options->test, error) && io_make_directories(options->out, error) &&
           (options->tok ? run_pieces(options, stats, error) : run_words(options, stats, error));
}
