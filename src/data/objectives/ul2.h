/* ul2.h: mixture of denoisers (UL2, table 1): regular, sequential and extreme ones, told by a mode token before the
 * inputs. */
#pragma once

#include "data/objectives/objective.h"

/* [NLU], [S2S] and [NLG] are the three last sentinels; spans have those below. */
enum { UL2_REGULAR, UL2_SEQUENTIAL, UL2_EXTREME, UL2_MODES };

typedef struct Ul2Denoiser {
    int mode;
    double mean_span_length; /* 0: one span at the end */
    double noise_density, weight;
} Ul2Denoiser;

#define UL2_DENOISERS 7
extern const Ul2Denoiser ul2_denoisers[UL2_DENOISERS];

int32_t ul2_mode_token(const ObjectiveConfig *config, int mode);
bool ul2_plan(ObjectiveConfig *config, GError **error);
/* value: the denoiser. */
void ul2_cut(const ObjectiveConfig *config, int64_t sample, int64_t *begin, int64_t *n);
void ul2_choose(const ObjectiveConfig *config, int64_t n, Choice *choice);
void ul2_example(const ObjectiveConfig *config, const Choice *choice, Philox *rng, const int32_t *tokens, int64_t n,
                 Example *out);
