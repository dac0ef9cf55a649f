#include "data/objectives/objectives.h"

#define NAME(name)    #name,
#define POINTER(name) &name##_objective,
const char *const objective_names[] = { OBJECTIVES(NAME) NULL };
static const Objective *const objectives[] = { OBJECTIVES(POINTER) NULL };

/* The objectives that have settings, with the offset of their struct in ObjectiveSettings. */
#define SETTINGS(member) offsetof(ObjectiveSettings, member), sizeof(((ObjectiveSettings *)NULL)->member)
static const struct {
    const Objective *objective;
    size_t offset, bytes;
} with_settings[] = {
    { &span_corruption_objective, SETTINGS(span_corruption) },
    { &subtree_corruption_objective, SETTINGS(subtree_corruption) },
    { &clm_objective, SETTINGS(clm) },
    { &full_lm_objective, SETTINGS(clm) },
    { &mlm_objective, SETTINGS(mlm) },
};

const Objective *objective_for(int index, bool decoder_alone)
{
    const Objective *named = objectives[index];
    return decoder_alone && named->decoder_alone ? named->decoder_alone : named;
}

ObjectiveConfig objective_config(int index, const ObjectiveSettings *settings)
{
    ObjectiveConfig config = { 0 };
    for (size_t i = 0; i < G_N_ELEMENTS(with_settings); i++)
        if (with_settings[i].objective == objectives[index])
            config.own = objective_own((const char *)settings + with_settings[i].offset, with_settings[i].bytes);
    return config;
}

void objective_options(GArray *groups, size_t offset)
{
    for (size_t i = 0; i < G_N_ELEMENTS(with_settings); i++) {
        const Objective *objective = with_settings[i].objective;
        const OptionGroup group = { objective->options, objective->n_options, offset + with_settings[i].offset, NULL };
        g_array_append_val(groups, group);
    }
}
