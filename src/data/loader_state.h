/* loader_state.h: the fields of a Loader, for loader.c (reading) and loader_open.c (opening). */
#pragma once

#include "data/batch.h"
#include "data/chunks.h"
#include "data/data_config.h"
#include "data/epoch_plan.h"

#define LOADER_PART_SHIFT                                                                                              \
    40 /* a global sample index (below 2^48) holds the dataset's number in a mixture from this bit on */

/* Memory for the tokens and the side data of one chunk. */
typedef struct LoaderText {
    int32_t *tokens; /* (raw_length) */
    GByteArray *side;
} LoaderText;

typedef struct Loader {
    int users;        /* number of references (loader_share); always 1 in the loaders of `parts` */
    Mixture *mixture; /* NULL means a single dataset; the loader of a mixture uses only `mixture`, `parts`, n_packed,
                         config and objective */
    struct Loader *parts[MIXTURE_MAX]; /* one loader per dataset of the mixture */

    Dataset *data;
    Chunks *chunks;
    int32_t decoder_start; /* id before the targets in the decoder's stream */
    uint64_t seed;
    int64_t first_sample; /* the dataset's number in a mixture, shifted by LOADER_PART_SHIFT, so that samples of two
                             datasets never share dropout masks */
    bool held_out, static_masks;
    bool fixed_order; /* packed sequences have the same order and text in every epoch (MIXTURE_CONCAT_WEIGHTED) */
    const Objective *objective;
    ObjectiveConfig config; /* after Objective.plan */
    bool *continues;        /* (vocab) the memory of config.continues, freed with the loader; NULL means none */
    uint8_t *piece_starts;  /* (vocab) that of config.piece_starts */
    EpochPlan *plan;        /* NULL means that every packed sequence holds one sample */
    const CompatKind
        *compat; /* the other program whose order of samples is used; NULL means the order of loam, made of `chunks` */
    void *index; /* index that `compat` made, used instead of `chunks` and `plan` */
    int64_t n_packed; /* number of packed sequences in an epoch */

    GMutex mutex;        /* protects the fields below, `chunks`, `plan` and `mixture` */
    LoaderText texts[2]; /* the chunk of the current sample, and for sentence pairs one of another document */
    Example example;
} Loader;

/* The random decisions of the objective (Objective.choose) about sample number `sample` of an epoch. */
Choice loader_choose(const Loader *loader, int64_t sample);
/* Seed of the order of packed sequences: one constant for all held-out data, otherwise loader->seed. */
uint64_t loader_order_seed(const Loader *loader);
