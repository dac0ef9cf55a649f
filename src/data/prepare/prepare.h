/* prepare.h: the header of data/prepare for files outside it: makes token datasets of a corpus. prepare_run writes
 * PREFIX.bin, PREFIX.idx and PREFIX.json, and the same files of PREFIX-valid with the held-out documents;
 * fairseq_lines.h makes datasets of lines. The same input gives the same bytes for any number of workers. */
#pragma once

#include "data/corpus/corpus.h"
#include "data/dataset/dataset.h"
#include "data/prepare/cleaning.h"
#include "data/prepare/fairseq_lines.h"
#include "data/prepare/programs.h"

/* The options of loam prepare. */
typedef struct PrepareOptions {
    CorpusOptions corpus; /* `interrupted` ends the run with an error */
    const char *out;      /* path prefix of the dataset */
    double valid;         /* fraction of the documents to hold out, chosen by a hash of their text */
    int workers;          /* number of threads that tokenize; 0 means one per core */
    bool append_eod;      /* put EOS after every document */
    bool specials;        /* special tokens that are written in the text become their ids */
    bool fairseq;         /* write fairseq's files into the folder `out`: dict.txt, train.*, valid.* */
    bool split_sentences; /* each sentence is a sequence; otherwise each document is one */
    bool keep_newlines;   /* with split_sentences: white space after a sentence is part of it if it has a newline */
    int64_t min_tokens, max_tokens; /* shorter and longer documents are left out; 0 means no limit */
    bool keep_duplicates; /* false means that a document is left out if an earlier document has the same text (xxh3-128)
                           */
    const CleaningRules *rules; /* rules by which documents are left out; NULL means none */
    bool by_language;           /* with `programs`: one dataset per language, and one for text */
    bool ndtypes, ffrecord;     /* with by_language and fairseq: AST-T5's layout, OUT/LANG/train with its side files
                                   (trees/ndtypes.h); ffrecord: with ndtypes/ffr */
    double temperature; /* with by_language: in OUT_weights.json the weight of a language is in proportion to size ^ (1
                           / temperature), size in segments; 0 means 1 */
    double text_share;  /* weight of text in that file; 0 means by its size */
    const ProgramOptions *programs; /* how documents are parsed and split into segments, each of which becomes a
                                       document of the dataset; NULL means that documents are text */
} PrepareOptions;

#define PREPARE_FIELDS  16                 /* most fields with corpus.fields_apart, each of which becomes a dataset */
#define PREPARE_OUTPUTS (GRAMMARS_MAX + 1) /* most training datasets: of fields, or of languages */

typedef struct PrepareCounts {
    DatasetCounts train, valid;
} PrepareCounts;

typedef struct PrepareStats {
    PrepareCounts all, outputs[PREPARE_OUTPUTS]; /* outputs: counts of each training dataset and its held-out set */
    int64_t duplicates, empty;                   /* documents left out: repeated ones, empty ones */
    int64_t too_short, too_long;                 /* documents left out: by min_tokens, by max_tokens */
    int64_t dropped[DROPPED_REASONS];            /* documents left out, by the reasons of CleaningRules */
    CorpusCounts corpus;
    uint64_t bytes; /* bytes of text */
    double seconds;
    ProgramCounts
        programs[GRAMMARS_MAX + 1]; /* with PrepareOptions.programs: [0] counts text, [1 + i] programs of grammar i */
} PrepareStats;

/* Number of training datasets: with corpus.fields_apart the number of fields; with by_language 1 (text) + the number of
 * grammars, although datasets without documents are not written; otherwise 1. */
int prepare_outputs(const PrepareOptions *options);
/* With by_language: the language of a dataset: "text" for dataset 0, otherwise the name of the grammar, such as
 * "python". g_free. */
char *prepare_language(const PrepareOptions *options, int output);
/* The path of the file with the weights of the languages: OUT_weights.json, with ndtypes OUT/data_weights.json. g_free.
 */
char *prepare_weights_path(const PrepareOptions *options);
/* The files that a run with these options may write or remove, NULL-terminated; g_strfreev. */
char **prepare_files(const PrepareOptions *options);

/* The path prefix of a dataset: OUT; with corpus.fields_apart OUT_FIELD_document (OUT_FIELD_sentence with
 * split_sentences); with by_language OUT_LANG; for held-out documents followed by "-valid"; with fairseq OUT/train and
 * OUT/valid; with ndtypes OUT/LANG/train and OUT/LANG/valid. g_free. */
char *prepare_prefix(const PrepareOptions *options, int output, bool valid);
/* Suffixes of the files of a dataset, NULL-terminated. */
extern const char *const prepare_suffixes[];
bool prepare_run(const Tokenizer *tok, char *const *paths, int n_paths, const PrepareOptions *options,
                 PrepareStats *stats, GError **error);
