/* dataset_copy.c: writes datasets made of others: merged, shuffled, split. */
#include "data/dataset/dataset.h"

#include "base/file.h"
#include "base/philox.h"

#include <string.h>

#define SHUFFLE_LAYER 0x80000000u /* a key that the epochs of a loader do not use */

/* A dataset being written. */
typedef struct Copy {
    const Dataset *like; /* the source whose file format, tokenizer and append_eod it takes over */
    char *prefix;
    IndexedWriter *writer;
    int64_t vocab; /* vocabulary size; all ids are below it */
    GArray *ids;   /* int32_t: the current sequence */
    DatasetCounts counts;
} Copy;

static bool copy_open(Copy *copy, const Dataset *like, const char *prefix, GError **error)
{
    bool narrow = indexed_dtype(like->set) != INDEXED_I32 && indexed_dtype(like->set) != INDEXED_U32 &&
                  indexed_dtype(like->set) != 5 && indexed_dtype(like->set) != 10;
    g_autofree char *folder = g_path_get_dirname(prefix);
    *copy = (Copy){ .like = like,
                    .prefix = g_strdup(prefix),
                    .vocab = like->vocab > 0 ? like->vocab
                             : narrow        ? 65499
                                             : INT32_MAX,
                    .ids = g_array_new(FALSE, FALSE, sizeof(int32_t)) };
    if (!io_make_directories(folder, error))
        return false;
    copy->writer = indexed_form(like->set) == INDEXED_FAIRSEQ ? indexed_writer_open_fairseq(prefix, copy->vocab, error)
                                                              : indexed_writer_open(prefix, copy->vocab, error);
    return copy->writer != NULL;
}

static void copy_clear(Copy *copy)
{
    if (copy->writer)
        indexed_writer_abort(copy->writer);
    if (copy->ids)
        g_array_unref(copy->ids);
    g_free(copy->prefix);
}

static bool copy_document(Copy *copy, const Dataset *from, int64_t document, GError **error)
{
    int64_t first, last;
    for (indexed_document(from->set, document, &first, &last); first < last; first++) {
        int32_t n = indexed_length(from->set, first);
        g_array_set_size(copy->ids, (guint)n);
        int32_t *ids = (int32_t *)(void *)copy->ids->data;
        if (!dataset_read(from, first, 0, n, (int32_t)copy->vocab, ids, error))
            return false;
        copy->counts.tokens += n;
        if (!indexed_writer_add(copy->writer, ids, n, error))
            return false;
    }
    copy->counts.documents++;
    return indexed_writer_end_document(copy->writer, error);
}

/* PREFIX.json is removed first and written last, so it never describes other data; without a known tokenizer there is
 * none.
 */
static bool copy_finish(Copy *copy, DatasetCounts *counts, GError **error)
{
    g_autofree char *path = g_strconcat(copy->prefix, ".json", NULL);
    const DatasetMeta meta = { .tokenizer_hash = copy->like->tokenizer_hash,
                               .tokenizer_kind = copy->like->tokenizer_kind,
                               .vocab = copy->like->vocab,
                               .append_eod = copy->like->append_eod,
                               .documents = copy->counts.documents,
                               .tokens = copy->counts.tokens };
    *counts = copy->counts;
    return io_remove_file(path, error) && indexed_writer_finish(g_steal_pointer(&copy->writer), error) &&
           (meta.tokenizer_hash == NULL || dataset_meta_write(&meta, path, error));
}

/* The output must not be a source, which is read while the output is written. */
static bool check_apart(const Dataset *source, const char *out, GError **error)
{
    g_autofree char *a = g_canonicalize_filename(source->prefix, NULL), *b = g_canonicalize_filename(out, NULL);
    return strcmp(a, b) != 0 || fail_user(error, "%s is both read and written: give another --out", out);
}

static bool check_alike(const Dataset *a, const Dataset *b, GError **error)
{
    if (g_strcmp0(a->tokenizer_hash, b->tokenizer_hash) != 0)
        return fail_user(error, "%s and %s have different tokenizers: %s and %s", a->prefix, b->prefix,
                         a->tokenizer_hash ? a->tokenizer_hash : "unknown",
                         b->tokenizer_hash ? b->tokenizer_hash : "unknown");
    if (a->vocab != b->vocab)
        return fail_user(error, "%s and %s have vocabularies of %" G_GINT64_FORMAT " and %" G_GINT64_FORMAT " ids",
                         a->prefix, b->prefix, a->vocab, b->vocab);
    if (indexed_dtype(a->set) != indexed_dtype(b->set))
        return fail_user(error, "%s and %s have tokens of different types: codes %d and %d", a->prefix, b->prefix,
                         indexed_dtype(a->set), indexed_dtype(b->set));
    if (a->append_eod != b->append_eod)
        return fail_user(error, "documents of %s end in an end-of-sequence token, those of %s do not",
                         a->append_eod ? a->prefix : b->prefix, a->append_eod ? b->prefix : a->prefix);
    return true;
}

static bool merge_into(Copy *copy, GPtrArray *sources, GError **error)
{
    for (guint s = 0; s < sources->len; s++) {
        const Dataset *source = sources->pdata[s];
        for (int64_t i = 0; i < indexed_documents(source->set); i++)
            if (!copy_document(copy, source, i, error))
                return false;
    }
    return true;
}

static void close_dataset(void *data)
{
    dataset_close(data);
}

bool dataset_merge(char *const *prefixes, int n_prefixes, const char *out, DatasetCounts *counts, GError **error)
{
    g_autoptr(GPtrArray) sources = g_ptr_array_new_with_free_func(close_dataset);
    for (int i = 0; i < n_prefixes; i++) {
        Dataset *source = dataset_open(prefixes[i], error);
        if (source == NULL)
            return false;
        g_ptr_array_add(sources, source);
        if (!check_apart(source, out, error) || !check_alike(sources->pdata[0], source, error))
            return false;
    }
    Copy copy;
    bool ok = copy_open(&copy, sources->pdata[0], out, error) && merge_into(&copy, sources, error) &&
              copy_finish(&copy, counts, error);
    copy_clear(&copy);
    return ok;
}

bool dataset_shuffle(const char *prefix, const char *out, uint64_t seed, DatasetCounts *counts, GError **error)
{
    Dataset *source = dataset_open(prefix, error);
    if (source == NULL)
        return false;
    Copy copy = { 0 };
    bool ok = check_apart(source, out, error) && copy_open(&copy, source, out, error);
    const PhiloxKey key = philox_key(seed, PHILOX_DOCUMENT_ORDER, SHUFFLE_LAYER);
    int64_t n = indexed_documents(source->set);
    for (int64_t i = 0; ok && i < n; i++)
        ok = copy_document(&copy, source, (int64_t)philox_permute(key, 0, (uint64_t)i, (uint64_t)n), error);
    ok = ok && copy_finish(&copy, counts, error);
    copy_clear(&copy);
    dataset_close(source);
    return ok;
}

static bool write_share(const Dataset *source, const char *prefix, int64_t first, int64_t last, DatasetCounts *counts,
                        GError **error)
{
    Copy copy = { 0 };
    bool ok = check_apart(source, prefix, error) && copy_open(&copy, source, prefix, error);
    for (int64_t i = first; ok && i < last; i++)
        ok = copy_document(&copy, source, i, error);
    ok = ok && copy_finish(&copy, counts, error);
    copy_clear(&copy);
    return ok;
}

/* A part with share 0 is not written; one of that name from an earlier split may hold documents of the other parts. */
static bool check_left_out(const char *out, const double shares[SPLIT_PARTS], GError **error)
{
    for (int i = 0; i < SPLIT_PARTS; i++) {
        g_autofree char *index = g_strdup_printf("%s-%s.idx", out, split_names[i]);
        if (shares[i] <= 0 && g_file_test(index, G_FILE_TEST_EXISTS))
            return fail_user(error,
                             "%s-%s is there from before, and its share is 0 now: its documents may be in the other "
                             "parts; remove it, or choose another --out",
                             out, split_names[i]);
    }
    return true;
}

bool dataset_split(const char *prefix, const char *out, const double shares[SPLIT_PARTS],
                   DatasetCounts counts[SPLIT_PARTS], GError **error)
{
    int64_t boundaries[SPLIT_PARTS + 1];
    Dataset *source = dataset_open(prefix, error);
    bool ok = source != NULL && check_left_out(out, shares, error);
    if (ok)
        split_boundaries(shares, indexed_documents(source->set), boundaries);
    for (int i = 0; ok && i < SPLIT_PARTS; i++) {
        g_autofree char *share = g_strdup_printf("%s-%s", out, split_names[i]);
        counts[i] = (DatasetCounts){ 0 };
        ok = shares[i] <= 0 || write_share(source, share, boundaries[i], boundaries[i + 1], &counts[i], error);
    }
    dataset_close(source);
    return ok;
}
