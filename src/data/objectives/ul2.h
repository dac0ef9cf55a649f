/* ul2.h: UL2's mixture of denoisers (Tay et al. 2022, table 1): regular (R), sequential (S) and extreme (X) denoising.
 * The first token of the inputs, a mode token, says which of these three kinds of denoising the sample has. */
#pragma once

#include "data/objectives/objective.h"

/* The kinds of denoising (modes). The mode tokens [NLU] (R), [S2S] (S) and [NLG] (X) are the last three sentinels;
 * masked spans use the other sentinels. */
enum { UL2_REGULAR, UL2_SEQUENTIAL, UL2_EXTREME, UL2_MODES };

/* One denoiser of the mixture. */
typedef struct Ul2Denoiser {
    int mode;                /* UL2_REGULAR, UL2_SEQUENTIAL or UL2_EXTREME */
    double mean_span_length; /* average number of tokens per masked span; 0 means one span at the end of the text */
    double noise_density;    /* fraction of the tokens that is masked */
    double weight;           /* fraction of the samples that use this denoiser */
} Ul2Denoiser;

#define UL2_DENOISERS 7
extern const Ul2Denoiser ul2_denoisers[UL2_DENOISERS];
extern const Objective ul2_objective;

/* The denoiser that Objective.choose drew for a sample. */
const Ul2Denoiser *ul2_denoiser(const Choice *choice);
/* The id of the mode token of a mode, such as UL2_REGULAR. Objective.plan must have completed `config`. */
int32_t ul2_mode_token(const ObjectiveConfig *config, int mode);
