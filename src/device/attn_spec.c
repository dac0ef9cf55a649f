#include "device/attn_spec.h"

static int64_t between(int64_t x, int64_t low, int64_t high)
{
    return x < low ? low : x > high ? high : x;
}

void attn_visible(const AttnSpec *spec, AttnSequence of, int64_t i, int64_t *begin, int64_t *end)
{
    int64_t own = i + of.tk - of.tq; /* the key beside the query */
    *begin = 0;
    *end = of.tk;
    if (spec->causal)
        *end = between(own + 1, between(of.prefix, 0, of.tk), of.tk);
    if (spec->window) {
        *end = between(own + spec->window + 1, 0, *end);
        *begin = between(own - spec->window, 0, *end);
    }
}
