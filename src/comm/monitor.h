/* monitor.h: a mutex with one condition variable. They are POSIX threads', since the thread sanitizer does not know
 * GLib's locks. */
#pragma once

#include "base/clock.h"

#include <pthread.h>
#include <stdbool.h>

typedef struct Monitor {
    pthread_mutex_t mutex;
    pthread_cond_t changed;
} Monitor;

static inline void monitor_init(Monitor *monitor)
{
    pthread_mutex_init(&monitor->mutex, NULL);
    pthread_cond_init(&monitor->changed, NULL);
}

static inline void monitor_clear(Monitor *monitor)
{
    pthread_mutex_destroy(&monitor->mutex);
    pthread_cond_destroy(&monitor->changed);
}

static inline void monitor_enter(Monitor *monitor)
{
    pthread_mutex_lock(&monitor->mutex);
}

static inline void monitor_leave(Monitor *monitor)
{
    pthread_mutex_unlock(&monitor->mutex);
}

/* Wakes all waiting threads. */
static inline void monitor_wake(Monitor *monitor)
{
    pthread_cond_broadcast(&monitor->changed);
}

static inline void monitor_wait(Monitor *monitor)
{
    pthread_cond_wait(&monitor->changed, &monitor->mutex);
}

/* As monitor_wait, until clock_seconds() reaches `end`; false if it has. */
static inline bool monitor_wait_until(Monitor *monitor, double end)
{
    struct timespec at = { .tv_sec = (time_t)end };
    at.tv_nsec = (long)((end - (double)at.tv_sec) * 1e9);
    pthread_cond_clockwait(&monitor->changed, &monitor->mutex, CLOCK_MONOTONIC, &at);
    return clock_seconds() < end;
}
