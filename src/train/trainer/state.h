/* state.h: the state of a running training, and the parts of the trainer: opening.c (opens and closes everything),
 * resume.c (initial weights, or the newest checkpoint), trainer.c (the loop over steps), step.c (one step), ranks.c
 * (what ranks that train one model tell each other), progress.c (periodic actions, estimated time to the end),
 * evaluation.c (held-out losses, scores, the best checkpoint), scoring.c (the examples of a task that are scored),
 * saving.c (checkpoints), task_data.c (the dataset of a task). */
#pragma once

#include "comm/comm.h"
#include "data/prefetch.h"
#include "device/yardstick.h"
#include "eval/heldout.h"
#include "train/checkpoint/checkpoint.h"
#include "train/config/config.h"
#include "train/memory.h"
#include "train/run_dir.h"
#include "train/trainer/every.h"
#include "train/trainer/fairseq_log.h"
#include "train/trainer/metrics.h"

/* What the clock and the signals say after a step. Rank 0's clock and any rank's signal count for all ranks. */
enum {
    SEEN_LOG = 1,     /* train.log_every is due */
    SEEN_EVAL = 2,    /* train.eval_every */
    SEEN_SAVE = 4,    /* train.save_every or save_within */
    SEEN_TIME_UP = 8, /* a train.length in time is over */
    SEEN_STOP = 16    /* a request to stop */
};

typedef struct Trainer {
    Comm *ranks;                    /* the ranks that train this model together, each with its part of every batch */
    CommWork reduced;               /* the last reduction of gradients that was queued in this step */
    unsigned seen;                  /* SEEN_*: of the last trainer_look */
    int64_t own_first, own_samples; /* this rank's part of the samples of a step */
    Config config;                  /* a shallow copy of the caller's, with model.vocab resolved */
    Tokenizer *tok;
    Device *dev;
    Model *model;
    Optimizer *optimizer;
    Loader *train;
    GPtrArray *valid; /* HeldoutSet *; the loss of the first set decides which checkpoint is the best */
    Prefetch *prefetch;
    const Batch **batch;           /* (accum) microbatches of a step, borrowed from `prefetch`; NULL between steps */
    int64_t accum, micro, samples; /* microbatches of a step, samples of a microbatch, samples of a step */
    Schedule schedule;
    int64_t total;       /* steps of the run; -1 means unknown: train.length is in time or in counted tokens */
    double total_tokens; /* train.length in counted tokens; 0 means that it has another unit */
    Every log_every, eval_every, save_every, save_within; /* periods of the options train.NAME */
    LossScaleConfig loss_scale;                           /* of the configuration, without auto */
    TrainState state;
    ModelLoss loss;
    float *class_weights; /* of train.class_weights, or NULL */
    MemoryPlan memory;
    GPtrArray *changes; /* char *: options whose values differ from those saved in the run directory */
    Metrics *metrics;
    FairseqLog *fairseq;                /* train.fairseq_log; NULL without it */
    double step_flops;                  /* FLOPs of a step */
    Yardstick yardstick;                /* the rate of matrix products that mfu refers to, sampled between steps */
    double started, window_started;     /* clock_seconds() at the start of the run, of the window */
    double window_waited;               /* seconds that the steps waited for batches, since the last log line */
    int64_t window_tokens, window_rows; /* since the last log line: tokens read, and the tokens batches had room for */
    int64_t window_step;                /* step of the last log line */
    int64_t step_tokens;                /* tokens read by the last step */
    int64_t skipped;                    /* consecutive steps without an update */
    int64_t stuck;                      /* of these the last ones, at a loss scale that cannot fall (fp16) */
    int64_t first_step, first_tokens;   /* attempts and tokens when this process started */
    int64_t best_data;                  /* hash of the held-out samples that an evaluation uses, and of train.best */
    GPtrArray *scored;                  /* ScoredTask * (scoring.c) */
    char *best;                         /* the figure that train.best names; NULL means the held-out loss */
    char *task_train, *task_valid;      /* path prefixes of the datasets of a task; NULL means no task */
    const char *trace;                  /* file for the operations of one step; NULL means none */
    int lock;                           /* of the run directory (base/lock.h); -1 means none */
    TrainState saved;                   /* contents of the newest undamaged checkpoint; attempts -1 means none */
} Trainer;

/* Statistics of one step. */
typedef struct StepStats {
    LossSums sums;
    double lr, norm;   /* learning rate; L2 norm of the gradients before clipping, without the loss scale */
    double loss_scale; /* of this step; 1 except in fp16 */
    int64_t tokens, target_tokens,
        room;     /* read by the step, by all ranks; with a loss; that its batches had room for */
    bool updated; /* false means skipped: loss or gradients were not finite */
} StepStats;

/* Opens everything a run needs and resumes from the newest undamaged checkpoint, if there is one. trainer_close frees
 * what was opened, also after an error. */
bool trainer_open(Trainer *t, GError **error);
void trainer_close(Trainer *t);
/* Where a task is set: makes its datasets unless the run has them, and sets data.train and data.valid to them. */
bool trainer_prepare_task(Trainer *t, GError **error);
/* Warns where the table of the task is another, or was changed, since the run took its examples. */
void trainer_note_table(const Trainer *t);
/* Loads the newest undamaged checkpoint of run.dir; a run without any starts from random weights, or from train.init.
 */
bool trainer_resume(Trainer *t, GError **error);

/* ---- ranks.c; where there is one rank, these change nothing ---- */

/* Divides the samples of a step among the ranks: sets own_first, own_samples, micro, accum. An error where there are
 * more ranks than samples. */
bool ranks_divide(Trainer *t, GError **error);
/* From now on backward sums gradients over the ranks. */
void ranks_join(Trainer *t);
/* "; 4 ranks (thread), 32 samples each", or "" where there is one rank. g_free. */
char *ranks_describe(const Trainer *t);
/* All ranks wait for each other. An error where a rank has given up. */
bool ranks_meet(Trainer *t, GError **error);
/* Ends what the other ranks wait for, with this rank's error as the reason. */
void ranks_abort(Trainer *t, const GError *problem);
/* The value of rank 0. */
int64_t ranks_agree(Trainer *t, int64_t value);
/* Sums over the ranks what the losses of a step are divided by, and what it counts. */
bool ranks_sum_counts(Trainer *t, StepStats *stats, GError **error);
/* Waits until the gradients of all buckets are summed. */
void ranks_sum_gradients(Trainer *t);
void ranks_sum_losses(Trainer *t, LossSums *sums);
/* The rate of matrix products of all ranks together, as this one measured its own. */
PeakRate ranks_peak(const Trainer *t);

/* Whether train.length is reached, or the patience is used up. A length in time counts the time of this process. */
bool trainer_finished(const Trainer *t);
/* Looks at the clock and at the signals, for all ranks: sets t->seen. All ranks call it, after every step. */
void trainer_look(Trainer *t);
/* Seconds to the end of the run, estimated from the speed of this process; -1 means unknown. */
double trainer_seconds_left(const Trainer *t);
/* One optimizer step, skipped where the loss or a gradient is not finite. A request to stop may abandon it: the error
 * is then LOAM_ERROR_STOPPED, and nothing has changed. */
bool train_step(Trainer *t, StepStats *stats, GError **error);

/* Opens the examples that evaluations answer: those of the run's task, or of the held-out sets that are of one. */
bool trainer_open_scores(Trainer *t, GError **error);
/* Answers all of them, and keeps the figures. */
bool trainer_score(Trainer *t, GError **error);
/* Writes down the figures of the last trainer_score. */
void trainer_report_scores(const Trainer *t);
/* The figure t->best of the last trainer_score; NaN where it has none. */
double trainer_best_score(const Trainer *t);
/* A hash of the examples and their right answers. */
uint64_t trainer_scores_hash(const Trainer *t);
/* Sets t->best_data. Logs it if the best checkpoint so far was chosen by another figure or other samples: the next
 * evaluation replaces it. */
void trainer_plan_best(Trainer *t);
/* Whether an evaluation is due and has not been done at this step. end: this is the last step. */
bool trainer_evaluation_due(const Trainer *t, bool end);
/* Evaluates every held-out set and the task. *best: train.best is the best of the run so far. */
bool trainer_evaluate(Trainer *t, bool *best, GError **error);
/* Whether train.patience evaluations in a row brought nothing better. */
bool trainer_out_of_patience(const Trainer *t);
/* Sets the scale of the plateau schedule by its drops so far. */
void trainer_scale_rate(Trainer *t);
/* Logs which checkpoint is the best, and its figures. */
void trainer_report_best(const Trainer *t);

/* Saves a checkpoint unless this state is saved already. Where saving fails, the checkpoint before stays, and training
 * goes on with a warning; it is an error only where `last` says that there will be no other attempt. */
bool trainer_save(Trainer *t, bool last, GError **error);
/* After an error of training: saves a checkpoint and adds that to the error's message. Returns false. */
bool trainer_save_after_error(Trainer *t, GError **error);
/* After a request to stop: saves, and replaces *error by one that says so. An evaluation that is due is recorded in the
 * checkpoint for the next process. */
void trainer_save_stopped(Trainer *t, GError **error);
