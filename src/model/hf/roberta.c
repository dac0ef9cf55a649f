/* RoBERTa: RobertaForMaskedLM and the bare RobertaModel: BERT without sentence pairs; the first position of a sequence
 * has row pad_token_id + 1 of the table. */
#include "base/log.h"
#include "model/hf/architecture.h"

static const TensorName heads[] = {
    TENSOR("lm_head", "lm_head.decoder.weight"),
    TENSOR("lm_head.bias", "lm_head.bias"),
    TENSOR("transform.dense", "lm_head.dense.weight"),
    TENSOR("transform.dense.bias", "lm_head.dense.bias"),
    TENSOR("transform.norm", "lm_head.layer_norm.weight"),
    TENSOR("transform.norm.bias", "lm_head.layer_norm.bias"),
    { 0 },
};

#define SECOND_BIAS "lm_head.decoder.bias"
static const char *const ignored[] = { "roberta.embeddings.position_ids", SECOND_BIAS, NULL };

static const HfKey keys[] = {
    HF_INT("vocab_size", vocab, 50265, 1, 1 << 24),
    HF_FIXED("position_embedding_type", "\"absolute\""),
    { 0 },
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
    return hf_check_heads(config, error);
}

static void infer(GHashTable *tensors, ModelConfig *config)
{
    hf_prefer(tensors, "lm_head.bias", SECOND_BIAS);
    config->pooler = g_hash_table_contains(tensors, "roberta.pooler.dense.weight");
    config->head_transform = config->head_bias = g_hash_table_contains(tensors, "lm_head.dense.weight");
    hf_fix_head(config, ACT_GELU_ERF); /* whatever the activation of the feed-forward networks */
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
    hf_id_write(root, "pad_token_id", pad);
}

/* No class has a sentence head; only the bare model has a pooler. */
static void drop_heads(ModelConfig *config)
{
    config->sentence_head = false;
    if (config->head_transform)
        config->pooler = false;
    else
        hf_drop_vocabulary_head(config);
}

const HfArchitecture hf_roberta = {
    .model_type = "roberta",
    .names = { .model = "RobertaForMaskedLM",
               .prefix = "roberta.",
               .body = hf_bert_body,
               .heads = heads,
               .ignored = ignored },
    .second_bias = SECOND_BIAS,
    .keys = hf_bert_keys,
    .more_keys = keys,
    .default_ids = HF_NO_IDS,
    .init = INIT_SCHEME_NORMAL,
    .read = read_roberta,
    .infer = infer,
    .write = write_roberta,
    .shape = shape,
    .drop_heads = drop_heads,
};
