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
    CorpusOptions corpus; /* the flag corpus.interrupted ends the run with an error */
    const char *out;      /* path prefix of the dataset */
    double valid;         /* fraction of the documents to hold out, chosen by a hash of their text */
    int workers;          /* number of threads that tokenize; 0 means one per core */
    bool append_eod;      /* put EOS after every document */
    bool specials;        /* special tokens written in the text ("[MASK]") become their ids; false: they are encoded as
                             ordinary text */
    bool fairseq;         /* write fairseq's files dict.txt, train.*, valid.* into the folder `out` */
    bool split_sentences; /* each sentence becomes a sequence of the dataset; false: each document does */
    bool keep_newlines;   /* with split_sentences: white space after a sentence that contains a newline is part of the
                             sentence */
    int64_t min_tokens, max_tokens; /* shorter and longer documents are left out; 0 means no limit */
    bool keep_duplicates; /* false means that a document is left out if an earlier document has the same text (xxh3-128)
                           */
    const CleaningRules *rules; /* rules by which documents are left out; NULL means none */
    bool by_language;           /* with `programs`: write one dataset per programming language, and one for text */
    bool ndtypes,
        ffrecord; /* ndtypes, with by_language and fairseq: write AST-T5's layout, OUT/LANG/train with its side files
                     (trees/ndtypes.h); ffrecord: write the side files in the format FFRecord too */
    double temperature; /* with by_language: the weight of a language in OUT_weights.json is proportional to (number of
                           segments) ^ (1 / temperature); 0 means 1 */
    double text_share;  /* with by_language: weight of text in OUT_weights.json, between 0 and 1; 0 means that it is
                           computed like that of a language */
    const ProgramOptions *programs; /* how programs are parsed and split into segments; each segment becomes a document
                                       of the dataset; NULL means that all documents are text */
} PrepareOptions;

#define PREPARE_FIELDS 16 /* largest number of fields with corpus.fields_apart; each field becomes a dataset */
#define PREPARE_OUTPUTS                                                                                                \
    (GRAMMARS_MAX + 1) /* largest number of training datasets: one per field, or one per language and one for text */

typedef struct PrepareCounts {
    DatasetCounts train, valid;
} PrepareCounts;

typedef struct PrepareStats {
    PrepareCounts all, outputs[PREPARE_OUTPUTS]; /* all: sums over all datasets; outputs[i]: counts of training dataset
                                                    i and of its held-out set */
    int64_t duplicates, empty;   /* number of documents left out because they repeat an earlier one, or are empty */
    int64_t too_short, too_long; /* number of documents left out by min_tokens, by max_tokens */
    int64_t dropped[DROPPED_REASONS]; /* number of documents left out for each reason (cleaning.h) */
    CorpusCounts corpus;
    uint64_t bytes; /* number of bytes of text in all documents */
    double seconds;
    ProgramCounts programs[GRAMMARS_MAX + 1]; /* with PrepareOptions.programs: programs[0] counts text, programs[1 + i]
                                                 the programs of grammar i */
} PrepareStats;

/* Number of training datasets: with corpus.fields_apart the number of fields; with by_language 1 (text) + the number of
 * grammars, including datasets that are not written because they have no documents; otherwise 1. */
int prepare_outputs(const PrepareOptions *options);
/* The language of training dataset number `output`, with by_language: "text" for dataset 0, otherwise the name of a
 * grammar, such as "python". Free with g_free. */
char *prepare_language(const PrepareOptions *options, int output);
/* The path of the file with the weights of the languages: OUT_weights.json, with ndtypes OUT/data_weights.json. Free
 * with g_free. */
char *prepare_weights_path(const PrepareOptions *options);
/* The paths of all files that prepare_run with these options may write or remove, NULL-terminated; free with
 * g_strfreev. */
char **prepare_files(const PrepareOptions *options);

/* The path prefix of training dataset number `output`, or with `valid` of its held-out set. It is OUT; with
 * corpus.fields_apart OUT_FIELD_document (OUT_FIELD_sentence with split_sentences); with by_language OUT_LANG; the
 * held-out set has "-valid" at its end. With fairseq it is OUT/train and OUT/valid; with ndtypes OUT/LANG/train and
 * OUT/LANG/valid. Free with g_free. */
char *prepare_prefix(const PrepareOptions *options, int output, bool valid);
/* The suffixes of the files of a dataset (".bin", …), NULL-terminated. */
extern const char *const prepare_suffixes[];
/* Reads the corpus and writes all datasets. *stats says what was written and what was left out. */
bool prepare_run(const Tokenizer *tok, char *const *paths, int n_paths, const PrepareOptions *options,
                 PrepareStats *stats, GError **error);
