/* What the classifiers of Hugging Face compute on the same weights and samples, stored in tests/parity/heads by
 * tools/make-parity-heads.py: logits, losses, gradients; and that an export holds the same model. */
#include "base/file.h"
#include "expected.h"
#include "model/hf/adapter.h"
#include "model/hf/config_json.h"
#include "model/hf/hf.h"
#include "model/lora/lora.h"
#include "param/store.h"

#include <jansson.h>
#include <math.h>
#include <string.h>

#define FIXTURES LOAM_SOURCE_DIR "/tests/parity/heads/"

enum { MAX_IDS = 64, LENGTH = 40 };

static const char *const families[] = { "bert", "roberta", "modernbert", "t5" };
static const char *const heads[] = { "sequence", "value", "tokens", "span", "choice" };

typedef struct Case {
    char *title, *folder;
    bool reference, split; /* split: every sample a batch of its own */
} Case;

static json_t *read_samples(const Case *c)
{
    g_autofree char *path = g_build_filename(FIXTURES, c->folder, "batch.json", NULL);
    json_t *root = json_load_file(path, 0, NULL);
    g_assert_nonnull(root);
    json_t *samples = json_incref(json_object_get(root, "samples"));
    json_decref(root);
    return samples;
}

static int64_t read_ids(const json_t *array, int32_t *ids)
{
    for (size_t i = 0; i < json_array_size(array); i++)
        ids[i] = (int32_t)json_integer_value(json_array_get(array, i));
    return (int64_t)json_array_size(array);
}

static int32_t number(const json_t *sample, const char *name, int32_t otherwise)
{
    const json_t *value = json_object_get(sample, name);
    return value ? (int32_t)json_integer_value(value) : otherwise;
}

/* The sequences of a sample follow each other, as the choices of a question do. */
static void add_sample(Batch *batch, const ModelConfig *config, const json_t *sample, int64_t index)
{
    const json_t *sequences = json_object_get(sample, "sequences"), *value = json_object_get(sample, "value"),
                 *labels = json_object_get(sample, "labels");
    int32_t label = number(sample, "label", -1), first = 0;
    if (value) {
        float real = (float)json_real_value(value);
        memcpy(&label, &real, sizeof real);
    }
    for (size_t s = 0; s < json_array_size(sequences); s++) {
        int32_t ids[MAX_IDS], types[MAX_IDS], targets[MAX_IDS] = { 0 };
        float weights[MAX_IDS] = { 0 };
        int64_t n = read_ids(json_object_get(json_array_get(sequences, s), "input_ids"), ids);
        read_ids(json_object_get(json_array_get(sequences, s), "segments"), types);
        read_ids(labels, targets);
        for (int64_t i = 0; i < n; i++) {
            types[i] = config->token_types > 1 ? types[i] : 0;
            weights[i] = labels && targets[i] >= 0;
            targets[i] = MAX(targets[i], 0);
        }
        batch_add_sequence(batch, &(BatchSequence){ .sample = index,
                                                    .n = n,
                                                    .ids = ids,
                                                    .targets = targets,
                                                    .weights = weights,
                                                    .token_types = types,
                                                    .first_dropout_position = first,
                                                    .label = label,
                                                    .label_end = number(sample, "label_end", 0) });
        first += (int32_t)n;
    }
}

static Batch *batch_for(const json_t *samples, const ModelConfig *config, int first, int n)
{
    Batch *batch = batch_new_packed(2 * n, 4, LENGTH, 0);
    for (int i = first; i < first + n; i++)
        add_sample(batch, config, json_array_get(samples, (size_t)i), i);
    return batch;
}

static void check_logits(Model *model, const json_t *samples, const TensorFile *expected, double tolerance)
{
    const ModelConfig *config = model_config(model);
    Batch *batch = batch_for(samples, config, 0, (int)json_array_size(samples));
    bool by_token = config->classifier == LABELS_TOKENS || config->classifier == LABELS_SPAN;
    int64_t n = (by_token ? batch->enc.n_tokens : batch->enc.n_seq) * model_config_outputs(config);
    g_autofree float *logits = g_new(float, (gsize)n), *truth = read_expected(expected, "logits", n);
    double away = 0, largest = 0;
    model_classify(model, batch, logits);
    for (int64_t i = 0; i < n; i++) {
        g_assert_true(isfinite(logits[i]));
        away = fmax(away, fabs((double)logits[i] - (double)truth[i]));
        largest = fmax(largest, fabs((double)truth[i]));
    }
    g_test_message("logits %.1e from the truth", away / largest);
    g_assert_cmpfloat(away / largest, <, tolerance);
    batch_free(batch);
}

static LossSums run(Model *model, const json_t *samples, bool split)
{
    const ModelConfig *config = model_config(model);
    int n = (int)json_array_size(samples), step = split ? 1 : n;
    ModelLoss loss = { .grad = true };
    LossSums sums = { 0 };
    Batch *all = batch_for(samples, config, 0, n);
    loss_count(&loss, config, all);
    batch_free(all);
    grads_begin(model_params(model), n / step);
    for (int i = 0; i < n; i += step) {
        Batch *batch = batch_for(samples, config, i, step);
        model_loss(model, batch, &loss, &sums);
        batch_free(batch);
    }
    return sums;
}

static void check_loss(const LossSums *sums, const TensorFile *expected, double tolerance)
{
    double truth;
    memcpy(&truth, tensor_file_find(expected, "loss")->data, sizeof truth);
    double away = fabs(loss_sums_total(sums) / truth - 1);
    g_assert_cmpint(loss_sums_heads(sums), ==, 1);
    g_test_message("loss %.1e from the truth", away);
    g_assert_cmpfloat(away, <, tolerance);
}

static double element(Tensor t, int64_t i)
{
    return t.dtype == DT_F64 ? ((const double *)t.p)[i] : (double)((const float *)t.p)[i];
}

/* A gradient is held against its own norm, or against a hundredth of the largest where it is next to nothing. */
static void check_grads(Model *model, const TensorNames *names, const TensorFile *expected, double tolerance)
{
    ParamStore *params = model_params(model);
    bool adapted = model_config(model)->lora.rank > 0;
    const char *prefix = adapted ? HF_ADAPTER_PREFIX : "";
    double norms = 0;
    for (int pass = 0; pass < 2; pass++)
        for (int i = 0; i < params_count(params); i++) {
            const Param *param = params_get(params, i);
            const FileTensor *tensor = NULL;
            g_autofree char *theirs = NULL;
            const TensorName *name = tensor_name_of(names, param->spec.name, &theirs);
            g_autofree char *key = g_strconcat("grad.", prefix, theirs, NULL);
            if (!param->spec.frozen)
                tensor = tensor_file_find(expected, key);
            if (param->spec.frozen || (adapted && tensor == NULL && !lora_is_adapter(param->spec.name)))
                continue; /* of a head PEFT trains the classifier alone */
            g_autofree float *truth = g_new(float, (gsize)tensor_count(param->g));
            double away = 0, norm = 0;
            g_assert_nonnull(tensor);
            tensor_name_read(tensor, name, &param->spec, 0, param->spec.rows, truth, NULL);
            for (int64_t j = 0; j < tensor_count(param->g); j++) {
                away += pow(element(param->g, j) - (double)truth[j], 2);
                norm += pow((double)truth[j], 2);
            }
            if (pass == 0)
                norms = fmax(norms, sqrt(norm));
            else if (!(sqrt(away) < tolerance * fmax(sqrt(norm), 1e-2 * norms)))
                g_error("the gradient of %s is %.1e from the truth, of norm %.1e", param->spec.name, sqrt(away),
                        sqrt(norm));
        }
}

/* Every tensor of a folder is in the other, bit for bit. */
static void check_export(Model *model, const char *folder)
{
    GError *error = NULL;
    g_autofree char *tmp = g_dir_make_tmp("loam-heads-XXXXXX", NULL), *out = g_build_filename(tmp, "out", NULL),
                    *theirs = g_build_filename(folder, "model.safetensors", NULL),
                    *ours = g_build_filename(out, "model.safetensors", NULL),
                    *config = g_build_filename(out, "config.json", NULL),
                    *its_config = g_build_filename(folder, "config.json", NULL);
    hf_export(model, NULL, (HfForm){ .dtype = "F32" }, out, &error);
    g_assert_no_error(error);
    TensorFile *a = safetensors_open(theirs, &error), *b = safetensors_open(ours, &error);
    g_assert_no_error(error);
    g_assert_cmpint(tensor_file_count(a), ==, tensor_file_count(b));
    for (int i = 0; i < tensor_file_count(a); i++) {
        const FileTensor *tensor = tensor_file_get(a, i), *same = tensor_file_find(b, tensor->name);
        g_assert_nonnull(same);
        g_assert_cmpuint(tensor->bytes, ==, same->bytes);
        g_assert_true(memcmp(tensor->data, same->data, tensor->bytes) == 0);
    }
    json_t *written = json_load_file(config, 0, NULL), *read = json_load_file(its_config, 0, NULL);
    static const char *const keys[] = { "architectures", "id2label", "label2id", "model_type" };
    for (size_t i = 0; i < G_N_ELEMENTS(keys); i++) {
        const json_t *value = json_object_get(read, keys[i]);
        g_assert_true(value == NULL || json_equal(value, json_object_get(written, keys[i])));
    }
    json_decref(written);
    json_decref(read);
    tensor_file_close(a);
    tensor_file_close(b);
    io_remove_tree(tmp, NULL);
}

static void matches_hugging_face(gconstpointer data)
{
    const Case *c = data;
    GError *error = NULL;
    Device *dev = c->reference ? device_open_reference() : device_open_cpu(2, precision_uniform(DT_F32));
    double tolerance = c->reference ? 1e-6 : 2e-5;
    g_autofree char *folder = g_build_filename(FIXTURES, c->folder, NULL),
                    *truth = g_build_filename(folder, "expected.safetensors", NULL);
    TensorFile *expected = safetensors_open(truth, &error);
    g_assert_no_error(error);
    Model *model = hf_import(dev, folder, true, &error);
    g_assert_no_error(error);
    json_t *samples = read_samples(c);
    ModelLoss loss = { .grad = true };
    model_reserve(model, 2 * (int32_t)json_array_size(samples), LENGTH, 0, &loss, NULL, &error);
    g_assert_no_error(error);
    if (!c->reference && !c->split && model_config(model)->lora.rank == 0)
        check_export(model, folder);
    check_logits(model, samples, expected, tolerance);
    LossSums sums = run(model, samples, c->split);
    check_loss(&sums, expected, tolerance);
    const TensorNames names = hf_names(hf_architecture(model_config(model)), model_config(model));
    check_grads(model, &names, expected, 3 * tolerance);
    json_decref(samples);
    model_close(model);
    tensor_file_close(expected);
    device_close(dev);
}

/* loss = Σ w(label) nll / Σ w(label), as torch.nn.CrossEntropyLoss(weight) has it. */
static void class_weights_weigh_loss_and_mean(void)
{
    static const float weights[] = { 0.5f, 2, 0.25f };
    const Case c = { .folder = (char *)"bert-sequence" };
    GError *error = NULL;
    Device *dev = device_open_cpu(1, precision_uniform(DT_F32));
    Model *model = hf_import(dev, FIXTURES "bert-sequence", true, &error);
    g_assert_no_error(error);
    json_t *samples = read_samples(&c);
    const int n = (int)json_array_size(samples);
    ModelLoss loss = { .grad = true, .class_weights = weights };
    model_reserve(model, 2 * n, LENGTH, 0, &loss, NULL, &error);
    g_assert_no_error(error);
    Batch *batch = batch_for(samples, model_config(model), 0, n);
    g_autofree float *logits = g_new(float, (gsize)n * 3);
    model_classify(model, batch, logits);
    double sum = 0, all = 0;
    int correct = 0;
    for (int s = 0; s < n; s++) {
        double z = 0, w = (double)weights[batch->labels[s]];
        int best = 0;
        for (int k = 0; k < 3; k++) {
            z += exp((double)logits[3 * s + k]);
            best = logits[3 * s + k] > logits[3 * s + best] ? k : best;
        }
        correct += best == batch->labels[s];
        sum += w * (log(z) - (double)logits[3 * s + batch->labels[s]]);
        all += w;
    }
    loss_count(&loss, model_config(model), batch);
    g_assert_cmpfloat_with_epsilon(loss.n_targets[HEAD_CLASSES], all, 1e-6);
    LossSums sums = { 0 };
    grads_begin(model_params(model), 1);
    model_loss(model, batch, &loss, &sums);
    g_assert_cmpfloat_with_epsilon(loss_sums_total(&sums), sum / all, 1e-6);
    g_assert_cmpint(correct, >, 0); /* rows of unequal weights, some right and some wrong */
    g_assert_cmpint(correct, <, n);
    g_assert_cmpfloat(loss_sums_accuracy(&sums, HEAD_CLASSES), ==, (double)correct / n);
    batch_free(batch);
    json_decref(samples);
    model_close(model);
    device_close(dev);
}

/* torch.nn.CrossEntropyLoss(label_smoothing) of the stored logits, and the sums of its gradient over the rows, which
 * are the gradient of the bias. */
typedef struct Smoothed {
    const char *folder;
    float smoothing;
    double loss, bias[3];
} Smoothed;

static void label_smoothing_is_that_of_torch(void)
{
    static const Smoothed cases[] = {
        { "bert-sequence", 0.1f, 1.3552219161014525, { 0.24155682093537442, -0.5377285392867662, 0.2961717183513919 } },
        { "bert-sequence",
          0.3f,
          1.368480589103775,
          { 0.22489015426870773, -0.45439520595343286, 0.22950505168472513 } },
        { "bert-tokens", 0.1f, 1.491553481464206, { 0.34963475834515023, -0.1697158979894155, -0.17991886035573462 } },
        { "bert-tokens",
          0.3f,
          1.4976691606863304,
          { 0.34407920278959464, -0.15304923132274886, -0.19102997146684575 } },
    };
    Device *dev = device_open_cpu(1, precision_uniform(DT_F32));
    for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
        const Case c = { .folder = (char *)cases[i].folder };
        GError *error = NULL;
        g_autofree char *folder = g_build_filename(FIXTURES, c.folder, NULL);
        Model *model = hf_import(dev, folder, true, &error);
        g_assert_no_error(error);
        json_t *samples = read_samples(&c);
        const int n = (int)json_array_size(samples);
        ModelLoss loss = { .grad = true, .label_smoothing = cases[i].smoothing };
        model_reserve(model, 2 * n, LENGTH, 0, &loss, NULL, &error);
        g_assert_no_error(error);
        Batch *batch = batch_for(samples, model_config(model), 0, n);
        LossSums sums = { 0 };
        loss_count(&loss, model_config(model), batch);
        grads_begin(model_params(model), 1);
        model_loss(model, batch, &loss, &sums);
        g_assert_cmpfloat_with_epsilon(loss_sums_total(&sums), cases[i].loss, 2e-6);
        Tensor bias = params_find(model_params(model), "classifier.bias")->g;
        for (int k = 0; k < 3; k++)
            g_assert_cmpfloat_with_epsilon(element(bias, k), cases[i].bias[k], 2e-6);
        batch_free(batch);
        json_decref(samples);
        model_close(model);
    }
    device_close(dev);
}

/* transformers before 4.0 gave these classes a pooler that they do not read. */
static void a_pooler_that_nothing_reads_is_left_out(void)
{
    static const char *const folders[][2] = { { "bert-tokens", "bert." },
                                              { "bert-span", "bert." },
                                              { "roberta-sequence", "roberta." } };
    Device *dev = device_open_cpu(1, precision_uniform(DT_F32));
    for (size_t i = 0; i < G_N_ELEMENTS(folders); i++) {
        GError *error = NULL;
        g_autofree char *folder = g_build_filename(FIXTURES, folders[i][0], NULL),
                        *tmp = g_dir_make_tmp("loam-pooler-XXXXXX", NULL);
        g_autofree char *config_from = g_build_filename(folder, "config.json", NULL),
                        *from = g_build_filename(folder, "model.safetensors", NULL),
                        *config_to = g_build_filename(tmp, "config.json", NULL),
                        *to = g_build_filename(tmp, "model.safetensors", NULL);
        g_autofree char *config = io_read_file(config_from, 1 << 20, NULL, &error);
        g_assert_true(io_write_file(config_to, config, strlen(config), &error));
        TensorFile *file = safetensors_open(from, &error);
        SafeWriter *writer = safetensors_writer_new();
        for (int t = 0; t < tensor_file_count(file); t++) {
            const FileTensor *tensor = tensor_file_get(file, t);
            safetensors_writer_add(writer, tensor->name, tensor->dtype, tensor->rank, tensor->shape, tensor->data);
        }
        Model *model = hf_import(dev, folder, false, &error);
        const int64_t shape[] = { model_config(model)->width, model_config(model)->width };
        g_autofree float *zeros = g_new0(float, (gsize)(shape[0] * shape[1]));
        g_autofree char *weight = g_strconcat(folders[i][1], "pooler.dense.weight", NULL),
                        *bias = g_strconcat(folders[i][1], "pooler.dense.bias", NULL);
        safetensors_writer_add(writer, weight, "F32", 2, shape, zeros);
        safetensors_writer_add(writer, bias, "F32", 1, shape, zeros);
        g_assert_true(safetensors_writer_write(writer, to, &error));
        safetensors_writer_free(writer);
        tensor_file_close(file);
        Model *with = hf_import(dev, tmp, false, &error);
        g_assert_no_error(error);
        g_assert_cmpint(params_elements(model_params(with)), ==, params_elements(model_params(model)));
        model_close(with);
        model_close(model);
        io_remove_tree(tmp, NULL);
    }
    device_close(dev);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    for (size_t f = 0; f < G_N_ELEMENTS(families); f++)
        for (size_t h = 0; h < G_N_ELEMENTS(heads); h++)
            for (int way = 0; way < 3 && (f < 3 || h < 4); way++) { /* T5 has no choices */
                static const char *const ways[] = { "on_cpu", "on_reference", "a_sample_at_a_time" };
                Case *c = g_new0(Case, 1);
                c->folder = g_strdup_printf("%s-%s", families[f], heads[h]);
                c->title = g_strdup_printf("/heads/%s/%s", c->folder, ways[way]);
                c->reference = way == 1;
                c->split = way == 2;
                g_test_add_data_func(c->title, c, matches_hugging_face);
            }
    static const char *const adapted[] = { "bert-sequence", "modernbert-tokens" };
    for (size_t a = 0; a < G_N_ELEMENTS(adapted); a++)
        for (int reference = 0; reference < 2; reference++) {
            Case *c = g_new0(Case, 1);
            c->folder = g_strdup_printf("../lora/%s", adapted[a]);
            c->reference = reference;
            c->title = g_strdup_printf("/heads/peft-%s/%s", adapted[a], reference ? "on_reference" : "on_cpu");
            g_test_add_data_func(c->title, c, matches_hugging_face);
        }
    g_test_add_func("/heads/class_weights_weigh_loss_and_mean", class_weights_weigh_loss_and_mean);
    g_test_add_func("/heads/label_smoothing_is_that_of_torch", label_smoothing_is_that_of_torch);
    g_test_add_func("/heads/a_pooler_that_nothing_reads_is_left_out", a_pooler_that_nothing_reads_is_left_out);
    return g_test_run();
}
