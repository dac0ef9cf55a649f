/* services.h: what happens around the steps of a run: logs, rules, evaluations, checkpoints. Each is a service: a file
 * of this room and a row of the table in services.c. The training loop (loop.c) asks all of them in the order of the
 * table and follows what they answer. */
#pragma once

#include "run/config/config.h"
#include "train/services/records.h"

/* ---- every.c: periodic actions of the trainer, with a period in steps, samples, tokens or seconds: train.log_every,
 * eval_every, save_every, save_within, exit_every ---- */

typedef struct Every {
    AmountUnit unit; /* UNIT_STEPS, UNIT_SAMPLES, UNIT_TOKENS or UNIT_SECONDS */
    double value;    /* period; 0 means never */
    double last;     /* clock_seconds() of the last occurrence */
} Every;

/* Counters of a run, and what its last step read. */
typedef struct EveryCounts {
    int64_t steps, samples, tokens;
    int64_t step_samples, step_tokens;
} EveryCounts;

/* Makes a period from an option's amount. An amount in samples, epochs or tokens is converted to steps, except to
 * samples if the batch size changes during the run; with count_tokens an amount in tokens stays in tokens.
 * epoch_samples: samples in an epoch of the training set. A period in seconds starts at this call. */
Every every_of(const Config *config, Amount amount, int64_t epoch_samples, bool count_tokens);
/* Whether a period has ended in the last step. */
bool every_due(const Every *every, const EveryCounts *counts);
/* To be called after each action: the next period in seconds starts at this call. */
void every_done(Every *every);
/* For a new period in seconds of a run that has trained for `seconds` before: the part of a period that these begin
 * counts, so that commands shorter than a period add up to one. */
void every_begun(Every *every, double seconds);

/* A period that changes during the run: train.save_phases, then train.save_every. */
typedef struct Phases {
    RunSpan until[SAVE_PHASES]; /* value 0 means to the end of the run */
    Every every[SAVE_PHASES + 1];
    int n; /* phases; every[n] holds after them */
} Phases;
/* The phases of a configuration that config_check has accepted. */
Phases phases_of(const Config *config, int64_t epoch_samples, bool count_tokens);
/* The period that applies at these counters. The last step of a phase still belongs to it. */
const Every *phases_at(const Phases *phases, const EveryCounts *counts);
void phases_done(Phases *phases); /* every_done for all */
/* Whether the counter that the span is compared with has reached it; false for an empty span. */
bool span_reached(RunSpan span, const EveryCounts *counts);

/* ---- services ---- */

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

/* What a service wants. The loop obeys the largest verdict; services after REPEAT, FAIL or ABORT are not asked. */
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
/* Opens the services that hear of a start that failed, the hooks, for services_close to tell them the error. */
void services_open_failed(Trainer *t);
/* problem: why the run ends early; NULL means that it does not. */
void services_close(Trainer *t, const GError *problem);
/* The DUE_* flags of all periods and rules after a step. */
unsigned services_due(const Trainer *t, const EveryCounts *counts);
/* Before the first step of this process. */
Verdict services_start(Trainer *t, GError **error);
void services_before_step(Trainer *t);
/* Between backward and update: a rule against the update clears step->updated, set so far, or sets step->again. */
void services_before_update(const Trainer *t, StepRecord *step);
/* Counts a step in the services' counters of TrainState. */
void services_count(Trainer *t);
Verdict services_after_step(Trainer *t, GError **error);
/* After the last step of the run. */
Verdict services_at_end(Trainer *t, GError **error);

/* Tells all services something that happened (Service.told). */
void services_tell(const Trainer *t, const LogRecord *record);
/* An event of the run, for its logs. */
void services_event(const Trainer *t, const char *what);

/* ---- pulse.c: a thread of each rank that writes the rank's heartbeat (run/heartbeat.h) about once per second; less
 * often with more than 64 ranks, so that all together write at most 64 times per second ---- */

typedef struct Pulse Pulse;

/* Starts the thread, for this rank of `ranks`, in the run directory `dir`, which has a folder ranks. Rank 0 is first:
 * if the previous process of this run was killed, it logs where that process was, and it removes the old heartbeats.
 * The service ends the thread, after it has written how the run ended on this rank. */
Pulse *pulse_open(const char *dir, Comm *ranks);
/* Whether a command was refused before it trained: it leaves a run that has ended as it was. */
bool pulse_is_refused(const Trainer *t, const GError *problem);
/* Records what this rank does now. microbatch 0 means none. phase: a literal, such as "update". pulse may be NULL. */
void pulse_at(Pulse *pulse, int64_t step, int64_t microbatch, const char *phase);

/* ---- stop_rules.c: the options that stop a process of a run before the run ends: train.stop_after, stop_date,
 * stop_file and exit_every ---- */

typedef enum StopRule { STOP_NONE, STOP_AFTER, STOP_DATE, STOP_FILE, STOP_EXIT_EVERY } StopRule;

typedef struct StopRules {
    Every exit_every;
    double end;  /* clock_seconds() at which train.stop_after has passed; INFINITY means never */
    double date; /* train.stop_date in seconds since 1970; INFINITY means never */
    const char *file;
    double longest_step, longest_save; /* seconds, so far */
    double last_look;
} StopRules;

/* started: clock_seconds() at the command's start. The configuration has been checked, and must outlive the rules. */
StopRules stop_rules_of(const Config *config, int64_t epoch_samples, bool count_tokens, double started);
/* Called by rank 0 after each step: the rule that stops the process now, or STOP_NONE. STOP_AFTER and STOP_DATE hold as
 * soon as the longest step and 1.2 times the longest save so far would not end in time. STOP_DATE reads the system's
 * clock at each call, so it follows a clock that was set and a machine that slept. */
StopRule stop_rules_look(StopRules *rules, const EveryCounts *counts);
/* The rule for a message, "by train.stop_after=19h50m", or "on request" for STOP_NONE. g_free. */
char *stop_rule_describe(const Config *config, StopRule rule);

/* ---- console.c: lines as Megatron-LM prints them, of the branch that trained BigScience's models: fields, order,
 * widths and digits. Losses are in nats. ---- */

/* " iteration  10/ 60 | consumed samples: … | …", which begins with the time and ends with samples and FLOP per second.
 * Fields whose value is unknown are left out. g_free. */
char *megatron_train_line(const TrainRecord *record);
/* exp(loss), at most exp(20), as Megatron-LM has it. */
double megatron_perplexity(double loss);
/* " validation loss at iteration 10 | lm loss value: 2.901234E+00 | lm loss PPL: 1.819679E+01 | ". The name of a set
 * that has one comes after "loss at iteration 10 on". g_free. */
char *megatron_valid_line(const ValidRecord *record);

/* ---- fairseq_log.c: log lines in the format of fairseq's log_format json, for scripts that read that format: in
 * RUN/train_inner.jsonl, and printed. Losses are in bits. ---- */

typedef struct FairseqLog FairseqLog;
/* Opens DIR/train_inner.jsonl, unless dir is NULL. Lines with num_updates above `updates` are removed, since a resumed
 * run writes them again. printed: lines are also printed, as "2026-01-31 07:30:00 | INFO | train_inner | {…}". */
FairseqLog *fairseq_log_open(const char *dir, int64_t updates, bool printed, GError **error);
void fairseq_log_close(FairseqLog *log);
/* To be called after each update of this process, which read this number of tokens. */
void fairseq_log_step(FairseqLog *log, int64_t tokens);
/* Writes a line {"epoch": 1, "update": 0.003, "loss": "15.686", …}, with fields ordered, rounded and formatted as
 * fairseq does, and, if record->begins, begins a new window; nothing if the record or this process has no update. */
void fairseq_log_line(FairseqLog *log, const TrainRecord *record);
/* The object {"epoch": 1, "valid_loss": "9.081", …} that fairseq prints after an evaluation. The first held-out set is
 * "valid" there, the next "valid1". g_free. */
char *fairseq_valid_line(const ValidRecord *record);

/* ---- mlflow.c: writes a run into a store of MLflow in files (mlruns/EXPERIMENT/RUN/{meta.yaml,metrics,params,tags}),
 * where MLflow's web page and client read it. Nothing of MLflow is needed to write it. ---- */

typedef enum MlflowStatus {
    MLFLOW_RUNNING = 1,
    MLFLOW_FINISHED = 3,
    MLFLOW_FAILED = 4,
    MLFLOW_KILLED = 5
} MlflowStatus;

typedef struct Mlflow Mlflow;
/* Opens the run of the run directory DIR in the store `root` (a folder, made if missing), in the experiment of this
 * name, made if missing. DIR/mlflow.txt keeps the run's id and folder there. If the store has the run already, it is
 * moved to this experiment, and metrics of steps after `step` are removed. A copy of a run directory is another run,
 * which begins with the metrics of its original. */
Mlflow *mlflow_open(const char *root, const char *experiment, const char *dir, int64_t step, GError **error);
/* Writes the final status and the time. */
void mlflow_close(Mlflow *mlflow, MlflowStatus status);
/* Appends a value of a metric. name: as TensorBoard's tag, "train/loss". */
bool mlflow_metric(Mlflow *mlflow, const char *name, int64_t step, double value, GError **error);
/* Writes a parameter of the run, in place of its last value. */
bool mlflow_param(Mlflow *mlflow, const char *name, const char *value, GError **error);
/* Copies the metrics and parameters that the run in DIR has in a store to the folder `copy`; nothing if it has none.
 * back: replaces them by those that were copied there. */
bool mlflow_copy(const char *dir, const char *copy, bool back, GError **error);

/* ---- other services ---- */

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
 * stays, and training continues with a warning; with `last`, the last attempt, it is an error. */
bool saving_save(const Trainer *t, bool last, GError **error);
/* Waits for the checkpoint that is being written, if any. */
void saving_wait(const Trainer *t);
/* The step of the newest valid checkpoint; -1 means that there is none. */
int64_t saving_saved(const Trainer *t);
