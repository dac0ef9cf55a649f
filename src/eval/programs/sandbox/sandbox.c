#include "eval/programs/sandbox/sandbox.h"

#include "base/file.h"
#include "base/processes.h"
#include "eval/programs/sandbox/inside.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

const SandboxLimits sandbox_limits_default = {
    .wall_s = 10,
    .cpu_s = 10,
    .memory_bytes = INT64_C(2) << 30,
    .processes = 16,
    .open_files = 64,
    .file_bytes = INT64_C(32) << 20,
    .folder_bytes = INT64_C(64) << 20,
    .output_bytes = INT64_C(1) << 20,
};

#define NAMESPACES                                                                                                     \
    (CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWNET | CLONE_NEWIPC | CLONE_NEWUTS | CLONE_NEWCGROUP)

enum { OUT, ERR, REPORT_END, N_READ };

/* A program that runs. */
typedef struct Run {
    Inside inside;
    SandboxResult *result;
    int reads[N_READ], writes[N_READ]; /* pipes; -1 means closed */
    int go[2];                         /* pipe that ends when this process ends */
    pid_t child;
    gint64 start; /* g_get_monotonic_time() */
    Report report;
    size_t n_report; /* bytes read of it */
} Run;

/* ---- paths that the program sees ---- */

static bool is_shown(const Inside *inside, const char *path)
{
    for (int i = 0; i < inside->n_shown; i++) {
        const Shown *shown = &inside->shown[i];
        const size_t n = strlen(shown->path);
        if (strncmp(path, shown->path, n) == 0 && (path[n] == '/' || path[n] == '\0'))
            return true;
    }
    return false;
}

static void show_path(Inside *inside, const char *path)
{
    struct stat found;
    if (inside->n_shown == SANDBOX_MAX_SHOWN || is_shown(inside, path) || lstat(path, &found) != 0)
        return;
    inside->shown[inside->n_shown++] = (Shown){
        .path = g_strdup(path),
        .link = S_ISLNK(found.st_mode) ? g_file_read_link(path, NULL) : NULL,
        .folder = S_ISDIR(found.st_mode),
    };
}

static void show_all(Inside *inside, const char *const *more)
{
    static const char *const paths[] = { "/usr",
                                         "/bin",
                                         "/sbin",
                                         "/lib",
                                         "/lib32",
                                         "/lib64",
                                         "/libx32",
                                         "/etc/alternatives",
                                         "/etc/ld.so.cache",
                                         "/dev/null",
                                         "/dev/zero",
                                         "/dev/urandom" };
    for (size_t i = 0; i < G_N_ELEMENTS(paths); i++)
        show_path(inside, paths[i]);
    for (; more && *more; more++) {
        g_autofree char *resolved = realpath(*more, NULL); /* if a folder is a symbolic link, its target is shown too */
        show_path(inside, *more);
        if (resolved)
            show_path(inside, resolved);
    }
}

static char **make_environment(const char *folder)
{
    g_autofree char *all = g_strdup_printf("PATH=/usr/local/bin:/usr/bin:/bin\nLANG=C.UTF-8\nLC_ALL=C.UTF-8\n"
                                           "OMP_NUM_THREADS=1\nOPENBLAS_NUM_THREADS=1\nPYTHONDONTWRITEBYTECODE=1\n"
                                           "PYTHONHASHSEED=0\nHOME=%s\nTMPDIR=%s",
                                           folder, folder);
    return g_strsplit(all, "\n", -1);
}

/* ---- opening and closing ---- */

static void close_end(int *end)
{
    if (*end >= 0)
        close(*end);
    *end = -1;
}

static bool open_input(Run *run, const SandboxJob *job, GError **error)
{
    size_t done = 0;
    run->inside.input = memfd_create("input", MFD_CLOEXEC);
    if (run->inside.input < 0)
        return fail_errno(error, "making", "a file in memory");
    for (ssize_t n = 0; done < job->n_input; done += (size_t)n)
        if ((n = write(run->inside.input, job->input + done, job->n_input - done)) <= 0)
            return fail_errno(error, "writing", "a file in memory");
    return lseek(run->inside.input, 0, SEEK_SET) == 0 || fail_errno(error, "reading", "a file in memory");
}

static bool open_pipes(Run *run, GError **error)
{
    for (int i = 0; i < N_READ; i++) {
        int ends[2];
        if (pipe2(ends, O_CLOEXEC) != 0)
            return fail_errno(error, "making", "a pipe");
        run->reads[i] = ends[0];
        run->writes[i] = ends[1];
        if (fcntl(ends[0], F_SETFL, O_NONBLOCK) != 0)
            return fail_errno(error, "setting", "a pipe");
    }
    run->inside.out = run->writes[OUT];
    run->inside.err = run->writes[ERR];
    run->inside.report = run->writes[REPORT_END];
    return pipe2(run->go, O_CLOEXEC) == 0 || fail_errno(error, "making", "a pipe");
}

static bool prepare_sandbox(Run *run, const SandboxJob *job, GError **error)
{
    Inside *inside = &run->inside;
    inside->job = job;
    if (!(inside->filter = sandbox_filter(error)))
        return false;
    if (job->unsafe && !(inside->folder = g_dir_make_tmp("loam-program-XXXXXX", error))) {
        if (error)
            (*error)->domain = LOAM_ERROR, (*error)->code = LOAM_ERROR_MACHINE;
        return false;
    }
    inside->env = make_environment(job->unsafe ? inside->folder : SANDBOX_FOLDER);
    if (!job->unsafe)
        show_all(inside, job->shown);
    g_snprintf(inside->folder_options, sizeof inside->folder_options,
               "size=%" G_GINT64_FORMAT ",nr_inodes=4096,mode=700", job->limits.folder_bytes);
    if (!open_input(run, job, error) || !open_pipes(run, error))
        return false;
    inside->parent = run->go[0];
    return true;
}

static void finish_sandbox(Run *run)
{
    Inside *inside = &run->inside;
    for (int i = 0; i < inside->n_shown; i++) {
        g_free(inside->shown[i].path);
        g_free(inside->shown[i].link);
    }
    for (int i = 0; i < N_READ; i++) {
        close_end(&run->reads[i]);
        close_end(&run->writes[i]);
    }
    close_end(&run->go[0]);
    close_end(&run->go[1]);
    close_end(&inside->input);
    g_strfreev(inside->env);
    if (inside->folder)
        io_remove_tree(inside->folder, NULL);
    g_free(inside->folder);
}

/* ---- the child ---- */

static bool write_map(pid_t child, const char *name, const char *text)
{
    g_autofree char *path = g_strdup_printf("/proc/%d/%s", (int)child, name);
    const int file = open(path, O_WRONLY | O_CLOEXEC);
    const bool done = file >= 0 && write(file, text, strlen(text)) == (ssize_t)strlen(text);
    const int problem = errno;
    if (file >= 0)
        close(file);
    errno = problem;
    return done;
}

/* Maps the id inside the sandbox to an id that owns nothing outside, if this process may, otherwise to its own id. */
static bool map_ids(Run *run, char *ids)
{
    g_autofree char *nobody = g_strdup_printf("%d %d 1\n", SANDBOX_ID, SANDBOX_ID),
                    *user = g_strdup_printf("%d %u 1\n", SANDBOX_ID, (unsigned)geteuid()),
                    *group = g_strdup_printf("%d %u 1\n", SANDBOX_ID, (unsigned)getegid());
    *ids = geteuid() == 0 && write_map(run->child, "uid_map", nobody) ? IDS_NOBODY : IDS_USER;
    if (*ids == IDS_NOBODY)
        return write_map(run->child, "gid_map", nobody);
    return write_map(run->child, "uid_map", user) && write_map(run->child, "setgroups", "deny") &&
           write_map(run->child, "gid_map", group);
}

#define ADVICE                                                                                                         \
    "; programs run only in a sandbox of user namespaces: allow them (sysctl kernel.unprivileged_userns_clone=1, "     \
    "user.max_user_namespaces=10000, kernel.apparmor_restrict_unprivileged_userns=0; in a container: --privileged), "  \
    "or run them unprotected with --unsafe-no-sandbox"

static bool fail_step(GError **error, const char *step, int problem, bool advise)
{
    return fail_machine(error, "no sandbox: %s: %s%s", step, g_strerror(problem), advise ? ADVICE : "");
}

static bool start_sandbox(Run *run, GError **error)
{
    const bool unsafe = run->inside.job->unsafe;
    char ids;
    run->start = g_get_monotonic_time();
    run->child = (pid_t)syscall(SYS_clone, (unsafe ? 0 : NAMESPACES) | SIGCHLD, 0, 0, 0, 0);
    if (run->child == 0)
        sandbox_inside(&run->inside);
    if (run->child < 0)
        return fail_step(error, "making namespaces", errno, !unsafe);
    for (int i = 0; i < N_READ; i++)
        close_end(&run->writes[i]);
    close_end(&run->go[0]);
    if (!unsafe && !map_ids(run, &ids))
        return fail_step(error, "mapping user ids", errno, true);
    return unsafe || write(run->go[1], &ids, 1) == 1 || fail_step(error, "starting", errno, false);
}

/* Kills all processes of the sandbox and waits for their end. */
static void stop(Run *run)
{
    const bool unsafe = run->inside.job->unsafe;
    int status;
    if (run->child <= 0)
        return;
    if (unsafe)
        processes_kill(processes_descend, &run->child);
    kill(run->child, SIGKILL);
    while (waitpid(run->child, &status, 0) < 0 && errno == EINTR)
        ;
    run->child = 0;
}

/* Appends the bytes in a pipe; false if there are more than `most`. */
static bool read_some(int *end, GString *out, int64_t most)
{
    char buffer[1 << 14];
    for (ssize_t n; *end >= 0;) {
        n = read(*end, buffer, sizeof buffer);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return true;
        if (n == 0)
            close_end(end);
        const gsize room = (gsize)most - out->len, take = MIN((gsize)n, room);
        g_string_append_len(out, buffer, (gssize)take);
        if ((gsize)n > room)
            return false;
    }
    return true;
}

static bool read_output(Run *run)
{
    const int64_t most = run->inside.job->limits.output_bytes;
    const bool out = read_some(&run->reads[OUT], run->result->out, most);
    return read_some(&run->reads[ERR], run->result->err, most) && out;
}

/* Reads the report; true when it is complete or will not come. */
static bool read_report(Run *run)
{
    char *into = (char *)&run->report;
    const ssize_t n = read(run->reads[REPORT_END], into + run->n_report, sizeof run->report - run->n_report);
    if (n > 0)
        run->n_report += (size_t)n;
    return n == 0 || run->n_report == sizeof run->report;
}

/* Reads the program's output until it ends or exceeds a limit. */
static SandboxEnd watch_sandbox(Run *run)
{
    const gint64 end = run->start + (gint64)(run->inside.job->limits.wall_s * G_USEC_PER_SEC);
    while (true) {
        struct pollfd ends[N_READ];
        for (int i = 0; i < N_READ; i++)
            ends[i] = (struct pollfd){ .fd = run->reads[i], .events = POLLIN };
        const gint64 left = end - g_get_monotonic_time();
        if (left <= 0)
            return SANDBOX_TIME;
        poll(ends, N_READ, (int)MIN(left / 1000 + 1, 60000));
        if (!read_output(run))
            return SANDBOX_OUTPUT;
        if (ends[REPORT_END].revents && read_report(run))
            return SANDBOX_EXITED;
    }
}

static bool take_result(Run *run, SandboxEnd end, GError **error)
{
    SandboxResult *result = run->result;
    const Report *report = &run->report;
    const bool killed = run->n_report < sizeof *report; /* with process 1, by the machine: its memory is full */
    result->wall_s = (double)(g_get_monotonic_time() - run->start) / G_USEC_PER_SEC;
    result->end = end;
    if (end != SANDBOX_EXITED)
        return true;
    if (!killed && report->error) {
        g_autofree char *step = g_strndup(report->step, sizeof report->step);
        return fail_step(error, step, report->error, !g_str_has_prefix(step, "starting "));
    }
    const int status = killed ? SIGKILL : report->wait_status; /* of waitpid(): by that signal */
    if (WIFSIGNALED(status))
        result->end = SANDBOX_KILLED;
    result->status = WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status);
    return true;
}

bool sandbox_run(SandboxResult *out, const SandboxJob *job, GError **error)
{
    Run run = { .inside.input = -1, .result = out, .go = { -1, -1 } };
    for (int i = 0; i < N_READ; i++)
        run.reads[i] = run.writes[i] = -1;
    *out = (SandboxResult){ .out = g_string_new(NULL), .err = g_string_new(NULL) };
    bool good = prepare_sandbox(&run, job, error) && start_sandbox(&run, error);
    const SandboxEnd end = good ? watch_sandbox(&run) : SANDBOX_EXITED;
    stop(&run);
    if (good && end == SANDBOX_EXITED)
        read_output(&run);
    good = good && take_result(&run, end, error);
    finish_sandbox(&run);
    if (!good)
        sandbox_result_clear(out);
    return good;
}

void sandbox_result_clear(SandboxResult *result)
{
    if (result->out)
        g_string_free(g_steal_pointer(&result->out), true);
    if (result->err)
        g_string_free(g_steal_pointer(&result->err), true);
}
