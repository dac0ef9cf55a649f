/* batch.h: the input of one forward pass (one microbatch): token streams without padding, their targets and labels. */
#pragma once

#include <stdint.h>

/* The tokens of several sequences, one sequence after another. Attention does not cross sequences; a sequence is a
 * whole sample, or one document of a sample if samples are split into documents. Tokens from n_tokens to max_tokens are
 * unused: they belong to no sequence and have id 0. */
typedef struct TokenStream {
    int32_t max_tokens, n_tokens; /* capacity; tokens in use */
    int32_t max_seq, n_seq;       /* capacity; sequences in use */
    int32_t max_len;              /* greatest length of a sequence; fixed, like the capacities */
    int32_t *ids;                 /* (max_tokens) */
    int32_t *position_ids;        /* (max_tokens) position within the document */
    int32_t *token_types;         /* (max_tokens) 0, or 1 in the second sentence of a pair */
    int64_t *sample;           /* (max_tokens) global sample index; selects the dropout mask, with dropout_position */
    int32_t *dropout_position; /* (max_tokens) position within the sample, counted across its documents */
    int32_t *cu;               /* (max_seq + 1) cumulative lengths: sequence s is tokens [cu[s], cu[s + 1]) */
    int32_t *prefix_length; /* (max_seq) number of tokens at the start of a sequence that every query may attend to; 0
                               means none (plain causal attention in a decoder) */
} TokenStream;

/* T5 fills both streams: sequence i of enc and sequence i of dec are the same sample, and dec.ids are the targets
 * shifted right. For GPT, enc has capacity 0; for BERT, dec has capacity 0. The loss stream is dec, or enc for BERT. */
typedef struct Batch {
    TokenStream enc, dec;
    int32_t *targets;        /* (max_tokens of the loss stream) the id to predict at each token */
    float *weights;          /* (max_tokens of the loss stream) 1 if the loss counts the token, otherwise 0 */
    int32_t *target_indices; /* (n_targets) indices of the tokens with weight 1, ascending */
    int32_t *target_ids;     /* (n_targets) targets of the tokens in target_indices */
    int32_t *labels; /* (max_seq of the loss stream) label of each sequence, by LabelKind: its class, or -1 for none;
                        the bits of a float (LABELS_VALUE); the first token of the span, counted within the sequence
                        (LABELS_SPAN); the index of the right sequence, repeated in all sequences of the sample
                        (LABELS_CHOICE) */
    int32_t *label_ends;  /* (max_seq of the loss stream) LABELS_SPAN: last token of the span */
    float *label_weights; /* (max_seq of the loss stream) for sentence pairs: 1 if the sequence's label is not negative,
                             otherwise 0 */
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

/* An empty batch for max_samples samples of up to enc_len and dec_len tokens; 0 means that the batch does not have this
 * stream. */
Batch *batch_new(int32_t max_samples, int32_t enc_len, int32_t dec_len);
/* An empty batch for `rows` packed sequences of up to row_samples samples each. */
Batch *batch_new_packed(int32_t rows, int32_t row_samples, int32_t enc_len, int32_t dec_len);
void batch_free(Batch *batch);
void batch_clear(Batch *batch);
/* Appends one example to both streams: the inputs to enc; decoder_start and all targets except the last to dec. */
void batch_add(Batch *batch, int64_t sample, const int32_t *inputs, int64_t n_inputs, const int32_t *targets,
               int64_t n_targets, int32_t decoder_start);
/* Appends a sequence to the only stream of a batch. */
void batch_add_sequence(Batch *batch, const BatchSequence *sequence);
/* The stream whose tokens count for train.length and for tokens per second: enc, or dec for GPT. */
const TokenStream *batch_input_stream(const Batch *batch);
/* The stream that targets, weights and labels belong to. */
const TokenStream *batch_loss_stream(const Batch *batch);

/* ---- a single stream ---- */

/* Makes `stream` empty, with room for max_tokens tokens and max_seq sequences of up to max_len tokens. */
void stream_init(TokenStream *stream, int64_t max_tokens, int32_t max_seq, int32_t max_len);
void stream_clear(TokenStream *stream); /* makes it empty again */
void stream_free(TokenStream *stream);  /* frees its arrays */
/* Appends a sequence of n tokens of a sample, with position ids counted from 0 and dropout positions from
 * first_dropout_position; ids and token types are 0 until the caller sets them. Returns the index of the first token.
 */
int32_t stream_add(TokenStream *stream, int64_t sample, int32_t first_dropout_position, int64_t n);
/* Number of tokens that a model computes with: n_tokens, rounded up so that matrix products have few different shapes;
 * at most max_tokens. */
int32_t stream_rows(const TokenStream *stream);
/* A new stream for stream_copy_behind_memory. It has the capacities of `from`, plus n_memory tokens in max_len and
 * n_memory tokens per packed sequence (`rows` of them) in max_tokens. stream_close frees it. */
TokenStream *stream_memory_new(const TokenStream *from, int32_t n_memory, int32_t rows);
void stream_close(TokenStream *stream);
/* Copies the sequences of `from` with n_memory placeholder tokens (id 0) before each of them, for the model's learned
 * memory tokens. Position ids and dropout positions count the placeholders. */
void stream_copy_behind_memory(TokenStream *to, const TokenStream *from, int32_t n_memory);
