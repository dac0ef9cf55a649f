/* heartbeat.h: the heartbeats of a run: each rank writes about once per second where it stands, into
 * RUN/ranks/0000.json (rank 0), 0001.json, …; a run of one rank has the first of these. They tell a running run from a
 * dead one, where every rank of a hanging run stands, and how a run ended whose processes were killed.
 *
 * A file is one line of JSON of HEARTBEAT_BYTES bytes, filled up with spaces, and is overwritten in place:
 *   {"beat":9,"rank":1,"ranks":4,"host":"node2","pid":4711,"step":17,"microbatch":2,"phase":"backward","call":"",
 *    "since":1764063000.1,"time":1764063001.2,"stopping":false,"ended":-1,"last":9}
 * "beat" and "last" count the writes; they differ if a reader sees half a write. Times are of the clock of the rank's
 * host. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

enum {
    HEARTBEAT_BYTES = 512,
    HEARTBEAT_HOST = 64,
    HEARTBEAT_WORDS = 48,
    HEARTBEAT_RANKS = 1 << 16,
    HEARTBEAT_PLACES = 16
};

typedef struct Heartbeat {
    int64_t beat; /* writes by this process so far */
    int rank, ranks;
    char host[HEARTBEAT_HOST];
    int64_t pid;
    int64_t step; /* the step that is being made, or after which the rank does something else; 0 before the first */
    int64_t microbatch;          /* of this step, from 1; 0 means none */
    char phase[HEARTBEAT_WORDS]; /* what the rank does, such as "update" or "evaluation" */
    char call[HEARTBEAT_WORDS];  /* the collective in which it waits for other ranks; "" means none */
    double since;                /* when phase, or call, began: Unix seconds */
    double time;                 /* when this was written: Unix seconds */
    bool stopping;               /* it has been asked to stop */
    int ended; /* exit status of the run on this rank; -1 means that it is running, or ended without a word */
} Heartbeat;

/* The file of a rank. g_free. */
char *heartbeat_path(const char *dir, int rank);
/* Reads the heartbeat of a rank of the run in `dir`. False if there is none or its file is damaged. */
bool heartbeat_read(const char *dir, int rank, Heartbeat *beat);
/* Writes `beat`, with beat->time set to now and beat->beat increased; allocates no memory. Failures are ignored: the
 * next write will try again. */
void heartbeat_write(const char *path, Heartbeat *beat);
/* Where a rank stands, in one line: "rank 1 on node2 (process 4711): step 17, microbatch 2, backward for 12.3s". now:
 * Unix seconds. g_free. */
char *heartbeat_describe(const Heartbeat *beat, double now);
/* Where all ranks of the run in `dir` stand, as lines without a line feed at the end; ranks that stand alike, such as
 * those that wait for a slow one, share a line: "ranks 0, 2-7: step 17, update, waits in all-reduce for 12.3s". At most
 * HEARTBEAT_PLACES lines. NULL if there are no heartbeats. now: Unix seconds. g_free. */
char *heartbeat_places(const char *dir, double now);
/* If the last process of the run in `dir` ended without a word, as after SIGKILL: which rank was last seen when, where
 * and in which step. NULL if it ended otherwise, or if nothing is known. g_free. */
char *heartbeat_last_words(const char *dir);
/* Removes the heartbeats of the run in `dir`, before the ranks of a new start write theirs. */
void heartbeat_clear(const char *dir);
