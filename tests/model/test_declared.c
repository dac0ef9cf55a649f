/* How tensor-parallel ranks divide a parameter follows from the sizes that it is declared with, in the table of
 * params.c, which is part of this program. */
#include "model/params/params.c"

static Split split_for(Dim rows, Dim cols)
{
    const ModelConfig config = { .width = 32, .heads = 4, .head_dim = 8, .ffn = 64, .vocab = 100 };
    const ParamDef def = { "self.gain", 0, NO_GROUP, rows, cols, RULE_ONES, false, ALWAYS };
    ParamSpec spec = { 0 };
    SpecList list = { .config = &config, .specs = &spec };
    add_scope(&list, &def, 1, BUCKET_BLOCK, 0, "decoder.0.");
    g_assert_cmpint(list.n, ==, 1);
    return spec.split;
}

/* The gain of a norm of queries: each rank uses it for its own heads, so its gradient is a sum over the ranks. */
static void test_gain_of_heads(void)
{
    g_assert_cmpint(split_for(DIM_HEAD, DIM_NONE), ==, SPLIT_SHARED);
    g_assert_cmpint(split_for(DIM_ATTENTION, DIM_NONE), ==, SPLIT_ROWS);
    g_assert_cmpint(split_for(DIM_KV, DIM_NONE), ==, SPLIT_COPIED);
}

static void test_others(void)
{
    g_assert_cmpint(split_for(DIM_SUBLAYER, DIM_NONE), ==, SPLIT_TOKENS);
    g_assert_cmpint(split_for(DIM_FFN, DIM_WIDTH), ==, SPLIT_ROWS);
    g_assert_cmpint(split_for(DIM_WIDTH, DIM_FFN), ==, SPLIT_COLS);
    g_assert_cmpint(split_for(DIM_WIDTH, DIM_WIDTH), ==, SPLIT_NONE);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/declared/gains_of_heads_are_split_or_summed", test_gain_of_heads);
    g_test_add_func("/declared/matrices_and_gains_of_channels", test_others);
    return g_test_run();
}
