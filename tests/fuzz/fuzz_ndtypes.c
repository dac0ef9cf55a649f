/* AST-T5's ndtypes/ffr/SPLIT.ffr of any bytes, and one whose record is any bytes: an error, or trees whose nodes are in
 * their documents, disjoint or nested. */
#include "data/trees/ndtypes.h"

#include "fuzz_folder.h"

enum { TOKENS = 40 };

typedef struct Bytes {
    const uint8_t *data;
    size_t n;
} Bytes;

static bool give(void *context, int64_t record, GByteArray *out, GError **error)
{
    (void)record, (void)error;
    const Bytes *bytes = context;
    g_byte_array_set_size(out, 0);
    g_byte_array_append(out, bytes->data, (guint)bytes->n);
    return true;
}

static void put_dictionary(void)
{
    GString *dict = g_string_new("( 1\n) 1\n_x_list 1\n_x_identifier 1\n_y_list 1\n");
    for (int i = 0; i <= TOKENS; i++)
        g_string_append_printf(dict, "p%06d 1\n", i);
    fuzz_keep("dict_ndtype.txt", dict->str, dict->len);
    g_string_free(dict, TRUE);
}

static void read_all(const char *prefix)
{
    g_autoptr(GError) error = NULL;
    Trees *trees = trees_open_ndtypes(prefix, &error);
    CHECK((trees == NULL) == (error != NULL), "an error or trees, not both");
    for (int64_t i = 0; trees && i < MIN(trees_documents(trees), 4); i++) {
        g_autoptr(GArray) nodes = g_array_new(FALSE, FALSE, sizeof(TreeNode));
        int language;
        if (!trees_read(trees, i, TOKENS, &language, nodes, NULL))
            continue;
        for (guint k = 0; k < nodes->len; k++) {
            const TreeNode *node = &g_array_index(nodes, TreeNode, k), *before = node - (k > 0);
            CHECK(node->begin >= before->begin && node->begin < node->end && node->end <= TOKENS, "node [%d, %d)",
                  node->begin, node->end);
            CHECK(node->begin >= before->end || node->end <= before->end, "[%d, %d) after [%d, %d)", node->begin,
                  node->end, before->begin, before->end);
            CHECK(trees_type(trees, language, node->type) && trees_language(trees, language), "a type without a name");
        }
    }
    trees_close(trees);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    g_autofree char *folder = g_build_filename(fuzz_folder(), "x", "ndtypes", "ffr", NULL),
                    *prefix = g_build_filename(fuzz_folder(), "x", "train", NULL),
                    *path = g_build_filename(folder, "train.ffr", NULL);
    static bool made;
    if (!made)
        CHECK(io_make_directories(folder, NULL), "%s", folder);
    made = true;
    put_dictionary();
    fuzz_put("x/ndtypes/ffr/train.ffr", data, bytes);
    read_all(prefix);
    Bytes record = { data, bytes };
    CHECK(ffrecord_write(path, 1, give, &record, NULL), "%s", path);
    read_all(prefix);
    return 0;
}
