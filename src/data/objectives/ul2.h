/* ul2.h: UL2's mixture of denoisers (Tay et al. 2022, table 1): regular (R), sequential (S) and extreme (X) denoising.
 * A mode token before the inputs says which kind of denoising a sample has. */
#pragma once

#include "data/objectives/objective.h"

/* The mode tokens [NLU] (R), [S2S] (S) and [NLG] (X) are the last three sentinels; spans use the others. */
enum { UL2_REGULAR, UL2_SEQUENTIAL, UL2_EXTREME, UL2_MODES };

typedef struct Ul2Denoiser {
    int mode;
    double mean_span_length; /* average tokens per span; 0 means one span at the end of the text */
    double noise_density;    /* fraction of the tokens that is masked */
    double weight;           /* fraction of the samples */
} Ul2Denoiser;

#define UL2_DENOISERS 7
extern const Ul2Denoiser ul2_denoisers[UL2_DENOISERS];
extern const Objective ul2_objective;

/* The denoiser that Objective.choose drew for a sample. */
const Ul2Denoiser *ul2_denoiser(const Choice *choice);
/* Id of a mode token. Objective.plan must have completed `config`. */
int32_t ul2_mode_token(const ObjectiveConfig *config, int mode);
