#include "train/stop.h"

#include <glib.h>
#include <signal.h>
#include <stdatomic.h>

static atomic_bool requested;

/* Signals are waited for here and blocked everywhere else: a handler that interrupted oneDNN's products on their own
 * thread was seen to corrupt the heap. */
static void *watch(void *argument)
{
    sigset_t *awaited = argument, again;
    int number;
    while (sigwait(awaited, &number) == 0) {
        requested = true;
        if (number == SIGINT) { /* the second one ends the program at once */
            sigemptyset(&again);
            sigaddset(&again, SIGINT);
            sigdelset(awaited, SIGINT);
            pthread_sigmask(SIG_UNBLOCK, &again, NULL);
        }
    }
    return NULL;
}

void stop_catch_signals(void)
{
    static const int numbers[] = { SIGTERM, SIGUSR1, SIGINT };
    static sigset_t awaited;
    static gsize ready;
    if (!g_once_init_enter(&ready))
        return;
    sigemptyset(&awaited);
    for (size_t i = 0; i < G_N_ELEMENTS(numbers); i++)
        sigaddset(&awaited, numbers[i]);
    pthread_sigmask(SIG_BLOCK, &awaited, NULL);
    g_thread_unref(g_thread_new("signals", watch, &awaited));
    g_once_init_leave(&ready, 1);
}

bool stop_requested(void)
{
    return requested;
}
