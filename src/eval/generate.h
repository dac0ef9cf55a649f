/* generate.h: text from a model: greedy decoding, sampling and beam search over batches of prompts, and T5's span
 * filling. */
#pragma once

#include "eval/generation.h"
#include "eval/sampler.h"
#include "model/decoder.h"
#include "text/tokenizer.h"

typedef struct GenerateOptions {
    Sampling sampling;
    int32_t beams;         /* 1: no search; more: temperature 0 */
    double length_penalty; /* of the search, ≥ 0 */
    int32_t n;             /* answers to a prompt: samples, or the best of the search (n ≤ beams) */
    int64_t max_tokens;    /* of an answer, its end included */
    uint64_t seed;
    TokenList eos;         /* each ends an answer; none: only max_tokens does */
    int32_t decoder_start; /* what a decoder behind an encoder reads first */
} GenerateOptions;

/* prompts: what the encoder reads, EOS included, or what a decoder alone goes on from. out (prompts->n × n); ids is
 * NULL where a search found fewer. The random numbers of an answer are a function of (seed, first_prompt + number of
 * the prompt, number of the answer): how prompts are batched does not matter. logprob is the model's, after the
 * repetition penalty and before temperature, top_k and top_p. */
bool generate(Model *model, const Prompts *prompts, int64_t first_prompt, const GenerateOptions *options,
              Generation *out, GError **error);

/* The input with every sentinel replaced by what the answer puts in its place; a sentinel the answer lacks stays. Text;
 * g_free. */
char *generate_fill(const Tokenizer *tok, const int32_t *inputs, int64_t n_inputs, const GArray *answer,
                    GError **error);
