/* dataset.c: `loam inspect dataset`: sizes, lengths and documents of a token dataset. */
#include "data/dataset/dataset.h"
#include "base/log.h"
#include "base/order.h"
#include "base/text.h"
#include "cli/cli.h"
#include "cli/inspect/inspect.h"
#include "run/config/config.h"
#include "run/run_dir.h"

#include <inttypes.h>
#include <string.h>

#define USAGE      "loam inspect dataset PREFIX [--tokenizer TOK] [--documents N] [--trees] [--check] [--json]"
#define SHOWN_IDS  64 /* number of ids shown per document if there is no tokenizer */
#define MAX_POWERS 63

static const char about[] = "Prints counts and lengths of a token dataset (PREFIX.bin, .idx and, if present, .json) "
                            "and its first documents: as\n"
                            "text with --tokenizer, otherwise as ids. Also reads datasets of Megatron.\n"
                            "\n"
                            "  loam inspect dataset data/train --tokenizer tok.model --documents 3\n"
                            "  loam inspect dataset data/code --tokenizer tok.model --documents 1 --trees\n"
                            "  loam inspect dataset data/train --check\n";

static char *tokenizer_file;
static gint64 n_shown;
static gboolean as_json, check, with_trees;
static const GOptionEntry entries[] = {
    CLI_PATH("tokenizer", tokenizer_file, "TOK", "tokenizer that decodes ids to text"),
    CLI_VALUE("documents", n_shown, "N", "show the first N documents; 0 means none (default)"),
    CLI_SWITCH("trees", with_trees, "also show the syntax trees of these documents (loam prepare --ast)"),
    CLI_SWITCH("check", check, "read every token and check that all ids belong to the tokenizer"),
    CLI_SWITCH("json", as_json, "one JSON object"),
    { 0 },
};

/* Lengths of documents in tokens. */
typedef struct Lengths {
    int64_t n, min, max;
    double median, mean;
    int64_t powers[MAX_POWERS]; /* [i]: documents of 2^i to 2^(i+1) - 1 tokens; an empty one counts as 1 token */
    int n_powers;
} Lengths;

static const char *name_of_dtype(int dtype)
{
    static const char *const names[] = { "?", "u8", "i8", "i16", "i32", "i64", "?", "?", "u16", "u32", "u64" };
    return names[CLAMP(dtype, 0, 10)];
}

static int64_t document_length(const Indexed *set, int64_t document)
{
    int64_t first, last, length = 0;
    indexed_document(set, document, &first, &last);
    for (int64_t sequence = first; sequence < last; sequence++)
        length += indexed_length(set, sequence);
    return length;
}

/* Number of ids in second sequences, which in a dataset of labels are encoded labels, not text. */
static int64_t count_label_ids(const Indexed *set)
{
    int64_t first, last, n = 0;
    for (int64_t document = 0; document < indexed_documents(set); document++) {
        indexed_document(set, document, &first, &last);
        for (int64_t sequence = first + 1; sequence < last; sequence++)
            n += indexed_length(set, sequence);
    }
    return n;
}

static Lengths measure_lengths(const Indexed *set)
{
    Lengths lengths = { .n = indexed_documents(set) };
    if (lengths.n == 0)
        return lengths;
    g_autofree int64_t *sorted = g_new(int64_t, lengths.n);
    for (int64_t i = 0; i < lengths.n; i++) {
        sorted[i] = document_length(set, i);
        int power = 63 - __builtin_clzll((unsigned long long)MAX(sorted[i], 1));
        lengths.powers[power]++;
        lengths.n_powers = MAX(lengths.n_powers, power + 1);
    }
    qsort(sorted, (size_t)lengths.n, sizeof *sorted, order_u64);
    lengths.min = sorted[0];
    const int64_t lower = sorted[(lengths.n - 1) / 2], upper = sorted[lengths.n / 2];
    lengths.median = (double)(lower + upper) / 2;
    lengths.max = sorted[lengths.n - 1];
    lengths.mean = (double)indexed_tokens(set) / (double)lengths.n;
    return lengths;
}

/* Whether unknown tokens were counted in these documents: PREFIX.json counts those of the whole dataset, not of a part.
 */
static bool counts_unknown(const Dataset *data)
{
    return data->meta.has_unknown && data->meta.counts.documents == indexed_documents(data->set);
}

/* At most `limit` ids of a document; NULL on an error. */
static GArray *document_ids(const Indexed *set, int64_t document, int64_t limit, GError **error)
{
    g_autoptr(GArray) ids = g_array_new(false, false, sizeof(int32_t));
    int64_t first, last;
    indexed_document(set, document, &first, &last);
    for (int64_t sequence = first; sequence < last && ids->len < limit; sequence++) {
        guint from = ids->len;
        int64_t take = MIN(indexed_length(set, sequence), limit - from);
        g_array_set_size(ids, from + (guint)take);
        if (take > 0 && !indexed_read(set, sequence, 0, take, &g_array_index(ids, int32_t, from), error))
            return NULL;
    }
    return g_steal_pointer(&ids);
}

static char *ids_text(const GArray *ids)
{
    GString *text = g_string_new(NULL);
    for (guint i = 0; i < ids->len; i++)
        g_string_append_printf(text, "%s%d", i ? " " : "", g_array_index(ids, int32_t, i));
    return g_string_free(text, false);
}

/* The text of a document, or without a tokenizer its ids; NULL on an error. g_free. */
static char *document_text(const Indexed *set, int64_t document, const Tokenizer *tok, GError **error)
{
    g_autoptr(GArray) ids = document_ids(set, document, tok ? INT32_MAX : SHOWN_IDS, error);
    if (!ids || !tok)
        return ids ? ids_text(ids) : NULL;
    return tokenizer_decode(tok, (const int32_t *)(const void *)ids->data, ids->len, error);
}

static bool print_dataset_json(const Dataset *data, const Lengths *lengths, const Tokenizer *tok, json_t *checked,
                               GError **error)
{
    json_t *histogram = json_array(), *shown = json_array();
    for (int i = 0; i < lengths->n_powers; i++)
        json_array_append_new(histogram, json_pack("{s:I, s:I}", "from", (json_int_t)1 << i, "documents",
                                                   (json_int_t)lengths->powers[i]));
    bool good = true, replaced = false;
    for (int64_t i = 0; good && i < MIN(n_shown, lengths->n); i++) {
        g_autofree char *text = document_text(data->set, i, tok, error);
        g_autofree char *valid = text ? valid_text(text, &replaced) : NULL;
        good = text != NULL;
        if (good)
            json_array_append_new(shown, json_string(valid));
    }
    const DatasetMeta *meta = &data->meta;
    json_t *root =
        json_pack("{s:s, s:I, s:I, s:I, s:s, s:s?, s:I, s:b, s:{s:I, s:f, s:f, s:I}, s:o, s:o, s:o*, s:o*, s:o*, s:O*}",
                  "prefix", data->name, "documents", (json_int_t)lengths->n, "sequences",
                  (json_int_t)indexed_sequences(data->set), "tokens", (json_int_t)indexed_tokens(data->set), "dtype",
                  name_of_dtype(indexed_dtype(data->set)), "tokenizer_hash", meta->tokenizer_hash, "vocab",
                  (json_int_t)meta->vocab, "append_eod", meta->append_eod, "length", "min", (json_int_t)lengths->min,
                  "median", lengths->median, "mean", lengths->mean, "max", (json_int_t)lengths->max, "histogram",
                  histogram, "first", shown, "invalid_utf8", replaced ? json_true() : NULL, "labels",
                  meta->label_kind == LABELS_NONE
                      ? NULL
                      : json_pack("{s:s, s:s*}", "kind", label_kind_names[meta->label_kind], "names", meta->labels),
                  "unknown", counts_unknown(data) ? json_integer(meta->counts.unknown) : NULL, "check", checked);
    if (good)
        return print_json_line(root, error);
    json_decref(root);
    return false;
}

static void print_histogram(const Lengths *lengths)
{
    int64_t most = 1;
    for (int i = 0; i < lengths->n_powers; i++)
        most = MAX(most, lengths->powers[i]);
    int first = 0;
    while (first < lengths->n_powers && lengths->powers[first] == 0)
        first++;
    for (int i = first; i < lengths->n_powers; i++) {
        g_autofree char *count = text_grouped(lengths->powers[i]);
        g_autofree char *bar = g_strnfill((gsize)((lengths->powers[i] * 40 + most - 1) / most), '#');
        printf("  %8" PRId64 " … %-8" PRId64 " %12s  %s\n", INT64_C(1) << i, INT64_MAX >> (62 - i), count, bar);
    }
}

#define SHOWN_BYTES 60 /* largest number of bytes of a node's text that is shown */

/* The text of the tokens on one line, cut at SHOWN_BYTES bytes between characters. NULL on error. g_free. */
static char *node_text(const Tokenizer *tok, const int32_t *ids, int64_t n, GError **error)
{
    g_autofree char *text = tokenizer_decode(tok, ids, n, error), *line = text ? one_line(text) : NULL;
    if (!line)
        return NULL;
    bool replaced = false, cut = strlen(line) > SHOWN_BYTES;
    char *end = line + MIN(strlen(line), SHOWN_BYTES);
    while (cut && ((unsigned char)*end & 0xC0) == 0x80)
        end--;
    *end = 0;
    g_autofree char *valid = valid_text(line, &replaced);
    return g_strconcat(valid, cut ? "…" : "", NULL);
}

static bool print_node(const Dataset *data, int language, const TreeNode *node, guint depth, const Tokenizer *tok,
                       const int32_t *ids, GError **error)
{
    g_autofree char *text = tok ? node_text(tok, ids + node->begin, node->end - node->begin, error) : NULL;
    if (tok && !text)
        return false;
    printf("%*s%s %" PRId32 "-%" PRId32 "%s%s\n", (int)(2 * depth), "", trees_type(data->trees, language, node->type),
           node->begin, node->end, text ? "  " : "", text ? text : "");
    return true;
}

/* Prints a document's syntax tree, one node per line: its type, its tokens, and, unless tok is NULL, their text. */
static bool print_tree(const Dataset *data, int64_t document, const Tokenizer *tok, GError **error)
{
    /* open: ends (token indices) of the nodes that contain the present one. */
    g_autoptr(GArray) nodes = g_array_new(false, false, sizeof(TreeNode)),
                      open = g_array_new(false, false, sizeof(int32_t));
    const int64_t n = document_length(data->set, document);
    int64_t first, last;
    int language;
    indexed_document(data->set, document, &first, &last);
    g_autofree int32_t *ids = g_new(int32_t, n);
    if (!trees_read(data->trees, indexed_locate(data->set, first), n, &language, nodes, error) ||
        (tok && !dataset_read(data, first, 0, n, tokenizer_size(tok), ids, error)))
        return false;
    printf("tree  %s\n", language < 0 ? "none" : trees_language(data->trees, language));
    for (guint i = 0; i < nodes->len; i++) {
        const TreeNode *node = &g_array_index(nodes, TreeNode, i);
        while (open->len > 0 && g_array_index(open, int32_t, open->len - 1) <= node->begin)
            g_array_set_size(open, open->len - 1);
        g_array_append_val(open, node->end);
        if (!print_node(data, language, node, open->len, tok, ids, error))
            return false;
    }
    return true;
}

static bool print_dataset_text(const Dataset *data, const Lengths *lengths, const Tokenizer *tok, GError **error)
{
    g_autofree char *documents = text_grouped(lengths->n), *tokens = text_grouped(indexed_tokens(data->set));
    printf("%s: %s documents, %s tokens (%s)\n", data->name, documents, tokens,
           name_of_dtype(indexed_dtype(data->set)));
    if (data->meta.tokenizer_hash)
        printf("tokenizer  hash %s, %" PRId64 " ids; end-of-document tokens: %s\n", data->meta.tokenizer_hash,
               data->meta.vocab, data->meta.append_eod ? "yes" : "no");
    else if (data->meta.vocab > 0)
        printf("tokenizer  unknown; the dictionary has %" PRId64 " ids\n", data->meta.vocab);
    else
        printf("tokenizer  unknown: no %s.json, another program wrote this dataset\n", data->prefix);
    if (counts_unknown(data)) {
        g_autofree char *unknown = text_grouped(data->meta.counts.unknown),
                        *share = dataset_unknown_share(&data->meta.counts);
        printf("unknown tokens  %s, %s%s%s\n", unknown, share, *data->meta.commonest ? ": " : "", data->meta.commonest);
    }
    if (data->meta.label_kind != LABELS_NONE) {
        g_autofree char *labels = dataset_meta_labels(&data->meta), *encoded = text_grouped(count_label_ids(data->set));
        printf("%s, written as %s of the tokens\n", labels, encoded);
    }
    if (data->trees) {
        g_autofree char *bytes = text_bytes((uint64_t)trees_bytes(data->trees));
        printf("syntax trees  %s\n", bytes);
    }
    g_autofree char *median = text_number(lengths->median);
    if (lengths->n > 0)
        printf("tokens in a document  least %" PRId64 ", median %s, mean %.1f, most %" PRId64 "\n", lengths->min,
               median, lengths->mean, lengths->max);
    print_histogram(lengths);
    for (int64_t i = 0; i < MIN(n_shown, lengths->n); i++) {
        g_autofree char *text = document_text(data->set, i, tok, error);
        if (!text)
            return false;
        printf("--- document %" PRId64 ", %" PRId64 " tokens\n%s\n", i, document_length(data->set, i), text);
        if (with_trees && !print_tree(data, i, tok, error))
            return false;
    }
    return true;
}

/* ---- every token ---- */

static void print_check(const DatasetCheck *found, int64_t vocab)
{
    g_autofree char *tokens = text_grouped(found->tokens);
    if (found->tokens == 0)
        printf("checked  no token\n");
    else if (vocab == 0)
        printf("checked  %s tokens, ids from %d to %d; of what vocabulary is not known: give --tokenizer\n", tokens,
               found->least, found->largest);
    else
        printf("checked  %s tokens, ids from %d to %d, of a vocabulary of %" PRId64 "\n", tokens, found->least,
               found->largest, vocab);
}

static json_t *check_json(const DatasetCheck *found, int64_t vocab)
{
    return json_pack("{s:I, s:i, s:i, s:I, s:I, s:o*}", "tokens", (json_int_t)found->tokens, "least", found->least,
                     "largest", found->largest, "vocab", (json_int_t)vocab, "bad", (json_int_t)found->bad, "first",
                     found->bad == 0 ? NULL
                                     : json_pack("{s:i, s:I, s:I}", "id", found->id, "document",
                                                 (json_int_t)found->document, "token", (json_int_t)found->token));
}

/* Fails if ids are outside the vocabulary. Called after the counts were printed. */
static bool judge(const Dataset *data, const DatasetCheck *found, int64_t vocab, GError **error)
{
    g_autofree char *outside =
                        vocab > 0 ? g_strdup_printf("not in a vocabulary of %" PRId64, vocab) : g_strdup("negative"),
                    *remedy = g_strdup(data->meta.tokenizer_hash ? ": run loam prepare again" : "");
    return found->bad == 0 ||
           fail_user(error,
                     "%s: %" PRId64 " of %" PRId64 " token ids are %s: the first, %d, is in document %" PRId64
                     ", token %" PRId64 " (from 0); the file was damaged or made with another tokenizer%s",
                     data->name, found->bad, found->tokens, outside, found->id, found->document, found->token, remedy);
}

static bool show_dataset(const Dataset *data, const Tokenizer *tok, GError **error)
{
    DatasetCheck found = { 0 };
    /* Vocabulary size that ids are compared with; 0 means unknown. */
    int64_t vocab = tok ? tokenizer_size(tok) : data->meta.vocab;
    if (tok && data->meta.tokenizer_hash && strcmp(tokenizer_hash(tok), data->meta.tokenizer_hash) != 0)
        log_warning("%s has hash %s: the dataset was made with another tokenizer", tokenizer_path(tok),
                    tokenizer_hash(tok));
    if (with_trees && (!data->trees || as_json))
        return fail_user(error, "--trees: %s",
                         as_json ? "not with --json"
                                 : "the dataset has no syntax trees: loam prepare --ast makes them");
    if (check && !dataset_check(data, vocab, &found, error))
        return false;
    const Lengths lengths = measure_lengths(data->set);
    json_auto_t *checked = check ? check_json(&found, vocab) : NULL;
    bool good = as_json ? print_dataset_json(data, &lengths, tok, checked, error)
                        : print_dataset_text(data, &lengths, tok, error);
    if (good && check && !as_json)
        print_check(&found, vocab);
    return good && judge(data, &found, vocab, error);
}

/* Fails if the dataset is a run's copy of its task's examples, and is gone. */
static bool check_kept(const char *prefix, GError **error)
{
    g_autofree char *folder = g_path_get_dirname(prefix), *run = g_path_get_dirname(folder),
                    *file = g_build_filename(run, "config.yaml", NULL);
    g_auto(Config) config = { 0 };
    return !g_str_has_suffix(folder, "/task") || !run_has_config(run) || !config_load(&config, file, NULL, 0, NULL) ||
           config_check_kept(&config, prefix, "loam task show RUN/config.yaml prints those of its table", error);
}

bool inspect_dataset(int argc, char **argv, GError **error)
{
    if (!cli_parse(&argc, &argv, entries, USAGE, about, error))
        return false;
    if (argc != 2)
        return fail_user(error, "one dataset is wanted; usage: " USAGE);
    if (n_shown < 0)
        return fail_user(error, "--documents %" PRId64 " is out of range: a number of documents, or 0 for none",
                         n_shown);
    if (g_str_has_suffix(argv[1], ".bin") || g_str_has_suffix(argv[1], ".idx"))
        *strrchr(argv[1], '.') = 0;
    if (!check_kept(argv[1], error))
        return false;
    g_autoptr(Dataset) data = dataset_open(argv[1], error);
    g_autoptr(Tokenizer) tok = data && tokenizer_file ? tokenizer_open(tokenizer_file, error) : NULL;
    return data && (tok || !tokenizer_file) && show_dataset(data, tok, error);
}
