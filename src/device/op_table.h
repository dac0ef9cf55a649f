/* op_table.h: what a backend is: one function per operation of ops.h, with the same arguments, already checked. Every
 * entry is filled: a missing operation is found when the device is opened, never in the middle of a run. */
#pragma once

#include "device/device.h"

struct OpTable {
    void (*close)(Device *dev); /* frees dev->impl; device_close frees dev itself */

#define OP(name, parameters, arguments, operands, rules, flops) void(*name) parameters;
#include "device/op_list.inc"
#undef OP
};

/* A new device of `ops`, every entry of which must be filled. Its tensors have the dtypes of `precision`, statistics
 * that of the master weights, indices i32, totals f64. */
Device *device_new(const char *name, const OpTable *ops, Precision precision, bool computes, int threads,
                   const char *isa, void *impl);
