/* generate.h: text from a model: greedy decoding, sampling and beam search over batches of prompts, and T5's span
 * filling. */
#pragma once

#include "eval/generation.h"
#include "eval/sampler.h"
#include "model/decoder.h"
#include "text/tokenizer.h"

typedef struct GenerateOptions {
    Sampling sampling;
    int32_t beams;         /* 1 means no beam search; > 1 requires temperature 0 */
    double length_penalty; /* of beam search, ≥ 0 */
    int32_t n;             /* answers per prompt: samples, or the best beams (n ≤ beams) */
    int64_t max_tokens;    /* of an answer, EOS included */
    uint64_t seed;
    TokenList eos;         /* any of these ends an answer; n = 0 means only max_tokens does */
    int32_t decoder_start; /* first input token of a decoder that has an encoder */
} GenerateOptions;

/* prompts: the encoder's input, EOS included, or the text that a decoder-only model continues. out (prompts->n × n);
 * ids is NULL where beam search found fewer than n. The random numbers of an answer are a function of (seed,
 * first_prompt + number of the prompt, number of the answer): how prompts are batched does not matter. logprob is the
 * model's, after the repetition penalty and before temperature, top_k and top_p. */
bool generate(Model *model, const Prompts *prompts, int64_t first_prompt, const GenerateOptions *options,
              Generation *out, GError **error);

/* Text of the input, each sentinel replaced by the answer's span for it; a sentinel that the answer lacks stays. Free
 * with g_free. */
char *generate_fill(const Tokenizer *tok, const int32_t *inputs, int64_t n_inputs, const GArray *answer,
                    GError **error);
