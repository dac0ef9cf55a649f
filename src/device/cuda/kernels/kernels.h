/* kernels.h: the kernels' header for files outside this folder: declares each operation of op_list.inc as a function
 * gpu_NAME. */
#pragma once

#include "device/cuda/kernels/group.h"

/* Most channels of an attention head (MOST_CHANNELS in attention.h); a model with larger heads is refused when it is
 * opened. */
enum { GPU_HEAD_DIM = 256 };

extern "C" {
#define OP(name, parameters, arguments, operands, rules, flops) void gpu_##name parameters;
#include "device/op_list.inc"
#undef OP
}
