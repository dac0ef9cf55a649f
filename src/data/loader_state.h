/* loader_state.h: the inside of Loader, for the files that open it and that read from it. */
#pragma once

#include "data/batch.h"
#include "data/data_config.h"
#include "data/pack.h"
#include "data/pieces.h"

#define LOADER_PART_SHIFT 40 /* sample numbers stay below 2^48, as philox_attention wants them */

typedef struct Loader {
    Mixture *mixture; /* NULL: one dataset; else the rows are those of the parts, whose form is the first one's */
    struct Loader *parts[MIXTURE_MAX];

    Dataset *data;
    Pieces *pieces;
    int32_t decoder_start;
    uint64_t seed;
    int64_t
        first_sample; /* of a mixture: the dataset's number above bit LOADER_PART_SHIFT; no two share dropout masks */
    bool held_out, static_masks;
    int64_t memory_rows;
    const Objective *objective;
    ObjectiveConfig config;
    bool *continues;          /* (vocab) or NULL */
    PackPlan *plan;           /* NULL: a row is a sample */
    const CompatKind *compat; /* NULL: pieces; else an index instead of them */
    void *index;
    int64_t n_rows; /* of an epoch */

    GMutex mutex;                         /* guards what follows, pieces and mixture */
    int32_t *tokens, *other;              /* (raw_length) */
    int64_t *sentences, *other_sentences; /* (raw_length); NULL where sentences do not matter */
    Example example;
} Loader;

/* What is decided about a sample before its text is read. */
Choice loader_choose(const Loader *loader, int64_t sample);
