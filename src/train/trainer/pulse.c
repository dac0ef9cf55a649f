#include "train/trainer/pulse.h"

#include "base/clock.h"
#include "comm/monitor.h"
#include "train/heartbeat.h"
#include "train/trainer/stop.h"

#include <fcntl.h>
#include <unistd.h>

#define PERIOD_S          1.0
#define WRITES_PER_SECOND 64   /* limit for all ranks together */
#define LOOK_S            0.25 /* a request to stop is in the heartbeat within this many seconds */

/* What a rank is doing. */
typedef struct Stand {
    int64_t step, microbatch;
    const char *phase;
    double since; /* clock_seconds() when the phase began */
} Stand;

struct Pulse {
    int folder; /* RUN/ranks; -1 if it cannot be opened: no heartbeat is written */
    char *name;
    Comm *ranks;
    GThread *thread;
    Heartbeat beat;  /* used only by the thread */
    Monitor monitor; /* protects the fields below, and is never held while a file is written */
    Stand stand;
    bool end;
};

static void write_beat(Pulse *pulse, const Stand *stand)
{
    Heartbeat *beat = &pulse->beat;
    const CommCall call = comm_call(pulse->ranks);
    const double since = call.name ? call.since : stand->since;
    beat->step = stand->step;
    beat->microbatch = stand->microbatch;
    beat->since = (double)g_get_real_time() / 1e6 - (clock_seconds() - since);
    beat->stopping = stop_requested();
    g_strlcpy(beat->phase, stand->phase, sizeof beat->phase);
    g_strlcpy(beat->call, call.name ? call.name : "", sizeof beat->call);
    heartbeat_write(pulse->folder, pulse->name, beat);
}

static void *beat_on(void *argument)
{
    Pulse *pulse = argument;
    const double period = MAX(PERIOD_S, pulse->beat.ranks * PERIOD_S / WRITES_PER_SECOND);
    double next = 0;
    monitor_enter(&pulse->monitor);
    while (!pulse->end) {
        double now = clock_seconds();
        if (now >= next || stop_requested() != pulse->beat.stopping) {
            const Stand stand = pulse->stand;
            monitor_leave(&pulse->monitor);
            write_beat(pulse, &stand);
            next = now + period;
            monitor_enter(&pulse->monitor);
        }
        if (!pulse->end)
            monitor_wait_until(&pulse->monitor, MIN(next, now + LOOK_S));
    }
    monitor_leave(&pulse->monitor);
    return NULL;
}

Pulse *pulse_open(const char *dir, Comm *ranks)
{
    Pulse *pulse = g_new0(Pulse, 1);
    g_autofree char *path = heartbeat_path(dir, comm_rank(ranks)), *folder = g_path_get_dirname(path);
    *pulse = (Pulse){ .folder = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC),
                      .name = g_path_get_basename(path),
                      .ranks = ranks,
                      .stand = { .phase = "start", .since = clock_seconds() },
                      .beat = { .rank = comm_rank(ranks), .ranks = comm_size(ranks), .pid = getpid(), .ended = -1 } };
    g_strlcpy(pulse->beat.host, g_get_host_name(), sizeof pulse->beat.host);
    monitor_init(&pulse->monitor);
    pulse->thread = g_thread_new("heartbeat", beat_on, pulse);
    return pulse;
}

void pulse_at(Pulse *pulse, int64_t step, int64_t microbatch, const char *phase)
{
    if (pulse == NULL)
        return;
    monitor_enter(&pulse->monitor);
    pulse->stand = (Stand){ step, microbatch, phase, clock_seconds() };
    monitor_leave(&pulse->monitor);
}

void pulse_close(Pulse *pulse, int status)
{
    if (pulse == NULL)
        return;
    monitor_enter(&pulse->monitor);
    pulse->end = true;
    monitor_wake(&pulse->monitor);
    monitor_leave(&pulse->monitor);
    g_thread_join(pulse->thread);
    pulse->beat.ended = status;
    write_beat(pulse, &pulse->stand);
    monitor_clear(&pulse->monitor);
    if (pulse->folder >= 0)
        close(pulse->folder);
    g_free(pulse->name);
    g_free(pulse);
}
