/* labels: starts-first */
/* Operations at the edges of what they take: numbers that are not finite, and tensors without rows. On the cpu and, by
 * the shim, with the kernels for GPUs. */
#include "device/rig.h"

static void begin(Rig *r)
{
    *r = (Rig){ .dev = rig_device(precision_uniform(DT_F32)), .n_codes = 1 };
    r->rng = philox_open(philox_key(1, PHILOX_INIT, 0), 0);
    r->memory = g_ptr_array_new_with_free_func(g_free);
    r->outputs = g_array_new(FALSE, FALSE, sizeof(Tensor));
}

static void end(Rig *r)
{
    Device *dev = r->dev;
    rig_clear(r);
    device_close(dev);
}

static Tensor as_vector(Tensor t)
{
    return tensor_vector(t.p, t.dtype, tensor_count(t));
}

static Tensor totals(Rig *r, int64_t n, double value)
{
    Tensor t = tensor_vector(allocate(r, (size_t)n * sizeof(double)), DT_F64, n);
    for (int64_t i = 0; i < n; i++)
        ((double *)t.p)[i] = value;
    return t;
}

/* A finite loss would let a run go on, and an evaluation report it. */
static void test_logits_that_are_not_numbers(void)
{
    static const int64_t places[] = { 0, 3, 8, 700, 2999 };
    const int64_t vocabulary = 3000;
    for (size_t i = 0; i < G_N_ELEMENTS(places); i++) {
        Rig r;
        begin(&r);
        const XentSpec spec = { .scale = 1 };
        Tensor logits = normal(&r, 1, vocabulary, 0, 1), stats = statistics(&r, 1, XENT_STATS, 0);
        Tensor weights = as_vector(statistics(&r, 1, 1, 0)), targets = integers(&r, 1, 1);
        set(weights, 0, 0, 1);
        set(logits, 0, places[i], NAN);
        op_xent(r.dev, logits, stats, targets, weights, &spec);
        g_assert_true(isnan(get(stats, 0, XENT_LOSS)));
        g_assert_true(isnan(get(stats, 0, XENT_NLL)));
        end(&r);
    }
}

/* Logits that are -inf, a lot of them side by side as a kernel reads them at once, are classes of probability 0. */
static void test_classes_that_are_impossible(void)
{
    enum { V = 300, TARGET = 42 };
    Rig r;
    begin(&r);
    const XentSpec spec = { .scale = 1, .grad = true };
    Tensor logits = blank(&r, 1, V, 0), stats = statistics(&r, 1, XENT_STATS, 0), log_sum = totals(&r, 1, 0);
    Tensor weights = as_vector(statistics(&r, 1, 1, 0)), targets = integers(&r, 1, 1), values = statistics(&r, 1, 1, 0);
    Tensor ids = tensor_matrix(allocate(&r, sizeof(int32_t)), DT_I32, 1, 1);
    for (int64_t j = 0; j < V; j++)
        set(logits, 0, j, j >= 40 && j < 44 ? 0 : -INFINITY);
    ((int32_t *)targets.p)[0] = TARGET;
    set(weights, 0, 0, 1);
    op_top(r.dev, values, ids, log_sum, logits);
    op_xent(r.dev, logits, stats, targets, weights, &spec);
    g_assert_cmpfloat_with_epsilon(get(log_sum, 0, 0), log(4), 1e-6);
    g_assert_cmpfloat_with_epsilon(get(stats, 0, XENT_LOSS), log(4), 1e-6);
    for (int64_t j = 0; j < V; j++)
        g_assert_cmpfloat_with_epsilon(get(logits, 0, j), (j >= 40 && j < 44 ? 0.25 : 0) - (j == TARGET), 1e-6);
    end(&r);
}

/* Whatever the numbers are, ids are indices of the row, and each is there once. */
static void test_top_of_numbers_that_are_not_finite(void)
{
    static const double numbers[] = { INFINITY, -INFINITY, NAN };
    enum { V = 40, K = 3 };
    for (size_t i = 0; i < G_N_ELEMENTS(numbers); i++) {
        Rig r;
        begin(&r);
        Tensor x = normal(&r, 2, V, 0, 1), values = statistics(&r, 2, K, 0), log_sum = totals(&r, 2, 0);
        Tensor ids = tensor_matrix(allocate(&r, (size_t)2 * K * sizeof(int32_t)), DT_I32, 2, K);
        set(x, 0, 0, numbers[i]);
        for (int64_t j = 0; j < V; j++)
            set(x, 1, j, numbers[i]);
        op_top(r.dev, values, ids, log_sum, x);
        for (int64_t row = 0; row < 2; row++)
            for (int64_t k = 0; k < K; k++) {
                g_assert_cmpfloat(get(ids, row, k), >=, 0);
                g_assert_cmpfloat(get(ids, row, k), <, V);
                for (int64_t before = 0; before < k; before++)
                    g_assert_cmpfloat(get(ids, row, k), !=, get(ids, row, before));
            }
        if (numbers[i] > 0)
            g_assert_cmpfloat(get(ids, 0, 0), ==, 0);
        end(&r);
    }
}

static void assert_all(Tensor t, double value)
{
    for (int64_t i = 0; i < tensor_rows(t); i++)
        for (int64_t j = 0; j < tensor_cols(t); j++)
            g_assert_cmpfloat(get(t, i, j), ==, value);
}

/* A batch without rows: gradients and sums become zeros with beta 0, and stay with beta 1. */
static void sums_of_nothing(float beta)
{
    enum { C = 24, PRODUCT = 5 };
    Rig r;
    begin(&r);
    Tensor x = blank(&r, 0, C, 0), y = blank(&r, 0, C, 0), w = as_vector(normal(&r, 1, C, 0, 1)),
           none = as_vector(statistics(&r, 1, 0, 0));
    Tensor dw[6], ids = integers(&r, 0, 1), sum = totals(&r, C, 3), square = totals(&r, 1, 3);
    for (size_t i = 0; i < G_N_ELEMENTS(dw); i++) {
        dw[i] = as_vector(accumulator(&r, 1, C, 0, beta));
        for (int64_t c = 0; beta > 0 && c < C; c++)
            set(dw[i], 0, c, 3);
    }
    Tensor table = tensor_matrix(dw[4].p, DT_F32, 1, C), product = tensor_matrix(dw[PRODUCT].p, DT_F32, 1, C);
    op_norm_fwd(r.dev, x, NO_TENSOR, none, x, w, NO_TENSOR, 1e-6f);
    op_sum_norm_fwd(r.dev, x, NO_TENSOR, none, y, x, y, w, NO_TENSOR, 1e-6f, &(Dropout){ 0 });
    op_norm_bwd(r.dev, x, y, dw[0], NO_TENSOR, x, x, w, NO_TENSOR, none, NO_TENSOR, beta, &(Dropout){ 0 });
    op_norm_bwd(r.dev, x, NO_TENSOR, dw[1], dw[2], x, x, w, none, none, NO_TENSOR, beta, NULL);
    op_column_sums(r.dev, dw[3], x, beta);
    op_scatter_add(r.dev, table, x, ids, beta);
    op_gemm(r.dev, product, blank(&r, 0, 1, 0), x, true, false, 1, beta);
    op_sum_rows(r.dev, sum, x, beta);
    op_sumsq(r.dev, square, x, beta);
    for (size_t i = 0; i < G_N_ELEMENTS(dw); i++)
        assert_all(dw[i], beta == 0 ? 0 : 3);
    assert_all(sum, beta == 0 ? 0 : 3);
    assert_all(square, beta == 0 ? 0 : 3);
    end(&r);
}

static void test_a_batch_without_rows(void)
{
    sums_of_nothing(0);
    sums_of_nothing(1);
}

static Tensor one(Rig *r, double value)
{
    Tensor t = as_vector(statistics(r, 1, 1, 0));
    set(t, 0, 0, value);
    return t;
}

/* Casts to FP8: infinities become the largest number, NaN stays NaN, and amax tells of both. */
static void casts_to_fp8(bool e5m2)
{
    enum { C = 24 };
    Rig r;
    begin(&r);
    double largest = e5m2 ? 57344 : 448;
    DType dtype = precision_fp8(r.dev->precision, e5m2);
    Tensor x = normal(&r, 1, C, 0, 1), y = blank_of(&r, dtype, 1, C, 0), yt = blank_of(&r, dtype, C, 1, 0);
    Tensor scale = one(&r, 2), inverse = one(&r, 0.5), amax = one(&r, 0);
    set(x, 0, 3, INFINITY);
    set(x, 0, 7, -INFINITY);
    op_fp8_cast(r.dev, y, yt, amax, x, scale, e5m2);
    g_assert_cmpfloat(get(y, 0, 3), ==, largest);
    g_assert_cmpfloat(get(yt, 7, 0), ==, -largest);
    g_assert_cmpfloat(get(amax, 0, 0), ==, INFINITY);
    set(x, 0, 5, NAN);
    op_fp8_cast(r.dev, y, yt, amax, x, scale, e5m2);
    g_assert_true(isnan(get(y, 0, 5)) && isnan(get(yt, 5, 0)) && isnan(get(amax, 0, 0)));
    op_fp8_scale(r.dev, scale, inverse, x, 0, e5m2);
    g_assert_cmpfloat(get(scale, 0, 0), ==, 1);
    g_assert_cmpfloat(get(inverse, 0, 0), ==, 1);
    end(&r);
}

/* A scale stays where the largest number of its history is 0 or not finite. */
static void scales_of_fp8(bool e5m2)
{
    enum { ROWS = 4, T = 300 };
    static const double newest[ROWS] = { 0, INFINITY, NAN, 2 };
    Rig r;
    begin(&r);
    Tensor history = statistics(&r, ROWS, T, 0), scale = as_vector(statistics(&r, 1, ROWS, 0));
    Tensor inverse = statistics(&r, ROWS, 1, 3);
    for (int64_t i = 0; i < ROWS; i++) {
        set(scale, 0, i, 8);
        for (int64_t t = 0; t < T; t++)
            set(history, i, t, t == 0 ? newest[i] : t == 280 && newest[i] != 0 ? 4 : 0);
    }
    op_fp8_update(r.dev, scale, inverse, history, 0, e5m2);
    for (int64_t i = 0; i < ROWS; i++) {
        double wanted = newest[i] == 2 ? (e5m2 ? 57344 : 448) / 4.0 : 8;
        g_assert_cmpfloat(get(scale, 0, i), ==, wanted);
        g_assert_cmpfloat(get(inverse, i, 0), ==, (double)(float)(1 / wanted));
        g_assert_cmpfloat(get(history, i, 0), ==, 0);
    }
    end(&r);
}

static void test_fp8_of_numbers_that_are_not_finite(void)
{
    for (int e5m2 = 0; e5m2 < 2; e5m2++) {
        casts_to_fp8(e5m2);
        scales_of_fp8(e5m2);
    }
}

/* An embedding's gradient where all tokens have one id, over many tiles of tokens, and one token between them another.
 */
static void test_tokens_of_one_id(void)
{
    enum { TOKENS = 100000, C = 3, ENTRIES = 5 };
    Rig r;
    begin(&r);
    Tensor table = blank(&r, ENTRIES, C, 0), dy = blank(&r, TOKENS, C, 0), ids = integers(&r, TOKENS, 1);
    for (int64_t i = 0; i < TOKENS; i++) {
        ((int32_t *)ids.p)[i] = i == TOKENS / 2 ? 1 : 3;
        for (int64_t c = 0; c < C; c++)
            set(dy, i, c, (double)(c + 1));
    }
    op_scatter_add(r.dev, table, dy, ids, 0);
    for (int64_t c = 0; c < C; c++) {
        g_assert_cmpfloat(get(table, 3, c), ==, (double)((TOKENS - 1) * (c + 1)));
        g_assert_cmpfloat(get(table, 1, c), ==, (double)(c + 1));
        g_assert_cmpfloat(get(table, 0, c), ==, 0);
    }
    end(&r);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/edges/a_logit_that_is_no_number_makes_the_loss_none", test_logits_that_are_not_numbers);
    g_test_add_func("/edges/logits_of_minus_infinity_have_probability_0", test_classes_that_are_impossible);
    g_test_add_func("/edges/ids_of_top_are_indices_whatever_the_numbers", test_top_of_numbers_that_are_not_finite);
    g_test_add_func("/edges/sums_over_no_rows_are_zero", test_a_batch_without_rows);
    g_test_add_func("/edges/fp8_of_numbers_that_are_not_finite", test_fp8_of_numbers_that_are_not_finite);
    g_test_add_func("/edges/tokens_that_all_have_one_id", test_tokens_of_one_id);
    return g_test_run();
}
