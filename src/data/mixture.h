/* mixture.h: several datasets as one. A row is a packed sequence (loader.h). From which dataset row i of the mixture
 * comes depends only on i and the weights. */
#pragma once

#include "base/amount.h"
#include "base/error.h"

#include <stdint.h>

#define MIXTURE_MAX 254 /* most datasets of a mixture, as in Megatron */

/* What weights in a list mean. MIXTURE_SHARES: shares of the rows of the mixture. MIXTURE_EPOCHS: how many epochs of
 * the dataset are in one epoch of the mixture. MIXTURE_CONCAT_WEIGHTED: shares of an epoch that ends when the first
 * dataset has been read completely, as in AST-T5's ConcatWeightedDataset. */
typedef enum MixtureWeights { MIXTURE_SHARES, MIXTURE_EPOCHS, MIXTURE_CONCAT_WEIGHTED } MixtureWeights;
extern const char *const mixture_weights_names[];

/* How the weights of a list are read, and how they are computed for a list without weights. */
typedef struct MixtureRule {
    int weights;        /* MixtureWeights; for lists with weights */
    double temperature; /* for lists without weights: the weight of a dataset is proportional to min(size, cap)^(1 /
                           temperature); 0 means unset and counts as 1 */
    Amount cap; /* for lists without weights: cap in samples or tokens, also the unit of the size; 0 means no cap */
} MixtureRule;

typedef struct Mixture {
    int n;                       /* datasets */
    char *paths[MIXTURE_MAX];    /* path of each dataset */
    bool weighted;               /* the list gave weights */
    double given[MIXTURE_MAX];   /* weights as in the list; all 1 for a list without weights */
    double weights[MIXTURE_MAX]; /* shares of the rows, with sum 1; for a list without weights they are equal until
                                    mixture_weigh */
    /* The weights as integers without a common divisor, with sum `period`; period 0 means that they would be too large.
     */
    int64_t shares[MIXTURE_MAX], period;
    /* A cache that makes mixture_at fast: rows [0, index) of the mixture took counts[k] rows of dataset k. */
    int64_t index, counts[MIXTURE_MAX];
    GArray *marks;  /* of int64_t counts[n]: element i holds the counts below row anchor + i * 2^16 */
    int64_t anchor; /* row of marks[0]: 0 or a multiple of the period */
} Mixture;

/* Parses "PATH", "PATH,PATH" or "PATH:WEIGHT,PATH:WEIGHT", like Megatron's --data-path; or the path of a JSON file of
 * weights, which language_weights_train converts to the last form. mixture_free frees. */
Mixture *mixture_parse(const char *text, GError **error);
void mixture_free(Mixture *mixture);
/* Fails if the list has weights and the rule has a temperature or a cap, which are for lists without weights. */
bool mixture_check(const Mixture *mixture, const MixtureRule *rule, GError **error);
/* Sets the weights by a checked rule. rows, tokens: (n) rows and tokens in an epoch of each dataset. Returns the number
 * of rows in an epoch of the mixture. */
int64_t mixture_weigh(Mixture *mixture, const MixtureRule *rule, const int64_t rows[], const int64_t tokens[]);
/* Returns the dataset from which a row of the mixture comes; *within becomes the row's number in that dataset. Row i
 * comes from the dataset for which weight * max(i, 1) - (its rows so far) is largest, or the first of equal ones;
 * *within is its number of rows so far. The time is bounded, since the counts after whole periods are known, and those
 * before every 2^16th row are cached. */
int mixture_at(Mixture *mixture, int64_t row, int64_t *within);
