/* compat.h: the header of data/compat for files outside it: reproduces the order of samples of other systems (Megatron,
 * fairseq, t5-experiments). An index, computed as that system does, says which tokens sample i of an epoch takes. Every
 * packed sequence holds one sample. */
#pragma once

#include "base/amount.h"
#include "data/dataset/dataset.h"
#include "data/objectives/objectives.h"

typedef enum Compat { COMPAT_NONE, COMPAT_MEGATRON, COMPAT_FAIRSEQ, COMPAT_T5_EXPERIMENTS } Compat;
extern const char *const compat_names[];

/* fairseq's --sample-break-mode: where text is split into samples (fairseq_blocks.h). */
typedef enum BreakMode { BREAK_NONE, BREAK_COMPLETE, BREAK_COMPLETE_DOC, BREAK_EOS } BreakMode;
extern const char *const break_mode_names[];

/* The dataset, objective and config must outlive the index. */
typedef struct CompatSpec {
    const Dataset *data;
    const Objective *objective;
    const ObjectiveConfig *config; /* after Objective.plan */
    uint32_t seed;
    int64_t n_samples; /* Megatron and t5-experiments: number of samples for which the order is made; 0 means one pass
                          over the text */
    BreakMode break_mode; /* fairseq */
    Amount batch;         /* fairseq: batch size in samples or tokens */
    bool held_out;        /* evaluation data */
} CompatSpec;

/* The functions of one reference system for one objective. */
typedef struct CompatKind {
    Compat compat;
    const char *objective; /* name of the objective */
    /* Makes the index. *n_samples becomes the number of samples of an epoch; 0 means that the text is too short for a
     * sample. */
    void *(*open)(const CompatSpec *spec, int64_t *n_samples, GError **error);
    void (*close)(void *index);
    /* Makes one sample, 0 <= sample < n_samples. Not thread-safe. */
    bool (*fill)(void *index, int64_t epoch, int64_t sample, Example *out, GError **error);
} CompatKind;

/* The row for a system and an objective; NULL with an error that names the supported objectives if there is none. */
const CompatKind *compat_find(Compat compat, const char *objective, GError **error);
