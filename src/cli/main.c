/* main.c: the program `loam`: runs the verb that the first argument names. */
#include "base/fatal.h"
#include "base/log.h"
#include "base/text.h"
#include "cli/cli.h"
#include "comm/launch.h"
#include "device/device.h"

#include <errno.h>
#include <locale.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#define MOST_THREADS 4096 /* the limit of train.threads too */

/* The exit status of the program: `status`, but 2 if standard output could not be written. */
static int end_program(int status)
{
    errno = 0;
    bool flushed = fflush(stdout) == 0;
    if (status != 0 || (flushed && !ferror(stdout)))
        return status;
    fprintf(stderr, "loam: writing standard output: %s\n", errno ? strerror(errno) : "an earlier write failed");
    return LOAM_ERROR_MACHINE;
}

/* Whether mpirun started several processes and this is not the first one, for a verb that has no ranks: only the first
 * process then works, so that nothing is computed, printed or written twice. The others end without a word, except in a
 * script, whose author may have meant another command for each. */
static bool is_left_to_first(const char *name)
{
    static const char *const alone[] = { "eval", "generate", "predict", "embed", "import", "export", NULL };
    const CommLaunch launch = comm_launch();
    if (!comm_launch_is_mpirun(&launch) || launch.size < 2 || !g_strv_contains(alone, name))
        return false;
    if (launch.rank == 0)
        log_warning("%s started %d processes, and loam %s works in one: the others end", launch.launcher, launch.size,
                    name);
    else if (!comm_launch_is_parent())
        log_warning("rank %d of %s does nothing, since loam %s works in rank 0; for work of its own in each rank of a "
                    "script: env -u %s loam %s …",
                    launch.rank, launch.launcher, name, launch.variable, name);
    return launch.rank > 0;
}

/* Prints the error of a verb (NULL: there is no such verb); returns the exit status. error: NULL means success. */
static int tell_error(const SubVerb *verb, const GError *error)
{
    if (error == NULL)
        return 0;
    g_autofree char *message = text_printable(error->message);
    if (log_speaks())
        fprintf(stderr, "loam%s%s: %s\n", verb ? " " : "", verb ? verb->name : "", message);
    return error_status(error);
}

/* Limits how long OpenMP threads busy-wait for each other at the end of an operation before they sleep. libgomp's
 * default of 300,000 iterations (about 10 ms) makes a step many times slower if other programs use the cores: the
 * waiting thread occupies the core that the awaited thread needs. 1,000 iterations are about 40 µs. libgomp reads
 * GOMP_SPINCOUNT before main, so this sets the variable and executes the program again, unless the user has set it or
 * OMP_WAIT_POLICY. */
static void bound_spinning(char **argv)
{
    if (getenv("OMP_WAIT_POLICY") != NULL || getenv("GOMP_SPINCOUNT") != NULL ||
        setenv("GOMP_SPINCOUNT", "1000", 0) != 0)
        return;
    execv("/proc/self/exe", argv); /* returns only if it fails, as without /proc */
}

/* Fails for more threads than any machine has cores: OpenMP would crash where it starts them. */
static bool check_threads(void)
{
    const char *text = getenv("OMP_NUM_THREADS");
    const gint64 threads = text ? g_ascii_strtoll(text, NULL, 10) : 0;
    if (threads <= MOST_THREADS)
        return true;
    fprintf(stderr, "loam: OMP_NUM_THREADS=%s: at most %d compute threads are possible\n", text, MOST_THREADS);
    return false;
}

int main(int argc, char **argv)
{
    if (!check_threads())
        return LOAM_ERROR_USER;
    setenv("HWLOC_HIDE_ERRORS", "2", 0); /* hwloc's page of text about a machine that describes itself wrongly */
    bound_spinning(argv);
    prctl(PR_SET_NAME, "loam"); /* as pgrep and top show it; that exec has named it "exe" */
    fatal_install();
    setlocale(LC_CTYPE, "C.UTF-8"); /* text is UTF-8; LC_NUMERIC stays "C", so the decimal separator is a point */
    const char *problem = device_cpu_problem();
    if (problem) {
        fprintf(stderr, "loam: %s\n", problem);
        return end_program(LOAM_ERROR_USER);
    }
    if (argc < 2 || strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0) {
        cli_print_verbs(argc < 2 ? stderr : stdout);
        return end_program(argc < 2 ? LOAM_ERROR_USER : 0);
    }
    if (strcmp(argv[1], "--version") == 0) {
        printf("loam %s\n", LOAM_VERSION);
        return end_program(0);
    }
    g_autoptr(GError) error = NULL;
    const SubVerb *verb = cli_find_verb(argv[1]);
    if (verb == NULL)
        cli_fail_unknown_verb(argv[1], &error);
    else if (!is_left_to_first(argv[1]))
        verb->run(argc - 1, argv + 1, &error);
    return end_program(tell_error(verb, error));
}
