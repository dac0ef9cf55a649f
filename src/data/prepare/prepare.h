/* prepare.h: the way into data/prepare: from a corpus to token datasets. prepare_run writes PREFIX.bin, PREFIX.idx and
 * PREFIX.json, and the same files of PREFIX-valid with the documents held out; fairseq_lines.h writes datasets of
 * lines. The same input gives the same bytes for any number of workers. */
#pragma once

#include "data/corpus/corpus.h"
#include "data/dataset/dataset.h"
#include "data/prepare/cleaning.h"
#include "data/prepare/fairseq_lines.h"
#include "data/prepare/programs.h"

/* The options of loam prepare. */
typedef struct PrepareOptions {
    CorpusOptions corpus;           /* `interrupted` ends the run with an error */
    const char *out;                /* path prefix of the dataset */
    double valid;                   /* share of documents to hold out, chosen by a hash of their text */
    int workers;                    /* threads that tokenize; 0 means every core */
    bool append_eod;                /* EOS after every document */
    bool specials;                  /* special tokens in the text are recognised */
    bool fairseq;                   /* write fairseq's files into the folder `out`: dict.txt, train.*, valid.* */
    bool split_sentences;           /* each sentence is a sequence; otherwise each document is one */
    bool keep_newlines;             /* with split_sentences: white space after a sentence belongs to it if it has
                                       a newline */
    int64_t min_tokens, max_tokens; /* shorter and longer documents are left out; 0 means no limit */
    bool keep_duplicates;           /* otherwise a document is left out if its text was seen before (xxh3-128) */
    const CleaningRules *rules;     /* documents that are left out; NULL means none */
    bool by_language;               /* with programs: a dataset for each language, and one for text */
    bool ndtypes, ffrecord;         /* with by_language and fairseq: AST-T5's layout, OUT/LANG/train with its side files
                                       (trees/ndtypes.h); ffrecord: with ndtypes/ffr */
    double temperature;             /* with by_language: OUT_weights.json gives each language the share size ^ (1 /
                                       temperature), in segments; 0 means 1 */
    double text_share;              /* share of text there; 0 means by its size */
    const ProgramOptions *programs; /* parse documents and cut them into segments, each a document of the dataset; NULL
                                       means that documents are text */
} PrepareOptions;

#define PREPARE_FIELDS  16 /* fields at most with corpus.fields_apart, each of which becomes a dataset */
#define PREPARE_OUTPUTS (GRAMMARS_MAX + 1) /* datasets to train on at most: of fields, or of languages */

typedef struct PrepareCounts {
    DatasetCounts train, valid;
} PrepareCounts;

typedef struct PrepareStats {
    PrepareCounts all, outputs[PREPARE_OUTPUTS]; /* of each dataset to train on, and the part held out of it */
    int64_t duplicates, empty;                   /* documents left out */
    int64_t too_short, too_long;                 /* documents outside min_tokens and max_tokens */
    int64_t dropped[DROPPED_REASONS];            /* by CleaningRules */
    CorpusCounts corpus;
    uint64_t bytes; /* bytes of text */
    double seconds;
    ProgramCounts programs[GRAMMARS_MAX + 1]; /* with PrepareOptions.programs: [0] text, [1 + i] of grammar i */
} PrepareStats;

/* Number of datasets to train on: of fields with corpus.fields_apart; with by_language of the text and of all grammars,
 * those without a document are not written; otherwise 1. */
int prepare_outputs(const PrepareOptions *options);
/* With by_language: "text" for dataset 0, "python" for that of a grammar. g_free. */
char *prepare_language(const PrepareOptions *options, int output);
/* The file of the weights of the languages: OUT_weights.json, with ndtypes OUT/data_weights.json. g_free. */
char *prepare_weights_path(const PrepareOptions *options);
/* The files that a run with these options may write or remove, NULL-terminated; g_strfreev. */
char **prepare_files(const PrepareOptions *options);

/* The path prefix of a dataset: OUT; with corpus.fields_apart OUT_FIELD_document (OUT_FIELD_sentence with
 * split_sentences); with by_language OUT_LANG; for the documents held out with "-valid" after it; with fairseq
 * OUT/train and OUT/valid; with ndtypes OUT/LANG/train and OUT/LANG/valid. g_free. */
char *prepare_prefix(const PrepareOptions *options, int output, bool valid);
/* Suffixes of the files of a dataset, NULL-terminated. */
extern const char *const prepare_suffixes[];
bool prepare_run(const Tokenizer *tok, char *const *paths, int n_paths, const PrepareOptions *options,
                 PrepareStats *stats, GError **error);
