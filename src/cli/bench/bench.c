#include "cli/bench/bench.h"

#include "cli/cli.h"

static const SubVerb sub_verbs[] = {
    { "ops", bench_ops, "time every operation of a training step" },
    { "step", bench_step, "time a whole training step of a configuration" },
    { "comm", bench_comm, "time every collective between ranks" },
    { "generate", bench_generate, "time generation, greedy or by beam search" },
};

bool verb_bench(int argc, char **argv, GError **error)
{
    return cli_run_sub_verb(sub_verbs, G_N_ELEMENTS(sub_verbs), "bench", "loam bench ops", argc, argv, error);
}
