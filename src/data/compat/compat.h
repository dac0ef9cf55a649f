/* compat.h: the header of data/compat for files outside it: reproduces the samples of other programs (Megatron,
 * fairseq, t5-experiments) and their order (option data.compat). An index, computed as the other program computes it,
 * says which tokens sample i of an epoch takes. With data.compat every packed sequence holds one sample. */
#pragma once

#include "base/amount.h"
#include "data/dataset/dataset.h"
#include "data/objectives/objectives.h"

typedef enum Compat { COMPAT_NONE, COMPAT_MEGATRON, COMPAT_FAIRSEQ, COMPAT_T5_EXPERIMENTS } Compat;
/* The values of data.compat: "none", "megatron", …, NULL. */
extern const char *const compat_names[];

/* fairseq's --sample-break-mode: where text is split into samples (see fairseq_blocks.h). */
typedef enum BreakMode { BREAK_NONE, BREAK_COMPLETE, BREAK_COMPLETE_DOC, BREAK_EOS } BreakMode;
extern const char *const break_mode_names[];

/* Arguments of CompatKind.open. The dataset, the objective and the config must outlive the index. */
typedef struct CompatSpec {
    const Dataset *data;
    const Objective *objective;
    const ObjectiveConfig *config; /* after Objective.plan */
    uint32_t seed;
    int64_t n_samples; /* Megatron and t5-experiments: number of samples for which the index is made; 0 means one pass
                          over the text */
    BreakMode break_mode; /* fairseq */
    Amount batch;         /* fairseq: batch size in samples or tokens */
    bool held_out;        /* true for evaluation data, false for training data */
} CompatSpec;

/* The functions that reproduce one other program for one objective. */
typedef struct CompatKind {
    Compat compat;
    const char *objective; /* name of the objective */
    /* Makes the index, which `close` frees. *n_samples becomes the number of samples in an epoch; 0 means that the text
     * is too short for a sample. */
    void *(*open)(const CompatSpec *spec, int64_t *n_samples, GError **error);
    void (*close)(void *index);
    /* Sets *out to sample number `sample` of an epoch, 0 <= sample < n_samples. Not thread-safe. */
    bool (*fill)(void *index, int64_t epoch, int64_t sample, Example *out, GError **error);
} CompatKind;

/* The functions for a program and an objective. If that program is not supported for the objective, NULL with an error
 * that names the supported objectives. */
const CompatKind *compat_find(Compat compat, const char *objective, GError **error);
