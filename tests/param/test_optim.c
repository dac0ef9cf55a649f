#include "optim_defaults.h"
#include "param/store.h"
#include "reference/reference.h"

#include <math.h>
#include <stddef.h>
#include <string.h>

typedef struct View {
    Tensor w, bias;
} View;

enum { ROWS = 2, COLS = 3, COUNT = ROWS * COLS };

static const ParamSpec specs[] = {
    { "layer.w", 0, offsetof(View, w), -1, ROWS, COLS, SPLIT_NONE, TIE_NONE, INIT_ZEROS, 0, true, false, PARAM_MATRIX,
      1, 1 },
    { "layer.bias", 0, offsetof(View, bias), -1, COUNT, 0, SPLIT_NONE, TIE_NONE, INIT_ZEROS, 0, false, false,
      PARAM_MATRIX, 1, 1 },
};

static const double start[COUNT] = { .5, -.25, 1, .125, .75, -1.5 };

/* g_t of the published Adafactor example. */
static void example_gradient(double *g, int t)
{
    const double values[COUNT] = { .1 * t, -.2, .3, .05, .4 * t, -.6 };
    memcpy(g, values, sizeof values);
}

static void store_numbers(Tensor t, const double *values)
{
    for (int i = 0; i < COUNT; i++) {
        if (t.dtype == DT_F64)
            ((double *)t.p)[i] = values[i];
        else
            ((float *)t.p)[i] = (float)values[i];
    }
}

static double number(Tensor t, int i)
{
    return t.dtype == DT_F64 ? ((double *)t.p)[i] : (double)((float *)t.p)[i];
}

/* A matrix and a vector with the same numbers and gradients, after n updates. */
typedef struct Run {
    double w[COUNT], bias[COUNT];
} Run;

static Run run(Device *dev, const OptimConfig *config, int n_updates, double norm)
{
    Run result;
    g_autoptr(GError) error = NULL;
    ParamStore *store = params_open(dev, specs, G_N_ELEMENTS(specs), NULL, true);
    Optimizer *opt = optimizer_open(store, config, &error);
    g_assert_no_error(error);
    store_numbers(params_get(store, 0)->w, start);
    store_numbers(params_get(store, 1)->w, start);
    for (int t = 1; t <= n_updates; t++) {
        double g[COUNT];
        example_gradient(g, t);
        store_numbers(params_get(store, 0)->g, g);
        store_numbers(params_get(store, 1)->g, g);
        optimizer_step(opt, t, config->lr, norm, 1);
    }
    for (int i = 0; i < COUNT; i++) {
        result.w[i] = number(params_get(store, 0)->w, i);
        result.bias[i] = number(params_get(store, 1)->w, i);
    }
    optimizer_close(opt);
    params_close(store);
    return result;
}

static void check_numbers(const double *got, const double *want, double tolerance)
{
    for (int i = 0; i < COUNT; i++)
        if (!(fabs(got[i] - want[i]) <= tolerance))
            g_error("element %d is %.10f, not %.10f", i, got[i], want[i]);
}

/* The published numbers of Hugging Face's Adafactor after three updates, in its four forms. */
static void check_adafactor(Device *dev, double tolerance)
{
    static const double scaled[] = { .495228465, -.248600359, .998057513, .124342995, .747874555, -1.498239684 };
    static const double unscaled[] = { .494251496, -.248314247, .997659996, .124208743, .747439552, -1.497879601 };
    static const double momentum[] = { .499122428, -.249696848, .999603799, .124852670, .749578882, -1.499611745 };
    static const double relative[] = { .452632400, -.236071207, .980701456, .118457816, .728887031, -1.482499922 };

    OptimConfig config = optim_defaults(OPTIM_ADAFACTOR);
    check_numbers(run(dev, &config, 3, 0).w, scaled, tolerance);
    config.scale_parameter = false;
    check_numbers(run(dev, &config, 3, 0).w, unscaled, tolerance);
    config.scale_parameter = true;
    config.beta1 = 0.9;
    config.weight_decay = 0.01;
    check_numbers(run(dev, &config, 3, 0).w, momentum, tolerance);
    config = optim_defaults(OPTIM_ADAFACTOR);
    config.relative_step = true;
    check_numbers(run(dev, &config, 3, 0).w, relative, tolerance);
}

static void test_adafactor_reference(void)
{
    Device *dev = device_open_reference();
    check_adafactor(dev, 1e-8);
    device_close(dev);
}

static void test_adafactor_cpu(void)
{
    Device *dev = device_open_cpu(1, precision_uniform(DT_F32));
    check_adafactor(dev, 1e-6);
    device_close(dev);
}

static double rms(const double *x)
{
    double sum = 0;
    for (int i = 0; i < COUNT; i++)
        sum += x[i] * x[i];
    return sqrt(sum / COUNT);
}

/* T5X: small matrices, like vectors, keep every second moment, and decay does not depend on the learning rate. */
static void test_adafactor_t5x(void)
{
    Device *dev = device_open_reference();
    OptimConfig config = optim_defaults(OPTIM_ADAFACTOR);
    config.min_dim_factored = 128;
    config.weight_decay = 0.02;
    config.decay_by_lr = false;
    config.step_offset = 5;
    double p[COUNT], v[COUNT] = { 0 }, u[COUNT], g[COUNT];
    memcpy(p, start, sizeof p);
    for (int t = 1; t <= 4; t++) {
        example_gradient(g, t);
        double beta2 = 1 - pow(t + 5, -0.8), alpha = (double)(float)1e-3 * fmax(1e-3, rms(p));
        for (int i = 0; i < COUNT; i++) {
            v[i] = beta2 * v[i] + (1 - beta2) * (g[i] * g[i] + 1e-30);
            u[i] = g[i] / sqrt(v[i]);
        }
        double clip = fmax(1, rms(u));
        for (int i = 0; i < COUNT; i++)
            p[i] = (1 - 0.02) * p[i] - alpha * u[i] / clip;
    }
    check_numbers(run(dev, &config, 4, 0).w, p, 1e-12);
    device_close(dev);
}

/* Where g² is of rank one, the product of row and column sums is g² itself: the first update is α sign(g). */
static void test_adafactor_of_rank_one(void)
{
    Device *dev = device_open_reference();
    ParamStore *store = params_open(dev, specs, 1, NULL, true);
    OptimConfig config = optim_defaults(OPTIM_ADAFACTOR);
    const double g[COUNT] = { 1, -2, 3, -0.25, 0.5, 0.75 };
    config.clip_threshold = 0;
    Optimizer *opt = optimizer_open(store, &config, NULL);
    store_numbers(params_get(store, 0)->w, start);
    store_numbers(params_get(store, 0)->g, g);
    optimizer_step(opt, 1, 1e-3, 0, 1);
    for (int i = 0; i < COUNT; i++) {
        double want = start[i] - (double)(float)1e-3 * rms(start) * copysign(1, g[i]);
        g_assert_cmpfloat_with_epsilon(number(params_get(store, 0)->w, i), want, 1e-12);
    }
    optimizer_close(opt);
    params_close(store);
    device_close(dev);
}

typedef struct AdamNumbers {
    double eps, weight_decay;
    bool scale_by_rms;
} AdamNumbers;

/* Ten updates, spelled out for one array. */
static void plain_adamw(double *p, AdamNumbers a)
{
    double m[COUNT] = { 0 }, v[COUNT] = { 0 }, g[COUNT], lr = (double)(float)1e-3;
    memcpy(p, start, sizeof m);
    for (int t = 1; t <= 10; t++) {
        example_gradient(g, t);
        double size = fmax(1e-3, rms(p)), correction1 = 1 - pow(.9, t), correction2 = 1 - pow(.999, t);
        for (int i = 0; i < COUNT; i++) {
            m[i] = .9 * m[i] + (1 - .9) * g[i];
            v[i] = .999 * v[i] + (1 - .999) * g[i] * g[i];
            double plain = m[i] / correction1 / (sqrt(v[i] / correction2) + a.eps);
            double scaled = size * sqrt(correction2) / correction1 * m[i] / (sqrt(v[i]) + a.eps);
            p[i] -= lr * a.weight_decay * p[i] + lr * (a.scale_by_rms ? scaled : plain);
        }
    }
}

static void check_adamw(OptimKind kind, double eps)
{
    Device *reference = device_open_reference(), *cpu = device_open_cpu(1, precision_uniform(DT_F32));
    OptimConfig config = optim_defaults(kind);
    double p[COUNT], without_decay[COUNT];
    config.weight_decay = 0.1;
    plain_adamw(p, (AdamNumbers){ eps, 0.1, kind == OPTIM_ADAMW_RMS });
    plain_adamw(without_decay, (AdamNumbers){ eps, 0, kind == OPTIM_ADAMW_RMS });
    Run exact = run(reference, &config, 10, 0), single = run(cpu, &config, 10, 0);
    check_numbers(exact.w, p, 1e-12);
    check_numbers(single.w, p, 1.5e-6);              /* ten updates of two roundings each, half an ulp of 1.5 is 6e-8 */
    check_numbers(exact.bias, without_decay, 1e-12); /* a vector: matrices alone decay */
    config.decay = DECAY_ALL;
    check_numbers(run(reference, &config, 10, 0).bias, p, 1e-12);
    device_close(reference);
    device_close(cpu);
}

static void test_adamw(void)
{
    check_adamw(OPTIM_ADAMW, 1e-8);
}

static void test_adamw_rms(void)
{
    check_adamw(OPTIM_ADAMW_RMS, 1e-6);
}

/* A large eps shows the size of the gradient: clipped to half its norm it counts half. */
static void test_clipping(void)
{
    Device *dev = device_open_reference();
    OptimConfig config = optim_defaults(OPTIM_ADAMW);
    config.eps = 1;
    config.clip_norm = 1;
    double g[COUNT], want[COUNT];
    example_gradient(g, 1);
    for (int i = 0; i < COUNT; i++) {
        double clipped = g[i] * (double)(float)(1 / (2 + 1e-6));
        want[i] = start[i] - (double)(float)1e-3 * clipped / (fabs(clipped) + 1);
    }
    check_numbers(run(dev, &config, 1, 2).w, want, 1e-12);
    for (int i = 0; i < COUNT; i++)
        want[i] = start[i] - (double)(float)1e-3 * g[i] / (fabs(g[i]) + 1);
    check_numbers(run(dev, &config, 1, 0.5).w, want, 1e-12); /* below the limit: as it is */
    config.clip_norm = 0;
    check_numbers(run(dev, &config, 1, 2).w, want, 1e-12);
    device_close(dev);
}

static void test_relative_step(void)
{
    Device *dev = device_open_reference();
    ParamStore *store = params_open(dev, specs, G_N_ELEMENTS(specs), NULL, true);
    OptimConfig config = optim_defaults(OPTIM_ADAFACTOR);
    Optimizer *opt = optimizer_open(store, &config, NULL);
    g_assert_cmpfloat(optimizer_step(opt, 3, 0.125, 0, 1), ==, 0.125);
    optimizer_close(opt);
    config.relative_step = true;
    opt = optimizer_open(store, &config, NULL);
    g_assert_cmpfloat(optimizer_step(opt, 3, 0.125, 0, 1), ==, 1e-2);
    g_assert_cmpfloat(optimizer_step(opt, 40000, 0.125, 0, 1), ==, 1. / 200);
    optimizer_close(opt);
    config.warmup_init = true;
    opt = optimizer_open(store, &config, NULL);
    g_assert_cmpfloat(optimizer_step(opt, 3, 0.125, 0, 1), ==, 3e-6);
    optimizer_close(opt);
    params_close(store);
    device_close(dev);
}

static void check_state(const OptimConfig *config, const char *const *names)
{
    Device *dev = device_open_reference();
    ParamStore *store = params_open(dev, specs, G_N_ELEMENTS(specs), NULL, true);
    Optimizer *opt = optimizer_open(store, config, NULL);
    g_assert_cmpint(optimizer_state_count(opt), ==, g_strv_length((char **)(guintptr)names));
    for (int i = 0; names[i]; i++) {
        OptimState state = optimizer_state(opt, i);
        const char *name = state.name;
        g_assert_cmpstr(name, ==, names[i]);
        bool sums = g_str_has_suffix(name, "/row") || g_str_has_suffix(name, "/col");
        g_assert_cmpint(state.rows * MAX(state.cols, 1), ==,
                        !sums                            ? COUNT
                        : g_str_has_suffix(name, "/row") ? ROWS
                                                         : COLS);
    }
    optimizer_close(opt);
    params_close(store);
    device_close(dev);
}

static void test_state(void)
{
    static const char *const adamw[] = { "layer.w/m", "layer.w/v", "layer.bias/m", "layer.bias/v", NULL };
    static const char *const factored[] = { "layer.w/row", "layer.w/col", "layer.bias/v", NULL };
    static const char *const full[] = { "layer.w/m", "layer.w/v", "layer.bias/m", "layer.bias/v", NULL };
    OptimConfig config = optim_defaults(OPTIM_ADAMW);
    check_state(&config, adamw);
    config = optim_defaults(OPTIM_ADAFACTOR);
    check_state(&config, factored);
    config.factored = false;
    config.beta1 = 0.9;
    check_state(&config, full);
}

static void check_refused(const OptimConfig *config, const char *mention)
{
    Device *dev = device_open_null();
    ParamStore *store = params_open(dev, specs, G_N_ELEMENTS(specs), NULL, true);
    g_autoptr(GError) error = NULL;
    g_assert_null(optimizer_open(store, config, &error));
    g_assert_error(error, LOAM_ERROR, LOAM_ERROR_USER);
    g_assert_nonnull(strstr(error->message, mention));
    params_close(store);
    device_close(dev);
}

static void test_errors(void)
{
    OptimConfig config = optim_defaults(OPTIM_ADAFACTOR);
    config.warmup_init = true;
    check_refused(&config, "optim.relative_step");
    config = optim_defaults(OPTIM_ADAMW);
    config.relative_step = true;
    check_refused(&config, "adafactor");
    config = optim_defaults(OPTIM_ADAMW);
    config.beta1 = -0.5;
    check_refused(&config, "optim.beta1");
    config = optim_defaults(OPTIM_ADAMW);
    config.eps = 0;
    check_refused(&config, "optim.eps");
    config = optim_defaults(OPTIM_ADAMW);
    config.min_lr = 1;
    check_refused(&config, "optim.min_lr");
}

static void test_null(void)
{
    Device *dev = device_open_null();
    ParamStore *store = params_open(dev, specs, G_N_ELEMENTS(specs), NULL, true);
    for (int kind = OPTIM_ADAMW; kind <= OPTIM_ADAMW_RMS; kind++) {
        OptimConfig config = optim_defaults((OptimKind)kind);
        Optimizer *opt = optimizer_open(store, &config, NULL);
        optimizer_step(opt, 1, 1e-3, grads_norm(store), 1);
        optimizer_close(opt);
    }
    params_close(store);
    device_close(dev);
}

static void test_options(void)
{
    const OptionGroup group = { optim_options, n_optim_options, 0, NULL };
    const OptionTable table = { &group, 1, NULL };
    OptimConfig config = { 0 };
    options_set_defaults(&table, &config);
    g_assert_cmpint(config.name, ==, OPTIM_ADAFACTOR);
    g_assert_cmpfloat(config.lr, ==, 1e-2);
    g_assert_cmpfloat(config.warmup.value, ==, 10000);
    g_assert_cmpfloat(config.beta1, ==, -1);
    g_assert_cmpint(config.min_dim_factored, ==, 128);
    g_assert_true(config.scale_parameter && config.factored && config.decay_by_lr);
    g_assert_false(config.relative_step || config.warmup_init);
    options_clear(&table, &config);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/optim/adafactor_gives_the_published_numbers", test_adafactor_reference);
    g_test_add_func("/optim/adafactor_gives_the_published_numbers_on_cpu", test_adafactor_cpu);
    g_test_add_func("/optim/adafactor_of_t5x_matches_a_plain_loop", test_adafactor_t5x);
    g_test_add_func("/optim/adafactor_of_a_rank_one_gradient_steps_by_its_sign", test_adafactor_of_rank_one);
    g_test_add_func("/optim/adamw_matches_a_plain_loop", test_adamw);
    g_test_add_func("/optim/adamw_rms_matches_a_plain_loop", test_adamw_rms);
    g_test_add_func("/optim/gradients_are_clipped_to_the_norm", test_clipping);
    g_test_add_func("/optim/relative_step_overrides_the_rate", test_relative_step);
    g_test_add_func("/optim/state_is_named_after_its_parameter", test_state);
    g_test_add_func("/optim/contradictions_are_refused", test_errors);
    g_test_add_func("/optim/null_device_takes_steps", test_null);
    g_test_add_func("/optim/options_have_their_defaults", test_options);
    return g_test_run();
}
