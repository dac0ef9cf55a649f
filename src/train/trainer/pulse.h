/* pulse.h: a thread of each rank that writes the rank's heartbeat (train/heartbeat.h) about once per second; less often
 * with more than 64 ranks, so that all together write at most 64 times per second. */
#pragma once

#include "comm/comm.h"

typedef struct Pulse Pulse;

/* Starts the thread, for this rank of `ranks`, in the run directory `dir`, which has a folder ranks. */
Pulse *pulse_open(const char *dir, Comm *ranks);
/* Records what this rank does from now on. microbatch 0 means none. phase: a string literal, such as "update". pulse
 * NULL is ignored. */
void pulse_at(Pulse *pulse, int64_t step, int64_t microbatch, const char *phase);
/* Writes the last heartbeat, with the exit status of the run on this rank, and ends the thread. NULL is ignored. */
void pulse_close(Pulse *pulse, int status);
