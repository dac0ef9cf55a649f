/* Adapters (LoRA): what they add and where, what is trained, merging, and folders of PEFT in and out. */
#include "base/file.h"
#include "format/safetensors.h"
#include "model/decoder.h"
#include "model/hf/adapter.h"
#include "model/hf/hf.h"
#include "model/lora/lora.h"
#include "param/optim.h"
#include "tiny.h"

#include <glib/gstdio.h>
#include <jansson.h>

#define FIXTURES LOAM_SOURCE_DIR "/tests/parity/lora/"

static const char *const fixtures[] = { "t5", "gpt2", "llama", "bert-sequence", "modernbert-tokens" };

static ModelConfig adapted(const char *targets)
{
    ModelConfig config = tiny_config(&tiny_gated);
    config.lora = (LoraConfig){ .rank = 2, .alpha = 6, .targets = g_strdup(targets) };
    return config;
}

static Model *open_adapted(Device *dev, const char *targets, bool gradients)
{
    GError *error = NULL;
    ModelConfig config = adapted(targets);
    Model *model = model_open(dev, &config, gradients, &error);
    g_assert_no_error(error);
    params_init(model_params(model), 7);
    g_free(config.lora.targets);
    return model;
}

/* Moves every lora_b away from zero. */
static void fill_adapters(Model *model)
{
    ParamStore *params = model_params(model);
    Philox rng = philox_open(philox_key(9, PHILOX_INIT, 0), 0);
    for (int p = 0; p < params_count(params); p++) {
        const ParamSpec *spec = params_spec(params, p);
        if (!g_str_has_suffix(spec->name, LORA_B))
            continue;
        g_autofree float *values = g_new(float, (gsize)(spec->rows * spec->cols));
        for (int64_t i = 0; i < spec->rows * spec->cols; i++)
            values[i] = (float)(0.2 * philox_normal(&rng));
        params_write(params, p, NULL, DT_F32, values);
    }
}

static float *logits_of(Model *model, const Batch *batch)
{
    GError *error = NULL;
    ModelLoss loss = { 0 };
    float *logits = g_new0(float, (gsize)(batch->dec.max_tokens * model_config(model)->vocab));
    model_reserve(model, batch->enc.max_seq, batch->enc.max_len, batch->dec.max_len, &loss, NULL, &error);
    g_assert_no_error(error);
    model_logits(model, batch, logits);
    return logits;
}

static double distance(const float *a, const float *b, const Batch *batch, int64_t vocab)
{
    double most = 0;
    for (int64_t i = 0; i < batch->dec.n_tokens * vocab; i++)
        most = fmax(most, fabs((double)a[i] - (double)b[i]));
    return most;
}

#define EVERYWHERE "self.q,self.v,self.o,cross.q,cross.k,cross.v,cross.o,mlp.wi_0,mlp.wi_1,mlp.wo"

static void merged_weights_give_the_same_logits(void)
{
    Device *dev = device_open_cpu(2, precision_uniform(DT_F32));
    Model *model = open_adapted(dev, EVERYWHERE, false);
    int64_t vocab = model_config(model)->vocab;
    Batch *batch = tiny_batch(vocab, 4, 9, 6);
    g_autofree float *at_first = logits_of(model, batch);
    fill_adapters(model);
    g_autofree float *with = logits_of(model, batch);
    Model *merged = lora_merged(model, NULL);
    g_autofree float *without = logits_of(merged, batch);
    g_assert_cmpint(model_config(merged)->lora.rank, ==, 0);
    g_assert_cmpfloat(distance(with, at_first, batch, vocab), >, 1e-2);
    g_assert_cmpfloat(distance(with, without, batch, vocab), <, 2e-5);
    batch_free(batch);
    model_close(model);
    model_close(merged);
    device_close(dev);
}

static void steps_of_decoding_have_the_adapters_too(void)
{
    Device *dev = device_open_cpu(2, precision_uniform(DT_F32));
    Model *model = open_adapted(dev, EVERYWHERE, false);
    int64_t vocab = model_config(model)->vocab;
    Batch *batch = tiny_batch(vocab, 4, 9, 6);
    fill_adapters(model);
    g_autofree float *logits = logits_of(model, batch);
    const int32_t cu[] = { 0, batch->enc.cu[1] };
    const Prompts prompt = { batch->enc.ids, cu, 1 };
    Decoder *decoder = decoder_open(model, &prompt, 1, 6, NULL);
    for (int32_t row = 0; row < batch->dec.cu[1]; row++) {
        const float *step = decoder_step(decoder, batch->dec.ids + row);
        for (int64_t v = 0; v < vocab; v++)
            g_assert_cmpfloat_with_epsilon((double)step[v], (double)logits[row * vocab + v], 1e-5);
    }
    decoder_close(decoder);
    batch_free(batch);
    model_close(model);
    device_close(dev);
}

/* A step moves adapters alone; only they have states of the optimizer. */
static void adapters_alone_are_trained(void)
{
    GError *error = NULL;
    Device *dev = device_open_cpu(2, precision_uniform(DT_F32));
    Model *model = open_adapted(dev, "self.q,self.v,cross.q,cross.v", true),
          *before = open_adapted(dev, "self.q,self.v,cross.q,cross.v", false);
    Batch *batch = tiny_batch(model_config(model)->vocab, 4, 9, 6);
    ModelLoss loss = { .n_targets = { (double)batch->n_targets }, .grad = true, .train = true };
    OptimConfig config = { .name = OPTIM_ADAMW, .beta1 = 0.9, .beta2 = 0.999, .eps = 1e-8, .lr = 1e-2 };
    Optimizer *optimizer = optimizer_open(model_params(model), &config, &error);
    g_assert_no_error(error);
    int adapters = 0;
    int64_t elements = 0;
    fill_adapters(model);
    fill_adapters(before);
    model_reserve(model, batch->enc.max_seq, batch->enc.max_len, batch->dec.max_len, &loss, NULL, &error);
    g_assert_no_error(error);
    grads_begin(model_params(model), 1);
    model_pass(model, batch, &loss);
    optimizer_step(optimizer, 1, 1e-2, grads_norm(model_params(model)), 1);
    for (int i = 0; i < params_count(model_params(model)); i++) {
        const ParamSpec *spec = params_spec(model_params(model), i);
        int64_t n = spec->rows * MAX(spec->cols, 1);
        g_autofree float *now = g_new(float, (gsize)n), *then = g_new(float, (gsize)n);
        params_read(model_params(model), i, NULL, DT_F32, now);
        params_read(model_params(before), i, NULL, DT_F32, then);
        g_assert_cmpint(memcmp(now, then, (size_t)n * sizeof *now) != 0, ==, lora_is_adapter(spec->name));
        g_assert_cmpint(spec->frozen, ==, !lora_is_adapter(spec->name));
        adapters += lora_is_adapter(spec->name);
        elements += lora_is_adapter(spec->name) ? n : 0;
    }
    g_assert_cmpint(adapters, ==, 2 * (2 * 2 + 4 * 2));
    g_assert_cmpint(optimizer_state_count(optimizer), ==, 2 * adapters);
    g_assert_cmpuint(params_bytes(model_params(model)).gradients, ==, (size_t)elements * sizeof(float));
    optimizer_close(optimizer);
    batch_free(batch);
    model_close(model);
    model_close(before);
    device_close(dev);
}

/* Loss of all samples, in one batch or each in its own, with dropout. */
static double loss_of(Model *model, bool split)
{
    GError *error = NULL;
    LossSums sums = { 0 };
    ModelLoss loss = { .n_targets = { TINY_TARGETS }, .grad = true, .train = true, .seed = 3 };
    Batch *batch = batch_new(TINY_SAMPLES, 9, 6);
    model_reserve(model, TINY_SAMPLES, 9, 6, &loss, NULL, &error);
    g_assert_no_error(error);
    grads_begin(model_params(model), split ? TINY_SAMPLES : 1);
    for (int i = 0; i < TINY_SAMPLES; i++) {
        tiny_add(batch, i, model_config(model)->vocab);
        if (!split && i + 1 < TINY_SAMPLES)
            continue;
        model_loss(model, batch, &loss, &sums);
        batch_clear(batch);
    }
    batch_free(batch);
    return loss_sums_total(&sums);
}

static void masks_of_adapters_do_not_depend_on_the_batch(void)
{
    Device *dev = device_open_cpu(2, precision_uniform(DT_F32));
    double losses[3];
    for (int i = 0; i < 3; i++) {
        GError *error = NULL;
        ModelConfig config = adapted(EVERYWHERE);
        config.lora.dropout = i < 2 ? 0.5 : 0;
        Model *model = model_open(dev, &config, true, &error);
        g_assert_no_error(error);
        params_init(model_params(model), 7);
        fill_adapters(model);
        losses[i] = loss_of(model, i == 1);
        model_close(model);
        g_free(config.lora.targets);
    }
    g_assert_cmpfloat_with_epsilon(losses[0], losses[1], 1e-5);
    g_assert_cmpfloat(fabs(losses[0] - losses[2]), >, 1e-3);
    device_close(dev);
}

/* In bf16 too, with dropout, the loss falls where adapters learn. */
static void adapters_learn_in_bf16(void)
{
    GError *error = NULL;
    Device *dev = device_open_cpu(
        2, (Precision){ .compute = DT_BF16, .residual = DT_F32, .grad = DT_F32, .master = DT_F32, .state = DT_F32 });
    ModelConfig shape = adapted(EVERYWHERE);
    shape.lora.dropout = 0.1;
    Model *model = model_open(dev, &shape, true, &error);
    g_assert_no_error(error);
    params_init(model_params(model), 7);
    OptimConfig config = { .name = OPTIM_ADAMW, .beta1 = 0.9, .beta2 = 0.999, .eps = 1e-8, .lr = 1e-2 };
    Optimizer *optimizer = optimizer_open(model_params(model), &config, &error);
    g_assert_no_error(error);
    double first = loss_of(model, false), last = first;
    for (int step = 1; step <= 60; step++) {
        optimizer_step(optimizer, step, 1e-2, grads_norm(model_params(model)), 1);
        last = loss_of(model, false);
    }
    g_assert_cmpfloat(last, <, 0.7 * first);
    g_free(shape.lora.targets);
    optimizer_close(optimizer);
    model_close(model);
    device_close(dev);
}

/* a is uniform within ± in^-1/2, b zero. */
static void adapters_start_as_pefts(void)
{
    Device *dev = device_open_cpu(1, precision_uniform(DT_F32));
    Model *model = open_adapted(dev, "mlp.wo", false);
    ParamStore *params = model_params(model);
    int a = params_index(params, "encoder.0.mlp.wo.lora_a"), b = params_index(params, "encoder.0.mlp.wo.lora_b");
    const ParamSpec *spec = params_spec(params, a);
    int64_t n = spec->rows * spec->cols;
    g_autofree float *values = g_new(float, (gsize)n), *zeros = g_new(float, (gsize)(params_spec(params, b)->rows * 2));
    double bound = 1 / sqrt((double)spec->cols), largest = 0;
    g_assert_cmpint(spec->rows, ==, 2);
    g_assert_cmpint(spec->cols, ==, tiny_gated.ffn);
    params_read(params, a, NULL, DT_F32, values);
    params_read(params, b, NULL, DT_F32, zeros);
    for (int64_t i = 0; i < n; i++)
        largest = fmax(largest, fabs((double)values[i]));
    g_assert_cmpfloat(largest, <=, bound);
    g_assert_cmpfloat(largest, >, 0.8 * bound);
    for (int64_t i = 0; i < params_spec(params, b)->rows * 2; i++)
        g_assert_cmpfloat((double)zeros[i], ==, 0);
    model_close(model);
    device_close(dev);
}

static json_t *read_json(const char *folder, const char *name)
{
    g_autofree char *path = g_build_filename(folder, name, NULL);
    json_t *root = json_load_file(path, 0, NULL);
    g_assert_nonnull(root);
    return root;
}

/* Every tensor of the file is in the other, bit for bit. */
static void assert_holds(const char *part, const char *whole)
{
    GError *error = NULL;
    g_autofree char *a_path = g_build_filename(part, "adapter_model.safetensors", NULL),
                    *b_path = g_build_filename(whole, "adapter_model.safetensors", NULL);
    TensorFile *a = safetensors_open(a_path, &error), *b = safetensors_open(b_path, &error);
    g_assert_no_error(error);
    for (int i = 0; i < tensor_file_count(a); i++) {
        const FileTensor *tensor = tensor_file_get(a, i), *same = tensor_file_find(b, tensor->name);
        g_assert_nonnull(same);
        g_assert_true(tensor->bytes == same->bytes && memcmp(tensor->data, same->data, same->bytes) == 0);
        g_assert_cmpint(tensor->shape[0], ==, same->shape[0]);
    }
    tensor_file_close(a);
    tensor_file_close(b);
}

/* Whether two arrays hold the same texts. */
static bool same_set(const json_t *a, const json_t *b)
{
    bool same = json_array_size(a) == json_array_size(b);
    for (size_t i = 0; same && i < json_array_size(a); i++) {
        bool found = false;
        for (size_t j = 0; j < json_array_size(b); j++)
            found = found || json_equal(json_array_get(a, i), json_array_get(b, j));
        same = found;
    }
    return same;
}

/* What PEFT wrote comes out again: the same tensors, and beside them the head that loam trains and PEFT does not. */
static void adapters_come_out_as_they_came_in(gconstpointer data)
{
    GError *error = NULL;
    Device *dev = device_open_cpu(1, precision_uniform(DT_F32));
    g_autofree char *folder = g_build_filename(FIXTURES, data, NULL), *base = g_build_filename(folder, "base", NULL),
                    *tmp = g_dir_make_tmp("loam-lora-XXXXXX", NULL), *out = g_build_filename(tmp, "out", NULL),
                    *again = g_build_filename(tmp, "again", NULL);
    Model *model = hf_import(dev, folder, false, &error);
    g_assert_no_error(error);
    hf_export_adapter(model, NULL, base, out, &error);
    g_assert_no_error(error);
    assert_holds(folder, out);
    json_t *config = read_json(out, HF_ADAPTER_CONFIG), *theirs = read_json(folder, HF_ADAPTER_CONFIG);
    static const char *const keys[] = { "peft_type", "task_type", "r", "bias", "fan_in_fan_out" };
    for (size_t i = 0; i < G_N_ELEMENTS(keys); i++)
        g_assert_true(json_equal(json_object_get(config, keys[i]), json_object_get(theirs, keys[i])));
    g_assert_cmpstr(json_string_value(json_object_get(config, "base_model_name_or_path")), ==, base);
    const json_t *modules = json_object_get(theirs, "target_modules");
    if (strstr(data, "bert-sequence") == NULL && strcmp(data, "llama") != 0)
        g_assert_true(same_set(json_object_get(config, "target_modules"), modules));
    Model *second = hf_import(dev, out, false, &error);
    g_assert_no_error(error);
    hf_export_adapter(second, NULL, base, again, &error);
    g_assert_no_error(error);
    assert_holds(out, again);
    json_decref(config);
    json_decref(theirs);
    model_close(model);
    model_close(second);
    io_remove_tree(tmp, NULL);
    device_close(dev);
}

/* An adapter belongs to the weights that it was trained beside, whatever their dtype in the base's file. */
static void adapters_of_another_base_are_refused(void)
{
    GError *error = NULL;
    Device *dev = device_open_cpu(1, precision_uniform(DT_F32));
    g_autofree char *tmp = g_dir_make_tmp("loam-lora-XXXXXX", NULL), *rounded = g_build_filename(tmp, "bf16", NULL),
                    *out = g_build_filename(tmp, "out", NULL), *again = g_build_filename(tmp, "again", NULL);
    Model *base = hf_import(dev, FIXTURES "t5/base", false, &error),
          *model = hf_import(dev, FIXTURES "t5", false, &error);
    g_assert_no_error(error);
    g_assert_true(hf_export(base, NULL, (HfForm){ .dtype = "BF16" }, rounded, &error));
    hf_export_adapter(model, NULL, rounded, out, &error);
    g_assert_no_error(error);

    ParamStore *params = model_params(model);
    int shared = params_index(params, "shared");
    const ParamSpec *spec = params_spec(params, shared);
    g_autofree float *values = g_new(float, (gsize)(spec->rows * spec->cols));
    params_read(params, shared, NULL, DT_F32, values);
    values[5] += 0.01F;
    params_write(params, shared, NULL, DT_F32, values);
    static const char *const folders[] = { FIXTURES "t5/base", FIXTURES "llama/base", NULL };
    for (int i = 0; folders[i]; i++) {
        g_assert_false(hf_export_adapter(model, NULL, folders[i], again, &error));
        g_assert_nonnull(strstr(error->message, "shared of the model differs from that of the base model"));
        g_clear_error(&error);
    }
    hf_export_adapter(model, NULL, "a/name", again, &error);
    g_assert_no_error(error);
    model_close(base);
    model_close(model);
    io_remove_tree(tmp, NULL);
    device_close(dev);
}

/* Copies every parameter that both models have. */
static void take_weights(Model *to, Model *from)
{
    ParamStore *params = model_params(to);
    for (int i = 0; i < params_count(params); i++) {
        int source = params_index(model_params(from), params_spec(params, i)->name);
        if (source >= 0)
            params_copy(params, i, model_params(from), source);
    }
}

/* The shape of the small BERT with a head that predicts words in place of its classifier. */
static ModelConfig bert_that_predicts_words(void)
{
    GError *error = NULL;
    ModelConfig config = { 0 };
    hf_shape(FIXTURES "bert-sequence/base", &config, &error);
    g_assert_no_error(error);
    config.classifier = LABELS_NONE;
    config.head_transform = config.head_bias = true;
    return config;
}

/* A pooler beside a head that predicts words is in no class of transformers, so in no base. */
static void a_head_that_no_base_has_is_not_compared(void)
{
    GError *error = NULL;
    Device *dev = device_open_cpu(1, precision_uniform(DT_F32));
    g_autofree char *tmp = g_dir_make_tmp("loam-lora-XXXXXX", NULL), *base = g_build_filename(tmp, "base", NULL),
                    *out = g_build_filename(tmp, "out", NULL);
    ModelConfig config = bert_that_predicts_words();
    config.pooler = true;
    g_free(config.lora.targets);
    config.lora = (LoraConfig){ .rank = 2, .alpha = 6, .targets = g_strdup("self.q") };
    Model *model = model_open(dev, &config, false, &error);
    g_assert_no_error(error);
    params_init(model_params(model), 4);
    config.lora.rank = 0;
    Model *plain = model_open(dev, &config, false, &error);
    g_assert_no_error(error);
    params_init(model_params(plain), 5);
    take_weights(plain, model);
    g_assert_true(hf_export(plain, NULL, (HfForm){ .dtype = "F32" }, base, &error));
    hf_export_adapter(model, NULL, base, out, &error);
    g_assert_no_error(error);
    model_close(plain);
    model_close(model);
    model_config_clear(&config);
    io_remove_tree(tmp, NULL);
    device_close(dev);
}

/* ---- names of targets ---- */

static const struct {
    const char *fixture, *targets, *resolved; /* resolved NULL: the targets are refused */
} targets[] = {
    { "t5", "", "self.q,self.v,cross.q,cross.v" },
    { "t5", "q,v", "self.q,self.v,cross.q,cross.v" },
    { "t5", "SelfAttention.q", "self.q" },
    { "t5", "EncDecAttention.o, wo", "cross.o,mlp.wo" },
    { "t5", "all-linear", "self.q,self.k,self.v,self.o,cross.q,cross.k,cross.v,cross.o,mlp.wi_0,mlp.wi_1,mlp.wo" },
    { "t5", "self.q", "self.q" },
    { "t5", "query", NULL },
    { "t5", "q,", NULL },
    { "bert-sequence", "", "self.q,self.v" },
    { "bert-sequence", "dense", "self.o,mlp.wi,mlp.wo" },
    { "bert-sequence", "attention.output.dense", "self.o" },
    { "bert-sequence", "cross.q", NULL },
    { "gpt2", "", "self.qkv" },
    { "gpt2", "c_proj", "self.o,mlp.wo" },
    { "gpt2", "all-linear", "self.qkv,self.o,mlp.wi,mlp.wo" },
    { "gpt2", "self.q", NULL },
    { "llama", "", "self.q,self.v" },
    { "llama", "gate_proj,up_proj", "mlp.wi_0,mlp.wi_1" },
    { "modernbert-tokens", "Wqkv,Wi", "self.qkv,mlp.wi" },
};

static void targets_are_pefts_names_of_modules(void)
{
    for (size_t i = 0; i < G_N_ELEMENTS(targets); i++) {
        g_autofree char *folder = g_build_filename(FIXTURES, targets[i].fixture, "base", NULL);
        g_autoptr(GError) error = NULL;
        g_auto(ModelConfig) config = { 0 };
        hf_shape(folder, &config, &error);
        g_assert_no_error(error);
        config.lora.rank = 4;
        config.lora.targets = g_strdup(targets[i].targets);
        bool done = hf_resolve_targets(&config, &error);
        g_assert_cmpint(done, ==, targets[i].resolved != NULL);
        if (done)
            g_assert_cmpstr(config.lora.targets, ==, targets[i].resolved);
        else
            g_assert_nonnull(strstr(error->message, "; there are "));
    }
}

/* ---- folders that are refused ---- */

static void write_file(const char *folder, const char *name, const char *text)
{
    g_autofree char *path = g_build_filename(folder, name, NULL);
    g_assert_true(g_file_set_contents(path, text, -1, NULL));
}

static void copy_file(const char *from, const char *to, const char *name)
{
    g_autofree char *source = g_build_filename(from, name, NULL), *target = g_build_filename(to, name, NULL);
    g_autofree char *bytes = NULL;
    gsize n;
    g_assert_true(g_file_get_contents(source, &bytes, &n, NULL));
    g_assert_true(g_file_set_contents(target, bytes, (gssize)n, NULL));
}

static void what_loam_does_not_have_is_refused(void)
{
    static const struct {
        const char *key, *json, *says;
    } cases[] = {
        { "peft_type", "\"IA3\"", "peft_type is \"IA3\"" },
        { "use_dora", "true", "use_dora is set" },
        { "rank_pattern", "{\"q\": 4}", "rank_pattern is set" },
        { "layers_to_transform", "[0]", "layers_to_transform is set" },
        { "bias", "\"all\"", "bias is \"all\"" },
        { "init_lora_weights", "\"pissa\"", "init_lora_weights is \"pissa\"" },
        { "r", "0", "r is 0" },
        { "r", "4", "config.json makes it (4, 16)" },
        { "r", "99999999", "r is 99999999" },
        { "lora_alpha", "\"x\"", "lora_alpha is 0" },
        { "lora_dropout", "1", "lora_dropout is 1" },
        { "base_model_name_or_path", "\"google/t5-v1_1-small\"", "google/t5-v1_1-small" },
        { "base_model_name_or_path", "null", "base_model_name_or_path is missing" },
    };
    Device *dev = device_open_cpu(1, precision_uniform(DT_F32));
    g_autofree char *tmp = g_dir_make_tmp("loam-lora-XXXXXX", NULL);
    copy_file(FIXTURES "t5", tmp, "adapter_model.safetensors");
    for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
        g_autoptr(GError) error = NULL;
        json_t *config = read_json(FIXTURES "t5", HF_ADAPTER_CONFIG);
        json_object_set_new(config, "base_model_name_or_path", json_string(FIXTURES "t5/base"));
        json_object_set_new(config, cases[i].key, json_loads(cases[i].json, JSON_DECODE_ANY, NULL));
        char *text = json_dumps(config, 0);
        write_file(tmp, HF_ADAPTER_CONFIG, text);
        g_assert_null(hf_import(dev, tmp, false, &error));
        if (!strstr(error->message, cases[i].says))
            g_error("%s: %s", cases[i].key, error->message);
        free(text);
        json_decref(config);
    }
    io_remove_tree(tmp, NULL);
    device_close(dev);
}

/* An adapter for classes on a BERT of pre-training: its head takes the place of the base's. */
static void a_base_without_classifier_gets_that_of_the_adapter(void)
{
    GError *error = NULL;
    Device *dev = device_open_cpu(1, precision_uniform(DT_F32));
    g_autofree char *tmp = g_dir_make_tmp("loam-lora-XXXXXX", NULL), *bare = g_build_filename(tmp, "bare", NULL),
                    *adapter = g_build_filename(tmp, "adapter", NULL);
    ModelConfig config = bert_that_predicts_words();
    config.sentence_head = true;
    Model *base = model_open(dev, &config, false, &error);
    g_assert_no_error(error);
    params_init(model_params(base), 3);
    hf_export(base, NULL, (HfForm){ .dtype = "F32" }, bare, &error);
    g_assert_no_error(error);
    g_assert_cmpint(g_mkdir(adapter, 0700), ==, 0);
    copy_file(FIXTURES "bert-sequence", adapter, "adapter_model.safetensors");
    json_t *json = read_json(FIXTURES "bert-sequence", HF_ADAPTER_CONFIG);
    json_object_set_new(json, "base_model_name_or_path", json_string("../bare"));
    char *text = json_dumps(json, 0);
    write_file(adapter, HF_ADAPTER_CONFIG, text);
    Model *model = hf_import(dev, adapter, false, &error);
    g_assert_no_error(error);
    g_assert_cmpint(model_config(model)->classifier, ==, LABELS_SEQUENCE);
    g_assert_cmpstr(model_config(model)->labels, ==, "LABEL_0,LABEL_1,LABEL_2");
    g_assert_cmpstr(model_config(model)->lora.targets, ==, "self.q,self.v,mlp.wi");
    free(text);
    json_decref(json);
    model_close(model);
    model_close(base);
    model_config_clear(&config);
    io_remove_tree(tmp, NULL);
    device_close(dev);
}

/* The same of a T5, whose classes read the decoder and have names of another beginning than the base's. */
static void a_t5_gets_the_classifier_of_an_adapter(void)
{
    GError *error = NULL;
    Device *dev = device_open_cpu(1, precision_uniform(DT_F32));
    g_autofree char *tmp = g_dir_make_tmp("loam-lora-XXXXXX", NULL), *bare = g_build_filename(tmp, "bare", NULL),
                    *adapter = g_build_filename(tmp, "adapter", NULL), *again = g_build_filename(tmp, "again", NULL);
    ModelConfig config = adapted("self.q,cross.v,mlp.wo");
    config.classifier = LABELS_SEQUENCE;
    config.labels = (char *)(gintptr) "LABEL_0,LABEL_1,LABEL_2";
    config.classifier_dense = true;
    ModelConfig plain = tiny_config(&tiny_gated);
    Model *base = model_open(dev, &plain, false, &error);
    g_assert_no_error(error);
    params_init(model_params(base), 3);
    Model *model = model_open(dev, &config, false, &error);
    g_assert_no_error(error);
    params_init(model_params(model), 4);
    take_weights(model, base);
    fill_adapters(model);
    g_assert_true(hf_export(base, NULL, (HfForm){ .dtype = "F32" }, bare, &error));
    g_assert_true(hf_export_adapter(model, NULL, bare, adapter, &error));
    json_t *json = read_json(adapter, HF_ADAPTER_CONFIG);
    g_assert_cmpstr(json_string_value(json_object_get(json, "task_type")), ==, "SEQ_CLS");
    Model *second = hf_import(dev, adapter, false, &error);
    g_assert_no_error(error);
    g_assert_cmpint(model_config(second)->n_dec, ==, 2);
    g_assert_cmpstr(model_config(second)->labels, ==, config.labels);
    g_assert_true(hf_export_adapter(second, NULL, bare, again, &error));
    assert_holds(adapter, again);
    g_free(config.lora.targets);
    json_decref(json);
    model_close(base);
    model_close(model);
    model_close(second);
    io_remove_tree(tmp, NULL);
    device_close(dev);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/lora/merged_weights_give_the_same_logits", merged_weights_give_the_same_logits);
    g_test_add_func("/lora/steps_of_decoding_have_the_adapters_too", steps_of_decoding_have_the_adapters_too);
    g_test_add_func("/lora/adapters_alone_are_trained", adapters_alone_are_trained);
    g_test_add_func("/lora/masks_of_adapters_do_not_depend_on_the_batch", masks_of_adapters_do_not_depend_on_the_batch);
    g_test_add_func("/lora/adapters_learn_in_bf16", adapters_learn_in_bf16);
    g_test_add_func("/lora/adapters_start_as_pefts", adapters_start_as_pefts);
    for (size_t i = 0; i < G_N_ELEMENTS(fixtures); i++) {
        g_autofree char *title = g_strdup_printf("/lora/adapters_come_out_as_they_came_in/%s", fixtures[i]);
        g_test_add_data_func(title, fixtures[i], adapters_come_out_as_they_came_in);
    }
    g_test_add_func("/lora/targets_are_pefts_names_of_modules", targets_are_pefts_names_of_modules);
    g_test_add_func("/lora/what_loam_does_not_have_is_refused", what_loam_does_not_have_is_refused);
    g_test_add_func("/lora/a_base_without_classifier_gets_that_of_the_adapter",
                    a_base_without_classifier_gets_that_of_the_adapter);
    g_test_add_func("/lora/a_t5_gets_the_classifier_of_an_adapter", a_t5_gets_the_classifier_of_an_adapter);
    g_test_add_func("/lora/adapters_of_another_base_are_refused", adapters_of_another_base_are_refused);
    g_test_add_func("/lora/a_head_that_no_base_has_is_not_compared", a_head_that_no_base_has_is_not_compared);
    return g_test_run();
}
