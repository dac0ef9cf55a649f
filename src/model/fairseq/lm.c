#include "model/fairseq/checkpoint.h"
#include "model/fairseq/fairseq.h"

#include <string.h>

#define PREFIX "model/decoder."

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

/* Ignored tensors: buffers, which are no parameters. */
static const char *const ignored[] = { PREFIX "version", PREFIX "embed_positions._float_tensor", NULL };

static const TensorNames names = {
    .model = "transformer_lm", .prefix = PREFIX, .body = fairseq_lm_body, .heads = heads, .ignored = ignored
};

/* Learned positions have a table, whose first rows are unused; without learned positions there is no table. */
static void read_positions(const TensorFile *file, ModelConfig *config)
{
    const FileTensor *table = tensor_file_find(file, PREFIX "embed_positions.weight");
    config->position_offset = FAIRSEQ_FIRST_ROW;
    config->position = table                                                  ? POSITION_LEARNED
                       : fairseq_flag(file, "no_token_positional_embeddings") ? POSITION_NONE
                                                                              : POSITION_SINUSOIDAL;
    if (table && table->rank == 2)
        config->max_positions = table->shape[0] - FAIRSEQ_FIRST_ROW;
}

static bool read_tensors(const TensorFile *file, ModelConfig *config, GError **error)
{
    const FileTensor *embedding = tensor_file_find(file, PREFIX "embed_tokens.weight"),
                     *up = tensor_file_find(file, PREFIX "layers.0.fc1.weight");
    const FileTensor *head = tensor_file_find(file, PREFIX "output_projection.weight");
    if (embedding == NULL || up == NULL || embedding->rank != 2 || up->rank != 2)
        return fail_user(error, "it has no " PREFIX "embed_tokens.weight and " PREFIX "layers.0.fc1.weight: it is no "
                                "checkpoint of a transformer_lm of fairseq");
    config->n_dec = fairseq_count_blocks(file, PREFIX "layers");
    config->vocab = embedding->shape[0];
    config->width = embedding->shape[1];
    config->ffn = up->shape[0];
    config->tie_embeddings = head == NULL || file_tensor_equal(head, embedding);
    config->final_norm = tensor_file_find(file, PREFIX "layer_norm.weight") != NULL;
    config->embed_norm = tensor_file_find(file, PREFIX "layernorm_embedding.weight") != NULL;
    read_positions(file, config);
    return (config->vocab > 0 && config->width > 0 && config->ffn > 0 && config->max_positions > 0) ||
           fail_user(error, "its tensors make no model");
}

static bool read_lm_config(const TensorFile *file, ModelConfig *config, GError **error)
{
    fairseq_defaults(config);
    config->family = FAMILY_GPT;
    config->n_enc = 0;
    config->init = INIT_SCHEME_FAIRSEQ;
    config->attention_dropout = 0;
    config->post_norm = !fairseq_flag(file, "decoder_normalize_before");
    config->scale_embedding = !fairseq_flag(file, "no_scale_embedding");
    if (fairseq_flag(file, "alibi"))
        return fail_user(error, "its option alibi is true, which loam does not read");
    return read_tensors(file, config, error) &&
           fairseq_heads(file, "decoder_attention_heads", config->width, &config->heads, error) &&
           fairseq_complete(file, config, error);
}

Model *fairseq_lm_open(const TensorFile *file, Device *dev, GError **error)
{
    g_autoptr(GHashTable) tensors = tensor_names_select(file, "model/");
    ModelConfig config;
    if (!read_lm_config(file, &config, error))
        return NULL;
    config.head_dim = config.width / config.heads;
    return tensor_names_open_model(&names, tensors, "the other tensors make it", dev, &config, false, error);
}
