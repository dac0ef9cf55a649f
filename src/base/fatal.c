#include "base/fatal.h"

#include <fcntl.h>
#include <glib.h>
#include <jansson.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define STATUS      2 /* LOAM_ERROR_MACHINE */
#define STACK_BYTES (64 << 10)
#define ROOM_BYTES  (1 << 20) /* if so much cannot be mapped, the machine is out of memory */

/* Writes to standard error without allocating memory. */
static void say(const char *text)
{
    (void)!write(STDERR_FILENO, text, strlen(text));
}

void fatal_memory(const char *what)
{
    say("loam: no memory for ");
    say(what);
    say(": the machine, or a limit (ulimit -v, a container's), refused it; `loam plan` says what a run needs\n");
    quick_exit(STATUS);
}

/* GLib logs an error, which ends the program, when memory or a thread is refused. */
static void end_with_message(const gchar *domain, GLogLevelFlags level, const gchar *message, gpointer data)
{
    static const char refused[] = "failed to allocate ";
    const char *what = strstr(message, refused);
    if (!(level & G_LOG_LEVEL_ERROR)) {
        g_log_default_handler(domain, level, message, data);
        return;
    }
    if (what)
        fatal_memory(what + strlen(refused));
    say("loam: ");
    say(message);
    say("\n");
    quick_exit(STATUS);
}

/* Writes the path of the file that is mapped at an address, by /proc/self/maps. */
static void say_mapped_file(uintptr_t address)
{
    static char line[4096 + 256];
    size_t used = 0;
    int file = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
    char c;
    while (file >= 0 && read(file, &c, 1) == 1) {
        if (c != '\n') {
            line[used] = c;
            used += used < sizeof line - 1;
            continue;
        }
        line[used] = '\0';
        used = 0;
        char *end;
        uintptr_t first = strtoul(line, &end, 16), last = *end == '-' ? strtoul(end + 1, NULL, 16) : 0;
        const char *path = strchr(line, '/');
        if (address >= first && address < last) {
            say(path ? path : "memory");
            return;
        }
    }
    say("a mapped file");
}

static void on_bus_error(G_GNUC_UNUSED int number, siginfo_t *info, G_GNUC_UNUSED void *context)
{
    say("loam: ");
    say_mapped_file((uintptr_t)info->si_addr);
    say(": cannot be read any more: it was cut short while it was in use, or its disk fails\n");
    quick_exit(STATUS);
}

/* Without this jansson would report JSON text as malformed when memory is refused. */
static void *json_memory(size_t bytes)
{
    void *memory = malloc(bytes);
    if (!memory)
        fatal_memory("the values of a JSON text");
    return memory;
}

/* ---- a crash for lack of memory ---- */

/* What libraries do that do not expect a refusal: they abort or access address 0. */
static const int crashes[] = { SIGSEGV, SIGABRT };
static struct sigaction before[sizeof crashes / sizeof *crashes];

static bool memory_is_refused(void)
{
    void *room = mmap(NULL, ROOM_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (room == MAP_FAILED)
        return true;
    munmap(room, ROOM_BYTES);
    return false;
}

/* Crashes with memory left take their usual course: the handler that was there before is put back. */
static void on_crash(int number)
{
    if (memory_is_refused())
        fatal_memory("a library, which crashed");
    for (size_t i = 0; i < sizeof crashes / sizeof *crashes; i++)
        if (crashes[i] == number)
            sigaction(number, &before[i], NULL);
    if (number != SIGSEGV) /* a SIGSEGV happens again at the same instruction */
        raise(number);
}

static void watch_crashes(void)
{
    static char stack[STACK_BYTES]; /* the thread's own stack may be full */
    const stack_t other = { .ss_sp = stack, .ss_size = sizeof stack };
    const struct sigaction action = { .sa_handler = on_crash, .sa_flags = SA_ONSTACK };
    sigaltstack(&other, NULL);
    for (size_t i = 0; i < sizeof crashes / sizeof *crashes; i++)
        sigaction(crashes[i], &action, &before[i]);
}

void fatal_install(void)
{
    struct sigaction bus = { .sa_sigaction = on_bus_error, .sa_flags = SA_SIGINFO };
    sigaction(SIGBUS, &bus, NULL);
    signal(SIGXFSZ, SIG_IGN);
    g_log_set_default_handler(end_with_message, NULL);
    json_set_alloc_funcs(json_memory, free);
    watch_crashes();
}
