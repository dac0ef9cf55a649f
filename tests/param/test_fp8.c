/* Delayed scaling against the rule of Transformer Engine (T5X's recipe: margin 0, largest of the history), worked out
 * by hand: scale = largest number of the format / largest amax of the history. */
#include "param/fp8.h"

#include <float.h>
#include <glib.h>
#include <math.h>
#include <string.h>

enum { LAYERS = 3, LAYER = 1 };

static Device *open_device(Fp8Scaling scaling, int32_t margin, int32_t history)
{
    Precision precision = { .compute = DT_BF16,
                            .residual = DT_F32,
                            .grad = DT_F32,
                            .master = DT_F32,
                            .state = DT_F32,
                            .fp8 = { scaling, margin, history } };
    return device_open_cpu(1, precision);
}

static double number(Device *dev, Tensor t)
{
    float value;
    tensor_read(dev, &value, DT_F32, t);
    return (double)value;
}

/* A microbatch in which the factor of a layer has these numbers, the largest of which is `amax`. */
static void cast(Device *dev, Fp8Scale scale, float amax, bool e5m2)
{
    float numbers[3] = { -amax, amax / 4, 0 };
    op_fp8_cast(dev, NO_TENSOR, NO_TENSOR, scale.amax, tensor_matrix(numbers, DT_F32, 1, 3), scale.scale, e5m2);
    device_synchronise(dev);
}

typedef struct Script {
    int32_t margin, history;
    int n;
    float amaxes[12], decisive[12]; /* of each microbatch; the amax that its update goes by, 0: the scale stays */
} Script;

static const Script scripts[] = {
    { 0, 4, 9, { 2, 8, 1, 1, 1, 1, 1, 0, 0 }, { 2, 8, 8, 8, 8, 1, 1, 1, 1 } },
    { 0, 3, 7, { 0, 0, 5, 0, 0, 0, 0 }, { 0, 0, 5, 5, 5, 0, 0 } },
    { 2, 1, 4, { 3, 7, 0, 1e-3f }, { 3, 7, 0, 1e-3f } },
    { 0, 3, 5, { 4, INFINITY, 2, 2, 2 }, { 4, 0, 0, 0, 2 } }, /* not finite: as long as it is in the history */
    { 0, 3, 5, { 4, NAN, 2, 2, 2 }, { 4, 0, 0, 0, 2 } },
};

static void run_script(const Script *script, Fp8Factor factor)
{
    Device *dev = open_device(FP8_DELAYED, script->margin, script->history);
    Fp8Scales *scales = fp8_open(dev, LAYERS);
    const double largest = factor == FP8_GRADIENT ? 57344 : 448;
    double wanted = 1;
    for (int i = 0; i < script->n; i++) {
        Fp8Scale scale = fp8_scale(scales, LAYER, factor);
        cast(dev, scale, script->amaxes[i], factor == FP8_GRADIENT);
        g_assert_cmpfloat(number(dev, scale.scale), ==, wanted); /* this microbatch has the scale of those before */
        fp8_update(scales);
        if (script->decisive[i] > 0)
            wanted = (double)(float)(largest / (double)script->decisive[i]) / ldexp(1, script->margin);
        g_assert_cmpfloat(number(dev, scale.scale), ==, wanted);
        g_assert_cmpfloat(number(dev, scale.inverse), ==, (double)(float)(1 / wanted));
        g_assert_cmpfloat(number(dev, fp8_scale(scales, LAYER + 1, factor).scale), ==, 1);
        g_assert_cmpfloat(number(dev, fp8_scale(scales, LAYER, (factor + 1) % FP8_FACTORS).scale), ==, 1);
    }
    fp8_close(scales);
    device_close(dev);
}

static void test_scripts(void)
{
    for (size_t i = 0; i < G_N_ELEMENTS(scripts); i++)
        for (int factor = 0; factor < FP8_FACTORS; factor++)
            run_script(&scripts[i], (Fp8Factor)factor);
}

/* An amax so small that its scale is infinite. */
static void test_smallest(void)
{
    Device *dev = open_device(FP8_DELAYED, 0, 2);
    Fp8Scales *scales = fp8_open(dev, LAYERS);
    cast(dev, fp8_scale(scales, LAYER, FP8_GRADIENT), 1e-37f, true);
    fp8_update(scales);
    g_assert_cmpfloat(number(dev, fp8_scale(scales, LAYER, FP8_GRADIENT).scale), ==, (double)FLT_MAX);
    fp8_close(scales);
    device_close(dev);
}

/* n microbatches with amaxes from `first` on. */
static void run(Device *dev, Fp8Scales *scales, int first, int n)
{
    for (int i = first; i < first + n; i++) {
        for (int factor = 0; factor < FP8_FACTORS; factor++)
            for (int layer = 0; layer < LAYERS; layer++)
                cast(dev, fp8_scale(scales, layer, (Fp8Factor)factor), (float)((i * 7 + layer + 3 * factor) % 11 + 1),
                     factor == FP8_GRADIENT);
        fp8_update(scales);
    }
}

static void assert_alike(Device *dev, const Fp8Scales *a, const Fp8Scales *b)
{
    for (int i = 0; i < fp8_state_count(a); i++) {
        int64_t shape[2];
        fp8_state_shape(a, i, shape);
        size_t n = (size_t)(shape[0] * MAX(shape[1], 1));
        g_autofree float *x = g_new(float, n), *y = g_new(float, n);
        fp8_read(a, i, 0, shape[0], x);
        fp8_read(b, i, 0, shape[0], y);
        g_assert_true(memcmp(x, y, n * sizeof *x) == 0);
    }
    for (int factor = 0; factor < FP8_FACTORS; factor++)
        for (int layer = 0; layer < LAYERS; layer++)
            g_assert_cmpfloat(number(dev, fp8_scale(a, layer, (Fp8Factor)factor).inverse), ==,
                              number(dev, fp8_scale(b, layer, (Fp8Factor)factor).inverse));
}

static void copy_states(Fp8Scales *to, const Fp8Scales *from)
{
    for (int i = 0; i < fp8_state_count(from); i++) {
        int64_t shape[2];
        fp8_state_shape(from, i, shape);
        g_autofree float *numbers = g_new(float, (gsize)(shape[0] * MAX(shape[1], 1)));
        fp8_read(from, i, 0, shape[0], numbers);
        fp8_write(to, i, NULL, numbers);
    }
}

static void test_state(void)
{
    Device *dev = open_device(FP8_DELAYED, 0, 5);
    Fp8Scales *whole = fp8_open(dev, LAYERS), *resumed = fp8_open(dev, LAYERS);
    run(dev, whole, 0, 8);
    copy_states(resumed, whole);
    run(dev, whole, 8, 6);
    run(dev, resumed, 8, 6);
    assert_alike(dev, whole, resumed);
    fp8_close(whole);
    fp8_close(resumed);
    device_close(dev);
}

static void test_undo(void)
{
    Device *dev = open_device(FP8_DELAYED, 0, 5);
    Fp8Scales *straight = fp8_open(dev, LAYERS), *abandoned = fp8_open(dev, LAYERS);
    run(dev, straight, 0, 7);
    run(dev, abandoned, 0, 7);
    fp8_keep(abandoned);
    run(dev, abandoned, 20, 2);
    fp8_undo(abandoned);
    assert_alike(dev, straight, abandoned);
    fp8_close(straight);
    fp8_close(abandoned);
    device_close(dev);
}

static void test_current(void)
{
    Device *dev = open_device(FP8_CURRENT, 0, 5);
    Fp8Scales *scales = fp8_open(dev, LAYERS);
    g_assert_cmpint(fp8_state_count(scales), ==, 0);
    g_assert_false(tensor_present(fp8_scale(scales, 0, FP8_INPUT).amax));
    fp8_update(scales);
    fp8_close(scales);
    device_close(dev);
}

/* Rank 0 computes layer 0 and rank 1 layer 1, as stages of a pipeline do; both compute layer 2. */
static void share_step(Comm *ranks, void *context)
{
    static const float amaxes[2][2][LAYERS] = { { { 0.5F, 0, 2 }, { 0.25F, 0, 4 } },
                                                { { 0, 0.125F, 8 }, { 0, 4, 1 } } };
    static const float largest[LAYERS] = { 0.5F, 4, 8 };
    const int rank = comm_rank(ranks), history = GPOINTER_TO_INT(context);
    Device *dev = open_device(FP8_DELAYED, 0, history);
    Fp8Scales *scales = fp8_open(dev, LAYERS);
    fp8_compute(scales, rank, 1);
    fp8_compute(scales, 2, 1);
    for (int m = 0; m < 2; m++) {
        for (int layer = 0; layer < LAYERS; layer++)
            if (layer == rank || layer == 2)
                cast(dev, fp8_scale(scales, layer, FP8_INPUT), amaxes[rank][m][layer], false);
        fp8_update(scales);
    }
    fp8_share(scales, ranks, 2);
    for (int layer = 0; layer < LAYERS; layer++) /* with a history of 1, each rank's last microbatch decides */
        g_assert_cmpfloat(number(dev, fp8_scale(scales, layer, FP8_INPUT).scale), ==,
                          448 / (double)(history > 1 || layer == 1 ? largest[layer]
                                         : layer == 0              ? 0.25F
                                                                   : 4));
    fp8_close(scales);
    device_close(dev);
}

static void test_share(void)
{
    comm_run_threads(2, 20, share_step, GINT_TO_POINTER(5));
    comm_run_threads(2, 20, share_step, GINT_TO_POINTER(1));
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/fp8/scales_follow_the_largest_amax_of_the_history", test_scripts);
    g_test_add_func("/fp8/an_infinite_scale_is_the_largest_f32", test_smallest);
    g_test_add_func("/fp8/a_state_that_was_read_goes_on_alike", test_state);
    g_test_add_func("/fp8/an_abandoned_step_leaves_no_trace", test_undo);
    g_test_add_func("/fp8/current_scaling_has_no_state", test_current);
    g_test_add_func("/fp8/ranks_share_the_scales_of_the_layers_that_they_compute", test_share);
    return g_test_run();
}
