/* batch.h: what a step eats: packed streams of real tokens. */
#pragma once

#include <stdint.h>

/* Rows are tokens; sequences lie back to back; rows from n_used to n_rows belong to no sequence and hold id 0, weight
 * 0. */
typedef struct TokenStream {
    int32_t n_rows, n_used, n_seq, max_seq; /* capacity; filled; sequences; capacity in sequences */
    int32_t max_len;                        /* the longest a sequence may be: fixed, like n_rows */
    int32_t *ids;                           /* (n_rows) */
    int32_t *position;                      /* (n_rows) in its sample */
    int64_t *sample;                        /* (n_rows) global sample index */
    int32_t *cu;                            /* (max_seq + 1) cumulative lengths */
} TokenStream;

/* Sequence i of enc and sequence i of dec are the same sample. dec.ids are the targets shifted right. */
typedef struct Batch {
    TokenStream enc, dec;
    int32_t *targets;                           /* (dec.n_rows) */
    float *weights;                             /* (dec.n_rows) 1 where the loss falls, else 0 */
    int64_t first_sample, n_samples, n_targets; /* n_targets: sum of weights */
} Batch;

Batch *batch_new(int32_t max_samples, int32_t enc_len, int32_t dec_len);
void batch_free(Batch *batch);
void batch_clear(Batch *batch);
/* Appends one example: inputs to enc, targets to dec with decoder_start before them. */
void batch_add(Batch *batch, int64_t sample, const int32_t *inputs, int64_t n_inputs, const int32_t *targets,
               int64_t n_targets, int32_t decoder_start);
/* to becomes equal to from; both of the same capacity. */
void batch_copy(Batch *to, const Batch *from);
