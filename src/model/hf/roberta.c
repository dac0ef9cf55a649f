/* RoBERTa: RobertaForMaskedLM and the bare RobertaModel: BERT without sentence pairs; the first position of a sequence
 * has row pad_token_id + 1 of the table. */
#include "base/log.h"
#include "model/hf/architecture.h"

static const TensorName heads[] = {
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

#define SECOND_BIAS "lm_head.decoder.bias"
static const char *const ignored[] = { "roberta.embeddings.position_ids", SECOND_BIAS, NULL };

static const HfKey keys[] = {
    HF_INT("vocab_size", vocab, 50265, 1, 1 << 24),
    HF_FIXED("position_embedding_type", "\"absolute\""),
    { 0 },
};

static void shape_roberta(ModelConfig *config, const ModelConfig *was)
{
    hf_shape_bert(config, was);
    config->position = POSITION_LEARNED;
    config->position_offset = was->position_offset;
    config->sentence_head = false;
    config->classifier_dense = config->classifier == LABELS_SEQUENCE || config->classifier == LABELS_VALUE;
    if (config->classifier)
        config->pooler = config->classifier == LABELS_CHOICE;
    hf_fix_head(config, ACT_GELU_ERF); /* whatever the activation of the feed-forward networks */
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
    .names = { "RobertaForMaskedLM", "roberta.", hf_bert_body, heads, ignored },
    .second_bias = SECOND_BIAS,
    .keys = hf_bert_keys,
    .more_keys = keys,
    .family = FAMILY_BERT,
    .default_ids = { 1, 0, 2 },
    .read = read_roberta,
    .write = write_roberta,
    .shape = shape_roberta,
    .check = check_roberta,
};
