/* fault.h: kills or stops the process at an exact point, for tests. With LOAM_FAULT=POINT:N or POINT:N:SIGNAL in the
 * environment the process sends itself SIGNAL (KILL by default, TERM, INT or STOP) when it reaches POINT for the N-th
 * time. The points are: each system call of base/file.c, before it is made ("open", "write", "fsync", "close",
 * "truncate", "rename", "unlink", "mkdir", "rmdir", "symlink", or "io" for any of these); the beginning of a part of a
 * run ("step", "microbatch", "evaluation", "save"); and "log", before a line is written to the log file. */
#pragma once

/* Sends the signal if LOAM_FAULT names this point and this is its N-th time; otherwise does nothing. */
void fault_point(const char *name);
