#include "device/profile.h"

#include "base/check.h"
#include "base/clock.h"

double profile_start(const Device *dev)
{
    return dev->profile ? clock_seconds() : 0;
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
    profile->rows[i].seconds += clock_seconds() - start;
    profile->rows[i].calls++;
}
