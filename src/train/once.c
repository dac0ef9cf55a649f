#include "train/trainer.h"

#include "base/machine.h"
#include "comm/monitor.h"

#include <string.h>
#include <sys/stat.h>

#define LOOK_S 0.25 /* seconds between two signs that a rank gives while it computes */

typedef struct Key {
    char text[ONCE_KEY];
} Key;

/* A call of a function in a thread of its own. */
typedef struct Call {
    OnceFn fn;
    const void *context;
    uint64_t value;
    Monitor monitor; /* protects `done` */
    bool done;
} Call;

static void *make_call(void *argument)
{
    Call *call = argument;
    call->value = call->fn(call->context);
    monitor_enter(&call->monitor);
    call->done = true;
    monitor_wake(&call->monitor);
    monitor_leave(&call->monitor);
    return NULL;
}

/* Waits for at most LOOK_S seconds; returns whether the call has ended. */
static bool call_ended(Call *call)
{
    const double end = clock_seconds() + LOOK_S;
    monitor_enter(&call->monitor);
    while (!call->done && monitor_wait_until(&call->monitor, end))
        ;
    const bool done = call->done;
    monitor_leave(&call->monitor);
    return done;
}

/* Returns fn(context), or 0 on a rank that does not call it. Every rank hears again and again of those that do, since
 * the call may take longer than the group's timeout. */
static uint64_t call_beside(Comm *ranks, bool calls, OnceFn fn, const void *context)
{
    Call call = { .fn = fn, .context = context, .done = !calls };
    monitor_init(&call.monitor);
    GThread *thread = calls ? g_thread_new("once", make_call, &call) : NULL;
    while (comm_max(ranks, !call_ended(&call)) > 0 && comm_check(ranks, NULL))
        ;
    if (thread)
        g_thread_join(thread);
    monitor_clear(&call.monitor);
    return call.value;
}

uint64_t ranks_once(Comm *ranks, const char *key, OnceFn fn, const void *context)
{
    const int size = comm_size(ranks), rank = comm_rank(ranks);
    g_autofree Key *keys = g_new0(Key, size);
    g_autofree uint64_t *values = g_new0(uint64_t, size);
    Key own = { 0 };
    int first = 0;
    g_strlcpy(own.text, key, ONCE_KEY);
    comm_share(ranks, keys, &own, sizeof own);
    while (first < rank && (*key == '\0' || memcmp(keys[first].text, own.text, ONCE_KEY) != 0))
        first++;
    const uint64_t value = call_beside(ranks, first == rank, fn, context);
    comm_share(ranks, values, &value, sizeof value);
    return values[first];
}

void once_key_of_path(char key[ONCE_KEY], const char *path)
{
    struct stat status;
    char boot[MACHINE_BOOT_ID];
    machine_boot_id(boot);
    *key = '\0';
    if (*boot && stat(path, &status) == 0)
        g_snprintf(key, ONCE_KEY, "%s %" PRIu64 " %" PRIu64, boot, (uint64_t)status.st_dev, (uint64_t)status.st_ino);
}
