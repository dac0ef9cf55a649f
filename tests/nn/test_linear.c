/* Linear layers of blocks in FP8: where all factors are numbers of FP8, the products are those of bf16 to the bit;
 * elsewhere they differ as much as FP8 rounds. */
#include "nn/layers.h"

#include <glib.h>
#include <math.h>
#include <string.h>

enum { N = 37, IN = 48, OUT = 32, ARENA = 1 << 20, BLOCK = 1 };

typedef struct Rig {
    Device *dev;
    LayerSpec layer;
    Arena scratch;
    Ctx cx;
    Fp8Scales *scales;
} Rig;

static void open_rig(Rig *r, Fp8Scaling scaling)
{
    Precision precision = { .compute = DT_BF16,
                            .residual = DT_F32,
                            .grad = DT_F32,
                            .master = DT_F32,
                            .state = DT_F32,
                            .fp8 = { scaling, 0, 4 } };
    *r = (Rig){ .dev = device_open_cpu(2, precision), .layer = { .block = BLOCK } };
    r->scales = fp8_open(r->dev, 2 * LINEAR_SITES);
    arena_init(&r->scratch, "scratch", device_alloc(r->dev, ARENA), ARENA);
    r->cx =
        (Ctx){ .dev = r->dev, .precision = precision, .layer = &r->layer, .scratch = &r->scratch, .fp8 = r->scales };
}

static void close_rig(Rig *r)
{
    fp8_close(r->scales);
    device_free(r->dev, r->scratch.base);
    device_close(r->dev);
}

static Tensor filled(Rig *r, DType dtype, int64_t rows, int64_t cols, int mode, int seed)
{
    Tensor t = tensor_matrix(device_alloc(r->dev, (size_t)(rows * cols) * sizeof(float)), dtype, rows, cols);
    g_autofree float *numbers = g_new(float, (gsize)(rows * cols));
    for (int64_t i = 0; i < rows * cols; i++) {
        int64_t drawn = (i * 7919 + seed * 104729) % 17 - 8;
        numbers[i] = mode == 0 ? (float)drawn / 8 : sinf((float)(i + seed)) / 3; /* of FP8, or not */
    }
    tensor_write(r->dev, t, numbers, DT_F32);
    return t;
}

/* Results of a layer: y, dx (added to), dw (added to). */
typedef struct Results {
    float y[N * OUT], dx[N * IN], dw[OUT * IN], db[OUT];
} Results;

static void pass(Rig *r, Results *results, int64_t in, int mode, bool fp8)
{
    Ctx cx = r->cx;
    cx.fp8 = fp8 ? r->scales : NULL;
    Tensor x = filled(r, DT_BF16, N, in, mode, 1), dy = filled(r, DT_BF16, N, OUT, mode, 2);
    Linear w = { .w = filled(r, DT_BF16, OUT, in, mode, 3), .site = LINEAR_WI },
           g = { .w = filled(r, DT_F32, OUT, in, 0, 4) };
    Tensor y = filled(r, DT_BF16, N, OUT, 0, 5), dx = filled(r, DT_F32, N, in, 0, 6);
    Tensor bias = filled(r, DT_F32, 1, OUT, 0, 7), db = filled(r, DT_F32, 1, OUT, 0, 8);
    w.b = tensor_vector(bias.p, DT_F32, OUT);
    g.b = tensor_vector(db.p, DT_F32, OUT);
    linear_fwd(&cx, y, x, &w);
    linear_bwd(&cx, dx, 1, dy, x, &w, &g, 1);
    *results = (Results){ 0 };
    tensor_read(r->dev, results->y, DT_F32, y);
    tensor_read(r->dev, results->dx, DT_F32, dx);
    tensor_read(r->dev, results->dw, DT_F32, g.w);
    tensor_read(r->dev, results->db, DT_F32, g.b);
    const Tensor all[] = { x, dy, w.w, g.w, y, dx, bias, db };
    for (size_t i = 0; i < G_N_ELEMENTS(all); i++)
        device_free(r->dev, all[i].p);
}

static double distance(const float *a, const float *b, int n)
{
    double apart = 0, size = 0;
    for (int i = 0; i < n; i++) {
        apart += ((double)a[i] - (double)b[i]) * ((double)a[i] - (double)b[i]);
        size += (double)b[i] * (double)b[i];
    }
    return sqrt(apart / size);
}

static void assert_apart(const Results *a, const Results *b, double least, double most)
{
    const double apart[] = { distance(a->y, b->y, N * OUT), distance(a->dx, b->dx, N * IN),
                             distance(a->dw, b->dw, OUT * IN) };
    for (size_t i = 0; i < G_N_ELEMENTS(apart); i++) {
        g_assert_cmpfloat(apart[i], >=, least);
        g_assert_cmpfloat(apart[i], <=, most);
    }
    g_assert_true(memcmp(a->db, b->db, sizeof a->db) == 0);
}

/* The scale of the first microbatch is 1. */
static void test_exact(void)
{
    Rig r;
    Results fp8, bf16;
    open_rig(&r, FP8_DELAYED);
    pass(&r, &fp8, IN, 0, true);
    pass(&r, &bf16, IN, 0, false);
    assert_apart(&fp8, &bf16, 0, 0);
    close_rig(&r);
}

static void test_rounded(void)
{
    for (Fp8Scaling scaling = FP8_DELAYED; scaling <= FP8_CURRENT; scaling++) {
        Rig r;
        Results fp8, bf16;
        open_rig(&r, scaling);
        pass(&r, &fp8, IN, 1, true);
        if (scaling == FP8_DELAYED) { /* the second microbatch has scales */
            fp8_update(r.scales);
            pass(&r, &fp8, IN, 1, true);
        }
        pass(&r, &bf16, IN, 1, false);
        assert_apart(&fp8, &bf16, 1e-4, 0.06);
        close_rig(&r);
    }
}

/* The amaxes of a layer's input, weights and gradient, before they are scaled, each in its row. */
static void test_recorded(void)
{
    Rig r;
    Results unused;
    open_rig(&r, FP8_DELAYED);
    pass(&r, &unused, IN, 0, true);
    for (int factor = 0; factor < FP8_FACTORS; factor++)
        for (int layer = 0; layer < 2 * LINEAR_SITES; layer++) {
            float amax;
            tensor_read(r.dev, &amax, DT_F32, fp8_scale(r.scales, layer, (Fp8Factor)factor).amax);
            g_assert_cmpfloat((double)amax, ==, layer == BLOCK * LINEAR_SITES + LINEAR_WI - LINEAR_SELF_QKV ? 1 : 0);
        }
    close_rig(&r);
}

/* Tensor cores take rows of 16 numbers. */
static void test_other_widths(void)
{
    Rig r;
    Results fp8, bf16;
    open_rig(&r, FP8_DELAYED);
    pass(&r, &fp8, IN - 8, 1, true);
    pass(&r, &bf16, IN - 8, 1, false);
    g_assert_true(memcmp(&fp8, &bf16, sizeof fp8) == 0);
    close_rig(&r);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/linear/numbers_of_fp8_are_multiplied_exactly", test_exact);
    g_test_add_func("/linear/other_numbers_are_rounded_to_fp8", test_rounded);
    g_test_add_func("/linear/amaxes_are_those_of_unscaled_factors", test_recorded);
    g_test_add_func("/linear/widths_that_are_no_multiple_of_16_stay_in_bf16", test_other_widths);
    return g_test_run();
}
