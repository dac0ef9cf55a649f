#include "base/processes.h"

#include <glib.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#define ROUNDS 100 /* of looking for processes */

void processes_kill(ProcessMatch match, const void *context)
{
    for (int round = 0, found = 1; found > 0 && round < ROUNDS; round++) {
        g_autoptr(GDir) processes = g_dir_open("/proc", 0, NULL);
        const char *name;
        found = 0;
        while (processes && (name = g_dir_read_name(processes))) {
            const pid_t pid = (pid_t)g_ascii_strtoll(name, NULL, 10); /* 0: another entry of /proc */
            if (pid > 0 && match(pid, context))
                found += kill(pid, SIGKILL) == 0;
        }
    }
}

/* The parent of a process that has not ended; 0 means that there is none. */
static pid_t parent_of(pid_t pid)
{
    g_autofree char *path = g_strdup_printf("/proc/%d/stat", (int)pid), *text = NULL;
    char state;
    int parent;
    if (!g_file_get_contents(path, &text, NULL, NULL))
        return 0;
    const char *after = strrchr(text, ')'); /* of the command's name, which may have any characters */
    return after && sscanf(after, ") %c %d", &state, &parent) == 2 && state != 'Z' ? (pid_t)parent : 0;
}

bool processes_descend(pid_t pid, const void *ancestor)
{
    const pid_t wanted = *(const pid_t *)ancestor;
    do
        pid = parent_of(pid);
    while (pid > 1 && pid != wanted);
    return pid == wanted;
}
