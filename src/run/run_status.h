/* run_status.h: whether a run trains, from its heartbeats, and how far it is, from the end of its metrics.jsonl. */
#pragma once

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

typedef enum RunState {
    RUN_UNKNOWN, /* no heartbeat, no lock that is held, and no event of an end: it has not started, or its folder ranks
                    was deleted */
    RUN_ALIVE,
    RUN_STALLED, /* its processes live, but a rank has been in the same phase for too long, or they are suspended */
    RUN_LOST, /* its heartbeats have ceased without an exit status: the processes were killed, or their host cannot be
                 reached */
    RUN_STOPPED, /* stopped with a checkpoint, or rolled back, to go on later */
    RUN_FAILED,
    RUN_ENDED
} RunState;
extern const char *const run_state_names[]; /* "unknown", "alive", … */

enum { RUN_RECENT = 60 }; /* length of RunStatus.losses */

typedef struct RunStatus {
    RunState state;
    char *place;  /* what a rank is doing, or where it was last seen; NULL means unknown */
    char *places; /* what all ranks of a stalled or lost run are doing (heartbeat_places), or NULL */
    char *event;  /* the last event of the run: of one that does not train, how and why it ended; NULL means none */
    char *after;  /* the last event after that end, such as a hook that failed; NULL means none */
    char *log;    /* last line of log.txt, if the run failed and no event tells the error; NULL means none */
    int64_t step; /* step of the last log line; -1 means none */
    double loss, lr, tokens_per_s, mfu; /* values of the last log line; NAN means unknown */
    double valid_loss;                  /* the last held-out loss; NAN means none */
    int64_t saved;                      /* step of the newest checkpoint; -1 means none */
    int64_t lost_best;                  /* step of the best checkpoint if it is missing; -1 means none */
    int64_t lost;                       /* step of a checkpoint that was saved last and is missing; -1 means none */
    double logged_s, saved_s;           /* seconds since the last log line, and since that save; NAN means unknown */
    double losses[RUN_RECENT];          /* losses of the last log lines, oldest first */
    int n_losses;
} RunStatus;

enum { RUN_SILENT_S = 60, RUN_STALLED_S = 600 }; /* defaults of the arguments below */
/* Reads the status of the run in `dir`; run_status_clear frees it. If the heartbeats of all ranks have an exit status,
 * that of rank 0 decides whether the run ended, was stopped or failed. Otherwise it still runs, or is lost: if none of
 * the ranks without an exit status has written a heartbeat for silent_s seconds, by its own clock or that of the file
 * system; if rank 0 has an exit status; or if the process of one of them was on this machine and is gone. It is not
 * lost but failed if an event is the error that ended it, as when that rank could not write its exit status, or
 * was killed after the error. It is lost, too, if rank 0's process runs on this machine but does not hold the lock of
 * `dir`: then `dir` is a copy. If one exists here, a silent run is stalled, and so is one with a process here that is
 * silent for longer than silent_s or suspended (SIGSTOP). A run that is not lost is stalled if a rank has been in the
 * same phase for longer than stalled_s seconds and than 20 steps take, else alive. Without a heartbeat of rank 0 it is
 * alive if its lock is held, else what its last events say. A run that does not run and whose last event is a rollback
 * counts as stopped, and so does one that ended at train.stop_at. Missing and damaged files give unknown values. */
void run_status_read(RunStatus *status, const char *dir, double silent_s, double stalled_s);
void run_status_clear(RunStatus *status);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(RunStatus, run_status_clear)
/* Whether an event says that an error ended the last start of the run, whatever its heartbeats say. */
bool run_told_error(const char *dir);
/* The status as lines of text, the first one "RUN: alive". g_free. */
char *run_status_describe(const RunStatus *status, const char *dir);
