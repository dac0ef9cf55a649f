/* beam.h: beam search for one prompt. It does not call the model: the caller passes the logits of the live (unfinished)
 * hypotheses and receives the tokens that continue them. As in T5X, the score of a finished hypothesis is logp / ((5 +
 * length) / 6)^alpha, with EOS in logp and in length, and the search stops when no live hypothesis can still beat the
 * worst finished one. */
#pragma once

#include "model/special_tokens/special_tokens.h"

/* One sequence that a model generated. */
typedef struct Generation {
    GArray *ids;    /* int32_t, without the decoder start and without EOS; owned */
    double logprob; /* natural log-probability of the generated tokens, EOS included */
    bool finished;  /* ended by EOS; false means that it reached the length limit */
} Generation;

static inline void generation_clear(Generation *generation)
{
    g_clear_pointer(&generation->ids, g_array_unref);
}

typedef struct BeamOptions {
    int32_t beams;             /* number of live hypotheses */
    double length_penalty;     /* alpha */
    double repetition_penalty; /* penalty on the tokens of the hypothesis and on those in `said`; 1 means none */
    const int32_t *said;       /* (n_said) ids of the prompt, which precede every hypothesis; borrowed */
    int64_t n_said;
    int64_t max_tokens; /* limit on the tokens of a hypothesis, EOS included */
    TokenList eos;      /* each of these ids ends a hypothesis */
    int64_t vocab;      /* V */
    int64_t n_ids;      /* later tokens have no probability (TokenRoles.n_ids); 0 means that all have one */
} BeamOptions;

typedef struct BeamSearch BeamSearch;

BeamSearch *beam_open(const BeamOptions *options);
void beam_close(BeamSearch *search);
/* Advances by one token. logits (beams, V) of the live hypotheses may be overwritten; at the first call all rows are
 * equal. On return, live hypothesis i is the previous hypothesis from[i] followed by tokens[i]. Returns false when the
 * search is over. */
bool beam_advance(BeamSearch *search, float *logits, int32_t *from, int32_t *tokens);
/* beam_advance, given only the k = beam_top(options) most likely tokens of each live hypothesis: ids, logits (beams, k)
 * and log_sums (beams) = log Σ exp of all logits, from decoder_step_top. Not with a repetition penalty. */
bool beam_advance_top(BeamSearch *search, const int32_t *ids, const float *logits, const double *log_sums,
                      int32_t *from, int32_t *tokens);
/* The k of beam_advance_top: enough tokens per hypothesis for the next live ones, also if every EOS is among them. */
int32_t beam_top(const BeamOptions *options);
/* The best n ≤ beams hypotheses, best first: finished, then those that reached max_tokens. Returns their number. */
int32_t beam_results(const BeamSearch *search, int32_t n, Generation *out);
