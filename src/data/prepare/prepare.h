/* prepare.h: the way into data/prepare: from a corpus to token datasets. prepare_run writes PREFIX.bin, PREFIX.idx and
 * PREFIX.json, and the same files of PREFIX-valid with the documents held out; fairseq_lines.h writes datasets of
 * lines. The same input gives the same bytes for any number of workers. */
#pragma once

#include "data/prepare/fairseq_lines.h"
#include "data/prepare/prepare_options.h"

#define PREPARE_FIELDS 16 /* fields at most with corpus.fields_apart, each of which becomes a dataset */

typedef struct PrepareCounts {
    int64_t documents, valid_documents, tokens, valid_tokens;
} PrepareCounts;

typedef struct PrepareStats {
    int64_t documents, valid_documents, duplicates, empty, skipped, tokens, valid_tokens;
    PrepareCounts fields[PREPARE_FIELDS]; /* counts of each field; without corpus.fields_apart only fields[0] */
    int64_t too_short, too_long;          /* documents outside min_tokens and max_tokens */
    int64_t ignored;                      /* files in folders that are no text */
    int64_t nuls;                         /* NUL characters of JSON that were replaced by U+FFFD */
    int64_t text_files, text_documents;   /* .txt files, and their documents */
    uint64_t bytes;                       /* bytes of text */
    double seconds;
    ProgramCounts programs[GRAMMARS_MAX + 1]; /* with PrepareOptions.programs: [0] text, [1 + i] of grammar i */
} PrepareStats;

/* The path prefix of a field's dataset: OUT, or with corpus.fields_apart OUT_FIELD_document (OUT_FIELD_sentence with
 * split_sentences). g_free. */
char *prepare_prefix(const PrepareOptions *options, int field);
bool prepare_run(const Tokenizer *tok, char *const *paths, int n_paths, const PrepareOptions *options,
                 PrepareStats *stats, GError **error);
