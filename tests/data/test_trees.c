/* Trees over tokens: which tokens a node has, where a program is cut, and the file. All trees but those of the first
 * test are made by hand or drawn. */
#include "data/trees/trees.h"

#include "base/file.h"
#include "base/philox.h"
#include "data/data_test.h"

#include <unistd.h>

enum { MOST = 40 };

static char *folder;

/* ---- from bytes to tokens ---- */

static void a_token_lies_where_its_first_byte_that_is_no_space_lies(void)
{
    g_autoptr(GError) error = NULL;
    Grammars *grammars = grammars_open(LOAM_TEST_GRAMMARS, &error);
    g_assert_no_error(error);
    const Grammar *grammar = grammars->pdata[0];
    /*                  tokens: (aa| bb|  |) c|c|d)| e   nodes in bytes: list 0-9, aa 1-3, bb 4-6, ccd… */
    static const char text[] = "(aa bb  ) ccd e";
    const uint32_t ends[] = { 3, 6, 8, 11, 12, 13, 15 };
    const SyntaxNode syntax[] = { { 0, 9, 5 }, { 1, 3, 3 }, { 4, 6, 3 }, { 10, 13, 3 }, { 14, 15, 3 } };
    /* "(aa" lies at "(", in the list alone, so "aa" has no token; ") c" lies at ")". */
    const int wanted[][2] = { { 0, 4 }, { 1, 2 }, { 4, 6 }, { 6, 7 } };
    g_autoptr(GArray) nodes = g_array_new(FALSE, FALSE, sizeof(SyntaxNode)),
                      tree = g_array_new(FALSE, FALSE, sizeof(TreeNode));
    g_array_append_vals(nodes, syntax, G_N_ELEMENTS(syntax));
    trees_align(nodes, grammar, text, ends, G_N_ELEMENTS(ends), tree);
    g_assert_cmpuint(tree->len, ==, G_N_ELEMENTS(wanted));
    for (guint i = 0; i < tree->len; i++) {
        const TreeNode *node = &g_array_index(tree, TreeNode, i);
        g_assert_cmpint(node->begin, ==, wanted[i][0]);
        g_assert_cmpint(node->end, ==, wanted[i][1]);
        g_assert_cmpint(node->is_name, ==, i > 0);
    }
    g_ptr_array_unref(grammars);
}

/* ---- drawn trees ---- */

/* Appends the nodes of a random tree over tokens [begin, end). */
static void grow(Philox *rng, int32_t begin, int32_t end, int depth, GArray *tree)
{
    const TreeNode node = { begin, end, (uint16_t)philox_below(rng, 3), 0 };
    g_array_append_val(tree, node);
    for (int32_t at = begin; depth > 0 && at < end;) {
        int32_t n = 1 + (int32_t)philox_below(rng, (uint64_t)(end - at));
        if (philox_below(rng, 3) > 0)
            grow(rng, at, at + n, depth - 1, tree);
        at += n;
    }
}

static GArray *draw_tree(Philox *rng, int32_t n_tokens)
{
    GArray *tree = g_array_new(FALSE, FALSE, sizeof(TreeNode));
    for (int32_t at = 0; at < n_tokens;) {
        int32_t n = 1 + (int32_t)philox_below(rng, (uint64_t)(n_tokens - at));
        if (philox_below(rng, 4) > 0)
            grow(rng, at, at + n, 4, tree);
        at += n;
    }
    return tree;
}

static int64_t broken_by(const GArray *tree, int64_t cut)
{
    int64_t n = 1; /* the root */
    for (guint i = 0; i < tree->len; i++) {
        const TreeNode *node = &g_array_index(tree, TreeNode, i);
        n += node->begin < cut && cut < node->end;
    }
    return n;
}

/* The paper's program: best[k][i] is the least number of broken nodes with k segments over the first i tokens. */
static int64_t brute_force(const GArray *tree, int64_t n, int64_t limit, int64_t *n_segments)
{
    int64_t best[MOST + 1][MOST + 1], least = INT64_MAX;
    for (int64_t k = 0; k <= n; k++)
        for (int64_t i = 0; i <= n; i++)
            best[k][i] = k == 0 && i == 0 ? 0 : INT32_MAX;
    for (int64_t k = 1; k <= n; k++)
        for (int64_t i = 1; i <= n; i++)
            for (int64_t j = MAX(0, i - limit); j < i; j++)
                best[k][i] = MIN(best[k][i], best[k - 1][j] + (i < n ? broken_by(tree, i) : 0));
    for (int64_t k = n; k >= 1; k--)
        if (best[k][n] <= least) {
            least = best[k][n];
            *n_segments = k;
        }
    return least;
}

/* Checks that the segments join to the whole, each within the limit, and returns what their cuts break. */
static int64_t check_segments(const GArray *tree, const GArray *ends, int64_t n, int64_t limit)
{
    int64_t from = 0, broken = 0;
    for (guint i = 0; i < ends->len; i++) {
        int64_t to = g_array_index(ends, int64_t, i);
        g_assert_true(to > from && to - from <= limit);
        broken += to < n ? broken_by(tree, to) : 0;
        from = to;
    }
    g_assert_cmpint(from, ==, n);
    return broken;
}

static void the_cut_is_the_least_breaking_one(void)
{
    Philox rng = philox_open(philox_key(11, PHILOX_SAMPLING, 0), 0);
    int64_t saved = 0;
    for (int round = 0; round < 400; round++) {
        int64_t n = 1 + (int64_t)philox_below(&rng, MOST), limit = 1 + (int64_t)philox_below(&rng, (uint64_t)n + 3);
        g_autoptr(GArray) tree = draw_tree(&rng, (int32_t)n), least = g_array_new(FALSE, FALSE, sizeof(int64_t)),
                          greedy = g_array_new(FALSE, FALSE, sizeof(int64_t));
        const TreeNode *nodes = (const TreeNode *)(void *)tree->data;
        int64_t n_segments, best = brute_force(tree, n, limit, &n_segments),
                            own = trees_segment(nodes, tree->len, n, limit, SEGMENT_LEAST, least),
                            other = trees_segment(nodes, tree->len, n, limit, SEGMENT_GREEDY, greedy);
        g_assert_cmpint(own, ==, best);
        g_assert_cmpint(least->len, ==, n_segments);
        g_assert_cmpint(own, ==, check_segments(tree, least, n, limit));
        g_assert_cmpint(other, ==, check_segments(tree, greedy, n, limit));
        g_assert_cmpint(own, <=, other);
        g_assert_cmpint(greedy->len, ==, (n + limit - 1) / limit);
        saved += other - own;
    }
    g_assert_cmpint(saved, >, 100);
}

static void text_without_a_tree_is_cut_as_greedily(void)
{
    g_autoptr(GArray) ends = g_array_new(FALSE, FALSE, sizeof(int64_t));
    g_assert_cmpint(trees_segment(NULL, 0, 25, 10, SEGMENT_LEAST, ends), ==, 2);
    g_assert_cmpint(g_array_index(ends, int64_t, 0), ==, 10);
    g_assert_cmpint(g_array_index(ends, int64_t, 1), ==, 20);
    g_array_set_size(ends, 0); /* of a tera token: without arrays over them */
    g_assert_cmpint(trees_segment(NULL, 0, INT64_C(1) << 40, 1 << 30, SEGMENT_LEAST, ends), ==, 1023);
    g_assert_cmpint(g_array_index(ends, int64_t, 1023), ==, INT64_C(1) << 40);
    g_array_set_size(ends, 0);
    g_assert_cmpint(trees_segment(NULL, 0, 0, 10, SEGMENT_LEAST, ends), ==, 0);
    g_assert_cmpuint(ends->len, ==, 0);
}

static void segments_keep_the_nodes_that_start_in_them(void)
{
    static const TreeNode nodes[] = {
        { 0, 10, 1, 0 }, { 2, 5, 2, 0 }, { 3, 4, 3, 1 }, { 5, 10, 4, 0 }, { 7, 9, 5, 0 }
    };
    static const TreeNode wanted[] = { { 0, 1, 3, 1 }, { 2, 5, 4, 0 }, { 4, 5, 5, 0 } };
    g_autoptr(GArray) cut = g_array_new(FALSE, FALSE, sizeof(TreeNode));
    trees_cut(nodes, G_N_ELEMENTS(nodes), 3, 8, cut);
    g_assert_cmpuint(cut->len, ==, G_N_ELEMENTS(wanted));
    assert_same(cut->data, wanted, sizeof wanted);
}

/* ---- the file ---- */

static char *write_trees(const Grammars *grammars, int n, char hash[17], int64_t *bytes)
{
    char *prefix = g_build_filename(folder, "set", NULL);
    g_autoptr(GError) error = NULL;
    TreeWriter *writer = tree_writer_open(prefix, grammars, &error);
    Philox rng = philox_open(philox_key(5, PHILOX_SAMPLING, 0), 0);
    g_assert_no_error(error);
    for (int i = 0; i < n; i++) {
        g_autoptr(GArray) tree = draw_tree(&rng, 300);
        bool is_text = i % 5 == 4;
        g_assert_true(tree_writer_add(writer, is_text ? -1 : 0, (const TreeNode *)(void *)tree->data,
                                      is_text ? 0 : tree->len, &error));
    }
    g_assert_true(tree_writer_finish(writer, bytes, hash, &error));
    tree_writer_close(writer);
    g_assert_no_error(error);
    return prefix;
}

/* The folder is removed and made again while a file of trees is written in it, and another one is written there. */
static void a_replaced_folder_is_left_alone(void)
{
    Grammars *grammars = grammars_open(LOAM_TEST_GRAMMARS, NULL);
    g_autofree char *gone = g_build_filename(folder, "gone", NULL), *prefix = g_build_filename(gone, "set", NULL);
    g_autoptr(GError) error = NULL, refusal = NULL;
    char hash[17];
    int64_t bytes;
    g_assert_true(io_make_directories(gone, &error));
    TreeWriter *writer = tree_writer_open(prefix, grammars, &error);
    for (int i = 0; i < 30000; i++) /* their offsets fill several pages */
        g_assert_true(tree_writer_add(writer, -1, NULL, 0, &error));
    g_assert_true(io_remove_tree(gone, &error) && io_make_directories(gone, &error));
    TreeWriter *other = tree_writer_open(prefix, grammars, &error);
    g_assert_true(tree_writer_add(other, -1, NULL, 0, &error));
    g_assert_false(tree_writer_finish(writer, &bytes, hash, &refusal));
    g_assert_nonnull(strstr(refusal->message, "was removed or replaced while it was written"));
    g_assert_true(tree_writer_finish(other, &bytes, hash, &error));
    tree_writer_close(writer);
    tree_writer_close(other);
    Trees *trees = trees_open(prefix, &error);
    g_assert_no_error(error);
    g_assert_cmpint(trees_documents(trees), ==, 1);
    trees_close(trees);
    g_assert_true(io_remove_tree(gone, &error));
    g_ptr_array_unref(grammars);
}

static void trees_come_back_from_the_file(void)
{
    Grammars *grammars = grammars_open(LOAM_TEST_GRAMMARS, NULL);
    char hash[17], again[17];
    int64_t bytes;
    g_autofree char *prefix = write_trees(grammars, 50, hash, &bytes);
    g_autoptr(GError) error = NULL;
    Trees *trees = trees_open(prefix, &error);
    g_assert_no_error(error);
    g_assert_cmpint(trees_documents(trees), ==, 50);
    g_assert_cmpint(trees_bytes(trees), ==, bytes);
    g_assert_true(trees_hash(trees, again, NULL));
    g_assert_cmpstr(hash, ==, again);
    Philox rng = philox_open(philox_key(5, PHILOX_SAMPLING, 0), 0);
    for (int i = 0; i < 50; i++) {
        g_autoptr(GArray) tree = draw_tree(&rng, 300), got = g_array_new(FALSE, FALSE, sizeof(TreeNode));
        int language;
        g_assert_true(trees_read(trees, i, 300, &language, got, &error));
        g_assert_cmpint(language, ==, i % 5 == 4 ? -1 : 0);
        g_assert_cmpuint(got->len, ==, i % 5 == 4 ? 0 : tree->len);
        g_assert_true(got->len == 0 || memcmp(got->data, tree->data, got->len * sizeof(TreeNode)) == 0);
    }
    g_assert_cmpstr(trees_language(trees, 0), ==, "lists");
    g_assert_cmpstr(trees_type(trees, 0, 3), ==, "identifier");
    /* A document of fewer tokens is that of another dataset. */
    g_autoptr(GArray) got = g_array_new(FALSE, FALSE, sizeof(TreeNode));
    int language;
    g_assert_false(trees_read(trees, 0, 20, &language, got, &error));
    g_assert_nonnull(strstr(error->message, "out of range"));
    trees_close(trees);
    g_ptr_array_unref(grammars);
}

/* Nodes are in the text, and each is within or after the one before it and all that hold this one. */
static void check_nested(const TreeNode *nodes, guint n, int32_t n_tokens)
{
    for (guint i = 0; i < n; i++) {
        g_assert_true(nodes[i].begin < nodes[i].end && nodes[i].end <= n_tokens);
        for (guint k = 0; k < i; k++)
            g_assert_true(nodes[i].begin >= nodes[k].end ||
                          (nodes[i].begin >= nodes[k].begin && nodes[i].end <= nodes[k].end));
    }
}

static void damaged_files_are_errors(void)
{
    Grammars *grammars = grammars_open(LOAM_TEST_GRAMMARS, NULL);
    char hash[17];
    int64_t bytes;
    g_autofree char *prefix = write_trees(grammars, 10, hash, &bytes), *path = g_strconcat(prefix, ".tree", NULL),
                    *whole = NULL;
    gsize n;
    int refused = 0;
    g_assert_true(g_file_get_contents(path, &whole, &n, NULL));
    Philox rng = philox_open(philox_key(6, PHILOX_SAMPLING, 0), 0);
    for (int round = 0; round < 600; round++) {
        g_autofree char *copy = g_memdup2(whole, n);
        g_autoptr(GError) error = NULL;
        size_t length = round % 3 == 0 ? philox_below(&rng, n) : n;
        copy[philox_below(&rng, n)] ^= (char)(1 << philox_below(&rng, 8));
        copy[n - 1 - philox_below(&rng, 120)] ^= (char)(round % 3 == 1);
        g_free(file_write(folder, "set.tree", copy, length));
        Trees *trees = trees_open(prefix, &error);
        g_assert_true((trees == NULL) == (error != NULL));
        refused += trees == NULL;
        for (int64_t i = 0; trees && i < trees_documents(trees); i++) {
            g_autoptr(GArray) got = g_array_new(FALSE, FALSE, sizeof(TreeNode));
            int language;
            if (trees_read(trees, i, 300, &language, got, NULL))
                check_nested((const TreeNode *)(void *)got->data, got->len, 300);
        }
        trees_close(trees);
    }
    g_assert_cmpint(refused, >, 200);
    g_ptr_array_unref(grammars);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    folder = folder_new();
    g_test_add_func("/trees/a_token_lies_where_its_first_byte_that_is_no_space_lies",
                    a_token_lies_where_its_first_byte_that_is_no_space_lies);
    g_test_add_func("/trees/the_cut_is_the_least_breaking_one", the_cut_is_the_least_breaking_one);
    g_test_add_func("/trees/text_without_a_tree_is_cut_as_greedily", text_without_a_tree_is_cut_as_greedily);
    g_test_add_func("/trees/segments_keep_the_nodes_that_start_in_them", segments_keep_the_nodes_that_start_in_them);
    g_test_add_func("/trees/trees_come_back_from_the_file", trees_come_back_from_the_file);
    g_test_add_func("/trees/a_replaced_folder_is_left_alone", a_replaced_folder_is_left_alone);
    g_test_add_func("/trees/damaged_files_are_errors", damaged_files_are_errors);
    int failed = g_test_run();
    folder_remove(folder);
    return failed;
}
