/* prepare.h: corpus to token dataset: PREFIX.bin, PREFIX.idx, PREFIX.json, and PREFIX-valid.* with documents held out.
 * Fields kept apart make a dataset each. The same input gives the same bytes whatever the number of workers. */
#pragma once

#include "data/prepare/fairseq_lines.h"
#include "data/prepare/prepare_options.h"

#define PREPARE_FIELDS 16 /* at most, kept apart */

typedef struct PrepareCounts {
    int64_t documents, valid_documents, tokens, valid_tokens;
} PrepareCounts;

typedef struct PrepareStats {
    int64_t documents, valid_documents, duplicates, empty, skipped, tokens, valid_tokens;
    PrepareCounts fields[PREPARE_FIELDS]; /* the same of each field; without corpus.fields_apart one */
    int64_t too_short, too_long;
    int64_t passed_over;                /* files of folders that are no text */
    int64_t nuls;                       /* NUL characters of JSON, replaced by U+FFFD */
    int64_t text_files, text_documents; /* .txt, and the documents that they gave */
    uint64_t bytes;                     /* of text */
    double seconds;
} PrepareStats;

/* The prefix of a field's dataset: OUT, or OUT_FIELD_document (…_sentence where they are split) of fields kept apart.
 * g_free. */
char *prepare_prefix(const PrepareOptions *options, int field);
bool prepare_run(const Tokenizer *tok, char *const *paths, int n_paths, const PrepareOptions *options,
                 PrepareStats *stats, GError **error);
