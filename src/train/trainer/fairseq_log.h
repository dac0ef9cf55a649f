/* fairseq_log.h: RUN/train_inner.jsonl: the log lines of a run as fairseq writes them with log_format json, for scripts
 * that read those. Losses are in bits. */
#pragma once

#include "train/checkpoint/checkpoint.h"

/* The figures of one line, not rounded. */
typedef struct FairseqLine {
    double update;           /* epochs so far; the epoch of the line counts from 1 */
    double loss, nll;        /* bits for each target */
    double total, n_correct; /* targets of an update, and those that have the largest logit; means over the updates */
    double accuracy;         /* percent of the targets */
    double wps, ups;         /* tokens and updates a second */
    double wpb, bsz;         /* tokens and samples of an update */
    int64_t num_updates;
    double lr, gnorm;  /* gnorm: mean norm of the gradients before clipping */
    double clip;       /* percent of the updates that were clipped; < 0 means that nothing is */
    double loss_scale; /* 0 means none: the line has no such field */
    double train_wall; /* seconds of the steps since the last line, without the wait for data */
    double wall;       /* seconds since the process began */
} FairseqLine;
/* {"epoch": 1, "update": 0.003, "loss": "15.686", …}: the fields in fairseq's order, rounded and spelled as by it. */
char *fairseq_line(const FairseqLine *line);

/* Of one step. */
typedef struct FairseqStep {
    double norm, clip_norm; /* clip_norm 0 means never */
    int64_t tokens, samples;
} FairseqStep;

/* Of all steps since the last line. */
typedef struct FairseqWindow {
    const LossSums *sums;
    int64_t updates;        /* that the sums are of: those of earlier processes too, unlike the figures of the steps */
    double elapsed, waited; /* seconds, and those waited for data */
    double update, lr, loss_scale;
    int64_t num_updates;
} FairseqWindow;

typedef struct FairseqLog FairseqLog;
/* Lines of more than `updates` updates, which a resumed run makes again, are removed. */
FairseqLog *fairseq_log_open(const char *dir, int64_t updates, GError **error);
void fairseq_log_close(FairseqLog *log);
/* After each update; NULL is ignored. */
void fairseq_log_step(FairseqLog *log, const FairseqStep *step);
/* Writes a line, and starts a new window if `starts` is true; NULL is ignored. */
void fairseq_log_line(FairseqLog *log, const FairseqWindow *window, bool starts);
