#include "param/store.h"
#include "reference/reference.h"

#include <math.h>
#include <stddef.h>

typedef struct View {
    Tensor a, b, both;
} View;

enum { ROWS = 500, COLS = 400 };

static ParamStore *one(Device *dev, InitKind init, double std)
{
    ParamSpec spec = { "layer.w", 0,     offsetof(View, a), -1, ROWS, COLS, SPLIT_NONE, TIE_NONE, init, std,
                       true,      false, PARAM_MATRIX,      1,  1 };
    ParamStore *store = params_open(dev, &spec, 1, NULL, false);
    params_init(store, 7);
    return store;
}

typedef struct Moments {
    double mean, std, largest, kurtosis;
} Moments;

static Moments moments(InitKind init, double std)
{
    Device *dev = device_open_reference();
    ParamStore *store = one(dev, init, std);
    Tensor w = params_get(store, 0)->w;
    double n = (double)tensor_count(w), sums[5] = { 0 }, largest = 0;
    for (int64_t i = 0; i < ROWS; i++) {
        for (int64_t j = 0; j < COLS; j++) {
            double x = *at(w, i, j);
            for (int power = 1; power <= 4; power++)
                sums[power] += pow(x, power) / n;
            largest = fmax(largest, fabs(x));
        }
    }
    params_close(store);
    device_close(dev);
    return (Moments){ sums[1], sqrt(sums[2]), largest, sums[4] / (sums[2] * sums[2]) };
}

static void test_normal(void)
{
    Moments m = moments(INIT_NORMAL, 0.05);
    g_assert_cmpfloat_with_epsilon(m.std / 0.05, 1, 0.01);
    g_assert_cmpfloat_with_epsilon(m.mean / 0.05, 0, 0.01);
    g_assert_cmpfloat_with_epsilon(m.kurtosis, 3, 0.06);
    g_assert_cmpfloat(m.largest / 0.05, >, 3.5);
}

/* Cut at two standard deviations of the uncut normal, σ = std / 0.8796; kurtosis of that is 2.365. */
static void test_truncated_normal(void)
{
    Moments m = moments(INIT_TRUNCATED_NORMAL, 0.05);
    g_assert_cmpfloat_with_epsilon(m.std / 0.05, 1, 0.01);
    g_assert_cmpfloat_with_epsilon(m.mean / 0.05, 0, 0.01);
    g_assert_cmpfloat_with_epsilon(m.kurtosis, 2.365, 0.03);
    g_assert_cmpfloat(m.largest, <=, 2 * 0.05 / 0.87962566);
    g_assert_cmpfloat(m.largest, >, 1.99 * 0.05 / 0.87962566);
}

/* Of half-width a: standard deviation a/√3, kurtosis 9/5. */
static void test_uniform(void)
{
    Moments m = moments(INIT_UNIFORM, 0.05);
    g_assert_cmpfloat_with_epsilon(m.std * sqrt(3) / 0.05, 1, 0.01);
    g_assert_cmpfloat_with_epsilon(m.mean / 0.05, 0, 0.01);
    g_assert_cmpfloat_with_epsilon(m.kurtosis, 1.8, 0.02);
    g_assert_cmpfloat(m.largest, <=, 0.05);
}

static void test_constants(void)
{
    Moments zeros = moments(INIT_ZEROS, 1), ones = moments(INIT_CONSTANT, 1);
    g_assert_cmpfloat(zeros.largest, ==, 0);
    g_assert_cmpfloat(ones.largest, ==, 1);
    g_assert_cmpfloat_with_epsilon(ones.mean, 1, 1e-9);
}

/* Neighbours in a row and in a column are uncorrelated. */
static void check_independence(InitKind init)
{
    Device *dev = device_open_reference();
    ParamStore *store = one(dev, init, 1);
    Tensor w = params_get(store, 0)->w;
    double right = 0, below = 0;
    for (int64_t i = 0; i + 1 < ROWS; i++) {
        for (int64_t j = 0; j + 1 < COLS; j++) {
            right += *at(w, i, j) * *at(w, i, j + 1) / (ROWS * COLS);
            below += *at(w, i, j) * *at(w, i + 1, j) / (ROWS * COLS);
        }
    }
    g_assert_cmpfloat_with_epsilon(right, 0, 0.01);
    g_assert_cmpfloat_with_epsilon(below, 0, 0.01);
    params_close(store);
    device_close(dev);
}

static void test_elements_are_independent(void)
{
    check_independence(INIT_NORMAL);
    check_independence(INIT_TRUNCATED_NORMAL); /* draws again when it lands outside: not the neighbour's number */
}

static const ParamSpec forwards[] = {
    { "a.w", 0, offsetof(View, a), offsetof(View, both), 30, 8, SPLIT_NONE, TIE_NONE, INIT_TRUNCATED_NORMAL, 0.1, true,
      false, PARAM_MATRIX, 1, 1 },
    { "b.w", 0, offsetof(View, b), offsetof(View, both), 20, 8, SPLIT_NONE, TIE_NONE, INIT_NORMAL, 0.1, true, false,
      PARAM_MATRIX, 1, 1 },
};
static const ParamSpec backwards[] = {
    { "b.w", 0, offsetof(View, b), -1, 20, 8, SPLIT_NONE, TIE_NONE, INIT_NORMAL, 0.1, true, false, PARAM_MATRIX, 1, 1 },
    { "other.w", 1, offsetof(View, a), -1, 9, 0, SPLIT_NONE, TIE_NONE, INIT_NORMAL, 0.1, true, false, PARAM_MATRIX, 1,
      1 },
    { "a.w", 2, offsetof(View, a), -1, 30, 8, SPLIT_NONE, TIE_NONE, INIT_TRUNCATED_NORMAL, 0.1, true, false,
      PARAM_MATRIX, 1, 1 },
};

static double largest_difference(ParamStore *x, ParamStore *y, const char *name)
{
    Tensor a = params_find(x, name)->w, b = params_find(y, name)->w;
    double largest = 0;
    for (int64_t i = 0; i < tensor_rows(a); i++)
        for (int64_t j = 0; j < tensor_cols(a); j++)
            largest = fmax(largest, fabs(*at(a, i, j) - *at(b, i, j)));
    return largest;
}

/* The same names in another order, in other buckets, not fused, are filled alike; another seed or name is not. */
static void test_values_follow_the_name(void)
{
    Device *dev = device_open_reference();
    ParamStore *x = params_open(dev, forwards, G_N_ELEMENTS(forwards), NULL, false);
    ParamStore *y = params_open(dev, backwards, G_N_ELEMENTS(backwards), NULL, false);
    params_init(x, 3);
    params_init(y, 3);
    g_assert_cmpfloat(largest_difference(x, y, "a.w"), ==, 0);
    g_assert_cmpfloat(largest_difference(x, y, "b.w"), ==, 0);
    g_assert_cmpfloat(*at(params_find(x, "b.w")->w, 0, 0), !=, *at(params_find(y, "other.w")->w, 0, 0));
    params_init(y, 4);
    g_assert_cmpfloat(largest_difference(x, y, "a.w"), >, 0.01);
    params_close(x);
    params_close(y);
    device_close(dev);
}

/* Drawn in double and stored rounded, whatever the number of threads. */
static void test_devices_agree(void)
{
    Device *dev = device_open_reference(), *cpu = device_open_cpu(2, precision_uniform(DT_F32));
    ParamStore *x = params_open(dev, forwards, G_N_ELEMENTS(forwards), NULL, false);
    ParamStore *y = params_open(cpu, forwards, G_N_ELEMENTS(forwards), NULL, false);
    params_init(x, 3);
    params_init(y, 3);
    for (int p = 0; p < (int)G_N_ELEMENTS(forwards); p++) {
        const double *exact = params_get(x, p)->w.p;
        const float *rounded = params_get(y, p)->w.p;
        for (int64_t i = 0; i < tensor_count(params_get(x, p)->w); i++)
            g_assert_true(rounded[i] == (float)exact[i]);
    }
    params_close(x);
    params_close(y);
    device_close(dev);
    device_close(cpu);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/params_init/normal_has_its_moments", test_normal);
    g_test_add_func("/params_init/truncated_normal_has_its_moments", test_truncated_normal);
    g_test_add_func("/params_init/uniform_has_its_moments", test_uniform);
    g_test_add_func("/params_init/zeros_and_ones", test_constants);
    g_test_add_func("/params_init/elements_are_independent", test_elements_are_independent);
    g_test_add_func("/params_init/values_follow_the_name", test_values_follow_the_name);
    g_test_add_func("/params_init/devices_agree", test_devices_agree);
    return g_test_run();
}
