/* BertForPreTraining, BertForMaskedLM, BertForNextSentencePrediction and the bare BertModel. */
#include "base/log.h"
#include "model/hf/architecture.h"

static const HfName names[] = {
    HF_SAME("shared", "bert.embeddings.word_embeddings.weight"),
    HF_SAME("lm_head", "cls.predictions.decoder.weight"),
    HF_SAME("lm_head.bias", "cls.predictions.bias"),
    HF_SAME("transform.dense", "cls.predictions.transform.dense.weight"),
    HF_SAME("transform.dense.bias", "cls.predictions.transform.dense.bias"),
    HF_SAME("transform.norm", "cls.predictions.transform.LayerNorm.weight"),
    HF_SAME("transform.norm.bias", "cls.predictions.transform.LayerNorm.bias"),
    HF_SAME("pooler", "bert.pooler.dense.weight"),
    HF_SAME("pooler.bias", "bert.pooler.dense.bias"),
    HF_SAME("sentence", "cls.seq_relationship.weight"),
    HF_SAME("sentence.bias", "cls.seq_relationship.bias"),
    HF_SAME("encoder.positions", HF_BERT_POSITIONS),
    HF_SAME("encoder.segments", "bert.embeddings.token_type_embeddings.weight"),
    HF_SAME("encoder.embed_norm", "bert.embeddings.LayerNorm.weight"),
    HF_SAME("encoder.embed_norm.bias", "bert.embeddings.LayerNorm.bias"),
    HF_SAME("encoder.#.self.q", "bert.encoder.layer.#.attention.self.query.weight"),
    HF_SAME("encoder.#.self.q.bias", "bert.encoder.layer.#.attention.self.query.bias"),
    HF_SAME("encoder.#.self.k", "bert.encoder.layer.#.attention.self.key.weight"),
    HF_SAME("encoder.#.self.k.bias", "bert.encoder.layer.#.attention.self.key.bias"),
    HF_SAME("encoder.#.self.v", "bert.encoder.layer.#.attention.self.value.weight"),
    HF_SAME("encoder.#.self.v.bias", "bert.encoder.layer.#.attention.self.value.bias"),
    HF_SAME("encoder.#.self.distance", "bert.encoder.layer.#.attention.self.distance_embedding.weight"),
    HF_SAME("encoder.#.self.o", "bert.encoder.layer.#.attention.output.dense.weight"),
    HF_SAME("encoder.#.self.o.bias", "bert.encoder.layer.#.attention.output.dense.bias"),
    HF_SAME("encoder.#.self.norm", "bert.encoder.layer.#.attention.output.LayerNorm.weight"),
    HF_SAME("encoder.#.self.norm.bias", "bert.encoder.layer.#.attention.output.LayerNorm.bias"),
    HF_SAME("encoder.#.mlp.wi", "bert.encoder.layer.#.intermediate.dense.weight"),
    HF_SAME("encoder.#.mlp.wi.bias", "bert.encoder.layer.#.intermediate.dense.bias"),
    HF_SAME("encoder.#.mlp.wo", "bert.encoder.layer.#.output.dense.weight"),
    HF_SAME("encoder.#.mlp.wo.bias", "bert.encoder.layer.#.output.dense.bias"),
    HF_SAME("encoder.#.mlp.norm", "bert.encoder.layer.#.output.LayerNorm.weight"),
    HF_SAME("encoder.#.mlp.norm.bias", "bert.encoder.layer.#.output.LayerNorm.bias"),
};

/* 0, 1, 2, … as a buffer, the bias of the logits under its other name, and the positions that a model of distances has
 * and does not read. */
#define BIAS_OF_DECODER "cls.predictions.decoder.bias"
static const char *const ignored[] = { "bert.embeddings.position_ids", BIAS_OF_DECODER, HF_BERT_POSITIONS, NULL };

static const HfIntKey ints[] = {
    { "vocab_size", offsetof(ModelConfig, vocab), 30522, 1, 1 << 24 },
    { "hidden_size", offsetof(ModelConfig, width), 768, 1, 1 << 16 },
    { "num_hidden_layers", offsetof(ModelConfig, n_enc), 12, 1, 1000 },
    { "num_attention_heads", offsetof(ModelConfig, heads), 12, 1, 1 << 10 },
    { "intermediate_size", offsetof(ModelConfig, ffn), 3072, 1, 1 << 20 },
    { "max_position_embeddings", offsetof(ModelConfig, max_positions), 512, 1, 1 << 24 },
    { "type_vocab_size", offsetof(ModelConfig, segments), 2, 1, 1 << 10 },
};

static const HfRealKey reals[] = {
    { "hidden_dropout_prob", offsetof(ModelConfig, dropout), 0.1, 0, 0.99 },
    { "attention_probs_dropout_prob", offsetof(ModelConfig, attention_dropout), 0.1, 0, 0.99 },
    { "layer_norm_eps", offsetof(ModelConfig, norm_eps), 1e-12, 0, 1 },
    { "initializer_range", offsetof(ModelConfig, init_std), 0.02, 0, 100 },
};

static const HfFixedKey fixed[] = {
    { "is_decoder", "false" },
    { "add_cross_attention", "false" },
};

void hf_shape_bert(ModelConfig *config)
{
    ModelConfig was = *config;
    hf_shape_plain(config, FAMILY_BERT);
    config->norm = NORM_LAYER;
    config->norm_bias = config->norm_after = config->embed_norm = config->bias = config->scale_scores = true;
    config->final_norm = config->gated = false;
    config->position = model_config_distances(&was) ? was.position : POSITION_LEARNED;
    config->segments = MAX(was.segments, 1);
    config->head_dim = config->width / config->heads;
    config->head_transform = config->head_bias = was.head_transform;
    hf_fix_head(config, (Activation)config->activation);
    config->pooler = was.pooler;
    config->sentence_head = was.sentence_head;
}

static const struct {
    const char *type;
    PositionKind position;
} positions[] = {
    { "absolute", POSITION_LEARNED },
    { "relative_key", POSITION_RELATIVE_KEY },
    { "relative_key_query", POSITION_RELATIVE_KEY_QUERY },
};

static bool read_position(const json_t *root, ModelConfig *config, GError **error)
{
    const json_t *value = json_object_get(root, "position_embedding_type");
    const char *type = value ? json_string_value(value) : positions[0].type;
    for (size_t i = 0; i < G_N_ELEMENTS(positions); i++)
        if (g_strcmp0(positions[i].type, type) == 0) {
            config->position = (int)positions[i].position;
            return true;
        }
    return fail_user(error, "position_embedding_type is \"%s\", want absolute, relative_key or relative_key_query",
                     type ? type : "not a string");
}

static bool read_bert(const json_t *root, ModelConfig *config, GError **error)
{
    config->init = INIT_SCHEME_NORMAL;
    config->inner_dropout = false;
    return read_position(root, config, error) &&
           hf_activation_read(root, "hidden_act", "gelu", &config->activation, error) && hf_check_heads(config, error);
}

/* Which of the heads are there. */
static void look(GHashTable *tensors, ModelConfig *config)
{
    hf_prefer(tensors, "cls.predictions.bias", BIAS_OF_DECODER);
    config->pooler = g_hash_table_contains(tensors, "bert.pooler.dense.weight");
    config->sentence_head = g_hash_table_contains(tensors, "cls.seq_relationship.weight");
    config->head_transform = config->head_bias =
        g_hash_table_contains(tensors, "cls.predictions.transform.dense.weight");
}

static const char *class_of(const ModelConfig *config)
{
    if (config->head_transform)
        return config->sentence_head ? "BertForPreTraining" : "BertForMaskedLM";
    return config->sentence_head ? "BertForNextSentencePrediction" : "BertModel";
}

static void write_bert(json_t *root, const ModelConfig *config, HfIds ids)
{
    json_object_set_new(root, "architectures", json_pack("[s]", class_of(config)));
    if (model_config_distances(config))
        log_warning(
            "transformers 4 reads the distances of this BERT; transformers 5 has none, and would pass them over");
    for (size_t i = 0; i < G_N_ELEMENTS(positions); i++)
        if ((int)positions[i].position == config->position)
            json_object_set_new(root, "position_embedding_type", json_string(positions[i].type));
    json_object_set_new(root, "hidden_act", json_string(hf_activation_name(config->activation)));
    json_object_set_new(root, "tie_word_embeddings", json_boolean(config->tie_embeddings));
    hf_id_write(root, "pad_token_id", ids.pad);
}

/* With logits of the vocabulary there is a pooler only where there are classes of sentences too. */
static void drop_heads(ModelConfig *config)
{
    if (!config->head_transform)
        hf_drop_vocabulary_head(config);
    else if (!config->sentence_head)
        config->pooler = false;
}

const HfArchitecture hf_bert = { .model_type = "bert",
                                 .class_name = "BertForPreTraining",
                                 .prefix = "bert.",
                                 .untied_bias = BIAS_OF_DECODER,
                                 HF_TABLES,
                                 .read = read_bert,
                                 .look = look,
                                 .write = write_bert,
                                 .shape = hf_shape_bert,
                                 .drop_heads = drop_heads };
