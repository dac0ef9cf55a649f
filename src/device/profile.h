/* profile.h: measures the time of each kind of operation on a device, for `loam bench step --profile`, and records each
 * call with the phase that it belongs to, for traces. If dev->profile is NULL, nothing is measured and no function here
 * is called. */
#pragma once

#include "device/device.h"

#include <stddef.h>

struct Operand; /* operand.h */

enum {
    PROFILE_OPS = 64,   /* most kinds of operations in a profile */
    PROFILE_DEPTH = 16, /* greatest depth of phases within phases */
    PROFILE_SHAPES = 320
};

/* One call of an operation, or one phase: a named part of a step such as "backward", which contains the operations and
 * phases that began and ended within it. */
typedef struct ProfileEvent {
    const char *name; /* "gemm"; "encoder block" */
    int number;       /* index of a phase, such as the block, counted from 0; -1 means none */
    bool is_phase;
    double start, seconds;       /* in seconds of clock_seconds() */
    double flops, bytes;         /* as the null device counts them; for a phase, sums over its operations */
    char shapes[PROFILE_SHAPES]; /* shapes of an operation's tensors: "y 4096x384 bf16, a 4096x512 bf16, …" */
} ProfileEvent;

struct Profile {
    int n; /* kinds of operations called so far, which `rows` lists in the order of their first calls */
    struct {
        const char *op; /* "gemm", "attn_bwd" */
        double seconds;
        int64_t calls;
    } rows[PROFILE_OPS];
    int last; /* row of the operation called last */

    bool keeps_events;    /* set by the caller: record events too */
    ProfileEvent *events; /* in the order of their starts */
    size_t n_events, capacity;
    size_t open[PROFILE_DEPTH]; /* phases that have begun and not ended, as indices into events */
    int n_open;
};

/* Frees the events. */
void profile_clear(Profile *profile);

/* For ops.c: adds a call of operation `op` that began at `start` and took `seconds`. */
void profile_add(Device *dev, const char *op, double start, double seconds, const struct Operand *operands, int n,
                 double flops);

/* For device_group_end: adds `seconds` that a group took to the time of the operation that was called last. */
void profile_extend(Device *dev, double seconds);

/* For profile_begin and profile_end. */
void profile_open_phase(Device *dev, const char *name, int number);
void profile_close_phase(Device *dev);

/* Starts a phase: all work of the device until profile_end. `name` must outlive the profile; number -1 means none. */
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
