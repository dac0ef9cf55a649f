/* batch.h: what a step eats: packed streams of real tokens. */
#pragma once

#include <stdint.h>

/* Rows are tokens; sequences lie back to back; rows from n_used to n_rows belong to no sequence and hold id 0, weight
 * 0. A sequence is what attention sees as one: a sample, or one of the documents that a sample is cut into. */
typedef struct TokenStream {
    int32_t n_rows, n_used, n_seq, max_seq; /* capacity; filled; sequences; capacity in sequences */
    int32_t max_len;                        /* the longest a sequence may be: fixed, like n_rows */
    int32_t *ids;                           /* (n_rows) */
    int32_t *position;                      /* (n_rows) in its sample: what dropout masks depend on */
    int32_t *place;                         /* (n_rows) what positions are embedded by: starts again with a document */
    int32_t *segment;                       /* (n_rows) token type */
    int64_t *sample;                        /* (n_rows) global sample index */
    int32_t *cu;                            /* (max_seq + 1) cumulative lengths */
    int32_t *prefix;                        /* (max_seq) tokens that every query sees; 0: plainly causal, or not */
} TokenStream;

/* T5 fills both streams: sequence i of enc and sequence i of dec are the same sample, and dec.ids are the targets
 * shifted right. GPT has an empty enc (no rows), BERT an empty dec. The loss falls on dec where there is one, else on
 * enc. */
typedef struct Batch {
    TokenStream enc, dec;
    int32_t *targets;                           /* (rows of the loss) */
    float *weights;                             /* (rows of the loss) 1 where the loss falls, else 0 */
    int32_t *target_rows, *target_ids;          /* (n_targets) the rows where the loss falls, and their targets */
    int32_t *labels;                            /* (sequences of the loss) class of a sequence, -1: none */
    int64_t first_sample, n_samples, n_targets; /* n_targets: sum of weights */
} Batch;

/* One sequence of a batch with a single stream. */
typedef struct BatchSequence {
    int64_t sample, n;
    const int32_t *ids, *targets; /* (n) */
    const float *weights;         /* (n) 0 or 1 */
    const int32_t *place;         /* (n), or NULL: 0, 1, 2, … */
    const int32_t *segment;       /* (n), or NULL: 0 */
    int32_t first_position;       /* of its first token in the sample; 0 begins a sample */
    int32_t prefix, label;
} BatchSequence;

/* A length of 0 leaves that stream empty. */
Batch *batch_new(int32_t max_samples, int32_t enc_len, int32_t dec_len);
/* With room for `row_samples` sequences in each of `rows`. */
Batch *batch_new_packed(int32_t rows, int32_t row_samples, int32_t enc_len, int32_t dec_len);
void batch_free(Batch *batch);
void batch_clear(Batch *batch);
/* Appends one example: inputs to enc, targets to dec with decoder_start before them. */
void batch_add(Batch *batch, int64_t sample, const int32_t *inputs, int64_t n_inputs, const int32_t *targets,
               int64_t n_targets, int32_t decoder_start);
/* Appends to the only stream of a batch. */
void batch_add_sequence(Batch *batch, const BatchSequence *sequence);
/* An empty stream with room for what `from` has room for and n_first rows before one sequence in each of `rows`. */
TokenStream *stream_behind_new(const TokenStream *from, int32_t n_first, int32_t rows);
void stream_close(TokenStream *stream);
/* Fills it with the sequences of `from`, each behind n_first rows of id 0, which are the first of the sample and take
 * the first places. */
void stream_put_behind(TokenStream *to, const TokenStream *from, int32_t n_first);
/* The stream whose tokens are counted: what is read. */
const TokenStream *batch_input_stream(const Batch *batch);
/* The stream that targets, weights and labels belong to. */
const TokenStream *batch_loss_stream(const Batch *batch);
/* to becomes equal to from; both of the same capacity. */
void batch_copy(Batch *to, const Batch *from);
