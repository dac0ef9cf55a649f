/* kernels.h: the operations of op_list.inc as functions of this room, gpu_NAME: the entries of its tables; and the
 * group that a GPU keeps for them. */
#pragma once

#include "device/cuda/kernels/group.h"

/* Most channels of a head of attention (MOST_CHANNELS of attention.h): a model beyond it is refused when it is opened.
 */
enum { GPU_HEAD_DIM = 256 };

extern "C" {
#define OP(name, parameters, arguments, operands, rules, flops) void gpu_##name parameters;
#include "device/op_list.inc"
#undef OP
}
