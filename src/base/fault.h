/* fault.h: kills or stops the process at an exact point, for tests. With LOAM_FAULT=POINT:N or POINT:N:SIGNAL in the
 * environment the process sends itself SIGNAL (KILL by default, TERM, INT or STOP) when it reaches POINT for the N-th
 * time; with @RANK at the end (step:5@1, step:5:STOP@1) only the times that this rank reaches it count. The points are:
 * the system calls of base/file.c and base/lock.c, each before it is made ("open", "read", "write", "fsync", "close",
 * "truncate", "rename", "unlink", "mkdir", "rmdir", "symlink", "flock", "fcntl"; "io" counts all of these together);
 * "step", "microbatch", "evaluation" and "save", when the trainer begins one of them; and "log", before a line is
 * written to the log file. One more damages numbers instead of sending a signal: "nan" makes the losses of this rank
 * NaN, once per step. (tests/spoiled has two that change weights.) */
#pragma once

#include <stdbool.h>

/* Sends the signal if LOAM_FAULT names this point and this is its N-th time; otherwise does nothing. */
void fault_point(const char *name);
/* True if LOAM_FAULT names this point and this is its N-th time. */
bool fault_due(const char *name);
/* Says which rank of a run the calling thread is; threads that never call it count as no rank. */
void fault_set_rank(int rank);
