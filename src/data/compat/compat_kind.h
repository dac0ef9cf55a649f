/* compat_kind.h: the order of samples of a reference system. An index, made as that system makes it, says which tokens
 * sample i of an epoch takes. Samples are not packed: each is a packed sequence by itself. */
#pragma once

#include "base/amount.h"
#include "data/dataset/dataset.h"
#include "data/objectives/objectives.h"

typedef enum Compat { COMPAT_NONE, COMPAT_MEGATRON, COMPAT_FAIRSEQ, COMPAT_T5_EXPERIMENTS } Compat;

/* fairseq's --sample-break-mode: where the text is cut (fairseq_blocks.h). */
typedef enum BreakMode { BREAK_NONE, BREAK_COMPLETE, BREAK_COMPLETE_DOC, BREAK_EOS } BreakMode;

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
    void *(*open)(const CompatSpec *spec, GError **error);
    void (*close)(void *index);
    int64_t (*count)(const void *index); /* samples of an epoch; 0 means that the text is too short for one */
    /* Makes a sample, 0 <= sample < count. Not thread-safe. */
    bool (*fill)(void *index, int64_t epoch, int64_t sample, Example *out, GError **error);
} CompatKind;
