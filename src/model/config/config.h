/* config.h: the options model.*, which describe an encoder-decoder (T5), an encoder (BERT) or a decoder (GPT), and the
 * presets, each of which sets many of these options. */
#pragma once

#include "data/labels.h"
#include "model/config/sparsity.h"

/* Encoder-decoder, encoder-only or decoder-only. */
typedef enum Family { FAMILY_T5, FAMILY_BERT, FAMILY_GPT } Family;

/* The architectures of Hugging Face's transformers that a model may have, or be nearest to: X(name in the enum, value
 * of model.architecture); hf_NAME describes one (model/hf/architecture.h). */
#define ARCHITECTURES(X)                                                                                               \
    X(T5, t5)                                                                                                          \
    X(UMT5, umt5)                                                                                                      \
    X(BERT, bert)                                                                                                      \
    X(MODERNBERT, modernbert)                                                                                          \
    X(ROBERTA, roberta)                                                                                                \
    X(GPT2, gpt2)                                                                                                      \
    X(XGLM, xglm)                                                                                                      \
    X(LLAMA, llama)                                                                                                    \
    X(QWEN3, qwen3)
#define ARCHITECTURE_ENUM(NAME, name) ARCHITECTURE_##NAME,
typedef enum Architecture {
    ARCHITECTURE_AUTO, /* not stored: see model_config_architecture */
    ARCHITECTURES(ARCHITECTURE_ENUM)
} Architecture;

/* The norm of each head's queries and keys. */
typedef enum QkNorm { QK_NORM_NONE, QK_NORM_RMS } QkNorm;

typedef enum PositionKind {
    POSITION_RELATIVE_BIAS, /* T5: a learned bias on the scores, per relative-position bucket and head */
    POSITION_LEARNED,       /* BERT, GPT-2: a learned embedding of each position */
    POSITION_ROTARY,        /* LLaMA: queries and keys are rotated by angles that grow with the position */
    POSITION_ALIBI,         /* Press et al. 2022: a fixed bias, linear in the distance */
    POSITION_SINUSOIDAL,    /* fairseq: a fixed embedding of each position */
    POSITION_NONE,
    POSITION_LEARNED_AND_BIAS,  /* AST-T5: POSITION_LEARNED and POSITION_RELATIVE_BIAS */
    POSITION_RELATIVE_KEY,      /* Shaw et al. 2018: scores add q · (learned embedding of the distance) */
    POSITION_RELATIVE_KEY_QUERY /* Huang et al. 2020: scores add (q + k) · (learned embedding of the distance) */
} PositionKind;

/* How initial weights are drawn: see params/params.c. */
typedef enum InitScheme {
    INIT_SCHEME_T5,
    INIT_SCHEME_NORMAL,
    INIT_SCHEME_FAIRSEQ,
    INIT_SCHEME_FAN_IN,
    INIT_SCHEME_FAN_OUT
} InitScheme;

/* Low-rank adapters (LoRA, Hu et al. 2022): the options lora.NAME. */
typedef struct LoraConfig {
    int64_t rank;   /* R; 0 means no adapters */
    double alpha;   /* an adapter's output is multiplied by alpha / R */
    char *targets;  /* names of the linear layers that get an adapter (lora_layers, lora.h): "self.q,self.v" */
    double dropout; /* rate of dropout on an adapter's input */
} LoraConfig;

/* The configuration of a model. Field NAME is the option model.NAME, which docs/options.md explains further; `sparsity`
 * holds the options model.sparse_*. */
typedef struct ModelConfig {
    char *preset;     /* "t5-1.1-small"; "" means none */
    int family;       /* Family */
    int architecture; /* Architecture; a run stores that of its start */

    /* Sizes. */
    int64_t n_enc, n_dec; /* blocks of the encoder and of the decoder; 0 means there is none */
    int64_t width;        /* C, channels of the residual stream */
    int64_t ffn;          /* F, channels of the hidden layer of the feed-forward network */
    int64_t heads;        /* H, number of query heads */
    int64_t head_dim;     /* D, channels of a head */
    int64_t kv_heads;     /* key/value heads; 0 means as many as `heads` */
    int64_t vocab;        /* V, rows of the embedding; 0 means the tokenizer's size rounded up to vocab_multiple */
    int64_t vocab_multiple;

    /* Blocks. */
    int activation;  /* Activation of the feed-forward network */
    bool gated;      /* the feed-forward network multiplies act(x wi_0ᵀ) by x wi_1ᵀ */
    bool bias;       /* every linear layer of the blocks adds a bias */
    int norm;        /* NormKind */
    bool norm_bias;  /* LayerNorm adds a bias */
    bool post_norm;  /* post-LN: y = norm(x + f(x)); else pre-LN: y = x + f(norm(x)) */
    bool first_norm; /* pre-LN: the first block's self-attention has a norm */
    bool final_norm; /* norm after the last block of the encoder and of the decoder */
    bool embed_norm; /* norm after the embedding */

    /* Positions. */
    int position;             /* PositionKind */
    int64_t max_positions;    /* most tokens of a sequence, if model_config_bounds_length says that there is a limit */
    int64_t position_offset;  /* learned, sinusoidal: position 0 uses this row of the table; earlier rows are unused */
    int64_t position_zero;    /* sinusoidal: this row of the table is zeros (fairseq's padding); -1 means none */
    double rotary_base;       /* base of the angles: channel pair i of n is rotated by position · rotary_base^(-i/n) */
    double rotary_local;      /* rotary_base of blocks with a window; 0 means rotary_base */
    int64_t rotary_dim;       /* channels of a head that are rotated; 0 means all */
    int64_t rel_buckets;      /* relative bias: number of relative-position buckets */
    int64_t rel_max_distance; /* relative bias: all distances from this one on share the last bucket */
    int rel_rule;             /* RelposRule */
    bool rel_per_block;       /* relative bias: each block has its own table (umT5); false: all share one */
    bool rel_encoder_only;    /* relative bias: the decoder has none */
    int64_t token_types;      /* number of token types, each with an embedding; 0 means none */

    /* Which keys a query attends to. */
    int64_t window;       /* self-attention of the encoder: the token itself and window / 2 tokens to each side; of the
                             decoder: itself and the window - 1 before it; at least one neighbour; 0 means no limit */
    int64_t global_every; /* n: blocks 0, n, 2n, … have no window; 0 means that all blocks have it */
    Sparsity sparsity;    /* block-sparse self-attention, in the encoder or in a decoder-only model */
    bool prefix_lm;       /* decoder-only: the tokens of a prompt attend to each other in both directions */

    /* Attention. */
    bool scale_scores; /* scores are q·k · head_dim^-1/2; false, as in T5: q·k, with the factor in initial weights */
    bool qk_layer_scaling; /* Megatron: q·k is divided by the block's number, counted from 1, and multiplied by it again
                              within the softmax, so that q·k fits f16 */
    int qk_norm; /* QkNorm of the queries and keys of self-attention, before their rotation; a gain (D) for all heads */
    bool context_queries;  /* encoder: context-dependent queries (nn/attention.h) */
    int64_t memory_tokens; /* encoder: M learned tokens before each sequence; 0 means none */

    /* Embedding and heads. */
    bool tie_embeddings;  /* the projection to the vocabulary is the embedding */
    bool scale_embedding; /* embeddings are multiplied by width^1/2 */
    bool scale_logits;    /* logits are multiplied by width^-1/2 (T5 v1.0) */
    bool head_transform;  /* linear, activation and norm before the projection to the vocabulary (BERT) */
    bool head_bias;       /* bias on the logits */
    int head_activation;  /* activation of head_transform, as an Activation + 1; 0 means `activation` */
    bool pooler;          /* computes tanh(dense(first token)) of each sequence (BERT) */
    bool sentence_head;   /* predicts from the pooler whether two sentences are in order, or follow each other */
    int classifier; /* LabelKind: the classifier of a fine-tuned model, which replaces the head over the vocabulary */
    char *labels;   /* names of the classes, separated by commas; "" means none */
    bool classifier_dense;     /* a tanh(linear) layer before the classifier (RoBERTa) */
    double classifier_dropout; /* rate of dropout on the classifier's input; below 0 means `dropout` */

    /* Training. */
    int init;                /* InitScheme */
    double init_std;         /* INIT_SCHEME_NORMAL: standard deviation */
    bool init_scale_outputs; /* INIT_SCHEME_NORMAL: std of a sublayer's last matrix is init_std · (2 · blocks)^-1/2 */
    bool init_zero_outputs;  /* a sublayer's last matrix and an untied projection to the vocabulary begin as zeros */
    int64_t mup;             /* width at which the learning rate was found (µP); 0 means no µP */
    double dropout;          /* rate of dropout on embeddings and on the outputs of sublayers */
    double attention_dropout;  /* rate of dropout on attention probabilities; below 0 means `dropout` */
    double activation_dropout; /* dropout in the feed-forward network; below 0: `dropout` if inner_dropout, else 0 */
    bool inner_dropout;        /* T5: dropout in the feed-forward network and after the final norm */
    double norm_eps;

    LoraConfig lora;
} ModelConfig;

extern const OptionRow model_options[]; /* "model.*" and "lora.*" over ModelConfig */
extern const int n_model_options;
extern const OptionRename model_renames[];
extern const OptionTable model_table; /* model_options and model_renames, for a struct that is a ModelConfig */
/* The defaults of all options; strings are NULL. */
void model_config_defaults(ModelConfig *config);
/* Returns a deep copy, which model_config_clear frees. */
ModelConfig model_config_copy(const ModelConfig *config);
/* Frees the strings of *config. */
void model_config_clear(ModelConfig *config);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(ModelConfig, model_config_clear)

/* Appends the settings of a preset ("model.n_enc" …) with origin "preset NAME"; an error names the nearest ones. */
bool model_preset_settings(const char *name, GPtrArray *settings, GError **error);
extern const char *const model_preset_names[]; /* NULL-terminated */
/* Checks rules that involve several options: blocks of the family, heads, positions, sparse attention. */
bool model_config_check(const ModelConfig *config, GError **error);

/* Values of options, with "0 means …" or "below 0 means …" resolved. */
int64_t model_config_kv_heads(const ModelConfig *config);
double model_config_attention_dropout(const ModelConfig *config);
double model_config_activation_dropout(const ModelConfig *config);
Activation model_config_head_activation(const ModelConfig *config);
double model_config_classifier_dropout(const ModelConfig *config);
/* Whether a classifier reads the output of a decoder, whose tokens are the encoder's, shifted right by one. */
bool model_config_shifts(const ModelConfig *config);
/* Number of the classifier's outputs per token, sequence or choice; 0 without a classifier. */
int64_t model_config_outputs(const ModelConfig *config);
/* The architecture that the configuration stores. Models of earlier versions store none: they have the nearest one to
 * their family, norm and positions, as with model.architecture=auto. */
Architecture model_config_architecture(const ModelConfig *config);
Architecture model_config_nearest_architecture(const ModelConfig *config);
/* Whether positions have learned embeddings. */
bool model_config_learned_positions(const ModelConfig *config);
/* Whether self-attention of the encoder or of the decoder has a relative position bias. */
bool model_config_relative_bias(const ModelConfig *config, bool decoder);
/* Whether attention scores use embeddings of distances: POSITION_RELATIVE_KEY or POSITION_RELATIVE_KEY_QUERY. */
bool model_config_distances(const ModelConfig *config);
/* Whether max_positions limits sequences: with learned positions, distance embeddings or sparse attention. */
bool model_config_bounds_length(const ModelConfig *config);
/* Fails if the model does not accept sequences of `length` tokens. */
bool model_config_fits(const ModelConfig *config, int64_t length, GError **error);
/* Number of parameters. */
int64_t model_config_params(const ModelConfig *config);
