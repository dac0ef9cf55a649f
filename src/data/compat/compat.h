/* compat.h: the way into data/compat: the order of samples of reference systems. An index, made as such a system makes
 * it, says which tokens sample i of an epoch takes. Samples are not packed: each is a packed sequence by itself. */
#pragma once

#include "base/amount.h"
#include "data/dataset/dataset.h"
#include "data/objectives/objectives.h"

typedef enum Compat { COMPAT_NONE, COMPAT_MEGATRON, COMPAT_FAIRSEQ, COMPAT_T5_EXPERIMENTS } Compat;
extern const char *const compat_names[];

/* fairseq's --sample-break-mode: where the text is cut (fairseq_blocks.h). */
typedef enum BreakMode { BREAK_NONE, BREAK_COMPLETE, BREAK_COMPLETE_DOC, BREAK_EOS } BreakMode;
extern const char *const break_mode_names[];

/* The dataset, objective and config must outlive the index. */
typedef struct CompatSpec {
    const Dataset *data;
    const Objective *objective;
    const ObjectiveConfig *config; /* after Objective.plan */
    uint32_t seed;
    int64_t n_samples;    /* Megatron and t5-experiments: samples that the order is made for; 0 means one pass over the
                             text */
    BreakMode break_mode; /* fairseq */
    Amount batch;         /* fairseq: samples or tokens of a batch */
    bool held_out;        /* data to evaluate on */
} CompatSpec;

/* The index of a reference system for one objective. */
typedef struct CompatKind {
    Compat compat;
    const char *objective; /* its name */
    /* *n_samples: samples of an epoch; 0 means that the text is too short for one. */
    void *(*open)(const CompatSpec *spec, int64_t *n_samples, GError **error);
    void (*close)(void *index);
    /* Makes a sample, 0 <= sample < n_samples. Not thread-safe. */
    bool (*fill)(void *index, int64_t epoch, int64_t sample, Example *out, GError **error);
} CompatKind;

/* The index of a system for an objective; where there is none, an error that names the objectives it has. */
const CompatKind *compat_find(Compat compat, const char *objective, GError **error);
