/* heartbeat.h: the heartbeats of a run: each rank writes about once per second (less often with more than 64 ranks)
 * what it is doing, into RUN/ranks/0000.json (rank 0), 0001.json, …; a run of one rank has the first of these. They
 * tell a running run from a dead one, what every rank of a hanging run waits for, and where the ranks were when a run
 * was killed.
 *
 * A file is one line of JSON of HEARTBEAT_BYTES bytes, filled up with spaces, and is overwritten in place:
 *   {"beat":9,"rank":1,"ranks":4,"host":"node2","pid":4711,"step":17,"microbatch":2,"phase":"backward","call":"",
 *    "since":1764063000.1,"time":1764063001.2,"stopping":false,"ended":-1,"last":9}
 * "beat" and "last" both hold the number of writes; if they differ, the reader has seen an incomplete write and reads
 * again. Times are of the clock of the rank's host. */
#pragma once

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

enum {
    HEARTBEAT_BYTES = 512,
    HEARTBEAT_HOST = 64,
    HEARTBEAT_WORDS = 48,
    HEARTBEAT_RANKS = 1 << 16,
    HEARTBEAT_PLACES = 16
};

#define HEARTBEAT_FOLDER "ranks"

typedef struct Heartbeat {
    int64_t beat; /* writes by this process so far */
    int rank, ranks;
    char host[HEARTBEAT_HOST];
    int64_t pid;
    int64_t step;       /* the step that the rank computes, or the last one that it computed; 0 before the first step */
    int64_t microbatch; /* microbatch of this step, counted from 1; 0 means none */
    char phase[HEARTBEAT_WORDS]; /* what the rank does, such as "update" or "evaluation" */
    char call[HEARTBEAT_WORDS];  /* the collective in which it waits for other ranks; "" means none */
    double since;                /* when phase, or call, began: Unix seconds */
    double time;                 /* when this was written: Unix seconds */
    bool stopping;               /* it has been asked to stop */
    int ended; /* exit status of the run on this rank; -1 means that it is running, or was killed before it could write
                  its status */
} Heartbeat;

/* The file of a rank. g_free. */
char *heartbeat_path(const char *dir, int rank);
/* Reads the heartbeat of a rank of the run in `dir`. False if there is none or its file is damaged. */
bool heartbeat_read(const char *dir, int rank, Heartbeat *beat);
/* Writes `beat`, with beat->time set to now and beat->beat increased, to a file in an open folder (a descriptor of it,
 * or AT_FDCWD): a run that is renamed has its heartbeats in it, and not in a run that has its name since. Allocates no
 * memory. Returns 0, or the errno of a failure: the next write will try again. */
int heartbeat_write(int folder, const char *name, Heartbeat *beat);
/* The present by the clock of the rank's host: when the heartbeat was written, and the time since. That time is by the
 * clock of this host, `now`, or, if the clocks differ, by the time of the file. A heartbeat from the future, which a
 * clock that was set back leaves, is as old as it is ahead: nothing else shows that no other one follows it. */
double heartbeat_present(const char *dir, const Heartbeat *beat, double now);
/* What a rank is doing, in one line: "rank 1 on node2 (process 4711): step 17, microbatch 2, backward for 12.3s". now:
 * Unix seconds by the clock of its host. g_free. */
char *heartbeat_describe(const Heartbeat *beat, double now);
/* What all ranks of the run in `dir` are doing, as lines without a line feed at the end; ranks that do the same, such
 * as those that wait for a slow one, share a line: "ranks 0, 2-7: step 17, update, waits in all-reduce for 12.3s". At
 * most HEARTBEAT_PLACES lines, and one that says so if there are more. NULL if there are no heartbeats. now:
 * Unix seconds by the clock of this host. g_free. */
char *heartbeat_places(const char *dir, double now);
/* If the run in `dir` last ended without writing its exit status, as after SIGKILL: one line saying which rank was lost
 * first, on which host, in which step and when. NULL if it ended properly, or if nothing is known. g_free. */
char *heartbeat_last_words(const char *dir);
/* Replaces the heartbeats of the run in `to` by copies of those in `from`, which keep the time of the file. */
bool heartbeat_copy_all(const char *to, const char *from, GError **error);
/* Removes the heartbeats of the run in `dir`, before the ranks of a new start write theirs. */
void heartbeat_clear(const char *dir);
