/* objective.h: an objective turns a span of raw tokens into a training example: a pure function of its arguments. */
#pragma once

#include "base/error.h"
#include "base/philox.h"

#include <stdint.h>

/* What stands behind the first sentence of a pair: nothing, its other half (half of the time the two change places), or
 * what follows it (half of the time another text does). */
typedef enum SentencePairs { PAIRS_NONE, PAIRS_ORDER, PAIRS_NEXT } SentencePairs;
extern const char *const sentence_pairs_names[];

typedef struct ObjectiveConfig {
    int64_t input_length, target_length; /* capacity of a row of the batch, EOS included */
    int64_t raw_length;                  /* tokens of the source that one sample takes: objective_plan fills it */
    int64_t memory_rows; /* that the model puts before the inputs of a sample: a row has room for one sample's */
    int64_t row_samples; /* a row is so many samples that follow each other; 0: packed by their lengths. Planned too */
    struct {
        int64_t first, other; /* ul2: texts of a group of samples */
    } tiles[3];
    double noise_density, mean_span_length;
    int32_t eos, first_sentinel; /* id of sentinel 0 */
    int32_t n_sentinels;
    bool sentinels_rise; /* sentinel i is first_sentinel + i, else first_sentinel - i */

    bool reset_attention, reset_position, mask_eod; /* clm: what ends with a document; no loss after its end */

    bool whole_word; /* mlm */
    int sentence_pairs;
    double short_sequence_probability; /* a sample is cut to a random length */
    int64_t max_ngram;
    int32_t cls, sep, mask, vocab; /* ids; vocab: their number */
    const bool *continues;         /* (vocab) a piece that continues the word before it; NULL: none does */
} ObjectiveConfig;

static inline int32_t objective_sentinel(const ObjectiveConfig *config, int32_t i)
{
    return config->sentinels_rise ? config->first_sentinel + i : config->first_sentinel - i;
}

typedef struct Example {
    int32_t *inputs, *targets; /* caller's memory: input_length and target_length */
    int64_t n_inputs, n_targets;

    /* Of objectives with one stream, (input_length) each; their targets are aligned with their inputs. */
    float *weights;
    int32_t *position_ids, *token_types;
    bool *starts_sequence; /* a token that no token before it is seen from */
    int32_t prefix_length; /* so many first tokens are seen by all */
    int32_t label;         /* -1: none */
} Example;

/* A piece of text and where sentences begin within it: ascending, none at 0. */
typedef struct Text {
    const int32_t *tokens;
    int64_t n;
    const int64_t *sentences;
    int64_t n_sentences;
} Text;

/* What is decided about an example before its text is read, so that its lengths are known. Drawn from `rng`, a stream
 * of its own that is the same in every epoch. */
typedef struct Choice {
    int64_t sample;
    Philox rng;  /* as it was before the draws */
    Philox pair; /* the same for samples 2i and 2i + 1, whose lengths may make up for each other */
    int64_t value;
    int64_t n_inputs, n_targets; /* at most */

    /* mlm: tokens of text, and about where the second half begins. */
    int64_t n_text, cut;
    bool strange;     /* the second half is from another text */
    Text text, other; /* text: the sample's sentences alone; the caller finds both */
} Choice;

/* Which streams of a batch an objective fills. */
typedef enum ObjectiveStreams { STREAMS_BOTH, STREAMS_ENCODER, STREAMS_DECODER } ObjectiveStreams;

/* How the source is cut: documents one after another into equal pieces, or each document for itself. */
typedef enum ObjectiveText { TEXT_CONCATENATED, TEXT_DOCUMENTS } ObjectiveText;

/* Derives raw_length, and target_length where it is 0, from the lengths and options given. */
typedef bool (*ObjectivePlanFn)(ObjectiveConfig *config, GError **error);
/* n <= raw_length tokens in; choice->rng is set, the rest is filled. */
typedef void (*ObjectiveChooseFn)(const ObjectiveConfig *config, int64_t n, Choice *choice);
/* choice: NULL where the objective makes none. */
/* Where the text of a sample lies in the concatenation; config->row_samples is set. */
typedef void (*ObjectiveCutFn)(const ObjectiveConfig *config, int64_t sample, int64_t *begin, int64_t *n);
typedef void (*ObjectiveFn)(const ObjectiveConfig *config, const Choice *choice, Philox *rng, const int32_t *tokens,
                            int64_t n, Example *out);

typedef struct Objective {
    const char *name;
    ObjectiveStreams streams;
    ObjectiveText text;
    bool separated;     /* EOS ends every document */
    int64_t overlap;    /* tokens that a piece shares with the next */
    int64_t min_length; /* shorter rests of a document are left out */
    ObjectivePlanFn plan;
    ObjectiveChooseFn choose; /* NULL: every sample fills its row, none is packed */
    ObjectiveFn apply;
    ObjectiveCutFn cut; /* NULL: every sample takes raw_length tokens */
} Objective;

/* Tokens that a row of either stream has room for; 0: the objective does without it. */
int32_t objective_enc_length(const Objective *objective, const ObjectiveConfig *config);
int32_t objective_dec_length(const Objective *objective, const ObjectiveConfig *config);
/* Memory for any example of a planned objective. */
void example_init(Example *example, const ObjectiveConfig *config);
void example_clear(Example *example);
