/* dataset_tree.c: the syntax trees beside a dataset. */
#include "data/dataset/dataset.h"

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
