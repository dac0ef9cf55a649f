/* mixture.h: several datasets as one. Which dataset row i of the mixture comes from depends on i and the weights alone;
 * a row is a packed sequence (loader.h). */
#pragma once

#include "base/amount.h"
#include "base/error.h"

#include <stdint.h>

#define MIXTURE_MAX 254 /* datasets; Megatron's bound */

/* What the weights of a list are: shares of the rows of the mixture; epochs of the dataset in one epoch of the mixture;
 * or shares in an epoch that ends as soon as one dataset has been read, as AST-T5's ConcatWeightedDataset has it. */
typedef enum MixtureWeights { MIXTURE_SHARES, MIXTURE_EPOCHS, MIXTURE_CONCAT_WEIGHTED } MixtureWeights;
extern const char *const mixture_weights_names[];

/* How weights are read where the list gives them, and how they are computed where it does not. */
typedef struct MixtureRule {
    int weights;        /* MixtureWeights; for lists with weights */
    double temperature; /* for lists without: the weight of a dataset is proportional to min(size, cap)^(1 /
                           temperature); 0 means unset and counts as 1 */
    Amount cap;         /* for lists without: in samples or tokens, which are the unit of `size` too; 0 means no cap */
} MixtureRule;

typedef struct Mixture {
    int n;                     /* datasets */
    char *paths[MIXTURE_MAX];  /* of each dataset */
    bool weighted;             /* the list gave weights */
    double given[MIXTURE_MAX]; /* weights as in the list; 1 where it gave none */
    double
        weights[MIXTURE_MAX]; /* shares of the rows, with sum 1; equal until mixture_weigh where the list gave none */
    /* The weights as integers without a common divisor, with sum `period`; period 0 means that they would be too large.
     */
    int64_t shares[MIXTURE_MAX], period;
    /* The state of mixture_at, which only makes it fast. Rows below `index` took counts[k] rows of dataset k. */
    int64_t index, counts[MIXTURE_MAX];
    GArray *marks;  /* of int64_t counts[n]: element i holds the counts below row anchor + i * 2^16 */
    int64_t anchor; /* row of marks[0]: 0 or a multiple of the period */
} Mixture;

/* Parses "PATH", "PATH,PATH" or "PATH:WEIGHT,PATH:WEIGHT", as Megatron's --data-path; or the path of a JSON file of
 * weights, which language_weights_list turns into the last form. mixture_free frees. */
Mixture *mixture_parse(const char *text, GError **error);
void mixture_free(Mixture *mixture);
/* Fails where the list gives weights and the rule has a temperature or a cap, which are for lists without. */
bool mixture_check(const Mixture *mixture, const MixtureRule *rule, GError **error);
/* Sets the weights by a checked rule. rows, tokens: (n) of an epoch of each dataset. Returns the rows of an epoch of
 * the mixture. */
int64_t mixture_weigh(Mixture *mixture, const MixtureRule *rule, const int64_t rows[], const int64_t tokens[]);
/* The dataset of a row of the mixture, and in *within the row of that dataset. Row i comes from the dataset for which
 * weight * max(i, 1) - (its rows so far) is largest, the first one of equals; *within is its number of rows so far. The
 * time is bounded: the rows so far are known after whole periods, and remembered for every 2^16th row. */
int mixture_at(Mixture *mixture, int64_t row, int64_t *within);
