/* batch.h: the input of one forward pass (one microbatch): token streams without padding, their targets and labels. */
#pragma once

#include <stdint.h>

/* The tokens of several sequences, one sequence after another. A sequence is what attention takes as one: a whole
 * sample, or one document of a sample that is cut into documents. Tokens from n_tokens to max_tokens belong to no
 * sequence and have id 0. */
typedef struct TokenStream {
    int32_t max_tokens, n_tokens; /* capacity; tokens in use */
    int32_t max_seq, n_seq;       /* capacity; sequences in use */
    int32_t max_len;              /* no sequence may be longer; fixed like the capacities */
    int32_t *ids;                 /* (max_tokens) */
    int32_t *position_ids;        /* (max_tokens) position within the document */
    int32_t *token_types;         /* (max_tokens) 0, or 1 in the second sentence of a pair */
    int64_t *sample;           /* (max_tokens) global sample index; selects the dropout mask, with dropout_position */
    int32_t *dropout_position; /* (max_tokens) position within the sample, counted across its documents */
    int32_t *cu;               /* (max_seq + 1) cumulative lengths: sequence s is tokens [cu[s], cu[s + 1]) */
    int32_t *prefix_length;    /* (max_seq) tokens at the start of a sequence that every query may attend to; 0 means
                                  none: plain causal attention in a decoder */
} TokenStream;

/* T5 fills both streams: sequence i of enc and sequence i of dec are the same sample, and dec.ids are the targets
 * shifted right. For GPT enc has capacity 0, for BERT dec has. The loss stream is dec where dec has a capacity, else
 * enc. */
typedef struct Batch {
    TokenStream enc, dec;
    int32_t *targets;        /* (max_tokens of the loss stream) the id to predict at each token */
    float *weights;          /* (max_tokens of the loss stream) 1 where the loss counts the token, else 0 */
    int32_t *target_indices; /* (n_targets) indices of the tokens with weight 1, ascending */
    int32_t *target_ids;     /* (n_targets) targets of the tokens in target_indices */
    int32_t *labels;         /* (max_seq of the loss stream) class of each sequence; -1 means none. Of a value: the bits
                                of the float; of a span: the token at which it begins, counted in the sequence; of a
                                choice: the number of the right sequence of the sample, in all its sequences. */
    int32_t *label_ends;     /* (max_seq of the loss stream) last token of a span */
    float *label_weights; /* (max_seq of the loss stream) of sentence pairs: 1 where `labels` is not negative, else 0 */
    int64_t first_sample; /* global index of the first sample */
    int64_t n_samples, n_targets;
} Batch;

/* One sequence to append to a batch with a single stream. */
typedef struct BatchSequence {
    int64_t sample, n;              /* global sample index; tokens */
    const int32_t *ids, *targets;   /* (n) */
    const float *weights;           /* (n) 0 or 1 */
    const int32_t *position_ids;    /* (n); NULL means 0, 1, 2, … */
    const int32_t *token_types;     /* (n); NULL means 0 */
    int32_t first_dropout_position; /* position of the first token within its sample; 0 starts a new sample */
    int32_t prefix_length, label, label_end;
} BatchSequence;

/* An empty batch for max_samples samples; length 0 means that the batch has no such stream. */
Batch *batch_new(int32_t max_samples, int32_t enc_len, int32_t dec_len);
/* An empty batch for `rows` packed sequences of up to row_samples samples each. */
Batch *batch_new_packed(int32_t rows, int32_t row_samples, int32_t enc_len, int32_t dec_len);
void batch_free(Batch *batch);
void batch_clear(Batch *batch);
/* Appends one example to both streams: the inputs to enc; decoder_start and the targets but the last to dec. */
void batch_add(Batch *batch, int64_t sample, const int32_t *inputs, int64_t n_inputs, const int32_t *targets,
               int64_t n_targets, int32_t decoder_start);
/* Appends a sequence to the only stream of a batch. */
void batch_add_sequence(Batch *batch, const BatchSequence *sequence);
/* The stream whose tokens train.length and tokens per second count: enc where it has a capacity, else dec. */
const TokenStream *batch_input_stream(const Batch *batch);
/* The stream that targets, weights and labels belong to. */
const TokenStream *batch_loss_stream(const Batch *batch);

/* ---- one stream by itself ---- */

/* An empty stream of these capacities. */
void stream_init(TokenStream *stream, int64_t max_tokens, int32_t max_seq, int32_t max_len);
void stream_clear(TokenStream *stream); /* makes it empty again */
void stream_free(TokenStream *stream);  /* frees its arrays */
/* Appends a sequence of n tokens of a sample, with position ids from 0 and dropout positions from
 * first_dropout_position on; ids and token types are 0 until the caller sets them. Returns the index of the first
 * token. */
int32_t stream_add(TokenStream *stream, int64_t sample, int32_t first_dropout_position, int64_t n);
/* Tokens that a model computes: n_tokens, rounded up so that products of few shapes occur; at most max_tokens. */
int32_t stream_rows(const TokenStream *stream);
/* A new stream for stream_copy_behind_memory, with the capacities of `from`, but max_tokens larger by n_memory for each
 * of `rows` packed sequences, and max_len by n_memory; stream_close frees it. */
TokenStream *stream_memory_new(const TokenStream *from, int32_t n_memory, int32_t rows);
void stream_close(TokenStream *stream);
/* Copies the sequences of `from` with n_memory placeholder tokens (id 0) before each of them: the model's learned
 * memory tokens. Position ids and dropout positions count the placeholders. */
void stream_copy_behind_memory(TokenStream *to, const TokenStream *from, int32_t n_memory);
