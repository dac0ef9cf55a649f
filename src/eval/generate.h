/* generate.h: text from a model: greedy decoding with a key/value cache, and T5's span filling. */
#pragma once

#include "model/model.h"
#include "text/tokenizer.h"

typedef struct Generation {
    GArray *ids;    /* int32_t, without the decoder start and the closing EOS; owned */
    double logprob; /* of what was generated, EOS included */
    bool finished;  /* ended by EOS, not by the limit */
} Generation;

/* inputs: what the encoder reads, EOS included. */
bool generate_greedy(Model *model, const int32_t *inputs, int64_t n_inputs, int64_t max_tokens, int32_t eos,
                     Generation *out, GError **error);
void generation_clear(Generation *generation);

/* The input with every sentinel replaced by what the answer puts in its place; a sentinel the answer lacks stays. Text;
 * g_free. */
char *generate_fill(const Tokenizer *tok, const int32_t *inputs, int64_t n_inputs, const GArray *answer,
                    GError **error);
