/* profile.h: measures the time of each kind of operation on a device, for `loam bench step --profile`, and records each
 * call with the phase of the step that it belongs to, for `--trace`. If dev->profile is NULL, nothing is measured. */
#pragma once

#include "device/device.h"

struct Operand; /* operand.h */

enum {
    PROFILE_OPS = 64,    /* largest number of kinds of operations in a profile */
    PROFILE_DEPTH = 16,  /* largest depth of phases within phases */
    PROFILE_SHAPES = 320 /* bytes of ProfileEvent.shapes */
};

/* One call of an operation, or one phase. A phase is a named part of a step, such as "backward"; it contains the
 * operations and phases that began and ended within it. */
typedef struct ProfileEvent {
    const char *name;            /* name of the operation, "gemm", or of the phase, "encoder block" */
    int number;                  /* index of a phase, such as the number of the block, counted from 0; -1 means none */
    bool is_phase;               /* true: a phase; false: a call of an operation */
    double start, seconds;       /* begin, in seconds of clock_seconds(), and duration */
    double flops, bytes;         /* as in DeviceCounts; for a phase, sums over its operations */
    char shapes[PROFILE_SHAPES]; /* shapes of an operation's tensors: "y 4096x384 bf16, a 4096x512 bf16, …" */
} ProfileEvent;

struct Profile {
    int n; /* number of kinds of operations called so far; `rows` has one entry per kind, in the order of their first
              calls */
    struct {
        const char *op; /* name of the operation, "gemm" */
        double seconds;
        int64_t calls;
    } rows[PROFILE_OPS];
    int last; /* index in `rows` of the operation that was called last */

    /* Set by the caller, to measure an operation by itself; asked before each run whether it is an additional one. NULL
     * means that there are none. The event of the call, if events are recorded, is the next one. */
    bool (*again)(Device *dev, const char *op, const struct Operand *operands, int n);
    void *again_context;

    bool keeps_events;    /* set by the caller: true means that events are recorded too */
    ProfileEvent *events; /* (n_events) in the order of their starts */
    size_t n_events, capacity;
    size_t open[PROFILE_DEPTH]; /* (n_open) indices into `events` of the phases that have begun and not ended */
    int n_open;
};

/* Writes the shapes and dtypes of an operation's tensors, as in ProfileEvent.shapes. */
void profile_shapes(char to[PROFILE_SHAPES], const struct Operand *operands, int n);

/* Frees the events. */
void profile_clear(Profile *profile);

/* For ops.c: adds a call of operation `op` that began at `start` and took `seconds`. */
void profile_add(Device *dev, const char *op, double start, double seconds, const struct Operand *operands, int n,
                 double flops);

/* The runs of one call of an operation: { 0 } before the first. */
typedef struct ProfileRuns {
    void *written; /* content of the tensors that the operation writes, from before its runs; NULL: there is no copy */
    bool last;
} ProfileRuns;

/* For ops.c: whether to run the operation now. After the runs that Profile.again asks for there is a last one, before
 * which the tensors get their content back: many operations change what they read, and those that follow need what one
 * run leaves behind. */
bool profile_runs(Device *dev, ProfileRuns *runs, const char *op, const struct Operand *operands, int n);

/* For device_group_end: adds `seconds` that a group took to the time of the operation that was called last. */
void profile_extend(Device *dev, double seconds);

/* The implementation of profile_begin and profile_end, for a device with a profile. */
void profile_open_phase(Device *dev, const char *name, int number);
void profile_close_phase(Device *dev);

/* profile_begin starts a phase, which contains all work of the device until profile_end. Both do nothing without a
 * profile. `name` must outlive the profile; number: as in ProfileEvent. */
static inline void profile_begin(Device *dev, const char *name, int number)
{
    if (dev->profile)
        profile_open_phase(dev, name, number);
}

static inline void profile_end(Device *dev)
{
    if (dev->profile)
        profile_close_phase(dev);
}
