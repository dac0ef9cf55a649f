#include "base/fault.h"

#include "base/error.h"

#include <fcntl.h>
#include <jansson.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define STACK_BYTES (64 << 10)
#define ROOM_BYTES  (1 << 20) /* a system that has not this much left refuses memory */
#define MAPS_BYTES  4096      /* of /proc/self/maps, read at a time */

static const char *program = "";

/* Nothing is allocated: there may be no memory. */
static void end(const char *what, const char *detail)
{
    const char *parts[] = { "loam ", program, ": ", what, detail, "\n" };
    char line[1024];
    size_t n = 0;
    for (size_t i = 0; i < G_N_ELEMENTS(parts); i++)
        for (const char *c = parts[i]; *c && n < sizeof line - 1; c++)
            line[n++] = *c;
    line[n - 1] = '\n';
    if (write(STDERR_FILENO, line, n) < 0)
        _exit(LOAM_ERROR_MACHINE);
    quick_exit(LOAM_ERROR_MACHINE);
}

#define REFUSED "the system refuses memory or a thread (ulimit -v, ulimit -u?): "

/* jansson would call a text malformed whose values find no memory. */
static void *json_memory(size_t bytes)
{
    void *memory = malloc(bytes);
    if (!memory)
        end(REFUSED, "failed to allocate the values of a JSON text");
    return memory;
}

/* GLib's last words, such as "gmem.c:136: failed to allocate 1024 bytes". */
static void on_log(const char *domain, GLogLevelFlags level, const char *message, gpointer context)
{
    const char *reason = message ? strstr(message, "failed to allocate") : NULL;
    if (!(level & G_LOG_FLAG_FATAL))
        g_log_default_handler(domain, level, message, context);
    else
        end(REFUSED, reason ? reason : message);
}

/* The file whose mapping holds an address, as a line of /proc/self/maps tells: "from-to rights offset device inode
 * path". */
static bool holds(const char *line, uintptr_t at, const char **path)
{
    char *dash;
    uintptr_t from = strtoul(line, &dash, 16), to = *dash == '-' ? strtoul(dash + 1, NULL, 16) : 0;
    *path = strchr(line, '/');
    return at >= from && at < to && *path;
}

/* `line` keeps what is found. */
static const char *mapped_file(uintptr_t at, char line[MAPS_BYTES])
{
    char chunk[MAPS_BYTES];
    const char *path;
    int maps = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
    size_t n = 0;
    for (ssize_t got; maps >= 0 && (got = read(maps, chunk, sizeof chunk)) > 0;)
        for (ssize_t i = 0; i < got; i++) {
            bool ends = chunk[i] == '\n';
            if (n < MAPS_BYTES - 1 || ends)
                line[n++] = ends ? '\0' : chunk[i];
            if (ends && holds(line, at, &path))
                return path;
            n = ends ? 0 : n;
        }
    return "its name is not known";
}

static void on_bus_error(G_GNUC_UNUSED int number, siginfo_t *info, G_GNUC_UNUSED void *context)
{
    char line[MAPS_BYTES];
    end("a file was cut while it was in use, or its disk fails: ", mapped_file((uintptr_t)info->si_addr, line));
}

/* ---- a crash for want of memory ---- */

/* Libraries that do not expect a refusal abort, touch address 0, or call themselves until the stack is full. */
static const int crashes[] = { SIGSEGV, SIGABRT, SIGTRAP };
static struct sigaction before[G_N_ELEMENTS(crashes)];

static bool memory_is_refused(void)
{
    void *room = mmap(NULL, ROOM_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (room == MAP_FAILED)
        return true;
    munmap(room, ROOM_BYTES);
    return false;
}

/* Any other crash happens again, as if this were not here. */
static void on_crash(int number)
{
    if (memory_is_refused())
        end(REFUSED, "a library failed for want of it");
    for (size_t i = 0; i < G_N_ELEMENTS(crashes); i++)
        if (crashes[i] == number)
            sigaction(number, &before[i], NULL);
    if (number != SIGSEGV) /* a fault repeats itself */
        raise(number);
}

static void watch_crashes(void)
{
    static char stack[STACK_BYTES]; /* the usual one may be full */
    const stack_t other = { .ss_sp = stack, .ss_size = sizeof stack };
    const struct sigaction action = { .sa_handler = on_crash, .sa_flags = SA_ONSTACK };
    sigaltstack(&other, NULL);
    for (size_t i = 0; i < G_N_ELEMENTS(crashes); i++)
        sigaction(crashes[i], &action, &before[i]);
}

void fault_install(const char *name)
{
    struct sigaction action = { .sa_sigaction = on_bus_error, .sa_flags = SA_SIGINFO };
    program = name;
    g_log_set_default_handler(on_log, NULL);
    json_set_alloc_funcs(json_memory, free);
    sigaction(SIGBUS, &action, NULL);
    watch_crashes();
}
