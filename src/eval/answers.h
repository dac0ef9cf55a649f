/* answers.h: the texts that a model writes to given inputs, many inputs side by side. */
#pragma once

#include "model/decoder.h"
#include "text/tokenizer.h"

typedef struct AnswerOptions {
    int64_t max_tokens;            /* of an answer, EOS included */
    int32_t beams;                 /* 1 means greedy decoding; more: beam search with T5X's length penalty 0.6 */
    const struct Ranking *ranking; /* choose among its labels (rank.h) instead of writing; NULL means write */
} AnswerOptions;

typedef struct Answer {
    char *text;            /* g_free */
    double logprob;        /* natural log-probability of the answer's tokens, EOS included */
    double *probabilities; /* (n_probabilities) of classes or choices; NULL means none. g_free */
    int64_t n_probabilities;
    double *label_logprobs; /* (labels of the ranking) natural log-probability of each label; NULL means none. g_free */
} Answer;
void answer_clear(Answer *answer);

/* prompts: the encoder's inputs, EOS included, or the tokens that a decoder alone continues. out (prompts->n). */
bool answers(Model *model, const Tokenizer *tok, const Prompts *prompts, const AnswerOptions *options, Answer *out,
             GError **error);
