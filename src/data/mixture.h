/* mixture.h: several datasets as one, in an order that is a function of the row's index. */
#pragma once

#include "base/error.h"

#include <stdint.h>

#define MIXTURE_MAX 254 /* datasets; Megatron's bound */

typedef struct Mixture {
    int n;
    char *paths[MIXTURE_MAX];
    double weights[MIXTURE_MAX]; /* sum 1 */
    /* Where the walk stands: rows before `index` took counts[k] of dataset k. */
    int64_t index, counts[MIXTURE_MAX];
} Mixture;

/* "PREFIX", or "PREFIX:WEIGHT,PREFIX:WEIGHT": Megatron's blend. mixture_free frees. */
Mixture *mixture_parse(const char *text, GError **error);
void mixture_free(Mixture *mixture);
/* The dataset of row i and the row within it: the dataset furthest behind its share of max(i, 1) rows, the first of
 * equals. */
int mixture_at(Mixture *mixture, int64_t row, int64_t *within);
