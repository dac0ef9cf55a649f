/* loader_state.h: the fields of a Loader, for loader.c (reading) and loader_open.c (opening). */
#pragma once

#include "data/batch.h"
#include "data/chunks.h"
#include "data/data_config.h"
#include "data/pack.h"

#define LOADER_PART_SHIFT                                                                                              \
    40 /* the dataset's number in a mixture starts at this bit of a global sample index, which stays below 2^48 */

/* Memory for the text of one chunk. */
typedef struct LoaderText {
    int32_t *tokens; /* (raw_length) */
    GByteArray *side;
} LoaderText;

typedef struct Loader {
    Mixture *mixture; /* NULL means a single dataset; for a mixture, only these fields, n_rows, config and objective are
                         used */
    struct Loader *parts[MIXTURE_MAX];

    Dataset *data;
    Chunks *chunks;
    int32_t decoder_start; /* id before the targets in the decoder's stream */
    uint64_t seed;
    int64_t first_sample; /* the dataset's number in a mixture, shifted by LOADER_PART_SHIFT, so that samples of two
                             datasets never share dropout masks */
    bool held_out, static_masks, packed;
    bool fixed_order; /* packed sequences have the same order and text in every epoch (MIXTURE_CONCAT_WEIGHTED) */
    const Objective *objective;
    ObjectiveConfig config;   /* after Objective.plan */
    bool *continues;          /* (vocab) the array behind config.continues; NULL if that is NULL */
    PackPlan *plan;           /* NULL means that every packed sequence holds one sample */
    const CompatKind *compat; /* reference system whose order is used; NULL means the order of loam, made of `chunks` */
    void *index;              /* index of `compat`; used instead of chunks and plan */
    int64_t n_rows;           /* packed sequences of an epoch */

    GMutex mutex;        /* protects the fields below, `chunks` and `mixture` */
    LoaderText texts[2]; /* the sample's chunk, and a chunk of another document for sentence pairs */
    Example example;
} Loader;

/* Labelled data: number of tokens of the texts, without their encoded labels. */
int64_t loader_labelled_tokens(const Loader *loader);
/* The objective's decisions about a sample; sample: its index within an epoch. */
Choice loader_choose(const Loader *loader, int64_t sample);
