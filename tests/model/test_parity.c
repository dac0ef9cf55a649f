/* What Hugging Face computes on the same weights and samples, stored in tests/parity by tools/make-parity.py. */
#include "format/safetensors.h"
#include "model/hf.h"

#include <jansson.h>
#include <math.h>
#include <string.h>

#define FIXTURES LOAM_SOURCE_DIR "/tests/parity/"
#define MAX_IDS  256

/* Distances from the truth in double precision: logits relative to their maximum, loss relative, each gradient
 * relative to its norm. Hugging Face's own f32 lies 1.4e-6, 8e-8 and 4.7e-6 from it. */
typedef struct Tolerance {
    double logits, loss, grads;
} Tolerance;

static const Tolerance f32_tolerance = { 1e-5, 1e-6, 1e-5 };
static const Tolerance f64_tolerance = { 2e-7, 5e-8, 2e-7 }; /* f32: the stored truth, the scale of the logits */

typedef struct Case {
    const char *title, *folder; /* the folder of weights */
    const char *expected;       /* the folder of batch.json and expected.safetensors */
    const char *device;         /* "cpu", "avx2", "reference" */
    bool recompute, split;      /* split: every sample a batch of its own, gradients accumulated */
} Case;

static const Case cases[] = {
    { "/parity/t5_v1_0_on_cpu", "t5-v1.0", "t5-v1.0", "cpu", false, false },
    { "/parity/t5_v1_1_on_cpu", "t5-v1.1", "t5-v1.1", "cpu", false, false },
    { "/parity/t5_v1_0_on_avx2", "t5-v1.0", "t5-v1.0", "avx2", false, false },
    { "/parity/t5_v1_1_on_avx2", "t5-v1.1", "t5-v1.1", "avx2", false, false },
    { "/parity/t5_v1_0_on_reference", "t5-v1.0", "t5-v1.0", "reference", false, false },
    { "/parity/t5_v1_1_on_reference", "t5-v1.1", "t5-v1.1", "reference", false, false },
    { "/parity/t5_v1_0_written_by_transformers_5", "t5-v1.0-tf5", "t5-v1.0", "cpu", false, false },
    { "/parity/t5_v1_1_written_by_transformers_5", "t5-v1.1-tf5", "t5-v1.1", "cpu", false, false },
    { "/parity/t5_v1_1_in_shards_with_aliases", "t5-v1.1-sharded", "t5-v1.1", "cpu", false, false },
    { "/parity/t5_v1_0_with_recompute", "t5-v1.0", "t5-v1.0", "cpu", true, false },
    { "/parity/t5_v1_1_over_accumulated_batches", "t5-v1.1", "t5-v1.1", "cpu", false, true },
};

static Device *open_device(const char *name)
{
    if (strcmp(name, "reference") == 0)
        return device_open_reference();
    if (strcmp(name, "avx2") == 0)
        g_setenv("LOAM_CPU_ISA", name, true);
    Device *dev = device_open_cpu(2);
    g_unsetenv("LOAM_CPU_ISA");
    return dev;
}

static json_t *read_samples(const char *folder)
{
    g_autofree char *path = g_build_filename(FIXTURES, folder, "batch.json", NULL);
    json_t *root = json_load_file(path, 0, NULL);
    g_assert_nonnull(root);
    json_t *samples = json_incref(json_object_get(root, "samples"));
    json_decref(root);
    return samples;
}

static int64_t read_ids(const json_t *array, int32_t *ids)
{
    size_t n = json_array_size(array);
    g_assert_cmpuint(n, <=, MAX_IDS);
    for (size_t i = 0; i < n; i++)
        ids[i] = (int32_t)json_integer_value(json_array_get(array, i));
    return (int64_t)n;
}

static void add_sample(Batch *batch, const json_t *samples, size_t index)
{
    const json_t *sample = json_array_get(samples, index);
    int32_t inputs[MAX_IDS], targets[MAX_IDS];
    int64_t n_inputs = read_ids(json_object_get(sample, "input_ids"), inputs);
    int64_t n_targets = read_ids(json_object_get(sample, "target_ids"), targets);
    batch_add(batch, (int64_t)index, inputs, n_inputs, targets, n_targets, 0);
}

static float *read_expected(const SafeTensors *expected, const char *name, int64_t n)
{
    GError *error = NULL;
    const SafeTensor *tensor = safetensors_find(expected, name);
    g_assert_nonnull(tensor);
    g_assert_cmpint((int64_t)tensor->bytes, ==, n * 4);
    float *values = g_new(float, (gsize)n);
    safetensors_read_f32(tensor, 0, n, values, &error);
    g_assert_no_error(error);
    return values;
}

static double element(Tensor t, int64_t i)
{
    int64_t cols = tensor_cols(t), at = i / cols * t.ld + i % cols;
    return t.dtype == DT_F64 ? ((const double *)t.p)[at] : (double)((const float *)t.p)[at];
}

static double relative_to_norm(Tensor t, const float *truth)
{
    double away = 0, norm = 0;
    for (int64_t i = 0; i < tensor_count(t); i++) {
        double difference = element(t, i) - (double)truth[i];
        away += difference * difference;
        norm += (double)truth[i] * (double)truth[i];
    }
    return sqrt(away / norm);
}

static void check_logits(Model *model, const Batch *batch, const SafeTensors *expected, double tolerance)
{
    int64_t vocab = model_config(model)->vocab, n = vocab * batch->dec.n_used;
    g_autofree float *logits = g_new0(float, (gsize)(vocab * batch->dec.n_rows));
    g_autofree float *truth = read_expected(expected, "logits", n);
    double away = 0, largest = 0;
    model_logits(model, batch, logits);
    for (int64_t i = 0; i < n; i++) {
        away = fmax(away, fabs((double)logits[i] - (double)truth[i]));
        largest = fmax(largest, fabs((double)truth[i]));
        g_assert_true(isfinite(logits[i]));
    }
    g_test_message("logits %.1e from the truth", away / largest);
    g_assert_cmpfloat(away / largest, <, tolerance);
}

static void check_loss(const LossSums *sums, const SafeTensors *expected, double tolerance)
{
    const SafeTensor *tensor = safetensors_find(expected, "loss");
    double truth;
    g_assert_nonnull(tensor);
    g_assert_cmpstr(tensor->dtype, ==, "F64");
    memcpy(&truth, tensor->data, sizeof truth);
    double away = fabs(sums->loss / sums->weight / truth - 1);
    g_test_message("loss %.1e from the truth", away);
    g_assert_cmpfloat(away, <, tolerance);
    g_assert_cmpfloat(sums->loss, ==, sums->nll);
}

static void check_grads(Model *model, const SafeTensors *expected, double tolerance)
{
    ParamStore *params = model_params(model);
    double worst = 0;
    for (int i = 0; i < params_count(params); i++) {
        const Param *param = params_get(params, i);
        g_autofree char *name = hf_tensor_name(param->spec.name), *key = g_strconcat("grad.", name, NULL);
        g_autofree float *truth = read_expected(expected, key, tensor_count(param->g));
        double away = relative_to_norm(param->g, truth);
        if (!(away < tolerance))
            g_error("the gradient of %s is %.1e of its norm from the truth", name, away);
        worst = fmax(worst, away);
    }
    g_test_message("gradients at most %.1e of their norm from the truth", worst);
    g_assert_cmpint(params_count(params) + 2, ==, safetensors_count(expected));
}

static void add_loss(const Case *c, Model *model, Batch *batch, const json_t *samples, const ModelLoss *loss,
                     LossSums *sums)
{
    if (!c->split) {
        model_loss(model, batch, loss, sums);
        return;
    }
    for (size_t i = 0; i < json_array_size(samples); i++) {
        batch_clear(batch);
        add_sample(batch, samples, i);
        model_loss(model, batch, loss, sums);
    }
}

static void matches_hugging_face(gconstpointer data)
{
    const Case *c = data;
    GError *error = NULL;
    Device *dev = open_device(c->device);
    if (strcmp(c->device, "avx2") == 0)
        g_assert_cmpstr(device_isa(dev), ==, "avx2");
    const Tolerance *tolerance = dev->real == DT_F64 ? &f64_tolerance : &f32_tolerance;
    g_autofree char *folder = g_build_filename(FIXTURES, c->folder, NULL);
    g_autofree char *truth = g_build_filename(FIXTURES, c->expected, "expected.safetensors", NULL);
    SafeTensors *expected = safetensors_open(truth, &error);
    g_assert_no_error(error);
    Model *model = hf_import(dev, folder, true, &error);
    g_assert_no_error(error);

    json_t *samples = read_samples(c->expected);
    int32_t n = (int32_t)json_array_size(samples);
    Batch *batch = batch_new(n, 160, 32);
    for (int32_t i = 0; i < n; i++)
        add_sample(batch, samples, (size_t)i);
    ModelLoss loss = { .n_targets = (double)batch->n_targets, .grad = true, .recompute = c->recompute };
    model_reserve(model, n, 160, 32, &loss, NULL, &error);
    g_assert_no_error(error);
    check_logits(model, batch, expected, tolerance->logits);
    LossSums sums = { 0 };
    grads_begin(model_params(model));
    add_loss(c, model, batch, samples, &loss, &sums);
    check_loss(&sums, expected, tolerance->loss);
    check_grads(model, expected, tolerance->grads);

    batch_free(batch);
    json_decref(samples);
    model_close(model);
    safetensors_close(expected);
    device_close(dev);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    for (size_t i = 0; i < G_N_ELEMENTS(cases); i++)
        g_test_add_data_func(cases[i].title, &cases[i], matches_hugging_face);
    return g_test_run();
}
