#include "device/profile.h"

#include "base/check.h"

#include <time.h>

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

double profile_start(const Device *dev)
{
    return dev->profile ? now() : 0;
}

void profile_add(Device *dev, const char *op, double start)
{
    Profile *profile = dev->profile;
    if (profile == NULL)
        return;
    device_synchronise(dev);
    int i = 0;
    while (i < profile->n && profile->rows[i].op != op) /* each name is one literal of ops.c */
        i++;
    CHECK(i < PROFILE_OPS, "more than %d operations", PROFILE_OPS);
    if (i == profile->n) {
        profile->n++;
        profile->rows[i].op = op;
    }
    profile->rows[i].seconds += now() - start;
    profile->rows[i].calls++;
}
