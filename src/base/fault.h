/* fault.h: exact interruptions for tests. With LOAM_FAULT=POINT:N or POINT:N:SIGNAL in the environment the process
 * sends itself SIGNAL (KILL, the default, TERM, INT or STOP) when it comes to POINT for the N-th time. Points are the
 * system calls of base/file.c ("open", "write", "fsync", "close", "truncate", "rename", "unlink", "mkdir", "rmdir",
 * "symlink", or "io" for any of them), each before it is made, and those of a run ("step", "microbatch", "evaluation",
 * "save"), each when it begins, and "log", when a line is about to be written. */
#pragma once

void fault_point(const char *name);
