/* state.h: Trainer, the state of a training process, and the functions that the files of the trainer share: opening.c
 * (opens and closes everything), resume.c (initial weights, or the newest checkpoint), trainer.c (the loop over steps),
 * step.c (one step), batch.c (its samples), ranks.c (communication between the ranks), progress.c (periodic actions,
 * estimated time to the end), skipped.c (steps without an update), evaluation.c (held-out losses, scores, the best
 * checkpoint), scoring.c (the examples of a task that are scored), saving.c (checkpoints), task_data.c (the dataset of
 * a task). */
#pragma once

#include "comm/comm.h"
#include "data/prefetch.h"
#include "device/gemm_peak.h"
#include "eval/heldout.h"
#include "train/checkpoint/checkpoint.h"
#include "train/config/config.h"
#include "train/memory.h"
#include "train/run_dir.h"
#include "train/trainer/energy_log.h"
#include "train/trainer/every.h"
#include "train/trainer/hooks.h"
#include "train/trainer/metrics/metrics.h"
#include "train/trainer/pulse.h"
#include "train/trainer/spike.h"
#include "train/trainer/stop_rules.h"
#include "train/trainer/straggler.h"

/* Flags: periodic actions that are due, and requests to stop, after a step. All ranks see the same flags: the clock of
 * rank 0 decides, and a signal to any rank counts for all. */
enum {
    SEEN_LOG = 1,     /* train.log_every is due */
    SEEN_EVAL = 2,    /* train.eval_every is due */
    SEEN_SAVE = 4,    /* train.save_every, train.save_within or the checkpoint after a loss spike is due */
    SEEN_TIME_UP = 8, /* train.length is a time and is over */
    SEEN_STOP = 16,   /* a request to stop */
    SEEN_MOVED = 32,  /* the run directory is no longer at its place; looked at before files are written */
    SEEN_RULE = 64 /* seen / SEEN_RULE is the StopRule that ends the process; STOP_NONE (0) means that a request does */
};

typedef struct Save Save; /* saving.c: a checkpoint that a thread writes */

/* The datasets of ranks that are threads of one process. Rank 0 opens them; this struct holds one reference to each,
 * and every other rank takes its own. NULL means not open yet. */
typedef struct SharedData {
    Loader *train;
    GPtrArray *valid; /* HeldoutSet * */
} SharedData;

typedef struct Trainer {
    Mesh mesh;     /* the groups of ranks; mesh.data divides the samples of a step */
    Comm *ranks;   /* the ranks that train this model together; each has a part of every batch */
    unsigned seen; /* SEEN_* flags of the last trainer_look */
    int64_t own_first,
        own_samples;  /* this rank's part of the samples of a step: index of the first one, and their number */
    Config config;    /* a shallow copy of the caller's, with model.vocab resolved */
    Comm *save_ranks; /* with train.save_async: a group of the same ranks, for the threads that write; else NULL */
    Save *save;       /* the checkpoint that is being written; NULL means none */
    Tokenizer *tok;
    Device *dev;
    Model *model;
    Optimizer *optimizer;
    Loader *train;
    SharedData *shared; /* NULL means that no other rank is a thread of this process */
    GPtrArray *valid;   /* HeldoutSet *; the loss of the first set decides which checkpoint is the best */
    Prefetch *prefetch;
    const Batch **batch; /* the microbatches of the current step, borrowed from `prefetch`; NULL between steps */
    BatchSchedule batches;
    int64_t accum, micro, samples; /* microbatches per step, samples per microbatch, samples per step; batch.c sets them
                                      before each step */
    bool micro_chosen;             /* whether train.micro_batch was auto */
    int64_t micro_most;            /* samples per microbatch of the largest step, and of evaluations */
    int64_t empty; /* with parallel.zero 2 or 3, and in FP8: number of microbatches by which another rank exceeds this
                      rank, which runs as many passes without effect, so that ranks communicate equally often; else 0 */
    Schedule schedule;
    int64_t total; /* steps of the run; -1 means unknown: train.length is a time or a number of tokens, or a number of
                      samples while the batch depends on tokens or with train.skip_samples */
    int64_t total_samples; /* train.length in samples, if that is its unit and `total` is unknown; else 0 */
    double total_tokens;   /* train.length in tokens without padding; 0 means that it has another unit */
    Every log_every, eval_every, save_within; /* periods of the options train.NAME */
    Phases save_every;
    RunSpan stop_at;        /* train.stop_at as a span */
    double command_started; /* clock_seconds() at the start of the command */
    StopRules stops;
    SkipRange skips[SKIP_RANGES];
    int n_skips;
    int64_t spike_saved; /* state.attempts at which a step was found to be a spike, abandoned for a save, and is to be
                            made again; -1 means none */
    LossScaleConfig loss_scale; /* the options fp16.*, with defaults resolved */
    TrainState state;
    ModelLoss loss;
    float *class_weights; /* factors from train.class_weights; NULL means none */
    MemoryPlan memory;
    GPtrArray *changes; /* char *: descriptions of options that differ from those saved in the run directory */
    Metrics *metrics;
    EnergyLog *energy;     /* NULL without log.emissions */
    double sample_flops;   /* FLOPs per sample */
    GemmPeak gemm_peak;    /* the rate of matrix products that mfu refers to, sampled between steps */
    double started;        /* clock_seconds() at the start of this process's training, moved forward by the seconds that
                              evaluations and reports took */
    double window_started; /* clock_seconds() at the last log line, moved forward by the seconds that evaluations,
                              reports, saves and measurements of gemm_peak took since */
    double window_comm_wait; /* seconds that steps waited for other ranks, since the last log line */
    int64_t window_sent;     /* bytes that steps sent to other ranks, since the last log line */
    Straggler straggler;
    double window_waited;                /* seconds that steps waited for batches since the last log line */
    double window_passes, window_update; /* seconds of forward and backward, and of updates, since the last log line */
    int64_t window_tokens,
        window_rows; /* since the last log line: tokens without padding, and tokens that the samples could hold */
    int64_t window_samples, window_own_samples; /* samples of the steps since the last log line; those of this rank */
    int64_t window_step;                        /* step of the last log line */
    int64_t step_tokens, step_samples;          /* tokens and samples read by the last step */
    int64_t samples_before;                     /* state.samples when step_samples was last set: at the end of a step */
    int64_t stuck; /* number of consecutive skipped steps at the smallest loss scale (fp16) */
    bool warned_of_warmup;
    bool stuck_loss;                                 /* the loss of the last step was not finite */
    int64_t first_step, first_samples, first_tokens; /* counters of `state` when this process started */
    double first_trained_s;
    int64_t best_data;             /* hash of the held-out samples that evaluations use and of train.best */
    GPtrArray *scored;             /* ScoredTask * (scoring.c) */
    char *best;                    /* the metric that train.best names; NULL means the held-out loss */
    char *task_train, *task_valid; /* path prefixes of the datasets made from a task; NULL means no task */
    const char *trace;             /* file for the trace of one step (trace.h); NULL means none */
    Pulse *pulse;                  /* writes this rank's heartbeat; NULL until the run directory is open */
    bool had_ended;                /* on rank 0: the last command of the run ended with status 0 */
    bool opened;                   /* trainer_open succeeded */
    Hooks *hooks;                  /* NULL on ranks above 0, and without hooks */
    bool together;               /* all ranks end with the same error, so none of them needs to make the others fail */
    bool reports, report_failed; /* rank 0 writes report.html (train.report); the last attempt failed */
    double report_after;         /* clock_seconds() from which on the next report may be written */
    int lock;                    /* lock of the run directory (base/lock.h); -1 means none */
    RunFolder folder;            /* the run directory, on the rank that has the lock */
    TrainState saved; /* state in the newest valid checkpoint; attempts -1 means that there is no checkpoint */
} Trainer;

/* Statistics of one step. */
typedef struct StepStats {
    LossSums sums;
    double trained_s;  /* as TrainState.trained_s */
    double lr, norm;   /* learning rate; L2 norm of the gradients before clipping, loss scale divided out */
    double loss_scale; /* loss scale of this step; 1 except in fp16 */
    int64_t tokens, target_tokens,
        room;     /* over all ranks: tokens without padding; target tokens; tokens that its samples could hold */
    bool updated; /* false means skipped: loss or gradients were not finite, or there was a loss spike */
    double loss;
    bool spike;        /* the loss is a spike */
    SpikeLevel before; /* mean and deviation of the losses before this step */
    bool again;        /* the step has changed nothing, and is to be made again after a save */
} StepStats;

/* Opens everything that a run needs and resumes from the newest valid checkpoint, if there is one. Free with
 * trainer_close, also after an error. */
bool trainer_open(Trainer *t, GError **error);
/* problem: why the run ends early; NULL means that it does not. */
void trainer_close(Trainer *t, const GError *problem);
/* If a task is configured, makes its datasets unless the run already has them, and sets data.train and data.valid to
 * them. */
bool trainer_prepare_task(Trainer *t, GError **error);
/* Warns if the definition of the task has changed since its datasets were made. */
void trainer_note_table(const Trainer *t);
/* Loads the newest valid checkpoint of run.dir. Without a checkpoint, initialises the weights: randomly, or from
 * train.init. */
bool trainer_resume(Trainer *t, GError **error);

/* ---- batch.c ---- */

/* Sets t->batches and the batch of the first step of this process. */
bool trainer_plan_batch(Trainer *t, GError **error);
/* Sets the batch of the next step, and says so if it is another than that of the last one. */
void trainer_next_batch(Trainer *t);
/* The first sample of the next step: state.samples, or, if the step would read a sample of a range of
 * train.skip_samples, the first one after this range. */
int64_t trainer_next_sample(const Trainer *t);
/* Samples that the whole run reads; -1 means unknown. */
int64_t trainer_run_samples(const Trainer *t);

/* ---- ranks.c; with one rank these functions change nothing ---- */

/* Divides the samples of a step among the ranks: sets own_first, own_samples, micro and accum. */
void ranks_divide(Trainer *t);
/* Microbatches of the rank that has the most of them in a step of t->samples samples. */
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
void ranks_abort(Trainer *t, const GError *problem);
/* Called by all ranks after passes of the model. good false: those of this rank failed, and *error is set; then all
 * ranks fail. missing: this rank has left out passes; if others exchange tensors with it in a pass, they may already
 * wait for it, so their groups fail at once. */
bool ranks_agree_on_passes(Trainer *t, bool good, bool missing, GError **error);
/* Returns rank 0's value on every rank (broadcast). */
int64_t ranks_agree(Trainer *t, int64_t value);
/* Sums over the ranks the numbers of targets that losses are divided by (ModelLoss.n_targets), and the token counts of
 * *stats. read: whether this rank has read its batches, or else has set *error; if one rank has not, all fail with its
 * error. */
bool ranks_sum_counts(Trainer *t, StepStats *stats, bool read, GError **error);
/* Every parallel.check_every steps: fails unless all ranks have the same weights. */
bool ranks_check_replicas(Trainer *t, GError **error);
void ranks_sum_losses(Trainer *t, LossSums *sums);
/* The rate of matrix products of all ranks together, estimated from this rank's own measurement. */
PeakRate ranks_peak(const Trainer *t);

/* The counters of the run that its schedule goes by. */
ScheduleCounts trainer_counts(const TrainState *state);
/* Whether train.length or train.stop_at is reached, or train.patience is used up. If train.length is a time, it counts
 * the time of this process only, without evaluations and reports. */
bool trainer_finished(const Trainer *t);
/* Whether train.stop_at is reached. */
bool trainer_stops_here(const Trainer *t);
/* Checks clock and signals and sets t->seen, the same on all ranks. Every rank calls it after every step. */
void trainer_look(Trainer *t);
/* The steps of the whole run, at least those so far; estimated if its length is in tokens, or in samples of batches
 * that change; those so far if it is a time. */
int64_t trainer_about_steps(const Trainer *t);
/* Seconds to the end of the run, estimated from the speed of this process; -1 means unknown. */
double trainer_seconds_left(const Trainer *t);
/* Runs one step; the update is skipped if the loss or a gradient is not finite. A request to stop may abandon the step:
 * it then fails with LOAM_ERROR_STOPPED and has changed nothing. */
bool train_step(Trainer *t, StepStats *stats, GError **error);

/* Reads the examples that evaluations answer: those of the run's task, or of held-out sets that were made from tasks
 * (task_set.h). */
bool trainer_open_scores(Trainer *t, GError **error);
/* Answers the examples of trainer_open_scores and stores the metrics in t->scored. */
bool trainer_score(Trainer *t, GError **error);
/* Logs the metrics of the last trainer_score. */
void trainer_report_scores(const Trainer *t);
/* The metric t->best of the last trainer_score; NaN if it has none. */
double trainer_best_score(const Trainer *t);
/* A hash of the examples that are answered and their right answers. */
uint64_t trainer_scores_hash(const Trainer *t);
/* Sets t->best_data. Logs a message if the best checkpoint so far was chosen by another metric or other samples: the
 * next evaluation replaces it. */
void trainer_plan_best(Trainer *t);
/* Whether an evaluation is due and has not yet been done at this step. end: this is the last step. */
bool trainer_evaluation_due(const Trainer *t, bool end);
/* Evaluates every held-out set and the tasks. *best becomes true if train.best is better than in all earlier
 * evaluations. */
bool trainer_evaluate(Trainer *t, bool *best, GError **error);
/* Whether the last train.patience evaluations were all not better than the best one. */
bool trainer_out_of_patience(const Trainer *t);
/* Sets schedule.scale of the plateau schedule according to its drops so far. */
void trainer_scale_rate(Trainer *t);
/* With train.report writes RUN/report.html on rank 0, unless that was done a short time ago; end: writes it in any
 * case. A failure is a warning. */
void trainer_write_report(Trainer *t, bool end);
/* Logs which checkpoint is the best, and its metrics. */
void trainer_report_best(const Trainer *t);

/* ---- skipped.c ---- */

/* Logs a step that was skipped because loss or gradients were not finite. Fails if so many steps in a
 * row were skipped that the run would never learn. */
bool trainer_note_skipped(Trainer *t, const StepStats *stats, GError **error);
/* Fails because every step overflows at the smallest or a fixed loss scale, so that nothing would ever be learned. */
bool trainer_fail_stuck(const Trainer *t, GError **error);
/* The newest checkpoint from before the last step with a finite loss, whose weights are therefore finite; -1 means
 * none. */
int64_t trainer_good_checkpoint(const Trainer *t);
/* At the end of a run: fails if its weights are not finite, or if all of its steps or the last few were skipped; warns
 * if they were skipped because the loss scale of fp16 was still falling. All ranks call it together. */
bool trainer_check_skipped(Trainer *t, GError **error);

/* Saves a checkpoint unless the current state is already saved. If saving fails, the previous checkpoint stays, and a
 * warning is logged so that training continues; with `last`, when there will be no further attempt, it is an error. */
bool trainer_save(Trainer *t, bool last, GError **error);
/* Waits for the checkpoint that is being written, if any, and updates t->saved, or logs a warning if it failed. */
void trainer_end_save(Trainer *t);
/* Calls trainer_end_save if the checkpoint has been written; never waits. */
void trainer_look_at_save(Trainer *t);
/* After an error of training, which all ranks have: saves a checkpoint and says so in the error's message. If a group
 * of ranks has failed, nothing can be saved; the message then says which checkpoint is kept. Returns false. */
bool trainer_save_after_error(Trainer *t, GError **error);
/* After a request to stop: saves a checkpoint and replaces *error by an error that says so. If an evaluation is due,
 * the checkpoint records it for the next process. */
void trainer_save_stopped(Trainer *t, GError **error);
