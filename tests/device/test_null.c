#include "device/device.h"

#include <glib.h>

/* Addresses in page 0: whoever touches them dies. */
static Tensor matrix(Arena *arena, int64_t rows, int64_t cols)
{
    return arena_tensor(arena, DT_F32, rows, cols, "test");
}

static void products_count_two_per_multiply_add(void)
{
    Device *dev = device_open_null();
    Arena arena;
    arena_init(&arena, "test", NULL, 0);
    g_assert_false(dev->computes);
    op_gemm(dev, matrix(&arena, 5, 7), matrix(&arena, 11, 5), matrix(&arena, 7, 11), true, true, 1, 0);
    g_assert_cmpfloat(dev->counts.flops, ==, 2.0 * 5 * 7 * 11);
    g_assert_cmpfloat(dev->counts.bytes, ==, 4.0 * (5 * 7 + 5 * 11 + 7 * 11));
    g_assert_cmpint(dev->counts.calls, ==, 1);
    device_close(dev);
}

/* Operations of one kind in a group share launches of up to 24; outside a group each is a launch of its own. */
static void groups_share_launches(void)
{
    enum { CALLS = 30, ALONE = 3 };
    Device *dev = device_open_null();
    Arena arena;
    arena_init(&arena, "test", NULL, 0);
    device_group_begin(dev);
    for (int i = 0; i < CALLS; i++)
        op_fill(dev, matrix(&arena, 5, 7), 1);
    device_group_end(dev);
    g_assert_cmpint(dev->counts.launches, ==, 2);
    for (int i = 0; i < ALONE; i++)
        op_fill(dev, matrix(&arena, 5, 7), 1);
    g_assert_cmpint(dev->counts.launches, ==, 2 + ALONE);
    g_assert_cmpint(dev->counts.calls, ==, CALLS + ALONE);
    device_close(dev);
}

/* Blocks of 4; each sees itself and, but for the first, block 0. */
static const int32_t layout_first[] = { 0, 1, 3 }, layout_keys[] = { 0, 0, 1 };
static const BlockLayout layout = {
    .size = 4, .blocks = 2, .heads = 1, .first = { layout_first, layout_first }, .keys = { layout_keys, layout_keys }
};

/* Multiply-adds of one head, counted one pair at a time. */
static double pairs_seen(const AttnSpec *spec)
{
    double pairs = 0;
    for (int32_t s = 0; s < spec->n_seq; s++) {
        int32_t tq = spec->cu_q.host[s + 1] - spec->cu_q.host[s], tk = spec->cu_k.host[s + 1] - spec->cu_k.host[s];
        for (int32_t i = 0; i < tq; i++)
            for (int32_t j = 0; j < tk; j++)
                pairs += (!spec->causal || j - i <= tk - tq) && (!spec->layout || j / 4 == 0 || i + tk - tq >= 4);
    }
    return pairs;
}

static void attention_counts_the_pairs_it_sees(void)
{
    static const int32_t cu_q[] = { 0, 3, 3, 10 }, fewer[] = { 0, 3, 3, 7 }, cu_k[] = { 0, 5, 9, 13 };
    for (int form = 0; form < 4; form++) {
        Device *dev = device_open_null();
        Arena arena;
        AttnSpec spec = { .cu_q = { form & 2 ? fewer : cu_q, form & 2 ? fewer : cu_q },
                          .cu_k = { cu_k, cu_k },
                          .n_seq = 3,
                          .max_q = 7,
                          .max_k = 5,
                          .heads = 2,
                          .causal = form & 1,
                          .scale = 1,
                          .layout = form & 2 ? &layout : NULL };
        Dropout drop = { .rate = 0 };
        arena_init(&arena, "test", NULL, 0);
        Tensor q = matrix(&arena, 12, 16), k = matrix(&arena, 13, 16);
        op_attn_fwd(dev, q, matrix(&arena, 2, 12), q, k, k, NO_TENSOR, &spec, &drop);
        g_assert_cmpfloat(dev->counts.flops, ==, 2 * 2 * 16 * pairs_seen(&spec));
        op_attn_bwd(dev, q, k, k, NO_TENSOR, 0, q, q, matrix(&arena, 2, 12), q, k, k, NO_TENSOR, &spec, &drop);
        g_assert_cmpfloat(dev->counts.flops, ==, 3 * 2 * 2 * 16 * pairs_seen(&spec));
        device_close(dev);
    }
}

/* Scratch memory that attention of n sequences with max_q queries each and `keys` keys needs on a GPU. */
static size_t attention_scratch(int32_t n, int32_t max_q, int32_t keys)
{
    enum { MOST = 96, HEADS = 4, KV_HEADS = 2, DIM = 8 };
    int32_t cu_q[MOST + 1] = { 0 }, cu_k[MOST + 1] = { 0 };
    Device *dev = device_open_null();
    Arena arena;
    for (int32_t s = 0; s < n; s++) {
        cu_q[s + 1] = cu_q[s] + max_q;
        cu_k[s + 1] = cu_k[s] + keys;
    }
    const AttnSpec spec = { .cu_q = { cu_q, cu_q },
                            .cu_k = { cu_k, cu_k },
                            .n_seq = n,
                            .max_q = max_q,
                            .max_k = keys,
                            .heads = HEADS,
                            .kv_heads = KV_HEADS,
                            .scale = 1 };
    const Dropout drop = { .rate = 0 };
    arena_init(&arena, "test", NULL, 0);
    const Tensor q = matrix(&arena, cu_q[n], HEADS * DIM), k = matrix(&arena, cu_k[n], KV_HEADS * DIM);
    op_attn_fwd(dev, q, matrix(&arena, HEADS, cu_q[n]), q, k, k, NO_TENSOR, &spec, &drop);
    const size_t bytes = dev->gpu.scratch;
    device_close(dev);
    return bytes;
}

/* A plan counts a full batch; the targets of an evaluation may be short, which divides their keys over thread blocks.
 */
static void attention_of_short_sequences_needs_no_more_than_that_of_a_full_batch(void)
{
    const size_t planned = attention_scratch(8, 12, 512);
    g_assert_cmpuint(planned, >, 0);
    for (int32_t max_q = 1; max_q <= 8; max_q++)
        for (int32_t n = 1; n * max_q <= 8 * 12; n++)
            g_assert_cmpuint(attention_scratch(n, max_q, 512), <=, planned);
    g_assert_cmpuint(attention_scratch(4, 8, 512), >, 0);
    g_assert_cmpuint(attention_scratch(8, 12, 100), ==, 0); /* keys of one split */
}

static void its_memory_is_an_address_in_page_0(void)
{
    Device *dev = device_open_null();
    void *p = device_alloc(dev, (size_t)1 << 60);
    g_assert_nonnull(p);
    g_assert_cmpuint((guintptr)p, <, 4096);
    device_free(dev, p);
    device_close(dev);
}

/* What the front door must refuse: each calls an operation with one thing wrong. */
static void wrong_inner_size(Device *dev, Arena *arena)
{
    op_gemm(dev, matrix(arena, 5, 7), matrix(arena, 5, 11), matrix(arena, 12, 7), false, false, 1, 0);
}

static void wrong_dtype(Device *dev, Arena *arena)
{
    op_sumsq(dev, arena_vector(arena, DT_F32, 1, "out"), matrix(arena, 3, 4), 0);
}

static void wrong_ids(Device *dev, Arena *arena)
{
    op_gather(dev, matrix(arena, 3, 4), matrix(arena, 9, 4), arena_vector(arena, DT_I64, 3, "ids"));
}

static void missing_tensor(Device *dev, Arena *arena)
{
    op_norm_fwd(dev, matrix(arena, 3, 4), NO_TENSOR, NO_TENSOR, matrix(arena, 3, 4),
                arena_vector(arena, DT_F32, 4, "w"), NO_TENSOR, 0);
}

static void gate_without_gradient(Device *dev, Arena *arena)
{
    Tensor h = matrix(arena, 3, 4);
    op_act_bwd(dev, h, NO_TENSOR, h, h, h, ACT_RELU, &(Dropout){ .rate = 0 });
}

static void sequences_beyond_the_rows(Device *dev, Arena *arena)
{
    static const int32_t cu[] = { 0, 4 };
    Tensor q = matrix(arena, 3, 4);
    op_attn_fwd(
        dev, q, matrix(arena, 1, 3), q, q, q, NO_TENSOR,
        &(AttnSpec){
            .cu_q = { cu, cu }, .cu_k = { cu, cu }, .n_seq = 1, .max_q = 4, .max_k = 4, .heads = 1, .scale = 1 },
        &(Dropout){ .rate = 0 });
}

static void momentum_without_memory(Device *dev, Arena *arena)
{
    Tensor w = matrix(arena, 3, 4);
    Tensor sum = arena_vector(arena, DT_F64, 1, "sum");
    op_adafactor(dev, w, NO_TENSOR, NO_TENSOR, NO_TENSOR, NO_TENSOR, NO_TENSOR, w, w, sum, sum,
                 &(AdafactorSpec){ .beta1 = 0.9, .rate = 1 }, &(StepScalars){ .lr = 1 });
}

static const struct {
    const char *path;
    void (*call)(Device *dev, Arena *arena);
    const char *says;
} refusals[] = {
    { "/null/refuses_a_wrong_inner_size", wrong_inner_size, "*gemm: b is (12, 7), with 12 rows, not 11*" },
    { "/null/refuses_a_wrong_dtype", wrong_dtype, "*sumsq on null: out is f32, not f64*" },
    { "/null/refuses_wrong_ids", wrong_ids, "*gather on null: ids is i64, not i32*" },
    { "/null/refuses_a_missing_tensor", missing_tensor, "*norm_fwd: rstd has rank 0, not 1*" },
    { "/null/refuses_a_gate_without_gradient", gate_without_gradient, "*gate 2, dgate 0*" },
    { "/null/refuses_sequences_beyond_the_rows", sequences_beyond_the_rows, "*cu_q covers rows 0 to 4 of 3*" },
    { "/null/refuses_momentum_without_memory", momentum_without_memory, "*beta1 0.9, m 0*" },
};

static void refuses(gconstpointer data)
{
    size_t i = GPOINTER_TO_SIZE(data);
    if (g_test_subprocess()) {
        Device *dev = device_open_null();
        Arena arena;
        arena_init(&arena, "test", NULL, 0);
        refusals[i].call(dev, &arena);
        return;
    }
    g_test_trap_subprocess(NULL, 0, G_TEST_SUBPROCESS_DEFAULT);
    g_test_trap_assert_failed();
    g_test_trap_assert_stderr(refusals[i].says);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/null/products_count_two_per_multiply_add", products_count_two_per_multiply_add);
    g_test_add_func("/null/groups_share_launches", groups_share_launches);
    g_test_add_func("/null/attention_counts_the_pairs_it_sees", attention_counts_the_pairs_it_sees);
    g_test_add_func("/null/attention_of_short_sequences_needs_no_more_than_that_of_a_full_batch",
                    attention_of_short_sequences_needs_no_more_than_that_of_a_full_batch);
    g_test_add_func("/null/its_memory_is_an_address_in_page_0", its_memory_is_an_address_in_page_0);
    for (size_t i = 0; i < G_N_ELEMENTS(refusals); i++)
        g_test_add_data_func(refusals[i].path, GSIZE_TO_POINTER(i), refuses);
    return g_test_run();
}
