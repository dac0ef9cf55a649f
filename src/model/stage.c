#include "model/stage.h"

#include <glib.h>

Stage stage_whole(const ModelConfig *config)
{
    return (Stage){ 0, (int)(config->n_enc + config->n_dec) };
}

Stage stage_blocks(const ModelConfig *config, Stage stage, bool decoder)
{
    int before = decoder ? (int)config->n_enc : 0, n = (int)(decoder ? config->n_dec : config->n_enc);
    int first = CLAMP(stage.first - before, 0, n), end = CLAMP(stage.end - before, 0, n);
    return (Stage){ first, end };
}

bool stage_embeds(const ModelConfig *config, Stage stage, bool decoder)
{
    Stage blocks = stage_blocks(config, stage, decoder);
    return blocks.first == 0 && blocks.end > 0;
}

bool stage_finishes(const ModelConfig *config, Stage stage, bool decoder)
{
    Stage blocks = stage_blocks(config, stage, decoder);
    return blocks.end > blocks.first && blocks.end == (decoder ? config->n_dec : config->n_enc);
}

bool stage_has_heads(const ModelConfig *config, Stage stage)
{
    return stage.end == config->n_enc + config->n_dec;
}
