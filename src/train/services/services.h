/* services.h: what happens around the steps of a run: logs, rules, evaluations, checkpoints. Each is a service: a file
 * of this room and a row of the table in services.c. The training loop (loop.c) asks all of them in the order of the
 * table and follows what they answer. */
#pragma once

#include "train/every.h"
#include "train/services/mlflow.h"
#include "train/services/pulse.h"
#include "train/services/records.h"
#include "train/services/stop_rules.h"

typedef struct Trainer Trainer;
typedef struct StepRecord StepRecord;
typedef struct Service Service;

/* A service of a run. */
typedef struct Seat {
    const Service *row; /* of the table; NULL after the last one */
    void *own;          /* its struct; NULL if it has none, or if the run does without the service */
} Seat;

typedef struct Services {
    Seat *seats; /* in the order of the table */
    bool open;   /* all of them are */
} Services;

/* The names of the files and folders that services write to RUN, in the order of the table, then NULL; g_free. */
const char **services_written(void);

/* What a service wants. The loop does what the largest verdict says; the services after one that answered REPEAT, FAIL
 * or ABORT are not asked. */
typedef enum Verdict {
    VERDICT_GO_ON,
    VERDICT_SAVE,   /* a checkpoint */
    VERDICT_END,    /* the run is complete: a checkpoint, and no further step */
    VERDICT_REPEAT, /* a checkpoint, and then the step again, which has changed nothing */
    VERDICT_FAIL,   /* the run ends with *error after a checkpoint; LOAM_ERROR_STOPPED means a request to stop */
    VERDICT_ABORT   /* the run ends with *error, and its state is not to be saved */
} Verdict;

/* The table, with no service open; services_close frees it. */
Services services_new(void);
/* Opens the services that this run needs: first, refusing, those that may refuse the options of the run, then the
 * others. All ranks call it, and fail together. */
bool services_open(Trainer *t, bool refusing, GError **error);
/* problem: why the run ends early; NULL means that it does not. */
void services_close(Trainer *t, const GError *problem);
/* The DUE_* flags of all periods and rules after a step. */
unsigned services_due(const Trainer *t, const EveryCounts *counts);
/* Before the first step of this process. */
Verdict services_start(Trainer *t, GError **error);
void services_before_step(Trainer *t);
/* Between backward and update: a rule that wants no update clears step->updated, which the step has set, or sets
 * step->again. */
void services_before_update(const Trainer *t, StepRecord *step);
/* Counts a step in the services' counters of TrainState. */
void services_count(Trainer *t);
Verdict services_after_step(Trainer *t, GError **error);
/* After the last step of the run. */
Verdict services_at_end(Trainer *t, GError **error);

/* An event of the run, for its logs. */
void services_event(const Trainer *t, const char *what);

/* The error that ends the process, or the request to stop. */
void services_failure(const Trainer *t, const GError *problem);
/* The event that this process starts or goes on with the run. start: its plan and a description of the machine. */
void services_start_event(const Trainer *t, const char *what, json_t *start);

/* jsonl.c: metrics.jsonl, a line per record. Opens DIR/metrics.jsonl for a run that continues after `step`. Removes
 * lines of later steps and an incomplete last line, so that every step is logged once. */
typedef struct Jsonl Jsonl;
Jsonl *jsonl_open(const char *dir, int64_t step, GError **error);
void jsonl_write(Jsonl *jsonl, const LogRecord *record);
void jsonl_close(Jsonl *jsonl);

/* tensorboard.c: the events of RUN/tb: scalars, the options of the run and answers as text. Opens DIR/tb for a run that
 * continues after the point `at`, and removes events of later steps. config: the options log.*. */
typedef struct TensorBoard TensorBoard;
TensorBoard *tensorboard_open(const char *dir, RunPoint at, const LogConfig *config, GError **error);
void tensorboard_write(TensorBoard *board, const LogRecord *record);
void tensorboard_close(TensorBoard *board);

/* spikes.c: steps whose loss is far above that of the steps before them: a function of the losses, which all ranks
 * share, and of counters in TrainState, so a resumed run finds the same spikes. */
/* Whether the loss is more than train.spike standard deviations, each counted as at least 0.1 % of the mean, above the
 * mean of the last train.spike_window losses. False while there are fewer. */
bool spike_is(const TrainState *state, const TrainConfig *train, double loss);
/* Adds the loss of a step to the recent ones. The loss of a spike is first reduced to the threshold above which losses
 * are spikes; a loss that is not finite is not added. */
void spike_count(TrainState *state, const TrainConfig *train, double loss);
/* Removes the reports of steps after `last` from DIR/spikes. */
bool spike_cut(const char *dir, int64_t last, GError **error);

/* saving.c: saves a checkpoint unless the current state is already saved. If saving fails, the previous checkpoint
 * stays, and a warning is logged so that training continues; with `last`, when there will be no further attempt, it is
 * an error. */
bool saving_save(const Trainer *t, bool last, GError **error);
/* Waits for the checkpoint that is being written, if any. */
void saving_wait(const Trainer *t);
/* The step of the newest valid checkpoint; -1 means that there is none. */
int64_t saving_saved(const Trainer *t);
