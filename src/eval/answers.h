/* answers.h: lets a model answer many inputs in one batch: by generating text, or by choosing among labels. */
#pragma once

#include "model/decoder.h"
#include "text/tokenizer.h"

typedef struct AnswerOptions {
    int64_t max_tokens; /* limit on the tokens of an answer, EOS included */
    int32_t beams;      /* 1 means greedy decoding; more means beam search with T5X's length penalty 0.6 */
    const struct Ranking
        *ranking; /* the answer is one of these labels (rank.h); NULL means that the model generates it */
} AnswerOptions;

typedef struct Answer {
    char *text;            /* g_free */
    double logprob;        /* natural log-probability of the answer's tokens, EOS included */
    double *probabilities; /* (n_probabilities) probability of each class or choice; NULL means none. g_free */
    int64_t n_probabilities;
    double *label_logprobs; /* (number of labels) natural log-probability of each label of the ranking; NULL means none.
                               g_free */
} Answer;
void answer_clear(Answer *answer);

/* prompts: the encoder's inputs, EOS included, or the tokens that a decoder-only model continues. out (prompts->n):
 * free each with answer_clear. */
bool answers(Model *model, const Tokenizer *tok, const Prompts *prompts, const AnswerOptions *options, Answer *out,
             GError **error);
