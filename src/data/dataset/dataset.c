#include "data/dataset/dataset.h"

#include "base/file.h"
#include "base/text.h"
#include "data/records/records.h"
#include "format/fairseq_dict.h"

#include <inttypes.h>
#include <string.h>

/* *size becomes the number of entries of the dictionary beside a fairseq dataset, or 0 without a dictionary. */
static bool dictionary_size(const char *prefix, int64_t *size, GError **error)
{
    g_autofree char *folder = g_path_get_dirname(prefix), *name = g_path_get_basename(prefix);
    const char *language = strrchr(name, '.');
    g_autofree char *of_language = g_strconcat("dict", language ? language : "", ".txt", NULL);
    const char *names[] = { of_language, "dict.txt" };
    *size = 0;
    for (size_t i = 0; i < G_N_ELEMENTS(names); i++) {
        g_autofree char *path = g_build_filename(folder, names[i], NULL);
        if (!g_file_test(path, G_FILE_TEST_EXISTS))
            continue;
        g_autoptr(FairseqDict) dict = fairseq_dict_read(path, error);
        *size = dict ? fairseq_dict_size(dict) : 0;
        return dict != NULL;
    }
    return true;
}

static char *find_prefix(const char *path)
{
    g_autofree char *train = g_build_filename(path, "train", NULL), *index = g_strconcat(train, ".idx", NULL);
    bool folder = g_file_test(path, G_FILE_TEST_IS_DIR) && g_file_test(index, G_FILE_TEST_EXISTS);
    return folder ? g_steal_pointer(&train) : g_strdup(path);
}

/* Opens PREFIX.tree if PREFIX.json says that there is one. */
static bool open_trees(Dataset *data, GError **error)
{
    const DatasetMeta *meta = &data->meta;
    if (meta->tree_bytes == 0 || data->trees)
        return true;
    data->trees = trees_open(data->prefix, error);
    if (!data->trees)
        return false;
    return (trees_bytes(data->trees) == meta->tree_bytes && trees_documents(data->trees) == meta->counts.documents) ||
           fail_user(error,
                     "%s.tree has %" PRId64 " bytes and %" PRId64 " documents, but by %s.json it should have %" PRId64
                     " and %" PRId64 ": files of two datasets; run loam prepare --ast again",
                     data->prefix, trees_bytes(data->trees), trees_documents(data->trees), data->prefix,
                     meta->tree_bytes, meta->counts.documents);
}

/* Opens the side files of AST-T5. */
static bool open_ndtypes(Dataset *data, GError **error)
{
    data->trees = trees_open_ndtypes(data->prefix, error);
    if (!data->trees)
        return false;
    int64_t documents = trees_documents(data->trees);
    return documents < 0 || documents == indexed_documents(data->set) ||
           fail_user(error,
                     "%s has %" PRId64 " documents, and its ndtypes/ has trees of %" PRId64 ": files of two datasets",
                     data->prefix, indexed_documents(data->set), documents);
}

/* Reads PREFIX.json, if there is one, and checks that it describes these tokens. */
static bool read_meta(Dataset *data, GError **error)
{
    g_autofree char *path = g_strconcat(data->prefix, ".json", NULL);
    DatasetMeta *meta = &data->meta;
    meta->append_eod = indexed_form(data->set) == INDEXED_FAIRSEQ || indexed_form(data->set) == INDEXED_LEGACY_FAIRSEQ;
    if (indexed_form(data->set) == INDEXED_FAIRSEQ && trees_has_ndtypes(data->prefix) && !open_ndtypes(data, error))
        return false;
    if (!g_file_test(path, G_FILE_TEST_EXISTS))
        return indexed_form(data->set) != INDEXED_FAIRSEQ || dictionary_size(data->prefix, &meta->vocab, error);
    if (!dataset_meta_read(meta, path, error))
        return false;
    if (meta->counts.tokens == indexed_tokens(data->set) && meta->counts.documents == indexed_documents(data->set))
        return open_trees(data, error);
    return fail_user(error,
                     "by %s there are %" PRId64 " documents and %" PRId64 " tokens, but %s.idx holds %" PRId64
                     " and %" PRId64 ": files of two datasets; run loam prepare again",
                     path, meta->counts.documents, meta->counts.tokens, data->prefix, indexed_documents(data->set),
                     indexed_tokens(data->set));
}

/* Names of the datasets in a folder (char *), sorted. */
static GPtrArray *datasets_in(const char *folder)
{
    GPtrArray *names = g_ptr_array_new_with_free_func(g_free);
    g_autoptr(GDir) dir = g_dir_open(folder, 0, NULL);
    for (const char *file; dir && (file = g_dir_read_name(dir));)
        if (g_str_has_suffix(file, ".idx"))
            g_ptr_array_add(names, g_strndup(file, strlen(file) - strlen(".idx")));
    g_ptr_array_sort(names, text_compare);
    return names;
}

/* The (first) dataset in the folder of `path` with the most similar name; NULL means that none is similar. g_free. */
static char *nearest_dataset(const char *path)
{
    g_autofree char *folder = g_path_get_dirname(path), *name = g_path_get_basename(path);
    g_autoptr(GPtrArray) names = datasets_in(folder);
    g_ptr_array_add(names, NULL);
    const char *nearest = text_nearest(name, (const char *const *)names->pdata);
    if (nearest == NULL)
        return NULL;
    return strchr(path, '/') ? g_build_filename(folder, nearest, NULL) : g_strdup(nearest);
}

/* Fails because a path prefix was wanted and `path` is a folder; names up to three datasets in it. */
static bool fail_folder(const char *path, GError **error)
{
    g_autoptr(GPtrArray) names = datasets_in(path);
    g_autoptr(GString) known = g_string_new(NULL);
    for (guint i = 0; i < MIN(names->len, 3); i++) {
        g_autofree char *prefix = g_build_filename(path, names->pdata[i], NULL);
        g_string_append_printf(known, "%s%s", i ? ", " : "", prefix);
    }
    g_autofree char *example = g_build_filename(path, "train", NULL);
    g_autofree char *word = text_shell_word(example);
    if (names->len == 0)
        return fail_user(error, "%s is a folder without datasets; loam prepare --out %s makes one of this name in it",
                         path, word);
    return fail_user(error, "%s is a folder; a dataset is named by its path prefix: %s%s", path, known->str,
                     names->len > 3 ? ", …" : "");
}

/* Fails because there is no dataset `path`: it is one file of a dataset, another file, a folder, or does not exist. */
static bool fail_no_dataset(const char *path, const char *index, GError **error)
{
    if (io_refused(path, error) || io_refused(index, error))
        return false;
    g_autofree char *stem = g_strdup(path);
    char *name = strrchr(stem, '/') ? strrchr(stem, '/') + 1 : stem, *suffix = strrchr(name, '.');
    bool part = suffix && (strcmp(suffix, ".bin") == 0 || strcmp(suffix, ".idx") == 0 || strcmp(suffix, ".json") == 0);
    g_autofree char *nearest = nearest_dataset(path), *word = text_shell_word(path);
    if (g_file_test(path, G_FILE_TEST_IS_DIR) && (!nearest || g_str_has_suffix(path, "/")))
        return fail_folder(path, error);
    if (nearest && !g_file_test(path, G_FILE_TEST_IS_REGULAR))
        return fail_user(error, "there is no dataset %s: %s is missing; did you mean %s?", path, index, nearest);
    if (!g_file_test(path, G_FILE_TEST_IS_REGULAR))
        return fail_user(error, "there is no dataset %s: %s is missing; loam prepare --out %s makes it", path, index,
                         word);
    if (strchr(name, '.') && name[0] != '.')
        *(part ? suffix : strchr(name, '.')) = '\0';
    if (part && name[0] != '\0')
        return fail_user(error, "%s is a file of a dataset, which is named without suffix: %s", path, stem);
    g_autofree char *prefix = g_strconcat(stem, strcmp(stem, path) == 0 ? "-tokens" : "", NULL),
                    *out = text_shell_word(prefix);
    return fail_user(
        error, "%s is a file, not a token dataset; make one of it: loam prepare --tokenizer TOK --out %s %s%s", path,
        out, word, record_name_has_values(path) ? "; if it is a table of examples, it is task.data" : "");
}

static Dataset *open_whole(const char *path, GError **error)
{
    g_autofree char *prefix = find_prefix(path), *index = g_strconcat(prefix, ".idx", NULL);
    if (!g_file_test(index, G_FILE_TEST_EXISTS)) {
        fail_no_dataset(prefix, index, error);
        return NULL;
    }
    g_autoptr(Dataset) data = g_new0(Dataset, 1);
    data->prefix = g_steal_pointer(&prefix);
    data->set = indexed_open(data->prefix, error);
    return data->set && read_meta(data, error) ? g_steal_pointer(&data) : NULL;
}

Dataset *dataset_open(const char *path, GError **error)
{
    double shares[SPLIT_PARTS];
    int64_t boundaries[SPLIT_PARTS + 1];
    int part, n = split_read_name(path, &part, shares, error);
    if (n < 0)
        return NULL;
    g_autofree char *prefix = n > 0 ? g_strndup(path, (gsize)n) : g_strdup(path);
    g_autoptr(Dataset) data = open_whole(prefix, error);
    if (data)
        data->name = g_strdup(n > 0 ? path : data->prefix);
    if (!data || n == 0)
        return g_steal_pointer(&data);
    split_boundaries(shares, indexed_documents(data->set), boundaries);
    indexed_window(data->set, boundaries[part], boundaries[part + 1]);
    if (indexed_documents(data->set) > 0)
        return g_steal_pointer(&data);
    return fail_user(error, "%s: the dataset has too few documents for this part: there are %" G_GINT64_FORMAT, path,
                     boundaries[SPLIT_PARTS]);
}

void dataset_close(Dataset *data)
{
    if (!data)
        return;
    indexed_close(data->set);
    trees_close(data->trees);
    dataset_meta_clear(&data->meta);
    g_free(data->prefix);
    g_free(data->name);
    g_free(data);
}

/* The index within its document of a token of a sequence. */
static int64_t position(const Dataset *data, int64_t sequence, int64_t token)
{
    int64_t document = indexed_locate(data->set, sequence);
    while (sequence > 0 && indexed_locate(data->set, sequence - 1) == document)
        token += indexed_length(data->set, --sequence);
    return token;
}

static bool read_sequence(const Dataset *data, int64_t sequence, int64_t from, int64_t n, int32_t vocab, int32_t *out,
                          GError **error)
{
    if (!indexed_read(data->set, sequence, from, n, out, error))
        return false;
    for (int64_t i = 0; i < n; i++) {
        if (out[i] >= 0 && out[i] < vocab)
            continue;
        g_autofree char *word = text_shell_word(data->prefix);
        return fail_user(error,
                         "the dataset %s holds token id %d, but the tokenizer has %d ids (document %" PRId64
                         ", token %" PRId64 ", from 0): it was damaged or made with another tokenizer; loam "
                         "inspect dataset --check %s tells how much of it; loam prepare makes it again",
                         data->prefix, out[i], vocab, indexed_locate(data->set, sequence),
                         position(data, sequence, from + i), word);
    }
    return true;
}

bool dataset_read(const Dataset *data, int64_t sequence, int64_t from, int64_t n, int32_t vocab, int32_t *out,
                  GError **error)
{
    for (; n > 0; sequence++) {
        int64_t length = indexed_length(data->set, sequence), take = CLAMP(length - from, 0, n);
        if (take > 0 && !read_sequence(data, sequence, from, take, vocab, out, error))
            return false;
        from = MAX(from - length, 0);
        out += take;
        n -= take;
    }
    return true;
}

bool dataset_sentence_starts(const Dataset *data, int64_t document, int64_t from, int64_t n, GByteArray *out,
                             G_GNUC_UNUSED GError **error)
{
    int64_t first, last, start = -from, previous = 0;
    indexed_document(data->set, document, &first, &last);
    for (int64_t sequence = first; sequence < last && start < n; sequence++) {
        if (start > previous) {
            g_byte_array_append(out, (const guint8 *)&start, sizeof start);
            previous = start;
        }
        start += indexed_length(data->set, sequence);
    }
    return true;
}

bool dataset_tree(const Dataset *data, int64_t document, int64_t from, int64_t n, GByteArray *out, GError **error)
{
    g_autoptr(GArray) nodes = g_array_new(false, false, sizeof(TreeNode)), cut = g_array_copy(nodes);
    int64_t first, last, n_tokens = 0;
    int language;
    if (!data->trees)
        return fail_user(error,
                         "the dataset %s has no syntax trees (%s.tree), which the objective cuts text along; make it "
                         "again: loam prepare --ast",
                         data->prefix, data->prefix);
    indexed_document(data->set, document, &first, &last);
    for (int64_t sequence = first; sequence < last; sequence++)
        n_tokens += indexed_length(data->set, sequence);
    if (!trees_read(data->trees, indexed_locate(data->set, first), n_tokens, &language, nodes, error))
        return false;
    if (language < 0)
        return true;
    const TreeNode root = { .begin = 0, .end = (int32_t)n };
    g_array_append_val(cut, root);
    trees_cut((const TreeNode *)(void *)nodes->data, nodes->len, from, from + n, cut);
    g_byte_array_append(out, (const guint8 *)cut->data, cut->len * (guint)sizeof(TreeNode));
    return true;
}
