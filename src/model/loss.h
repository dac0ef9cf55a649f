/* loss.h: how a pass over a microbatch is made, and the sums that it adds to. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

typedef struct ModelLoss {
    float label_smoothing, z_loss;
    double n_targets; /* of the whole batch: the gradient is of the mean over real targets */
    double n_labels;  /* of the whole batch, for a sentence head: its mean is added */
    uint64_t seed;    /* of the dropout masks of this update; dropout off where train is false */
    bool train;       /* dropout on */
    bool grad;
    bool recompute; /* run each block forward again in backward instead of keeping its activations */
} ModelLoss;

/* Sums over target tokens, and over the labels of a sentence head: op_xent's statistics. */
typedef struct LossSums {
    double loss, nll, correct, weight;
    double label_nll, label_correct, label_weight;
} LossSums;

void loss_sums_add(LossSums *sums, const LossSums *more);
/* Mean of a label's loss and of how often it is right; 0 where there are no labels. */
double loss_sums_label(const LossSums *sums);
double loss_sums_label_accuracy(const LossSums *sums);
