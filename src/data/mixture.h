/* mixture.h: samples several datasets by weights, as if they were one. The dataset that packed sequence i of the
 * mixture comes from depends only on i and the weights. */
#pragma once

#include "base/amount.h"
#include "base/error.h"

#include <stdint.h>

#define MIXTURE_MAX 254 /* largest number of datasets in a mixture, as in Megatron */

/* The meaning of the weights in a list of datasets. MIXTURE_SHARES: shares of the packed sequences of the mixture.
 * MIXTURE_EPOCHS: the number of epochs of each dataset in one epoch of the mixture. MIXTURE_CONCAT_WEIGHTED: shares of
 * an epoch that ends when the first dataset has been read completely, as in AST-T5's ConcatWeightedDataset. */
typedef enum MixtureWeights { MIXTURE_SHARES, MIXTURE_EPOCHS, MIXTURE_CONCAT_WEIGHTED } MixtureWeights;
extern const char *const mixture_weights_names[];

/* How the weights of a list are read, and how they are computed for a list without weights. */
typedef struct MixtureRule {
    int weights;        /* MixtureWeights; for lists with weights */
    double temperature; /* for lists without weights: the weight of a dataset is proportional to min(size, cap)^(1 /
                           temperature); 0 means unset and counts as 1 */
    Amount
        cap; /* for lists without weights: cap in samples or tokens, which is also the unit of `size`; 0 means no cap */
} MixtureRule;

typedef struct Mixture {
    int n;                       /* datasets */
    char *paths[MIXTURE_MAX];    /* path of each dataset */
    bool weighted;               /* the list has weights */
    double given[MIXTURE_MAX];   /* weights as in the list; all 1 for a list without weights */
    double weights[MIXTURE_MAX]; /* share of each dataset, with sum 1; without weights equal until mixture_weigh */
    /* The weights as integers without a common divisor, with sum `period`; 0 means that these would be too large. */
    int64_t shares[MIXTURE_MAX], period;
    /* A cache for mixture_at: of the packed sequences [0, index) of the mixture, counts[k] come from dataset k. */
    int64_t index, counts[MIXTURE_MAX];
    GArray *marks;  /* of int64_t[n]: element i holds `counts` for index = anchor + i * 2^16 */
    int64_t anchor; /* index of marks[0]: 0 or a multiple of the period */
} Mixture;

/* Parses a list of datasets: "PATH", "PATH,PATH" or "PATH:WEIGHT,PATH:WEIGHT", like Megatron's --data-path; or the path
 * of a JSON file of weights, which language_weights_list converts to the form with weights. Free with mixture_free. */
Mixture *mixture_parse(const char *text, GError **error);
void mixture_free(Mixture *mixture);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Mixture, mixture_free)
/* Fails if the list has weights and the rule has a temperature or a cap, which are for lists without weights. */
bool mixture_check(const Mixture *mixture, const MixtureRule *rule, GError **error);
/* Computes the weights by a rule that mixture_check has accepted. packed, tokens: (n) number of packed sequences and of
 * tokens in an epoch of each dataset. Returns the number of packed sequences in an epoch of the mixture. */
int64_t mixture_weigh(Mixture *mixture, const MixtureRule *rule, const int64_t packed[], const int64_t tokens[]);
/* Returns the dataset from which packed sequence i of the mixture comes; *within becomes its number in that dataset. It
 * is the dataset for which weight * max(i, 1) - (number of packed sequences taken from it before i) is largest; of
 * equal datasets the first is taken. The time is bounded, since the counts after whole periods follow from the weights,
 * and the counts before every 2^16th are cached. */
int mixture_at(Mixture *mixture, int64_t i, int64_t *within);

/* ---- language_weights.c: reads files of weights of languages, {"python": 0.4, "text": 0.1, …}, which may be given
 * instead of a list of datasets. AST-T5's FOLDER/data_weights.json means the datasets FOLDER/python/train, … and the
 * held-out sets FOLDER/python/valid, …; PREFIX_weights.json, which loam prepare --by-language writes, means
 * PREFIX_python, … and PREFIX_python-valid, … ---- */

/* Whether the value of data.train or data.valid is the path of a file of weights of languages: it ends in ".json". */
bool language_weights_is(const char *option);
/* Converts a file of weights to a list for data.train: "PATH:WEIGHT,PATH:WEIGHT"; or, with `valid`, for data.valid,
 * with those held-out sets that exist: "python:PATH,text:PATH". Free with g_free. */
char *language_weights_list(const char *path, bool valid, GError **error);
