/* outline.h: the numbers of a run that follow from its configuration, before it starts: its steps, their work, and an
 * estimate of their time on this machine. For `loam plan` and `loam slurm`. */
#pragma once

#include "data/loader.h"
#include "train/cluster/cluster.h"
#include "train/config/config.h"

/* Resolves the vocabulary and the precision, and opens tokenizer and datasets. Those that cannot be read, because they
 * are not made yet, are no error: *tok or *loader stays NULL, and the reason is added to `unread` (strings). */
bool outline_resolve(Config *config, Tokenizer **tok, Loader **loader, GPtrArray *unread, GError **error);

/* The numbers of a run, computed from its configuration. */
typedef struct Outline {
    const Config *config;
    const Objective *objective;
    ObjectiveConfig planned;
    int32_t micro, enc, dec; /* samples of a microbatch; tokens of a sample in the encoder and the decoder */
    bool micro_chosen;       /* whether train.micro_batch is auto, or was before it was chosen */
    BatchSchedule batches;
    int64_t samples, epoch,
        steps;                 /* samples of the largest step; of an epoch, 0 means unknown; steps, -1 means unknown */
    int64_t run_samples;       /* samples of all steps; -1 means unknown */
    double fill;               /* share of those tokens that are not left free */
    double step_flops, step_s; /* step_s: measured, or estimated from the peak; 0 means unknown */
    double peak;               /* FLOP/s of matrix products */
} Outline;

/* config: resolved, except train.micro_batch=auto, which is chosen for `machine`, or if that is NULL for this machine's
 * device; it stays auto if this is a GPU that cannot be opened here. config is borrowed. loader NULL means that the
 * training data cannot be read. */
bool outline_of(Outline *o, Config *config, const Loader *loader, const Machine *machine, GError **error);
/* Sets step_s: measured for measure_s seconds of training on random tokens, or with measure_s 0 estimated from the
 * measured peak of matrix products; on a GPU, which an outline does not need, it is unknown then. */
bool outline_time(Outline *o, Config *config, double measure_s, GError **error);
/* Seconds of the first `steps` steps, of which small ones take less. */
double outline_seconds(const Outline *o, int64_t steps);
