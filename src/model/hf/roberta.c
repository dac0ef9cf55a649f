/* RobertaForMaskedLM and the bare RobertaModel: BERT without pairs of sentences, whose first position is
 * the row after the padding's id. */
#include "base/log.h"
#include "model/hf/architecture.h"

static const HfName names[] = {
    HF_SAME("shared", "roberta.embeddings.word_embeddings.weight"),
    HF_SAME("lm_head", "lm_head.decoder.weight"),
    HF_SAME("lm_head.bias", "lm_head.bias"),
    HF_SAME("transform.dense", "lm_head.dense.weight"),
    HF_SAME("transform.dense.bias", "lm_head.dense.bias"),
    HF_SAME("transform.norm", "lm_head.layer_norm.weight"),
    HF_SAME("transform.norm.bias", "lm_head.layer_norm.bias"),
    HF_SAME("pooler", "roberta.pooler.dense.weight"),
    HF_SAME("pooler.bias", "roberta.pooler.dense.bias"),
    HF_SAME("encoder.positions", "roberta.embeddings.position_embeddings.weight"),
    HF_SAME("encoder.segments", "roberta.embeddings.token_type_embeddings.weight"),
    HF_SAME("encoder.embed_norm", "roberta.embeddings.LayerNorm.weight"),
    HF_SAME("encoder.embed_norm.bias", "roberta.embeddings.LayerNorm.bias"),
    HF_SAME("encoder.#.self.q", "roberta.encoder.layer.#.attention.self.query.weight"),
    HF_SAME("encoder.#.self.q.bias", "roberta.encoder.layer.#.attention.self.query.bias"),
    HF_SAME("encoder.#.self.k", "roberta.encoder.layer.#.attention.self.key.weight"),
    HF_SAME("encoder.#.self.k.bias", "roberta.encoder.layer.#.attention.self.key.bias"),
    HF_SAME("encoder.#.self.v", "roberta.encoder.layer.#.attention.self.value.weight"),
    HF_SAME("encoder.#.self.v.bias", "roberta.encoder.layer.#.attention.self.value.bias"),
    HF_SAME("encoder.#.self.o", "roberta.encoder.layer.#.attention.output.dense.weight"),
    HF_SAME("encoder.#.self.o.bias", "roberta.encoder.layer.#.attention.output.dense.bias"),
    HF_SAME("encoder.#.self.norm", "roberta.encoder.layer.#.attention.output.LayerNorm.weight"),
    HF_SAME("encoder.#.self.norm.bias", "roberta.encoder.layer.#.attention.output.LayerNorm.bias"),
    HF_SAME("encoder.#.mlp.wi", "roberta.encoder.layer.#.intermediate.dense.weight"),
    HF_SAME("encoder.#.mlp.wi.bias", "roberta.encoder.layer.#.intermediate.dense.bias"),
    HF_SAME("encoder.#.mlp.wo", "roberta.encoder.layer.#.output.dense.weight"),
    HF_SAME("encoder.#.mlp.wo.bias", "roberta.encoder.layer.#.output.dense.bias"),
    HF_SAME("encoder.#.mlp.norm", "roberta.encoder.layer.#.output.LayerNorm.weight"),
    HF_SAME("encoder.#.mlp.norm.bias", "roberta.encoder.layer.#.output.LayerNorm.bias"),
};

#define BIAS_OF_DECODER "lm_head.decoder.bias"
static const char *const ignored[] = { "roberta.embeddings.position_ids", BIAS_OF_DECODER, NULL };

static const HfIntKey ints[] = {
    { "vocab_size", offsetof(ModelConfig, vocab), 50265, 1, 1 << 24 },
    { "hidden_size", offsetof(ModelConfig, width), 768, 1, 1 << 16 },
    { "num_hidden_layers", offsetof(ModelConfig, n_enc), 12, 1, 1000 },
    { "num_attention_heads", offsetof(ModelConfig, heads), 12, 1, 1 << 10 },
    { "intermediate_size", offsetof(ModelConfig, ffn), 3072, 1, 1 << 20 },
    { "type_vocab_size", offsetof(ModelConfig, segments), 2, 1, 1 << 10 },
};

static const HfRealKey reals[] = {
    { "hidden_dropout_prob", offsetof(ModelConfig, dropout), 0.1, 0, 0.99 },
    { "attention_probs_dropout_prob", offsetof(ModelConfig, attention_dropout), 0.1, 0, 0.99 },
    { "layer_norm_eps", offsetof(ModelConfig, norm_eps), 1e-12, 0, 1 },
    { "initializer_range", offsetof(ModelConfig, init_std), 0.02, 0, 100 },
};

static const HfFixedKey fixed[] = {
    { "position_embedding_type", "\"absolute\"" },
    { "is_decoder", "false" },
    { "add_cross_attention", "false" },
};

static void shape(ModelConfig *config)
{
    int64_t offset = config->position_offset;
    hf_shape_bert(config);
    config->position = POSITION_LEARNED;
    config->position_offset = offset;
    config->sentence_head = false;
    hf_fix_head(config, ACT_GELU_ERF);
}

static bool read_roberta(const json_t *root, ModelConfig *config, GError **error)
{
    const HfIntKey pad = { "pad_token_id", 0, 1, 0, 1000 }, rows = { "max_position_embeddings", 0, 512, 3, 1 << 24 };
    int64_t padding;
    if (!hf_int_read(root, &pad, &padding, error) || !hf_int_read(root, &rows, &config->max_positions, error))
        return false;
    config->position_offset = padding + 1;
    config->max_positions -= config->position_offset;
    if (config->max_positions < 1)
        return fail_user(error, "max_position_embeddings leaves no positions after pad_token_id, %" G_GINT64_FORMAT,
                         padding);
    config->init = INIT_SCHEME_NORMAL;
    config->inner_dropout = false;
    return hf_activation_read(root, "hidden_act", "gelu", &config->activation, error) && hf_check_heads(config, error);
}

static void look(GHashTable *tensors, ModelConfig *config)
{
    hf_prefer(tensors, "lm_head.bias", BIAS_OF_DECODER);
    config->pooler = g_hash_table_contains(tensors, "roberta.pooler.dense.weight");
    config->head_transform = config->head_bias = g_hash_table_contains(tensors, "lm_head.dense.weight");
    hf_fix_head(config, ACT_GELU_ERF); /* whatever the feed-forward network has */
}

static void write_roberta(json_t *root, const ModelConfig *config, HfIds ids)
{
    int pad = (int)config->position_offset - 1;
    if (ids.pad >= 0 && ids.pad != pad)
        log_warning("transformers takes id %d of this RoBERTa for padding, since positions begin at row %d, but the "
                    "tokenizer's is %d: a model.position_offset of %d from the start would agree with it",
                    pad, pad + 1, ids.pad, ids.pad + 1);
    json_object_set_new(root, "architectures",
                        json_pack("[s]", config->head_transform ? "RobertaForMaskedLM" : "RobertaModel"));
    json_object_set_new(root, "max_position_embeddings", json_integer(config->max_positions + config->position_offset));
    json_object_set_new(root, "hidden_act", json_string(hf_activation_name(config->activation)));
    json_object_set_new(root, "tie_word_embeddings", json_boolean(config->tie_embeddings));
    hf_id_write(root, "pad_token_id", pad);
}

/* Classes of sentences are in none, a pooler in the bare model. */
static void drop_heads(ModelConfig *config)
{
    config->sentence_head = false;
    if (config->head_transform)
        config->pooler = false;
    else
        hf_drop_vocabulary_head(config);
}

const HfArchitecture hf_roberta = { .model_type = "roberta",
                                    .class_name = "RobertaForMaskedLM",
                                    .prefix = "roberta.",
                                    .untied_bias = BIAS_OF_DECODER,
                                    HF_TABLES,
                                    .read = read_roberta,
                                    .look = look,
                                    .write = write_roberta,
                                    .shape = shape,
                                    .drop_heads = drop_heads };
