/* The FLOPs of attention count each pair of a query and a key that it may attend to, for any lengths and prefix. */
#include "device/attn_spec.h"

#include <glib.h>

static double pairs_by_loop(const AttnSpec *spec, int64_t tq, int64_t tk, int64_t prefix)
{
    double pairs = 0;
    for (int64_t i = 0; i < tq; i++)
        for (int64_t k = 0; k < tk; k++) {
            int64_t begin, end;
            attn_visible(spec, (AttnSequence){ tq, tk, prefix }, i, &begin, &end);
            pairs += k >= begin && k < end;
        }
    return pairs;
}

static void flops_are_those_of_each_pair(void)
{
    for (int32_t kind = 0; kind < 4; kind++)
        for (int32_t tq = 0; tq <= 6; tq++)
            for (int32_t tk = 0; tk <= 7; tk++)
                for (int32_t prefix = 0; prefix <= 8; prefix++) {
                    int32_t q[] = { 0, tq, 2 * tq }, k[] = { 0, tk, 2 * tk }, prefixes[] = { prefix, prefix };
                    AttnSpec spec = { .n_seq = 2, .heads = 1, .causal = kind % 2, .window = kind / 2 * 2 };
                    spec.cu_q.host = q;
                    spec.cu_k.host = k;
                    spec.prefix.host = prefixes;
                    const Tensor queries = { .d = { 2 * tq, 3 } };
                    g_assert_cmpfloat(attn_flops(&spec, queries, 5), ==,
                                      5 * 3 * 2 * pairs_by_loop(&spec, tq, tk, prefix));
                }
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/flops_are_those_of_each_pair", flops_are_those_of_each_pair);
    return g_test_run();
}
