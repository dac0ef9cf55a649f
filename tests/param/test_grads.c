#include "param/store.h"

#include <math.h>
#include <stddef.h>
#include <stdlib.h>

typedef struct View {
    Tensor a, b;
} View;

static const ParamSpec specs[] = {
    { "a", 0, offsetof(View, a), -1, 4, 3, SPLIT_NONE, TIE_NONE, INIT_CONSTANT, 1, true, false, PARAM_MATRIX, 1, 1 },
    { "idle", 1, offsetof(View, a), -1, 5, 0, SPLIT_NONE, TIE_NONE, INIT_CONSTANT, 1, false, false, PARAM_MATRIX, 1,
      1 },
    { "frozen", 2, offsetof(View, a), -1, 5, 0, SPLIT_NONE, TIE_NONE, INIT_CONSTANT, 1, false, true, PARAM_MATRIX, 1,
      1 },
    { "half.frozen", 3, offsetof(View, a), -1, 5, 0, SPLIT_NONE, TIE_NONE, INIT_CONSTANT, 1, false, true, PARAM_MATRIX,
      1, 1 },
    { "half", 3, offsetof(View, b), -1, 6, 0, SPLIT_NONE, TIE_NONE, INIT_CONSTANT, 1, false, false, PARAM_MATRIX, 1,
      1 },
};
static const int uses[] = { 3, 0, 2, 1 };

static int order[8], n_ready;

static void note_ready(void *context, int bucket)
{
    (void)context;
    order[n_ready++] = bucket;
}

static ParamStore *open_store(Device *dev)
{
    ParamStore *store = params_open(dev, specs, G_N_ELEMENTS(specs), uses, true);
    grads_on_ready(store, note_ready, NULL);
    n_ready = 0;
    return store;
}

static void contribute(ParamStore *store, int bucket, int n)
{
    View g = { 0 };
    for (int i = 0; i < n; i++) {
        grads_acquire(store, bucket, &g);
        if (tensor_present(g.b))
            op_fill(store->dev, g.b, 1);
        if (tensor_present(g.a))
            op_fill(store->dev, g.a, 1);
        grads_ready(store, bucket);
    }
}

static void fires_once_after_the_last_contribution(void)
{
    Device *dev = device_open_cpu(1, precision_uniform(DT_F32));
    ParamStore *store = open_store(dev);
    for (int step = 0; step < 2; step++) {
        grads_begin(store, 2);
        contribute(store, 2, 4);
        contribute(store, 0, 5);
        contribute(store, 3, 1);
        g_assert_cmpint(n_ready, ==, 2 * step);
        contribute(store, 3, 1);
        contribute(store, 0, 1);
        g_assert_cmpint(n_ready, ==, 2 * step + 2);
        g_assert_cmpint(order[2 * step], ==, 3);
        g_assert_cmpint(order[2 * step + 1], ==, 0);
        g_assert_cmpfloat(grads_norm(store), ==, sqrt(12 + 6));
    }
    params_close(store);
    device_close(dev);
}

static void a_step_that_is_given_up_leaves_nothing(void)
{
    Device *dev = device_open_cpu(1, precision_uniform(DT_F32));
    ParamStore *store = open_store(dev);
    grads_begin(store, 2);
    contribute(store, 0, 4);
    grads_begin(store, 1);
    contribute(store, 0, 3);
    contribute(store, 3, 1);
    g_assert_cmpint(n_ready, ==, 2);
    g_assert_cmpfloat(grads_norm(store), ==, sqrt(12 + 6));
    params_close(store);
    device_close(dev);
}

static void frozen_parameters_have_no_gradients(void)
{
    Device *dev = device_open_cpu(1, precision_uniform(DT_F32));
    ParamStore *store = open_store(dev);
    View w = { 0 }, g = { 0 };
    params_acquire(store, 3, &w);
    grads_acquire(store, 3, &g);
    g_assert_true(tensor_present(w.a) && tensor_present(w.b) && !tensor_present(g.a) && tensor_present(g.b));
    ParamBytes bytes = params_bytes(store);
    g_assert_cmpuint(bytes.weights, ==, sizeof(float) * (12 + 5 + 5 + 5 + 6));
    g_assert_cmpuint(bytes.gradients, ==, sizeof(float) * (12 + 5 + 6));
    g_assert_cmpuint(bytes.masters, ==, 0);
    params_close(store);
    device_close(dev);
}

static void one_contribution_too_many(ParamStore *store)
{
    contribute(store, 0, 4);
}

static void one_contribution_too_few(ParamStore *store)
{
    contribute(store, 0, 2);
    contribute(store, 3, 1);
    grads_norm(store);
}

static const struct {
    const char *path;
    void (*call)(ParamStore *store);
    const char *says;
} refused[] = {
    { "/grads/refuses_a_contribution_too_many", one_contribution_too_many, "*to bucket 0 after its last one*" },
    { "/grads/refuses_a_contribution_too_few", one_contribution_too_few, "*bucket 0 still awaits 1*" },
};

static void is_refused(const void *data)
{
    size_t i = (size_t)GPOINTER_TO_UINT(data);
    if (g_test_subprocess()) {
        Device *dev = device_open_cpu(1, precision_uniform(DT_F32));
        ParamStore *store = open_store(dev);
        grads_begin(store, 1);
        refused[i].call(store);
        exit(0);
    }
    g_test_trap_subprocess(NULL, 0, G_TEST_SUBPROCESS_DEFAULT);
    g_test_trap_assert_failed();
    g_test_trap_assert_stderr(refused[i].says);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/grads/a_bucket_is_ready_once_after_its_last_contribution",
                    fires_once_after_the_last_contribution);
    g_test_add_func("/grads/a_step_that_is_given_up_leaves_nothing", a_step_that_is_given_up_leaves_nothing);
    g_test_add_func("/grads/frozen_parameters_have_no_gradients", frozen_parameters_have_no_gradients);
    for (guint i = 0; i < G_N_ELEMENTS(refused); i++)
        g_test_add_data_func(refused[i].path, GUINT_TO_POINTER(i), is_refused);
    return g_test_run();
}
