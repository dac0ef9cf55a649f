/* outline.h: the numbers of a run that follow from its configuration, before it starts: its steps, their work, and an
 * estimate of their time on this machine. For `loam plan` and `loam slurm`. */
#pragma once

#include "data/loader.h"
#include "plan/cluster/cluster.h"

/* Resolves the vocabulary and the precision, and opens tokenizer and datasets, or the examples of a
 * task. Those that cannot be read, because they
 * are not made yet, are no error: *tok or *loader stays NULL, and the reason is added to `unread` (strings). machine:
 * where the run is planned (machine_configure); NULL means this machine. */
bool outline_resolve(Config *config, const Machine *machine, Tokenizer **tok, Loader **loader, GPtrArray *unread,
                     GError **error);

/* How far the run in run.dir is, by its newest checkpoint; all 0 if there is none. samples: read, with those that
 * train.skip_samples left out; learnt: without them. tokens: 0 also if amounts in tokens count every sample as
 * data.input_length of them. */
typedef struct OutlineTrained {
    int64_t steps, samples, learnt, tokens;
} OutlineTrained;

/* The numbers of a run, computed from its configuration and, if it has begun, from what it has read. */
typedef struct Outline {
    const Config *config;
    const Objective *objective;
    ObjectiveConfig planned;
    int32_t micro, enc, dec; /* micro: samples of a microbatch, at most those that a rank has of the largest step; enc,
                                dec: tokens of a sample in each stream */
    bool micro_chosen;       /* whether train.micro_batch was auto when outline_of began */
    BatchSchedule batches;
    OutlineTrained trained;
    int64_t samples, epoch; /* samples: those of the largest step; epoch: samples of an epoch, 0 means unknown */
    /* Steps of train.length, by which the schedule goes, and steps that the run makes: fewer with train.stop_at. -1
     * means unknown: train.length is a time, and outline_time estimates them. */
    int64_t length, steps;
    int64_t run_samples;       /* samples of all steps; -1 means unknown */
    double fill, input_fill;   /* packing efficiency (loader_fill, loader_input_fill); 1 if the training data cannot be
                                  read */
    double step_flops, step_s; /* step_s: seconds of the largest step (outline_time); 0 means unknown */
    double peak, peak_low;     /* FLOP/s of matrix products on this machine's processor, in the fastest window of the
                                  measurement and in the slowest; 0 means not measured */
    double busy_cores;         /* cores that other processes kept busy during the measurement */
} Outline;

/* Fails for a layout that `loam train` would refuse at the start of the run, or where the run in run.dir goes on. */
bool outline_check_layout(const Config *config, GError **error);
/* Computes everything except step_s and peak. config: as outline_resolve leaves it; it is borrowed. A train.micro_batch
 * of auto becomes the number that fits `machine`, or, if that is NULL, this machine's device; it stays auto if that
 * device is a GPU that cannot be opened here. loader NULL means that the training data cannot be read. */
bool outline_of(Outline *o, Config *config, const Loader *loader, const Machine *machine, GError **error);
/* Sets step_s and, from it, steps that were unknown. measure_s above 0: trains on random tokens for so many seconds.
 * measure_s 0: measures the peak of matrix products and estimates step_s from it; if train.device is a GPU it does
 * nothing, so that plans can be made on a machine without one. Warns if other processes slow the measurement. */
bool outline_time(Outline *o, Config *config, double measure_s, GError **error);
/* FLOPs of a training step for each of its samples, with this model in place of the configured one. */
double outline_sample_flops(const Outline *o, const ModelConfig *model);
/* Input tokens of so many samples. */
double outline_tokens(const Outline *o, double samples);
/* An amount in tokens becomes the capacity of the samples that hold them; other amounts stay as they are. */
Amount outline_capacity(const Outline *o, Amount amount);
/* Seconds of the first `steps` steps. A step with fewer samples than the largest one takes proportionally less than
 * step_s. */
double outline_seconds(const Outline *o, int64_t steps);
