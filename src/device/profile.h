/* profile.h: how fast a device is: the time of each operation, and of large matrix products. */
#pragma once

#include "device/device.h"

/* FLOP/s of the fastest of several square products in the compute dtype of the device, each repeated for a third of the
 * time: other speeds are given as a share of it. Hosts lend processors that run faster for the first tenths of a
 * second, so the rate to compare with is one measured in turns with the work. 0 means too little memory. */
double device_gemm_peak(Device *dev, double seconds);

#define PROFILE_OPS 64

/* Time and number of calls of each operation, for `loam bench step`; measured by op_NAME() of ops.h. */
struct Profile {
    int n; /* operations called so far, in the order of their first calls */
    struct {
        const char *op; /* "gemm", "attn_bwd" */
        double seconds;
        int64_t calls;
    } rows[PROFILE_OPS];
};

/* The time now in seconds; 0 where dev->profile is NULL. */
double profile_start(const Device *dev);
/* Adds a call of `op` that began at `start`, after waiting until it is done. */
void profile_add(Device *dev, const char *op, double start);
