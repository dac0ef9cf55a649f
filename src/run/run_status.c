#include "run/run_status.h"

#include "base/lock.h"
#include "base/text.h"
#include "run/best.h"
#include "run/heartbeat.h"
#include "run/metric_lines.h"
#include "run/run_dir.h"

#include <glib/gstdio.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define STALLED_STEPS 20
#define GONE_S        5 /* seconds without a heartbeat after which a process of this machine is looked for */
#define LOG_TAIL      4096
#define STOPPED       75 /* exit status of a run that was stopped with a checkpoint */

const char *const run_state_names[] = {
    [RUN_UNKNOWN] = "unknown", [RUN_ALIVE] = "alive",   [RUN_STALLED] = "stalled", [RUN_LOST] = "lost",
    [RUN_STOPPED] = "stopped", [RUN_FAILED] = "failed", [RUN_ENDED] = "ended",     NULL
};

/* ---- metrics.jsonl ---- */

/* What metrics.jsonl tells beside the fields of RunStatus. */
typedef struct Logged {
    double step_s;   /* seconds per step of the last log line; NAN means unknown */
    double failed_s; /* when an error ended the last command of the run: Unix seconds; NAN means no such event */
} Logged;

static void take_train(RunStatus *status, const json_t *line, int64_t step, double now, Logged *logged)
{
    status->step = step;
    status->loss = metric_number(line, "loss");
    status->lr = metric_number(line, "lr");
    status->tokens_per_s = metric_number(line, "tokens_per_s");
    status->mfu = metric_number(line, "mfu");
    status->logged_s = now - metric_number(line, "time");
    logged->step_s = metric_number(line, "step_s");
    if (status->n_losses == RUN_RECENT)
        memmove(status->losses, status->losses + 1, sizeof status->losses - sizeof *status->losses);
    else
        status->n_losses++;
    status->losses[status->n_losses - 1] = status->loss;
}

/* How an event says that the last command of the run ended; RUN_UNKNOWN for other events. */
static RunState ending_of(const json_t *line, const char *what)
{
    if (json_is_true(json_object_get(line, "failed")))
        return RUN_FAILED;
    if (g_str_has_prefix(what, "ended at step ") || g_str_has_prefix(what, "no better "))
        return RUN_ENDED;
    if (g_str_has_prefix(what, "stopped ") || g_str_has_prefix(what, "rolled back "))
        return RUN_STOPPED;
    return RUN_UNKNOWN;
}

/* What follows the end of a command, such as a hook that failed, tells neither how nor why it ended: it is kept beside
 * the end, until a command starts. */
static void take_status_event(RunStatus *status, const json_t *line, const char *what, Logged *logged)
{
    const RunState ending = ending_of(line, what);
    const bool follows = status->state != RUN_UNKNOWN && ending == RUN_UNKNOWN && !json_object_get(line, "start");
    char **event = follows ? &status->after : &status->event;
    if (!follows) {
        g_clear_pointer(&status->after, g_free);
        status->state = ending;
        logged->failed_s = ending == RUN_FAILED ? metric_number(line, "time") : NAN;
    }
    g_free(*event);
    *event = text_printable(what);
}

static void take_status_record(RunStatus *status, const MetricRecord *record, double now, Logged *logged)
{
    const char *what;
    if (record->kind == METRIC_TRAIN && record->step >= 0)
        take_train(status, record->json, record->step, now, logged);
    else if (record->kind == METRIC_VALID && record->first_set)
        status->valid_loss = metric_number(record->json, "loss");
    else if (record->kind == METRIC_EVENT && (what = json_string_value(json_object_get(record->json, "what"))))
        take_status_event(status, record->json, what, logged);
}

/* Sets the fields of *status that metrics.jsonl holds, and its state as the events there tell it. */
static void read_metrics(RunStatus *status, const char *dir, double now, Logged *logged)
{
    *logged = (Logged){ NAN, NAN };
    MetricReader reader;
    if (!metric_reader_open_end(&reader, dir))
        return;
    while (metric_reader_next(&reader))
        take_status_record(status, &reader.record, now, logged);
    metric_reader_close(&reader, NULL);
}

/* ---- heartbeats ---- */

/* The process of a rank, if it ran on this machine. */
typedef enum Process { PROCESS_UNKNOWN, PROCESS_GONE, PROCESS_RUNS, PROCESS_SUSPENDED } Process;

/* Whether the process began after the last heartbeat: its number was given again. age: of the heartbeat, in seconds. */
static bool is_another(long long start_ticks, double age)
{
    g_autofree char *text = NULL;
    if (!g_file_get_contents("/proc/uptime", &text, NULL, NULL))
        return false;
    const double lived = g_ascii_strtod(text, NULL) - (double)start_ticks / (double)sysconf(_SC_CLK_TCK);
    return lived + 1 < age;
}

/* A process that does not exist counts as gone at once if the run's lock is free, else some seconds after its last
 * heartbeat: a machine of the same name may have processes of other numbers, such as a container. */
static Process find_process(const Heartbeat *beat, const char *dir, double now)
{
    if (strcmp(beat->host, g_get_host_name()) != 0 || beat->pid <= 0)
        return PROCESS_UNKNOWN;
    g_autofree char *path = g_strdup_printf("/proc/%" PRId64 "/stat", beat->pid), *text = NULL,
                    *lock = g_build_filename(dir, "lock", NULL);
    char state = 0;
    long long start = 0;
    const char *end = g_file_get_contents(path, &text, NULL, NULL) ? strrchr(text, ')') : NULL;
    const bool there =
        end && sscanf(end, ") %c%*s%*s%*s%*s%*s%*s%*s%*s%*s%*s%*s%*s%*s%*s%*s%*s%*s%*s %lld", &state, &start) == 2;
    if (there && state != 'Z' && !is_another(start, now - beat->time))
        return state == 'T' ? PROCESS_SUSPENDED : PROCESS_RUNS;
    return fabs(now - beat->time) > GONE_S || lock_is_free(lock) ? PROCESS_GONE : PROCESS_UNKNOWN;
}

static char *describe_suspended(const Heartbeat *beat)
{
    g_autofree char *rank = beat->ranks > 1 ? g_strdup_printf("rank %d: ", beat->rank) : g_strdup("");
    return g_strdup_printf("%sprocess %" PRId64 " is suspended (Ctrl-Z, SIGSTOP); kill -CONT %" PRId64 " lets it go on",
                           rank, beat->pid, beat->pid);
}

/* What the ranks that have no exit status are doing. */
typedef struct Ranks {
    int running;
    Heartbeat slowest, suspended; /* the one that has been in its phase for longest; the first one that is suspended */
    double waited, there;         /* of the slowest: seconds in its phase, and now by its clock */
    double silent;                /* seconds since the last heartbeat of any of them */
    bool exists, gone, still;     /* a process is on this machine; is gone from it; is on it but silent for too long */
    bool any_suspended;
} Ranks;

static void add_rank(Ranks *all, const Heartbeat *beat, const char *dir, double now, double silent_s)
{
    const double there = heartbeat_present(dir, beat, now), silent = there - beat->time,
                 waited = fmin(now, there) - beat->since;
    const Process process = find_process(beat, dir, now);
    const bool exists = process == PROCESS_RUNS || process == PROCESS_SUSPENDED;
    if (all->running++ == 0 || waited > all->waited) {
        all->slowest = *beat;
        all->waited = waited;
        all->there = there;
    }
    if (process == PROCESS_SUSPENDED && !all->any_suspended)
        all->suspended = *beat;
    all->any_suspended |= process == PROCESS_SUSPENDED;
    all->silent = fmin(all->silent, silent);
    all->exists |= exists;
    all->still |= exists && silent > silent_s;
    all->gone |= process == PROCESS_GONE;
}

/* Without heartbeats (their folder was deleted) a run whose lock is held is alive; others are as their events say. */
static void read_lock(RunStatus *status, const char *dir)
{
    g_autofree char *lock = g_build_filename(dir, "lock", NULL);
    if (!lock_is_held(lock))
        return;
    status->state = RUN_ALIVE;
    status->place = g_strdup("a process holds its lock; there are no heartbeats in its folder " HEARTBEAT_FOLDER);
}

/* Whether the error whose event came at failed_s ended the last start: rank 0, which writes events, ended with an
 * error, or no heartbeat of it followed. An event has its time in whole seconds. */
static bool is_told(const Heartbeat *first, double failed_s)
{
    return first->ended < 0 ? failed_s >= floor(first->time)
                            : isfinite(failed_s) && first->ended != 0 && first->ended != STOPPED;
}

/* Whether the process has a descriptor of the file; false if this user may not see that. */
static bool has_open(int64_t pid, const char *file)
{
    GStatBuf sought, info;
    g_autofree char *folder = g_strdup_printf("/proc/%" PRId64 "/fd", pid);
    g_autoptr(GDir) entries = g_stat(file, &sought) == 0 ? g_dir_open(folder, 0, NULL) : NULL;
    const char *name;
    while (entries && (name = g_dir_read_name(entries))) {
        g_autofree char *path = g_build_filename(folder, name, NULL);
        if (g_stat(path, &info) == 0 && info.st_dev == sought.st_dev && info.st_ino == sought.st_ino)
            return true;
    }
    return false;
}

/* The run directory whose lock file the process has open; NULL means unknown. g_free. */
static char *trained_by(int64_t pid)
{
    g_autofree char *folder = g_strdup_printf("/proc/%" PRId64 "/fd", pid);
    g_autoptr(GDir) entries = g_dir_open(folder, 0, NULL);
    const char *name;
    while (entries && (name = g_dir_read_name(entries))) {
        g_autofree char *path = g_build_filename(folder, name, NULL), *target = g_file_read_link(path, NULL),
                        *dir = target ? g_path_get_dirname(target) : NULL;
        if (dir && g_str_has_suffix(target, "/lock") && run_has_config(dir))
            return g_steal_pointer(&dir);
    }
    return NULL;
}

/* Whether the folder is a copy of a run that trains elsewhere: the process that rank 0's heartbeat names runs on this
 * machine and has not ended its run, but does not hold the lock of this folder, as the file system tells it. */
static bool is_copy(const Heartbeat *first, const char *dir, double now)
{
    Heartbeat again;
    g_autofree char *lock = g_build_filename(dir, "lock", NULL);
    const Process process = first->ended < 0 ? find_process(first, dir, now) : PROCESS_UNKNOWN;
    return (process == PROCESS_RUNS || process == PROCESS_SUSPENDED) && lock_is_free(lock) &&
           !has_open(first->pid, lock) && heartbeat_read(dir, 0, &again) && again.beat == first->beat;
}

static char *describe_copied(const Heartbeat *first)
{
    g_autofree char *dir = trained_by(first->pid), *name = dir ? text_printable(dir) : NULL;
    return name ? g_strdup_printf("nobody trains here: process %" PRId64 ", which its heartbeat names, trains in %s",
                                  first->pid, name)
                : g_strdup_printf("nobody trains here: process %" PRId64 ", which its heartbeat names, does not hold "
                                  "the lock of this folder, which is a copy",
                                  first->pid);
}

static void read_beats(RunStatus *status, const char *dir, double now, double silent_s, double stalled_s,
                       double failed_s)
{
    Heartbeat first, beat;
    Ranks all = { .silent = INFINITY };
    if (!heartbeat_read(dir, 0, &first)) {
        read_lock(status, dir);
        return;
    }
    if (is_copy(&first, dir, now)) {
        status->state = is_told(&first, failed_s) ? RUN_FAILED : RUN_LOST;
        status->place = describe_copied(&first);
        return;
    }
    for (int r = 0; r < first.ranks; r++)
        if (heartbeat_read(dir, r, &beat) && beat.ended < 0)
            add_rank(&all, &beat, dir, now, silent_s);
    if (all.running == 0) {
        status->state = first.ended == 0 ? RUN_ENDED : first.ended == STOPPED ? RUN_STOPPED : RUN_FAILED;
        return;
    }
    const bool over = first.ended >= 0 || all.gone || (all.silent > silent_s && !all.exists),
               failed = over && is_told(&first, failed_s), lost = over && !failed;
    status->state = failed                                                     ? RUN_FAILED
                    : lost                                                     ? RUN_LOST
                    : all.still || all.any_suspended || all.waited > stalled_s ? RUN_STALLED
                                                                               : RUN_ALIVE;
    status->place = failed              ? NULL
                    : lost              ? heartbeat_last_words(dir)
                    : all.any_suspended ? describe_suspended(&all.suspended)
                                        : heartbeat_describe(&all.slowest, all.there);
    if (first.ranks > 1 && status->state != RUN_ALIVE)
        status->places = heartbeat_places(dir, now);
}

/* A run that was rolled back, or ended at train.stop_at, is stopped: its last event says how it goes on. */
static void settle_state(RunStatus *status)
{
    const bool runs = status->state == RUN_ALIVE || status->state == RUN_STALLED;
    const char *event = status->event ? status->event : "";
    if ((!runs && g_str_has_prefix(event, "rolled back to step ")) ||
        (status->state == RUN_ENDED && g_str_has_prefix(event, "stopped at step "))) {
        status->state = RUN_STOPPED;
        g_clear_pointer(&status->place, g_free);
        g_clear_pointer(&status->places, g_free);
    }
}

/* The last line of RUN/log.txt; NULL if there is none. */
static char *last_log_line(const char *dir)
{
    char tail[LOG_TAIL + 1];
    g_autofree char *path = g_build_filename(dir, "log.txt", NULL);
    GStatBuf info;
    FILE *file = g_stat(path, &info) == 0 && S_ISREG(info.st_mode) ? fopen(path, "rbe") : NULL;
    if (file == NULL)
        return NULL;
    size_t bytes = fseek(file, -(long)MIN(info.st_size, LOG_TAIL), SEEK_END) == 0 ? fread(tail, 1, LOG_TAIL, file) : 0;
    fclose(file);
    while (bytes > 0 && tail[bytes - 1] == '\n')
        bytes--;
    tail[bytes] = '\0';
    const char *before = strrchr(tail, '\n');
    return bytes ? text_printable(before ? before + 1 : tail) : NULL;
}

bool run_told_error(const char *dir)
{
    g_auto(RunStatus) status = { 0 };
    Logged logged;
    Heartbeat first;
    read_metrics(&status, dir, 0, &logged);
    return heartbeat_read(dir, 0, &first) && is_told(&first, logged.failed_s);
}

void run_status_read(RunStatus *status, const char *dir, double silent_s, double stalled_s)
{
    const double now = (double)g_get_real_time() / G_USEC_PER_SEC;
    Logged logged;
    GStatBuf file;
    *status = (RunStatus){ .step = -1,
                           .loss = NAN,
                           .lr = NAN,
                           .tokens_per_s = NAN,
                           .mfu = NAN,
                           .valid_loss = NAN,
                           .logged_s = NAN,
                           .saved_s = NAN };
    read_metrics(status, dir, now, &logged);
    const double slow_s = STALLED_STEPS * logged.step_s;
    read_beats(status, dir, now, silent_s, isfinite(slow_s) ? fmax(stalled_s, slow_s) : stalled_s, logged.failed_s);
    settle_state(status);
    status->log = status->state == RUN_FAILED && !isfinite(logged.failed_s) ? last_log_line(dir) : NULL;
    status->saved = run_linked(dir, "latest");
    status->lost = run_lost_save(dir);
    status->lost_best = run_lost_best(dir);
    g_autofree char *folder = run_checkpoint_path(dir, status->saved);
    if (status->saved >= 0 && g_stat(folder, &file) == 0)
        status->saved_s = now - (double)file.st_mtime;
}

void run_status_clear(RunStatus *status)
{
    g_clear_pointer(&status->place, g_free);
    g_clear_pointer(&status->places, g_free);
    g_clear_pointer(&status->event, g_free);
    g_clear_pointer(&status->after, g_free);
    g_clear_pointer(&status->log, g_free);
}

static void append_ago(GString *text, double seconds)
{
    g_autofree char *ago = isfinite(seconds) ? text_duration(fmax(0, round(seconds))) : NULL;
    if (ago)
        g_string_append_printf(text, ", %s ago", ago);
}

char *run_status_describe(const RunStatus *status, const char *dir)
{
    g_autofree char *name = text_printable(dir);
    GString *text = g_string_new(NULL);
    g_string_append_printf(text, "%s: %s\n", name, run_state_names[status->state]);
    if (status->place)
        g_string_append_printf(text, "  %s\n", status->place);
    g_auto(GStrv) places = g_strsplit(status->places ? status->places : "", "\n", -1);
    for (char **line = places; *line; line++)
        g_string_append_printf(text, "    %s\n", *line);
    if (status->step >= 0) {
        g_autofree char *speed = text_count(isfinite(status->tokens_per_s) ? status->tokens_per_s : 0);
        g_string_append_printf(text, "  step %" PRId64 "  loss %.4f", status->step, status->loss);
        if (isfinite(status->lr))
            g_string_append_printf(text, "  lr %.2e", status->lr);
        if (isfinite(status->tokens_per_s))
            g_string_append_printf(text, "  %s tokens/s", speed);
        if (isfinite(status->valid_loss))
            g_string_append_printf(text, "  held-out loss %.4f", status->valid_loss);
        append_ago(text, status->logged_s);
        g_string_append_c(text, '\n');
    }
    if (status->lost >= 0) {
        g_string_append_printf(text, "  saved step %" PRId64 ", but that checkpoint is missing\n", status->lost);
    } else if (status->saved >= 0) {
        g_string_append_printf(text, "  saved step %" PRId64, status->saved);
        append_ago(text, status->saved_s);
        g_string_append_c(text, '\n');
    }
    if (status->lost_best >= 0)
        g_string_append_printf(text, "  best step %" PRId64 ", but that checkpoint is missing: %s means the newest\n",
                               status->lost_best, name);
    if (status->event)
        g_string_append_printf(text, "  last event: %s\n", status->event);
    if (status->after)
        g_string_append_printf(text, "  after it: %s\n", status->after);
    if (status->log)
        g_string_append_printf(text, "  end of log.txt: %s\n", status->log);
    return g_string_free(text, FALSE);
}
