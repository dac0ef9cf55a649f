/* kernels.h: the header of device/cuda/kernels for files outside it: declares, for each operation NAME of op_list.inc,
 * the function gpu_NAME, which launches its kernel. */
#pragma once

#include "device/cuda/kernels/group.h"

/* Largest number of channels of an attention head (equal to MOST_CHANNELS in attention.h); a model with larger heads is
 * refused when it is opened. */
enum { GPU_HEAD_DIM = 256 };

extern "C" {
#define OP(name, parameters, arguments, operands, rules, flops) void gpu_##name parameters;
#include "device/op_list.inc"
#undef OP
}
