/* config.h: the shape of a model: options, presets, counts. */
#pragma once

#include "base/error.h"
#include "base/options/options.h"
#include "device/ops.h"
#include "model/sparsity.h"

typedef struct ModelConfig {
    char *preset;         /* "t5-1.1-small"; "" : spelled out */
    int family;           /* Family */
    int64_t n_enc, n_dec; /* blocks; BERT has no decoder, GPT no encoder */
    int64_t width, ffn, heads, head_dim;
    int64_t kv_heads; /* 0: as many as heads */
    int64_t vocab;    /* rows of the embedding; 0: the tokenizer's size rounded up to vocab_multiple */
    int64_t vocab_multiple;
    int activation;   /* Activation */
    bool gated, bias; /* bias: in every linear of the blocks */
    int norm;         /* NormKind */
    bool norm_bias, post_norm, first_norm, final_norm, embed_norm;
    int position;                     /* PositionKind */
    int64_t max_positions;            /* the longest sequence with learned positions, or distances */
    int64_t position_offset;          /* row of the first place: rows before it are unused (fairseq's pad + 1) */
    int64_t position_zero;            /* row of the sinusoids that is all zeros; -1: none */
    double rotary_base, rotary_local; /* rotary_local 0: as rotary_base */
    int64_t rotary_dim;               /* 0: head_dim */
    int64_t token_types;              /* number of token types with an embedding; 0 means none */
    int64_t window, global_every;
    Sparsity sparsity;              /* of self-attention, in the encoder where there is one */
    bool prefix_lm;                 /* GPT: the tokens of a prompt see each other in both directions */
    bool scale_scores;              /* q·k × head_dim^-1/2; T5 has it in its init instead */
    bool qk_layer_scaling;          /* Megatron's: see AttnSpec.rescale */
    bool head_transform, head_bias; /* dense, activation and norm before the vocabulary; bias on its logits */
    int head_activation;            /* of head_transform: 0: `activation`, else an Activation + 1 */
    bool pooler, sentence_head;
    int init; /* InitScheme */
    double init_std;
    bool init_scale_outputs; /* std × (2·blocks)^-1/2 for what is added to the residual stream */
    bool tie_embeddings;     /* logits from the embedding */
    bool scale_embedding;    /* × width^1/2 */
    bool scale_logits;       /* hidden states × width^-1/2 before the logits: T5 v1.0 */
    double dropout;
    double attention_dropout, activation_dropout; /* below 0: follow dropout */
    bool inner_dropout;                           /* T5: also inside the mlp and after the final norm */
    double norm_eps;
    int64_t rel_buckets, rel_max_distance;
    bool context_queries;  /* of the encoder */
    int64_t memory_tokens; /* rows of its own that the encoder reads before each sequence */
    int rel_rule;          /* RelposRule */
    bool rel_per_block;    /* a table of relative biases a block (umT5), not one a stack */
    bool rel_encoder_only; /* the decoder has none */
} ModelConfig;

typedef enum Family { FAMILY_T5, FAMILY_BERT, FAMILY_GPT } Family;
typedef enum PositionKind {
    POSITION_RELATIVE_BIAS,
    POSITION_LEARNED,
    POSITION_ROTARY,
    POSITION_ALIBI,
    POSITION_SINUSOIDAL,
    POSITION_NONE,
    POSITION_LEARNED_AND_BIAS,
    POSITION_RELATIVE_KEY,
    POSITION_RELATIVE_KEY_QUERY
} PositionKind;
typedef enum InitScheme {
    INIT_SCHEME_T5,
    INIT_SCHEME_NORMAL,
    INIT_SCHEME_FAIRSEQ,
    INIT_SCHEME_FAN_IN,
    INIT_SCHEME_FAN_OUT
} InitScheme;

extern const OptionRow model_options[]; /* "model.*" over ModelConfig */
extern const int n_model_options;
extern const OptionRename model_renames[];
/* What the options are where nobody sets them; texts are NULL. */
void model_config_defaults(ModelConfig *config);
/* Texts are the copy's own until model_config_clear. */
ModelConfig model_config_copy(const ModelConfig *config);
void model_config_clear(ModelConfig *config);

/* Appends the settings of a preset ("model.n_enc" …), origin "preset NAME"; unknown names are an error with the nearest
 * one. */
bool model_preset_settings(const char *name, GPtrArray *settings, GError **error);
extern const char *const model_preset_names[];
/* Rules across fields: heads, lengths, vocabulary. */
bool model_config_check(const ModelConfig *config, GError **error);
int64_t model_config_kv_heads(const ModelConfig *config);
double model_config_attention_dropout(const ModelConfig *config);
double model_config_activation_dropout(const ModelConfig *config);
Activation model_config_head_activation(const ModelConfig *config);
/* Positions are a set: learned ones, and a relative bias of the encoder's or the decoder's self-attention. */
bool model_config_learned_positions(const ModelConfig *config);
bool model_config_relative_bias(const ModelConfig *config, bool decoder);
/* Embeddings of distances in the scores of self-attention. */
bool model_config_distances(const ModelConfig *config);
/* Learned positions, distances and sparse layouts hold sequences of up to max_positions tokens, others any. */
bool model_config_ends(const ModelConfig *config);
/* Whether sequences of this length fit in. */
bool model_config_fits(const ModelConfig *config, int64_t length, GError **error);
int64_t model_config_params(const ModelConfig *config); /* exact count of logical parameters */
