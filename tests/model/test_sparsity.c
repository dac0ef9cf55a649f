#include "model/config/sparsity.h"

#include <string.h>

static Sparsity standard(SparsePattern pattern)
{
    return (
        Sparsity){ .pattern = (int)pattern, .block = 16, .window = 3, .n_global = 1, .n_random = -1, .rotations = 1 };
}

/* Blocks that head 0 sees, of n x n. */
static int32_t seen(const Sparsity *sparsity, int64_t n, bool causal)
{
    GError *error = NULL;
    g_assert_true(sparsity_check(sparsity, n * sparsity->block, &error));
    g_assert_no_error(error);
    BlockLayout *layout = sparsity_layout(sparsity, n * sparsity->block, 4, 0, causal);
    g_assert_cmpint(layout->blocks, ==, n);
    int32_t count = layout->first.host[n];
    sparsity_layout_free(layout);
    return count;
}

/* t5-experiments.md §8: the counts of DeepSpeed's defaults on 32 blocks. */
static void counts_are_those_of_deepspeed(void)
{
    Sparsity fixed = standard(SPARSE_FIXED), variable = standard(SPARSE_VARIABLE), bigbird = standard(SPARSE_BIGBIRD);
    Sparsity longformer = standard(SPARSE_LONGFORMER), sliding = standard(SPARSE_SLIDING);
    g_assert_cmpint(seen(&fixed, 32, false), ==, 352);
    g_assert_cmpint(seen(&fixed, 32, true), ==, 192);
    g_assert_cmpint(seen(&fixed, 30, false), ==, 326);
    fixed.horizontal = true;
    g_assert_cmpint(seen(&fixed, 32, false), ==, 520);
    g_assert_cmpint(seen(&variable, 32, false), ==, 156);
    g_assert_cmpint(seen(&longformer, 32, false), ==, 154);
    g_assert_cmpint(seen(&longformer, 32, true), ==, 93);
    g_assert_cmpint(seen(&sliding, 32, true), ==, 63);
    g_assert_cmpint(seen(&sliding, 32, false), ==, 94);
    int32_t with_random = seen(&bigbird, 32, false);
    g_assert_cmpint(with_random, >, 154);
    g_assert_cmpint(with_random, <=, 154 + 31);
    bigbird.n_random = 0;
    g_assert_cmpint(seen(&bigbird, 32, false), ==, 154);
}

static bool sees(const BlockLayout *layout, int head, int row, int key)
{
    const int32_t *first = layout->first.host + attn_layout_row(layout, head, (int64_t)row * layout->size);
    for (int32_t k = first[0]; k < first[1]; k++)
        if (layout->keys.host[k] == key)
            return true;
    return false;
}

static void windows_and_global_blocks_are_where_they_are_asked_for(void)
{
    Sparsity sparsity = standard(SPARSE_VARIABLE);
    sparsity.local = (char *)"1,2", sparsity.global = (char *)"3-4,6";
    BlockLayout *layout = sparsity_layout(&sparsity, 8 * 16, 2, 0, false);
    for (int row = 0; row < 8; row++)
        for (int key = 0; key < 8; key++) {
            bool window = (row + 1) / 2 == (key + 1) / 2, global = key == 3 || key == 4 || key == 6;
            g_assert_cmpint(sees(layout, 0, row, key), ==, window || global);
        }
    sparsity_layout_free(layout);
}

static void heads_take_turns(void)
{
    Sparsity sparsity = standard(SPARSE_FIXED);
    sparsity.rotations = 4;
    sparsity.per_head = true;
    BlockLayout *layout = sparsity_layout(&sparsity, 8 * 16, 5, 0, false);
    for (int head = 0; head < 5; head++)
        for (int key = 4; key < 8; key++)
            g_assert_cmpint(sees(layout, head, 0, key), ==, key == 7 - head % 4);
    sparsity_layout_free(layout);
}

static bool same_layout(const BlockLayout *a, const BlockLayout *b)
{
    size_t n = (size_t)a->heads * (size_t)a->blocks + 1;
    return memcmp(a->first.host, b->first.host, n * sizeof(int32_t)) == 0 &&
           memcmp(a->keys.host, b->keys.host, (size_t)a->first.host[n - 1] * sizeof(int32_t)) == 0;
}

static void random_blocks_are_of_the_layer_and_the_seed(void)
{
    Sparsity sparsity = standard(SPARSE_BIGBIRD), other = sparsity;
    other.seed = 1;
    BlockLayout *a = sparsity_layout(&sparsity, 512, 2, 3, false), *b = sparsity_layout(&sparsity, 512, 2, 3, false);
    BlockLayout *layer = sparsity_layout(&sparsity, 512, 2, 4, false),
                *seed = sparsity_layout(&other, 512, 2, 3, false);
    g_assert_true(same_layout(a, b));
    g_assert_false(same_layout(a, layer));
    g_assert_false(same_layout(a, seed));
    sparsity_layout_free(a);
    sparsity_layout_free(b);
    sparsity_layout_free(layer);
    sparsity_layout_free(seed);
}

static void what_does_not_fit_is_refused(void)
{
    static const struct {
        Sparsity sparsity;
        const char *says;
    } wrong[] = {
        { { .pattern = SPARSE_SLIDING, .block = 18, .window = 3 }, "*sparse_block is 18*multiple of 4*" },
        { { .pattern = SPARSE_SLIDING, .block = 16, .window = 4 }, "*sparse_window is 4*odd*" },
        { { .pattern = SPARSE_SLIDING, .block = 4, .window = 3 }, "*100000 are more than 4096 blocks*" },
        { { .pattern = SPARSE_VARIABLE, .block = 64, .window = 3, .local = (char *)"2;4" }, "*sparse_local \"2;4\"*" },
        { { .pattern = SPARSE_VARIABLE, .block = 64, .window = 3, .global = (char *)"8-7" },
          "*sparse_global \"8-7\"*" },
        { { .pattern = SPARSE_FIXED, .block = 64, .window = 3, .n_global = 3 }, "*sparse_n_global is 3*divisor*4*" },
        { { .pattern = SPARSE_FIXED, .block = 64, .window = 3, .n_global = 2, .rotations = 3 }, "*rotations is 3*2*" },
        { { .pattern = SPARSE_FIXED, .block = 64, .window = 3, .n_global = 2, .rotations = 2 }, "*sparse_per_head*" },
    };
    for (size_t i = 0; i < G_N_ELEMENTS(wrong); i++) {
        g_autoptr(GError) error = NULL;
        g_assert_false(sparsity_check(&wrong[i].sparsity, i == 2 ? 100000 : 1000, &error));
        if (!g_pattern_match_simple(wrong[i].says, error->message))
            g_error("%s is not %s", error->message, wrong[i].says);
    }
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/sparsity/counts_are_those_of_deepspeed", counts_are_those_of_deepspeed);
    g_test_add_func("/sparsity/windows_and_global_blocks_are_where_they_are_asked_for",
                    windows_and_global_blocks_are_where_they_are_asked_for);
    g_test_add_func("/sparsity/heads_take_turns", heads_take_turns);
    g_test_add_func("/sparsity/random_blocks_are_of_the_layer_and_the_seed",
                    random_blocks_are_of_the_layer_and_the_seed);
    g_test_add_func("/sparsity/what_does_not_fit_is_refused", what_does_not_fit_is_refused);
    return g_test_run();
}
