/* loss.h: settings of a forward and backward pass over a microbatch (ModelLoss), and sums of losses over passes. */
#pragma once

#include "data/batch.h"
#include "model/config/config.h"

/* The output heads of a model; each has a loss of its own. A model is trained on the sum of the heads' mean losses. */
typedef enum HeadId {
    HEAD_TOKENS,  /* a token of the vocabulary at each target position: language-model head */
    HEAD_LABELS,  /* a class per sequence, from its first token: sentence order (SOP) or next sentence (NSP) */
    HEAD_CLASSES, /* a class per sequence or token; or the right choice among tokens (spans) or sequences */
    HEAD_VALUE,   /* a number per sequence (regression) */
    HEAD_COUNT
} HeadId;

/* Names of one head in the metrics. */
typedef struct HeadNames {
    const char *name;     /* "label" */
    const char *loss;     /* "loss_label": used in metrics.jsonl and TensorBoard if a model has several heads */
    const char *accuracy; /* "accuracy_label"; NULL means that the head has no accuracy */
    const char *rows;     /* "sequences": the unit that losses are averaged over */
} HeadNames;
/* The names of a head, from a constant table. */
const HeadNames *loss_names(HeadId head);

typedef struct ModelLoss {
    float label_smoothing;        /* for HEAD_TOKENS, and for HEAD_CLASSES with classes of sequences or tokens */
    float z_loss;                 /* for HEAD_TOKENS */
    double n_targets[HEAD_COUNT]; /* per head: rows with a target in all microbatches of the step. The gradient is that
                                     of (sum of the losses) / n_targets; 0 counts as 1 */
    const float *class_weights;   /* (classes) factor on the loss of each class of HEAD_CLASSES; NULL means 1 */
    double loss_scale;            /* factor on all gradients (param/loss_scale.h); 0 counts as 1 */
    uint64_t seed;                /* seed of the dropout masks of this update */
    bool train;                   /* apply dropout */
    bool grad;                    /* also run backward */
    bool divided;                 /* context-parallel ranks have the same batch, and divide its tokens */
    bool of_ids;                  /* without grad: ids that pad the vocabulary (TokenRoles.n_ids) have no probability */
    bool recompute;               /* run each block forward again in backward instead of keeping its activations */
} ModelLoss;

/* Adds the number (with class weights, their sum) of the batch's rows with a target, per head, to loss->n_targets. */
void loss_count(ModelLoss *loss, const ModelConfig *config, const Batch *batch);
/* Whether a head with targets (loss->n_targets) has parameters in a bucket of heads (model/params/params.h). */
bool loss_reaches(const ModelLoss *loss, const ModelConfig *config, int bucket);

/* Sums over the rows with a target of one head; each row is multiplied by its class weight, 1 without class weights. */
typedef struct HeadSums {
    double loss;    /* with label smoothing and z-loss */
    double nll;     /* negative log-likelihood of the targets, in nats */
    double correct; /* rows whose target has the largest logit; each counts as 1, whatever the weight of its class */
    double weight;  /* sum of the weights */
    double rows;    /* number of rows; 0 means equal to `weight`, as without class weights */
} HeadSums;

typedef struct LossSums {
    HeadSums head[HEAD_COUNT];
} LossSums;

/* *sums += *more. */
void loss_sums_add(LossSums *sums, const LossSums *more);
/* Number of heads that have rows. */
int loss_sums_heads(const LossSums *sums);
/* The first head that has rows; HEAD_TOKENS if no head has rows. */
HeadId loss_sums_main(const LossSums *sums);
/* Mean loss and accuracy (0 to 1) over a head's rows; NaN if the head has no rows. */
double loss_sums_mean(const LossSums *sums, HeadId head);
double loss_sums_accuracy(const LossSums *sums, HeadId head); /* each row counts as 1 */
/* The training loss: the sum of the mean losses of all heads that have rows; NaN if no head has rows. */
double loss_sums_total(const LossSums *sums);
/* Whether the losses of all heads are finite (no infinity or NaN). */
bool loss_sums_finite(const LossSums *sums);
