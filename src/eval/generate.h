/* generate.h: text generation for batches of prompts by greedy decoding, sampling or beam search; and insertion of a
 * T5's answer into the masked spans of its input. */
#pragma once

#include "eval/beam.h"
#include "eval/sampler.h"
#include "model/decoder.h"

typedef struct GenerateOptions {
    Sampling sampling;
    int32_t beams;         /* 1 means no beam search; beam search requires temperature 0 */
    double length_penalty; /* alpha of beam search (beam.h), ≥ 0 */
    int32_t n;             /* answers per prompt: samples, or the best n ≤ beams hypotheses */
    int64_t max_tokens;    /* limit on the tokens of an answer, EOS included */
    uint64_t seed;         /* seed of the sampling */
    TokenList eos;         /* each of these ids ends an answer; an empty list means that only max_tokens ends it */
    int32_t decoder_start; /* first input token of the decoder of an encoder-decoder */
} GenerateOptions;

/* Most tokens of an answer to a prompt of n_prompt tokens: max_tokens, or fewer if the model lacks positions. */
int64_t generate_most_tokens(const ModelConfig *config, int64_t n_prompt, int64_t max_tokens);

/* prompts: the encoder's inputs, EOS included, or the tokens that a decoder-only model continues. Answers have at most
 * generate_most_tokens tokens. out (prompts->n × options->n): Generation.ids is NULL if beam search found fewer than n
 * hypotheses. Random numbers depend only on (seed, first_prompt + index of the prompt, index of the answer), not on
 * batches. Generation.logprob is computed after the repetition penalty and before temperature, top_k and top_p. */
bool generate(Model *model, const Prompts *prompts, int64_t first_prompt, const GenerateOptions *options,
              Generation *out, GError **error);

/* The text of the input, with every sentinel replaced by the span that follows the same sentinel in the answer; a
 * sentinel that is missing in the answer stays. g_free. */
char *generate_fill(const Tokenizer *tok, const int32_t *inputs, int64_t n_inputs, const GArray *answer,
                    GError **error);
