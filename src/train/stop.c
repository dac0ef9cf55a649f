#include "train/stop.h"

#include <signal.h>
#include <stddef.h>

static volatile sig_atomic_t requested;

static void note(int number)
{
    requested = 1;
    if (number == SIGINT)
        signal(SIGINT, SIG_DFL);
}

void stop_catch_signals(void)
{
    static const int numbers[] = { SIGTERM, SIGUSR1, SIGINT };
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        struct sigaction action = { .sa_handler = note, .sa_flags = SA_RESTART };
        sigaction(numbers[i], &action, NULL);
    }
}

bool stop_requested(void)
{
    return requested != 0;
}
