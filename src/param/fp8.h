/* fp8.h: the scales of FP8 training (Fp8Recipe in device/device.h), by the rules of Transformer Engine. Each linear
 * layer has three: of its input, of its weights, and of the gradient of its output. Delayed scaling keeps for each a
 * history of amaxes, the largest absolute value of a microbatch's tensor before it is scaled; fp8_update makes the
 * scales of the next microbatch from it. */
#pragma once

#include "base/options/options.h"
#include "param/param.h"

/* The options fp8.*. */
typedef struct Fp8Config {
    int scaling;             /* Fp8Scaling, less FP8_DELAYED: an index into the option's names */
    int64_t margin, history; /* see Fp8Recipe */
} Fp8Config;

extern const OptionRow fp8_options[]; /* "fp8.*" over Fp8Config */
extern const int n_fp8_options;

Fp8Recipe fp8_recipe(const Fp8Config *config);

typedef enum Fp8Factor { FP8_INPUT, FP8_WEIGHT, FP8_GRADIENT, FP8_FACTORS } Fp8Factor;

typedef struct Fp8Scales Fp8Scales;

/* Scales of 1 and empty histories for n_layers linear layers. NULL means no memory. */
Fp8Scales *fp8_open(Device *dev, int n_layers);
void fp8_close(Fp8Scales *scales);

/* What a cast of a factor reads and writes, each (1) in memory of the device. */
typedef struct Fp8Scale {
    Tensor scale, inverse; /* 1/scale */
    Tensor amax;           /* of this microbatch; absent where scaling is current */
} Fp8Scale;
Fp8Scale fp8_scale(const Fp8Scales *scales, int layer, Fp8Factor factor);

/* After a microbatch, with delayed scaling: new scales, and a column of each history. */
void fp8_update(Fp8Scales *scales);
/* fp8_keep notes the state, and fp8_undo returns to it: of a step that is abandoned or skipped. */
void fp8_keep(Fp8Scales *scales);
void fp8_undo(Fp8Scales *scales);

/* The tensors of the state, for checkpoints: "fp8/scale" and "fp8/history"; none where scaling is current. */
int fp8_state_count(const Fp8Scales *scales);
const char *fp8_state_name(int index);
void fp8_state_shape(const Fp8Scales *scales, int index, int64_t shape[2]); /* shape[1] 0 means a vector */
/* A state to f32 in host memory, and a box of it (NULL: all) from there. */
void fp8_read(const Fp8Scales *scales, int index, float *to);
void fp8_write(Fp8Scales *scales, int index, const Box *box, const float *from);
