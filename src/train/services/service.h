/* service.h: a service of a run, for the files of this room. */
#pragma once

#include "train/trainer.h"

/* Steps of checkpoints that are not to be removed: the first n of `steps` are set. */
typedef struct KeptSteps {
    int64_t *steps;
    int n, capacity;
} KeptSteps;

/* A row of the table. Functions that are NULL are left out. A service without `open` has no struct of its own (own is
 * NULL) and is always there. Functions that exchange something with other ranks are called on all ranks, so such a
 * service is open on all of them. What a function writes is its own struct, its counters of TrainState, and files. A
 * const Trainer lets it read all counters; `count` and `own`, with own_counters, are the only ways to write one. */
struct Service {
    /* Whether the seconds of before_step, at_start and after_step are no training time: in the speed of log lines; in
     * train.length, too. */
    enum { PAUSES_NOTHING, PAUSES_SPEED, PAUSES_RUN } pauses;
    const char *written; /* the file or folder that it writes to RUN, which a rollback keeps and an undo brings back */
    bool hears_failure;  /* `open` is called also if a start failed before it, for `close` to get the error */
    bool refuses;        /* `open` may refuse the options of the run, and is called before config.yaml is written */
    bool own_counters;   /* `own` begins with a TrainState *, which becomes that of the Trainer after `open` */
    /* Returns the service's struct; NULL if the run does without the service. A failure sets *error. */
    void *(*open)(const Trainer *t, GError **error);
    /* DUE_* flags. The answer of rank 0 counts. */
    unsigned (*due)(void *own, const Trainer *t, const EveryCounts *counts);
    /* Before the first step of this process. */
    Verdict (*at_start)(void *own, const Trainer *t, GError **error);
    void (*before_step)(void *own, const Trainer *t);
    /* Between backward and update, which step->updated and step->again may prevent. */
    void (*before_update)(void *own, const Trainer *t, StepRecord *step);
    /* Counts a step in the service's counters of TrainState. */
    void (*count)(TrainState *state, const Trainer *t);
    /* After a step, whose record is t->step. */
    Verdict (*after_step)(void *own, const Trainer *t, GError **error);
    /* Adds a measurement to the record of a log line. */
    void (*measure)(void *own, const Trainer *t, TrainRecord *record);
    /* Something was recorded: a log line, losses of an evaluation, a checkpoint, … */
    void (*told)(void *own, const LogRecord *record);
    /* Adds the steps of checkpoints that are not to be removed (service_keep). */
    void (*keep)(void *own, const Trainer *t, KeptSteps *kept);
    /* After the last step of the run, in the order of the table from its end. */
    Verdict (*at_end)(void *own, const Trainer *t, GError **error);
    /* Ends the service. `close` also frees its struct; without it `free` does, or g_free. */
    void (*close)(void *own, const Trainer *t, const GError *problem);
    GDestroyNotify free;
};

/* The struct of a service; NULL if it is not open. */
void *service_own(const Trainer *t, const Service *service);
/* Where this process goes on, after which logs of earlier processes are cut back; -1 means from the start. */
RunPoint service_resumed(const Trainer *t);
/* Calls measure or keep of all services. */
void services_measure(const Trainer *t, TrainRecord *record);
void services_keep(const Trainer *t, KeptSteps *kept);
/* Adds a step; it fails a CHECK if there is no capacity left. */
void service_keep(KeptSteps *kept, int64_t step);

extern const Service saving_service, scores_service;

/* ---- scores.c: the examples that evaluations answer: those of the run's task, or of held-out sets that were made from
 * tasks (task_set.h) ---- */

guint scores_count(const Trainer *t); /* tasks whose examples are answered */
/* The score that train.best names; NULL means the held-out loss. */
const char *scores_best_name(const Trainer *t);
/* A hash of the examples that are answered and their right answers. */
uint64_t scores_hash(const Trainer *t);
/* Answers the examples. */
bool scores_run(const Trainer *t, GError **error);
/* Records the metrics of the last scores_run, for the logs. */
void scores_report(const Trainer *t);
/* The score scores_best_name of the last scores_run; NaN if it has none. */
double scores_best(const Trainer *t);
