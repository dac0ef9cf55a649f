/* Numbers known beforehand: the buckets of T5, published values, limits. On the reference backend; the others are
 * compared with it in test_ops.c. */
#include "reference/reference.h"

#include <glib.h>
#include <math.h>
#include <string.h>

/* The distances at which a new bucket begins, beyond those that have a bucket of their own. */
static const int bidirectional_starts[] = { 8, 12, 16, 23, 32, 46, 64, 91 };
static const int causal_starts[] = { 16, 19, 21, 24, 27, 31, 35, 40, 46, 52, 59, 67, 77, 87, 99, 113 };

static int32_t expected_bucket(int distance, int exact, const int *starts, int n_starts)
{
    int bucket = MIN(distance, exact - 1);
    for (int i = 0; i < n_starts; i++)
        bucket += distance >= starts[i];
    return bucket;
}

static void test_bidirectional_buckets(void)
{
    RelposSpec spec = { .n_buckets = 32, .max_distance = 128, .bidirectional = true };
    for (int distance = 0; distance <= 1000; distance++) {
        int32_t bucket = expected_bucket(distance, 8, bidirectional_starts, G_N_ELEMENTS(bidirectional_starts));
        g_assert_cmpint(relpos_bucket(-distance, &spec), ==, bucket);
        g_assert_cmpint(relpos_bucket(distance, &spec), ==, distance ? 16 + bucket : 0);
    }
}

static void test_causal_buckets(void)
{
    RelposSpec spec = { .n_buckets = 32, .max_distance = 128 };
    for (int distance = 0; distance <= 1000; distance++) {
        int32_t bucket = expected_bucket(distance, 16, causal_starts, G_N_ELEMENTS(causal_starts));
        g_assert_cmpint(relpos_bucket(-distance, &spec), ==, bucket);
        g_assert_cmpint(relpos_bucket(distance, &spec), ==, 0);
    }
}

/* Where the logarithm is an integer: float arithmetic may fall short of it. */
static void test_buckets_at_powers(void)
{
    RelposSpec spec = { .n_buckets = 32, .max_distance = 128, .bidirectional = true };
    g_assert_cmpint(relpos_bucket(-16, &spec), ==, 10);
    g_assert_cmpint(relpos_bucket(-32, &spec), ==, 12);
    g_assert_cmpint(relpos_bucket(-64, &spec), ==, 14);
    g_assert_cmpint(relpos_bucket(-128, &spec), ==, 15);
}

/* Distances of every form that the rule has, from those with a bucket of their own to those beyond the last. */
static void test_ast_buckets(void)
{
    static const int golden[][2] = { { 0, 63 },   { 1, 64 },    { 31, 94 },   { 32, 95 },   { 33, 96 },
                                     { 64, 106 }, { 128, 116 }, { 200, 123 }, { 254, 126 }, { 1000, 126 } };
    RelposSpec spec = { .n_buckets = 128, .max_distance = 255, .rule = RELPOS_AST, .bidirectional = true };
    for (size_t i = 0; i < G_N_ELEMENTS(golden); i++) {
        g_assert_cmpint(relpos_bucket(golden[i][0], &spec), ==, golden[i][1]);
        g_assert_cmpint(relpos_bucket(-golden[i][0], &spec), ==, 126 - golden[i][1]);
    }
    for (int distance = 1; distance <= 1023; distance++) {
        int32_t step = relpos_bucket(distance, &spec) - relpos_bucket(distance - 1, &spec);
        g_assert_cmpint(step, >=, 0);
        g_assert_cmpint(step, <=, 1);
    }
}

static void test_rmsnorm(void)
{
    Device *dev = device_open_reference();
    double x[] = { 1, 2, 3, 4 }, w[] = { 1, 1, 1, 1 }, y[4], rstd;
    static const double golden[] = { .3651483, .7302967, 1.095445, 1.4605934 };
    op_norm_fwd(dev, tensor_matrix(y, DT_F64, 1, 4), NO_TENSOR, tensor_vector(&rstd, DT_F64, 1),
                tensor_matrix(x, DT_F64, 1, 4), tensor_vector(w, DT_F64, 4), NO_TENSOR, 1e-6f);
    for (int i = 0; i < 4; i++)
        g_assert_cmpfloat_with_epsilon(y[i], golden[i], 1e-6);
    device_close(dev);
}

/* Base 10000 over 16 channels at position 3, of 0.1, 0.2, …: the values of the RoFormer code that t5-experiments
 * carries.
 */
static void test_rotary(void)
{
    static const double golden[] = { -.2260073, -.6960982, -.0384713, .28453,   .4607809,  .5866916,
                                     .6954969,  .7984817,  -.8768812, .7452834, 1.1395262, 1.2324945,
                                     1.3144128, 1.405629,  1.5020932, 1.6007582 };
    Device *dev = device_open_reference();
    double x[16], table[4 * 16];
    int32_t position = 3;
    for (int i = 0; i < 16; i++)
        x[i] = 0.1 * (i + 1);
    Tensor angles = tensor_matrix(table, DT_F64, 4, 16);
    op_rotary_table(dev, angles, 10000);
    op_rotary(dev, tensor_matrix(x, DT_F64, 1, 16), angles, tensor_vector(&position, DT_I32, 1), 16, false);
    for (int i = 0; i < 16; i++)
        g_assert_cmpfloat_with_epsilon(x[i], golden[i], 1e-7);
    device_close(dev);
}

/* fairseq's for 6 channels from position 2 on: sin, then cos, of 10000^(-c/2) times the position. */
static void test_sinusoids(void)
{
    Device *dev = device_open_reference();
    double table[2 * 6];
    op_sinusoid_table(dev, tensor_matrix(table, DT_F64, 2, 6), 2);
    for (int t = 0; t < 2; t++)
        for (int c = 0; c < 3; c++) {
            double angle = (2 + t) / (c == 0 ? 1.0 : c == 1 ? 100.0 : 10000.0);
            g_assert_cmpfloat_with_epsilon(table[6 * t + c], sin(angle), 1e-14);
            g_assert_cmpfloat_with_epsilon(table[6 * t + 3 + c], cos(angle), 1e-14);
        }
    device_close(dev);
}

/* Press et al.: 8 heads have 1/2, 1/4, … 1/256; 12 heads those of 8 and every second one of 16. */
static void test_alibi_slopes(void)
{
    for (int h = 0; h < 8; h++) {
        g_assert_cmpfloat(alibi_slope(h, 8), ==, pow(0.5, h + 1));
        g_assert_cmpfloat(alibi_slope(h, 12), ==, pow(0.5, h + 1));
    }
    for (int h = 8; h < 12; h++)
        g_assert_cmpfloat_with_epsilon(alibi_slope(h, 12), pow(0.5, 0.5 + (h - 8)), 1e-15);
}

/* GELU by the error function: torch.nn.functional.gelu of -3, -0.5, 1, 2; SiLU of the same. */
static void test_activations(void)
{
    static const double gelu[] = { -.00404969409, -.15426877, .841344746, 1.95449974 };
    static const double silu[] = { -.142277620, -.188770333, .731058579, 1.76159416 };
    Device *dev = device_open_reference();
    const Dropout none = { 0 };
    for (int kind = 0; kind < 2; kind++) {
        double x[] = { -3, -0.5, 1, 2 };
        Tensor h = tensor_matrix(x, DT_F64, 1, 4);
        op_act_fwd(dev, h, h, NO_TENSOR, kind ? ACT_SILU : ACT_GELU_ERF, &none);
        for (int i = 0; i < 4; i++)
            g_assert_cmpfloat_with_epsilon(x[i], kind ? silu[i] : gelu[i], 1e-8);
    }
    device_close(dev);
}

static void test_layernorm(void)
{
    Device *dev = device_open_reference();
    double x[] = { 1, 2, 3, 4 }, w[] = { 1, 1, 1, 2 }, b[] = { 0, 0, 0, 1 }, y[4], mean, rstd;
    static const double golden[] = { -1.3416354, -.4472118, .4472118, 3.6832708 }; /* (x - 2.5) / sqrt(1.25 + 1e-5) */
    op_norm_fwd(dev, tensor_matrix(y, DT_F64, 1, 4), tensor_vector(&mean, DT_F64, 1), tensor_vector(&rstd, DT_F64, 1),
                tensor_matrix(x, DT_F64, 1, 4), tensor_vector(w, DT_F64, 4), tensor_vector(b, DT_F64, 4), 1e-5f);
    for (int i = 0; i < 4; i++)
        g_assert_cmpfloat_with_epsilon(y[i], golden[i], 1e-6);
    device_close(dev);
}

#define V 5

static void xent(const double *logits, double *gradient, double *stats, const XentSpec *spec)
{
    Device *dev = device_open_reference();
    int32_t target = 2;
    double weight = 1;
    memcpy(gradient, logits, V * sizeof *logits);
    op_xent(dev, tensor_matrix(gradient, DT_F64, 1, V), tensor_matrix(stats, DT_F64, 1, XENT_STATS),
            tensor_vector(&target, DT_I32, 1), tensor_vector(&weight, DT_F64, 1), spec);
    device_close(dev);
}

/* A model that gives the smoothed target itself, normalised so that log Z = 0: the loss is that distribution's entropy,
 * as torch.nn.CrossEntropyLoss has it, and the gradient is 0. */
static void test_perfect_model_has_no_gradient(void)
{
    double logits[V], gradient[V], stats[XENT_STATS];
    XentSpec spec = { .label_smoothing = 0.125f, .z_loss = 1e-4f, .scale = 1, .grad = true };
    double off = 0.125 / V, on = 0.875 + off;
    for (int v = 0; v < V; v++)
        logits[v] = log(v == 2 ? on : off);
    xent(logits, gradient, stats, &spec);
    g_assert_cmpfloat_with_epsilon(stats[XENT_LOSS], -on * log(on) - (V - 1) * off * log(off), 1e-12);
    g_assert_cmpfloat_with_epsilon(stats[XENT_NLL], -log(on), 1e-12);
    g_assert_cmpfloat(stats[XENT_CORRECT], ==, 1);
    for (int v = 0; v < V; v++)
        g_assert_cmpfloat_with_epsilon(gradient[v], 0, 1e-12);
}

/* Equal logits c: log Z = c + ln V, so the loss is ln V + z (c + ln V)². */
static void test_uniform_model(void)
{
    double logits[V] = { 3, 3, 3, 3, 3 }, gradient[V], stats[XENT_STATS];
    XentSpec spec = { .z_loss = 1e-4f, .scale = 0.5f, .grad = true };
    double log_z = 3 + log(V), z = (double)1e-4f;
    xent(logits, gradient, stats, &spec);
    g_assert_cmpfloat_with_epsilon(stats[XENT_LOSS], log(V) + z * log_z * log_z, 1e-12);
    g_assert_cmpfloat_with_epsilon(stats[XENT_NLL], log(V), 1e-12);
    g_assert_cmpfloat(stats[XENT_CORRECT], ==, 0); /* the lowest index wins ties: 0, not 2 */
    for (int v = 0; v < V; v++)
        g_assert_cmpfloat_with_epsilon(gradient[v], 0.5 * ((1 + 2 * z * log_z) / V - (v == 2)), 1e-12);
}

/* Classes that ranks divide have the numbers of undivided ones, also if two of them have the largest logit. */
static void test_parts_are_the_whole(void)
{
    enum { FIRST = 2 };
    const double forms[][V] = { { 1, -2, 3, 0.5, 2 }, { 3, -2, 3, 0.5, 3 }, { 1, -2, 0, 0.5, 2 } };
    const XentSpec spec = { .label_smoothing = 0.1f, .z_loss = 1e-2f, .scale = 0.5f, .grad = true };
    Device *dev = device_open_reference();
    int32_t here[] = { -1, 2 - FIRST };
    double weight = 1;
    for (size_t form = 0; form < G_N_ELEMENTS(forms); form++) {
        double gradient[V], stats[XENT_STATS], parts[2 * XENT_PARTS], joined[XENT_STATS], logits[V];
        const Tensor all = tensor_matrix(logits, DT_F64, 1, V), known = tensor_matrix(parts, DT_F64, 2, XENT_PARTS);
        const Tensor cut[] = { tensor_slice_cols(all, 0, FIRST), tensor_slice_cols(all, FIRST, V - FIRST) };
        xent(forms[form], gradient, stats, &spec);
        memcpy(logits, forms[form], sizeof logits);
        for (int p = 0; p < 2; p++)
            op_xent_part(dev, tensor_slice_rows(known, p, 1), cut[p], tensor_vector(&here[p], DT_I32, 1));
        for (int p = 0; p < 2; p++) {
            op_xent_join(dev, cut[p], tensor_matrix(joined, DT_F64, 1, XENT_STATS), known,
                         tensor_vector(&here[p], DT_I32, 1), tensor_vector(&weight, DT_F64, 1), V, &spec);
            for (int i = 0; i < XENT_STATS; i++)
                g_assert_cmpfloat_with_epsilon(joined[i], stats[i], 1e-12);
        }
        for (int v = 0; v < V; v++)
            g_assert_cmpfloat_with_epsilon(logits[v], gradient[v], 1e-12);
    }
    device_close(dev);
}

/* Zero queries see every key equally: the output is the mean of the values, uncovered rows are zero. */
static void test_attention_of_zero_queries_is_the_mean(void)
{
    Device *dev = device_open_reference();
    double q[3] = { 0 }, k[] = { 1, -2, 3 }, v[] = { 2, 4, 9 }, o[3], lse[3];
    int32_t cu[] = { 0, 2 };
    AttnSpec spec = {
        .cu_q = { cu, cu }, .cu_k = { cu, cu }, .n_seq = 1, .max_q = 2, .max_k = 2, .heads = 1, .scale = 1
    };
    Dropout none = { .rate = 0 };
    Tensor out = tensor_matrix(o, DT_F64, 3, 1), log_z = tensor_matrix(lse, DT_F64, 1, 3);
    Tensor queries = tensor_matrix(q, DT_F64, 3, 1), keys = tensor_matrix(k, DT_F64, 3, 1);
    Tensor values = tensor_matrix(v, DT_F64, 3, 1);
    op_attn_fwd(dev, out, log_z, queries, keys, values, NO_TENSOR, &spec, &none);
    g_assert_cmpfloat_with_epsilon(o[0], 3, 1e-12);
    g_assert_cmpfloat_with_epsilon(o[1], 3, 1e-12);
    g_assert_cmpfloat(o[2], ==, 0);
    g_assert_cmpfloat_with_epsilon(lse[0], log(2), 1e-12);
    spec.causal = true;
    op_attn_fwd(dev, out, log_z, queries, keys, values, NO_TENSOR, &spec, &none);
    g_assert_cmpfloat_with_epsilon(o[0], 2, 1e-12);
    g_assert_cmpfloat_with_epsilon(o[1], 3, 1e-12);
    device_close(dev);
}

/* Bias column j - i + max_q - 1, on one query that a large bias points at each key in turn. */
static void test_attention_bias_runs_along_key_minus_query(void)
{
    Device *dev = device_open_reference();
    double zeros[3] = { 0 }, v[] = { 2, 4, 9 }, o[3], lse[3];
    int32_t cu[] = { 0, 3 };
    AttnSpec spec = {
        .cu_q = { cu, cu }, .cu_k = { cu, cu }, .n_seq = 1, .max_q = 3, .max_k = 3, .heads = 1, .scale = 1
    };
    Dropout none = { .rate = 0 };
    for (int relative = -2; relative <= 2; relative++) {
        double bias[5] = { 0 };
        bias[relative + 2] = 1000;
        op_attn_fwd(dev, tensor_matrix(o, DT_F64, 3, 1), tensor_matrix(lse, DT_F64, 1, 3),
                    tensor_matrix(zeros, DT_F64, 3, 1), tensor_matrix(zeros, DT_F64, 3, 1),
                    tensor_matrix(v, DT_F64, 3, 1), tensor_matrix(bias, DT_F64, 1, 5), &spec, &none);
        for (int i = 0; i < 3; i++) {
            int j = i + relative;
            g_assert_cmpfloat_with_epsilon(o[i], j >= 0 && j < 3 ? v[j] : 5, 1e-12);
        }
    }
    device_close(dev);
}

/* The mask is a function of sample, position and channel: the same rows in another order have the same masks; and of
 * many elements the wanted share is dropped, the mean kept. */
static void test_dropout_follows_the_sample(void)
{
    enum { N = 64, C = 250 };
    Device *dev = device_open_reference();
    static double ones[N * C], y[N * C], reversed[N * C];
    int64_t sample[N], sample_reversed[N];
    int32_t position[N], position_reversed[N];
    double sum = 0, dropped = 0;
    for (int i = 0; i < N; i++) {
        sample[i] = sample_reversed[N - 1 - i] = i / 10;
        position[i] = position_reversed[N - 1 - i] = i % 10;
    }
    for (int i = 0; i < N * C; i++)
        ones[i] = 1;
    Tensor x = tensor_matrix(ones, DT_F64, N, C);
    Dropout drop = { philox_key(1, PHILOX_DROPOUT, 0), 0.3f, sample, position, 0 }, other = drop;
    other.sample = sample_reversed;
    other.position = position_reversed;
    op_dropout_fwd(dev, tensor_matrix(y, DT_F64, N, C), x, NO_TENSOR, &drop);
    op_dropout_fwd(dev, tensor_matrix(reversed, DT_F64, N, C), x, NO_TENSOR, &other);
    for (int i = 0; i < N * C; i++)
        g_assert_cmpfloat(y[i], ==, reversed[(N - 1 - i / C) * C + i % C]);
    for (int i = 0; i < N * C; i++) {
        sum += y[i];
        dropped += y[i] == 0;
    }
    g_assert_cmpfloat_with_epsilon(dropped / (N * C), 0.3, 0.015); /* four standard deviations */
    g_assert_cmpfloat_with_epsilon(sum / (N * C), 1, 0.02);
    device_close(dev);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/relpos/bidirectional_buckets_are_those_of_t5", test_bidirectional_buckets);
    g_test_add_func("/relpos/causal_buckets_are_those_of_t5", test_causal_buckets);
    g_test_add_func("/relpos/powers_of_two_are_exact", test_buckets_at_powers);
    g_test_add_func("/relpos/ast_buckets", test_ast_buckets);
    g_test_add_func("/rmsnorm/published_example", test_rmsnorm);
    g_test_add_func("/layernorm/matches_its_formula", test_layernorm);
    g_test_add_func("/sinusoids/are_fairseqs", test_sinusoids);
    g_test_add_func("/rotary/matches_the_published_values", test_rotary);
    g_test_add_func("/alibi/slopes_are_those_of_the_paper", test_alibi_slopes);
    g_test_add_func("/act/matches_known_values", test_activations);
    g_test_add_func("/xent/perfect_model_has_no_gradient", test_perfect_model_has_no_gradient);
    g_test_add_func("/xent/uniform_model_has_loss_ln_v_plus_z", test_uniform_model);
    g_test_add_func("/xent/parts_are_the_whole", test_parts_are_the_whole);
    g_test_add_func("/attn/zero_queries_take_the_mean", test_attention_of_zero_queries_is_the_mean);
    g_test_add_func("/attn/bias_runs_along_key_minus_query", test_attention_bias_runs_along_key_minus_query);
    g_test_add_func("/dropout/mask_follows_the_sample", test_dropout_follows_the_sample);
    return g_test_run();
}
