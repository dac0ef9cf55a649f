/* layouts.h: all layouts in which a number of GPUs can train a model, by their predicted step times. */
#pragma once

#include "plan/cluster/cost.h"

typedef struct Layout {
    int64_t data, tensor, context, pipeline; /* ranks; their product is the number of GPUs */
    int64_t interleave;                      /* stages of each rank of a pipeline */
    int64_t micro;       /* samples of a microbatch: a power of 2, or the configured number, of which
                            a rank takes at most as many as it has of a step */
    int zero, recompute; /* ZeroLevel, RECOMPUTE_* */
    bool configured;     /* the layout that the configuration has */
    StepCost cost;
} Layout;

/* The layouts of `gpus` ranks that config_check_layout accepts, with parallel.context as configured, 1, and 2, 4, … as
 * long as each rank has 4,096 tokens of a sample, and with microbatches of the powers of 2 up to 16, or up to
 * the configured number if that is larger, and of the configured number: an array of Layout, first those that fit into
 * memory, each part ordered by step time; of layouts whose times differ by less than 1 % the one with the least of
 * parallel.tensor, context, pipeline and interleave, ZeRO 2 and 3 and recomputation comes first. input_length,
 * target_length: as for memory_plan. NULL with an error if memory_plan fails. */
GArray *layouts_list(const Config *config, const Machine *machine, int gpus, int32_t input_length,
                     int32_t target_length, GError **error);
/* Of the layouts that fit, the one that changes the fewest options of the configuration; of several such layouts the
 * fastest. NULL if none fits. */
const Layout *layouts_nearest(const GArray *layouts, const Config *config);
/* The options of the layout that differ from the configuration's: "parallel.tensor=2 …". g_free. */
char *layout_options(const Layout *layout, const Config *config);
