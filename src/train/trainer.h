/* trainer.h: Trainer, the state of one rank of a training process, and the functions that the files of the training
 * loop share: open.c (opens and closes everything), resume.c (initial weights, or the newest checkpoint), loop.c (the
 * loop over steps), step.c (one step), batch.c (its samples), ranks.c (communication between the ranks), progress.c
 * (how far the run is), task_data.c (the dataset of a task). What happens around the steps are services
 * (services/services.h), which see a const Trainer. */
#pragma once

#include "base/clock.h"
#include "base/log.h"
#include "data/prefetch.h"
#include "eval/heldout.h"
#include "plan/memory.h"
#include "run/run_dir.h"
#include "train/services/services.h"

#include <inttypes.h>

/* Flags: periodic actions that are due, and requests to stop, after a step. All ranks see the same flags: the clock of
 * rank 0 decides, and a signal to any rank counts for all. */
enum {
    DUE_LOG = 1,    /* train.log_every is due */
    DUE_EVAL = 2,   /* train.eval_every is due */
    DUE_SAVE = 4,   /* train.save_every, train.save_within or the checkpoint after a loss spike is due */
    DUE_STOP = 8,   /* a request to stop */
    DUE_MOVED = 16, /* the run directory is no longer at its place; looked at before files are written */
    DUE_RULE = 32   /* due / DUE_RULE is the StopRule that ends the process; STOP_NONE (0) means that a request does */
};

/* The datasets of ranks that are threads of one process. Rank 0 opens them; this struct holds one reference to each,
 * and every other rank takes its own. NULL means not open yet. */
typedef struct SharedData {
    Loader *train;
    GPtrArray *valid; /* HeldoutSet * */
} SharedData;

/* Which samples the steps of the run read. */
typedef struct SamplePlan {
    BatchSchedule sizes;
    SkipRange skips[SKIP_RANGES]; /* train.skip_samples */
    int n_skips;
    int64_t micro_most; /* samples per microbatch of the largest step, and of evaluations */
    bool micro_chosen;  /* train.micro_batch was auto */
} SamplePlan;

/* The samples of the next step, which trainer_next_batch sets. */
typedef struct StepBatch {
    int64_t samples;                /* of all ranks */
    int64_t own_first, own_samples; /* this rank's part: index of the first one, and their number */
    int64_t micro, accum;           /* samples per microbatch, and microbatches of this rank */
    int64_t empty; /* with parallel.zero 2 or 3, and in FP8: number of microbatches by which another rank exceeds this
                      rank, which runs as many passes without effect, so that ranks communicate equally often; else 0 */
    const Batch **micros; /* the microbatches, borrowed from the prefetching thread; NULL between steps */
} StepBatch;

/* The end of the run, in one of three units, and that of this process. */
typedef struct RunLength {
    int64_t steps;   /* -1 means unknown: train.length is a time or a number of tokens, or a number of samples while the
                        batch depends on tokens */
    int64_t samples; /* train.length in samples, if that is its unit and the batch depends on tokens, or with
                        train.skip_samples; else 0 */
    int64_t left_out; /* of these samples, those that are left out; 0 while the batch depends on tokens */
    double tokens;    /* train.length in tokens without padding; 0 means that it has another unit */
    RunSpan stop_at;  /* train.stop_at */
} RunLength;

/* Where this process starts: the counters of the run at its first step. */
typedef struct ProcessStart {
    int64_t steps, samples, tokens;
    double trained_s;
    bool resumed;   /* from a checkpoint */
    bool finished;  /* no step and no evaluation is left for this process */
    bool best_lost; /* the best checkpoint is missing, that of step lost_best: state.best_step is another one */
    int64_t lost_best;
    double command_s;  /* clock_seconds() at the start of the command */
    uint64_t init;     /* trainer_hash_init; 0 means that it was not called */
    const char *trace; /* file for the trace of one step; NULL means none */
} ProcessStart;

/* The time that counts as training. */
typedef struct RunClock {
    double started;  /* clock_seconds() at the first step of this process, moved forward by the seconds that evaluations
                        and reports took */
    double paused_s; /* seconds since then that the speed in log lines does not count: of evaluations, reports, saves
                        and measurements */
} RunClock;

/* The run directory, on the rank that writes it. */
typedef struct RunHold {
    int lock; /* base/lock.h; -1 means none */
    RunFolder folder;
} RunHold;

/* Path prefixes of the datasets made from a task; NULL means no task. */
typedef struct TaskData {
    char *train, *valid;
    bool unchecked; /* made again by this start, and not yet compared with the data of the checkpoint */
} TaskData;

/* What a step took: seconds that it waited for its batches, of forward and backward, of the update, and that it waited
 * for other ranks; bytes that it sent to them. */
typedef struct StepSpent {
    double data_s, passes_s, update_s, comm_wait_s;
    int64_t sent_bytes;
} StepSpent;

/* Mean and standard deviation of the losses of the last train.spike_window steps. */
typedef struct SpikeLevel {
    double mean, deviation;
} SpikeLevel;

/* The record of a step. */
struct StepRecord {
    LossSums sums;
    double loss, lr, norm; /* norm: L2 norm of the gradients before clipping, loss scale divided out */
    double loss_scale;     /* 1 except in fp16 */
    double trained_s;      /* as TrainState.trained_s */
    int64_t tokens, target_tokens,
        room; /* over all ranks: tokens without padding; target tokens; tokens that its samples could hold */
    int64_t samples_read; /* samples by which TrainState.samples grew: train.skip_samples leaves some out */
    int64_t samples_end;  /* TrainState.samples after the step */
    bool updated;         /* false means skipped: loss or gradients were not finite, or there was a loss spike */
    bool spike;           /* the loss is a spike */
    SpikeLevel before;    /* mean and deviation of the losses before this step */
    bool again;           /* the step has changed nothing, and is to be made again after a save */
    bool last;            /* the run ends after this step */
    StepSpent cost;       /* also of the first time, if the step is made again */
};

struct Trainer {
    Config config; /* a shallow copy of the caller's, with model.vocab resolved */
    Mesh mesh; /* the groups of ranks: all of them (world) train this model; mesh.data divides the samples of a step */
    Comm *save_ranks;   /* with train.save_async: a group of all ranks, for the threads that write; else NULL */
    SharedData *shared; /* NULL means that no other rank is a thread of this process */
    ProcessStart start;
    RunHold *hold;
    GPtrArray *changes; /* char *: descriptions of options that differ from those saved in the run directory */
    TaskData task;
    Tokenizer *tok;
    Device *dev;
    Model *model;
    ModelLoss loss; /* its class_weights are freed with the Trainer */
    Optimizer *optimizer;
    Schedule schedule;
    LossScaleConfig loss_scale; /* the options fp16.*, with defaults resolved */
    Loader *train;
    GPtrArray *valid; /* HeldoutSet *; the loss of the first set decides which checkpoint is the best */
    Prefetch *prefetch;
    MemoryPlan memory;
    SamplePlan plan;
    RunLength length;
    TrainState state; /* the counters of the run */
    StepBatch batch;
    StepRecord step; /* the last step */
    unsigned due;    /* DUE_* flags after it */
    RunClock clock;
    Pulse *pulse; /* writes this rank's heartbeat; NULL until the run directory is open */
    Services services;
    bool together; /* all ranks end with the same error, so none of them needs to make the others fail */
};

/* ---- open.c ---- */

/* Opens everything that a run needs and resumes from the newest valid checkpoint, if there is one. Free with
 * trainer_close, also after an error. */
bool trainer_open(Trainer *t, GError **error);
/* problem: why the run ends early; NULL means that it does not. */
void trainer_close(Trainer *t, const GError *problem);

/* ---- length.c ---- */

/* Sets the end of the run and its schedule, and notes where this process starts. */
bool trainer_plan_steps(Trainer *t, GError **error);

/* ---- task_data.c ---- */

/* If a task is configured, makes its datasets unless the run has them, and sets data.train and data.valid to them. */
bool trainer_prepare_task(Trainer *t, GError **error);
/* Removes examples that a failed start has made again (TaskData.unchecked): they may be those of another table. */
void trainer_drop_unchecked(const Trainer *t);
/* Warns if the definition of the task has changed since its datasets were made. */
void trainer_note_table(const Trainer *t);

/* ---- resume.c ---- */

/* What a checkpoint of the run holds, for `ranks` to write or read. */
Checkpoint trainer_checkpoint(const Trainer *t, Comm *ranks, TrainState *state);
/* Loads the newest valid checkpoint of run.dir. Without one, initialises the weights: randomly or from train.init. */
bool trainer_resume(Trainer *t, GError **error);

/* ---- batch.c ---- */

/* Sets t->plan and the batch of the first step of this process. */
bool trainer_plan_batch(Trainer *t, GError **error);
/* Sets the batch of the next step, and says so if it is another than that of the last one. */
void trainer_next_batch(Trainer *t);
/* The first sample of the next step: state.samples, or, if the step would read a sample of a range of
 * train.skip_samples, the first one after this range. */
int64_t trainer_next_sample(const Trainer *t);
/* Number of steps from where the run stands until `end` samples are read or left out, unless the batch depends on
 * tokens. *samples: what they read before `end`. */
int64_t trainer_steps_to(const Trainer *t, int64_t end, int64_t *samples);
/* Samples that the whole run reads; -1 means unknown. */
int64_t trainer_run_samples(const Trainer *t);

/* ---- step.c ---- */

/* Runs one step and records it in t->step; the update is skipped if the loss or a gradient is not finite. A request to
 * stop may abandon the step: it then fails with LOAM_ERROR_STOPPED and has changed nothing. */
bool train_step(Trainer *t, GError **error);

/* ---- ranks.c; with one rank these functions change nothing ---- */

/* Divides the samples of a step among the ranks: sets own_first, own_samples, micro and accum. */
void ranks_divide(Trainer *t);
/* Microbatches of the rank that has the most of them in a step of t->batch.samples samples. */
int64_t ranks_most_microbatches(const Trainer *t);
/* A description, "; 4 ranks (thread), 32 samples each"; "" with one rank. g_free. */
char *ranks_describe(const Trainer *t);
/* Waits until all ranks have called it, each with the result of an operation (good; false: *error is set). If it failed
 * on one of them, all ranks fail with that error, which names the rank. */
bool ranks_end_together(Trainer *t, bool good, GError **error);
/* alike.c: fails on all ranks unless they have the same version of loam, options, tokenizer, datasets and instruction
 * set, and see one run directory. Called after every rank has opened its log there. */
bool ranks_alike(Trainer *t, GError **error);
/* Makes the other ranks fail at their next wait, with this rank's error as the reason. */
void ranks_abort(const Trainer *t, const GError *problem);
/* Called by all ranks after passes of the model. good false: those of this rank failed, and *error is set; then all
 * ranks fail. missing: this rank has left out passes; if others exchange tensors with it in a pass, they may already
 * wait for it, so their groups fail at once. */
bool ranks_agree_on_passes(const Trainer *t, bool good, bool missing, GError **error);
/* Returns rank 0's value on every rank (broadcast). */
int64_t ranks_agree(const Trainer *t, int64_t value);
/* Sums over the ranks the numbers of targets that losses are divided by (ModelLoss.n_targets), and the token counts of
 * t->step. read: this rank has read its batches, else set *error; if one has not, all fail with its error. */
bool ranks_sum_counts(Trainer *t, bool read, GError **error);
void ranks_sum_losses(const Trainer *t, LossSums *sums);

/* ---- progress.c ---- */

/* The counters of the run that its schedule goes by. */
ScheduleCounts trainer_counts(const TrainState *state);
/* The counters that periods go by. */
EveryCounts trainer_every_counts(const Trainer *t);
/* Whether amounts in tokens count the tokens read; runs of earlier versions, and of Megatron's samples, count every
 * sample as data.input_length tokens. */
bool trainer_counts_tokens(const Trainer *t);
/* A period that starts now (every_of). */
Every trainer_every(const Trainer *t, Amount amount);
/* Whether train.length or train.stop_at is reached, or train.patience is used up. A train.length that is a time is
 * compared with TrainState.trained_s. */
bool trainer_finished(const Trainer *t);
/* Whether train.stop_at is reached. */
bool trainer_stops_here(const Trainer *t);
/* Whether this command has changed the option of the run (Trainer.changes). */
bool trainer_has_changed(const Trainer *t, const char *option);
/* Whether the last train.patience evaluations were all not better than the best one. */
bool trainer_out_of_patience(const Trainer *t);
/* Whether an earlier process has ended the run: its checkpoint leaves no step and no evaluation to do. Its config.yaml
 * and the options of its logs then stay as they are, so that they say what the run was trained with. */
bool trainer_had_ended(const Trainer *t);
/* Whether an evaluation is due and has not yet been done at this step. end: this is the last step. */
bool trainer_evaluation_due(const Trainer *t, bool end);
/* The factor of the plateau schedule according to its drops so far. */
double trainer_rate_scale(const Trainer *t);
/* The steps of the whole run, at least those so far; estimated if its length is in tokens, or in samples of batches
 * that change; those so far if it is a time. */
int64_t trainer_about_steps(const Trainer *t);
/* Seconds to train.length or train.stop_at, whichever comes first, by the speed of this process; -1 means unknown. */
double trainer_seconds_left(const Trainer *t);
/* FLOPs per packed sequence of the training set, if its input were full and its targets filled as much of their stream
 * for each token of it as they do on average. */
double trainer_sample_flops(const Trainer *t);

/* ---- alike.c: computes a value once for all ranks that would compute the same one, such as the hash of a file of
 * their host ---- */

enum { ONCE_KEY = 160 };
/* A function whose value is the same on all ranks that call ranks_once with the same key. */
typedef uint64_t (*OnceFn)(const void *context);
/* Returns fn(context) of the lowest rank with this rank's key; only that rank calls fn, in a thread of its own, and the
 * others wait for it, also if it takes longer than the group's timeout. An empty key is no other rank's. key: at most
 * ONCE_KEY - 1 bytes. All ranks of the group call it; if the group fails, the value is of no use. */
uint64_t ranks_once(Comm *ranks, const char *key, OnceFn fn, const void *context);
/* A key for what is computed from PATH's files: that of the same folder or file of a host; "" if PATH names none. */
void once_key_of_path(char key[ONCE_KEY], const char *path);
/* The hash of the model in train.init, whose files one rank of a host reads; 0 means that there is none. */
uint64_t trainer_hash_init(Trainer *t);

/* ---- stop.c: requests to stop: Ctrl-C (SIGINT), SIGTERM, SIGUSR1 (Slurm), SIGUSR2, SIGXCPU, SIGHUP (the terminal was
 * closed; ignored under nohup) and SIGPIPE (nobody reads standard error any more). With one rank the trainer checks for
 * them between microbatches, with several after each step. A request is acknowledged in the log at once; a second
 * SIGINT ends the program, or the hooks if the run only waits for these ---- */

/* Blocks these signals and starts a thread that waits for them, before others, which inherit the block, start. */
void stop_catch_signals(void);
bool stop_requested(void);
/* While a trained run waits for its hooks there is no step to end and nothing to save: answers to requests say so. */
void stop_waits_for_hooks(bool waits);
/* Whether there was a second SIGINT while the run waited for its hooks: they are to be ended. */
bool stop_hurries(void);
