/* fault.h: kills or stops the process at an exact point, for tests. With LOAM_FAULT=POINT:N or POINT:N:SIGNAL in the
 * environment the process sends itself SIGNAL (KILL by default, TERM, INT or STOP) when it reaches POINT for the N-th
 * time. Points: the system calls of base/file.c, before they are made ("open", "write", "fsync", "close", "truncate",
 * "rename", "unlink", "mkdir", "rmdir", "symlink", or "io" for any of them); parts of a run, when they begin ("step",
 * "microbatch", "evaluation", "save"); and "log", before a line is written to the log file. */
#pragma once

/* Sends the signal if LOAM_FAULT names this point and this is its N-th time; otherwise does nothing. */
void fault_point(const char *name);
