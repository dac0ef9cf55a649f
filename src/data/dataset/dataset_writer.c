/* dataset_writer.c: writes a dataset sequence by sequence. */
#include "data/dataset/dataset.h"

#include "base/file.h"

DatasetWriter *dataset_writer_open(const char *prefix, const DatasetMeta *meta, bool fairseq, GError **error)
{
    IndexedForm form = fairseq ? INDEXED_FAIRSEQ : INDEXED_MEGATRON;
    IndexedWriter *files = indexed_writer_open(prefix, form, meta->vocab, error);
    if (!files)
        return NULL;
    DatasetWriter *writer = g_new(DatasetWriter, 1);
    *writer = (DatasetWriter){ .prefix = g_strdup(prefix), .files = files, .meta = *meta };
    return writer;
}

void dataset_writer_close(DatasetWriter *writer)
{
    if (!writer)
        return;
    tree_writer_close(writer->trees);
    ndtype_writer_close(writer->ndtypes);
    indexed_writer_close(writer->files); /* last: it unlocks the dataset */
    g_free(writer->prefix);
    g_free(writer);
}

bool dataset_writer_add(DatasetWriter *writer, const int32_t *ids, int64_t n, GError **error)
{
    DatasetMeta *meta = &writer->meta;
    const bool text = meta->label_kind == LABELS_NONE || !writer->begun; /* encoded labels follow the text */
    meta->counts.tokens += n;
    for (int64_t i = 0; text && meta->has_unknown && i < n; i++)
        meta->counts.unknown += ids[i] == meta->unknown_id;
    writer->begun = true;
    return indexed_writer_add(writer->files, ids, n, error);
}

bool dataset_writer_end_document(DatasetWriter *writer, GError **error)
{
    writer->meta.counts.documents++;
    writer->begun = false;
    return indexed_writer_end_document(writer->files, error);
}

bool dataset_writer_with_trees(DatasetWriter *writer, const Grammars *grammars, GError **error)
{
    writer->trees = tree_writer_open(writer->prefix, grammars, error);
    return writer->trees != NULL;
}

bool dataset_writer_with_ndtypes(DatasetWriter *writer, NdtypeDict *dict, bool packed, GError **error)
{
    writer->ndtypes = ndtype_writer_open(writer->prefix, dict, packed, error);
    return writer->ndtypes != NULL;
}

bool dataset_writer_add_tree(DatasetWriter *writer, const int32_t *ids, int64_t n, int language, const TreeNode *nodes,
                             int64_t n_nodes, GError **error)
{
    return dataset_writer_add(writer, ids, n, error) && dataset_writer_end_document(writer, error) &&
           (!writer->trees || tree_writer_add(writer->trees, language, nodes, n_nodes, error)) &&
           (!writer->ndtypes || ndtype_writer_add(writer->ndtypes, language, nodes, n_nodes, error));
}

bool dataset_writer_finish(DatasetWriter *writer, GError **error)
{
    DatasetMeta *meta = &writer->meta;
    g_autofree char *path = g_strconcat(writer->prefix, ".json", NULL);
    return indexed_writer_check_owner(writer->files, error) && io_remove_file(path, error) &&
           trees_remove(writer->prefix, error) && indexed_writer_publish(writer->files, error) &&
           (!writer->trees || tree_writer_finish(writer->trees, &meta->tree_bytes, meta->tree_hash, error)) &&
           (!writer->ndtypes || ndtype_writer_finish(writer->ndtypes, error)) &&
           indexed_writer_check_owner(writer->files, error) &&
           (!meta->tokenizer_hash || dataset_meta_write(meta, path, error));
}
