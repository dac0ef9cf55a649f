/* objective.h: a training objective turns text into training examples. Its functions are pure: equal arguments give
 * equal examples. An objective is a constant of its own file (such as clm_objective in clm.c) and an entry of the list
 * in objectives.c. */
#pragma once

#include "base/options/options.h"
#include "base/philox.h"
#include "data/dataset/dataset.h"

/* Which streams of a batch an objective fills. */
typedef enum ObjectiveStreams { STREAMS_BOTH, STREAMS_ENCODER, STREAMS_DECODER } ObjectiveStreams;

/* How a dataset is cut into chunks, one for each sample (chunks.h): all documents joined, then cut; or each document
 * cut by itself. */
typedef enum ObjectiveText { TEXT_CONCATENATED, TEXT_DOCUMENTS } ObjectiveText;

/* Room for values that one objective alone knows, in a struct that its own file declares. A copy of the room is a copy
 * of the struct. */
typedef union ObjectiveOwn {
    int64_t aligned;
    unsigned char bytes[64];
} ObjectiveOwn;

/* A struct of n bytes in such room. */
ObjectiveOwn objective_own(const void *values, size_t n);

/* What an objective is asked for, and what its `plan` derives from that. */
typedef struct ObjectiveConfig {
    int64_t input_length, target_length; /* tokens of a packed sequence of either stream at most, EOS included;
                                            target_length 0 means that `plan` derives it */
    int64_t raw_length;    /* tokens of text that one sample takes at most; 0 means that `plan` derives it */
    int64_t memory_tokens; /* tokens that the model puts before the inputs of each sample; the first
                              sample of a packed sequence has them beside input_length */
    int64_t row_samples;   /* consecutive samples per packed sequence, set by `plan`; 0 means that samples
                              are packed by length */
    double noise_density;  /* share of the tokens that is masked */
    DatasetSideFn side;    /* side data that `apply` reads, set by `plan`; NULL means none. Only with
                              TEXT_DOCUMENTS */
    bool takes_others;     /* set by `plan`: `choose` may ask for a chunk of another document */
    int64_t max_segments;  /* set by `plan`: attention segments of one example at most; 0 means 1 */
    /* Token ids of the tokenizer; -1 means that it has no such token. */
    int32_t vocab; /* vocabulary size */
    int32_t eos, cls, sep, mask;
    int32_t first_sentinel, n_sentinels; /* sentinel 0 and how many there are: T5's <extra_id_0>, … */
    bool sentinels_rise;                 /* sentinel i is first_sentinel + i; false means first_sentinel - i */
    const bool *continues;               /* (vocab) true for a piece that continues the word before it; NULL means that
                                            every piece starts a word */
    ObjectiveOwn own; /* the objective's settings; `plan` may replace them by values derived from them */
} ObjectiveConfig;

static inline int32_t objective_sentinel(const ObjectiveConfig *config, int32_t i)
{
    return config->sentinels_rise ? config->first_sentinel + i : config->first_sentinel - i;
}

/* One chunk of text. */
typedef struct Text {
    const int32_t *tokens; /* (n) */
    int64_t n;
    const void *side; /* what ObjectiveConfig.side appended about the chunk; NULL without it */
    size_t side_bytes;
} Text;

/* Random decisions about one sample, drawn before its tokens are read, so that packing knows its lengths. */
typedef struct Choice {
    int64_t sample;              /* number of the sample within an epoch */
    Philox rng;                  /* random numbers of this sample, the same in every epoch */
    Philox pair_rng;             /* random numbers shared by samples 2i and 2i + 1, so that one can be long where the
                                    other is short */
    int64_t n_inputs, n_targets; /* upper bounds of the example's lengths */
    int64_t other_tokens;        /* tokens wanted of a second chunk, from another document; 0 means none */
    ObjectiveOwn own;            /* decisions that the objective's `apply` reads */
} Choice;

/* A training example. Objectives with both streams fill in inputs and targets alone. For objectives with one stream
 * targets[i] is what is predicted at inputs[i], and the rest of the fields counts too (example_begin). */
typedef struct Example {
    int32_t *inputs, *targets; /* the caller's memory: (input_length), (the larger of input_length and target_length) */
    int64_t n_inputs, n_targets;
    float *weights;        /* (input_length) 1 where the loss counts the token, else 0 */
    int32_t *position_ids; /* (input_length) position within the document */
    int32_t *token_types;  /* (input_length) 1 in the second sentence of a pair, else 0 */
    bool *starts_sequence; /* (input_length) true at the first token of an attention segment; attention does not cross
                              it */
    int32_t prefix_length; /* tokens at the start that every query may attend to; 0 means none */
    int32_t label;         /* class of the sequence; -1 means none */
} Example;

/* Derives from lengths and settings all that is derived, or says what cannot be had. */
typedef bool (*ObjectivePlanFn)(ObjectiveConfig *config, GError **error);
/* Draws the decisions about a sample of n <= raw_length tokens; choice->sample and both rngs are set. */
typedef void (*ObjectiveChooseFn)(const ObjectiveConfig *config, int64_t n, Choice *choice);
/* Makes the example. texts[0] is the sample's chunk; texts[1] is of another document, and present where
 * choice->other_tokens > 0. rng: random numbers of this sample and epoch. choice: NULL where the objective has no
 * `choose`. */
typedef void (*ObjectiveApplyFn)(const ObjectiveConfig *config, const Choice *choice, Philox *rng, const Text *texts,
                                 Example *out);
/* The tokens [*begin, *begin + *n) of the joined documents that a sample takes, where config->row_samples > 0. */
typedef void (*ObjectiveCutFn)(const ObjectiveConfig *config, int64_t sample, int64_t *begin, int64_t *n);

typedef struct Objective {
    const char *name;
    ObjectiveStreams streams;
    ObjectiveText text;
    bool separated;           /* an EOS is put after every document */
    int64_t overlap;          /* tokens that a chunk shares with the next one */
    int64_t min_length;       /* shorter rests of a document are left out */
    double target_share;      /* expected share of the tokens of the loss stream that have a target; 0 means
                                 noise_density */
    const OptionRow *options; /* of the objective's settings struct; NULL means none */
    int n_options;
    ObjectivePlanFn plan;
    ObjectiveChooseFn choose; /* NULL: every sample fills its packed sequence by itself */
    ObjectiveApplyFn apply;
    ObjectiveCutFn cut;                    /* NULL: every sample takes raw_length tokens */
    const struct Objective *decoder_alone; /* the form for a model without an encoder; NULL: none, or the same */
} Objective;

/* Tokens of a packed sequence of the encoder's and the decoder's stream; 0 means that the objective has no such stream.
 */
int32_t objective_enc_length(const Objective *objective, const ObjectiveConfig *config);
int32_t objective_dec_length(const Objective *objective, const ObjectiveConfig *config);
/* Expected share of the tokens of the loss stream that have a target. */
double objective_target_share(const Objective *objective, const ObjectiveConfig *config);

/* Memory for any example of a planned objective. */
void example_init(Example *example, const ObjectiveConfig *config);
void example_clear(Example *example);
/* Starts an example of one stream with n inputs and n targets: every token has weight 1 and token type 0, position ids
 * are 0, 1, 2, …, all is one attention segment without prefix and label. */
void example_begin(Example *example, int64_t n);
