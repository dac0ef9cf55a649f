/* generation.h: one generated sequence. */
#pragma once

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

typedef struct Generation {
    GArray *ids;    /* int32_t, without the decoder start and the closing EOS; owned */
    double logprob; /* of the generated tokens, EOS included */
    bool finished;  /* ended by EOS, not by the limit */
} Generation;

static inline void generation_clear(Generation *generation)
{
    g_clear_pointer(&generation->ids, g_array_unref);
}
