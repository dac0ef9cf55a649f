/* norms.h: the norms of weights and gradients, of the whole model and of each of its layers (log.norms). */
#pragma once

#include "comm/comm.h"
#include "model/model.h"

typedef struct LayerNorms {
    char name[32];          /* "encoder.3", "decoder.0"; "other" for the parameters outside the blocks */
    double param, gradient; /* L2 norms of the weights, and of the gradients before clipping */
    double zeros;           /* number of gradients that are 0 */
} LayerNorms;

typedef struct Norms {
    LayerNorms model;
    int n_layers; /* the blocks of the encoder, those of the decoder, and "other" */
    LayerNorms *layers;
} Norms;

/* Measures the norms of the whole model after a step; the result is the same on every rank, however the model is
 * divided among them. All ranks call it. loss_scale: the factor that the gradients are still multiplied by. norms_clear
 * frees the result. */
Norms norms_measure(Model *model, Comm *ranks, double loss_scale);
void norms_clear(Norms *norms);
