#include "model/tensor_names.h"

#include "format/tensor_file.h"
#include "nn/ctx.h"

#include <string.h>

#define MOST_BLOCKS 1000
#define FIRST_ROW   2 /* row of the first position, learned or sinusoidal: fairseq's padding is id 1 */

/* ---- what a checkpoint holds beside its tensors. Options are Hydra's "cfg" since fairseq 0.10.2, or the Namespace
 * "args" of older versions; sizes follow from the shapes of the tensors under "model". ---- */

/* The value of an option of the model, as text; NULL if the checkpoint does not have it. */
static const char *option_of(const TensorFile *file, const char *name)
{
    static const char *const groups[] = { "cfg/model/", "args/" };
    const char *text = NULL;
    for (size_t i = 0; i < G_N_ELEMENTS(groups) && text == NULL; i++) {
        g_autofree char *key = g_strconcat(groups[i], name, NULL);
        text = tensor_file_metadata(file, key);
    }
    return text;
}

/* False if the checkpoint does not have the option. */
static bool flag_of(const TensorFile *file, const char *name)
{
    return g_strcmp0(option_of(file, name), "true") == 0;
}

/* On entry *out holds the default, which stays if the checkpoint does not have the option. */
static bool read_rate(const TensorFile *file, const char *name, double *out, GError **error)
{
    const char *text = option_of(file, name);
    if (text)
        *out = g_ascii_strtod(text, NULL);
    return (*out >= 0 && *out < 1) || fail_user(error, "its option %s is %s, want 0 to 0.99", name, text);
}

static bool read_activation_fn(const TensorFile *file, int *activation, GError **error)
{
    static const struct {
        const char *name;
        Activation activation;
    } activations[] = {
        { "relu", ACT_RELU },           { "gelu", ACT_GELU_ERF },
        { "gelu_fast", ACT_GELU_TANH }, { "gelu_accurate", ACT_GELU_TANH },
        { "tanh", ACT_TANH },
    };
    const char *text = option_of(file, "activation_fn");
    for (size_t i = 0; i < G_N_ELEMENTS(activations); i++)
        if (strcmp(text ? text : "relu", activations[i].name) == 0) {
            *activation = (int)activations[i].activation;
            return true;
        }
    return fail_user(error, "its option activation_fn is %s, want relu, gelu, gelu_fast, gelu_accurate or tanh", text);
}

/* Sets the options that are the same in all models of fairseq, and the defaults of its rates. */
static void set_defaults(ModelConfig *config)
{
    model_config_defaults(config);
    config->norm = NORM_LAYER;
    config->norm_eps = 1e-5;
    config->bias = config->norm_bias = config->scale_scores = true;
    config->gated = config->inner_dropout = false;
    config->dropout = 0.1;
    config->activation_dropout = 0;
}

/* Reads the activation and the dropout rates, and checks the configuration. */
static bool read_rates(const TensorFile *file, ModelConfig *config, GError **error)
{
    return read_activation_fn(file, &config->activation, error) &&
           read_rate(file, "dropout", &config->dropout, error) &&
           read_rate(file, "attention_dropout", &config->attention_dropout, error) &&
           read_rate(file, "activation_dropout", &config->activation_dropout, error) &&
           model_config_check(config, error);
}

/* Reads a number of heads; it is an error if the option is missing or does not divide the width. */
static bool read_heads(const TensorFile *file, const char *name, int64_t width, int64_t *heads, GError **error)
{
    const char *text = option_of(file, name);
    if (text == NULL)
        return fail_user(error, "it has no option %s, so the model's configuration is incomplete", name);
    *heads = g_ascii_strtoll(text, NULL, 10);
    return (*heads >= 1 && width % *heads == 0) ||
           fail_user(error, "its option %s is %s, for a width of %" G_GINT64_FORMAT, name, text, width);
}

/* Number of blocks: the smallest N for which there is no tensor PREFIX.N.fc1.weight. */
static int64_t count_blocks(const TensorFile *file, const char *prefix)
{
    for (int n = 0; n < MOST_BLOCKS; n++) {
        g_autofree char *name = g_strdup_printf("%s.%d.fc1.weight", prefix, n);
        if (tensor_file_find(file, name) == NULL)
            return n;
    }
    return MOST_BLOCKS;
}

/* ---- a decoder-only language model (transformer_lm) ---- */

#define LM "model/decoder."

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

static const TensorName lm_heads[] = { TENSOR("lm_head", LM "output_projection.weight"), { 0 } };

/* A version, and a buffer of which fairseq uses only the type. */
static const IgnoredTensor lm_ignored[] = { { LM "version", NULL },
                                            { LM "embed_positions._float_tensor", NULL },
                                            { 0 } };

static const TensorNames lm_names = {
    .model = "transformer_lm", .prefix = LM, .body = fairseq_lm_body, .heads = lm_heads, .ignored = lm_ignored
};

/* Learned positions have a table, whose first rows are unused; without learned positions there is no table. */
static void read_lm_positions(const TensorFile *file, ModelConfig *config)
{
    const FileTensor *table = tensor_file_find(file, LM "embed_positions.weight");
    config->position_offset = FIRST_ROW;
    config->position = table                                             ? POSITION_LEARNED
                       : flag_of(file, "no_token_positional_embeddings") ? POSITION_NONE
                                                                         : POSITION_SINUSOIDAL;
    if (table && table->rank == 2)
        config->max_positions = table->shape[0] - FIRST_ROW;
}

/* The sizes that matrices tell: embedding (V,C), up (F,C) of a feed-forward network; head (V,C) or NULL. */
static void read_widths(ModelConfig *config, const FileTensor *embedding, const FileTensor *up, const FileTensor *head)
{
    config->vocab = embedding->shape[0];
    config->width = embedding->shape[1];
    config->ffn = up->shape[0];
    config->tie_embeddings = head == NULL || file_tensor_equal(head, embedding);
}

static bool read_lm_shape(const TensorFile *file, ModelConfig *config, GError **error)
{
    const FileTensor *embedding = tensor_file_find(file, LM "embed_tokens.weight"),
                     *up = tensor_file_find(file, LM "layers.0.fc1.weight");
    const FileTensor *head = tensor_file_find(file, LM "output_projection.weight");
    if (embedding == NULL || up == NULL || embedding->rank != 2 || up->rank != 2)
        return fail_user(error, "it has no " LM "embed_tokens.weight and " LM "layers.0.fc1.weight: it is no "
                                "checkpoint of a transformer_lm of fairseq");
    config->n_dec = count_blocks(file, LM "layers");
    read_widths(config, embedding, up, head);
    config->final_norm = tensor_file_find(file, LM "layer_norm.weight") != NULL;
    config->embed_norm = tensor_file_find(file, LM "layernorm_embedding.weight") != NULL;
    read_lm_positions(file, config);
    return (config->vocab > 0 && config->width > 0 && config->ffn > 0 && config->max_positions > 0) ||
           fail_user(error, "its tensors make no model");
}

static bool read_lm_config(const TensorFile *file, ModelConfig *config, GError **error)
{
    set_defaults(config);
    config->family = FAMILY_GPT;
    config->n_enc = 0;
    config->init = INIT_SCHEME_FAIRSEQ;
    config->attention_dropout = 0;
    config->post_norm = !flag_of(file, "decoder_normalize_before");
    config->scale_embedding = !flag_of(file, "no_scale_embedding");
    if (flag_of(file, "alibi"))
        return fail_user(error, "its option alibi is true, which loam does not read");
    return read_lm_shape(file, config, error) &&
           read_heads(file, "decoder_attention_heads", config->width, &config->heads, error) &&
           read_rates(file, config, error);
}

static Model *open_lm(const TensorFile *file, Device *dev, GError **error)
{
    g_autoptr(GHashTable) tensors = tensor_names_select(file, "model/");
    ModelConfig config;
    if (!read_lm_config(file, &config, error))
        return NULL;
    config.head_dim = config.width / config.heads;
    return tensor_names_open_model(&lm_names, tensors, "the other tensors make it", dev, &config, false, error);
}

/* ---- an encoder-decoder (transformer_t5 of METRO-T0 and AST-T5) ---- */

#define T5      "model/"
#define PADDING 1
#define EOS     2

enum { MOST_DISTANCE = 1 << 20, MOST_BUCKETS = 1 << 12 };

static const TensorName t5_body[] = {
    TENSOR("shared", "encoder.embed_tokens.weight"),
    TENSOR("*.positions", "*.embed_positions.weight"),
    TENSOR("*.embed_norm", "*.layernorm_embedding.weight"),
    TENSOR("*.final_norm", "*.layer_norm.weight"),
    TENSOR("*.#.self.relpos", "*.layers.#.self_attn_rel_pos.rel_attn_bias.weight"),
    TENSOR("*.#.self.norm", "*.layers.#.self_attn_layer_norm.weight"),
    TENSOR("*.#.self.o", "*.layers.#.self_attn.out_proj.weight"),
    TENSOR("*.#.self.*", "*.layers.#.self_attn.*_proj.weight"),
    TENSOR("decoder.#.cross.norm", "decoder.layers.#.encoder_attn_layer_norm.weight"),
    TENSOR("decoder.#.cross.o", "decoder.layers.#.encoder_attn.out_proj.weight"),
    TENSOR("decoder.#.cross.*", "decoder.layers.#.encoder_attn.*_proj.weight"),
    TENSOR("*.#.mlp.norm", "*.layers.#.final_layer_norm.weight"),
    TENSOR("*.#.mlp.wi", "*.layers.#.fc1.weight"),
    TENSOR("*.#.mlp.wo", "*.layers.#.fc2.weight"),
    { 0 },
};

static const TensorName t5_heads[] = { TENSOR("lm_head", T5 "decoder.output_projection.weight"), { 0 } };

/* Versions, and the decoder's copy of the embedding. */
static const IgnoredTensor t5_ignored[] = {
    { T5 "encoder.version", NULL },
    { T5 "decoder.version", NULL },
    { T5 "decoder.embed_tokens.weight", "shared" },
    { 0 },
};

static const TensorNames t5_names = {
    .model = "transformer_t5", .prefix = T5, .body = t5_body, .heads = t5_heads, .ignored = t5_ignored
};

static const FileTensor *find_matrix(const TensorFile *file, const char *name, GError **error)
{
    const FileTensor *tensor = tensor_file_find(file, name);
    if (tensor && tensor->rank == 2 && tensor->shape[0] > 0 && tensor->shape[1] > 0)
        return tensor;
    return fail_user(error, "it has no matrix %s: it is no checkpoint of a transformer_t5 of fairseq", name);
}

static bool is_t5(const TensorFile *file)
{
    return tensor_file_find(file, T5 "encoder.embed_tokens.weight") &&
           tensor_file_find(file, T5 "decoder.embed_tokens.weight");
}

/* Fails unless the file's options for encoder and decoder are equal: loam has a single option for both. */
static bool check_t5_alike(const TensorFile *file, const char *of_encoder, const char *of_decoder, GError **error)
{
    const char *a = option_of(file, of_encoder), *b = option_of(file, of_decoder);
    return g_strcmp0(a, b) == 0 || a == NULL || b == NULL ||
           fail_user(error, "its options %s and %s are %s and %s; loam uses one value for both", of_encoder, of_decoder,
                     a, b);
}

/* Sets the kind of relative positions: tables in every encoder block, in all blocks of both stacks, or none. */
static bool read_t5_positions(const TensorFile *file, ModelConfig *config, GError **error)
{
    const FileTensor *table = find_matrix(file, T5 "encoder.embed_positions.weight", error),
                     *bias = tensor_file_find(file, T5 "encoder.layers.0.self_attn_rel_pos.rel_attn_bias.weight");
    const char *distance = option_of(file, "encoder_rp_max_dist");
    if (table == NULL)
        return false;
    config->position_offset = FIRST_ROW;
    config->max_positions = table->shape[0] - FIRST_ROW;
    config->position = bias ? POSITION_LEARNED_AND_BIAS : POSITION_LEARNED;
    if (bias == NULL)
        return true;
    if (bias->rank != 2 || distance == NULL)
        return fail_user(error, "it has relative positions, but no option encoder_rp_max_dist");
    config->rel_rule = RELPOS_AST;
    config->rel_per_block = true;
    config->rel_encoder_only =
        tensor_file_find(file, T5 "decoder.layers.0.self_attn_rel_pos.rel_attn_bias.weight") == NULL;
    config->rel_buckets = bias->shape[0];
    config->rel_max_distance =
        g_ascii_strtoll(distance, NULL, 10) - 1; /* fairseq's value is the first distance that is too large */
    if (config->rel_max_distance < 3 || config->rel_max_distance > MOST_DISTANCE || config->rel_buckets > MOST_BUCKETS)
        return fail_user(error, "its option encoder_rp_max_dist is %s, for %" G_GINT64_FORMAT " buckets", distance,
                         config->rel_buckets);
    return config->rel_encoder_only || (check_t5_alike(file, "encoder_rp_bins", "decoder_rp_bins", error) &&
                                        check_t5_alike(file, "encoder_rp_max_dist", "decoder_rp_max_dist", error));
}

static bool read_t5_shape(const TensorFile *file, ModelConfig *config, GError **error)
{
    const FileTensor *embedding = find_matrix(file, T5 "encoder.embed_tokens.weight", error),
                     *up = embedding ? find_matrix(file, T5 "encoder.layers.0.fc1.weight", error) : NULL,
                     *head = tensor_file_find(file, T5 "decoder.output_projection.weight");
    if (up == NULL)
        return false;
    config->n_enc = count_blocks(file, T5 "encoder.layers");
    config->n_dec = count_blocks(file, T5 "decoder.layers");
    read_widths(config, embedding, up, head);
    config->embed_norm = tensor_file_find(file, T5 "encoder.layernorm_embedding.weight") != NULL;
    config->final_norm = tensor_file_find(file, T5 "encoder.layer_norm.weight") != NULL;
    return read_t5_positions(file, config, error) &&
           (config->max_positions > 0 || fail_user(error, "its tensors make no model"));
}

static bool read_t5_config(const TensorFile *file, ModelConfig *config, GError **error)
{
    set_defaults(config);
    config->family = FAMILY_T5;
    config->init = INIT_SCHEME_FAN_OUT;
    config->attention_dropout = 0.1;
    config->post_norm = !flag_of(file, "encoder_normalize_before");
    config->scale_embedding = g_strcmp0(option_of(file, "no_scale_embedding"), "false") == 0;
    if (!read_t5_shape(file, config, error) ||
        !read_heads(file, "encoder_attention_heads", config->width, &config->heads, error))
        return false;
    config->head_dim = config->width / config->heads;
    return check_t5_alike(file, "encoder_attention_heads", "decoder_attention_heads", error) &&
           check_t5_alike(file, "encoder_normalize_before", "decoder_normalize_before", error) &&
           read_rates(file, config, error);
}

/* Token roles are those of fairseq's dictionary. AST-T5's task t5_mixture adds as many sentinels as a sample has tokens
 * at the end of the dictionary; the first of them is both the decoder start and an end token. */
static void set_roles(const TensorFile *file, const ModelConfig *config, TokenRoles *roles)
{
    const char *task = tensor_file_metadata(file, "cfg/task/_name"),
               *sentinels = tensor_file_metadata(file, "cfg/task/tokens_per_sample");
    int64_t first = config->vocab - (sentinels ? g_ascii_strtoll(sentinels, NULL, 10) : 0);
    roles->pad = PADDING;
    token_roles_add_eos(roles, EOS);
    if (g_strcmp0(task, "t5_mixture") != 0 || first <= EOS || first >= config->vocab)
        return;
    roles->decoder_start = (int32_t)first;
    token_roles_add_eos(roles, (int32_t)first);
}

static Model *open_t5(const TensorFile *file, Device *dev, GError **error)
{
    g_autoptr(GHashTable) tensors = tensor_names_select(file, T5);
    ModelConfig config;
    Model *model = NULL;
    if (read_t5_config(file, &config, error))
        model = tensor_names_open_model(&t5_names, tensors, "the other tensors make it", dev, &config, false, error);
    if (model)
        set_roles(file, model_config(model), model_roles(model));
    return model;
}

Model *fairseq_import(Device *dev, const char *path, GError **error)
{
    g_autoptr(TensorFile) file = torch_open(path, error);
    if (file == NULL)
        return NULL;
    Model *model = is_t5(file) ? open_t5(file, dev, error) : open_lm(file, dev, error);
    if (model == NULL)
        fail_context(error, "%s", path);
    return model;
}
