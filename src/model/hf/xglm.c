/* XGLM: XGLMForCausalLM, fairseq's transformer_lm with sinusoidal positions. */
#include "model/hf/architecture.h"

/* The sinusoids, which transformers computes and does not read from a file. */
static const IgnoredTensor ignored[] = { { "model.embed_positions.weights", NULL }, { 0 } };

static const HfKey keys[] = {
    HF_INT("vocab_size", vocab, 256008, 1, 1 << 24),
    HF_INT("d_model", width, 1024, 4, 1 << 16),
    HF_INT("ffn_dim", ffn, 4096, 1, 1 << 20),
    HF_INT("num_layers", n_dec, 24, 1, 1000),
    HF_INT("attention_heads", heads, 16, 1, 1 << 10),
    HF_INT("max_position_embeddings", max_positions, 2048, 1, 1 << 24),
    HF_REAL("dropout", dropout, 0.1, 0, 0.99),
    HF_REAL("attention_dropout", attention_dropout, 0.1, 0, 0.99),
    HF_REAL("activation_dropout", activation_dropout, 0, 0, 0.99),
    HF_REAL("init_std", init_std, 0.02, 0, 100),
    HF_ACTIVATION("activation_function", activation, "gelu"),
    HF_FLAG("scale_embedding", scale_embedding, true),
    HF_FIXED("add_cross_attention", "false"),
    { 0 },
};

static const HfAlias aliases[] = {
    { "hidden_size", "d_model" },
    { "num_attention_heads", "attention_heads" },
    { "num_hidden_layers", "num_layers" },
    { 0 },
};

/* Position p of a sequence uses row p + FIRST_ROW of the table of sinusoids. */
#define FIRST_ROW 2

static void shape_xglm(ModelConfig *config, const ModelConfig *was)
{
    config->norm = NORM_LAYER;
    config->gated = false;
    config->norm_bias = config->bias = config->scale_scores = true;
    config->position = POSITION_SINUSOIDAL;
    config->position_offset = FIRST_ROW;
    config->scale_embedding = was->scale_embedding;
    config->norm_eps = 1e-5;
}

/* Reads pad_token_id: the row with this index in the table of sinusoids is all zeros. */
static bool read_xglm(const json_t *root, ModelConfig *config, GError **error)
{
    const HfKey pad = HF_INT("pad_token_id", position_zero, 1, 0, 1 << 24);
    hf_warn_unused_rate(root, "layerdrop", 0);
    if (!hf_key_read(root, &pad, config, error))
        return false;
    if (config->position_zero < FIRST_ROW)
        config->position_zero = -1; /* no position uses the row of zeros */
    return true;
}

/* A pad_token_id with which transformers builds the same table of sinusoids as this model has. */
static int pad_of(const ModelConfig *config, int id)
{
    int64_t zero = config->position_zero;
    int pad = zero >= FIRST_ROW ? (int)zero : id < FIRST_ROW ? id : 1;
    if (id >= 0 && id != pad)
        log_warning("transformers gives row %d of XGLM's positions, the id of its padding, no position: config.json "
                    "names id %d as padding, the tokenizer's is %d",
                    id, pad, id);
    return pad;
}

static void write_xglm(json_t *root, const ModelConfig *config, const TokenRoles *roles)
{
    hf_id_write(root, "pad_token_id", pad_of(config, roles->pad));
    hf_ends_write(root, roles);
}

const HfArchitecture hf_xglm = {
    .model_type = "xglm",
    .stored = ARCHITECTURE_XGLM,
    .names = { "XGLMForCausalLM", "model.", fairseq_lm_body, hf_lm_head, ignored },
    .keys = keys,
    .aliases = aliases,
    .family = FAMILY_GPT,
    .default_ids = { 1, 0, 2 },
    .read = read_xglm,
    .write = write_xglm,
    .shape = shape_xglm,
};
