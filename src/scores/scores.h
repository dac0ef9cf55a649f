/* scores.h: scores of predictions against references (accuracy, F1, ROUGE, BLEU …), each equal to the score of a Python
 * package that docs/scores.md names. Each score is an entry of one table, and a pure function of its input and options.
 *
 * Shares and correlations are in percent, as T5X and leaderboards print them: 50 means an accuracy of 0.5. */
#pragma once

#include "base/error.h"

#include <jansson.h>
#include <stdint.h>

/* The kind of text that a score expects as prediction and references. */
typedef enum ScoreTakes {
    SCORE_TEXTS,   /* generated text */
    SCORE_LABELS,  /* names of classes, compared byte for byte */
    SCORE_NUMBERS, /* decimal numbers; a prediction that is not a finite number counts as -1, as in T5 */
    SCORE_TAGS,    /* the tags of a sequence, separated by white space, as many in the prediction as in the reference */
    SCORE_LOGPROBS, /* prediction: natural log-probability of a target; reference: its number of tokens */
} ScoreTakes;

/* n examples. Texts are UTF-8 without NUL. */
typedef struct ScoreInput {
    int64_t n;
    const char *const *predictions; /* (n) */
    /* (n) lists of references, each ending with NULL; an empty list means that the question has no answer. */
    const char *const *const *references;
    const char *const *groups; /* (n) name of the group (the question) of each example; NULL means no groups */
} ScoreInput;

typedef enum BleuTokenizer { BLEU_13A, BLEU_INTL, BLEU_CHAR, BLEU_NONE } BleuTokenizer;
typedef enum BleuSmoothing { BLEU_EXP, BLEU_FLOOR, BLEU_ADD_K, BLEU_NO_SMOOTHING } BleuSmoothing;
/* Names of the tokenizers and smoothings in the order of the enumerations, spelled as in sacreBLEU's signature; both
 * lists end with NULL. */
extern const char *const bleu_tokenizers[], *const bleu_smoothings[];

/* Options of scores. The defaults are 0, NULL and false. */
typedef struct ScoreOptions {
    const char *positive; /* f1, multirc: the positive label; NULL means "1" */
    const char *const
        *labels;   /* f1_macro, f1_micro: labels to average over, ending with NULL; NULL means all labels that occur */
    gboolean stem; /* ROUGE: stem words, as rouge_score does with use_stemmer=True */
    gboolean lowercase; /* BLEU, chrF: ignore case */
    BleuTokenizer tokenizer;
    BleuSmoothing smoothing;
    double smooth_value;  /* parameter of BLEU_FLOOR and BLEU_ADD_K; 0 means sacreBLEU's default: 0.1 and 1 */
    const char *language; /* codebleu_no_dataflow: the programming language, such as "java"; required there */
    int word_order;       /* chrF: longest n-grams of words, 0 to 2; 0 means only characters, 2 means chrF++ */
    int64_t resamples;    /* bootstrap resamples for confidence intervals; 0 means no intervals */
    double confidence;    /* share of resamples within an interval, in percent, such as 95; unused without resamples */
    uint64_t seed;        /* seed of the resamples */
} ScoreOptions;

#define SCORE_MAX_VALUES 8

typedef struct ScoreValue {
    const char *name;
    double value;     /* NaN if undefined, such as the correlation with a constant */
    double low, high; /* bounds of the confidence interval; NaN without resamples */
} ScoreValue;

typedef struct ScoreResult {
    int n_values;
    ScoreValue values[SCORE_MAX_VALUES];
    bool intervals;    /* the values have bounds */
    int64_t n_units;   /* number of examples, or of groups for a score of groups */
    int64_t n_invalid; /* predictions (tags, for SCORE_TAGS) that are not valid for the score and count as wrong */
    char *signature;   /* sacreBLEU's line of settings, or NULL */
} ScoreResult;

/* How many references an example must have: exactly one, at least one, any number. */
typedef enum ScoreReferences { REFERENCES_ONE, REFERENCES_SOME, REFERENCES_ANY } ScoreReferences;
typedef struct ScoreKind ScoreKind;
typedef struct ScoreStats ScoreStats;
/* An entry of the table of scores. A score is computed in two steps, of which a bootstrap resample repeats only the
 * second: `measure` turns each unit (one example, or one group of examples) into a row of numbers; `finish` computes
 * the score from any selection of these rows. */
struct ScoreKind {
    const char *name, *does; /* "rouge_l"; one line of help */
    ScoreTakes takes;
    ScoreReferences references;
    bool groups; /* a unit is a group, and ScoreInput.groups is required; false means that a unit is an example */
    int variant; /* tells apart the entries that share a `measure` function */
    int width;   /* numbers per row */
    const char *const *values; /* names of what `finish` computes, at most SCORE_MAX_VALUES; ends with NULL */
    /* Fills stats->at, which holds (in->n, width) zeros. Sets stats->n if units are groups. */
    bool (*measure)(ScoreStats *stats, const ScoreInput *in, GError **error);
    /* Computes the values over the n units whose indices are in `pick`; an index may occur several times. */
    void (*finish)(double *values, const ScoreStats *stats, const int64_t *pick, int64_t n);
    /* Makes ScoreResult.signature; NULL means that the score has none. */
    char *(*signature)(const ScoreInput *in, const ScoreOptions *options);
};

/* Finds a score by its name, such as "rouge_l"; NULL if there is none. */
const ScoreKind *score_find(const char *name);
/* Score number i, counted from 0, in the order of docs/scores.md; NULL after the last score. */
const ScoreKind *score_at(size_t i);

/* Computes a score. An example that is invalid for the score is an error LOAM_ERROR_USER that names its number, counted
 * from 1. Free with score_result_clear after success. */
bool score_compute(ScoreResult *out, const ScoreKind *kind, const ScoreInput *in, const ScoreOptions *options,
                   GError **error);
void score_result_clear(ScoreResult *result);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(ScoreResult, score_result_clear)

/* ---- reading an input from files ---- */

typedef struct ScoreFiles {
    const char *predictions;
    /* Files in which line i is a reference of line i of `predictions`, ending with NULL. An empty list means that each
     * line of `predictions` is a whole example, with its references. */
    const char *const *references;
    const char *groups; /* file in which line i is the group of example i; NULL means no groups */
} ScoreFiles;

/* Examples read from files: a ScoreInput that owns its texts. */
typedef struct ScoreExamples {
    ScoreInput in;
    GStringChunk *texts;
    GPtrArray *predictions, *references, *groups;
    const char *const **lists;
    int64_t n_unknown; /* lines of `loam eval --task` without a known right answer, which are left out */
} ScoreExamples;

/* Reads examples for scores of kind `takes`. A file has one text per line, or one JSON value per line if its name ends
 * in .jsonl: a string, a number, null (an empty prediction, or no reference), an array of references, or for SCORE_TAGS
 * the array of a sequence's tags. Without files of references each line of `predictions` is a JSON object with
 * "prediction", "reference" or "references", and optionally "group"; if present, "graded" and "graded_references",
 * which `loam eval --task` writes, replace "prediction" and "references". For SCORE_LOGPROBS the object has "logprob"
 * and "tokens", as `loam eval --score` writes it. Files may be compressed. Free with score_examples_clear, also after
 * an error. */
bool score_read(ScoreExamples *out, const ScoreFiles *files, ScoreTakes takes, GError **error);
void score_examples_clear(ScoreExamples *examples);
/* *out becomes a JSON object with the scores ("names") and options that `loam eval --task` stored in the first line of
 * its file; an empty object if that line has none; NULL if the file is not a .jsonl. json_decref. */
bool score_read_settings(json_t **out, const char *path, GError **error);
