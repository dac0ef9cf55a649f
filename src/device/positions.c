/* positions.c: what decides which key a query sees, and ALiBi's slopes. */
#include "device/ops.h"

#include <math.h>

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

/* A power of two p of heads has the slopes 2^(-8/p), 2^(-16/p), …; the heads beyond the largest p take every second
 * slope of 2p heads. */
double alibi_slope(int32_t head, int32_t heads)
{
    int32_t p = 1;
    while (2 * p <= heads)
        p *= 2;
    return head < p ? exp2(-8.0 / p * (head + 1)) : exp2(-4.0 / p * (2 * (head - p) + 1));
}
