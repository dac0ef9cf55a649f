/* processes.h: ends the processes that a program left behind, in whatever session or group they are. */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

typedef bool (*ProcessMatch)(pid_t pid, const void *context);

/* Kills all processes of this machine that match; one that they fork meanwhile is found in the next round. */
void processes_kill(ProcessMatch match, const void *context);
/* Whether the process descends from *ancestor (pid_t) and has not ended; a ProcessMatch. */
bool processes_descend(pid_t pid, const void *ancestor);
