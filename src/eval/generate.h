/* generate.h: text generation for batches of prompts: greedy decoding, sampling and beam search; and T5's filling of
 * masked spans. */
#pragma once

#include "eval/generation.h"
#include "eval/sampler.h"
#include "model/decoder.h"
#include "text/tokenizer.h"

typedef struct GenerateOptions {
    Sampling sampling;
    int32_t beams;         /* 1 means no beam search; more require temperature 0 */
    double length_penalty; /* of beam search, ≥ 0 */
    int32_t n;             /* answers per prompt: samples, or the best n ≤ beams hypotheses */
    int64_t max_tokens;    /* of an answer, EOS included */
    uint64_t seed;
    TokenList eos;         /* each of these ids ends an answer; an empty list means that only max_tokens does */
    int32_t decoder_start; /* first input token of the decoder of an encoder-decoder */
} GenerateOptions;

/* The most tokens of an answer to a prompt of n_prompt tokens: max_tokens, or fewer where the positions of the model
 * end before. */
int64_t generate_most_tokens(const ModelConfig *config, int64_t n_prompt, int64_t max_tokens);

/* prompts: the encoder's input, EOS included, or the tokens that a decoder alone continues. Answers end after
 * generate_most_tokens. out (prompts->n × n
 * answers); ids is NULL where beam search found fewer than n. Random numbers depend on (seed, first_prompt + index of
 * the prompt, index of the answer) only, not on how prompts are batched. logprob is after the repetition penalty and
 * before temperature, top_k and top_p. */
bool generate(Model *model, const Prompts *prompts, int64_t first_prompt, const GenerateOptions *options,
              Generation *out, GError **error);

/* The text of the input with every sentinel replaced by the span that follows this sentinel in the answer; a sentinel
 * that the answer lacks is left in. g_free. */
char *generate_fill(const Tokenizer *tok, const int32_t *inputs, int64_t n_inputs, const GArray *answer,
                    GError **error);
