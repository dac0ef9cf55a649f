/* AST-T5's side files: what is written comes back, in both forms; trees that were cut, as AST-T5 builds them; bad
 * files. */
#include "data/trees/ndtypes.h"

#include "base/file.h"
#include "base/philox.h"
#include "data/data_test.h"
#include "data/dataset/dataset.h"

#include <errno.h>

enum { V = 50, MOST = 60 };

static char *folder;
static Grammars *grammars;

static void events_are_packed_in_14_4_and_14_bits(void)
{
    Philox rng = philox_open(philox_key(1, PHILOX_SAMPLING, 0), 0);
    g_assert_cmphex(ndtype_pack((NdtypeEvent){ 1, 1, 1 }), ==, 0x44001);
    g_assert_cmphex(ndtype_pack((NdtypeEvent){ 16383, 15, 16383 }), ==, 0xffffffff);
    for (int i = 0; i < 20000; i++) {
        const NdtypeEvent event = { (uint32_t)philox_below(&rng, NDTYPE_IDS),
                                    (uint32_t)philox_below(&rng, NDTYPE_MARKS),
                                    (uint32_t)philox_below(&rng, NDTYPE_IDS) };
        const NdtypeEvent back = ndtype_unpack(ndtype_pack(event));
        g_assert_true(back.position == event.position && back.mark == event.mark && back.type == event.type);
    }
}

/* Made with Python's struct and zlib: CRC of the rest of the header, n, CRCs, offsets, records. */
static const uint8_t two_records[] = { 0x6d, 0x8f, 0x10, 0x07, 0x02, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
                                       0x71, 0x8f, 0x56, 0xe3, 0x00, 0x00, 0x00, 0x00, 0x24, 0x00, 0x00, 0x00,
                                       0x00, 0x00, 0x00, 0x00, 0x30, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
                                       0x07, 0x00, 0x29, 0x00, 0x07, 0x40, 0x31, 0x00, 0xff, 0xff, 0xff, 0xff };

static bool give(void *context, int64_t record, GByteArray *out, GError **error)
{
    (void)context, (void)error;
    static const uint32_t events[] = { 10u << 18 | 4 << 14 | 7, 12u << 18 | 5 << 14 | 7, 0xffffffff };
    g_byte_array_set_size(out, 0);
    if (record == 0)
        g_byte_array_append(out, (const guint8 *)events, sizeof events);
    return true;
}

static void files_of_ffrecord_are_those_of_its_layout(void)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(GByteArray) record = g_byte_array_new();
    g_autofree char *path = g_build_filename(folder, "x.ffr", NULL), *bytes = NULL;
    gsize n;
    g_assert_true(ffrecord_write(path, 2, give, NULL, &error));
    g_assert_true(g_file_get_contents(path, &bytes, &n, NULL));
    g_assert_cmpuint(n, ==, sizeof two_records);
    assert_same(bytes, two_records, n);
    FFRecord *file = ffrecord_open(path, &error);
    g_assert_no_error(error);
    g_assert_cmpint(ffrecord_count(file), ==, 2);
    g_assert_cmpint(ffrecord_bytes(file), ==, sizeof two_records);
    g_assert_true(ffrecord_read(file, 0, record, NULL));
    g_assert_cmpuint(record->len, ==, 12);
    g_assert_true(ffrecord_read(file, 1, record, NULL));
    g_assert_cmpuint(record->len, ==, 0);
    g_assert_false(ffrecord_read(file, 2, record, NULL));
    ffrecord_close(file);
    for (gsize i = 0; i < n; i++) { /* any changed bit is found, when opened or when read */
        g_autofree char *bad = g_memdup2(bytes, n);
        bad[i] = (char)(bad[i] ^ 4);
        g_assert_true(g_file_set_contents(path, bad, (gssize)n, NULL));
        file = ffrecord_open(path, NULL);
        g_assert_true(!file || !ffrecord_read(file, 0, record, NULL) || !ffrecord_read(file, 1, record, NULL));
        ffrecord_close(file);
    }
}

/* ---- trees through the files ---- */

static void grow(Philox *rng, int32_t begin, int32_t end, int depth, GArray *tree)
{
    static const uint16_t types[] = { 3, 5 }; /* identifier, list */
    int type = (int)philox_below(rng, 2);
    const TreeNode node = { begin, end, types[type], type == 0 };
    g_array_append_val(tree, node);
    for (int32_t at = begin; depth > 0 && at < end;) {
        int32_t n = 1 + (int32_t)philox_below(rng, (uint64_t)(end - at));
        if (philox_below(rng, 3) > 0)
            grow(rng, at, at + n, depth - 1, tree);
        at += n;
    }
}

static GArray *draw_tree(uint64_t number, int32_t *n)
{
    Philox rng = philox_open(philox_key(2, PHILOX_SAMPLING, 0), number);
    GArray *tree = g_array_new(FALSE, FALSE, sizeof(TreeNode));
    *n = 1 + (int32_t)philox_below(&rng, MOST - 1);
    for (int32_t at = 0; at < *n;) {
        int32_t size = 1 + (int32_t)philox_below(&rng, (uint64_t)(*n - at));
        if (philox_below(&rng, 3) > 0)
            grow(&rng, at, at + size, 4, tree);
        at += size;
    }
    return tree;
}

static void check_back(const char *prefix, int documents)
{
    g_autoptr(GError) error = NULL;
    Dataset *data = dataset_open(prefix, &error);
    g_assert_no_error(error);
    g_assert_true(data->meta.append_eod);
    for (int i = 0; i < documents; i++) {
        int32_t n;
        int language;
        g_autoptr(GArray) tree = draw_tree((uint64_t)i, &n), back = g_array_new(FALSE, FALSE, sizeof(TreeNode));
        g_assert_true(trees_read(data->trees, i, n + 1, &language, back, &error));
        g_assert_cmpuint(back->len, ==, tree->len);
        for (guint k = 0; k < tree->len; k++) {
            const TreeNode *a = &g_array_index(tree, TreeNode, k), *b = &g_array_index(back, TreeNode, k);
            g_assert_true(a->begin == b->begin && a->end == b->end && a->is_name == b->is_name);
            g_assert_cmpstr(trees_type(data->trees, language, b->type), ==, a->is_name ? "identifier" : "list");
            g_assert_cmpstr(trees_language(data->trees, language), ==, "lists");
        }
    }
    dataset_close(data);
}

static void trees_come_back_from_both_forms(void)
{
    g_autoptr(GError) error = NULL;
    g_autofree char *prefix = g_build_filename(folder, "set", "lists", "train", NULL), *own = ndtypes_prefix(prefix),
                    *index = g_strconcat(own, ".idx", NULL), *parent = g_path_get_dirname(prefix),
                    *above = g_path_get_dirname(parent);
    enum { DOCUMENTS = 300 };
    NdtypeDict *dict = ndtype_dict_new(grammars, MOST, &error);
    g_assert_no_error(error);
    const DatasetMeta meta = { .vocab = V };
    g_assert_true(io_make_directories(parent, NULL));
    DatasetWriter *writer = dataset_writer_open(prefix, &meta, true, &error);
    g_assert_true(dataset_writer_with_ndtypes(writer, dict, true, &error));
    for (int i = 0; i < DOCUMENTS; i++) {
        int32_t n, ids[MOST + 1];
        g_autoptr(GArray) tree = draw_tree((uint64_t)i, &n);
        for (int k = 0; k <= n; k++)
            ids[k] = 10;
        g_assert_true(
            dataset_writer_add_tree(writer, ids, n + 1, 0, (const TreeNode *)(void *)tree->data, tree->len, &error));
    }
    g_assert_true(dataset_writer_finish(writer, &error) && ndtype_dict_write(dict, above, &error));
    g_assert_no_error(error);
    dataset_writer_close(writer);
    ndtype_dict_free(dict);
    check_back(prefix, DOCUMENTS);
    g_assert_true(io_remove_file(index, NULL)); /* the other form is read where this one is missing */
    check_back(prefix, DOCUMENTS);
    g_autofree char *text = g_build_filename(folder, "set", "text", "train", NULL), *of_text = g_path_get_dirname(text);
    g_assert_true(io_make_directories(of_text, NULL));
    Trees *none = trees_open_ndtypes(text, &error);
    g_assert_no_error(error);
    int language;
    g_autoptr(GArray) nodes = g_array_new(FALSE, FALSE, sizeof(TreeNode));
    g_assert_true(trees_read(none, 5, 10, &language, nodes, &error));
    g_assert_cmpint(language, ==, -1);
    trees_close(none);
}

/* A dictionary and one document of ids; id 4 is "(", 5 ")", 6 _x_list, 7 _x_identifier, 8 p000000. */
static Trees *open_ids(const int32_t *ids, int64_t n, GError **error)
{
    g_free(file_write_text(folder, "one/dict_ndtype.txt",
                           "( 1\n) 1\n_x_list 1\n_x_identifier 1\np000000 1\np000001 1\np000002 1\np000003 1\n"
                           "p000004 1\np000005 1\np000006 1\n"));
    g_autofree char *prefix = g_build_filename(folder, "one", "x", "train", NULL), *own = ndtypes_prefix(prefix),
                    *parent = g_path_get_dirname(own);
    g_assert_true(io_make_directories(parent, NULL));
    IndexedWriter *writer = indexed_writer_open(own, INDEXED_FAIRSEQ, 100, NULL);
    g_assert_true(indexed_writer_add(writer, ids, n, NULL) && indexed_writer_end_document(writer, NULL) &&
                  indexed_writer_finish(writer, NULL));
    return trees_open_ndtypes(prefix, error);
}

static void parts_of_trees_are_built_as_ast_t5_does(void)
{
    /* ")" without "("; list 1-…, in it name 2-2 without a token, name 3-4; the list and a name 5-… are never closed */
    static const int32_t ids[] = { 9, 5,  6, 9, 4,  6, 10, 4,  7, 10, 5,  7, 11, 4,
                                   7, 12, 5, 7, 13, 4, 7,  14, 4, 7,  14, 5, 7,  2 };
    static const int wanted[][3] = { { 1, 6, 0 }, { 3, 4, 1 }, { 5, 6, 1 } };
    g_autoptr(GError) error = NULL;
    g_autoptr(GArray) nodes = g_array_new(FALSE, FALSE, sizeof(TreeNode));
    int language;
    Trees *trees = open_ids(ids, G_N_ELEMENTS(ids), &error);
    g_assert_no_error(error);
    g_assert_true(trees_read(trees, 0, 6, &language, nodes, &error));
    g_assert_cmpuint(nodes->len, ==, G_N_ELEMENTS(wanted));
    for (guint i = 0; i < nodes->len; i++) {
        const TreeNode *node = &g_array_index(nodes, TreeNode, i);
        g_assert_true(node->begin == wanted[i][0] && node->end == wanted[i][1] && node->is_name == wanted[i][2]);
    }
    g_assert_cmpstr(trees_language(trees, language), ==, "x");
    g_assert_cmpstr(trees_type(trees, language, 7), ==, "identifier");
    g_assert_false(trees_read(trees, 1, 6, &language, nodes, &error));
    trees_close(trees);
}

static void bad_events_are_told(void)
{
    static const struct {
        int32_t ids[7];
        int n;
        const char *why;
    } cases[] = {
        { { 9, 4, 2 }, 3, "no three ids" }, /* the type is taken for </s> */
        { { 9, 6, 6 }, 3, "neither ( nor )" },
        { { 9, 4, 8 }, 3, "its type" },
        { { 9, 4, 99 }, 3, "its type" },
        { { 7, 4, 6 }, 3, "its position" },
        { { 14, 4, 6 }, 3, "its position" },             /* token 6 of 5 */
        { { 10, 4, 6, 9, 5, 6, 2 }, 7, "its position" }, /* back to token 1 */
    };
    for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
        g_autoptr(GError) error = NULL;
        g_autoptr(GArray) nodes = g_array_new(FALSE, FALSE, sizeof(TreeNode));
        int language;
        Trees *trees = open_ids(cases[i].ids, cases[i].n, &error);
        g_assert_no_error(error);
        g_assert_false(trees_read(trees, 0, 5, &language, nodes, &error));
        g_assert_nonnull(strstr(error->message, cases[i].why));
        g_assert_cmpint(error->code, ==, LOAM_ERROR_USER);
        trees_close(trees);
    }
}

/* ---- replacing a dataset ---- */

static bool write_set(const char *prefix, bool side_files, bool packed, bool second, GError **error)
{
    const DatasetMeta meta = { .vocab = V, .tokenizer_hash = (char[]){ "1" }, .tokenizer_kind = (char[]){ "x" } };
    const TreeNode node = { 0, 2, second ? 3 : 5, second }; /* identifier, list */
    const int32_t ids[] = { second ? 11 : 10, 10 };
    g_autofree char *parent = g_path_get_dirname(prefix), *above = g_path_get_dirname(parent);
    NdtypeDict *dict = ndtype_dict_new(grammars, MOST, NULL);
    DatasetWriter *writer = dataset_writer_open(prefix, &meta, side_files, error);
    bool good = writer &&
                (side_files ? dataset_writer_with_ndtypes(writer, dict, packed, error)
                            : dataset_writer_with_trees(writer, grammars, error)) &&
                dataset_writer_add_tree(writer, ids, 2, 0, &node, 1, error) && dataset_writer_finish(writer, error) &&
                (!side_files || ndtype_dict_write(dict, above, error));
    dataset_writer_close(writer);
    ndtype_dict_free(dict);
    return good;
}

/* Whether the tree, if there is one, is that of the tokens. */
static bool is_of_one_set(const char *prefix)
{
    int language;
    int32_t first;
    g_autoptr(GArray) nodes = g_array_new(FALSE, FALSE, sizeof(TreeNode));
    Dataset *data = dataset_open(prefix, NULL);
    bool good =
        !data || !data->trees ||
        (indexed_read(data->set, 0, 0, 1, &first, NULL) && trees_read(data->trees, 0, 2, &language, nodes, NULL) &&
         (nodes->len == 0 || g_array_index(nodes, TreeNode, 0).is_name == (first == 11)));
    dataset_close(data);
    return good;
}

static void trees_are_never_those_of_the_dataset_before(void)
{
    g_autofree char *plain = g_build_filename(folder, "twice", NULL),
                    *own = g_build_filename(folder, "again", "lists", "train", NULL), *parent = g_path_get_dirname(own);
    g_assert_true(io_make_directories(parent, NULL));
    for (int side_files = 0; side_files < 2; side_files++) {
        const char *prefix = side_files ? own : plain;
        bool done = false;
        for (int n = 1; !done; n++) {
            g_assert_true(write_set(prefix, side_files, true, false, NULL) && is_of_one_set(prefix));
            io_fail_at(n, EIO);
            done = write_set(prefix, side_files, true, true, NULL);
            io_fail_at(0, 0);
            g_assert_true(is_of_one_set(prefix));
        }
    }
    g_autofree char *packed = ndtypes_ffrecord(own);
    g_assert_true(g_file_test(packed, G_FILE_TEST_EXISTS));
    g_assert_true(write_set(own, true, false, false, NULL));
    g_assert_false(g_file_test(packed, G_FILE_TEST_EXISTS));
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    folder = folder_new();
    grammars = grammars_open(LOAM_TEST_GRAMMARS, NULL);
#define CASE(name) g_test_add_func("/ndtypes/" #name, name)
    CASE(trees_are_never_those_of_the_dataset_before);
    CASE(events_are_packed_in_14_4_and_14_bits);
    CASE(files_of_ffrecord_are_those_of_its_layout);
    CASE(trees_come_back_from_both_forms);
    CASE(parts_of_trees_are_built_as_ast_t5_does);
    CASE(bad_events_are_told);
    int failed = g_test_run();
    g_ptr_array_unref(grammars);
    folder_remove(folder);
    return failed;
}
