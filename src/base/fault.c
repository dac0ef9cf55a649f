#include "base/fault.h"

#include <glib.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

/* The value of LOAM_FAULT; name NULL means that it is not set. */
typedef struct Fault {
    char *name;
    int n, signal;
} Fault;

static int signal_number(const char *name)
{
    static const struct {
        const char *name;
        int number;
    } signals[] = { { "KILL", SIGKILL }, { "TERM", SIGTERM }, { "INT", SIGINT }, { "STOP", SIGSTOP } };
    for (size_t i = 0; i < G_N_ELEMENTS(signals); i++)
        if (g_strcmp0(name, signals[i].name) == 0)
            return signals[i].number;
    return SIGKILL;
}

static const Fault *wanted(void)
{
    static Fault fault;
    static gsize ready;
    if (g_once_init_enter(&ready)) {
        const char *text = g_getenv("LOAM_FAULT");
        g_auto(GStrv) parts = g_strsplit(text ? text : "", ":", 3);
        guint n = g_strv_length(parts);
        if (n >= 2)
            fault = (Fault){ g_strdup(parts[0]), (int)g_ascii_strtoll(parts[1], NULL, 10), signal_number(parts[2]) };
        g_once_init_leave(&ready, 1);
    }
    return &fault;
}

void fault_point(const char *name)
{
    static int passed; /* times that the point was reached; atomic, since several threads write checkpoints and logs */
    const Fault *fault = wanted();
    if (fault->name && strcmp(fault->name, name) == 0 && g_atomic_int_add(&passed, 1) + 1 == fault->n)
        kill(getpid(), fault->signal);
}
