#include "train/services/hook_output.h"

#include <errno.h>
#include <fcntl.h>
#include <glib.h>
#include <inttypes.h>
#include <poll.h>
#include <string.h>
#include <unistd.h>

enum { CHUNK = 65536 };

struct HookOutput {
    int log, read_end;
    int64_t taken; /* bytes so far; the first HOOK_OUTPUT_BYTES are in the log */
    char *ring; /* the last bytes: byte i of the output at i % HOOK_OUTPUT_BYTES; NULL until there are more than those
                   of the start */
};

HookOutput *hook_output_new(int log, int *write_end)
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

static void keep(HookOutput *output, const char *bytes, size_t n)
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
    char bytes[CHUNK];
    for (int i = 0; i < 16; i++) {
        const ssize_t n = read(output->read_end, bytes, sizeof bytes);
        if (n <= 0)
            return;
        keep(output, bytes, (size_t)n);
    }
}

void hook_output_take(HookOutput *output, int wait_ms)
{
    struct pollfd ready = { .fd = output->read_end, .events = POLLIN };
    if (poll(&ready, 1, wait_ms) <= 0)
        return;
    if (ready.revents & POLLIN)
        take_all(output);
    else
        g_usleep((gulong)wait_ms * 1000); /* the command has closed its output */
}

void hook_output_free(HookOutput *output)
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
