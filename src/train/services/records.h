/* records.h: the measurements of a run at one step, which every log of it writes in its own form. */
#pragma once

#include "device/gemm_peak.h"
#include "run/checkpoint/checkpoint.h"
#include "run/metric_lines.h"

#include <jansson.h>

/* The progress of a run: its steps and the samples that it has read. */
typedef struct RunPoint {
    int64_t step, samples;
} RunPoint;

/* ---- norms.c: the norms of weights and gradients, of the whole model and of each of its layers (log.norms) ---- */

typedef struct LayerNorms {
    char name[32];          /* "encoder.3", "decoder.0"; "other" for the parameters outside the blocks */
    double param, gradient; /* L2 norms of the weights, and of the gradients before clipping */
    double zeros;           /* number of gradients that are 0 */
} LayerNorms;

typedef struct Norms {
    LayerNorms model;
    int n_layers; /* the blocks of the encoder, those of the decoder, and "other" */
    LayerNorms *layers;
} Norms;

/* Measures the norms of the whole model after a step, the same on every rank, however they divide the model. All ranks
 * call it. loss_scale: the factor that the gradients are still multiplied by. norms_clear frees the result. */
Norms norms_measure(Model *model, Comm *ranks, double loss_scale);
void norms_clear(Norms *norms);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Norms, norms_clear)

/* ---- straggler.c: finds the rank that computes slower than the others, for which they wait in every step ---- */

/* A warning names a rank if it reaches all four: */
#define STRAGGLER_SLOW  1.2 /* its computing time per sample / that of the median rank of its stage */
#define STRAGGLER_SHARE 0.1 /* share of a step's time that the other ranks lose by waiting for it */
#define STRAGGLER_S     3.0 /* seconds for which STRAGGLER_SLOW and STRAGGLER_SHARE must have been reached */
enum {
    STRAGGLER_LINES = 3 /* consecutive log lines at which STRAGGLER_SLOW and STRAGGLER_SHARE must have been reached */
};

/* The times of a rank since the last log line. */
typedef struct RankPace {
    double computed, elapsed; /* seconds per sample: without waits for other ranks; with them */
    double seconds;           /* seconds since the last log line */
    int64_t stage;            /* its stage of the pipeline: ranks of a stage have the same blocks */
} RankPace;

typedef struct Straggler {
    int rank;       /* the slowest rank at the last log line */
    double factor;  /* the time that it computed, divided by that of the median rank of its stage; 1 means as fast */
    int lines;      /* number of consecutive log lines at which this rank reached STRAGGLER_SLOW and STRAGGLER_SHARE */
    double seconds; /* seconds that these lines cover, by the clock of rank 0 */
    bool warned;    /* a warning about this rank was given at one of these lines */
    bool new;       /* the warning is to be given now */
} Straggler;

/* Updates *straggler at a log line, from the times of all n ranks since the last one. */
void straggler_find(Straggler *straggler, const RankPace *ranks, int n);

/* ---- records ---- */

/* Means over the steps since the last record. */
typedef struct TrainRecord {
    const TrainState *state; /* state->window holds the sums since the last record */
    double lr, grad_norm;
    double loss_scale; /* loss scale of fp16; 0 means none */
    bool clips;        /* gradients are clipped */
    bool begins;       /* the means of the next record begin here; false at the end of a run between two log lines */
    double elapsed_s; /* seconds of this process since the last record, and of these, those spent waiting for batches */
    double waited_s;
    double computed_s;   /* of elapsed_s, those in which this rank computed */
    int64_t own_samples; /* samples that this rank computed in elapsed_s */
    double epochs;       /* epochs of training so far, a fraction */
    double tokens_per_s, step_s;
    double samples_per_s;
    double data_wait;    /* share of the time that steps spent waiting for batches */
    double comm_wait;    /* share of the time that steps spent waiting for other ranks */
    double sent_bytes;   /* bytes sent to other ranks per step; 0 with one rank */
    double fill;         /* packing efficiency: tokens without padding / capacity of the batches in tokens */
    double flops_per_s;  /* FLOPs of matrix products and attention per second, of all ranks */
    PeakRate peak;       /* rate of matrix products, measured between the steps: mfu is flops_per_s / peak.median */
    double memory;       /* bytes of main memory that this process has; 0 means unknown */
    double left_s;       /* estimated time to the end; < 0 means unknown */
    int64_t total_steps; /* 0 means unknown */
    int64_t about_steps; /* trainer_about_steps: total_steps, or an estimate if that is unknown */
    int64_t batch;       /* samples of the last step */
    int ranks;           /* ranks that train together; 0 counts as 1 */
    double data_s, passes_s,
        update_s;               /* seconds per step of its parts: waiting for batches, forward and backward, update
                                 */
    const Norms *norms;         /* NULL without log.norms */
    const Straggler *straggler; /* NULL with one rank */
} TrainRecord;

/* The losses of one held-out set. */
typedef struct ValidRecord {
    int64_t step;
    const char *name; /* as in data.valid; NULL means that it has no name and is called "valid" */
    int index;        /* index of the set in data.valid, from 0 */
    const LossSums *sums;
    double seconds;
    double bits_per_byte;     /* of the targets' text; NaN if its bytes are not known, or the targets are classes */
    int64_t samples, batches; /* samples of the evaluation, and microbatches */
    int64_t train_samples;    /* TrainState.samples */
    int64_t updates;          /* TrainState.updates */
    double epochs;            /* epochs of training so far, a fraction */
    double best; /* the lowest loss of this set so far, in nats; NaN means none, or that another metric decides */
} ValidRecord;

typedef struct ScoreRecord {
    const char *name;     /* of the task's held-out set; NULL means none */
    const GArray *scores; /* Metric */
    int64_t examples;
    double seconds;
} ScoreRecord;

typedef struct SampleRecord {
    const char *name; /* as in ScoreRecord */
    const char *markdown;
} SampleRecord;

typedef struct SaveRecord {
    const char *folder;      /* of the checkpoint */
    const char *problem;     /* why it was not saved; NULL means that it was */
    bool best;               /* it is the best checkpoint so far */
    double seconds, stall_s; /* that writing took; that training waited for it */
} SaveRecord;

typedef struct EventRecord {
    const char *what;
    bool failed;   /* an error that ends the command */
    bool alert;    /* hooks.on_alert is to run */
    json_t *start; /* the plan of the run and a description of the machine, if this starts or continues it; else NULL */
} EventRecord;

/* An event of a run, for logs and other services. METRIC_TRAIN is a log line, METRIC_SAVE the end of a save. */
typedef struct LogRecord {
    MetricKind kind;
    int64_t step;
    union {
        const TrainRecord *train;
        const ValidRecord *valid;
        ScoreRecord scores;
        SampleRecord samples;
        SaveRecord save;
        EventRecord event;
    };
} LogRecord;

/* The accuracy of the main head; NaN if it has none. */
double record_accuracy(const LossSums *sums);
double record_perplexity(const LossSums *sums);
/* MFU: FLOP/s of the steps / the measured peak. NaN without a measured peak, and if the result exceeds 1: other
 * programs then slowed the measurement of the peak. */
double record_mfu(const TrainRecord *record);
/* The local time of now, as "2026-01-31 07:30:00". g_free. */
char *record_now(void);

/* ---- what the forms of logs share ---- */

/* A record as a list of numbers with names, which metrics.jsonl, TensorBoard and MLflow write. Losses are in nats
 * (natural logarithm), rates in SI units. */
typedef struct Field {
    const char *name;  /* "loss" in metrics.jsonl */
    const char *group; /* "train", if the series is called "train/loss"; NULL means that only metrics.jsonl has it */
    double value;      /* NaN if it is not known */
    bool whole;        /* an integer */
} Field;

typedef struct Fields {
    GArray *list; /* Field */
    char *group;  /* of a held-out set or a task */
} Fields;

/* The fields of a record; an empty list if its kind has none. */
Fields fields_of(const LogRecord *record);
void fields_clear(Fields *fields);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Fields, fields_clear)

/* An output file of a run's logs. If writing fails, as on a full disk, training goes on; the log says when writing
 * starts to fail and when it works again. */
typedef struct Sink {
    const char *name;
    bool failing;
} Sink;

/* After each write. problem (freed here): its error; NULL means that it succeeded. */
void sink_note(Sink *sink, GError *problem);

/* The step of a line of a log, or what counts in its place; -1 if the line has none. */
typedef int64_t (*LogStepFn)(const char *line, size_t bytes, void *context);
/* Removes from the log at PATH, if there is one, lines of steps after `last`, *damaged lines without a step, and an
 * incomplete last line. If it fails, the file is as it was. */
bool log_cut(const char *path, int64_t last, LogStepFn step_of, void *context, int64_t *damaged, GError **error);
