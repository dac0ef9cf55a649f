/* Each half of the channels or heads, computed alone, draws its half of the whole's masks: what it computes is equal to
 * its half of the whole, bit for bit, forward and backward, on every backend. */
#include "under_avx2.h"

enum { N = 70, CHANNELS = 600, HEADS = 4, DIM = 6, MEMORY = 16 << 20 };

typedef struct Rig {
    Device *dev;
    Arena arena;
    Philox rng;
    Dropout drop;
} Rig;

static Tensor blank(Rig *r, int64_t rows, int64_t cols)
{
    return arena_tensor(&r->arena, r->dev->precision.compute, rows, cols, "test");
}

static Tensor normal(Rig *r, int64_t rows, int64_t cols)
{
    float values[CHANNELS];
    Tensor t = blank(r, rows, cols);
    g_assert_cmpint(cols, <=, CHANNELS);
    for (int64_t i = 0; i < rows; i++) {
        for (int64_t c = 0; c < cols; c++)
            values[c] = (float)philox_normal(&r->rng);
        tensor_write(r->dev, tensor_slice_rows(t, i, 1), values, DT_F32);
    }
    return t;
}

static void rig_open(Rig *r, Device *dev)
{
    static int64_t sample[N];
    static int32_t position[N];
    for (int i = 0; i < N; i++) {
        sample[i] = i / 9;
        position[i] = i % 9;
    }
    *r = (Rig){ .dev = dev,
                .rng = philox_open(philox_key(4, PHILOX_INIT, 0), 0),
                .drop = { philox_key(1, PHILOX_DROPOUT, 2), 0.4f, sample, position, 0 } };
    arena_init(&r->arena, "test", device_alloc(dev, MEMORY), MEMORY);
}

static void rig_close(Rig *r)
{
    device_free(r->dev, r->arena.base);
    device_close(r->dev);
}

/* The same memory, for devices of the host's: gaps of the arena aside. */
static void assert_equal(Tensor a, Tensor b, const char *what)
{
    size_t bytes = (size_t)tensor_count(a) * dtype_bytes(a.dtype);
    if (memcmp(a.p, b.p, bytes) != 0)
        g_error("%s of the halves is not that of the whole", what);
}

/* Half 0 or 1 of the columns. */
static Tensor half(Tensor t, int i)
{
    return tensor_present(t) ? tensor_slice_cols(t, i * t.d[1] / 2, t.d[1] / 2) : NO_TENSOR;
}

static Tensor half_rows(Tensor t, int i)
{
    return tensor_present(t) ? tensor_slice_rows(t, i * t.d[0] / 2, t.d[0] / 2) : NO_TENSOR;
}

/* What elementwise operations give: for the whole, or for each half. */
typedef struct Elementwise {
    Tensor y, dx, a, dh, dgate;
} Elementwise;

static Elementwise elementwise_new(Rig *r)
{
    return (Elementwise){ blank(r, N, CHANNELS), blank(r, N, CHANNELS), blank(r, N, CHANNELS), blank(r, N, CHANNELS),
                          blank(r, N, CHANNELS) };
}

static void channels_of_a_half(Rig *r)
{
    Tensor x = normal(r, N, CHANNELS), gate = normal(r, N, CHANNELS), dy = normal(r, N, CHANNELS);
    Elementwise whole = elementwise_new(r), parts = elementwise_new(r);
    const Tensor results[][2] = { { whole.y, parts.y },
                                  { whole.dx, parts.dx },
                                  { whole.a, parts.a },
                                  { whole.dh, parts.dh },
                                  { whole.dgate, parts.dgate } };
    op_dropout_fwd(r->dev, whole.y, x, gate, &r->drop);
    op_dropout_bwd(r->dev, whole.dx, dy, &r->drop);
    op_act_fwd(r->dev, whole.a, x, gate, ACT_GELU_TANH, &r->drop);
    op_act_bwd(r->dev, whole.dh, whole.dgate, dy, x, gate, ACT_GELU_TANH, &r->drop);
    for (int i = 0; i < 2; i++) {
        Dropout drop = r->drop;
        drop.first_channel = i * CHANNELS / 2;
        op_dropout_fwd(r->dev, half(parts.y, i), half(x, i), half(gate, i), &drop);
        op_dropout_bwd(r->dev, half(parts.dx, i), half(dy, i), &drop);
        op_act_fwd(r->dev, half(parts.a, i), half(x, i), half(gate, i), ACT_GELU_TANH, &drop);
        op_act_bwd(r->dev, half(parts.dh, i), half(parts.dgate, i), half(dy, i), half(x, i), half(gate, i),
                   ACT_GELU_TANH, &drop);
    }
    for (size_t i = 0; i < G_N_ELEMENTS(results); i++)
        assert_equal(results[i][0], results[i][1], "dropout");
}

typedef struct Attention {
    Tensor o, lse, dq, dk, dv, dbias;
} Attention;

static Attention attention_new(Rig *r, const AttnSpec *spec, Tensor bias)
{
    int64_t kv = attn_kv_heads(spec) * DIM;
    return (Attention){ .o = blank(r, N, HEADS * DIM),
                        .lse = blank(r, HEADS, N),
                        .dq = blank(r, N, HEADS * DIM),
                        .dk = blank(r, N, kv),
                        .dv = blank(r, N, kv),
                        .dbias = tensor_present(bias) ? blank(r, HEADS, bias.d[1]) : NO_TENSOR };
}

static void attend(Rig *r, const Attention *out, Tensor dout, Tensor q, Tensor k, Tensor v, Tensor bias,
                   const AttnSpec *spec)
{
    op_attn_fwd(r->dev, out->o, out->lse, q, k, v, bias, spec, &r->drop);
    op_attn_bwd(r->dev, out->dq, out->dk, out->dv, out->dbias, 0, dout, out->o, out->lse, q, k, v, bias, spec,
                &r->drop);
}

static void heads_of_a_half(Rig *r, AttnSpec *spec, Tensor bias)
{
    static const int32_t cu[] = { 0, 40, 41, 66 };
    spec->cu_q = spec->cu_k = (BothSides){ cu, cu };
    spec->n_seq = 3;
    spec->max_q = spec->max_k = 40;
    spec->heads = HEADS;
    spec->scale = 0.3f;
    int64_t kv = attn_kv_heads(spec) * DIM;
    Tensor q = normal(r, N, HEADS * DIM), k = normal(r, N, kv), v = normal(r, N, kv), dout = normal(r, N, HEADS * DIM);
    Attention whole = attention_new(r, spec, bias), parts = attention_new(r, spec, bias);
    const Tensor results[][2] = { { whole.o, parts.o },   { whole.lse, parts.lse }, { whole.dq, parts.dq },
                                  { whole.dk, parts.dk }, { whole.dv, parts.dv },   { whole.dbias, parts.dbias } };
    attend(r, &whole, dout, q, k, v, bias, spec);
    for (int i = 0; i < 2; i++) {
        AttnSpec part = *spec;
        Attention out = { half(parts.o, i),  half_rows(parts.lse, i), half(parts.dq, i),
                          half(parts.dk, i), half(parts.dv, i),       half_rows(parts.dbias, i) };
        part.heads = HEADS / 2;
        part.kv_heads = spec->kv_heads / 2;
        part.first_head = i * HEADS / 2;
        attend(r, &out, half(dout, i), half(q, i), half(k, i), half(v, i), half_rows(bias, i), &part);
    }
    for (size_t i = 0; i < G_N_ELEMENTS(results); i++)
        if (tensor_present(results[i][0]))
            assert_equal(results[i][0], results[i][1], "attention");
}

/* Key blocks of 8 tokens that differ from head to head: head h sees its own block, and the block h before it. */
static void sparse_heads_of_a_half(Rig *r)
{
    enum { BLOCKS = 5 };
    int32_t first[HEADS * BLOCKS + 1] = { 0 }, keys[2 * HEADS * BLOCKS], n = 0;
    for (int32_t h = 0; h < HEADS; h++)
        for (int32_t row = 0; row < BLOCKS; row++) {
            if (h > 0 && row >= h)
                keys[n++] = row - h;
            keys[n++] = row;
            first[h * BLOCKS + row + 1] = n;
        }
    const BlockLayout layout = { 8, BLOCKS, HEADS, { first, first }, { keys, keys } };
    AttnSpec spec = { .layout = &layout };
    heads_of_a_half(r, &spec, NO_TENSOR);
}

static void slopes_of_a_half(Rig *r)
{
    Tensor whole = blank(r, HEADS, N), parts = blank(r, HEADS, N);
    op_alibi(r->dev, whole, -3, 0, HEADS);
    for (int i = 0; i < 2; i++)
        op_alibi(r->dev, half_rows(parts, i), -3, i * HEADS / 2, HEADS);
    assert_equal(whole, parts, "alibi");
}

static void all_parts(Device *dev)
{
    Rig r;
    rig_open(&r, dev);
    channels_of_a_half(&r);
    heads_of_a_half(&r, &(AttnSpec){ .causal = true }, normal(&r, HEADS, 79));
    heads_of_a_half(&r, &(AttnSpec){ .kv_heads = 2, .window = 9 }, NO_TENSOR);
    AttnDistance distance = { .table = normal(&r, 79, DIM), .dtable = blank(&r, 79, DIM), .keys = true };
    heads_of_a_half(&r, &(AttnSpec){ .distance = &distance }, NO_TENSOR);
    sparse_heads_of_a_half(&r);
    slopes_of_a_half(&r);
    rig_close(&r);
}

static void halves_are_those_of_the_whole_on_the_cpu(void)
{
    all_parts(device_open_cpu(2, precision_uniform(DT_F32)));
}

static void halves_are_those_of_the_whole_on_the_reference(void)
{
    all_parts(device_open_reference());
}

static void halves_are_those_of_the_whole_under_avx2(void)
{
    run_under_avx2(NULL);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/parts/halves_are_those_of_the_whole_on_the_cpu", halves_are_those_of_the_whole_on_the_cpu);
    g_test_add_func("/parts/halves_are_those_of_the_whole_on_the_reference",
                    halves_are_those_of_the_whole_on_the_reference);
    if (!under_avx2())
        g_test_add_func("/parts/halves_are_those_of_the_whole_under_avx2", halves_are_those_of_the_whole_under_avx2);
    return g_test_run();
}
