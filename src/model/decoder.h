/* decoder.h: decoding with key/value caches, for several prompts at once. In a pipeline all stages make the same calls
 * and get the same results; each has the caches of its own blocks. Each prompt has n_each sequences (beams or
 * samples): sequence r belongs to prompt r / n_each. In an encoder-decoder the prompts are the encoder's input and the
 * sequences start empty; in a decoder-only model each sequence starts as a copy of its prompt. */
#pragma once

#include "model/model.h"

/* The caches of all sequences of one batch of prompts. */
typedef struct Decoder Decoder;
typedef struct Prompts {
    const int32_t *ids; /* tokens of all prompts, one prompt after another */
    const int32_t *cu; /* (n + 1) cumulative lengths: prompt i has the tokens cu[i] … cu[i + 1] - 1; in a part of more
                          prompts cu[0] is above 0 */
    int32_t n;         /* number of prompts */
} Prompts;

/* Runs the prompts through the encoder, or, in a decoder-only model, all tokens of each prompt but the last (in a
 * prefix LM all tokens) through the decoder. max_tokens: limit on calls of decoder_step. The decoder lies in the memory
 * of the model's activations, which grows if it is too small; so until decoder_close the model cannot have another
 * decoder or run a microbatch. A prompt too long, or an id outside the vocabulary, is a LOAM_ERROR_USER. */
Decoder *decoder_open(Model *model, const Prompts *prompts, int32_t n_each, int64_t max_tokens, GError **error);
void decoder_close(Decoder *decoder);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Decoder, decoder_close)
/* Measures, with a model on the null device, the memory that a decoder needs for n prompts of `length` tokens and one
 * answer of max_tokens per prompt; the arenas of the model's workspace hold the result. LOAM_ERROR_USER if the model
 * does not accept such lengths. */
bool decoder_measure(Model *dry, int32_t n, int32_t length, int32_t max_tokens, GError **error);
/* Appends tokens[r] to sequence r and returns the logits (sequences, V) f32 of the next token; the caller may change
 * them, and they are valid until the next call. At the first call tokens[r] is the decoder start token or, in a
 * decoder-only model, the last token of the prompt. */
float *decoder_step(Decoder *decoder, const int32_t *tokens);
/* The k most likely next tokens of each sequence, by falling logits; equal logits are ordered by rising id. */
typedef struct TopTokens {
    int32_t k;              /* number of tokens per sequence */
    const int32_t *ids;     /* (sequences, k) */
    const float *logits;    /* (sequences, k) */
    const double *log_sums; /* (sequences) log Σ exp of all logits of a sequence */
} TopTokens;
/* As decoder_step, but copies only the k largest logits of each sequence to the host. k is at most the size of the
 * vocabulary and at most DECODER_TOP × n_each: enough for a beam search with n_each beams, in which every end token of
 * TokenRoles may be among the most likely. The result is valid until the next call. */
enum { DECODER_TOP = TOKEN_LIST_MOST + 1 };
TopTokens decoder_step_top(Decoder *decoder, const int32_t *tokens, int32_t k);
/* Sequence r becomes a copy of sequence from[r], which must belong to the same prompt (beam search). */
void decoder_reorder(Decoder *decoder, const int32_t *from);
