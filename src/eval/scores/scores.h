/* scores.h: scores of predictions against references (accuracy, F1, ROUGE, BLEU …), each equal to the score of a Python
 * package that docs/scores.md names. A score is an entry of one table; computing it is a pure function of its input and
 * options.
 *
 * Shares and correlations are in percent, as T5X and the leaderboards print them: an accuracy of 0.5 is 50. */
#pragma once

#include "base/error.h"

#include <jansson.h>
#include <stdint.h>

/* What the prediction and the references of an example are. */
typedef enum ScoreTakes {
    SCORE_TEXTS,    /* generated text */
    SCORE_LABELS,   /* names of classes, compared byte for byte */
    SCORE_NUMBERS,  /* decimal numbers; a prediction that is no finite number counts as -1, as in T5 */
    SCORE_TAGS,     /* the tags of a sequence, separated by white space; the reference has as many */
    SCORE_LOGPROBS, /* prediction: natural log-probability of a target; reference: its number of tokens */
} ScoreTakes;

/* n examples. Texts are UTF-8 without NUL. */
typedef struct ScoreInput {
    int64_t n;
    const char *const *predictions; /* (n) */
    /* (n) lists that end with NULL; an empty list means that the question has no answer. */
    const char *const *const *references;
    const char *const *groups; /* (n) name of the group (the question) of each example; NULL means no groups */
} ScoreInput;

typedef enum BleuTokenizer { BLEU_13A, BLEU_INTL, BLEU_CHAR, BLEU_NONE } BleuTokenizer;
typedef enum BleuSmoothing { BLEU_EXP, BLEU_FLOOR, BLEU_ADD_K, BLEU_NO_SMOOTHING } BleuSmoothing;
/* Names of both in the order of the enumerations, as sacreBLEU's signature spells them; the lists end with NULL. */
extern const char *const bleu_tokenizers[], *const bleu_smoothings[];

/* 0, NULL and false are the defaults. */
typedef struct ScoreOptions {
    const char *positive;      /* f1, multirc: the positive label; NULL means "1" */
    const char *const *labels; /* f1_macro, f1_micro: labels to average over, the list ends with NULL; NULL means
                                  all labels that occur */
    bool stem;                 /* ROUGE: stem words, as rouge_score does with use_stemmer=True */
    bool lowercase;            /* BLEU, chrF: compare in lower case */
    BleuTokenizer tokenizer;
    BleuSmoothing smoothing;
    double smooth_value;  /* of BLEU_FLOOR and BLEU_ADD_K; 0 means sacreBLEU's default: 0.1 and 1 */
    const char *language; /* codebleu_no_dataflow: "java"; NULL is an error there */
    int word_order;       /* chrF: longest n-grams of words, 0 to 2; 0 means characters alone, 2 is chrF++ */
    int64_t resamples;    /* bootstrap resamples for confidence intervals; 0 means no intervals */
    double confidence; /* share of the resamples within an interval, in percent, such as 95; read where resamples > 0 */
    uint64_t seed;     /* of the resamples */
} ScoreOptions;

#define SCORE_MAX_VALUES 8

typedef struct ScoreValue {
    const char *name;
    double value;     /* NaN where it is undefined, as the correlation with a constant is */
    double low, high; /* bounds of the confidence interval; NaN without resamples */
} ScoreValue;

typedef struct ScoreResult {
    int n_values;
    ScoreValue values[SCORE_MAX_VALUES];
    bool intervals;    /* the values have bounds */
    int64_t n_units;   /* examples, or groups where the score is of groups */
    int64_t n_invalid; /* predictions (tags, for SCORE_TAGS) that are no value the score knows, and count as wrong */
    char *signature;   /* sacreBLEU's line of settings, or NULL */
} ScoreResult;

typedef struct ScoreKind ScoreKind;

/* The score of a name such as "rouge_l"; NULL if there is none. */
const ScoreKind *score_find(const char *name);
/* The i-th of all scores, in the order of docs/scores.md; NULL behind the last. */
const ScoreKind *score_at(size_t i);
const char *score_name(const ScoreKind *kind);
const char *score_does(const ScoreKind *kind); /* one line of help */
/* The name of the i-th value of its results; NULL behind the last. */
const char *score_value_name(const ScoreKind *kind, int i);
ScoreTakes score_takes(const ScoreKind *kind);
bool score_takes_groups(const ScoreKind *kind);

/* An input that the score cannot take is LOAM_ERROR_USER, whose message names the example, counted from 1. The caller
 * clears the result after success. */
bool score_compute(ScoreResult *out, const ScoreKind *kind, const ScoreInput *in, const ScoreOptions *options,
                   GError **error);
void score_result_clear(ScoreResult *result);

/* ---- reading an input from files ---- */

typedef struct ScoreFiles {
    const char *predictions;
    /* Files in which line i is a reference of line i of `predictions`; the list ends with NULL. An empty list means
     * that the lines of `predictions` are whole examples. */
    const char *const *references;
    const char *groups; /* NULL, or a file in which line i is the group of example i */
} ScoreFiles;

/* Examples read from files: an input that owns its texts. */
typedef struct ScoreExamples {
    ScoreInput in;
    GStringChunk *texts;
    GPtrArray *predictions, *references, *groups;
    const char *const **lists;
    int64_t n_unknown; /* lines of `loam eval --task` without a known right answer, which are left out */
} ScoreExamples;

/* Reads examples for scores that take `takes`. A file has one text a line; where its name ends in .jsonl it has one
 * JSON value a line: a string, a number, null (an empty prediction; no reference), an array of references, or for
 * SCORE_TAGS the array of a sequence's tags. Without files of references each line of `predictions` is a JSON object
 * with "prediction", "reference" or "references", and optionally "group"; "graded" and "graded_references" take the
 * place of "prediction" and "references" (`loam eval --task` writes them); for SCORE_LOGPROBS with "logprob" and
 * "tokens", as `loam eval --score` writes them. Files may be .gz or .zst. The caller clears the examples, after an
 * error too. */
bool score_read(ScoreExamples *out, const ScoreFiles *files, ScoreTakes takes, GError **error);
void score_examples_clear(ScoreExamples *examples);
/* The scores that a file of `loam eval --task` was written for ("names"), and their options, as an object that the
 * caller decrefs; an empty one where its first line says nothing of it; NULL where the file is no .jsonl. */
bool score_read_settings(json_t **out, const char *path, GError **error);
