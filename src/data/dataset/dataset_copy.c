/* dataset_copy.c: writes datasets made of others: merged, shuffled, split. */
#include "data/dataset/dataset.h"

#include "base/file.h"
#include "base/log.h"
#include "base/philox.h"

#include <string.h>

#define SHUFFLE_LAYER 0x80000000u /* `layer` of the random key; the epochs of a loader never use this value */

/* A dataset with the file format, tokenizer and append_eod of a source, without its trees. */
static DatasetWriter *open_like(const Dataset *like, const char *prefix, GError **error)
{
    bool narrow = indexed_dtype(like->set) != INDEXED_I32 && indexed_dtype(like->set) != INDEXED_U32 &&
                  indexed_dtype(like->set) != 5 && indexed_dtype(like->set) != 10;
    g_autofree char *folder = g_path_get_dirname(prefix);
    DatasetMeta meta = like->meta;
    meta.counts = (DatasetCounts){ 0 };
    meta.held_out = false;
    if (meta.tree_bytes > 0)
        log_warning("%s.tree is left out: a copy of a dataset has no syntax trees", like->prefix);
    meta.tree_bytes = 0;
    meta.tree_hash[0] = meta.source_hash[0] = '\0';
    if (meta.vocab == 0)
        meta.vocab = narrow ? 65499 : INT32_MAX;
    if (!io_make_directories(folder, error))
        return NULL;
    return dataset_writer_open(prefix, &meta, indexed_form(like->set) == INDEXED_FAIRSEQ, error);
}

static bool copy_document(DatasetWriter *out, const Dataset *from, int64_t document, GError **error)
{
    int64_t first, last;
    for (indexed_document(from->set, document, &first, &last); first < last; first++) {
        int32_t n = indexed_length(from->set, first);
        g_autofree int32_t *ids = g_new(int32_t, n);
        if (!dataset_read(from, first, 0, n, (int32_t)out->meta.vocab, ids, error) ||
            !dataset_writer_add(out, ids, n, error))
            return false;
    }
    return dataset_writer_end_document(out, error);
}

/* Finishes a dataset, if it has been written completely (good), and closes it. */
static bool finish_dataset(DatasetWriter *out, bool good, DatasetCounts *counts, GError **error)
{
    if (out)
        *counts = out->meta.counts;
    good = good && dataset_writer_finish(out, error);
    dataset_writer_close(out);
    return good;
}

/* The output must not be a source, which is read while the output is written. */
static bool check_apart(const Dataset *source, const char *out, GError **error)
{
    g_autofree char *a = g_canonicalize_filename(source->prefix, NULL), *b = g_canonicalize_filename(out, NULL);
    return strcmp(a, b) != 0 || fail_user(error, "%s is both read and written: give another --out", out);
}

static bool check_same_tokens(const Dataset *a, const Dataset *b, GError **error)
{
    if (g_strcmp0(a->meta.tokenizer_hash, b->meta.tokenizer_hash) != 0)
        return fail_user(error, "%s and %s have different tokenizers: %s and %s", a->prefix, b->prefix,
                         a->meta.tokenizer_hash ? a->meta.tokenizer_hash : "unknown",
                         b->meta.tokenizer_hash ? b->meta.tokenizer_hash : "unknown");
    if (a->meta.vocab != b->meta.vocab)
        return fail_user(error, "%s and %s have vocabularies of %" G_GINT64_FORMAT " and %" G_GINT64_FORMAT " ids",
                         a->prefix, b->prefix, a->meta.vocab, b->meta.vocab);
    if (indexed_dtype(a->set) != indexed_dtype(b->set))
        return fail_user(error, "%s and %s have tokens of different types: codes %d and %d", a->prefix, b->prefix,
                         indexed_dtype(a->set), indexed_dtype(b->set));
    if (a->meta.label_kind != b->meta.label_kind || g_strcmp0(a->meta.labels, b->meta.labels) != 0) {
        g_autofree char *ours = dataset_meta_labels(&a->meta), *theirs = dataset_meta_labels(&b->meta);
        return fail_user(error, "%s holds %s, %s %s", a->prefix, ours, b->prefix, theirs);
    }
    if (a->meta.append_eod != b->meta.append_eod)
        return fail_user(error, "documents of %s end in an end-of-sequence token, those of %s do not",
                         a->meta.append_eod ? a->prefix : b->prefix, a->meta.append_eod ? b->prefix : a->prefix);
    return true;
}

bool dataset_merge(char *const *prefixes, int n_prefixes, const char *out, DatasetCounts *counts, GError **error)
{
    g_autoptr(GPtrArray) sources = g_ptr_array_new_with_free_func((GDestroyNotify)dataset_close);
    for (int i = 0; i < n_prefixes; i++) {
        Dataset *source = dataset_open(prefixes[i], error);
        if (source == NULL)
            return false;
        g_ptr_array_add(sources, source);
        if (!check_apart(source, out, error) || !check_same_tokens(sources->pdata[0], source, error))
            return false;
    }
    DatasetWriter *writer = open_like(sources->pdata[0], out, error);
    bool good = writer != NULL;
    for (guint s = 0; s < sources->len; s++)
        for (int64_t i = 0; good && i < indexed_documents(((Dataset *)sources->pdata[s])->set); i++)
            good = copy_document(writer, sources->pdata[s], i, error);
    return finish_dataset(writer, good, counts, error);
}

/* Writes documents [first, last) of a source; with a key in the random order that it gives all of them. */
static bool write_documents(const Dataset *source, const char *out, int64_t first, int64_t last, const PhiloxKey *key,
                            DatasetCounts *counts, GError **error)
{
    DatasetWriter *writer = check_apart(source, out, error) ? open_like(source, out, error) : NULL;
    bool good = writer != NULL;
    for (int64_t i = first; good && i < last; i++)
        good = copy_document(writer, source, key ? (int64_t)philox_permute(*key, 0, (uint64_t)i, (uint64_t)last) : i,
                             error);
    return finish_dataset(writer, good, counts, error);
}

bool dataset_shuffle(const char *prefix, const char *out, uint64_t seed, DatasetCounts *counts, GError **error)
{
    g_autoptr(Dataset) source = dataset_open(prefix, error);
    const PhiloxKey key = philox_key(seed, PHILOX_DOCUMENT_ORDER, SHUFFLE_LAYER);
    return source && write_documents(source, out, 0, indexed_documents(source->set), &key, counts, error);
}

/* Fails if a part with share 0, which is not written, exists: it may contain documents of the other parts. */
static bool check_left_out(const char *out, const double shares[SPLIT_PARTS], GError **error)
{
    for (int i = 0; i < SPLIT_PARTS; i++) {
        g_autofree char *index = g_strdup_printf("%s-%s.idx", out, split_names[i]);
        if (shares[i] <= 0 && g_file_test(index, G_FILE_TEST_EXISTS))
            return fail_user(
                error,
                "%s-%s exists from an earlier run, and its share is 0 now: its documents may be in the other "
                "parts; remove it, or choose another --out",
                out, split_names[i]);
    }
    return true;
}

bool dataset_split(const char *prefix, const char *out, const double shares[SPLIT_PARTS],
                   DatasetCounts counts[SPLIT_PARTS], GError **error)
{
    int64_t boundaries[SPLIT_PARTS + 1];
    g_autoptr(Dataset) source = dataset_open(prefix, error);
    bool ok = source != NULL && check_left_out(out, shares, error);
    if (ok)
        split_boundaries(shares, indexed_documents(source->set), boundaries);
    for (int i = 0; ok && i < SPLIT_PARTS; i++) {
        g_autofree char *share = g_strdup_printf("%s-%s", out, split_names[i]);
        counts[i] = (DatasetCounts){ 0 };
        ok =
            shares[i] <= 0 || write_documents(source, share, boundaries[i], boundaries[i + 1], NULL, &counts[i], error);
    }
    return ok;
}
