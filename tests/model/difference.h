/* difference.h: the gradients of a whole model against differences of its loss. */
#pragma once

#include "tiny.h"

/* The loss that is trained: the mean over targets, and that over labels. */
static inline double loss_and_gradients(Model *model, const Batch *batch, const ModelLoss *loss)
{
    LossSums sums = { 0 };
    if (loss->grad)
        grads_begin(model_params(model), 1);
    model_loss(model, batch, loss, &sums);
    double total = 0;
    for (int h = 0; h < HEAD_COUNT; h++)
        total += sums.head[h].loss / fmax(1, loss->n_targets[h]);
    return total;
}

typedef struct Difference {
    Model *model;
    const Batch *batch;
    ModelLoss loss; /* without gradients */
} Difference;

/* d(loss)/dt at t = 0 of w + t direction, by central differences. */
static inline double directional(const Difference *d, Tensor w, const double *direction)
{
    const double step = 2e-6;
    double loss[2], *p = w.p;
    for (int side = 0; side < 2; side++) {
        double t = side ? -step : step;
        for (int64_t i = 0; i < tensor_count(w); i++)
            p[i] += t * direction[i];
        loss[side] = loss_and_gradients(d->model, d->batch, &d->loss);
        for (int64_t i = 0; i < tensor_count(w); i++)
            p[i] -= t * direction[i];
    }
    return (loss[0] - loss[1]) / (2 * step);
}

/* Along one random direction of unit length through the whole tensor, and along a few of its axes. */
static inline void check_parameter(const Difference *d, const Param *param, Philox *rng)
{
    int64_t n = tensor_count(param->w);
    g_autofree double *direction = g_new0(double, (gsize)n);
    const double *g = param->g.p;
    double norm = tiny_norm(param->g);
    for (int test = 0; test < 4; test++) {
        double analytic = 0;
        for (int64_t i = 0; i < n; i++)
            direction[i] = test == 0 ? philox_normal(rng) / sqrt((double)n) : 0;
        if (test > 0)
            direction[philox_below(rng, (uint64_t)n)] = 1;
        for (int64_t i = 0; i < n; i++)
            analytic += g[i] * direction[i];
        double numeric = directional(d, param->w, direction);
        /* 2e-9 is some rounding errors of the loss, divided by the two steps. */
        if (!(fabs(analytic - numeric) <= 1e-7 * fmax(norm, 2e-2)))
            g_error("%s: %.12g, by differences %.12g", param->spec.name, analytic, numeric);
    }
}
