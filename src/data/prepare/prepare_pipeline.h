/* prepare_pipeline.h: documents to token ids with one reader and many workers. Jobs come out in the order in which they
 * were read, and a bounded number of them is under way: neither the bytes nor the memory depend on the workers. */
#pragma once

#include "data/prepare/prepare_options.h"
#include "data/prepare/seen_table.h"
#include "text/tokenizer.h"

typedef struct PipelineDocument {
    size_t begin, bytes; /* in the job's text */
    guint first_id, n_ids;
    guint first_sequence, n_sequences; /* in the job's sequences */
    int field;                         /* of the object; 0 where fields are not kept apart */
    bool valid;                        /* held out */
} PipelineDocument;

typedef enum JobState { JOB_FREE, JOB_READ, JOB_ENCODING, JOB_ENCODED } JobState;

/* A few documents that travel together. */
typedef struct PipelineJob {
    JobState state;
    GString *text;
    GArray *documents; /* of PipelineDocument */
    GArray *ids;       /* of int32_t */
    GArray *sequences; /* of guint: how many ids each has */
    char *where;       /* of the first document */
    int64_t duplicates, empty;
    uint64_t done_bytes; /* of the corpus as stored, when this job was read */
    GError *error;       /* ends the run, after the documents before it */
    bool last;
} PipelineJob;

typedef struct Pipeline Pipeline;

/* Starts the threads. `seen` may be NULL: duplicates are kept. */
Pipeline *pipeline_open(const Tokenizer *tok, Corpus *corpus, SeenTable *seen, const PrepareOptions *options);
/* Stops and joins the threads, also in the middle. */
void pipeline_close(Pipeline *pipeline);
/* The next job, encoded; the one before it is given back. */
PipelineJob *pipeline_next(Pipeline *pipeline);
