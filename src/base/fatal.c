#include "base/fatal.h"

#include <fcntl.h>
#include <glib.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define STATUS 2 /* LOAM_ERROR_MACHINE */

/* Nothing here allocates: there may be no memory left. */
static void say(const char *text)
{
    (void)!write(STDERR_FILENO, text, strlen(text));
}

void fatal_memory(const char *what)
{
    say("loam: no memory for ");
    say(what);
    say(": the machine, or a limit (ulimit -v, a container's), refused it; `loam plan` says what a run needs\n");
    _exit(STATUS);
}

/* GLib ends the program where memory or a thread is refused. */
static void end_with_message(const gchar *domain, GLogLevelFlags level, const gchar *message, gpointer data)
{
    static const char refused[] = "failed to allocate ";
    const char *what = strstr(message, refused);
    if (!(level & G_LOG_LEVEL_ERROR)) {
        g_log_default_handler(domain, level, message, data);
        return;
    }
    if (what)
        fatal_memory(what + strlen(refused));
    say("loam: ");
    say(message);
    say("\n");
    _exit(STATUS);
}

/* The line of /proc/self/maps that holds the address: its path goes to standard error. */
static void say_mapped_file(uintptr_t address)
{
    static char line[4096 + 256];
    size_t used = 0;
    int file = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
    char c;
    while (file >= 0 && read(file, &c, 1) == 1) {
        if (c != '\n') {
            line[used] = c;
            used += used < sizeof line - 1;
            continue;
        }
        line[used] = '\0';
        used = 0;
        char *end;
        uintptr_t first = strtoul(line, &end, 16), last = *end == '-' ? strtoul(end + 1, NULL, 16) : 0;
        const char *path = strchr(line, '/');
        if (address >= first && address < last) {
            say(path ? path : "memory");
            return;
        }
    }
    say("a mapped file");
}

static void on_bus_error(int number, siginfo_t *info, void *context)
{
    (void)number;
    (void)context;
    say("loam: ");
    say_mapped_file((uintptr_t)info->si_addr);
    say(": cannot be read any more: it was cut short while it was in use, or its disk fails\n");
    _exit(STATUS);
}

void fatal_install(void)
{
    struct sigaction bus = { .sa_sigaction = on_bus_error, .sa_flags = SA_SIGINFO };
    sigaction(SIGBUS, &bus, NULL);
    signal(SIGXFSZ, SIG_IGN);
    g_log_set_default_handler(end_with_message, NULL);
}
