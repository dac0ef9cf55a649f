/* mixture.h: several datasets as one, in an order that is a function of the row's index. */
#pragma once

#include "base/amount.h"
#include "base/error.h"

#include <stdint.h>

#define MIXTURE_MAX 254 /* datasets; Megatron's bound */

typedef enum MixtureWeights { MIXTURE_SHARES, MIXTURE_EPOCHS } MixtureWeights;
extern const char *const mixture_weights_names[];

/* What the weights of the datasets are, where the list of them does not say it all. */
typedef struct MixtureRule {
    int weights;        /* MixtureWeights: of the rows, or of an epoch of the dataset */
    double temperature; /* without weights: in proportion to min(size, cap)^(1 / temperature); 0 is 1 */
    Amount cap;         /* samples or tokens; 0: none */
} MixtureRule;

typedef struct Mixture {
    int n;
    char *paths[MIXTURE_MAX];
    bool weighted;               /* the text gave the weights */
    double given[MIXTURE_MAX];   /* as in the text; 1 where it gave none */
    double weights[MIXTURE_MAX]; /* sum 1; equal until mixture_weigh, where the text gave none */
    /* The same as whole numbers that sum to `period` and have no common divisor; period 0: they are too long. */
    int64_t shares[MIXTURE_MAX], period;
    /* Where the walk stands: rows before `index` took counts[k] of dataset k. */
    int64_t index, counts[MIXTURE_MAX];
    int64_t anchor; /* the row that marks[0] belongs to: 0 or a multiple of the period */
    GArray *marks;  /* of counts[n]: those of row anchor + i * 2^16 */
} Mixture;

/* "PREFIX", "PREFIX,PREFIX" or "PREFIX:WEIGHT,PREFIX:WEIGHT": Megatron's blend. mixture_free frees. */
Mixture *mixture_parse(const char *text, GError **error);
void mixture_free(Mixture *mixture);
/* Whether the rule goes with the list. */
bool mixture_check(const Mixture *mixture, const MixtureRule *rule, GError **error);
/* Sets the weights by the rule, which has been checked; rows and tokens are those of an epoch of each dataset. Returns
 * the rows of an epoch of the mixture. */
int64_t mixture_weigh(Mixture *mixture, const MixtureRule *rule, const int64_t rows[], const int64_t tokens[]);
/* The dataset of row i and the row within it: the dataset furthest behind its share of max(i, 1) rows, the first of
 * equals. Any row is near a known one: those of a period, or every 2^16th of those walked before. */
int mixture_at(Mixture *mixture, int64_t row, int64_t *within);
