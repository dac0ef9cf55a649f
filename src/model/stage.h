/* stage.h: a stage is a range of consecutive blocks of a model. A rank of a pipeline holds one stage, or several.
 * Blocks are numbered from 0, first those of the encoder, then those of the decoder. The embedding of the encoder (or
 * decoder) belongs to the stage with its first block, the final norm to the stage with its last block, and the heads to
 * the stage with the last block of the model. */
#pragma once

#include "model/config/config.h"

/* Blocks [first, end). */
typedef struct Stage {
    int first, end;
} Stage;

enum { STAGES_MOST = 32 };
/* The stages of one rank, in the order of the model; no stage begins with the block after another's last one. */
typedef struct Stages {
    Stage range[STAGES_MOST];
    int n;
} Stages;

/* The stage with every block: a model that is not divided. */
static inline Stages stage_whole(const ModelConfig *config)
{
    return (Stages){ .range = { { 0, (int)(config->n_enc + config->n_dec) } }, .n = 1 };
}

/* The part of the encoder, or of the decoder, that a stage has. */
typedef struct StagePart {
    int first, end; /* blocks [first, end), numbered within the encoder or decoder; first == end means no block */
    bool embeds, finishes; /* embeds: has the embedding; finishes: has the final norm */
} StagePart;
static inline StagePart stage_part(const ModelConfig *config, Stage stage, bool decoder)
{
    int before = decoder ? (int)config->n_enc : 0, n = (int)(decoder ? config->n_dec : config->n_enc);
    int first = CLAMP(stage.first - before, 0, n), end = CLAMP(stage.end - before, 0, n);
    return (StagePart){ first, end, .embeds = first == 0 && end > 0, .finishes = end > first && end == n };
}

/* Whether the stage has the heads, and so the loss. */
static inline bool stage_has_heads(const ModelConfig *config, Stage stage)
{
    return stage.end == config->n_enc + config->n_dec;
}

/* The activations that a stage sends to the next stage, or their gradients, sent backward. N: tokens of the stack
 * (encoder or decoder) that the boundary divides; E: tokens of the encoder; C: width. The tensors belong to the slot
 * and are valid until its next slot_begin. */
typedef struct StageMessage {
    Tensor x; /* (N,C) residual stream after the stage's last block; absent at the boundary of encoder and decoder */
    Tensor encoder_output; /* (E,C); absent at a boundary within the encoder, and in a decoder-only model */
} StageMessage;
