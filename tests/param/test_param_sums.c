/* Sums of weights and gradients, of one rank and of several that divide them. */
#include "param/param_sums.h"

#include "param/store.h"

typedef struct View {
    Tensor a, b;
} View;

static const ParamSpec specs[] = {
    { "a", 0, offsetof(View, a), -1, 4, 3, SPLIT_NONE, TIE_NONE, INIT_CONSTANT, 1, true, false, PARAM_MATRIX, 1, 1 },
    { "a.bias", 0, offsetof(View, b), -1, 5, 0, SPLIT_NONE, TIE_NONE, INIT_CONSTANT, 1, false, false, PARAM_MATRIX, 1,
      1 },
    { "frozen", 1, offsetof(View, a), -1, 7, 0, SPLIT_NONE, TIE_NONE, INIT_CONSTANT, 1, false, true, PARAM_MATRIX, 1,
      1 },
};
static const int uses[] = { 1, 1 };

static void fill(ParamStore *store)
{
    View g = { 0 };
    params_init(store, 1);
    grads_begin(store, 1);
    grads_acquire(store, 0, &g);
    op_fill(store->dev, g.a, 2);
    op_fill(store->dev, g.b, 0);
    grads_ready(store, 0);
    grads_wait(store);
}

static void one_rank_sums_everything(void)
{
    Device *dev = device_open_cpu(1, precision_uniform(DT_F32));
    ParamStore *store = params_open(dev, specs, G_N_ELEMENTS(specs), uses, true);
    fill(store);
    ParamSums a = { 0 }, bias = { 0 }, frozen = { 0 };
    param_sums_add(store, 0, &a);
    param_sums_add(store, 1, &bias);
    param_sums_add(store, 2, &frozen);
    g_assert_cmpfloat(a.weights, ==, 12);
    g_assert_cmpfloat(a.gradients, ==, 48);
    g_assert_cmpfloat(a.zeros, ==, 0);
    g_assert_cmpfloat(bias.weights, ==, 5);
    g_assert_cmpfloat(bias.gradients, ==, 0);
    g_assert_cmpfloat(bias.zeros, ==, 5);
    g_assert_cmpfloat(frozen.weights, ==, 7);
    g_assert_cmpfloat(frozen.gradients, ==, 0);
    g_assert_cmpfloat(frozen.zeros, ==, 0); /* it has no gradients */
    params_close(store);
    device_close(dev);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
#define CASE(name) g_test_add_func("/param_sums/" #name, name)
    CASE(one_rank_sums_everything);
    return g_test_run();
}
