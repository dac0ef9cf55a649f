#include "device/cpu/kernels/kernels.h"

#include <stdlib.h>

static void cpu_close(Device *dev)
{
    Cpu *cpu = dev->impl;
    free(cpu->workspace);
    free(cpu);
}

const OpTable cpu_ops = {
    .close = cpu_close,
    .gemm = cpu_gemm,
    .embedding_fwd = cpu_embedding_fwd,
    .embedding_bwd = cpu_embedding_bwd,
    .rmsnorm_fwd = cpu_rmsnorm_fwd,
    .rmsnorm_bwd = cpu_rmsnorm_bwd,
    .layernorm_fwd = cpu_layernorm_fwd,
    .layernorm_bwd = cpu_layernorm_bwd,
    .bias_add = cpu_bias_add,
    .bias_bwd = cpu_bias_bwd,
    .scale = cpu_scale,
    .dropout_fwd = cpu_dropout_fwd,
    .dropout_bwd = cpu_dropout_bwd,
    .act_fwd = cpu_act_fwd,
    .act_bwd = cpu_act_bwd,
    .relpos_fwd = cpu_relpos_fwd,
    .relpos_bwd = cpu_relpos_bwd,
    .alibi = cpu_alibi,
    .sinusoid_table = cpu_sinusoid_table,
    .rotary_table = cpu_rotary_table,
    .rotary = cpu_rotary,
    .attn_fwd = cpu_attn_fwd,
    .attn_bwd = cpu_attn_bwd,
    .xent = cpu_xent,
    .sum_rows = cpu_sum_rows,
    .sumsq = cpu_sumsq,
    .fill = cpu_fill,
    .copy = cpu_copy,
    .argmax = cpu_argmax,
    .adamw = cpu_adamw,
    .adafactor = cpu_adafactor,
};
