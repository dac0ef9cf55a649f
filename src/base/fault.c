#include "base/fault.h"

#include <glib.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

/* The value of LOAM_FAULT; name NULL means that it is not set. */
typedef struct Fault {
    char *name;
    int n, signal, rank; /* rank -1 means any */
} Fault;

static _Thread_local int own_rank = -1;

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
        g_auto(GStrv) whose = g_strsplit(text ? text : "", "@", 2);
        g_auto(GStrv) parts = g_strsplit(whose[0] ? whose[0] : "", ":", 3);
        guint n = g_strv_length(parts);
        int rank = whose[0] && whose[1] ? (int)g_ascii_strtoll(whose[1], NULL, 10) : -1;
        if (n >= 2)
            fault =
                (Fault){ g_strdup(parts[0]), (int)g_ascii_strtoll(parts[1], NULL, 10), signal_number(parts[2]), rank };
        g_once_init_leave(&ready, 1);
    }
    return &fault;
}

bool fault_due(const char *name)
{
    static int passed; /* times that the point was reached; atomic, since several threads write checkpoints and logs */
    const Fault *fault = wanted();
    bool counts = fault->name && strcmp(fault->name, name) == 0 && (fault->rank < 0 || fault->rank == own_rank);
    return counts && g_atomic_int_add(&passed, 1) + 1 == fault->n;
}

void fault_point(const char *name)
{
    if (fault_due(name))
        kill(getpid(), wanted()->signal);
}

void fault_set_rank(int rank)
{
    own_rank = rank;
}
