#include "comm/monitor.h"
#include "run/heartbeat.h"
#include "run/run_status.h"
#include "train/services/service.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
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
    int folder;                /* RUN; -1 if it cannot be opened: no heartbeat is written */
    int problem;               /* errno of that; 0 means none */
    bool told;                 /* that heartbeats cannot be written */
    char *ranks_folder, *name; /* RUN/ranks, for messages, and the file's name in RUN: "ranks/0000.json" */
    Comm *ranks;
    GThread *thread;
    bool had_ended;  /* the last command of the run ended with status 0 */
    Heartbeat beat;  /* used only by the thread */
    Monitor monitor; /* protects the fields below, and is never held while a file is written */
    Stand stand;
    bool end;
};

/* A folder RUN/ranks that was deleted is made again. */
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
    if (mkdirat(pulse->folder, HEARTBEAT_FOLDER, 0777) == 0)
        log_warning("%s was deleted while the run trains; it is made again", pulse->ranks_folder);
    const int problem = pulse->folder < 0 ? pulse->problem : heartbeat_write(pulse->folder, pulse->name, beat);
    if (problem && !pulse->told)
        log_warning("no heartbeat can be written to %s (%s): loam status may say that this run is lost, or not know it",
                    pulse->ranks_folder, g_strerror(problem));
    pulse->told = pulse->told || problem;
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

/* On rank 0: if the previous process of this run was killed, logs where that process was, and removes the old
 * heartbeats. Returns whether the last command of the run ended with status 0. */
static bool end_last(const char *dir)
{
    Heartbeat last;
    g_autofree char *last_words = heartbeat_last_words(dir);
    const bool had_ended = heartbeat_read(dir, 0, &last) && last.ended == 0;
    if (last_words && !run_told_error(dir))
        log_warning("%s", last_words);
    heartbeat_clear(dir);
    return had_ended;
}

Pulse *pulse_open(const char *dir, Comm *ranks)
{
    Pulse *pulse = g_new0(Pulse, 1);
    const bool had_ended = comm_rank(ranks) == 0 && end_last(dir);
    g_autofree char *path = heartbeat_path(dir, comm_rank(ranks)), *file = g_path_get_basename(path);
    const int folder = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC), problem = folder < 0 ? errno : 0;
    *pulse = (Pulse){ .folder = folder,
                      .problem = problem,
                      .ranks_folder = g_path_get_dirname(path),
                      .name = g_build_filename(HEARTBEAT_FOLDER, file, NULL),
                      .ranks = ranks,
                      .had_ended = had_ended,
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
    G_GNUC_UNUSED g_autoptr(Monitor) held = monitor_enter(&pulse->monitor);
    pulse->stand = (Stand){ step, microbatch, phase, clock_seconds() };
}

/* Writes the last heartbeat, with the exit status of the run on this rank, and ends the thread. */
static void end_beats(Pulse *pulse, int status)
{
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
    g_free(pulse->ranks_folder);
    g_free(pulse->name);
    g_free(pulse);
}

bool pulse_is_refused(const Trainer *t, const GError *problem)
{
    return t->pulse->had_ended && !t->services.open && error_status(problem) == LOAM_ERROR_USER;
}

static void pulse_service_close(G_GNUC_UNUSED void *own, const Trainer *t, const GError *problem)
{
    Pulse *pulse = t->pulse;
    if (pulse == NULL)
        return;
    pulse_at(pulse, t->state.steps, 0, "end");
    end_beats(pulse, pulse_is_refused(t, problem) ? 0 : error_status(problem));
}

const Service pulse_service = { .close = pulse_service_close };
