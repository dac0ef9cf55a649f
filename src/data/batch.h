/* batch.h: the input of one forward pass (one microbatch): token streams without padding, with targets and labels. */
#pragma once

#include <glib.h>
#include <stdint.h>

/* The tokens of several sequences, one sequence after another. Attention does not cross sequences; a sequence is a
 * whole sample, or one document of a sample if samples are split into documents. Tokens from n_tokens to max_tokens are
 * unused: they belong to no sequence and have id 0. */
typedef struct TokenStream {
    int32_t max_tokens, n_tokens; /* capacity in tokens; number of tokens in use */
    int32_t max_seq, n_seq;       /* capacity in sequences; number of sequences in use */
    int32_t max_len;              /* largest length that a sequence may have; fixed, like the capacities */
    int32_t *ids;                 /* (max_tokens) */
    int32_t *position_ids;        /* (max_tokens) position of the token within its document */
    int32_t *token_types;         /* (max_tokens) 0, or 1 in the second sentence of a pair */
    int64_t *sample; /* (max_tokens) index of the token's sample; with dropout_position it decides the dropout mask */
    int32_t *dropout_position; /* (max_tokens) position of the token within its sample, across its documents */
    int32_t *cu;               /* (max_seq + 1) cumulative lengths: sequence s is tokens [cu[s], cu[s + 1]) */
    int32_t *prefix_length; /* (max_seq) number of tokens at the start of a sequence that every query may attend to; 0
                               means none (plain causal attention in a decoder) */
} TokenStream;

/* A batch has an encoder's stream (enc) and a decoder's stream (dec). T5 uses both: sequence i of enc and sequence i of
 * dec are the same sample, and dec.ids are the targets shifted right. For GPT, enc has capacity 0; for BERT, dec has
 * capacity 0. The loss stream, to whose tokens targets and labels belong, is dec, or enc for BERT. */
typedef struct Batch {
    TokenStream enc, dec;
    int32_t *targets;        /* (max_tokens of the loss stream) the token id to predict at each token */
    float *weights;          /* (max_tokens of the loss stream) 1 if the loss counts the token, otherwise 0 */
    int32_t *target_indices; /* (n_targets) indices of the tokens with weight 1, ascending */
    int32_t *target_ids;     /* (n_targets) the targets of the tokens in target_indices */
    int32_t *labels; /* (max_seq of the loss stream) label of each sequence, depending on the LabelKind: its class, or
                        -1 for no label; the bits of a float (LABELS_VALUE); the first token of the span, counted within
                        the sequence (LABELS_SPAN); the index of the right sequence, the same number for all sequences
                        of the sample (LABELS_CHOICE) */
    int32_t *label_ends;  /* (max_seq of the loss stream) LABELS_SPAN: last token of the span */
    float *label_weights; /* (max_seq of the loss stream) for sentence pairs: 0 if the label is negative, else 1 */
    int64_t first_sample; /* global index of the first sample */
    int64_t n_samples, n_targets;
} Batch;

/* One sequence to append to a batch with a single stream. */
typedef struct BatchSequence {
    int64_t sample, n;              /* global sample index; number of tokens */
    const int32_t *ids, *targets;   /* (n) */
    const float *weights;           /* (n) 0 or 1 */
    const int32_t *position_ids;    /* (n); NULL means 0, 1, 2, … */
    const int32_t *token_types;     /* (n); NULL means 0 */
    int32_t first_dropout_position; /* dropout_position of the first token; 0 means that a new sample starts */
    int32_t prefix_length, label, label_end;
} BatchSequence;

/* An empty batch with capacity for max_samples samples of up to enc_len tokens in enc and dec_len tokens in dec; a
 * length 0 means that the batch does not have this stream. */
Batch *batch_new(int32_t max_samples, int32_t enc_len, int32_t dec_len);
/* An empty batch for n_packed packed sequences of enc_len and dec_len tokens, of up to most_samples samples each. */
Batch *batch_new_packed(int32_t n_packed, int32_t most_samples, int32_t enc_len, int32_t dec_len);
void batch_free(Batch *batch);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Batch, batch_free)
/* Makes the batch empty; it keeps its capacity. */
void batch_clear(Batch *batch);
/* Appends one example to a batch with both streams: inputs (n_inputs) to enc; to dec the id decoder_start, then all
 * targets (n_targets) except the last, so that dec.ids are the targets shifted right. */
void batch_add(Batch *batch, int64_t sample, const int32_t *inputs, int64_t n_inputs, const int32_t *targets,
               int64_t n_targets, int32_t decoder_start);
/* Appends a sequence to a batch that has only one stream. */
void batch_add_sequence(Batch *batch, const BatchSequence *sequence);
/* The stream whose tokens are counted for train.length and for tokens per second: enc, or dec for GPT. */
const TokenStream *batch_input_stream(const Batch *batch);
/* The stream that targets, weights and labels belong to. */
const TokenStream *batch_loss_stream(const Batch *batch);

/* ---- a single stream ---- */

/* Allocates an empty stream with capacity for max_tokens tokens in max_seq sequences of up to max_len tokens each. */
void stream_init(TokenStream *stream, int64_t max_tokens, int32_t max_seq, int32_t max_len);
void stream_free(TokenStream *stream); /* frees the arrays of the stream */
/* Appends n tokens of a sample. Its position ids count from 0, its dropout positions from first_dropout_position; the
 * caller sets its ids and token types, which are 0. Returns the index of its first token. */
int32_t stream_add(TokenStream *stream, int64_t sample, int32_t first_dropout_position, int64_t n);
/* Rows (tokens) that a model computes with: n_tokens rounded up, for few shapes of products; at most max_tokens. */
int32_t stream_rows(const TokenStream *stream);
/* A new stream for stream_copy_behind_memory; free with stream_close. Its capacities are those of `from`, with max_len
 * larger by n_memory tokens and max_tokens larger by n_memory tokens for each of n_seq sequences. */
TokenStream *stream_memory_new(const TokenStream *from, int32_t n_memory, int32_t n_seq);
void stream_close(TokenStream *stream);
/* Copies `from` with n_memory placeholder tokens (id 0) before each sequence; the model replaces them by its memory
 * tokens. They have position ids and dropout positions too, so those of the text begin n_memory higher. */
void stream_copy_behind_memory(TokenStream *to, const TokenStream *from, int32_t n_memory);
