/* answers.h: the answer of a model to an input: text that it generates, or a label; and the error for a model that
 * computes infinities or NaN. */
#pragma once

#include "model/decoder.h"

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
static inline void answer_clear(Answer *answer)
{
    g_clear_pointer(&answer->text, g_free);
    g_clear_pointer(&answer->probabilities, g_free);
    g_clear_pointer(&answer->label_logprobs, g_free);
}

/* Sets the error LOAM_ERROR_USER, "the model gives WHAT of VALUE: CAUSE", and returns false. CAUSE is the range of f16
 * if the model computes in fp16, else the model's weights. */
bool fail_not_finite(const Model *model, const char *what, double value, GError **error);
/* Fails with fail_not_finite on the first of the n numbers that is not finite. */
bool check_finite(const Model *model, const char *what, const float *numbers, int64_t n, GError **error);
