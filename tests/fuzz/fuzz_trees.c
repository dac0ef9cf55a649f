/* A PREFIX.tree of any bytes: an error, or trees whose nodes are in their documents, disjoint or nested. */
#include "data/trees/trees.h"

#include "fuzz_folder.h"

enum { TOKENS = 40 };

static void check_nodes(const GArray *nodes)
{
    for (guint i = 0; i < nodes->len; i++) {
        const TreeNode *node = &g_array_index(nodes, TreeNode, i), *before = node - (i > 0);
        CHECK(node->begin >= before->begin && node->begin < node->end && node->end <= TOKENS, "node [%d, %d)",
              node->begin, node->end);
        CHECK(node->begin >= before->end || node->end <= before->end, "[%d, %d) after [%d, %d)", node->begin, node->end,
              before->begin, before->end);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    g_autoptr(GError) error = NULL;
    g_autofree char *prefix = g_build_filename(fuzz_folder(), "set", NULL);
    fuzz_put("set.tree", data, bytes);
    Trees *trees = trees_open(prefix, &error);
    CHECK((trees == NULL) == (error != NULL), "an error or trees, not both");
    for (int64_t i = 0; trees && i < trees_documents(trees); i++) {
        g_autoptr(GArray) nodes = g_array_new(FALSE, FALSE, sizeof(TreeNode));
        int language;
        if (!trees_read(trees, i, TOKENS, &language, nodes, NULL))
            continue;
        check_nodes(nodes);
        for (guint k = 0; k < nodes->len; k++)
            CHECK(trees_type(trees, language, g_array_index(nodes, TreeNode, k).type), "a type without a name");
    }
    trees_close(trees);
    return 0;
}
