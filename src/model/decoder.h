/* decoder.h: decoding with key/value caches, of several prompts at once, each with as many sequences (beams or samples)
 * as the others. Sequence r belongs to prompt r / n_each. With an encoder the prompts are its input and the sequences
 * start empty; without one each sequence starts as a copy of its prompt. */
#pragma once

#include "model/model.h"

typedef struct Decoder Decoder;
typedef struct Prompts {
    const int32_t *ids; /* of all prompts, one after the other */
    const int32_t *cu;  /* (n + 1) cumulative lengths */
    int32_t n;
} Prompts;

/* Reads the prompts: all of them through the encoder, or all but their last tokens through the decoder. max_tokens:
 * limit on calls of decoder_step. It works in the memory of the model's activations, which grows where it is too small:
 * until decoder_close, the model has no other decoder and sees no microbatch. Prompts that are too long and ids outside
 * the vocabulary are LOAM_ERROR_USER. */
Decoder *decoder_open(Model *model, const Prompts *prompts, int32_t n_each, int64_t max_tokens, GError **error);
void decoder_close(Decoder *decoder);
/* Counts in the workspace of a model on the null device what a decoder of n prompts of `length` tokens each needs, with
 * one answer each; LOAM_ERROR_USER where the model does not take such lengths. */
bool decoder_measure(Model *dry, int32_t n, int32_t length, int32_t max_tokens, GError **error);
/* Appends tokens[r] to sequence r, the first time the decoder start or, without an encoder, the last token of its
 * prompt. Returns the logits (sequences, V) f32 of the token after it, which the caller may change until the next call.
 */
float *decoder_step(Decoder *decoder, const int32_t *tokens);
/* The k most likely next tokens of each sequence, in falling order of their logits, ties by rising id. */
typedef struct TopTokens {
    int32_t k;
    const int32_t *ids;     /* (sequences, k) */
    const float *logits;    /* (sequences, k) */
    const double *log_sums; /* (sequences) log Σ exp of all logits of a sequence */
} TopTokens;
/* As decoder_step, without bringing all logits to the host. k is at most the size of the vocabulary and
 * DECODER_TOP n_each. Valid until the next call. */
enum { DECODER_TOP = TOKEN_LIST_MOST + 1 };
TopTokens decoder_step_top(Decoder *decoder, const int32_t *tokens, int32_t k);
/* Sequence r becomes a copy of sequence from[r], one of the same prompt (beam search). */
void decoder_reorder(Decoder *decoder, const int32_t *from);
