/* loss.h: settings of a pass over a microbatch, and the sums of losses over passes. */
#pragma once

#include "data/batch.h"
#include "model/config/config.h"

#include <stdbool.h>

/* The heads of a model: each predicts something of its own. A model is trained on the sum of their mean losses. */
typedef enum HeadId {
    HEAD_TOKENS,  /* an entry of the vocabulary for each target token */
    HEAD_LABELS,  /* a class for each sequence, from its first token: sentence order or next sentence */
    HEAD_CLASSES, /* a class for each sequence or token, or the right one of several tokens or sequences */
    HEAD_VALUE,   /* a number for each sequence */
    HEAD_COUNT
} HeadId;

/* Names of a head's metrics. */
typedef struct HeadNames {
    const char *name;     /* "label" */
    const char *loss;     /* "loss_label": in metrics.jsonl and TensorBoard, where a model has several heads */
    const char *accuracy; /* "accuracy_label"; NULL means that the head has none */
    const char *rows;     /* "sequences": the unit that has a loss */
} HeadNames;
const HeadNames *loss_names(HeadId head);

typedef struct ModelLoss {
    float label_smoothing;        /* of HEAD_TOKENS, and of HEAD_CLASSES over the classes of sequences and tokens */
    float z_loss;                 /* of HEAD_TOKENS */
    double n_targets[HEAD_COUNT]; /* rows with a loss in all microbatches of the step: the gradient of a head is that
                                     of its summed loss / n_targets; 0 counts as 1 */
    const float *class_weights;   /* (classes) factor on the loss of each class of HEAD_CLASSES; NULL means 1 */
    double loss_scale;            /* factor on all gradients (param/loss_scale.h); 0 counts as 1 */
    uint64_t seed;                /* of the dropout masks of this update */
    bool train;                   /* dropout on */
    bool grad;
    bool recompute; /* run each block forward again in backward instead of keeping its activations */
} ModelLoss;

/* Adds the batch's rows with a loss to loss->n_targets, a row of a weighted class as its weight. */
void loss_count(ModelLoss *loss, const ModelConfig *config, const Batch *batch);

/* Sums over the rows of a head, each with its weight: op_xent's statistics. */
typedef struct HeadSums {
    double loss;    /* with label smoothing and z-loss */
    double nll;     /* nats */
    double correct; /* rows whose target has the largest logit, each counted as 1 whatever the weight of its class */
    double weight;  /* of the rows with a loss */
    double rows;    /* number of rows with a loss; 0 means `weight`, which it is where classes have no weights */
} HeadSums;

typedef struct LossSums {
    HeadSums head[HEAD_COUNT];
} LossSums;

void loss_sums_add(LossSums *sums, const LossSums *more);
/* Number of heads that have rows. */
int loss_sums_heads(const LossSums *sums);
/* The first head that has rows; HEAD_TOKENS where none has. */
HeadId loss_sums_main(const LossSums *sums);
/* Means over a head's rows; NaN where there are none. */
double loss_sums_mean(const LossSums *sums, HeadId head);
double loss_sums_accuracy(const LossSums *sums, HeadId head); /* each row counts as 1 */
/* The loss that is trained: the sum of the means of the heads that have rows; NaN where none has. */
double loss_sums_total(const LossSums *sums);
bool loss_sums_finite(const LossSums *sums);
