/* queue.h: the queue of the collectives of a group, and the thread that executes them in order. */
#pragma once

#include "comm/backend.h"

/* The kinds of jobs, and their names (comm_event_names). */
#define JOB_KINDS(X)                                                                                                   \
    X(ALL_REDUCE, "all-reduce")                                                                                        \
    X(REDUCE_SCATTER, "reduce-scatter")                                                                                \
    X(ALL_GATHER, "all-gather")                                                                                        \
    X(ALL_TO_ALL, "all-to-all")                                                                                        \
    X(SEND, "send")                                                                                                    \
    X(RECEIVE, "receive")

#define JOB_KIND(kind, name) JOB_##kind,
typedef enum JobKind { JOB_KINDS(JOB_KIND) } JobKind;

/* A queued collective, with its arguments. */
struct Job {
    JobKind kind;
    Tensor x, own;       /* own: output of a reduce-scatter, input of an all-gather and of an all-to-all */
    int peer;            /* other rank of a send or receive */
    int64_t *starts;     /* (size + 1), owned by the queue; not used for send and receive */
    int64_t *own_starts; /* (size + 1), owned by the queue: parts of `own` in an all-to-all; NULL in others */
};

/* Bytes that this rank sends to others in a collective. In a reduce-scatter and an all-to-all it sends each rank that
 * rank's part, in an all-gather its own part to each; an all-reduce is a reduce-scatter and an all-gather. */
int64_t queue_sent_bytes(const Comm *comm, const Job *job);

/* Makes an empty queue and starts its thread. */
CommQueue *queue_open(Comm *comm);
/* Ends the thread and frees the queue. */
void queue_close(CommQueue *queue);
/* Appends a job, whose `starts` is copied; waits while the queue is full. The result is for queue_wait. */
CommWork queue_add(CommQueue *queue, const Job *job);
/* Waits until the job is done. */
void queue_wait(CommQueue *queue, CommWork work);
/* See comm_call. */
CommCall queue_call(CommQueue *queue);
