#include "model/stage.h"

Stages stage_whole(const ModelConfig *config)
{
    return (Stages){ .range = { { 0, (int)(config->n_enc + config->n_dec) } }, .n = 1 };
}

StagePart stage_part(const ModelConfig *config, Stage stage, bool decoder)
{
    int before = decoder ? (int)config->n_enc : 0, n = (int)(decoder ? config->n_dec : config->n_enc);
    int first = CLAMP(stage.first - before, 0, n), end = CLAMP(stage.end - before, 0, n);
    return (StagePart){ first, end, .embeds = first == 0 && end > 0, .finishes = end > first && end == n };
}

bool stage_has_heads(const ModelConfig *config, Stage stage)
{
    return stage.end == config->n_enc + config->n_dec;
}
