/* prepare_pipeline.h: tokenizes documents with one reading thread and many workers. A job is a group of documents; jobs
 * come out in the order in which they were read, and the number of jobs in memory is bounded. So neither output nor
 * memory depends on the number of workers. */
#pragma once

#include "data/prepare/prepare.h"
#include "data/prepare/repeats.h"
#include "data/prepare/seen_table.h"
#include "text/tokenizer.h"

typedef struct PipelineDocument {
    size_t begin, bytes;               /* range within the job's text */
    guint first_id, n_ids;             /* range within the job's ids */
    guint first_sequence, n_sequences; /* range within the job's sequences */
    int field;                         /* index of its field; 0 without fields_apart */
    bool valid;                        /* belongs to the held-out set */
    Dropped dropped;                   /* why PrepareOptions.rules leave it out; it is then not tokenized */
    ProgramTree tree;                  /* with PrepareOptions.programs */
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
    char *where;        /* file and line of the first document */
    int64_t duplicates, empty, unlicensed;
    double least_hash;   /* smallest hash in [0, 1) of its documents, by which --valid chooses; 1 means that it has no
                            document */
    uint64_t done_bytes; /* bytes of the (compressed) corpus that had been read after this job */
    GError *error;       /* ends the run after the documents of this job; NULL means none */
    bool last;           /* no job comes after this one */
} PipelineJob;

typedef struct Pipeline Pipeline;

/* Starts the threads; NULL on an error. seen: NULL means that duplicates are kept. */
Pipeline *pipeline_open(const Tokenizer *tok, Corpus *corpus, SeenTable *seen, const PrepareOptions *options,
                        GError **error);
/* Stops and joins the threads, at any time. */
void pipeline_close(Pipeline *pipeline);
/* The next job, tokenized; the job of the call before becomes invalid. */
PipelineJob *pipeline_next(Pipeline *pipeline);
