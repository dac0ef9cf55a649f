#include "model/fairseq_lm.h"

#include "format/torch_file.h"
#include "nn/ctx.h"

#include <string.h>

#define PREFIX     "model/decoder."
#define MAX_BLOCKS 1000
#define FIRST_ROW  2 /* row of the first position, learned or sinusoidal: fairseq's padding is id 1 */

const TensorName fairseq_lm_body[] = {
    TENSOR("shared", "embed_tokens.weight"),
    TENSOR("decoder.positions", "embed_positions.weight"),
    TENSOR("decoder.embed_norm", "layernorm_embedding.weight"),
    TENSOR("decoder.#.self.norm", "layers.#.self_attn_layer_norm.weight"),
    TENSOR("decoder.#.self.o", "layers.#.self_attn.out_proj.weight"),
    TENSOR("decoder.#.self.*", "layers.#.self_attn.*_proj.weight"),
    TENSOR("decoder.#.mlp.norm", "layers.#.final_layer_norm.weight"),
    TENSOR("decoder.#.mlp.wi", "layers.#.fc1.weight"),
    TENSOR("decoder.#.mlp.wo", "layers.#.fc2.weight"),
    TENSOR("decoder.final_norm", "layer_norm.weight"),
    { 0 },
};

static const TensorName heads[] = { TENSOR("lm_head", PREFIX "output_projection.weight"), { 0 } };

/* Buffers. */
static const char *const ignored[] = { PREFIX "version", PREFIX "embed_positions._float_tensor", NULL };

static const TensorNames names = {
    .model = "transformer_lm", .prefix = PREFIX, .body = fairseq_lm_body, .heads = heads, .ignored = ignored
};

/* ---- options: Hydra's cfg of fairseq 0.10.2 and newer, or the Namespace args of before ---- */

/* The text of an option; NULL where the checkpoint does not have it. */
static const char *option(const TensorFile *file, const char *name)
{
    static const char *const groups[] = { "cfg/model/", "args/" };
    const char *text = NULL;
    for (size_t i = 0; i < G_N_ELEMENTS(groups) && text == NULL; i++) {
        g_autofree char *key = g_strconcat(groups[i], name, NULL);
        text = tensor_file_metadata(file, key);
    }
    return text;
}

static bool flag(const TensorFile *file, const char *name)
{
    return g_strcmp0(option(file, name), "true") == 0;
}

/* *out holds the default before. */
static bool read_rate(const TensorFile *file, const char *name, double *out, GError **error)
{
    const char *text = option(file, name);
    if (text)
        *out = g_ascii_strtod(text, NULL);
    return (*out >= 0 && *out < 1) || fail_user(error, "its option %s is %s, want 0 to 0.99", name, text);
}

static bool read_activation(const TensorFile *file, int *activation, GError **error)
{
    static const struct {
        const char *name;
        Activation activation;
    } activations[] = {
        { "relu", ACT_RELU },           { "gelu", ACT_GELU_ERF },
        { "gelu_fast", ACT_GELU_TANH }, { "gelu_accurate", ACT_GELU_TANH },
        { "tanh", ACT_TANH },
    };
    const char *text = option(file, "activation_fn");
    for (size_t i = 0; i < G_N_ELEMENTS(activations); i++)
        if (strcmp(text ? text : "relu", activations[i].name) == 0) {
            *activation = (int)activations[i].activation;
            return true;
        }
    return fail_user(error, "its option activation_fn is %s, want relu, gelu, gelu_fast, gelu_accurate or tanh", text);
}

static bool read_heads(const TensorFile *file, ModelConfig *config, GError **error)
{
    const char *text = option(file, "decoder_attention_heads");
    if (text == NULL)
        return fail_user(error, "it has no option decoder_attention_heads, so not all of the model's configuration");
    config->heads = g_ascii_strtoll(text, NULL, 10);
    if (config->heads < 1 || config->width % config->heads != 0)
        return fail_user(error, "its option decoder_attention_heads is %s, for a width of %" G_GINT64_FORMAT, text,
                         config->width);
    config->head_dim = config->width / config->heads;
    return true;
}

/* ---- the tensors ---- */

static const FileTensor *find(const TensorFile *file, const char *name)
{
    g_autofree char *whole = g_strconcat(PREFIX, name, NULL);
    return tensor_file_find(file, whole);
}

/* Blocks numbered from 0 without a gap. */
static int64_t count_blocks(const TensorFile *file)
{
    for (int n = 0; n < MAX_BLOCKS; n++) {
        g_autofree char *name = g_strdup_printf("layers.%d.fc1.weight", n);
        if (find(file, name) == NULL)
            return n;
    }
    return MAX_BLOCKS;
}

static bool same_values(const FileTensor *a, const FileTensor *b)
{
    return strcmp(a->dtype, b->dtype) == 0 && a->bytes == b->bytes && memcmp(a->data, b->data, a->bytes) == 0;
}

/* Learned positions have a table, of which the first rows are unused; sinusoids and no positions have none. */
static void read_positions(const TensorFile *file, ModelConfig *config)
{
    const FileTensor *table = find(file, "embed_positions.weight");
    config->position_offset = FIRST_ROW;
    config->position = table                                          ? POSITION_LEARNED
                       : flag(file, "no_token_positional_embeddings") ? POSITION_NONE
                                                                      : POSITION_SINUSOIDAL;
    if (table && table->rank == 2)
        config->max_positions = table->shape[0] - FIRST_ROW;
}

static bool read_tensors(const TensorFile *file, ModelConfig *config, GError **error)
{
    const FileTensor *embedding = find(file, "embed_tokens.weight"), *up = find(file, "layers.0.fc1.weight");
    const FileTensor *head = find(file, "output_projection.weight");
    if (embedding == NULL || up == NULL || embedding->rank != 2 || up->rank != 2)
        return fail_user(error, "it has no " PREFIX "embed_tokens.weight and " PREFIX "layers.0.fc1.weight: it is no "
                                "checkpoint of a transformer_lm of fairseq");
    config->n_dec = count_blocks(file);
    config->vocab = embedding->shape[0];
    config->width = embedding->shape[1];
    config->ffn = up->shape[0];
    config->tie_embeddings = head == NULL || same_values(head, embedding);
    config->final_norm = find(file, "layer_norm.weight") != NULL;
    config->embed_norm = find(file, "layernorm_embedding.weight") != NULL;
    read_positions(file, config);
    return (config->vocab > 0 && config->width > 0 && config->ffn > 0 && config->max_positions > 0) ||
           fail_user(error, "its tensors make no model");
}

static bool read_config(const TensorFile *file, ModelConfig *config, GError **error)
{
    model_config_defaults(config);
    config->family = FAMILY_GPT;
    config->n_enc = 0;
    config->norm = NORM_LAYER;
    config->norm_eps = 1e-5;
    config->bias = config->norm_bias = config->scale_scores = true;
    config->gated = config->inner_dropout = false;
    config->init = INIT_SCHEME_FAIRSEQ;
    config->dropout = 0.1;
    config->attention_dropout = config->activation_dropout = 0;
    config->post_norm = !flag(file, "decoder_normalize_before");
    config->scale_embedding = !flag(file, "no_scale_embedding");
    if (flag(file, "alibi"))
        return fail_user(error, "its option alibi is true, which loam does not read");
    return read_tensors(file, config, error) && read_heads(file, config, error) &&
           read_activation(file, &config->activation, error) && read_rate(file, "dropout", &config->dropout, error) &&
           read_rate(file, "attention_dropout", &config->attention_dropout, error) &&
           read_rate(file, "activation_dropout", &config->activation_dropout, error) &&
           model_config_check(config, error);
}

Model *fairseq_import(Device *dev, const char *path, GError **error)
{
    g_autoptr(TensorFile) file = torch_open(path, error);
    if (file == NULL)
        return NULL;
    g_autoptr(GHashTable) tensors = tensor_names_select(file, "model/");
    ModelConfig config;
    Model *model = NULL;
    if (read_config(file, &config, error))
        model = tensor_names_open_model(&names, tensors, "the other tensors make it", dev, &config, false, error);
    if (model == NULL)
        fail_context(error, "%s", path);
    return model;
}
