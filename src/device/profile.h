/* profile.h: how long each operation took, for `loam bench step`. Timed at the front door, on any device. */
#pragma once

#include "device/device.h"

#define PROFILE_OPS 64

struct Profile {
    int n; /* operations seen, in order of their first call */
    struct {
        const char *op; /* "gemm", "attn_bwd" */
        double seconds;
        int64_t calls;
    } rows[PROFILE_OPS];
};

double profile_start(const Device *dev); /* 0 where dev->profile is NULL */
void profile_add(Device *dev, const char *op, double start);
