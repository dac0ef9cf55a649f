/* pulse.h: a thread of each rank that writes the rank's heartbeat (run/heartbeat.h) about once per second; less often
 * with more than 64 ranks, so that all together write at most 64 times per second. */
#pragma once

#include "comm/comm.h"

typedef struct Pulse Pulse;

/* Starts the thread, for this rank of `ranks`, in the run directory `dir`, which has a folder ranks. Rank 0 is first:
 * if the previous process of this run was killed, it logs where that process was, and it removes the old heartbeats.
 * The service ends the thread, after it has written how the run ended on this rank. */
Pulse *pulse_open(const char *dir, Comm *ranks);
/* Records what this rank does from now on. microbatch 0 means none. phase: a string literal, such as "update". pulse
 * NULL is ignored. */
void pulse_at(Pulse *pulse, int64_t step, int64_t microbatch, const char *phase);
