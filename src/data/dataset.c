#include "data/dataset.h"

#include "data/dataset_meta.h"

Dataset *dataset_open(const char *prefix, GError **error)
{
    g_autofree char *path = g_strconcat(prefix, ".json", NULL), *index = g_strconcat(prefix, ".idx", NULL);
    DatasetMeta meta = { 0 };
    if (!g_file_test(index, G_FILE_TEST_EXISTS)) {
        fail_user(error, "there is no dataset %s: %s is missing; loam prepare --out %s makes it", prefix, index,
                  prefix);
        return NULL;
    }
    if (g_file_test(path, G_FILE_TEST_EXISTS) && !dataset_meta_read(&meta, path, error))
        return NULL;
    Indexed *set = indexed_open(prefix, error);
    if (!set) {
        dataset_meta_clear(&meta);
        return NULL;
    }
    if (meta.tokenizer_hash && (meta.tokens != indexed_tokens(set) || meta.documents != indexed_documents(set))) {
        fail_user(error,
                  "%s tells of %ld documents and %ld tokens, but %s.idx holds %ld and %ld: files of two datasets; run "
                  "loam prepare again",
                  path, meta.documents, meta.tokens, prefix, indexed_documents(set), indexed_tokens(set));
        dataset_meta_clear(&meta);
        indexed_close(set);
        return NULL;
    }
    Dataset *data = g_new0(Dataset, 1);
    data->prefix = g_strdup(prefix);
    data->set = set;
    data->tokenizer_hash = g_steal_pointer(&meta.tokenizer_hash);
    data->vocab = meta.vocab;
    data->append_eod = meta.append_eod;
    dataset_meta_clear(&meta);
    return data;
}

void dataset_close(Dataset *data)
{
    if (!data)
        return;
    indexed_close(data->set);
    g_free(data->tokenizer_hash);
    g_free(data->prefix);
    g_free(data);
}
