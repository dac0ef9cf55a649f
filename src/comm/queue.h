/* queue.h: the queue of a group's collectives, and the thread that executes them in order. */
#pragma once

#include "comm/backend.h"

typedef enum JobKind {
    JOB_ALL_REDUCE,
    JOB_REDUCE_SCATTER,
    JOB_ALL_GATHER,
    JOB_BROADCAST,
    JOB_SEND,
    JOB_RECEIVE
} JobKind;

typedef struct Job {
    JobKind kind;
    Tensor x, own;   /* own: the output of a reduce-scatter, the input of an all-gather */
    int peer;        /* the root of a broadcast, or the other rank of a send or receive */
    int64_t *starts; /* (size + 1), owned by the queue */
} Job;

CommQueue *queue_open(Comm *comm);
void queue_close(CommQueue *queue);
/* Appends a job and copies its `starts`; waits while the queue is full. */
CommWork queue_add(CommQueue *queue, const Job *job);
/* Returns when the job is done. */
void queue_wait(CommQueue *queue, CommWork work);
