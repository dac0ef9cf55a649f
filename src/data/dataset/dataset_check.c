/* dataset_check.c: reads every token of a dataset and checks its ids. */
#include "data/dataset/dataset.h"

#include <string.h>

#define CHUNK 4096 /* tokens read at once */

static void check_stored_ids(DatasetCheck *check, const int32_t *ids, int64_t n, int64_t vocab, int64_t sequence,
                             int64_t token)
{
    for (int64_t i = 0; i < n; i++) {
        check->least = MIN(check->least, ids[i]);
        check->largest = MAX(check->largest, ids[i]);
        if (ids[i] >= 0 && (vocab == 0 || ids[i] < vocab))
            continue;
        if (check->bad++ == 0) {
            check->sequence = sequence;
            check->token = token + i;
            check->id = ids[i];
        }
    }
    check->tokens += n;
}

static bool check_hash(const Dataset *data, GError **error)
{
    char hash[17];
    if (!trees_hash(data->trees, hash, error))
        return false;
    return strcmp(hash, data->meta.tree_hash) == 0 ||
           fail_user(error,
                     "%s.tree has hash %s, but by %s.json it should be %s: the file is corrupt; run loam prepare again",
                     data->prefix, hash, data->prefix, data->meta.tree_hash);
}

/* Reads every tree, and compares PREFIX.tree with the hash in PREFIX.json. */
static bool check_trees(const Dataset *data, GError **error)
{
    g_autoptr(GByteArray) side = g_byte_array_new();
    if (data->meta.tree_bytes > 0 && !check_hash(data, error))
        return false;
    for (int64_t document = 0; document < indexed_documents(data->set); document++, g_byte_array_set_size(side, 0))
        if (!dataset_tree(data, document, 0, INT32_MAX, side, error))
            return false;
    return true;
}

bool dataset_check(const Dataset *data, int64_t vocab, DatasetCheck *check, GError **error)
{
    int32_t ids[CHUNK];
    *check = (DatasetCheck){ .least = INT32_MAX, .largest = -1 };
    for (int64_t document = 0; document < indexed_documents(data->set); document++) {
        int64_t first, last, token = 0;
        indexed_document(data->set, document, &first, &last);
        for (int64_t sequence = first; sequence < last; sequence++) {
            int64_t length = indexed_length(data->set, sequence);
            for (int64_t at = 0, n; at < length; at += n, token += n) {
                n = MIN(CHUNK, length - at);
                if (!indexed_read(data->set, sequence, at, n, ids, error))
                    return false;
                check_stored_ids(check, ids, n, vocab, sequence, token);
            }
        }
    }
    if (data->trees && !check_trees(data, error))
        return false;
    check->document = check->bad > 0 ? indexed_locate(data->set, check->sequence) : 0;
    return true;
}
