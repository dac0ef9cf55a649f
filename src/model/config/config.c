#include "model/config/config.h"

#include "model/lora/lora.h"

static const char *const family_names[] = { [FAMILY_T5] = "t5", [FAMILY_BERT] = "bert", [FAMILY_GPT] = "gpt", NULL };
#define ARCHITECTURE_NAME(NAME, name) #name,
static const char *const architecture_names[] = { "auto", ARCHITECTURES(ARCHITECTURE_NAME) NULL };
static const char *const qk_norm_names[] = { [QK_NORM_NONE] = "none", [QK_NORM_RMS] = "rms", NULL };
static const char *const norm_names[] = { [NORM_RMS] = "rmsnorm", [NORM_LAYER] = "layernorm", NULL };
static const char *const position_names[] = {
    [POSITION_RELATIVE_BIAS] = "relative_bias",
    [POSITION_LEARNED] = "learned",
    [POSITION_ROTARY] = "rotary",
    [POSITION_ALIBI] = "alibi",
    [POSITION_SINUSOIDAL] = "sinusoidal",
    [POSITION_NONE] = "none",
    [POSITION_LEARNED_AND_BIAS] = "learned+relative_bias",
    [POSITION_RELATIVE_KEY] = "relative_key",
    [POSITION_RELATIVE_KEY_QUERY] = "relative_key_query",
    NULL,
};
static const char *const init_names[] = {
    [INIT_SCHEME_T5] = "t5",         [INIT_SCHEME_NORMAL] = "normal",   [INIT_SCHEME_FAIRSEQ] = "fairseq",
    [INIT_SCHEME_FAN_IN] = "fan_in", [INIT_SCHEME_FAN_OUT] = "fan_out", NULL
};
static const char *const rule_names[] = { [RELPOS_T5] = "t5", [RELPOS_AST] = "ast", NULL };
static const char *const activation_names[] = { ACTIVATIONS(ACTIVATION_TEXT) NULL };
static const char *const target_keys[] = { "module", NULL };
/* Names of model.head_activation: 0 means the activation of the blocks, other values are an Activation + 1. */
static const char *const head_activation_names[] = { "same", ACTIVATIONS(ACTIVATION_TEXT) NULL };

#define ROW(name, type, field, initial, min, max, class, help, choices)                                                \
    {                                                                                                                  \
        "model." name, type, offsetof(ModelConfig, field), initial, min, max, class, choices, help                     \
    }

/* clang-format off */
const OptionRow model_options[] = {
    ROW("preset",           OPT_STRING, preset, "", 0, 0, OPT_IDENTITY, "a published shape to start from, such as t5-1.1-small; other model options override it", NULL),
    ROW("family",           OPT_ENUM, family, "t5", 0, 0, OPT_IDENTITY, "encoder-decoder (t5), encoder-only (bert) or decoder-only (gpt)", family_names),
    ROW("architecture",     OPT_ENUM, architecture, "auto", 0, 0, OPT_FREE, "architecture of Hugging Face that the model is exported as; auto means that of train.init, or the one that fits the other options best", architecture_names),
    ROW("n_enc",            OPT_I64, n_enc, "8", 0, 1000, OPT_IDENTITY, "blocks of the encoder; 0 for gpt", NULL),
    ROW("n_dec",            OPT_I64, n_dec, "8", 0, 1000, OPT_IDENTITY, "blocks of the decoder; 0 for bert", NULL),
    ROW("width",            OPT_I64, width, "512", 1, 65536, OPT_IDENTITY, "channels of the hidden states", NULL),
    ROW("ffn",              OPT_I64, ffn, "1024", 1, 1048576, OPT_IDENTITY, "channels inside the feed-forward network", NULL),
    ROW("heads",            OPT_I64, heads, "6", 1, 1024, OPT_IDENTITY, "attention heads", NULL),
    ROW("head_dim",         OPT_I64, head_dim, "64", 1, 1024, OPT_IDENTITY, "channels of one head", NULL),
    ROW("kv_heads",         OPT_I64, kv_heads, "0", 0, 1024, OPT_IDENTITY, "key and value heads, each of which serves heads / kv_heads query heads (grouped-query attention); 0 means as many as model.heads", NULL),
    ROW("vocab",            OPT_I64, vocab, "auto", 0, 16777216, OPT_IDENTITY, "vocabulary size: rows of the embedding; auto, also with a preset, means the tokenizer's size with its sentinels, rounded up to a multiple of model.vocab_multiple", NULL),
    ROW("vocab_multiple",   OPT_I64, vocab_multiple, "128", 1, 65536, OPT_IDENTITY, "a model.vocab that follows the tokenizer is rounded up to a multiple of this", NULL),
    ROW("activation",       OPT_ENUM, activation, "gelu_tanh", 0, 0, OPT_IDENTITY, "activation function of the feed-forward network", activation_names),
    ROW("gated",            OPT_BOOL, gated, "true", 0, 0, OPT_IDENTITY, "feed-forward network with a multiplicative gate", NULL),
    ROW("bias",             OPT_BOOL, bias, "false", 0, 0, OPT_IDENTITY, "every linear layer of the blocks adds a bias", NULL),
    ROW("norm",             OPT_ENUM, norm, "rmsnorm", 0, 0, OPT_IDENTITY, "kind of all norms", norm_names),
    ROW("norm_bias",        OPT_BOOL, norm_bias, "false", 0, 0, OPT_IDENTITY, "layernorm adds a bias", NULL),
    ROW("post_norm",        OPT_BOOL, post_norm, "false", 0, 0, OPT_IDENTITY, "norm after the residual sum of each sublayer (post-LN, as in BERT) instead of before the sublayer", NULL),
    ROW("first_norm",       OPT_BOOL, first_norm, "true", 0, 0, OPT_IDENTITY, "the first block's self-attention has a norm; false in ModernBERT", NULL),
    ROW("final_norm",       OPT_BOOL, final_norm, "true", 0, 0, OPT_IDENTITY, "norm after the last block of the encoder and of the decoder", NULL),
    ROW("embed_norm",       OPT_BOOL, embed_norm, "false", 0, 0, OPT_IDENTITY, "norm after the embedding", NULL),
    ROW("position",         OPT_ENUM, position, "relative_bias", 0, 0, OPT_IDENTITY, "kind of position encoding", position_names),
    ROW("max_positions",    OPT_I64, max_positions, "512", 1, 16777216, OPT_IDENTITY, "maximum tokens of a sequence with learned positions, relative_key, relative_key_query or a sparse pattern", NULL),
    ROW("position_offset",  OPT_I64, position_offset, "0", 0, 1024, OPT_IDENTITY, "learned and sinusoidal positions: row of the table for position 0; fairseq and RoBERTa leave 2 rows unused", NULL),
    ROW("position_zero",    OPT_I64, position_zero, "-1", -1, 16777216, OPT_IDENTITY, "sinusoidal positions: row of the table that is all zeros, in XGLM that of the padding id; -1 means none", NULL),
    ROW("rotary_base",      OPT_F64, rotary_base, "10000", 1, 1e12, OPT_IDENTITY, "rotary positions: the longest wavelength is 2 pi times this", NULL),
    ROW("rotary_local",     OPT_F64, rotary_local, "0", 0, 1e12, OPT_IDENTITY, "rotary positions: rotary_base of the blocks with a window; 0 means the same", NULL),
    ROW("rotary_dim",       OPT_I64, rotary_dim, "0", 0, 1024, OPT_IDENTITY, "rotary positions: channels of a head that are rotated; 0 means all", NULL),
    ROW("token_types",      OPT_I64, token_types, "0", 0, 1024, OPT_IDENTITY, "number of token types (token_type_ids of BERT), each with an embedding; 0 means none", NULL),
    ROW("window",           OPT_I64, window, "0", 0, 1048576, OPT_IDENTITY, "local attention: a token of an encoder attends to window/2 tokens on each side, a token of a decoder to itself and the window - 1 tokens before it; 0 means to all tokens", NULL),
    ROW("global_every",     OPT_I64, global_every, "0", 0, 1000, OPT_IDENTITY, "with a window: blocks 0, n, 2n, ... attend to all tokens; 0 means that no block does", NULL),
    ROW("sparse_pattern",   OPT_ENUM, sparsity.pattern, "none", 0, 0, OPT_IDENTITY, "pattern of block-sparse self-attention in the encoder, or in a decoder-only model, for sequences of up to model.max_positions tokens", sparse_pattern_names),
    ROW("sparse_block",     OPT_I64, sparsity.block, "16", 4, 4096, OPT_IDENTITY, "tokens per block of sparse attention", NULL),
    ROW("sparse_local",     OPT_LIST, sparsity.local, "", 0, 0, OPT_IDENTITY, "fixed, variable: number of blocks in each window, such as 2,4 for a window of two and then windows of four; empty means 4", NULL),
    ROW("sparse_window",    OPT_I64, sparsity.window, "3", 1, 4095, OPT_IDENTITY, "bigbird, longformer, sliding: number of blocks in the window around a block", NULL),
    ROW("sparse_n_global",  OPT_I64, sparsity.n_global, "1", 0, 4096, OPT_IDENTITY, "number of global blocks. bigbird: at the start of a sequence; they attend to all blocks and all blocks attend to them; fixed: at the end of each window; all blocks attend to them", NULL),
    ROW("sparse_global",    OPT_LIST, sparsity.global, "", 0, 0, OPT_IDENTITY, "variable, longformer: indices of the blocks that all blocks attend to, such as 0,7-8; empty means 0", NULL),
    ROW("sparse_n_random",  OPT_I64, sparsity.n_random, "-1", -1, 4096, OPT_IDENTITY, "bigbird, variable: number of random key blocks per query block; -1 means 1 for bigbird and 0 for variable", NULL),
    ROW("sparse_horizontal", OPT_BOOL, sparsity.horizontal, "false", 0, 0, OPT_IDENTITY, "fixed, variable: global blocks also attend to all blocks", NULL),
    ROW("sparse_rotations", OPT_I64, sparsity.rotations, "1", 1, 4096, OPT_IDENTITY, "fixed: number of different choices of a window's global blocks, which the heads use in turn; needs model.sparse_per_head", NULL),
    ROW("sparse_per_head",  OPT_BOOL, sparsity.per_head, "false", 0, 0, OPT_IDENTITY, "each head has its own layout; false means that all heads share one", NULL),
    ROW("sparse_seed",      OPT_I64, sparsity.seed, "0", 0, 1e15, OPT_IDENTITY, "seed of the random blocks", NULL),
    ROW("prefix_lm",        OPT_BOOL, prefix_lm, "false", 0, 0, OPT_LEARNING, "decoder-only: the tokens of a prompt attend to each other in both directions; data.objective prefix_lm sets it", NULL),
    ROW("memory_tokens",    OPT_I64, memory_tokens, "0", 0, 65536, OPT_IDENTITY, "number of learned tokens before each sequence of the encoder; data.input_length does not count them", NULL),
    ROW("context_queries",  OPT_BOOL, context_queries, "false", 0, 0, OPT_IDENTITY, "context-dependent queries in the encoder: they also depend on a vector that each head pools from the whole sequence (t5-experiments' cdQ)", NULL),
    ROW("scale_scores",     OPT_BOOL, scale_scores, "false", 0, 0, OPT_IDENTITY, "attention scores are multiplied by head_dim^-1/2; T5 has this factor in its initial weights instead", NULL),
    ROW("qk_layer_scaling", OPT_BOOL, qk_layer_scaling, "false", 0, 0, OPT_IDENTITY, "attention scores are divided by the number of their block when they are computed, and multiplied by it again before the softmax, so that they fit f16 (Megatron); only the rounding differs", NULL),
    ROW("qk_norm",          OPT_ENUM, qk_norm, "none", 0, 0, OPT_IDENTITY, "rmsnorm of each head's queries and keys in self-attention, before their rotation (Qwen 3); all heads share a gain of head_dim for queries and one for keys", qk_norm_names),
    ROW("tie_embeddings",   OPT_BOOL, tie_embeddings, "false", 0, 0, OPT_IDENTITY, "the embedding matrix is also the projection to the vocabulary", NULL),
    ROW("scale_embedding",  OPT_BOOL, scale_embedding, "false", 0, 0, OPT_IDENTITY, "embeddings are multiplied by width^1/2 (fairseq)", NULL),
    ROW("scale_logits",     OPT_BOOL, scale_logits, "false", 0, 0, OPT_IDENTITY, "hidden states are multiplied by width^-1/2 before the logits (T5 v1.0)", NULL),
    ROW("head_transform",   OPT_BOOL, head_transform, "false", 0, 0, OPT_IDENTITY, "linear layer, activation and norm before the projection to the vocabulary (BERT)", NULL),
    ROW("head_activation",  OPT_ENUM, head_activation, "same", 0, 0, OPT_IDENTITY, "activation function of model.head_transform; same means that of the feed-forward network", head_activation_names),
    ROW("head_bias",        OPT_BOOL, head_bias, "false", 0, 0, OPT_IDENTITY, "bias on the logits", NULL),
    ROW("pooler",           OPT_BOOL, pooler, "false", 0, 0, OPT_IDENTITY, "linear layer and tanh on the first token of each sequence (BERT's pooler)", NULL),
    ROW("sentence_head",    OPT_BOOL, sentence_head, "false", 0, 0, OPT_IDENTITY, "sentence-pair classifier with two classes, on the output of the pooler (bert)", NULL),
    ROW("classifier",       OPT_ENUM, classifier, "none", 0, 0, OPT_IDENTITY, "classifier that replaces the language-model head: a class per sequence (sequence), a number per sequence (value), a class per token (tokens), the span of an answer (span) or the right one of several sequences (choice); a task sets it", label_kind_names),
    ROW("labels",           OPT_LIST, labels, "", 0, 0, OPT_IDENTITY, "names of the classes in order, separated by commas (\\, is a comma in a name); empty means those of the task, or of its data", NULL),
    ROW("classifier_dense", OPT_BOOL, classifier_dense, "false", 0, 0, OPT_IDENTITY, "linear layer and tanh before the classifier (RoBERTa)", NULL),
    ROW("classifier_dropout", OPT_F64, classifier_dropout, "-1", -1, 0.99, OPT_LEARNING, "dropout rate on the input of the classifier; -1 means model.dropout", NULL),
    ROW("init",             OPT_ENUM, init, "t5", 0, 0, OPT_IDENTITY, "scheme of initial weights. t5: keeps the variance of activations; normal: standard deviation init_std everywhere; fairseq: as its transformer_lm; fan_in: std (2 in)^-1/2, which AST-T5 intends; fan_out: std (2 out)^-1/2 and a head near zero, which AST-T5's code computes", init_names),
    ROW("init_std",         OPT_F64, init_std, "0.02", 0, 100, OPT_IDENTITY, "model.init=normal: standard deviation of initial weights", NULL),
    ROW("init_scale_outputs", OPT_BOOL, init_scale_outputs, "false", 0, 0, OPT_IDENTITY, "model.init=normal: initial weights of matrices whose output is added to the residual stream are multiplied by (2 blocks)^-1/2 (GPT-2, Megatron)", NULL),
    ROW("init_zero_outputs", OPT_BOOL, init_zero_outputs, "false", 0, 0, OPT_IDENTITY, "matrices whose output is added to the residual stream, and an untied projection to the vocabulary, begin as zeros (modded-nanogpt)", NULL),
    ROW("mup",              OPT_I64, mup, "0", 0, 1048576, OPT_IDENTITY, "µP (Yang et al. 2022): the width at which optim.lr was found; initial weights and learning rates of a wider model follow from it, so that the same optim.lr is good. Heads, as large as there, and model.ffn grow with the width; 0 means off", NULL),
    ROW("dropout",          OPT_F64, dropout, "0", 0, 0.99, OPT_LEARNING, "dropout rate on embeddings and on the outputs of sublayers", NULL),
    ROW("attention_dropout", OPT_F64, attention_dropout, "-1", -1, 0.99, OPT_LEARNING, "dropout rate on attention probabilities; -1 means model.dropout", NULL),
    ROW("activation_dropout", OPT_F64, activation_dropout, "-1", -1, 0.99, OPT_LEARNING, "dropout rate inside the feed-forward network; -1 means model.dropout with model.inner_dropout, else 0", NULL),
    ROW("inner_dropout",    OPT_BOOL, inner_dropout, "true", 0, 0, OPT_IDENTITY, "dropout also inside the feed-forward network and after the final norm (T5)", NULL),
    ROW("norm_eps",         OPT_F64, norm_eps, "1e-6", 0, 1, OPT_IDENTITY, "epsilon of the norms, added to the mean square (rmsnorm) or to the variance (layernorm)", NULL),
    ROW("rel_buckets",      OPT_I64, rel_buckets, "32", 4, 4096, OPT_IDENTITY, "number of buckets of the relative position bias", NULL),
    ROW("rel_max_distance", OPT_I64, rel_max_distance, "128", 3, 1048576, OPT_IDENTITY, "all distances from this one on share the last bucket of the relative position bias", NULL),
    ROW("rel_rule",         OPT_ENUM, rel_rule, "t5", 0, 0, OPT_IDENTITY, "rule that assigns distances to relative-position buckets: t5 (Raffel et al. 2020), ast (AST-T5: finer, rounded up)", rule_names),
    ROW("rel_encoder_only", OPT_BOOL, rel_encoder_only, "false", 0, 0, OPT_IDENTITY, "the decoder has no relative position bias", NULL),
    ROW("rel_per_block",    OPT_BOOL, rel_per_block, "false", 0, 0, OPT_IDENTITY, "each block has its own relative position bias (umT5); false means one for all blocks of the encoder and one for all blocks of the decoder", NULL),
#undef ROW
#define ROW(name, type, field, initial, min, max, class, help, choices)                                                \
    {                                                                                                                  \
        "lora." name, type, offsetof(ModelConfig, lora.field), initial, min, max, class, choices, help                 \
    }
    ROW("rank",             OPT_I64, rank, "0", 0, 4096, OPT_IDENTITY, "train adapters of this rank (r of PEFT) beside frozen linear layers, and the head of a classifier; 0 means no adapters: the weights themselves are trained", NULL),
    ROW("alpha",            OPT_F64, alpha, "8", 0, 1e6, OPT_IDENTITY, "an adapter's output is multiplied by alpha / rank (lora_alpha of PEFT)", NULL),
    ROW("targets",          OPT_LIST, targets, "", 0, 0, OPT_IDENTITY, "linear layers of the blocks that get an adapter, separated by commas: names of transformers' modules as in PEFT (q,v or query,value), or all-linear; empty means queries and values", target_keys),
    ROW("dropout",          OPT_F64, dropout, "0", 0, 0.99, OPT_LEARNING, "dropout rate on the input of an adapter", NULL),
};
/* clang-format on */

const int n_model_options = G_N_ELEMENTS(model_options);

const OptionRename model_renames[] = {
    { "model.segments", "model.token_types", NULL },
    { "model.norm_after", "model.post_norm", NULL },
    { NULL, NULL, NULL },
};

static const OptionGroup group = { model_options, G_N_ELEMENTS(model_options), 0, model_renames };
const OptionTable model_table = { &group, 1, NULL };

void model_config_defaults(ModelConfig *config)
{
    *config = (ModelConfig){ 0 };
    options_set_defaults(&model_table, config);
    model_config_clear(config);
}

ModelConfig model_config_copy(const ModelConfig *config)
{
    ModelConfig copy = *config;
    for (const OptionRow *row = model_options; row < model_options + n_model_options; row++)
        if (row->type == OPT_STRING || row->type == OPT_LIST) {
            char **text = &G_STRUCT_MEMBER(char *, &copy, row->offset);
            *text = g_strdup(*text);
        }
    return copy;
}

void model_config_clear(ModelConfig *config)
{
    options_clear(&model_table, config);
}

int64_t model_config_kv_heads(const ModelConfig *config)
{
    return config->kv_heads ? config->kv_heads : config->heads;
}

double model_config_attention_dropout(const ModelConfig *config)
{
    return config->attention_dropout < 0 ? config->dropout : config->attention_dropout;
}

double model_config_activation_dropout(const ModelConfig *config)
{
    if (config->activation_dropout >= 0)
        return config->activation_dropout;
    return config->inner_dropout ? config->dropout : 0;
}

double model_config_classifier_dropout(const ModelConfig *config)
{
    return config->classifier_dropout < 0 ? config->dropout : config->classifier_dropout;
}

bool model_config_shifts(const ModelConfig *config)
{
    return config->classifier != LABELS_NONE && config->n_dec > 0;
}

int64_t model_config_outputs(const ModelConfig *config)
{
    switch ((LabelKind)config->classifier) {
    case LABELS_SEQUENCE:
    case LABELS_TOKENS:
        return labels_count(config->labels);
    case LABELS_SPAN:
        return 2;
    case LABELS_VALUE:
    case LABELS_CHOICE:
        return 1;
    default:
        return 0;
    }
}

Activation model_config_head_activation(const ModelConfig *config)
{
    return (Activation)(config->head_activation ? config->head_activation - 1 : config->activation);
}

Architecture model_config_architecture(const ModelConfig *config)
{
    return config->architecture ? (Architecture)config->architecture : model_config_nearest_architecture(config);
}

Architecture model_config_nearest_architecture(const ModelConfig *config)
{
    const bool layernorm = config->norm == NORM_LAYER;
    if (config->family == FAMILY_BERT && layernorm && config->position == POSITION_ROTARY)
        return ARCHITECTURE_MODERNBERT;
    if (config->family == FAMILY_BERT && layernorm)
        return config->position_offset > 0 ? ARCHITECTURE_ROBERTA : ARCHITECTURE_BERT;
    if (config->family == FAMILY_GPT && config->position == POSITION_SINUSOIDAL)
        return ARCHITECTURE_XGLM;
    if (config->family == FAMILY_GPT)
        return layernorm ? ARCHITECTURE_GPT2 : config->qk_norm ? ARCHITECTURE_QWEN3 : ARCHITECTURE_LLAMA;
    return config->rel_per_block ? ARCHITECTURE_UMT5 : ARCHITECTURE_T5;
}

bool model_config_learned_positions(const ModelConfig *config)
{
    return config->position == POSITION_LEARNED || config->position == POSITION_LEARNED_AND_BIAS;
}

bool model_config_relative_bias(const ModelConfig *config, bool decoder)
{
    return (config->position == POSITION_RELATIVE_BIAS || config->position == POSITION_LEARNED_AND_BIAS) &&
           !(decoder && config->rel_encoder_only);
}

bool model_config_distances(const ModelConfig *config)
{
    return config->position == POSITION_RELATIVE_KEY || config->position == POSITION_RELATIVE_KEY_QUERY;
}

bool model_config_bounds_length(const ModelConfig *config)
{
    return model_config_learned_positions(config) || model_config_distances(config) ||
           config->sparsity.pattern != SPARSE_NONE;
}

bool model_config_fits(const ModelConfig *config, int64_t length, GError **error)
{
    if (!model_config_bounds_length(config) || length <= config->max_positions)
        return true;
    return fail_user(
        error,
        "sequences of %" G_GINT64_FORMAT " tokens, but model.max_positions is %" G_GINT64_FORMAT
        ": shorten them (data.input_length, data.target_length), or raise it for a model that is not trained yet",
        length, config->max_positions);
}

/* Checks that a family has the stacks (encoder, decoder) that it needs. */
static bool check_family(const ModelConfig *config, GError **error)
{
    static const bool has[][2] = {
        [FAMILY_T5] = { true, true }, [FAMILY_BERT] = { true, false }, [FAMILY_GPT] = { false, true }
    };
    const int64_t blocks[] = { config->n_enc, config->n_dec };
    static const char *const names[] = { "n_enc", "n_dec" };

    for (int i = 0; i < 2; i++)
        if ((blocks[i] > 0) != has[config->family][i])
            return fail_user(error, "model.%s is %" G_GINT64_FORMAT ": family %s needs it to be %s", names[i],
                             blocks[i], family_names[config->family], has[config->family][i] ? "at least 1" : "0");
    if ((config->pooler || config->sentence_head) && config->family != FAMILY_BERT)
        return fail_user(error, "model.pooler and model.sentence_head are of family bert, not %s",
                         family_names[config->family]);
    if (config->prefix_lm && config->family != FAMILY_GPT)
        return fail_user(error, "model.prefix_lm is of family gpt, not %s", family_names[config->family]);
    if (config->memory_tokens > 0 && config->family != FAMILY_T5)
        return fail_user(error, "model.memory_tokens are of family t5, not %s", family_names[config->family]);
    if (config->context_queries && config->n_enc == 0)
        return fail_user(error, "model.context_queries are of an encoder, family %s has none",
                         family_names[config->family]);
    if (config->sentence_head && !config->pooler)
        return fail_user(error, "model.sentence_head reads the pooler: set model.pooler too");
    return true;
}

/* T5ForSequenceClassification and T5ForQuestionAnswering read the decoder; T5ForTokenClassification has none. */
static bool has_classifier(const ModelConfig *config)
{
    bool of_t5 = config->classifier == LABELS_SEQUENCE || config->classifier == LABELS_VALUE ||
                 config->classifier == LABELS_SPAN;
    return config->family == FAMILY_BERT || (config->family == FAMILY_T5 && of_t5);
}

/* A classifier reads the output of the pooler, of the transform, of a linear layer of its own, or of the last block. */
static bool check_classifier(const ModelConfig *config, GError **error)
{
    const char *kind = label_kind_names[config->classifier];
    bool classes = config->classifier == LABELS_SEQUENCE || config->classifier == LABELS_TOKENS;
    if (config->classifier == LABELS_NONE)
        return true;
    if (!has_classifier(config))
        return fail_user(error, "model.classifier=%s is of family bert, not %s", kind, family_names[config->family]);
    if (config->sentence_head || config->head_bias)
        return fail_user(error, "model.classifier=%s takes the place of model.sentence_head and model.head_bias", kind);
    if (config->pooler + config->head_transform + config->classifier_dense > 1)
        return fail_user(error,
                         "model.classifier=%s reads one of model.pooler, model.head_transform and "
                         "model.classifier_dense: set one",
                         kind);
    if (config->pooler && (config->classifier == LABELS_TOKENS || config->classifier == LABELS_SPAN))
        return fail_user(error, "model.classifier=%s reads every token, but model.pooler reads only the first", kind);
    if (classes && labels_count(config->labels) < 2)
        return fail_user(error,
                         "model.labels is \"%s\": model.classifier=%s wants the names of two classes or more, "
                         "separated by commas",
                         config->labels ? config->labels : "", kind);
    return !classes || labels_check(config->labels, "model.labels", error);
}

static bool check_attention(const ModelConfig *config, GError **error)
{
    int64_t rotary_dim = config->rotary_dim ? config->rotary_dim : config->head_dim;

    if (config->heads % model_config_kv_heads(config) != 0)
        return fail_user(error, "model.kv_heads is %" G_GINT64_FORMAT ": it must divide model.heads, %" G_GINT64_FORMAT,
                         config->kv_heads, config->heads);
    if (config->position == POSITION_ROTARY && (rotary_dim % 2 != 0 || rotary_dim > config->head_dim))
        return fail_user(error,
                         "rotary positions of %" G_GINT64_FORMAT
                         " channels a head: model.rotary_dim (or head_dim) must be even and at most %" G_GINT64_FORMAT,
                         rotary_dim, config->head_dim);
    if (config->position == POSITION_SINUSOIDAL && (config->width % 2 != 0 || config->width < 4))
        return fail_user(error,
                         "sinusoidal positions of a width of %" G_GINT64_FORMAT ": it must be even and at least 4",
                         config->width);
    if (model_config_distances(config) && (config->family != FAMILY_BERT || config->sparsity.pattern != SPARSE_NONE))
        return fail_user(error, "model.position relative_key and relative_key_query are of family bert, without "
                                "model.sparse_pattern");
    if ((config->rel_per_block || config->rel_encoder_only) && !model_config_relative_bias(config, false))
        return fail_user(error, "model.rel_per_block and model.rel_encoder_only need model.position relative_bias or "
                                "learned+relative_bias");
    if (config->norm_bias && config->norm != NORM_LAYER)
        return fail_user(error, "model.norm_bias needs model.norm layernorm");
    return sparsity_check(&config->sparsity, config->max_positions, error);
}

bool model_config_check(const ModelConfig *config, GError **error)
{
    if (!check_family(config, error) || !check_attention(config, error) || !check_classifier(config, error) ||
        !lora_check(&config->lora, error))
        return false;
    if (config->rel_buckets % 4 != 0)
        return fail_user(error, "model.rel_buckets is %" G_GINT64_FORMAT ": it must be a multiple of 4",
                         config->rel_buckets);
    if (config->rel_max_distance <= config->rel_buckets / 2)
        return fail_user(error,
                         "model.rel_max_distance is %" G_GINT64_FORMAT
                         ": it must be above half of model.rel_buckets, %" G_GINT64_FORMAT,
                         config->rel_max_distance, config->rel_buckets / 2);
    if (config->vocab != 0 && config->vocab < 2)
        return fail_user(error, "model.vocab is %" G_GINT64_FORMAT ": it must be auto or at least 2", config->vocab);
    return true;
}
