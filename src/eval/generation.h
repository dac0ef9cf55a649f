/* generation.h: one sequence that a model generated. */
#pragma once

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

typedef struct Generation {
    GArray *ids;    /* int32_t, without the decoder start and without EOS; owned */
    double logprob; /* natural log-probability of the generated tokens, EOS included */
    bool finished;  /* ended by EOS; false means that it reached the length limit */
} Generation;

static inline void generation_clear(Generation *generation)
{
    g_clear_pointer(&generation->ids, g_array_unref);
}
