#include "model/fairseq/checkpoint.h"

#include <string.h>

#define PREFIX  "model/"
#define PADDING 1
#define EOS     2

enum { MOST_DISTANCE = 1 << 20, MOST_BUCKETS = 1 << 12 };

static const TensorName body[] = {
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

static const TensorName heads[] = { TENSOR("lm_head", PREFIX "decoder.output_projection.weight"), { 0 } };

/* Ignored tensors: buffers, and the decoder's copy of the embedding. */
static const char *const ignored[] = { PREFIX "encoder.version", PREFIX "decoder.version",
                                       PREFIX "decoder.embed_tokens.weight", NULL };

static const TensorNames names = {
    .model = "transformer_t5", .prefix = PREFIX, .body = body, .heads = heads, .ignored = ignored
};

static const FileTensor *find_matrix(const TensorFile *file, const char *name, GError **error)
{
    const FileTensor *tensor = tensor_file_find(file, name);
    if (tensor && tensor->rank == 2 && tensor->shape[0] > 0 && tensor->shape[1] > 0)
        return tensor;
    return fail_user(error, "it has no matrix %s: it is no checkpoint of a transformer_t5 of fairseq", name);
}

bool fairseq_t5_is(const TensorFile *file)
{
    return tensor_file_find(file, PREFIX "encoder.embed_tokens.weight") &&
           tensor_file_find(file, PREFIX "decoder.embed_tokens.weight");
}

/* Fails unless two options of the file, one for the encoder and one for the decoder, are equal: loam has a single
 * option for both. */
static bool check_t5_alike(const TensorFile *file, const char *of_encoder, const char *of_decoder, GError **error)
{
    const char *a = fairseq_option(file, of_encoder), *b = fairseq_option(file, of_decoder);
    return g_strcmp0(a, b) == 0 || a == NULL || b == NULL ||
           fail_user(error, "its options %s and %s are %s and %s; loam uses one value for both", of_encoder, of_decoder,
                     a, b);
}

/* Sets the kind of relative positions: the file has such tables in every encoder block, in every block of both stacks,
 * or none. */
static bool read_positions(const TensorFile *file, ModelConfig *config, GError **error)
{
    const FileTensor *table = find_matrix(file, PREFIX "encoder.embed_positions.weight", error),
                     *bias = tensor_file_find(file, PREFIX "encoder.layers.0.self_attn_rel_pos.rel_attn_bias.weight");
    const char *distance = fairseq_option(file, "encoder_rp_max_dist");
    if (table == NULL)
        return false;
    config->position_offset = FAIRSEQ_FIRST_ROW;
    config->max_positions = table->shape[0] - FAIRSEQ_FIRST_ROW;
    config->position = bias ? POSITION_LEARNED_AND_BIAS : POSITION_LEARNED;
    if (bias == NULL)
        return true;
    if (bias->rank != 2 || distance == NULL)
        return fail_user(error, "it has relative positions, but no option encoder_rp_max_dist");
    config->rel_rule = RELPOS_AST;
    config->rel_per_block = true;
    config->rel_encoder_only =
        tensor_file_find(file, PREFIX "decoder.layers.0.self_attn_rel_pos.rel_attn_bias.weight") == NULL;
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
    const FileTensor *embedding = find_matrix(file, PREFIX "encoder.embed_tokens.weight", error),
                     *up = embedding ? find_matrix(file, PREFIX "encoder.layers.0.fc1.weight", error) : NULL,
                     *second = tensor_file_find(file, PREFIX "decoder.embed_tokens.weight"),
                     *head = tensor_file_find(file, PREFIX "decoder.output_projection.weight");
    if (up == NULL)
        return false;
    if (!file_tensor_equal(embedding, second))
        return fail_user(error, "its encoder and its decoder have different embeddings; loam uses one for both");
    config->n_enc = fairseq_count_blocks(file, PREFIX "encoder.layers");
    config->n_dec = fairseq_count_blocks(file, PREFIX "decoder.layers");
    config->vocab = embedding->shape[0];
    config->width = embedding->shape[1];
    config->ffn = up->shape[0];
    config->tie_embeddings = head == NULL || file_tensor_equal(head, embedding);
    config->embed_norm = tensor_file_find(file, PREFIX "encoder.layernorm_embedding.weight") != NULL;
    config->final_norm = tensor_file_find(file, PREFIX "encoder.layer_norm.weight") != NULL;
    return read_positions(file, config, error) &&
           (config->max_positions > 0 || fail_user(error, "its tensors make no model"));
}

static bool read_t5_config(const TensorFile *file, ModelConfig *config, GError **error)
{
    fairseq_defaults(config);
    config->family = FAMILY_T5;
    config->init = INIT_SCHEME_FAN_OUT;
    config->attention_dropout = 0.1;
    config->post_norm = !fairseq_flag(file, "encoder_normalize_before");
    config->scale_embedding = g_strcmp0(fairseq_option(file, "no_scale_embedding"), "false") == 0;
    if (!read_t5_shape(file, config, error) ||
        !fairseq_heads(file, "encoder_attention_heads", config->width, &config->heads, error))
        return false;
    config->head_dim = config->width / config->heads;
    return check_t5_alike(file, "encoder_attention_heads", "decoder_attention_heads", error) &&
           check_t5_alike(file, "encoder_normalize_before", "decoder_normalize_before", error) &&
           fairseq_complete(file, config, error);
}

/* AST-T5's task t5_mixture adds as many sentinels as a sample has tokens at the end of the dictionary. */
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

Model *fairseq_t5_open(const TensorFile *file, Device *dev, GError **error)
{
    g_autoptr(GHashTable) tensors = tensor_names_select(file, PREFIX);
    ModelConfig config;
    Model *model = NULL;
    if (read_t5_config(file, &config, error))
        model = tensor_names_open_model(&names, tensors, "the other tensors make it", dev, &config, false, error);
    if (model)
        set_roles(file, model_config(model), model_roles(model));
    return model;
}
