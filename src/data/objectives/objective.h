/* objective.h: a training objective turns text into training examples. Its functions are pure. An objective is a row of
 * OBJECTIVES and a constant in a file of its own: X(clm) has clm_objective in clm.c. */
#pragma once

#include "base/options/options.h"
#include "base/philox.h"
#include "data/dataset/dataset.h"

/* Which token streams of a batch (batch.h) an objective fills. */
typedef enum ObjectiveStreams { STREAMS_BOTH, STREAMS_ENCODER, STREAMS_DECODER } ObjectiveStreams;

/* How a dataset is split into chunks, one chunk per sample (chunks.h). TEXT_CONCATENATED: all documents are
 * concatenated, then split. TEXT_DOCUMENTS: each document is split separately. */
typedef enum ObjectiveText { TEXT_CONCATENATED, TEXT_DOCUMENTS } ObjectiveText;

/* Storage for a struct that only one objective's file knows: the objective's settings, or its random decisions about a
 * sample. Copying the storage copies the struct. */
typedef union ObjectiveOwn {
    int64_t aligned;
    unsigned char bytes[64];
} ObjectiveOwn;

/* An ObjectiveOwn that holds the struct `values` of n bytes. */
ObjectiveOwn objective_own(const void *values, size_t n);

/* What an objective makes examples from: lengths, settings, token ids, and values that Objective.plan derives. */
typedef struct ObjectiveConfig {
    int64_t input_length;  /* capacity of a packed sequence of inputs, in tokens with EOS */
    int64_t target_length; /* capacity of a packed sequence of targets, in tokens with EOS; 0: `plan` derives it */
    int64_t raw_length;    /* largest number of tokens of text in one sample; 0 means that `plan` derives it */
    int64_t memory_tokens; /* memory tokens that the model puts before the inputs of each sample. A packed sequence has
                              the capacity input_length plus the memory tokens of one sample. */
    double noise_density;  /* fraction of the tokens that is masked */
    bool alone;            /* every sample has a packed sequence for itself */
    int label_kind;        /* LabelKind of the model's classifier */
    int64_t n_labels;      /* number of classes of the model's classifier */
    bool token_types;      /* tokens of the second text of a pair have token type 1 */
    bool prefix_lm;        /* prefix LM: a decoder-only model reads the input of a pair in both directions */
    /* Set by `plan`: */
    int64_t packed_samples; /* consecutive samples in each packed sequence; 0 means packed by length */
    int64_t max_segments;   /* largest number of attention segments in one example; 0 means 1 */
    DatasetSideFn side;     /* reads side data for `apply` (Text.side), only with TEXT_DOCUMENTS; NULL means none */
    bool takes_others;      /* `choose` may ask for a chunk of another document */
    /* Token ids; -1 means that the tokenizer has no such token. */
    int32_t vocab;      /* vocabulary size */
    int32_t n_appended; /* its last ids (tokenizer_appended), which are never drawn at random */
    int32_t eos, cls, sep, mask;
    int32_t target_end; /* token that ends the targets of subtree_corruption, such as AST-T5's <sen000>; 0 means eos */
    int32_t first_sentinel, n_sentinels; /* id of sentinel 0 (T5's <extra_id_0>); number of sentinels */
    bool sentinels_rise;                 /* true: sentinel i has the id first_sentinel + i; false: first_sentinel - i */
    const bool
        *continues; /* (vocab) true for a piece that continues a word; NULL means that every piece starts a word */
    const uint8_t
        *piece_starts; /* (vocab) PieceStart (text/tokenizer.h) of each piece; NULL means that all are PIECE_CHAR */
    ObjectiveOwn own;  /* the objective's settings; `plan` may replace them by values derived from them */
} ObjectiveConfig;

/* The id of sentinel i. */
static inline int32_t objective_sentinel(const ObjectiveConfig *config, int32_t i)
{
    return config->sentinels_rise ? config->first_sentinel + i : config->first_sentinel - i;
}

/* The id of the token that ends the targets of subtree_corruption. */
static inline int32_t objective_target_end(const ObjectiveConfig *config)
{
    return config->target_end > 0 ? config->target_end : config->eos;
}

/* A chunk of text: the tokens of which one sample is made. */
typedef struct Text {
    const int32_t *tokens; /* (n) */
    int64_t n;
    const void *side; /* (side_bytes) side data of the chunk, from ObjectiveConfig.side; NULL means no side data */
    size_t side_bytes;
} Text;

/* Random decisions about one sample, drawn before its tokens are read, so that packing knows its lengths. */
typedef struct Choice {
    int64_t sample;  /* index of the sample within its epoch */
    Philox rng;      /* random numbers of this sample, the same in every epoch */
    Philox pair_rng; /* shared by samples 2i and 2i + 1, so that one can be longer when the other is shorter */
    int64_t n_first; /* number of tokens of the input: with Objective.pairs, of the document's first sequence */
    int64_t n_inputs, n_targets; /* largest number of tokens that the example's inputs and targets may have */
    int64_t other_tokens;        /* tokens requested from another document as a second chunk; 0 means none */
    ObjectiveOwn own;            /* decisions that the objective's `apply` reads */
} Choice;

/* A training example. Objectives that fill both streams (STREAMS_BOTH) set only inputs and targets. For objectives with
 * one stream all fields are used (example_begin), and targets[i] is the token to predict at inputs[i]. */
typedef struct Example {
    int32_t *inputs, *targets; /* inputs: (input_length); targets: (max(input_length, target_length)) */
    int64_t n_inputs, n_targets;
    float *weights;        /* (input_length) 1 if the loss counts the token, otherwise 0 */
    int32_t *position_ids; /* (input_length) position within the document */
    int32_t *token_types;  /* (input_length) 1 in the second sentence of a pair, otherwise 0 */
    bool *starts_sequence; /* (input_length) true where a segment starts, which attention does not cross */
    int32_t prefix_length; /* number of tokens at the start that every query may attend to; 0 means none */
    int32_t label;         /* label of the sequence, as in Batch.labels (data/batch.h); -1 means none */
    int32_t label_end;     /* LABELS_SPAN: last token of the span */
} Example;

/* Whether a text of n_text tokens with these encoded labels (labelled.c) is a valid example. */
typedef bool (*ObjectiveAcceptsFn)(const ObjectiveConfig *config, int64_t n_text, const int32_t *encoded,
                                   int64_t n_encoded);
/* Sets the fields that ObjectiveConfig leaves to `plan`. Fails if lengths and settings do not fit together. */
typedef bool (*ObjectivePlanFn)(ObjectiveConfig *config, GError **error);
/* Draws the random decisions about a sample of n <= raw_length tokens of text. The caller sets choice->sample, rng,
 * pair_rng and n_first; the function sets the other fields of *choice. */
typedef void (*ObjectiveChooseFn)(const ObjectiveConfig *config, int64_t n, Choice *choice);
/* Makes the example of a sample. texts[0] is its chunk; texts[1], only if choice->other_tokens > 0, one of another
 * document. rng: for this sample in this epoch. choice is NULL if the objective has no `choose`. */
typedef void (*ObjectiveApplyFn)(const ObjectiveConfig *config, const Choice *choice, Philox *rng, const Text *texts,
                                 Example *out);
/* The text of a sample: tokens [*begin, *begin + *n) of the joined documents. Only if config->packed_samples > 0. */
typedef void (*ObjectiveCutFn)(const ObjectiveConfig *config, int64_t sample, int64_t *begin, int64_t *n);

typedef struct Objective {
    const char *name;
    ObjectiveStreams streams;
    ObjectiveText text;
    bool separated;   /* the loader puts an EOS after every document */
    bool ends_itself; /* TEXT_DOCUMENTS: `apply` adds an EOS to each example; so an EOS at the end of a document in the
                         dataset is left out */
    bool pairs;       /* TEXT_DOCUMENTS: a document is two sequences, input and target, and is never split */
    int64_t overlap;  /* number of tokens that a chunk shares with the next chunk */
    int64_t min_length;  /* chunks with fewer tokens are left out */
    double target_share; /* expected fraction of the decoder's tokens that have a target; 0 means all. Not used with
                            STREAMS_ENCODER, where the fraction is noise_density. */
    const OptionRow *options; /* (n_options) options of the objective's settings struct; NULL means none */
    int n_options;
    ObjectiveAcceptsFn accepts; /* with `pairs`, if the second sequence is encoded labels; NULL accepts any two */
    ObjectivePlanFn plan;
    ObjectiveChooseFn choose; /* NULL means that samples are not packed: each sample has a packed sequence for itself */
    ObjectiveApplyFn apply;
    ObjectiveCutFn cut;                    /* NULL means that every sample takes raw_length tokens of text */
    const struct Objective *decoder_alone; /* the variant for decoder-only models; NULL means this objective itself */
} Objective;

/* The fields that every Objective has, the first ones and its functions (`choose` may be NULL); and its options. */
#define OBJECTIVE(name_, streams_, text_, least)                                                                       \
    .name = (name_), .streams = (streams_), .text = (text_), .min_length = (least)
#define OBJECTIVE_STEPS(plan_, choose_, apply_) .plan = (plan_), .choose = (choose_), .apply = (apply_)
#define OBJECTIVE_OPTIONS(rows)                 .options = (rows), .n_options = G_N_ELEMENTS(rows)

#define OBJECTIVES(X)                                                                                                  \
    X(span_corruption)                                                                                                 \
    X(prefix_lm) X(iid_denoising) X(ul2) X(subtree_corruption) X(clm) X(full_lm) X(mlm) X(seq2seq) X(labels)
#define OBJECTIVE_DECLARE(name) extern const Objective name##_objective;
OBJECTIVES(OBJECTIVE_DECLARE)
#undef OBJECTIVE_DECLARE

/* Capacity of a packed sequence in the encoder's and the decoder's stream, in tokens; 0 means an unused stream. */
int32_t objective_enc_length(const Objective *objective, const ObjectiveConfig *config);
int32_t objective_dec_length(const Objective *objective, const ObjectiveConfig *config);
/* Expected fraction of the tokens of the loss stream that have a target. */
double objective_target_share(const Objective *objective, const ObjectiveConfig *config);

/* Allocates the arrays of *example for any example of a configuration that Objective.plan has completed. */
void example_init(Example *example, const ObjectiveConfig *config);
void example_clear(Example *example);
/* Starts an example of one stream with n inputs and n targets: every token has weight 1 and token type 0; position ids
 * are 0, 1, 2, …; all tokens form one attention segment; there is no prefix and no label. */
void example_begin(Example *example, int64_t n);
/* Objective.apply for both streams: the inputs are the first choice->n_inputs - 1 tokens of the text and EOS, the
 * targets the next choice->n_targets - 1 and EOS. */
void example_divide(const ObjectiveConfig *config, const Choice *choice, Philox *rng, const Text *texts, Example *out);
/* Objective.apply for a decoder-only model: each token of the text predicts the next one, the last one EOS; those that
 * predict a token of the input (choice->n_first tokens) have no loss. */
void example_continue(const ObjectiveConfig *config, const Choice *choice, Philox *rng, const Text *texts,
                      Example *out);
