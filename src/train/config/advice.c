/* advice.c: warnings about settings that are allowed but probably not meant. */
#include "train/config/config.h"

#include "base/log.h"

#include <inttypes.h>

static void advise_labels(const Config *config)
{
    if (config->data.settings.mlm.sentence_pairs != PAIRS_NONE && !config->model.sentence_head)
        log_warning("data.sentence_pairs makes labels that nothing in the model learns: set model.sentence_head and "
                    "model.pooler, or data.sentence_pairs=none");
}

static void advise_warmup(int64_t warmup, int64_t total)
{
    if (total < 2 || warmup < total)
        return;
    log_warning("optim.warmup is %" PRId64 " steps and the run %" PRId64
                ": the learning rate rises to its last step and "
                "never %s; write a share of the length, such as optim.warmup=6%%",
                warmup, total, warmup == total ? "falls" : "reaches its peak");
}

void config_advise(const Config *config, int64_t warmup, int64_t total)
{
    advise_labels(config);
    advise_warmup(warmup, total);
}
