/* bert.c: BERT and RoBERTa, which is BERT without sentence pairs and with other heads. */
#include "model/hf/architecture.h"

/* ---- BERT: BertForPreTraining, BertForMaskedLM, BertForNextSentencePrediction and the bare BertModel ---- */

/* Embeddings and blocks of both. */
static const TensorName body[] = {
    TENSOR("shared", "embeddings.word_embeddings.weight"),
    TENSOR("pooler", "pooler.dense.weight"),
    TENSOR("encoder.positions", HF_BERT_POSITIONS),
    TENSOR("encoder.segments", "embeddings.token_type_embeddings.weight"),
    TENSOR("encoder.embed_norm", "embeddings.LayerNorm.weight"),
    TENSOR("encoder.#.self.q", "encoder.layer.#.attention.self.query.weight"),
    TENSOR("encoder.#.self.k", "encoder.layer.#.attention.self.key.weight"),
    TENSOR("encoder.#.self.v", "encoder.layer.#.attention.self.value.weight"),
    TENSOR("encoder.#.self.distance", "encoder.layer.#.attention.self.distance_embedding.weight"),
    TENSOR("encoder.#.self.o", "encoder.layer.#.attention.output.dense.weight"),
    TENSOR("encoder.#.self.norm", "encoder.layer.#.attention.output.LayerNorm.weight"),
    TENSOR("encoder.#.mlp.wi", "encoder.layer.#.intermediate.dense.weight"),
    TENSOR("encoder.#.mlp.wo", "encoder.layer.#.output.dense.weight"),
    TENSOR("encoder.#.mlp.norm", "encoder.layer.#.output.LayerNorm.weight"),
    { 0 },
};

static const TensorName bert_heads[] = {
    TENSOR("lm_head", "cls.predictions.decoder.weight"),
    TENSOR("lm_head.bias", "cls.predictions.bias"),
    TENSOR("transform.dense", "cls.predictions.transform.dense.weight"),
    TENSOR("transform.norm", "cls.predictions.transform.LayerNorm.weight"),
    TENSOR("sentence", "cls.seq_relationship.weight"),
    TENSOR("classifier", "classifier.weight"),
    TENSOR("span", "qa_outputs.weight"),
    { 0 },
};

/* The numbers of positions, which transformers before 4.31 reads, the second name of the logits' bias, which is read in
 * place of the first, and the position embeddings that a BERT with relative_key has but does not use. */
#define BERT_SECOND_BIAS "cls.predictions.decoder.bias"
static const IgnoredTensor bert_ignored[] = {
    { "bert.embeddings.position_ids", COUNTS_UP },
    { BERT_SECOND_BIAS, NULL },
    { "bert." HF_BERT_POSITIONS, NULL },
    { 0 },
};

/* Keys of config.json of both. */
static const HfKey keys[] = {
    HF_INT("hidden_size", width, 768, 1, 1 << 16),
    HF_INT("num_hidden_layers", n_enc, 12, 1, 1000),
    HF_INT("num_attention_heads", heads, 12, 1, 1 << 10),
    HF_INT("intermediate_size", ffn, 3072, 1, 1 << 20),
    HF_INT("type_vocab_size", token_types, 2, 1, 1 << 10),
    HF_REAL("hidden_dropout_prob", dropout, 0.1, 0, 0.99),
    HF_REAL("attention_probs_dropout_prob", attention_dropout, 0.1, 0, 0.99),
    HF_REAL("layer_norm_eps", norm_eps, 1e-12, 0, 1),
    HF_REAL("initializer_range", init_std, 0.02, 0, 100),
    HF_ACTIVATION("hidden_act", activation, "gelu"),
    HF_FIXED("is_decoder", "false"),
    HF_FIXED("add_cross_attention", "false"),
    { 0 },
};

static const HfKey bert_keys[] = {
    HF_INT("vocab_size", vocab, 30522, 1, 1 << 24),
    HF_INT("max_position_embeddings", max_positions, 512, 1, 1 << 24),
    { 0 },
};

/* Sets the activation of the transform before the vocabulary (model.head_activation), if the model has one. */
static void fix_head(ModelConfig *config, Activation activation)
{
    if (config->head_transform && model_config_head_activation(config) != activation)
        config->head_activation = (int)activation == config->activation ? 0 : (int)activation + 1;
}

static void shape_bert(ModelConfig *config, const ModelConfig *was)
{
    config->norm = NORM_LAYER;
    config->norm_bias = config->post_norm = config->embed_norm = config->bias = config->scale_scores = true;
    config->final_norm = config->gated = false;
    config->position = model_config_distances(was) ? was->position : POSITION_LEARNED;
    config->token_types = MAX(was->token_types, 1);
    config->head_transform = config->head_bias = was->head_transform;
    fix_head(config, (Activation)config->activation);
    config->pooler = was->pooler;
    config->sentence_head = was->sentence_head;
    config->classifier = was->classifier;
    if (config->classifier == LABELS_NONE)
        return;
    config->head_transform = config->head_bias = config->sentence_head = false;
    config->pooler = config->classifier != LABELS_TOKENS && config->classifier != LABELS_SPAN;
}

static const struct {
    const char *type;
    PositionKind position;
} positions[] = {
    { "absolute", POSITION_LEARNED },
    { "relative_key", POSITION_RELATIVE_KEY },
    { "relative_key_query", POSITION_RELATIVE_KEY_QUERY },
};

static bool read_bert(const json_t *root, ModelConfig *config, GError **error)
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

static const char *bert_class(const ModelConfig *config)
{
    if (config->head_transform)
        return config->sentence_head ? "BertForPreTraining" : "BertForMaskedLM";
    return config->sentence_head ? "BertForNextSentencePrediction" : "BertModel";
}

static void write_bert(json_t *root, const ModelConfig *config, const TokenRoles *roles)
{
    json_object_set_new(root, "architectures", json_pack("[s]", bert_class(config)));
    if (model_config_distances(config))
        log_warning(
            "transformers 4 reads the distance embeddings of this BERT (relative_key); transformers 5 ignores them");
    for (size_t i = 0; i < G_N_ELEMENTS(positions); i++)
        if ((int)positions[i].position == config->position)
            json_object_set_new(root, "position_embedding_type", json_string(positions[i].type));
    hf_id_write(root, "pad_token_id", roles->pad);
    if (roles->eos.n > 1)
        hf_eos_write(root, roles);
}

const HfArchitecture hf_bert = {
    .model_type = "bert",
    .stored = ARCHITECTURE_BERT,
    .names = { "BertForPreTraining", "bert.", body, bert_heads, bert_ignored },
    .second_bias = BERT_SECOND_BIAS,
    .keys = keys,
    .more_keys = bert_keys,
    .family = FAMILY_BERT,
    .default_ids = { 0, -1, -1 },
    .read = read_bert,
    .write = write_bert,
    .shape = shape_bert,
};

/* ---- RobertaForMaskedLM and the bare RobertaModel: the first position has row pad_token_id + 1 of the table ---- */

static const TensorName roberta_heads[] = {
    TENSOR("lm_head", "lm_head.decoder.weight"),
    TENSOR("lm_head.bias", "lm_head.bias"),
    TENSOR("transform.dense", "lm_head.dense.weight"),
    TENSOR("transform.norm", "lm_head.layer_norm.weight"),
    TENSOR("classifier", "classifier.weight"),
    TENSOR("classifier.dense", "classifier.dense.weight"),
    TENSOR("classifier.out", "classifier.out_proj.weight"),
    TENSOR("span", "qa_outputs.weight"),
    { 0 },
};

#define ROBERTA_SECOND_BIAS "lm_head.decoder.bias"
/* The numbers of positions, which a RoBERTa counts itself, and the second name of the logits' bias. */
static const IgnoredTensor roberta_ignored[] = {
    { "roberta.embeddings.position_ids", NULL },
    { ROBERTA_SECOND_BIAS, NULL },
    { 0 },
};

static const HfKey roberta_keys[] = {
    HF_INT("vocab_size", vocab, 50265, 1, 1 << 24),
    HF_FIXED("position_embedding_type", "\"absolute\""),
    { 0 },
};

static void shape_roberta(ModelConfig *config, const ModelConfig *was)
{
    shape_bert(config, was);
    config->position = POSITION_LEARNED;
    config->position_offset = was->position_offset;
    config->sentence_head = false;
    config->classifier_dense = config->classifier == LABELS_SEQUENCE || config->classifier == LABELS_VALUE;
    if (config->classifier)
        config->pooler = config->classifier == LABELS_CHOICE;
    fix_head(config, ACT_GELU_ERF); /* whatever the activation of the feed-forward networks */
}

/* max_position_embeddings counts the rows of the table, of which those up to pad_token_id are unused. */
static bool read_roberta(const json_t *root, ModelConfig *config, GError **error)
{
    const HfKey counts[] = {
        HF_INT("pad_token_id", position_offset, 1, 0, 1000),
        HF_INT("max_position_embeddings", max_positions, 512, 3, 1 << 24),
        { 0 },
    };
    if (!hf_keys_read(root, counts, config, error))
        return false;
    config->position_offset++;
    config->max_positions -= config->position_offset;
    if (config->max_positions < 1)
        return fail_user(error, "max_position_embeddings leaves no positions after pad_token_id, %" G_GINT64_FORMAT,
                         config->position_offset - 1);
    return true;
}

static bool check_roberta(const ModelConfig *config, GError **error)
{
    return config->position_offset > 0 ||
           fail_user(error, "RobertaForMaskedLM of Hugging Face (model.architecture=roberta) takes the row before the "
                            "first position for padding, and model.position_offset is 0: model.architecture=bert has "
                            "no such row");
}

static void write_roberta(json_t *root, const ModelConfig *config, const TokenRoles *roles)
{
    int pad = (int)config->position_offset - 1;
    if (roles->pad >= 0 && roles->pad != pad)
        log_warning("transformers takes id %d of this RoBERTa for padding, since positions begin at row %d, but the "
                    "tokenizer's is %d: a model.position_offset of %d from the start would agree with it",
                    pad, pad + 1, roles->pad, roles->pad + 1);
    json_object_set_new(root, "architectures",
                        json_pack("[s]", config->head_transform ? "RobertaForMaskedLM" : "RobertaModel"));
    json_object_set_new(root, "max_position_embeddings", json_integer(config->max_positions + config->position_offset));
    hf_id_write(root, "pad_token_id", pad);
    if (roles->eos.n > 1)
        hf_eos_write(root, roles);
}

const HfArchitecture hf_roberta = {
    .model_type = "roberta",
    .stored = ARCHITECTURE_ROBERTA,
    .names = { "RobertaForMaskedLM", "roberta.", body, roberta_heads, roberta_ignored },
    .second_bias = ROBERTA_SECOND_BIAS,
    .keys = keys,
    .more_keys = roberta_keys,
    .family = FAMILY_BERT,
    .default_ids = { 1, 0, 2 },
    .read = read_roberta,
    .write = write_roberta,
    .shape = shape_roberta,
    .check = check_roberta,
};
