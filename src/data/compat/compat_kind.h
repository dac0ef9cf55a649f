/* compat_kind.h: the samples of a reference system, in its order: an index of its own says which tokens sample i takes.
 * Nothing is packed: a row is a sample. */
#pragma once

#include "base/amount.h"
#include "data/dataset/dataset.h"
#include "data/objectives/objectives.h"

typedef enum Compat { COMPAT_NONE, COMPAT_MEGATRON, COMPAT_FAIRSEQ, COMPAT_T5_EXPERIMENTS } Compat;

/* Where fairseq cuts its text (fairseq_blocks.h). */
typedef enum BreakMode { BREAK_NONE, BREAK_COMPLETE, BREAK_COMPLETE_DOC, BREAK_EOS } BreakMode;

typedef struct CompatSpec {
    const Dataset *data;           /* outlives the index */
    const ObjectiveConfig *config; /* planned; outlives the index */
    uint32_t seed;
    int64_t n_samples;    /* Megatron: that the order is made for; 0: one pass over the text */
    BreakMode break_mode; /* fairseq, as what follows */
    Amount batch;         /* samples or tokens */
    bool held_out;
} CompatSpec;

/* One index, for the objectives that the reference system has it for. */
typedef struct CompatKind {
    Compat compat;
    const char *objective;
    void *(*open)(const CompatSpec *spec, GError **error);
    void (*close)(void *index);
    int64_t (*count)(const void *index); /* samples of an epoch; 0: the text is too short for one */
    /* 0 <= sample < count. Not thread-safe. */
    bool (*fill)(void *index, int64_t epoch, int64_t sample, Example *out, GError **error);
} CompatKind;
