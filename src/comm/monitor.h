/* monitor.h: a mutex with one condition variable, made of POSIX threads, since the thread sanitizer does not know
 * GLib's locks. */
#pragma once

#include "base/clock.h"

#include <glib.h>
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

/* Locks the mutex, and returns the monitor for a g_autoptr(Monitor), which unlocks it at the end of its block. */
static inline Monitor *monitor_enter(Monitor *monitor)
{
    pthread_mutex_lock(&monitor->mutex);
    return monitor;
}

/* Unlocks the mutex. */
static inline void monitor_leave(Monitor *monitor)
{
    pthread_mutex_unlock(&monitor->mutex);
}
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Monitor, monitor_leave)

/* Wakes all threads in monitor_wait and monitor_wait_until. */
static inline void monitor_wake(Monitor *monitor)
{
    pthread_cond_broadcast(&monitor->changed);
}

/* Unlocks the mutex, waits for monitor_wake, and locks the mutex again. As with any condition variable it may return
 * early, so the caller checks its condition in a loop. */
static inline void monitor_wait(Monitor *monitor)
{
    pthread_cond_wait(&monitor->changed, &monitor->mutex);
}

/* As monitor_wait, but returns at the latest when clock_seconds() reaches `end`; then it returns false. */
static inline bool monitor_wait_until(Monitor *monitor, double end)
{
    struct timespec at = { .tv_sec = (time_t)end };
    at.tv_nsec = (long)((end - (double)at.tv_sec) * 1e9);
    pthread_cond_clockwait(&monitor->changed, &monitor->mutex, CLOCK_MONOTONIC, &at);
    return clock_seconds() < end;
}
