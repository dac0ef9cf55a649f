/* reference.h: the operations of device/ops.h as plain double-precision loops, written to be read beside their
 * formulas. Every other backend is tested against them, and finite differences run on them. Opened with
 * device_open_reference() (device/device.h). */
#pragma once

#include "device/device.h"

/* Element (i,j) of a matrix, or j of a vector with i = 0; only for f64. */
static inline double *at(Tensor t, int64_t i, int64_t j)
{
    return (double *)t.p + i * t.ld + j;
}

/* The same loops for tensors of any floating dtype: mixed.c. */
Device *device_open_mixed(Precision precision);

/* Rounds the f64 copy of an operand to the dtype of that operand, for an operation that reads what it has written. Does
 * nothing on the f64 device. */
void reference_round(Tensor wide);

/* The words of the eight channels of a hidden element from 8 block on. */
static inline PhiloxWords philox_hidden(PhiloxKey key, int64_t sample, uint32_t position, uint32_t block)
{
    return philox4x32(key, (uint32_t)sample, (uint32_t)((uint64_t)sample >> 32), position, block);
}

/* The words of the eight attention weights from key 8 block on; sample < 2^48, head < 2^16. */
static inline PhiloxWords philox_attention(PhiloxKey key, int64_t sample, uint32_t head, uint32_t query, uint32_t block)
{
    return philox4x32(key, (uint32_t)sample, (uint32_t)((uint64_t)sample >> 32) | head << 16, query, block);
}

/* 0 if the element is dropped, philox_kept(rate) if it is kept. channel is counted from the first here, head in the
 * whole. */
double reference_hidden_mask(const Dropout *drop, int64_t row, int64_t channel);
double reference_attention_mask(const Dropout *drop, int64_t row, int head, int64_t key);

#define DECLARE_REFERENCE(name) Op_##name reference_##name;
OPERATIONS(DECLARE_REFERENCE)
