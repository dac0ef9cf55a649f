/* tiny_model.h: a T5 of a few thousand parameters, and an optimizer, for tests of checkpoints. */
#pragma once

#include "model/config/config.h"

/* The ModelConfig, with further fields such as .n_dec = 1, .ffn = 16. */
#define TINY_MODEL(...)                                                                                                \
    {                                                                                                                  \
        .preset = (char *)"", .n_enc = 1, .width = 8, .heads = 2, .head_dim = 4, .vocab = 128, .vocab_multiple = 128,  \
        .activation = ACT_GELU_TANH, .gated = true, .first_norm = true, .final_norm = true, .norm_eps = 1e-6,          \
        .max_positions = 512, .sparsity = { .block = 16, .window = 3, .n_random = -1, .rotations = 1 },                \
        .rotary_base = 10000, .rel_buckets = 32, .rel_max_distance = 128, __VA_ARGS__                                  \
    }

/* The OptimConfig of an OptimKind, which factors the second moments of this model's matrices if it can. */
#define TINY_OPTIM(kind)                                                                                               \
    {                                                                                                                  \
        .name = (kind), .lr = 1, .beta1 = 0.9, .beta2 = -1, .eps = -1, .eps1 = 1e-30, .factored = true,                \
        .min_dim_factored = 8                                                                                          \
    }
