/* What Hugging Face computes on the same weights and samples, stored in tests/parity by tools/make-parity.py. */
#include "architectures.h"
#include "expected.h"
#include "model/hf/adapter.h"
#include "model/hf/config_json.h"
#include "model/hf/hf.h"
#include "param/store.h"
#include "under_avx2.h"

#include <jansson.h>
#include <math.h>
#include <string.h>

#define MAX_IDS 256

/* Distances from the truth in double precision: logits relative to their maximum, loss relative, each gradient
 * relative to its norm. Hugging Face's own f32 lies 1.4e-6, 8e-8 and 4.7e-6 from it. */
typedef struct Tolerance {
    double logits, loss, grads;
} Tolerance;

static const Tolerance f32_tolerance = { 1e-5, 1e-6, 1e-5 };
/* f32: the stored truth, the scales of scores and logits. */
static const Tolerance f64_tolerance = { 2e-7, 5e-8, 5e-7 };

typedef struct Case {
    char *folder, *expected; /* the folder of weights; that of batch.json and expected.safetensors */
    bool reference;          /* on the reference device, not the cpu */
    bool recompute, split;   /* split: every sample a batch of its own, gradients accumulated */
} Case;

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

/* A decoder's sample predicts each token from those before it; an encoder's has labels, -100 where no loss falls. */
static void add_sequence(Batch *batch, const json_t *sample, size_t index)
{
    int32_t ids[MAX_IDS], targets[MAX_IDS], segments[MAX_IDS] = { 0 };
    float weights[MAX_IDS];
    const json_t *labels = json_object_get(sample, "labels"), *order = json_object_get(sample, "order");
    int64_t n = read_ids(json_object_get(sample, "input_ids"), ids) - (labels ? 0 : 1);
    read_ids(json_object_get(sample, "segments"), segments);
    if (labels)
        read_ids(labels, targets);
    for (int64_t i = 0; i < n; i++) {
        if (labels == NULL)
            targets[i] = ids[i + 1];
        weights[i] = targets[i] >= 0;
        targets[i] = MAX(targets[i], 0);
    }
    batch_add_sequence(batch, &(BatchSequence){ .sample = (int64_t)index,
                                                .n = n,
                                                .ids = ids,
                                                .targets = targets,
                                                .weights = weights,
                                                .token_types = segments,
                                                .label = order ? (int32_t)json_integer_value(order) : -1 });
}

static void add_sample(Batch *batch, const json_t *samples, size_t index)
{
    const json_t *sample = json_array_get(samples, index), *target_ids = json_object_get(sample, "target_ids");
    if (target_ids == NULL) {
        add_sequence(batch, sample, index);
        return;
    }
    int32_t inputs[MAX_IDS], targets[MAX_IDS];
    int64_t n_inputs = read_ids(json_object_get(sample, "input_ids"), inputs);
    int64_t n_targets = read_ids(target_ids, targets);
    batch_add(batch, (int64_t)index, inputs, n_inputs, targets, n_targets, 0);
}

static double element(Tensor t, int64_t i)
{
    int64_t cols = tensor_cols(t), at = i / cols * t.ld + i % cols;
    return t.dtype == DT_F64 ? ((const double *)t.p)[at] : (double)((const float *)t.p)[at];
}

/* The distance of t from the truth, and the norm of the truth. */
static double distance(Tensor t, const float *truth, double *norm)
{
    double away = 0, square = 0;
    for (int64_t i = 0; i < tensor_count(t); i++) {
        double difference = element(t, i) - (double)truth[i];
        away += difference * difference;
        square += (double)truth[i] * (double)truth[i];
    }
    *norm = sqrt(square);
    return sqrt(away);
}

/* The truth has the rows on which loss falls. */
static void check_logits(Model *model, const Batch *batch, const TensorFile *expected, double tolerance)
{
    const TokenStream *rows = batch_loss_stream(batch);
    int64_t vocab = model_config(model)->vocab, row = 0;
    g_autofree float *logits = g_new0(float, (gsize)(vocab * rows->max_tokens));
    g_autofree float *truth = read_expected(expected, "logits", vocab * batch->n_targets);
    double away = 0, largest = 0;
    model_logits(model, batch, logits);
    for (int64_t n = 0; n < rows->n_tokens; n++) {
        for (int64_t v = 0; v < vocab && batch->weights[n] > 0; v++) {
            double ours = (double)logits[n * vocab + v], theirs = (double)truth[row * vocab + v];
            g_assert_true(isfinite(ours));
            away = fmax(away, fabs(ours - theirs));
            largest = fmax(largest, fabs(theirs));
        }
        row += batch->weights[n] > 0;
    }
    g_assert_cmpint(row, ==, batch->n_targets);
    g_test_message("logits %.1e from the truth", away / largest);
    g_assert_cmpfloat(away / largest, <, tolerance);
}

static void check_loss(const LossSums *sums, const TensorFile *expected, double tolerance)
{
    const FileTensor *tensor = tensor_file_find(expected, "loss");
    double truth;
    g_assert_nonnull(tensor);
    g_assert_cmpstr(tensor->dtype, ==, "F64");
    memcpy(&truth, tensor->data, sizeof truth);
    double loss = sums->head[HEAD_TOKENS].loss / sums->head[HEAD_TOKENS].weight +
                  sums->head[HEAD_LABELS].loss / fmax(1, sums->head[HEAD_LABELS].weight);
    double away = fabs(loss / truth - 1);
    g_test_message("loss %.1e from the truth", away);
    g_assert_cmpfloat(away, <, tolerance);
    g_assert_cmpfloat(sums->head[HEAD_TOKENS].loss, ==, sums->head[HEAD_TOKENS].nll);
}

/* A parameter's share of the stored gradient of the tensor that holds it, which goes into `seen`. */
static float *read_gradient(const HfArchitecture *arch, const TensorFile *expected, const Param *param,
                            const char *prefix, GHashTable *seen)
{
    GError *error = NULL;
    g_autofree char *theirs = NULL;
    const TensorName *name = tensor_name_of(&arch->names, param->spec.name, &theirs);
    char *key = g_strconcat("grad.", prefix, theirs, NULL);
    const FileTensor *tensor = tensor_file_find(expected, key);
    g_hash_table_add(seen, key);
    g_assert_nonnull(tensor);
    float *values = g_new(float, (gsize)tensor_count(param->g));
    tensor_name_read(tensor, name, &param->spec, 0, param->spec.rows, values, &error);
    g_assert_no_error(error);
    return values;
}

static void check_grads(Model *model, const HfArchitecture *arch, const TensorFile *expected, double tolerance)
{
    ParamStore *params = model_params(model);
    g_autoptr(GHashTable) seen = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
    const char *prefix = model_config(model)->lora.rank > 0 ? HF_ADAPTER_PREFIX : "";
    double worst = 0, norm = 0;
    for (int i = 0; i < params_count(params); i++) {
        const Param *param = params_get(params, i);
        if (param->spec.frozen)
            continue;
        g_autofree float *truth = read_gradient(arch, expected, param, prefix, seen);
        double own_norm, away = distance(param->g, truth, &own_norm);
        /* The bias of keys moves all scores of a query alike: its gradient is zero, and is held against that of the
         * parameter before, the bias of queries. */
        if (!g_str_has_suffix(param->spec.name, "self.k.bias"))
            norm = own_norm;
        if (!(away / norm < tolerance))
            g_error("the gradient of %s is %.1e of its norm from the truth", param->spec.name, away / norm);
        worst = fmax(worst, away / norm);
    }
    g_test_message("gradients at most %.1e of their norm from the truth", worst);
    int others = tensor_file_find(expected, "order_logits") ? 3 : 2; /* and "logits" and "loss" */
    g_assert_cmpint((int)g_hash_table_size(seen) + others, ==, tensor_file_count(expected));
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
    Device *dev = c->reference ? device_open_reference() : device_open_cpu(2, precision_uniform(DT_F32));
    const Tolerance *tolerance = dev->precision.compute == DT_F64 ? &f64_tolerance : &f32_tolerance;
    g_autofree char *folder = g_build_filename(FIXTURES, c->folder, NULL);
    g_autofree char *truth = g_build_filename(FIXTURES, c->expected, "expected.safetensors", NULL);
    TensorFile *expected = safetensors_open(truth, &error);
    g_assert_no_error(error);
    Model *model = hf_import(dev, folder, true, &error);
    g_assert_no_error(error);

    json_t *samples = read_samples(c->expected);
    int32_t n = (int32_t)json_array_size(samples);
    int family = model_config(model)->family;
    int32_t enc_len = family == FAMILY_GPT    ? 0
                      : family == FAMILY_BERT ? 40
                                              : 160,
            dec_len = family == FAMILY_BERT ? 0 : 32;
    Batch *batch = batch_new(n, enc_len, dec_len);
    for (int32_t i = 0; i < n; i++)
        add_sample(batch, samples, (size_t)i);
    ModelLoss loss = { .n_targets = { (double)batch->n_targets, n }, .grad = true, .recompute = c->recompute };
    model_reserve(model, n, enc_len, dec_len, &loss, NULL, &error);
    g_assert_no_error(error);
    check_logits(model, batch, expected, tolerance->logits);
    LossSums sums = { 0 };
    grads_begin(model_params(model), c->split ? n : 1);
    add_loss(c, model, batch, samples, &loss, &sums);
    check_loss(&sums, expected, tolerance->loss);
    check_grads(model, hf_architecture(model_config(model)), expected, tolerance->grads);

    batch_free(batch);
    json_decref(samples);
    model_close(model);
    tensor_file_close(expected);
    device_close(dev);
}

static void matches_under_avx2(void)
{
    run_under_avx2("/parity/on_cpu");
}

/* ---- the cases: every fixture, and a few in other ways ---- */

static void free_case(void *data)
{
    Case *c = data;
    g_free(c->folder);
    g_free(c->expected);
    g_free(c);
}

/* expected: NULL means the folder. */
static void add_case(GPtrArray *cases, const char *how, const char *folder, const char *expected)
{
    g_autofree char *title = g_strdup_printf("/parity/%s/%s", how, folder);
    Case *c = g_new0(Case, 1);
    *c = (Case){ .folder = g_strdup(folder),
                 .expected = g_strdup(expected ? expected : folder),
                 .reference = strcmp(how, "on_reference") == 0,
                 .recompute = strcmp(how, "with_recompute") == 0,
                 .split = strcmp(how, "over_accumulated_batches") == 0 };
    g_ptr_array_add(cases, c);
    g_test_add_data_func(title, c, matches_hugging_face);
}

static void add_cases(GPtrArray *cases, const char *how, const char *const *folders)
{
    for (; *folders; folders++)
        add_case(cases, how, *folders, NULL);
}

/* Forms of a fixture that have tensors of their own. */
static void add_forms(GPtrArray *cases)
{
    g_auto(GStrv) folders = fixtures_with("config.json");
    for (char **form = folders; *form; form++) {
        g_autofree char *base = fixture_of_form(*form);
        bool own = fixture_has(*form, "model.safetensors") || fixture_has(*form, "model.safetensors.index.json");
        if (own && !fixture_has(*form, "expected.safetensors"))
            add_case(cases, "on_cpu", *form, base);
    }
}

int main(int argc, char **argv)
{
    static const char *const adapters[] = { "lora/t5", "lora/gpt2", "lora/llama", NULL };
    static const char *const recomputed[] = { "t5-v1.0", "umt5", "gpt2", "modernbert", "lora/t5", NULL };
    static const char *const accumulated[] = { "t5-v1.1", "umt5", "llama", "qwen3", "lora/t5", NULL };
    g_test_init(&argc, &argv, NULL);
    g_autoptr(GPtrArray) cases = g_ptr_array_new_with_free_func(free_case);
    g_auto(GStrv) fixtures = fixtures_with("expected.safetensors");
    add_cases(cases, "on_cpu", (const char *const *)fixtures);
    add_cases(cases, "on_reference", (const char *const *)fixtures);
    add_cases(cases, "on_cpu", adapters);
    add_cases(cases, "on_reference", adapters);
    add_cases(cases, "with_recompute", recomputed);
    add_cases(cases, "over_accumulated_batches", accumulated);
    add_forms(cases);
    if (!under_avx2())
        g_test_add_func("/parity/on_avx2", matches_under_avx2);
    return g_test_run();
}
