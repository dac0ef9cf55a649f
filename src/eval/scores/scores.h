/* scores.h: scores of predictions against references, each equal to that of the Python package that people compare with
 * (docs/scores.md names it). A score is a row of one table; computing it is a pure function of its input and options.
 *
 * Shares and correlations are in percent, as T5X and the leaderboards print them: an accuracy of 0.5 is 50. This header
 * is the only one of the folder that files outside of it include. */
#pragma once

#include "base/error.h"

#include <stdint.h>

/* What the texts of an input stand for. */
typedef enum ScoreTakes {
    SCORE_TEXTS,    /* a generated text */
    SCORE_LABELS,   /* the name of a class, compared byte for byte; one reference an example */
    SCORE_NUMBERS,  /* a decimal number; a prediction that is none, or not finite, counts as -1, as in T5 */
    SCORE_TAGS,     /* the tags of a sequence, separated by white space; as many in the reference */
    SCORE_LOGPROBS, /* the natural log-probability of a target; the reference is its number of tokens */
} ScoreTakes;

/* n examples. Texts are UTF-8 without NUL. */
typedef struct ScoreInput {
    int64_t n;
    const char *const *predictions;       /* (n) */
    const char *const *const *references; /* (n) lists that end with NULL; an empty one means: there is no answer */
    const char *const *groups; /* (n) the question that an example belongs to; NULL means that there are no groups */
} ScoreInput;

typedef enum BleuTokenizer { BLEU_13A, BLEU_INTL, BLEU_CHAR, BLEU_NONE } BleuTokenizer;
typedef enum BleuSmoothing { BLEU_EXP, BLEU_FLOOR, BLEU_ADD_K, BLEU_NO_SMOOTHING } BleuSmoothing;
/* Their names, in the order of the enumerations, as sacreBLEU's signature spells them. */
extern const char *const bleu_tokenizers[], *const bleu_smoothings[]; /* NULL-terminated */

/* Zeros are the defaults, but for `confidence`, which resampling needs. */
typedef struct ScoreOptions {
    const char *positive;      /* f1, multirc: the label that is looked for; NULL means "1" */
    const char *const *labels; /* f1_macro, f1_micro: average over these; NULL means all that occur. NULL-terminated */
    bool stem;                 /* ROUGE: words are stemmed as rouge_score does with use_stemmer=True */
    bool lowercase;            /* BLEU, chrF: case does not count */
    BleuTokenizer tokenizer;
    BleuSmoothing smoothing;
    double smooth_value; /* of floor and add-k; 0 means sacreBLEU's: 0.1 and 1 */
    int word_order;      /* chrF: n-grams of words up to this length, at most 2; 2 is chrF++ */
    int64_t resamples;   /* bootstrap samples that intervals are made from; 0 means no intervals */
    double confidence;   /* share of the resamples within an interval, in percent: 95 */
    uint64_t seed;       /* of the resamples */
} ScoreOptions;

#define SCORE_MAX_VALUES 8

typedef struct ScoreValue {
    const char *name;
    double value;     /* NaN where it is undefined, as the correlation with a constant is */
    double low, high; /* bounds of its interval; NaN without resamples */
} ScoreValue;

typedef struct ScoreResult {
    int n_values;
    ScoreValue values[SCORE_MAX_VALUES];
    int64_t n_units;   /* examples; for a score of groups, groups */
    int64_t n_invalid; /* predictions that mean nothing to this score, and count as wrong */
    char *signature;   /* sacreBLEU's line of settings, or NULL */
} ScoreResult;

typedef struct ScoreKind ScoreKind;

/* The score of a name such as "rouge_l"; NULL if there is none. */
const ScoreKind *score_find(const char *name);
/* The i-th of all scores, in the order of docs/scores.md; NULL behind the last. */
const ScoreKind *score_at(size_t i);
const char *score_name(const ScoreKind *kind);
const char *score_does(const ScoreKind *kind); /* one line of help */
ScoreTakes score_takes(const ScoreKind *kind);
bool score_takes_groups(const ScoreKind *kind);

/* An input that the score cannot take is the user's error, which names the example, counted from 1. The result is to be
 * cleared after success. */
bool score_compute(ScoreResult *out, const ScoreKind *kind, const ScoreInput *in, const ScoreOptions *options,
                   GError **error);
void score_result_clear(ScoreResult *result);

/* ---- reading an input from files ---- */

typedef struct ScoreFiles {
    const char *predictions;
    const char *const *references; /* files with a line each for the lines of `predictions`; several references are
                                      several files. NULL-terminated; empty means that `predictions` has all */
    const char *groups;            /* NULL, or a file with the group of each example */
} ScoreFiles;

/* Examples read from files: an input that owns its texts. */
typedef struct ScoreExamples {
    ScoreInput in;
    GStringChunk *texts;
    GPtrArray *predictions, *references, *groups;
    const char *const **lists;
} ScoreExamples;

/* Reads the examples of a score that takes `takes`. A file is one text a line, or, where its name ends in .jsonl, one
 * JSON value a line: a string, a number, null for a question without an answer, or an array: of references, and for
 * SCORE_TAGS of tags. Without files of references, lines are objects with "prediction" and "reference" (or
 * "references"), and "group"; for SCORE_LOGPROBS "logprob" and "tokens", as `loam eval --score` writes them. Files may
 * be .gz or .zst. The examples are to be cleared, after an error too. */
bool score_read(ScoreExamples *out, const ScoreFiles *files, ScoreTakes takes, GError **error);
void score_examples_clear(ScoreExamples *examples);
