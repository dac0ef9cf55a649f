/* prepare_pipeline.h: tokenizes documents with one thread that reads and many threads (workers) that tokenize. A job is
 * a group of documents; pipeline_next returns jobs in the order in which they were read, and the number of jobs in
 * memory is bounded. So the output does not depend on the number of workers, and memory use is bounded. */
#pragma once

#include "data/prepare/prepare.h"
#include "data/prepare/repeats.h"

#include <stddef.h>

/* A document of a job. */
typedef struct PipelineDocument {
    size_t begin, bytes;               /* range within the job's text */
    guint first_id, n_ids;             /* range within the job's ids */
    guint first_sequence, n_sequences; /* range within the job's sequences */
    int field;                         /* with fields_apart: index of the field of the document; otherwise 0 */
    bool valid;                        /* the document belongs to the held-out set */
    Dropped dropped;  /* why PrepareOptions.rules leave the document out; unless DROPPED_NOT, it is not tokenized */
    ProgramTree tree; /* with PrepareOptions.programs: facts about the document's syntax tree */
} PipelineDocument;

typedef enum JobState { JOB_FREE, JOB_ENCODING, JOB_ENCODED } JobState;

typedef struct PipelineJob {
    JobState state;
    GString *text;
    GArray *documents;  /* of PipelineDocument */
    GArray *ids;        /* of int32_t */
    GArray *sequences;  /* of guint: number of ids of each sequence */
    GArray *n_nodes;    /* of guint, with programs: number of nodes of each sequence */
    GArray *nodes;      /* of TreeNode, with programs: nodes of all sequences, one after another */
    GArray *signatures; /* of RepeatSignature, with CleaningRules.repeats: one per document */
    char *where;        /* file and line of the job's first document */
    int64_t duplicates, empty,
        unlicensed;      /* number of documents left out while reading: repeated, empty, without an accepted licence */
    double least_hash;   /* smallest hash, in [0, 1), of the job's documents (the hash by which --valid chooses held-out
                            documents); 1 means that the job has no document */
    uint64_t done_bytes; /* number of bytes on disk that had been read when the job was complete */
    GError *error;       /* error that ends the run after the documents of this job; NULL means none */
    bool last;           /* no job comes after this one */
} PipelineJob;

typedef struct Pipeline Pipeline;

/* Starts the threads; NULL on an error. seen: the set of texts read so far; NULL keeps repeated documents. */
Pipeline *pipeline_open(const Tokenizer *tok, Corpus *corpus, SeenTable *seen, const PrepareOptions *options,
                        GError **error);
/* Stops and joins the threads and frees the pipeline. May be called at any time. */
void pipeline_close(Pipeline *pipeline);
/* Returns the next job, tokenized. It is valid until the next call. */
PipelineJob *pipeline_next(Pipeline *pipeline);

/* ---- outputs (prepare_outputs.c) ---- */

enum { TRAIN, VALID, N_PARTS }; /* of each output */

/* Writes the weights of the languages, with sum 1: {"python": 0.4, "text": 0.1, …}, into the file at
 * prepare_weights_path, which data.train accepts (data/mixture.h), without languages that have no documents. */
bool prepare_weights_write(const PrepareOptions *options, const PrepareStats *stats, GError **error);

/* ---- sentences.c: splits text into sentences. The rules: a sentence ends
 * - after 。！？｡ and the closing quotes and brackets that follow;
 * - after . ! ? … and the closing quotes and brackets that follow, before white space, unless the next letter is lower
 * case, or the . follows a single capital letter (an initial) or a known abbreviation (Dr., e.g., No. …);
 * - at an empty line ---- */

/* Finds the next sentence of the UTF-8 text [*at, end), without white space at its ends, and moves *at past it. False
 * if only white space is left. keep_newlines: white space that contains a newline is part of the sentence before it. */
bool sentence_next(const char **at, const char *end, bool keep_newlines, const char **sentence, size_t *bytes);

/* ---- unknown_characters.c: counts, for each of several datasets, the characters of texts that a tokenizer does not
 * know, which alone become its unknown token ---- */

typedef struct UnknownCharacters UnknownCharacters;
UnknownCharacters *unknown_characters_new(const Tokenizer *tok, int n_sets);
void unknown_characters_free(UnknownCharacters *unknown);
/* Counts the unknown characters of a UTF-8 text of dataset `set`. */
void unknown_characters_add(UnknownCharacters *unknown, int set, const char *text, size_t bytes);
/* Writes a dataset's five commonest ones to `out`, commonest first, space-separated; control characters as U+000A. */
void unknown_characters_commonest(const UnknownCharacters *unknown, int set, char *out, size_t capacity);
