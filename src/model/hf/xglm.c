/* XGLMForCausalLM, which is fairseq's transformer_lm with sinusoidal positions. */
#include "base/log.h"
#include "model/hf/architecture.h"

static const HfName names[] = {
    HF_SAME("shared", "model.embed_tokens.weight"),
    HF_SAME("lm_head", "lm_head.weight"),
    HF_SAME("decoder.#.self.norm", "model.layers.#.self_attn_layer_norm.weight"),
    HF_SAME("decoder.#.self.norm.bias", "model.layers.#.self_attn_layer_norm.bias"),
    HF_SAME("decoder.#.self.q", "model.layers.#.self_attn.q_proj.weight"),
    HF_SAME("decoder.#.self.q.bias", "model.layers.#.self_attn.q_proj.bias"),
    HF_SAME("decoder.#.self.k", "model.layers.#.self_attn.k_proj.weight"),
    HF_SAME("decoder.#.self.k.bias", "model.layers.#.self_attn.k_proj.bias"),
    HF_SAME("decoder.#.self.v", "model.layers.#.self_attn.v_proj.weight"),
    HF_SAME("decoder.#.self.v.bias", "model.layers.#.self_attn.v_proj.bias"),
    HF_SAME("decoder.#.self.o", "model.layers.#.self_attn.out_proj.weight"),
    HF_SAME("decoder.#.self.o.bias", "model.layers.#.self_attn.out_proj.bias"),
    HF_SAME("decoder.#.mlp.norm", "model.layers.#.final_layer_norm.weight"),
    HF_SAME("decoder.#.mlp.norm.bias", "model.layers.#.final_layer_norm.bias"),
    HF_SAME("decoder.#.mlp.wi", "model.layers.#.fc1.weight"),
    HF_SAME("decoder.#.mlp.wi.bias", "model.layers.#.fc1.bias"),
    HF_SAME("decoder.#.mlp.wo", "model.layers.#.fc2.weight"),
    HF_SAME("decoder.#.mlp.wo.bias", "model.layers.#.fc2.bias"),
    HF_SAME("decoder.final_norm", "model.layer_norm.weight"),
    HF_SAME("decoder.final_norm.bias", "model.layer_norm.bias"),
};

static const char *const ignored[] = { "model.embed_positions.weights", NULL };

static const HfIntKey ints[] = {
    { "vocab_size", offsetof(ModelConfig, vocab), 256008, 1, 1 << 24 },
    { "d_model", offsetof(ModelConfig, width), 1024, 4, 1 << 16 },
    { "ffn_dim", offsetof(ModelConfig, ffn), 4096, 1, 1 << 20 },
    { "num_layers", offsetof(ModelConfig, n_dec), 24, 1, 1000 },
    { "attention_heads", offsetof(ModelConfig, heads), 16, 1, 1 << 10 },
    { "max_position_embeddings", offsetof(ModelConfig, max_positions), 2048, 1, 1 << 24 },
};

static const HfRealKey reals[] = {
    { "dropout", offsetof(ModelConfig, dropout), 0.1, 0, 0.99 },
    { "attention_dropout", offsetof(ModelConfig, attention_dropout), 0.1, 0, 0.99 },
    { "activation_dropout", offsetof(ModelConfig, activation_dropout), 0, 0, 0.99 },
    { "init_std", offsetof(ModelConfig, init_std), 0.02, 0, 100 },
};

static const HfFixedKey fixed[] = { { "add_cross_attention", "false" } };

#define FIRST_ROW 2 /* of the sinusoids: that of a sequence's first token */

static void shape(ModelConfig *config)
{
    bool scaled = config->scale_embedding;
    hf_shape_plain(config, FAMILY_GPT);
    config->norm = NORM_LAYER;
    config->norm_bias = config->bias = config->scale_scores = true;
    config->position = POSITION_SINUSOIDAL;
    config->position_offset = FIRST_ROW;
    config->scale_embedding = scaled;
    config->head_dim = config->width / config->heads;
    config->norm_eps = 1e-5;
}

/* The row of the sinusoids whose number is the id of the padding is all zeros. */
static bool read_padding(const json_t *root, ModelConfig *config, GError **error)
{
    const HfIntKey pad = { "pad_token_id", 0, 1, 0, 1 << 24 };
    int64_t padding;
    if (!hf_int_read(root, &pad, &padding, error))
        return false;
    config->position_zero = padding < FIRST_ROW ? -1 : padding;
    return true;
}

static bool read_xglm(const json_t *root, ModelConfig *config, GError **error)
{
    config->init = INIT_SCHEME_NORMAL;
    config->inner_dropout = false;
    hf_warn_unread_rate(root, "layerdrop", 0);
    return read_padding(root, config, error) &&
           hf_flag_read(root, "scale_embedding", true, &config->scale_embedding, error) &&
           hf_activation_read(root, "activation_function", "gelu", &config->activation, error) &&
           hf_check_heads(config, error);
}

/* A padding that leaves every row of the sinusoids as this model has it. */
static int padding_of(const ModelConfig *config, int id)
{
    int64_t zero = config->position_zero;
    int pad = zero >= FIRST_ROW ? (int)zero : id < FIRST_ROW ? id : 1;
    if (id >= 0 && id != pad)
        log_warning("transformers gives row %d of XGLM's positions, the id of its padding, no position: config.json "
                    "names id %d as padding, the tokenizer's is %d",
                    id, pad, id);
    return pad;
}

static void write_xglm(json_t *root, const ModelConfig *config, HfIds ids)
{
    json_object_set_new(root, "activation_function", json_string(hf_activation_name(config->activation)));
    json_object_set_new(root, "scale_embedding", json_boolean(config->scale_embedding));
    json_object_set_new(root, "tie_word_embeddings", json_boolean(config->tie_embeddings));
    hf_id_write(root, "pad_token_id", padding_of(config, ids.pad));
    hf_id_write_always(root, "bos_token_id", ids.bos);
    hf_id_write_always(root, "eos_token_id", ids.eos);
}

const HfArchitecture hf_xglm = { .model_type = "xglm",
                                 .class_name = "XGLMForCausalLM",
                                 .prefix = "model.",
                                 HF_TABLES,
                                 .read = read_xglm,
                                 .write = write_xglm,
                                 .shape = shape };
