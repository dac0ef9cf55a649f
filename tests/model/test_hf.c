#include "architectures.h"
#include "base/file.h"
#include "format/safetensors.h"
#include "format/tensor_file.h"
#include "golden.h"
#include "model/hf/hf.h"
#include "param/store.h"

#include <errno.h>
#include <jansson.h>
#include <string.h>

#define T5_TOKENIZER GOLDEN "unigram"
#define FILE_LIMIT   ((size_t)1 << 26)

static char *scratch; /* a folder of this run */

static char *scratch_path(const char *folder, const char *name)
{
    return g_build_filename(scratch, folder, name, NULL);
}

static char *read_file(const char *folder, const char *name, size_t *bytes)
{
    GError *error = NULL;
    g_autofree char *path = g_build_filename(folder, name, NULL);
    char *text = io_read_file(path, FILE_LIMIT, bytes, &error);
    g_assert_no_error(error);
    return text;
}

static void put_file(const char *folder, const char *name, const char *text, size_t bytes)
{
    GError *error = NULL;
    g_autofree char *path = g_build_filename(folder, name, NULL);
    io_make_directories(folder, &error);
    g_assert_no_error(error);
    io_write_file(path, text, bytes, &error);
    g_assert_no_error(error);
}

static void copy_file(const char *from, const char *to, const char *name)
{
    size_t bytes;
    g_autofree char *text = read_file(from, name, &bytes);
    put_file(to, name, text, bytes);
}

static void expect_same_file(const char *a, const char *b, const char *name)
{
    size_t n_a, n_b;
    g_autofree char *text_a = read_file(a, name, &n_a), *text_b = read_file(b, name, &n_b);
    g_assert_cmpuint(n_a, ==, n_b);
    g_assert_true(memcmp(text_a, text_b, n_a) == 0);
}

static Model *import(Device *dev, const char *folder)
{
    GError *error = NULL;
    Model *model = hf_import(dev, folder, false, &error);
    g_assert_no_error(error);
    return model;
}

static void export(Model *model, const Tokenizer *tok, const char *folder)
{
    GError *error = NULL;
    hf_export(model, tok, (HfForm){ .dtype = "F32" }, folder, &error);
    g_assert_no_error(error);
}

/* What the exported config.json says must be what transformers said of the same model, wherever both speak. */
static void expect_same_config(const char *ours, const char *theirs)
{
    size_t bytes;
    g_autofree char *our_text = read_file(ours, "config.json", &bytes);
    g_autofree char *their_text = read_file(theirs, "config.json", &bytes);
    json_t *our_root = json_loads(our_text, 0, NULL), *their_root = json_loads(their_text, 0, NULL);
    const char *our_type = json_string_value(json_object_get(our_root, "model_type")), *key;
    json_t *value;
    g_assert_nonnull(our_type);
    json_object_foreach(their_root, key, value)
    {
        json_t *mine = json_object_get(our_root, key);
        if (mine == NULL && strcmp(our_type, "t5") != 0)
            continue; /* the others have keys that say nothing of the model */
        if (strcmp(key, "transformers_version") != 0 && !json_equal(mine, value))
            g_error("%s of %s differs", key, theirs);
    }
    json_decref(our_root);
    json_decref(their_root);
}

/* Whether a fixture is exported in another form: an mT5 as the T5 that it equals, an untied bias under both its names.
 */
static bool is_changed(const char *fixture)
{
    return g_strv_contains((const char *const[]){ "mt5", "bert-untied", "roberta-untied", NULL }, fixture);
}

static void export_gives_back_what_transformers_wrote(gconstpointer data)
{
    const char *name = data;
    g_autofree char *source = g_build_filename(FIXTURES, name, NULL), *out = g_build_filename(scratch, name, NULL);
    Device *dev = device_open_cpu(1, precision_uniform(DT_F32));
    Model *model = import(dev, source);
    export(model, NULL, out);
    model_close(model);
    device_close(dev);

    expect_same_file(out, source, "model.safetensors");
    expect_same_config(out, source);
}

/* What files of other years, or of transformers 5, say of a model is the same model. */
static void every_form_of_a_folder_is_the_same_model(void)
{
    g_auto(GStrv) folders = fixtures_with("config.json");
    Device *dev = device_open_cpu(1, precision_uniform(DT_F32));
    for (char **form = folders; *form; form++) {
        g_autofree char *base = fixture_of_form(*form);
        if (fixture_has(*form, "expected.safetensors") || is_changed(base))
            continue;
        const char *with_tensors = fixture_has(*form, "model.safetensors") ? *form : base;
        g_autofree char *in_name = g_strconcat(*form, "-in", NULL), *folder = scratch_path(in_name, NULL),
                        *out = scratch_path(*form, NULL), *tensors = g_build_filename(FIXTURES, with_tensors, NULL),
                        *config = g_build_filename(FIXTURES, *form, NULL),
                        *same = g_build_filename(FIXTURES, base, NULL);
        copy_file(tensors, folder, "model.safetensors");
        copy_file(config, folder, "config.json");
        Model *model = import(dev, folder);
        export(model, NULL, out);
        model_close(model);
        expect_same_file(out, same, "model.safetensors");
        expect_same_config(out, same);
        if (!g_str_has_prefix(base, "t5")) /* of which transformers 5 writes more keys */
            expect_same_config(out, config);
    }
    device_close(dev);
}

static void shards_with_aliases_are_the_same_model(void)
{
    g_autofree char *out = g_build_filename(scratch, "from-shards", NULL);
    Device *dev = device_open_cpu(1, precision_uniform(DT_F32));
    Model *model = import(dev, FIXTURES "t5-v1.1-sharded");
    export(model, NULL, out);
    model_close(model);
    device_close(dev);
    expect_same_file(out, FIXTURES "t5-v1.1", "model.safetensors");
}

static void tensors_decide_tying_and_the_config_scaling(void)
{
    static const struct {
        const char *folder;
        bool tied, scaled;
    } cases[] = { { "t5-v1.0", true, true },
                  { "t5-v1.0-tf5", true, true },
                  { "t5-v1.1", false, false },
                  { "t5-v1.1-tf5", false, false } };
    Device *dev = device_open_cpu(1, precision_uniform(DT_F32));
    for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
        g_autofree char *folder = g_build_filename(FIXTURES, cases[i].folder, NULL);
        Model *model = import(dev, folder);
        g_assert_cmpint(model_config(model)->tie_embeddings, ==, cases[i].tied);
        g_assert_cmpint(model_config(model)->scale_logits, ==, cases[i].scaled);
        model_close(model);
    }
    device_close(dev);
}

typedef struct BadConfig {
    const char *from, *to, *words;
} BadConfig;

/* Edits of the config.json of t5-v1.0, and what the one line must say. */
static const BadConfig bad_configs[] = {
    { "\"model_type\": \"t5\"", "\"model_type\": \"mamba\"",
      "model_type is \"mamba\": loam reads \"t5\", \"umt5\", \"bert\"" },
    { "\"model_type\": \"t5\",", "", "model_type is missing, want one of" },
    { "\"feed_forward_proj\": \"relu\"", "\"feed_forward_proj\": \"gated-mish\"",
      "feed_forward_proj is \"gated-mish\"" },
    { "\"feed_forward_proj\": \"relu\"", "\"feed_forward_proj\": 3", "feed_forward_proj is \"not a string\"" },
    { "\"dense_act_fn\": \"relu\"", "\"dense_act_fn\": \"mish\"", "dense_act_fn is \"mish\"" },
    { "\"is_gated_act\": false", "\"is_gated_act\": \"no\"", "is_gated_act is neither true nor false" },
    { "\"d_kv\": 20", "\"d_kv\": -20", "d_kv is -20, want 1 to 4096" },
    { "\"d_kv\": 20", "\"d_kv\": \"20\"", "d_kv is not a whole number" },
    { "\"dropout_rate\": 0.1", "\"dropout_rate\": 1.5", "dropout_rate is 1.5, want 0 to 0.99" },
    { "\"num_layers\": 2", "\"num_layers\": 1000000000", "num_layers is 1000000000, want 1 to 1000" },
    { "\"num_layers\": 2", "\"num_layers\": 3", "tensor encoder.block.2.layer.0" },
    { "\"num_layers\": 2", "\"num_layers\": 1",
      "no place in this T5ForConditionalGeneration for encoder.block.1.layer" },
    { "\"d_ff\": 40", "\"d_ff\": 41", "wi.weight is (40, 24), but config.json makes it (41, 24)" },
    { "\"vocab_size\": 101", "\"vocab_size\": 16777216",
      "shared.weight is (101, 24), but config.json makes it (16777216, 24)" },
    { "{", "[", "config.json:" },
};

static void expect_refused(const char *folder, const char *words)
{
    GError *error = NULL;
    Device *dev = device_open_cpu(1, precision_uniform(DT_F32));
    Model *model = hf_import(dev, folder, false, &error);
    g_assert_null(model);
    g_assert_error(error, LOAM_ERROR, LOAM_ERROR_USER);
    if (strstr(error->message, words) == NULL || strstr(error->message, folder) == NULL)
        g_error("\"%s\" does not say \"%s\" of %s", error->message, words, folder);
    g_clear_error(&error);
    device_close(dev);
}

static char *replaced(const char *text, const char *from, const char *to)
{
    const char *at = strstr(text, from);
    g_assert_nonnull(at);
    return g_strdup_printf("%.*s%s%s", (int)(at - text), text, to, at + strlen(from));
}

static void every_bad_config_gets_its_line(void)
{
    size_t n_config, n_tensors;
    g_autofree char *config = read_file(FIXTURES "t5-v1.0", "config.json", &n_config);
    g_autofree char *tensors = read_file(FIXTURES "t5-v1.0", "model.safetensors", &n_tensors);
    g_autofree char *folder = g_build_filename(scratch, "bad-config", NULL);
    put_file(folder, "model.safetensors", tensors, n_tensors);
    for (size_t i = 0; i < G_N_ELEMENTS(bad_configs); i++) {
        g_autofree char *edited = replaced(config, bad_configs[i].from, bad_configs[i].to);
        put_file(folder, "config.json", edited, strlen(edited));
        expect_refused(folder, bad_configs[i].words);
    }
}

static void a_folder_without_its_files_says_which(void)
{
    g_autofree char *folder = g_build_filename(scratch, "bare", NULL);
    GError *error = NULL;
    io_make_directories(folder, &error);
    g_assert_no_error(error);
    expect_refused(folder, "no config.json: not a Hugging Face model folder");
    size_t bytes;
    g_autofree char *config = read_file(FIXTURES "t5-v1.0", "config.json", &bytes);
    put_file(folder, "config.json", config, bytes);
    expect_refused(folder, "holds neither model.safetensors nor pytorch_model.bin, whole or in shards");
    put_file(folder, "pytorch_model.bin", "x", 1);
    expect_refused(folder, "pytorch_model.bin: byte 0 of its pickle");
}

/* The tensors of t5-v1.0 again, shared.weight as `dtype` with `values`, and with lm_head.weight where asked. */
static char *put_variant(const char *name, const char *dtype, const void *values, const void *head)
{
    GError *error = NULL;
    size_t bytes;
    g_autofree char *config = read_file(FIXTURES "t5-v1.0", "config.json", &bytes);
    char *folder = g_build_filename(scratch, name, NULL);
    put_file(folder, "config.json", config, bytes);
    TensorFile *file = safetensors_open(FIXTURES "t5-v1.0/model.safetensors", &error);
    g_assert_no_error(error);
    SafeWriter *writer = safetensors_writer_new();
    for (int i = 0; i < tensor_file_count(file); i++) {
        const FileTensor *t = tensor_file_get(file, i);
        bool shared = strcmp(t->name, "shared.weight") == 0;
        safetensors_writer_add(writer, t->name, shared ? dtype : t->dtype, t->rank, t->shape,
                               shared ? values : t->data);
        if (shared && head)
            safetensors_writer_add(writer, "lm_head.weight", dtype, t->rank, t->shape, head);
    }
    g_autofree char *path = g_build_filename(folder, "model.safetensors", NULL);
    safetensors_writer_write(writer, path, &error);
    g_assert_no_error(error);
    safetensors_writer_free(writer);
    tensor_file_close(file);
    return folder;
}

#define N_SHARED (101 * 24)

static void half_precision_is_widened_exactly(void)
{
    static const struct {
        const char *dtype;
        uint16_t bits; /* of 1.5 */
    } cases[] = { { "BF16", 0x3fc0 }, { "F16", 0x3e00 } };
    Device *dev = device_open_cpu(1, precision_uniform(DT_F32));
    for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
        uint16_t values[N_SHARED];
        for (int j = 0; j < N_SHARED; j++)
            values[j] = cases[i].bits;
        g_autofree char *folder = put_variant(cases[i].dtype, cases[i].dtype, values, NULL);
        Model *model = import(dev, folder);
        const float *w = params_find(model_params(model), "shared")->w.p;
        for (int j = 0; j < N_SHARED; j++)
            g_assert_cmpfloat(w[j], ==, 1.5);
        model_close(model);
    }
    device_close(dev);
    int32_t integers[N_SHARED] = { 0 };
    g_autofree char *folder = put_variant("integers", "I32", integers, NULL);
    expect_refused(folder, "shared.weight has dtype I32");
}

static void a_head_equal_to_the_embedding_is_tied(void)
{
    float values[N_SHARED], other[N_SHARED] = { 0 };
    for (int j = 0; j < N_SHARED; j++)
        values[j] = (float)j;
    Device *dev = device_open_cpu(1, precision_uniform(DT_F32));
    g_autofree char *equal = put_variant("equal-head", "F32", values, values);
    Model *model = import(dev, equal);
    g_assert_true(model_config(model)->tie_embeddings);
    g_assert_null(params_find(model_params(model), "lm_head"));
    model_close(model);
    g_autofree char *different = put_variant("other-head", "F32", values, other);
    model = import(dev, different);
    g_assert_false(model_config(model)->tie_embeddings);
    g_assert_cmpfloat(((float *)params_find(model_params(model), "lm_head")->w.p)[5], ==, 0);
    model_close(model);
    device_close(dev);
}

/* transformers 4 scales what it ties, so the unscaled and tied model goes out with two equal matrices. */
static void tied_but_unscaled_survives_both_generations(void)
{
    size_t n_config, n_tensors;
    g_autofree char *config = read_file(FIXTURES "t5-v1.0-tf5", "config.json", &n_config);
    g_autofree char *tensors = read_file(FIXTURES "t5-v1.0-tf5", "model.safetensors", &n_tensors);
    g_autofree char *edited = replaced(config, "\"scale_decoder_outputs\": true", "\"scale_decoder_outputs\": false");
    g_autofree char *folder = g_build_filename(scratch, "unscaled", NULL);
    g_autofree char *out = g_build_filename(scratch, "unscaled-out", NULL);
    put_file(folder, "model.safetensors", tensors, n_tensors);
    put_file(folder, "config.json", edited, strlen(edited));
    Device *dev = device_open_cpu(1, precision_uniform(DT_F32));
    Model *model = import(dev, folder);
    export(model, NULL, out);
    model_close(model);
    size_t n;
    g_autofree char *text = read_file(out, "config.json", &n);
    g_assert_nonnull(strstr(text, "\"tie_word_embeddings\": false"));
    g_assert_nonnull(strstr(text, "\"scale_decoder_outputs\": false"));
    GError *error = NULL;
    TensorFile *file = weights_open(out, &error);
    g_assert_no_error(error);
    const FileTensor *head = tensor_file_find(file, "lm_head.weight");
    g_assert_nonnull(head);
    g_assert_true(memcmp(head->data, tensor_file_find(file, "shared.weight")->data, head->bytes) == 0);
    tensor_file_close(file);
    model = import(dev, out);
    g_assert_true(model_config(model)->tie_embeddings);
    g_assert_false(model_config(model)->scale_logits);
    model_close(model);
    device_close(dev);
}

/* transformers 5.24 ties every umT5, and scales its logits only if scale_decoder_outputs says so. */
static void a_tied_umt5_is_scaled_as_its_config_says(void)
{
    GError *error = NULL;
    size_t n_config, n_tensors;
    g_autofree char *config = read_file(FIXTURES "umt5", "config.json", &n_config);
    g_autofree char *tensors = read_file(FIXTURES "umt5", "model.safetensors", &n_tensors);
    g_autofree char *folder = g_build_filename(scratch, "tied-umt5", NULL);
    TensorFile *file = weights_open(FIXTURES "umt5", &error);
    g_assert_no_error(error);
    const FileTensor *head = tensor_file_find(file, "lm_head.weight");
    char *place = memmem(tensors, n_tensors, head->data, head->bytes);
    g_assert_nonnull(place);
    memcpy(place, tensor_file_find(file, "shared.weight")->data, head->bytes);
    tensor_file_close(file);
    put_file(folder, "model.safetensors", tensors, n_tensors);
    Device *dev = device_open_cpu(1, precision_uniform(DT_F32));
    for (int scaled = 0; scaled <= 1; scaled++) {
        g_autofree char *key =
            g_strdup_printf("\"scale_decoder_outputs\": %s, \"tie_word_embeddings\": true", scaled ? "true" : "false");
        g_autofree char *edited = replaced(config, "\"tie_word_embeddings\": false", key);
        put_file(folder, "config.json", edited, strlen(edited));
        Model *model = import(dev, folder);
        g_assert_true(model_config(model)->tie_embeddings);
        g_assert_cmpint(model_config(model)->scale_logits, ==, scaled);
        model_close(model);
    }
    device_close(dev);
}

/* Edits of a config.json whose tensors would load, and what the one line must say. */
static void what_an_architecture_has_besides_is_refused(void)
{
    static const struct {
        const char *folder, *from, *to, *words;
    } cases[] = {
        { "llama", "\"rope_scaling\": null", "\"rope_scaling\": {\"factor\": 2.0}",
          "rope_scaling is {\"factor\":2.0}: loam reads null and" },
        { "llama-tf5", "\"rope_type\": \"default\"", "\"rope_type\": \"linear\", \"factor\": 2.0",
          "rope_parameters is {" },
        { "llama", "\"rope_scaling\": null", "\"rope_scaling\": 3", "rope_scaling is 3" },
        { "llama", "\"rope_scaling\": null",
          "\"rope_parameters\": {\"partial_rotary_factor\": 0.5, \"rope_type\": \"default\"}",
          "partial_rotary_factor is 0.5: loam reads 1 only" },
        { "llama-tf5", "\"rope_type\": \"default\"", "\"rope_type\": \"yarn\"", "\"rope_type\":\"yarn\"}: loam reads" },
        { "llama", "\"hidden_act\": \"silu\"", "\"hidden_act\": \"mish\"", "hidden_act is \"mish\"" },
        { "llama", "\"hidden_act\": \"silu\"", "\"hidden_act\": \"mish\"", "relu2" }, /* all that are read */
        { "gpt2", "\"scale_attn_by_inverse_layer_idx\": false", "\"scale_attn_by_inverse_layer_idx\": true",
          "scale_attn_by_inverse_layer_idx is true: loam reads false only" },
        { "gpt2", "\"scale_attn_by_inverse_layer_idx\": false", "\"is_causal\": false",
          "is_causal is false: loam reads true only" },
        { "llama", "\"rope_scaling\": null", "\"is_causal\": false", "is_causal is false: loam reads true only" },
        { "gpt2", "\"n_head\": 5", "\"n_head\": 3", "a width of 20 is not shared evenly by 3 heads" },
        { "bert", "\"absolute\"", "\"sinusoids\"", "position_embedding_type is \"sinusoids\"" },
        { "modernbert-tf5", "\"full_attention\",", "\"sliding_attention\",", "layer_types is not full_attention" },
    };
    for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
        size_t bytes;
        g_autofree char *source = g_build_filename(FIXTURES, cases[i].folder, NULL);
        g_autofree char *config = read_file(source, "config.json", &bytes);
        g_autofree char *edited = replaced(config, cases[i].from, cases[i].to);
        g_autofree char *folder = g_build_filename(scratch, "besides", NULL);
        put_file(folder, "config.json", edited, strlen(edited));
        expect_refused(folder, cases[i].words);
    }
}

/* Each number by itself would do. */
static void numbers_that_do_not_go_together_are_refused(void)
{
    static const struct {
        const char *config, *words;
    } cases[] = {
        { "{\"model_type\": \"llama\", \"hidden_size\": 8, \"num_attention_heads\": 16}",
          "config.json: it makes model.head_dim 0, want 1 to 1024" },
        { "{\"model_type\": \"llama\", \"hidden_size\": 4096, \"num_attention_heads\": 1}",
          "config.json: it makes model.head_dim 4096, want 1 to 1024" },
    };
    for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
        g_autofree char *folder = g_build_filename(scratch, "together", NULL);
        put_file(folder, "config.json", cases[i].config, strlen(cases[i].config));
        expect_refused(folder, cases[i].words);
    }
}

static void a_model_that_no_class_holds_is_not_exported(void)
{
    GError *error = NULL;
    Device *dev = device_open_cpu(1, precision_uniform(DT_F32));
    Model *model = import(dev, FIXTURES "gpt2");
    ModelConfig config = *model_config(model);
    config.position = POSITION_ALIBI;
    Model *alibi = model_open(dev, &config, false, &error); /* before its preset's name goes with the first */
    g_assert_no_error(error);
    model_close(model);
    model = alibi;
    g_autofree char *out = g_build_filename(scratch, "alibi", NULL);
    g_assert_false(hf_export(model, NULL, (HfForm){ .dtype = "F32" }, out, &error));
    g_assert_error(error, LOAM_ERROR, LOAM_ERROR_USER);
    g_assert_nonnull(
        strstr(error->message, "GPT2LMHeadModel of Hugging Face (model.architecture=gpt2) has no such model.position"));
    g_clear_error(&error);
    model_close(model);
    device_close(dev);
}

/* The same tensors under the other name; its config.json in transformers 5 says that it is tied, which it never is. */
static void an_mt5_is_an_untied_t5(void)
{
    size_t n_config, n_tensors;
    g_autofree char *config = read_file(FIXTURES "t5-v1.1-tf5", "config.json", &n_config);
    g_autofree char *tensors = read_file(FIXTURES "t5-v1.1-tf5", "model.safetensors", &n_tensors);
    g_autofree char *renamed = replaced(config, "\"model_type\": \"t5\"", "\"model_type\": \"mt5\"");
    g_autofree char *edited = replaced(renamed, "  \"scale_decoder_outputs\": false,\n", "");
    g_autofree char *folder = g_build_filename(scratch, "mt5", NULL);
    g_autofree char *out = g_build_filename(scratch, "mt5-out", NULL);
    put_file(folder, "model.safetensors", tensors, n_tensors);
    put_file(folder, "config.json", edited, strlen(edited));
    Device *dev = device_open_cpu(1, precision_uniform(DT_F32));
    Model *model = import(dev, folder);
    g_assert_false(model_config(model)->tie_embeddings);
    g_assert_false(model_config(model)->scale_logits);
    export(model, NULL, out);
    model_close(model);
    device_close(dev);
    expect_same_file(out, FIXTURES "t5-v1.1", "model.safetensors");
    expect_same_config(out, FIXTURES "t5-v1.1");
}

static int count_names(const char *folder)
{
    g_autoptr(GDir) dir = g_dir_open(folder, 0, NULL);
    int n = 0;
    while (g_dir_read_name(dir))
        n++;
    return n;
}

static void export_leaves_other_peoples_files_alone(void)
{
    GError *error = NULL;
    Device *dev = device_open_cpu(1, precision_uniform(DT_F32));
    Model *model = import(dev, FIXTURES "t5-v1.0");
    g_autofree char *out = g_build_filename(scratch, "taken", NULL), *kept = scratch_path("taken", "thesis.tex");
    put_file(out, "thesis.tex", "x", 1);
    g_assert_false(hf_export(model, NULL, (HfForm){ .dtype = "F32" }, out, &error));
    g_assert_error(error, LOAM_ERROR, LOAM_ERROR_USER);
    g_assert_true(g_file_test(kept, G_FILE_TEST_EXISTS));
    g_clear_error(&error);

    /* A disk that fails at any write leaves neither the folder nor its temporary form; a folder that has the name of
     * one, and another's files, stays. */
    g_autofree char *above = g_build_filename(scratch, "disk", NULL), *target = g_build_filename(above, "failed", NULL),
                    *tmp = g_build_filename(above, "tmp-failed", NULL);
    put_file(tmp, "thesis.tex", "x", 1);
    for (int n = 1;; n++) {
        io_fail_at(n, ENOSPC);
        bool done = hf_export(model, NULL, (HfForm){ .dtype = "F32" }, target, &error);
        io_fail_at(0, 0);
        if (done)
            break;
        g_assert_error(error, LOAM_ERROR, LOAM_ERROR_MACHINE);
        g_clear_error(&error);
        if (g_file_test(target, G_FILE_TEST_EXISTS)) { /* renamed, but the parent not synced: whole */
            model_close(import(dev, target));
            io_remove_tree(target, &error);
        }
        g_assert_cmpint(count_names(above), ==, 1);
    }
    g_autofree char *thesis = scratch_path("disk/tmp-failed", "thesis.tex");
    g_assert_true(g_file_test(thesis, G_FILE_TEST_EXISTS));
    model_close(model);
    device_close(dev);
}

static void a_tokenizer_goes_along(void)
{
    GError *error = NULL;
    Tokenizer *tok = tokenizer_open(T5_TOKENIZER, &error);
    g_assert_no_error(error);
    Device *dev = device_open_cpu(1, precision_uniform(DT_F32));
    Model *small = import(dev, FIXTURES "t5-v1.0");
    g_autofree char *out = g_build_filename(scratch, "with-tokenizer", NULL);
    g_assert_false(hf_export(small, tok, (HfForm){ .dtype = "F32" }, out, &error));
    g_assert_nonnull(strstr(error->message, "has 1000 tokens, the model only 101"));
    g_clear_error(&error);

    ModelConfig config = *model_config(small);
    config.vocab = 1024;
    config.width = 8;
    Model *model = model_open(dev, &config, false, &error);
    g_assert_no_error(error);
    export(model, tok, out);
    expect_same_file(out, T5_TOKENIZER, "spiece.model");
    size_t n;
    g_autofree char *text = read_file(out, "tokenizer_config.json", &n);
    json_t *root = json_loads(text, 0, NULL);
    g_assert_cmpstr(json_string_value(json_object_get(root, "tokenizer_class")), ==, "PreTrainedTokenizerFast");
    g_assert_cmpstr(json_string_value(json_object_get(root, "eos_token")), ==, "</s>");
    const json_t *sentinels = json_object_get(root, "additional_special_tokens");
    g_assert_cmpuint(json_array_size(sentinels), ==, 100);
    g_assert_cmpstr(json_string_value(json_array_get(sentinels, 7)), ==, "<extra_id_7>");
    json_decref(root);
    model_close(model);
    model_close(small);
    device_close(dev);
    tokenizer_close(tok);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    scratch = g_dir_make_tmp("loam-hf-XXXXXX", NULL);
    g_auto(GStrv) fixtures = fixtures_with("expected.safetensors");
    for (char **fixture = fixtures; *fixture; fixture++) {
        g_autofree char *title = g_strconcat("/hf/export_gives_back/", *fixture, NULL);
        if (!is_changed(*fixture))
            g_test_add_data_func(title, *fixture, export_gives_back_what_transformers_wrote);
    }
    g_test_add_func("/hf/every_form_of_a_folder_is_the_same_model", every_form_of_a_folder_is_the_same_model);
    g_test_add_func("/hf/shards_with_aliases_are_the_same_model", shards_with_aliases_are_the_same_model);
    g_test_add_func("/hf/tensors_decide_tying_and_the_config_scaling", tensors_decide_tying_and_the_config_scaling);
    g_test_add_func("/hf/every_bad_config_gets_its_line", every_bad_config_gets_its_line);
    g_test_add_func("/hf/a_folder_without_its_files_says_which", a_folder_without_its_files_says_which);
    g_test_add_func("/hf/half_precision_is_widened_exactly", half_precision_is_widened_exactly);
    g_test_add_func("/hf/a_head_equal_to_the_embedding_is_tied", a_head_equal_to_the_embedding_is_tied);
    g_test_add_func("/hf/tied_but_unscaled_survives_both_generations", tied_but_unscaled_survives_both_generations);
    g_test_add_func("/hf/what_an_architecture_has_besides_is_refused", what_an_architecture_has_besides_is_refused);
    g_test_add_func("/hf/numbers_that_do_not_go_together_are_refused", numbers_that_do_not_go_together_are_refused);
    g_test_add_func("/hf/a_model_that_no_class_holds_is_not_exported", a_model_that_no_class_holds_is_not_exported);
    g_test_add_func("/hf/an_mt5_is_an_untied_t5", an_mt5_is_an_untied_t5);
    g_test_add_func("/hf/a_tied_umt5_is_scaled_as_its_config_says", a_tied_umt5_is_scaled_as_its_config_says);
    g_test_add_func("/hf/export_leaves_other_peoples_files_alone", export_leaves_other_peoples_files_alone);
    g_test_add_func("/hf/a_tokenizer_goes_along", a_tokenizer_goes_along);
    int status = g_test_run();
    io_remove_tree(scratch, NULL);
    g_free(scratch);
    return status;
}
