/* fp8.h: the scales of FP8 training (Fp8Recipe in device/device.h), by the rules of Transformer Engine. Each linear
 * layer has three scales: of its input, of its weights, and of the gradient of its output. Delayed scaling keeps a
 * history of amax (the largest absolute value in the unscaled tensor of a microbatch) for each scale; fp8_update
 * computes the scales of the next microbatch from the histories. */
#pragma once

#include "base/options/options.h"
#include "comm/comm.h"
#include "param/param.h"

/* The options fp8.*. */
typedef struct Fp8Config {
    int scaling; /* index into the names of the option fp8.scaling; the enum Fp8Scaling value is FP8_DELAYED + this */
    int64_t margin, history; /* a scale is divided by 2^margin; delayed scaling keeps `history` microbatches */
} Fp8Config;

extern const OptionRow fp8_options[]; /* "fp8.*" over Fp8Config */
extern const int n_fp8_options;

/* The recipe that these options select, for Precision.fp8. */
Fp8Recipe fp8_recipe(const Fp8Config *config);

/* The tensors of a linear layer that are cast to FP8: input, weights, and the gradient of its output. */
typedef enum Fp8Factor { FP8_INPUT, FP8_WEIGHT, FP8_GRADIENT, FP8_FACTORS } Fp8Factor;

/* All scales of a model, with their histories. */
typedef struct Fp8Scales Fp8Scales;

/* Creates scales of 1 and empty histories for n_layers linear layers. Returns NULL if out of memory. */
Fp8Scales *fp8_open(Device *dev, int n_layers);
/* Says that this rank computes the n linear layers from `first` on. The scales of all other layers, which are on other
 * stages of a pipeline, come from the ranks that compute them (fp8_share). */
void fp8_compute(Fp8Scales *scales, int first, int n);
void fp8_close(Fp8Scales *scales);

/* The numbers that a cast of a tensor to FP8 reads (scale) and writes (amax): one f32 each, in device memory. */
typedef struct Fp8Scale {
    Tensor scale, inverse; /* 1/scale */
    Tensor amax;           /* of this microbatch; absent with current scaling, where a scale follows from its tensor */
} Fp8Scale;
/* The scale of one tensor of linear layer `layer`, 0 … n_layers - 1. */
Fp8Scale fp8_scale(const Fp8Scales *scales, int layer, Fp8Factor factor);

/* Called after each microbatch. With delayed scaling it appends the microbatch's amax to each history and computes new
 * scales; with current scaling it does nothing. */
void fp8_update(Fp8Scales *scales);
/* fp8_keep copies all scales and histories; fp8_undo restores that copy when a step is abandoned or skipped. */
void fp8_keep(Fp8Scales *scales);
void fp8_undo(Fp8Scales *scales);
/* All ranks call it after a step of n microbatches. With delayed scaling each scale becomes the smallest of the ranks
 * that compute its layer, and each of the n newest amaxes of its history, or of all if it keeps fewer, becomes the
 * largest of all ranks. So all ranks begin each step with the same scales. */
void fp8_share(Fp8Scales *scales, Comm *ranks, int64_t n);

/* The tensors of the state, for checkpoints: "fp8/scale" and "fp8/history"; none with current scaling. */
int fp8_state_count(const Fp8Scales *scales);
const char *fp8_state_name(int index);
void fp8_state_shape(const Fp8Scales *scales, int index, int64_t shape[2]); /* shape[1] 0 means a vector */
/* fp8_read copies the rows first … first + n - 1 of a state tensor to host memory in f32; fp8_write copies from host
 * memory into a box of it (NULL means the whole tensor). */
void fp8_read(const Fp8Scales *scales, int index, int64_t first, int64_t n, float *to);
void fp8_write(Fp8Scales *scales, int index, const Box *box, const float *from);
