/* objectives.h: the header of data/objectives for files outside it: the training objectives and their settings. */
#pragma once

#include "data/objectives/objective.h"

/* ---- labelled.c: the objective "labels": texts and labels for a classifier. A document of the dataset is two
 * sequences: the token ids of the text, with special tokens; and the encoded labels of the text: 32-bit numbers, each
 * stored as LABELLED_DIGITS ids of 4 bits each, since any vocabulary has the ids 0 to 15 ---- */

#define LABELLED_DIGITS 8

/* The first numbers of encoded labels: label, label_end, n. Two numbers for each sequence follow: its length in tokens,
 * and the index of the first token of its second text (0 means no second text). With LABELS_TOKENS, one id per token
 * follows: the token's class + 1, or 0 for a token without a class. `label` is a class, the index of a sequence or of a
 * token, or the bits of a float, depending on the LabelKind; -1 means no label. */
typedef struct EncodedLabels {
    int32_t label, label_end;
    int32_t n; /* number of sequences; LABELS_CHOICE has several, all other kinds 1 */
} EncodedLabels;

/* Appends the LABELLED_DIGITS ids of a number to `encoded` (int32_t). */
void labelled_append(GArray *encoded, uint32_t number);

/* Adds to `counts` (number of classes) how often each class occurs in the encoded labels of one document of
 * LABELS_SEQUENCE or LABELS_TOKENS. */
void labelled_count(LabelKind kind, const int32_t *encoded, int64_t n_encoded, int64_t *counts);

/* ---- mlm.c: masked language modelling on an encoder (BERT). A sample is [CLS] text [SEP]; some of its tokens are
 * masked, and the model predicts each masked token at its own position. With sentence pairs a sample is [CLS] A [SEP]
 * B [SEP], and a label says how text B relates to text A ---- */

/* Sentence-pair task: none; sentence-order prediction (SOP, ALBERT: label 1 means that A and B, halves of one text, are
 * swapped); next-sentence prediction (NSP, BERT: label 1 means that B is from another document). */
typedef enum SentencePairs { PAIRS_NONE, PAIRS_ORDER, PAIRS_NEXT } SentencePairs;
extern const char *const sentence_pairs_names[];

typedef struct MlmSettings {
    bool whole_word;                   /* all pieces of a word are masked together */
    int sentence_pairs;                /* SentencePairs */
    double short_sequence_probability; /* fraction of the samples that are cut to a random length */
    int64_t max_ngram; /* most consecutive words that are masked together; n words have a probability of ∝ 1/n */
} MlmSettings;

/* The settings of the objective mlm in config->own. */
const MlmSettings *mlm_settings(const ObjectiveConfig *config);
/* Starts an example: inputs and targets both become [CLS] a [SEP] b [SEP], or [CLS] a [SEP] without sentence pairs. All
 * weights are 0, since no token is masked yet. */
void mlm_join(const ObjectiveConfig *config, Text a, Text b, Example *out);
/* Whether an id is [CLS] or [SEP]. */
bool mlm_is_special(const ObjectiveConfig *config, int32_t id);

/* ---- span_corruption.c: T5's objective (Raffel et al. 2020): random spans of the text are masked. In the inputs each
 * masked span is replaced by a sentinel; the targets are, for each span, its sentinel followed by the tokens of the
 * span ---- */

typedef struct SpanCorruptionSettings {
    double mean_span_length; /* average number of tokens in a masked span */
} SpanCorruptionSettings;

/* How many of `length` tokens are masked, as in T5's random_spans_noise_mask: length * density, rounded half to even in
 * f32; at least 1 and at most length - 1. */
int64_t span_corruption_noise(int64_t length, double density);
/* Number of masked spans: n_noise / mean_span_length rounded half to even in f32; at least 1 and at most n_noise. */
int64_t span_corruption_spans(int64_t n_noise, double mean_span_length);
/* Draws mask (length): true for masked tokens. Masked spans and spans that are kept alternate, beginning with one that
 * is kept; their lengths are drawn uniformly from all possible divisions. */
void span_corruption_mask(Philox *rng, int64_t length, double density, double mean_span_length, bool *mask);
/* Makes the example of n tokens with this mask (n). In the inputs each run of masked tokens is replaced by a sentinel;
 * in the targets each run of tokens that are not masked is replaced by a sentinel. EOS ends both. */
void span_corruption_apply(const ObjectiveConfig *config, const bool *mask, const int32_t *tokens, int64_t n,
                           Example *out);
/* Undoes the masking: sets `out` (raw_length) to the original tokens, without EOS, by putting the targets back into the
 * inputs. A sentinel may occur several times in the inputs. Unless `spans` is NULL, it (raw_length) becomes for each
 * original token the index of the sentinel that replaced it, counted from 0; -1 for a token that was not masked.
 * Returns the number of tokens, or -1 if inputs and targets do not fit together. */
int64_t span_corruption_splice(const ObjectiveConfig *config, const Example *example, int32_t *out, int32_t *spans);

/* ---- subtree_corruption.c: AST-T5's objective: span corruption whose masked spans are identifiers and subtrees of a
 * program's syntax tree; in text without a tree the spans are random. Spans with equal tokens get the same sentinel,
 * which occurs once in the targets ---- */

typedef struct SubtreeMaskSettings {
    double identifier_probability; /* probability that a sample masks identifiers first */
    double identifier_share; /* for such a sample: largest fraction of its masked tokens that may be identifiers */
    int64_t span_length;     /* largest length in tokens of a random span in text without a tree; within a node whose
                                children are single tokens the largest length is span_length - 1 */
    int64_t least_split,
        most_split; /* for each node a number is drawn from [least_split, most_split]; a child that has more tokens to
                       mask than this number is masked in parts, other children are masked as a whole if possible */
} SubtreeMaskSettings;

typedef struct SubtreeCorruptionSettings {
    SubtreeMaskSettings mask;
    double empty_spans; /* in texts without a tree: the fraction by which fewer tokens are masked; spans of zero tokens,
                           only a sentinel, take their place */
    bool subtrees;      /* programs are masked along their syntax trees; false: like text without a tree */
} SubtreeCorruptionSettings;

/* ---- masks (subtree_mask.c), as in AST-T5 (Gong et al. 2024): they have the same distribution, but come from other
 * random numbers ---- */

/* Draws mask (n) along a syntax tree. Exactly n * density tokens are masked, rounded up with the probability of its
 * fractional part, else down. tree: (n_nodes) nodes over the n tokens, the root first. */
void subtree_mask(Philox *rng, const SubtreeMaskSettings *settings, double density, const int32_t *tokens, int64_t n,
                  const TreeNode *tree, int64_t n_nodes, bool *mask);
/* Draws mask (n) for text without a tree, with about n * density masked tokens: spans of random lengths from 1 to
 * span_length, which may overlap, and may continue at the start of the text when they reach its end. */
void span_mask(Philox *rng, double density, int64_t span_length, int64_t n, bool *mask);
/* The largest number of tokens that span_mask can mask. */
int64_t span_mask_most(double density, int64_t span_length, int64_t n);

/* ---- the list of objectives (objectives.c) ---- */

/* Of clm and full_lm. */
typedef struct ClmSettings {
    bool reset_attention; /* attention does not cross the end of a document */
    bool reset_position;  /* position ids start again at 0 with every document */
    bool mask_eod;        /* no loss where the input token is the EOS that ends a document */
} ClmSettings;

/* The settings of all objectives. */
typedef struct ObjectiveSettings {
    SpanCorruptionSettings span_corruption;
    SubtreeCorruptionSettings subtree_corruption;
    ClmSettings clm;
    MlmSettings mlm;
} ObjectiveSettings;

/* Names of all objectives, NULL after the last. An objective's index in this list identifies it (data.objective). */
extern const char *const objective_names[];

/* The objective with this index. decoder_alone: true means its variant for decoder-only models, if it has one. */
const Objective *objective_for(int index, bool decoder_alone);
/* A configuration for the objective with this index: the objective's settings in `own`; all other fields are 0. */
ObjectiveConfig objective_config(int index, const ObjectiveSettings *settings);
/* Appends the option groups (OptionGroup) of all objectives; offset: byte offset of the ObjectiveSettings. */
void objective_options(GArray *groups, size_t offset);
