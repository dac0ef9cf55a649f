/* clock.h: the clock by which all durations are measured. No GLib here: device code includes this file. */
#pragma once

#include <time.h>

/* Seconds since an arbitrary moment. Changes of the system's time of day do not affect it. */
static inline double clock_seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}
