#include "data/objectives/objectives.h"

#include "data/objectives/iid_denoising.h"
#include "data/objectives/prefix_lm.h"
#include "data/objectives/ul2.h"

#include <string.h>

/* In the order of objective_names, then variants of them.
 * name, streams, text, separated, overlap, min_length, plan, choose, apply, cut */
static const Objective objectives[] = {
    { "span_corruption", STREAMS_BOTH, TEXT_CONCATENATED, false, 0, 1, span_corruption_plan, NULL,
      span_corruption_example, NULL },
    { "prefix_lm", STREAMS_BOTH, TEXT_DOCUMENTS, false, 0, 2, prefix_lm_plan, prefix_lm_choose, prefix_lm_example,
      NULL },
    { "iid_denoising", STREAMS_BOTH, TEXT_CONCATENATED, false, 0, 1, iid_denoising_plan, iid_denoising_choose,
      iid_denoising_example, NULL },
    { "ul2", STREAMS_BOTH, TEXT_CONCATENATED, false, 0, 1, ul2_plan, ul2_choose, ul2_example, ul2_cut },
    { "clm", STREAMS_DECODER, TEXT_CONCATENATED, true, 1, 2, clm_plan, NULL, clm_example, NULL },
    { "full_lm", STREAMS_DECODER, TEXT_CONCATENATED, true, 0, 1, full_lm_plan, NULL, full_lm_example, NULL },
    { "mlm", STREAMS_ENCODER, TEXT_DOCUMENTS, false, 0, 2, mlm_plan, mlm_choose, mlm_example, NULL },
    { "prefix_lm", STREAMS_DECODER, TEXT_DOCUMENTS, false, 0, 2, prefix_lm_alone_plan, prefix_lm_alone_choose,
      prefix_lm_alone_example, NULL },
    { NULL, STREAMS_BOTH, TEXT_CONCATENATED, false, 0, 0, NULL, NULL, NULL, NULL },
};

const char *const objective_names[] = {
    "span_corruption", "prefix_lm", "iid_denoising", "ul2", "clm", "full_lm", "mlm", NULL
};

const Objective *objective_find(const char *name)
{
    for (const Objective *objective = objectives; objective->name; objective++)
        if (strcmp(objective->name, name) == 0)
            return objective;
    return NULL;
}

int objective_index(const char *name)
{
    for (int i = 0; objective_names[i]; i++)
        if (strcmp(objective_names[i], name) == 0)
            return i;
    return -1;
}

const Objective *objective_for(int index, bool decoder_alone)
{
    const Objective *named = &objectives[index];
    for (const Objective *objective = objectives; objective->name; objective++)
        if (decoder_alone && objective->streams == STREAMS_DECODER && strcmp(objective->name, named->name) == 0)
            return objective;
    return named;
}

double objective_target_share(const Objective *objective, const ObjectiveConfig *config)
{
    if (objective->apply == prefix_lm_alone_example)
        return 0.5; /* cut anywhere */
    return objective->streams == STREAMS_ENCODER ? config->noise_density : 1;
}
