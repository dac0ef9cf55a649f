#include "device/profile.h"

#include "base/check.h"
#include "base/clock.h"
#include "base/fatal.h"
#include "device/operand.h"

void profile_clear(Profile *profile)
{
    free(profile->events);
    *profile = (Profile){ 0 };
}

static void add_op_row(Profile *profile, const char *op, double seconds)
{
    int i = 0;
    while (i < profile->n &&
           profile->rows[i].op != op) /* names are compared by address: each is one string literal of ops.c */
        i++;
    CHECK(i < PROFILE_OPS, "more than %d operations", PROFILE_OPS);
    if (i == profile->n) {
        profile->n++;
        profile->rows[i].op = op;
    }
    profile->last = i;
    profile->rows[i].seconds += seconds;
    profile->rows[i].calls++;
}

static ProfileEvent *add_op_event(Profile *profile)
{
    if (profile->n_events == profile->capacity) {
        profile->capacity = profile->capacity ? 2 * profile->capacity : 256;
        profile->events = realloc(profile->events, profile->capacity * sizeof *profile->events);
        if (profile->events == NULL)
            fatal_memory("a trace");
    }
    return &profile->events[profile->n_events++];
}

/* Tensors that do not fit in the buffer are left out. */
void profile_shapes(char to[PROFILE_SHAPES], const Operand *operands, int n)
{
    size_t used = 0;
    *to = 0;
    for (int i = 0; i < n; i++) {
        const Tensor *t = &operands[i].t;
        char text[80], size[48];
        if (!tensor_present(*t))
            continue;
        if (t->rank == 2)
            snprintf(size, sizeof size, "%lldx%lld", (long long)t->d[0], (long long)t->d[1]);
        else
            snprintf(size, sizeof size, "%lld", (long long)t->d[0]);
        int length =
            snprintf(text, sizeof text, "%s%s %s %s", used ? ", " : "", operands[i].name, size, dtype_name(t->dtype));
        if (used + (size_t)length >= PROFILE_SHAPES)
            return;
        used += (size_t)snprintf(to + used, PROFILE_SHAPES - used, "%s", text);
    }
}

void profile_add(Device *dev, const char *op, double start, double seconds, const Operand *operands, int n,
                 double flops)
{
    Profile *profile = dev->profile;
    add_op_row(profile, op, seconds);
    if (!profile->keeps_events)
        return;
    ProfileEvent *event = add_op_event(profile);
    *event = (ProfileEvent){ .name = op,
                             .number = -1,
                             .start = start,
                             .seconds = seconds,
                             .flops = flops,
                             .bytes = operands_bytes(operands, n) };
    profile_shapes(event->shapes, operands, n);
    for (int i = 0; i < profile->n_open; i++) {
        profile->events[profile->open[i]].flops += event->flops;
        profile->events[profile->open[i]].bytes += event->bytes;
    }
}

static size_t written_bytes(const Operand *operand)
{
    const Tensor t = operand->t;
    return operand->access == ACCESS_IN || !tensor_present(t) ? 0 : (size_t)tensor_count(t) * dtype_bytes(t.dtype);
}

static void *copy_written(Device *dev, const Operand *operands, int n)
{
    size_t bytes = 0;
    for (int i = 0; i < n; i++)
        bytes += written_bytes(&operands[i]);
    char *copy = malloc(bytes + 1), *to = copy;
    if (copy == NULL)
        fatal_memory("the tensors of an operation");
    for (int i = 0; i < n; to += written_bytes(&operands[i++]))
        if (written_bytes(&operands[i]) > 0)
            tensor_read(dev, to, operands[i].t.dtype, operands[i].t);
    return copy;
}

static void put_back(Device *dev, const char *from, const Operand *operands, int n)
{
    for (int i = 0; i < n; from += written_bytes(&operands[i++]))
        if (written_bytes(&operands[i]) > 0)
            tensor_upload(dev, operands[i].t, from);
    device_synchronise(dev);
}

bool profile_runs(Device *dev, ProfileRuns *runs, const char *op, const Operand *operands, int n)
{
    const Profile *profile = dev->profile;
    if (runs->last)
        return false;
    runs->last = profile->again == NULL || !profile->again(dev, op, operands, n);
    if (!runs->last && runs->written == NULL)
        runs->written = copy_written(dev, operands, n);
    if (runs->last && runs->written) {
        put_back(dev, runs->written, operands, n);
        free(runs->written);
    }
    return true;
}

void profile_extend(Device *dev, double seconds)
{
    Profile *profile = dev->profile;
    if (profile->n == 0)
        return;
    profile->rows[profile->last].seconds += seconds;
    if (profile->keeps_events && profile->n_events > 0 && !profile->events[profile->n_events - 1].is_phase)
        profile->events[profile->n_events - 1].seconds += seconds;
}

void profile_open_phase(Device *dev, const char *name, int number)
{
    Profile *profile = dev->profile;
    if (!profile->keeps_events)
        return;
    CHECK(profile->n_open < PROFILE_DEPTH, "%s: more than %d phases within each other", name, PROFILE_DEPTH);
    device_synchronise(dev); /* earlier work does not belong to the phase */
    ProfileEvent *event = add_op_event(profile);
    *event = (ProfileEvent){ .name = name, .number = number, .is_phase = true, .start = clock_seconds() };
    profile->open[profile->n_open++] = profile->n_events - 1;
}

void profile_close_phase(Device *dev)
{
    Profile *profile = dev->profile;
    if (!profile->keeps_events)
        return;
    CHECK(profile->n_open > 0, "a phase ends that has not begun");
    device_synchronise(dev);
    ProfileEvent *event = &profile->events[profile->open[--profile->n_open]];
    event->seconds = clock_seconds() - event->start;
}
