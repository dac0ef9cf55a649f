/* stage.h: a stage is a range of a model's blocks, such as one process of a pipeline holds. Blocks are numbered
 * through: the encoder's, then the decoder's. The embedding of an encoder or decoder belongs to the stage with its
 * first block, its final norm to the stage with its last block, and the heads to the stage with the last block of all.
 */
#pragma once

#include "model/model_config.h"

/* Blocks [first, end). */
typedef struct Stage {
    int first, end;
} Stage;

/* The stage with every block, of a model that is not cut. */
Stage stage_whole(const ModelConfig *config);
/* The stage's blocks of the encoder or of the decoder, numbered within it; first == end where it has none. */
Stage stage_blocks(const ModelConfig *config, Stage stage, bool decoder);
/* Whether the stage has the embedding of the encoder or of the decoder. */
bool stage_embeds(const ModelConfig *config, Stage stage, bool decoder);
/* Whether the stage has the final norm of the encoder or of the decoder. */
bool stage_finishes(const ModelConfig *config, Stage stage, bool decoder);
/* Whether the stage has the heads, and so the loss. */
bool stage_has_heads(const ModelConfig *config, Stage stage);
