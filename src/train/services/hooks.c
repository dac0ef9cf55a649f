/* hooks.c: commands of the user that run beside training when something happens (hooks.*). A thread of rank 0 runs them
 * one after another, so training never waits. A command that takes too long is killed; after a failure it is tried
 * again (hooks.retries). RUN/hooks.log has output and result of each attempt. A failed command never ends the run. */

#include "base/processes.h"
#include "comm/launch.h"
#include "train/services/service.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define LOOK_US        20000 /* microseconds between two checks whether a running command has ended */
#define GRACE_S        2     /* seconds from SIGTERM to SIGKILL */
#define LONGEST_WAIT_S 60    /* longest pause between two attempts, in seconds */
#define MARK_BYTES     64    /* of the variable that marks the processes of an attempt */

typedef enum HookKind { HOOK_SAVE, HOOK_BEST, HOOK_STOP, HOOK_ALERT, HOOKS } HookKind;
static const char *const names[HOOKS] = {
    [HOOK_SAVE] = "on_save", [HOOK_BEST] = "on_best", [HOOK_STOP] = "on_stop", [HOOK_ALERT] = "on_alert"
};

typedef struct Call {
    HookKind kind;
    int64_t step;
    char *path, *message;
} Call;

typedef struct Hooks {
    const HooksConfig *config;
    char *dir, *log;
    int folder;   /* descriptor of the run directory, in which hooks.log is opened; -1 if it cannot be opened */
    int attempts; /* of all calls so far; used only by the thread */
    GThread *thread;

    GMutex mutex; /* guards the fields below */
    GCond changed;
    GQueue calls;           /* queue of Call * that have not begun, at most one of each kind */
    int64_t waiting[HOOKS]; /* step of the queued call of each kind; -1 means none */
    int64_t running;        /* step of the running call; -1 means none */
    bool closing;
    double end;          /* set when closing: clock_seconds() at which all commands except on_stop must have ended */
    GPtrArray *problems; /* char *: descriptions of calls that failed, which hooks_problem has not returned yet */
} Hooks;

static const char *command_of(const Hooks *hooks, HookKind kind)
{
    const char *const commands[HOOKS] = { hooks->config->on_save, hooks->config->on_best, hooks->config->on_stop,
                                          hooks->config->on_alert };
    return commands[kind];
}

static void call_free(Call *call)
{
    g_free(call->path);
    g_free(call->message);
    g_free(call);
}

static int open_log(const Hooks *hooks)
{
    return openat(hooks->folder, "hooks.log", O_WRONLY | O_CREAT | O_APPEND | O_NONBLOCK | O_CLOEXEC, 0666);
}

static void note(const Hooks *hooks, const Call *call, const char *text)
{
    g_autofree char *time = record_now(),
                    *line = g_strdup_printf("%s %s step %" PRId64 ": %s\n", time, names[call->kind], call->step, text);
    const int file = open_log(hooks);
    if (file < 0)
        return;
    (void)!write(file, line, strlen(line)); /* if the disk is full, the line is lost */
    close(file);
}

/* ---- the output of a command ---- */

enum { OUTPUT_CHUNK = 65536, HOOK_OUTPUT_BYTES = 2 << 20 /* of the start of an output, and of its end */ };

/* Passes the output of a command to hooks.log: all of it up to two limits, one for its start and one for its end; of a
 * command that prints more, the middle is left out. */
typedef struct HookOutput {
    int log, read_end;
    int64_t taken; /* bytes so far; the first HOOK_OUTPUT_BYTES are in the log */
    char *ring;    /* the last bytes: byte i of the output at i % HOOK_OUTPUT_BYTES; NULL until the start is full */
} HookOutput;

/* log: descriptor of hooks.log; -1 means that the output is lost. *write_end: of a pipe, for the command; the caller
 * closes it. It is -1 if there are no descriptors left. */
static HookOutput *hook_output_new(int log, int *write_end)
{
    HookOutput *output = g_new0(HookOutput, 1);
    int ends[2] = { -1, -1 };
    if (pipe2(ends, O_CLOEXEC) == 0)
        (void)fcntl(ends[0], F_SETFL, O_NONBLOCK);
    *output = (HookOutput){ .log = log, .read_end = ends[0] };
    *write_end = ends[1];
    return output;
}

/* Writes to the log; if the disk is full, the rest is lost. */
static void put_output(const HookOutput *output, const char *bytes, size_t n)
{
    while (n > 0) {
        const ssize_t written = write(output->log, bytes, n);
        if (written < 0 && errno == EINTR)
            continue;
        if (written <= 0)
            return;
        bytes += written;
        n -= (size_t)written;
    }
}

static void keep_output(HookOutput *output, const char *bytes, size_t n)
{
    const int64_t room = HOOK_OUTPUT_BYTES - output->taken;
    const size_t first = room > 0 ? MIN((size_t)room, n) : 0;
    put_output(output, bytes, first);
    if (first < n && output->ring == NULL)
        output->ring = g_malloc(HOOK_OUTPUT_BYTES);
    for (size_t i = first; i < n; i++)
        output->ring[(output->taken + (int64_t)i) % HOOK_OUTPUT_BYTES] = bytes[i];
    output->taken += (int64_t)n;
}

/* At most one full pipe at a time, so that a command that prints without end is still ended in time. */
static void take_all(HookOutput *output)
{
    char bytes[OUTPUT_CHUNK];
    for (int i = 0; i < 16; i++) {
        const ssize_t n = read(output->read_end, bytes, sizeof bytes);
        if (n <= 0)
            return;
        keep_output(output, bytes, (size_t)n);
    }
}

/* Takes what the command has printed, waiting for it at most wait_ms milliseconds. */
static void hook_output_take(HookOutput *output, int wait_ms)
{
    struct pollfd ready = { .fd = output->read_end, .events = POLLIN };
    if (poll(&ready, 1, wait_ms) <= 0)
        return;
    if (ready.revents & POLLIN)
        take_all(output);
    else
        g_usleep((gulong)wait_ms * 1000); /* the command has closed its output */
}

/* Takes what is left, and writes the end of the output into the log. */
static void hook_output_free(HookOutput *output)
{
    take_all(output);
    const int64_t rest = MAX(output->taken - HOOK_OUTPUT_BYTES, 0), kept = MIN(rest, HOOK_OUTPUT_BYTES),
                  start = (output->taken - kept) % HOOK_OUTPUT_BYTES,
                  before_wrap = MIN(kept, HOOK_OUTPUT_BYTES - start);
    if (rest > kept) {
        g_autofree char *line = g_strdup_printf("\n[%" PRId64 " bytes left out]\n", rest - kept);
        put_output(output, line, strlen(line));
    }
    if (kept > 0) {
        put_output(output, output->ring + start, (size_t)before_wrap);
        put_output(output, output->ring, (size_t)(kept - before_wrap));
    }
    if (output->read_end >= 0)
        close(output->read_end);
    g_free(output->ring);
    g_free(output);
}

/* ---- one command ---- */

/* mark: the name of a variable that all processes of the attempt inherit. */
static char **environment(const Hooks *hooks, const Call *call, const char *mark)
{
    g_autofree char *step = g_strdup_printf("%" PRId64, call->step), *self = g_file_read_link("/proc/self/exe", NULL);
    char **env = comm_launch_forget(g_get_environ());
    env = g_environ_setenv(env, "LOAM_EVENT", names[call->kind], TRUE);
    env = g_environ_setenv(env, "LOAM_RUN", hooks->dir, TRUE);
    env = g_environ_setenv(env, "LOAM_PATH", call->path, TRUE);
    env = g_environ_setenv(env, "LOAM_STEP", step, TRUE);
    env = g_environ_setenv(env, "LOAM_MESSAGE", call->message, TRUE);
    env = g_environ_setenv(env, mark, "1", TRUE);
    env = g_environ_setenv(env, "LOAM", self ? self : "loam", TRUE);
    return g_environ_unsetenv(env, "LOAM_FAULT"); /* LOAM_FAULT is meant for the run, not for commands */
}

/* Starts `sh -c COMMAND` in a process group of its own, with no blocked signals and without this process's open files;
 * its output goes to the descriptor `output`. Returns an errno, 0 on success. */
static int start_hook(const Hooks *hooks, const Call *call, const char *mark, int output, pid_t *pid)
{
    const char *command = command_of(hooks, call->kind);
    char *argv[] = { (char *)(uintptr_t) "sh", (char *)(uintptr_t) "-c", (char *)(uintptr_t)command, NULL };
    g_auto(GStrv) env = environment(hooks, call, mark);
    posix_spawn_file_actions_t files;
    posix_spawnattr_t how;
    sigset_t none, all;
    sigemptyset(&none);
    sigfillset(&all);
    posix_spawn_file_actions_init(&files);
    posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_adddup2(&files, output, STDOUT_FILENO);
    posix_spawn_file_actions_adddup2(&files, STDOUT_FILENO, STDERR_FILENO);
    posix_spawn_file_actions_addclosefrom_np(&files, STDERR_FILENO + 1);
    posix_spawnattr_init(&how);
    posix_spawnattr_setflags(&how, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
    posix_spawnattr_setpgroup(&how, 0);
    posix_spawnattr_setsigmask(&how, &none);
    posix_spawnattr_setsigdefault(&how, &all);
    const int problem = posix_spawn(pid, "/bin/sh", &files, &how, argv, env);
    posix_spawnattr_destroy(&how);
    posix_spawn_file_actions_destroy(&files);
    return problem;
}

/* The earlier one of `latest` and the time at which a command of this kind must have ended because the run ends:
 * on_stop has all of hooks.timeout, however long the commands before it took. A second Ctrl-C ends them all now. */
static double end_of(Hooks *hooks, HookKind kind, double latest)
{
    G_GNUC_UNUSED g_autoptr(GMutexLocker) held = g_mutex_locker_new(&hooks->mutex);
    return stop_hurries() ? 0 : hooks->closing && kind != HOOK_STOP ? fmin(latest, hooks->end) : latest;
}

static bool is_marked(pid_t pid, const void *mark)
{
    g_autofree char *path = g_strdup_printf("/proc/%d/environ", (int)pid), *text = NULL;
    gsize bytes;
    if (!g_file_get_contents(path, &text, &bytes, NULL))
        return false;
    const size_t n = strlen(mark);
    for (const char *at = text; at < text + bytes; at += strlen(at) + 1)
        if (strncmp(at, mark, n) == 0 && at[n] == '=')
            return true;
    return false;
}

/* Waits until the command has ended, and logs its output; one that has not ended by `latest` is killed with all its
 * processes. *status: as from waitpid. False if it took too long. */
static bool await(Hooks *hooks, HookKind kind, pid_t pid, HookOutput *output, double latest, int *status)
{
    double killed = INFINITY;
    while (waitpid(pid, status, WNOHANG) == 0) {
        const double now = clock_seconds();
        if (now > end_of(hooks, kind, latest) && killed == INFINITY) {
            kill(-pid, SIGTERM);
            killed = now + GRACE_S;
        }
        if (now > killed)
            kill(-pid, SIGKILL);
        hook_output_take(output, LOOK_US / 1000);
    }
    kill(-pid, SIGKILL); /* kills processes that the command left in its group */
    return killed == INFINITY;
}

/* Runs the command once, until `latest` at most. NULL if it succeeded, else a description of the failure; g_free. */
static char *run_once(Hooks *hooks, const Call *call, double latest)
{
    pid_t pid;
    int status = 0, log = open_log(hooks), write_end;
    char mark[MARK_BYTES];
    HookOutput *output = hook_output_new(log, &write_end);
    g_snprintf(mark, sizeof mark, "LOAM_HOOK_%d_%d", (int)getpid(), hooks->attempts++);
    const int problem = start_hook(hooks, call, mark, write_end, &pid);
    if (write_end >= 0)
        close(write_end);
    const bool in_time = problem || await(hooks, call->kind, pid, output, latest, &status);
    if (!problem)
        processes_kill(is_marked, mark);
    hook_output_free(output);
    if (log >= 0)
        close(log);
    if (problem)
        return g_strdup_printf("it could not be started: %s", g_strerror(problem));
    if (!in_time)
        return g_strdup(stop_hurries() ? "it was ended, as a second Ctrl-C asked for"
                                       : "it took longer than hooks.timeout and was ended");
    if (WIFSIGNALED(status))
        return g_strdup_printf("it was ended by signal %d", WTERMSIG(status));
    return WEXITSTATUS(status) == 0 ? NULL : g_strdup_printf("exit status %d", WEXITSTATUS(status));
}

/* Waits before the next attempt. False if there is no time for one before `latest` or the run's end. */
static bool pause_before(Hooks *hooks, HookKind kind, int attempt, double latest)
{
    const double until = clock_seconds() + fmin(LONGEST_WAIT_S, exp2(attempt - 1));
    while (clock_seconds() < fmin(until, end_of(hooks, kind, latest)))
        g_usleep(LOOK_US);
    return clock_seconds() < end_of(hooks, kind, latest);
}

/* Logs a call that failed and keeps the message for hooks_problem. */
static void note_problem(Hooks *hooks, char *problem)
{
    log_warning("%s", problem);
    G_GNUC_UNUSED g_autoptr(GMutexLocker) held = g_mutex_locker_new(&hooks->mutex);
    g_ptr_array_add(hooks->problems, problem);
}

/* "once", "2 times". g_free. */
static char *times(int n)
{
    return n == 1 ? g_strdup("once") : g_strdup_printf("%d times", n);
}

static void run_call(Hooks *hooks, const Call *call)
{
    const double began = clock_seconds(), timeout = hooks->config->timeout.value,
                 all =
                     timeout > 0 && call->kind == HOOK_STOP ? began + timeout : INFINITY; /* end of all its attempts */
    if (began > end_of(hooks, call->kind, INFINITY)) {
        note_problem(hooks,
                     g_strdup_printf("hooks.%s of step %" PRId64 " is left out: %s", names[call->kind], call->step,
                                     stop_hurries() ? "a second Ctrl-C ends the run now"
                                                    : "the hooks before it took hooks.timeout"));
        return;
    }
    for (int attempt = 1;; attempt++) {
        const double latest = timeout > 0 ? fmin(all, clock_seconds() + timeout) : INFINITY;
        g_autofree char *problem = run_once(hooks, call, latest);
        g_autofree char *text = g_strdup_printf("%s after %.1fs", problem ? problem : "done", clock_seconds() - began);
        note(hooks, call, text);
        if (problem == NULL)
            return;
        if (attempt > hooks->config->retries || !pause_before(hooks, call->kind, attempt, all)) {
            g_autofree char *how_often = times(attempt);
            note_problem(hooks, g_strdup_printf("hooks.%s of step %" PRId64
                                                " failed %s (%s); its output is in the run's hooks.log",
                                                names[call->kind], call->step, how_often, problem));
            return;
        }
    }
}

/* ---- the thread ---- */

static void *work_hooks(void *context)
{
    Hooks *hooks = context;
    g_mutex_lock(&hooks->mutex);
    for (;;) {
        Call *call = g_queue_pop_head(&hooks->calls);
        if (call == NULL && hooks->closing)
            break;
        if (call == NULL) {
            g_cond_wait(&hooks->changed, &hooks->mutex);
            continue;
        }
        hooks->waiting[call->kind] = -1;
        hooks->running = call->step;
        g_mutex_unlock(&hooks->mutex);
        run_call(hooks, call);
        call_free(call);
        g_mutex_lock(&hooks->mutex);
        hooks->running = -1;
    }
    g_mutex_unlock(&hooks->mutex);
    return NULL;
}

static Hooks *hooks_open(const HooksConfig *config, const char *dir)
{
    Hooks *hooks = g_new0(Hooks, 1);
    hooks->config = config;
    hooks->dir = g_canonicalize_filename(dir, NULL);
    hooks->log = g_build_filename(hooks->dir, "hooks.log", NULL);
    hooks->folder = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    for (int kind = 0; kind < HOOKS; kind++)
        hooks->waiting[kind] = -1;
    hooks->running = -1;
    hooks->problems = g_ptr_array_new_with_free_func(g_free);
    g_queue_init(&hooks->calls);
    g_mutex_init(&hooks->mutex);
    g_cond_init(&hooks->changed);
    hooks->thread = g_thread_new("hooks", work_hooks, hooks);
    return hooks;
}

/* The place in the queue of the call of this kind; NULL means none. The caller holds the mutex. */
static GList *find_waiting(const Hooks *hooks, HookKind kind)
{
    GList *link = hooks->calls.head;
    while (link && ((const Call *)link->data)->kind != kind)
        link = link->next;
    return link;
}

/* Queues the command of `kind`, if there is one, to run after those before it. path: the checkpoint, or NULL for the
 * run directory. message: what happened. If the last call of this kind has not begun yet, it is replaced in its place,
 * so that no kind waits for ever behind a slow one. */
static void hooks_call(Hooks *hooks, HookKind kind, int64_t step, const char *path, const char *message)
{
    if (*command_of(hooks, kind) == '\0')
        return;
    Call *call = g_new(Call, 1);
    *call = (Call){ .kind = kind,
                    .step = step,
                    .path = path ? g_canonicalize_filename(path, NULL) : g_strdup(hooks->dir),
                    .message = g_strdup(message) };
    G_GNUC_UNUSED g_autoptr(GMutexLocker) held = g_mutex_locker_new(&hooks->mutex);
    GList *waiting = find_waiting(hooks, kind);
    if (waiting) {
        note(hooks, waiting->data, "left out: the next one came before it began");
        call_free(waiting->data);
        waiting->data = call;
    } else {
        g_queue_push_tail(&hooks->calls, call);
    }
    hooks->waiting[kind] = step;
    g_cond_broadcast(&hooks->changed);
}

/* A message about a call that failed or was left out, the oldest not returned before; g_free. NULL means none. */
static char *hooks_problem(Hooks *hooks)
{
    G_GNUC_UNUSED g_autoptr(GMutexLocker) held = g_mutex_locker_new(&hooks->mutex);
    return hooks->problems->len ? g_ptr_array_steal_index(hooks->problems, 0) : NULL;
}

/* Waits until all queued commands have ended: those before on_stop for at most hooks.timeout in total, then on_stop
 * with its retries for at most hooks.timeout. Afterwards nothing may be queued. */
static void hooks_wait(Hooks *hooks)
{
    const double timeout = hooks->config->timeout.value;
    g_mutex_lock(&hooks->mutex);
    hooks->closing = true;
    hooks->end = timeout > 0 ? clock_seconds() + timeout : INFINITY;
    const bool any = hooks->calls.length > 0 || hooks->running >= 0;
    if (any && timeout > 0)
        log_info("waiting for hooks, at most %.0fs, and as long again for on_stop", timeout);
    else if (any)
        log_info("waiting for hooks");
    g_cond_broadcast(&hooks->changed);
    g_mutex_unlock(&hooks->mutex);
    g_thread_join(hooks->thread);
}

static void hooks_free(Hooks *hooks)
{
    g_ptr_array_unref(hooks->problems);
    g_mutex_clear(&hooks->mutex);
    g_cond_clear(&hooks->changed);
    if (hooks->folder >= 0)
        close(hooks->folder);
    g_free(hooks->dir);
    g_free(hooks->log);
    g_free(hooks);
}

/* ---- the service ---- */

/* The step whose on_best was the last one to succeed, by hooks.log; -1 means none. */
static int64_t last_best(const Hooks *hooks)
{
    g_autofree char *line = NULL;
    size_t capacity = 0;
    int64_t step = -1, done;
    int end = 0;
    FILE *file = fopen(hooks->log, "re");
    for (; file && getline(&line, &capacity, file) > 0; end = 0) {
        sscanf(line, "%*10s %*8s on_best step %" SCNd64 ": done%n", &done, &end);
        step = end > 0 ? done : step;
    }
    if (file)
        fclose(file);
    return step;
}

/* The best checkpoint of a run that goes on, for which on_best has not succeeded: the process was killed before. */
static void call_left_best(Hooks *hooks, const Trainer *t)
{
    const int64_t best = t->state.best_step;
    g_autofree char *folder = run_checkpoint_path(t->config.run.dir, best),
                    *what = g_strdup_printf("step %" PRId64 " saved", best);
    if (best >= 0 && *hooks->config->on_best && g_file_test(folder, G_FILE_TEST_IS_DIR) && last_best(hooks) != best)
        hooks_call(hooks, HOOK_BEST, best, folder, what);
}

static void *hooks_service_open(const Trainer *t, G_GNUC_UNUSED GError **error)
{
    const HooksConfig *config = &t->config.hooks;
    const bool any = *config->on_save || *config->on_best || *config->on_stop || *config->on_alert;
    Hooks *hooks = any && comm_rank(t->mesh.world) == 0 ? hooks_open(config, t->config.run.dir) : NULL;
    if (hooks && t->start.resumed && !trainer_had_ended(t))
        call_left_best(hooks, t);
    return hooks;
}

/* Makes hooks that failed since the last call events of the run. */
static void note_failed(Hooks *hooks, const Trainer *t)
{
    for (char *problem; (problem = hooks_problem(hooks)); g_free(problem))
        services_event(t, problem);
}

static Verdict hooks_service_after_step(void *own, const Trainer *t, G_GNUC_UNUSED GError **error)
{
    note_failed(own, t);
    return VERDICT_GO_ON;
}

static void call_for_save(Hooks *hooks, int64_t step, const SaveRecord *save)
{
    g_autofree char *what = g_strdup_printf("step %" PRId64 "%s%s", step, save->problem ? " was not saved: " : " saved",
                                            save->problem ? save->problem : "");
    hooks_call(hooks, save->problem ? HOOK_ALERT : HOOK_SAVE, step, save->problem ? NULL : save->folder, what);
    if (!save->problem && save->best)
        hooks_call(hooks, HOOK_BEST, step, save->folder, what);
}

static void hooks_service_told(void *own, const LogRecord *record)
{
    if (record->kind == METRIC_SAVE)
        call_for_save(own, record->step, &record->save);
    if (record->kind == METRIC_EVENT && record->event.alert)
        hooks_call(own, HOOK_ALERT, record->step, NULL, record->event.what);
}

/* Checkpoints that a running or queued command needs. */
static void hooks_service_keep(void *own, G_GNUC_UNUSED const Trainer *t, KeptSteps *kept)
{
    Hooks *hooks = own;
    G_GNUC_UNUSED g_autoptr(GMutexLocker) held = g_mutex_locker_new(&hooks->mutex);
    service_keep(kept, hooks->running);
    service_keep(kept, hooks->waiting[HOOK_SAVE]);
    service_keep(kept, hooks->waiting[HOOK_BEST]);
}

/* Runs on_alert after an error, and on_stop, and waits for all hooks. */
static void hooks_service_close(void *own, const Trainer *t, const GError *problem)
{
    const int64_t step = t->state.steps;
    const bool stopped = g_error_matches(problem, LOAM_ERROR, LOAM_ERROR_STOPPED);
    g_autofree char *ended = g_strdup_printf("the run has ended at step %" PRId64, step);
    stop_waits_for_hooks(true); /* a hook that has begun may ask */
    pulse_at(t->pulse, step, 0, "hooks");
    if (problem && !stopped)
        hooks_call(own, HOOK_ALERT, step, NULL, problem->message);
    if (problem || !t->start.finished)
        hooks_call(own, HOOK_STOP, step, NULL, problem ? problem->message : ended);
    hooks_wait(own);
    stop_waits_for_hooks(false);
    note_failed(own, t);
    hooks_free(own);
}

const Service hooks_service = { .hears_failure = true,
                                .open = hooks_service_open,
                                .after_step = hooks_service_after_step,
                                .told = hooks_service_told,
                                .keep = hooks_service_keep,
                                .close = hooks_service_close };
