#include "train/trainer.h"

#include "comm/launch.h"

#include <signal.h>
#include <stdatomic.h>

static atomic_bool requested, waiting, hurries;

/* What a request leads to. With several processes nothing is saved if the launcher's signal means that one was lost. */
static const char *promise(void)
{
    return waiting                  ? "training has ended, and nothing is left to save; waiting for hooks"
           : comm_launch().size > 1 ? "stopping after this step"
                                    : "stopping after this step, saving";
}

void stop_waits_for_hooks(bool waits)
{
    waiting = waits;
}

/* Logs the request: the first signal of any kind, and every SIGINT. */
static void request(int number)
{
    bool again = atomic_exchange(&requested, true);
    if (number == SIGINT)
        log_info("%s; again to stop now", promise());
    else if (!again)
        log_info("SIG%s: %s", sigabbrev_np(number), promise());
}

bool stop_hurries(void)
{
    return hurries;
}

/* Handles a second SIGINT, in the thread of watch_signals. Another one, and one outside of the wait for hooks, ends the
 * program as soon as this has returned. */
static void end_now(int number)
{
    if (waiting && !atomic_exchange(&hurries, true))
        return;
    signal(number, SIG_DFL);
    raise(number);
}

/* The thread that waits for signals. Others block them: a handler that interrupts oneDNN can corrupt the heap. */
static void *watch_signals(void *argument)
{
    sigset_t *awaited = argument, again;
    int number;
    while (sigwait(awaited, &number) == 0) {
        if (number == SIGINT) {
            signal(SIGINT, end_now); /* a shell may start background jobs with SIGINT ignored */
            sigemptyset(&again);
            sigaddset(&again, SIGINT);
            sigdelset(awaited, SIGINT);
            pthread_sigmask(SIG_UNBLOCK, &again, NULL);
        }
        request(number);
    }
    return NULL;
}

static bool ignored(int number)
{
    struct sigaction action;
    return sigaction(number, NULL, &action) == 0 && action.sa_handler == SIG_IGN;
}

void stop_catch_signals(void)
{
    static const int numbers[] = { SIGTERM, SIGUSR1, SIGUSR2, SIGXCPU, SIGINT, SIGPIPE };
    static sigset_t awaited;
    static gsize ready;
    if (!g_once_init_enter(&ready))
        return;
    sigemptyset(&awaited);
    for (size_t i = 0; i < G_N_ELEMENTS(numbers); i++)
        sigaddset(&awaited, numbers[i]);
    if (!ignored(SIGHUP)) /* nohup starts a program with SIGHUP ignored, which stays so */
        sigaddset(&awaited, SIGHUP);
    pthread_sigmask(SIG_BLOCK, &awaited, NULL);
    g_thread_unref(g_thread_new("signals", watch_signals, &awaited));
    g_once_init_leave(&ready, 1);
}

/* SIGPIPE goes to the thread that writes, which blocks it, so base/log notices a closed pipe by the failed write. */
bool stop_requested(void)
{
    if (!requested && log_unread())
        request(SIGPIPE);
    return requested;
}
