/* stage.h: a stage is a range of a model's blocks, such as one process of a pipeline holds. Blocks are numbered
 * through: the encoder's, then the decoder's. An embedding belongs to the stage with the first block of its encoder or
 * decoder, a final norm to that with the last block, the heads to the stage with the last block of all. */
#pragma once

#include "model/config/config.h"

/* Blocks [first, end). */
typedef struct Stage {
    int first, end;
} Stage;

/* The stage with every block, of a model that is not cut. */
Stage stage_whole(const ModelConfig *config);
/* A stage's part of the encoder or of the decoder. */
typedef struct StagePart {
    int first, end;        /* blocks [first, end), numbered within the encoder or decoder; first == end: no block */
    bool embeds, finishes; /* whether it has the embedding, the final norm */
} StagePart;
StagePart stage_part(const ModelConfig *config, Stage stage, bool decoder);
/* Whether the stage has the heads, and so the loss. */
bool stage_has_heads(const ModelConfig *config, Stage stage);
