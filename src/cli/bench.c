/* bench.c: `loam bench`: the command lines of the measurements of src/bench. */
#include "bench/bench.h"

#include "cli/cli.h"
#include "run/launch.h"

#include <string.h>

/* ---- ops ---- */

#define OPS_USAGE "loam bench ops [CONFIG.yaml] [--seconds S] [--json] [group.key=value]…"

static const char about_ops[] =
    "Times every operation of a training step at the sizes of a configuration (by default T5-1.1-small with "
    "microbatches\n"
    "of 8 samples of 512 tokens), alternating with matrix products. GFLOP/s count the multiply-adds of matrix "
    "products\n"
    "and attention, and are also given as a share of the rate of those matrix products. GB/s count every operand "
    "once.\n"
    "\n"
    "  loam bench ops\n"
    "  loam bench ops configs/gpt2.yaml model.vocab=50257 train.micro_batch='2 samples' train.precision=bf16\n";

static BenchOps ops = { .seconds = 0.3 };
static const GOptionEntry ops_entries[] = {
    CLI_VALUE("seconds", ops.seconds, "S", "seconds to measure each operation (default 0.3)"),
    CLI_SWITCH("json", ops.as_json, "one JSON object"),
    { 0 },
};

/* Loads CONFIG.yaml, if one is given, and then the overrides. */
static bool load_ops(Config *config, int argc, char **argv, GError **error)
{
    static char *const small[] = { "model.preset=t5-1.1-small", "train.micro_batch=8 samples" };
    if (argc > 1 && strchr(argv[1], '=') == NULL)
        return config_load_run(config, argv[1], argv + 2, argc - 2, error);
    g_autoptr(GPtrArray) overrides = g_ptr_array_new();
    for (size_t i = 0; i < G_N_ELEMENTS(small); i++)
        g_ptr_array_add(overrides, small[i]);
    for (int i = 1; i < argc; i++)
        g_ptr_array_add(overrides, argv[i]);
    return config_load(config, NULL, (char **)overrides->pdata, (int)overrides->len, error);
}

static bool run_ops(int argc, char **argv, GError **error)
{
    if (!cli_parse(&argc, &argv, ops_entries, OPS_USAGE, about_ops, error))
        return false;
    if (!(ops.seconds > 0 && ops.seconds <= 3600))
        return fail_user(error, "--seconds is %g, want seconds above 0, up to 3600", ops.seconds);
    g_auto(Config) config = { 0 };
    return load_ops(&config, argc, argv, error) && bench_ops(&ops, &config, error);
}

/* ---- step ---- */

#define STEP_USAGE "loam bench step CONFIG.yaml [--seconds S] [--profile] [--trace FILE] [--json] [group.key=value]…"

static const char about_step[] =
    "Times a training step of a configuration (forward, backward, update) on random tokens, "
    "without a dataset, and compares\n"
    "it with this machine's rate of matrix products, measured in alternation with the steps.\n"
    "\n"
    "  loam bench step configs/t5-1.1-small.yaml\n"
    "  loam bench step configs/gpt2.yaml --trace step.json train.precision=bf16\n";

static BenchStep step = { .seconds = 20 };
static const GOptionEntry step_entries[] = {
    CLI_VALUE("seconds", step.seconds, "S", "seconds to measure (default 20)"),
    CLI_SWITCH("profile", step.profile, "print the share of time of each operation"),
    CLI_PATH("trace", step.trace, "FILE", "write a trace of one more step, for ui.perfetto.dev or chrome://tracing"),
    CLI_SWITCH("json", step.as_json, "one JSON object"),
    { 0 },
};

static bool run_bench_step(int argc, char **argv, GError **error)
{
    launch_speak();
    if (!cli_parse(&argc, &argv, step_entries, STEP_USAGE, about_step, error))
        return false;
    if (argc < 2)
        return fail_user(error, "no configuration given; usage: " STEP_USAGE);
    if (!(step.seconds >= 0 && step.seconds <= 3600))
        return fail_user(error, "--seconds is %g, want seconds, up to 3600", step.seconds);
    g_auto(Config) config = { 0 };
    const bool loaded = cli_check_suffix("trace", step.trace, ".json", error) &&
                        config_load_run(&config, argv[1], argv + 2, argc - 2, error);
    return bench_step(&step, &config, loaded, error);
}

/* ---- comm ---- */

#define COMM_USAGE                                                                                                     \
    "loam bench comm [--seconds S] [--most MB] [--out FILE] [--json] [parallel.ranks=N] [train.device=cuda]"

static const char about_comm[] =
    "Times every collective (exchange between ranks) at several sizes of message. The ranks are threads of this\n"
    "process (parallel.ranks=2), or the processes that mpirun or srun started; with train.device=cuda each has a GPU,\n"
    "and messages lie in its memory. It also prints the rate at which the ranks copy memory, all at once. --out "
    "writes\n"
    "a file for loam plan --machine, with the rate of matrix products and the memory of a rank.\n"
    "\n"
    "  loam bench comm parallel.ranks=2\n"
    "  mpirun -np 2 loam bench comm --out cluster.json\n";

static BenchComm comm = { .seconds = 0.2, .most = 16 };
static const GOptionEntry comm_entries[] = {
    CLI_VALUE("seconds", comm.seconds, "S", "seconds to measure each collective at each size (default 0.2)"),
    CLI_VALUE("most", comm.most, "MB",
              "the largest message, in MB (default 16); the others are smaller by factors of 16"),
    CLI_PATH("out", comm.out, "FILE", "write the measurements as JSON, for loam plan --machine FILE"),
    CLI_SWITCH("json", comm.as_json, "print the measurements as JSON"),
    { 0 },
};

static bool load_comm(Config *config, int argc, char **argv, GError **error)
{
    if (!(comm.seconds >= 0 && comm.seconds <= 3600))
        return fail_user(error, "--seconds is %g, want seconds, up to 3600", comm.seconds);
    if (!(comm.most >= 0.001 && comm.most <= 4096))
        return fail_user(error, "--most is %g, want MB, from 0.001 to 4096", comm.most);
    return cli_check_suffix("out", comm.out, ".json", error) && config_load(config, NULL, argv + 1, argc - 1, error);
}

/* All ranks agree on an error before they end: mpirun kills the others when one ends, also the one that says why. */
static bool run_comm(int argc, char **argv, GError **error)
{
    launch_speak();
    if (!cli_parse(&argc, &argv, comm_entries, COMM_USAGE, about_comm, error))
        return false;
    g_auto(Config) config = { 0 };
    const bool loaded = load_comm(&config, argc, argv, error);
    return bench_comm(&comm, &config, loaded, error);
}

/* ---- generate ---- */

#define GENERATE_USAGE                                                                                                 \
    "loam bench generate --model MODEL [--batch N] [--input N] [--tokens N] [--beams K] [--runs N] [--profile] "       \
    "[--json]"

static const char about_generate[] =
    "Times generation: answers of a model to prompts of random tokens. No token ends an "
    "answer, so all answers have the\n"
    "same length; the time includes reading the prompts. MODEL is a run directory, a "
    "checkpoint or a Hugging Face folder.\n"
    "\n"
    "  loam bench generate --model runs/a --precision bf16 --batch 16\n";

enum { MOST_TOKENS = 32768, MOST_ROWS = 1024, MOST_THREADS = 4096 };

static BenchGenerate answers = { .batch = 1, .input = 64, .tokens = 64, .beams = 1, .runs = 3 };
static const GOptionEntry generate_entries[] = {
    CLI_MODEL(answers.model),
    CLI_DEVICE(answers.device),
    CLI_PRECISION(answers.precision),
    CLI_VALUE("batch", answers.batch, "N", "prompts in one batch (default 1)"),
    CLI_VALUE("input", answers.input, "N", "tokens per prompt (default 64)"),
    CLI_VALUE("tokens", answers.tokens, "N", "tokens per answer (default 64)"),
    CLI_VALUE("beams", answers.beams, "K", "beam search with K hypotheses (default 1: greedy decoding)"),
    CLI_VALUE("runs", answers.runs, "N", "number of measurements, of which the median is printed (default 3)"),
    CLI_VALUE("threads", answers.threads, "N", "compute threads (default: one per core)"),
    CLI_SWITCH("profile", answers.profile, "print the share of time of each operation"),
    CLI_SWITCH("json", answers.as_json, "one JSON object"),
    { 0 },
};

static bool check_bench_ranges(GError **error)
{
    return cli_check_count("batch", answers.batch, 1, MOST_ROWS, error) &&
           cli_check_count("input", answers.input, 1, MOST_TOKENS, error) &&
           cli_check_count("tokens", answers.tokens, 1, MOST_TOKENS, error) &&
           cli_check_count("beams", answers.beams, 1, 256, error) &&
           cli_check_count("runs", answers.runs, 1, 1000, error) &&
           (answers.threads == 0 || cli_check_count("threads", answers.threads, 1, MOST_THREADS, error));
}

static bool run_generate(int argc, char **argv, GError **error)
{
    if (!cli_parse(&argc, &argv, generate_entries, GENERATE_USAGE, about_generate, error))
        return false;
    if (answers.model == NULL)
        return fail_user(error, "--model is missing; usage: " GENERATE_USAGE);
    if (argc > 1)
        return fail_user(error, "%s is not an option; usage: " GENERATE_USAGE, argv[1]);
    return check_bench_ranges(error) && bench_generate(&answers, error);
}

static const SubVerb sub_verbs[] = {
    { "ops", run_ops, "time every operation of a training step" },
    { "step", run_bench_step, "time a whole training step of a configuration" },
    { "comm", run_comm, "time every collective between ranks" },
    { "generate", run_generate, "time generation, greedy or by beam search" },
};

bool verb_bench(int argc, char **argv, GError **error)
{
    return cli_run_sub_verb(sub_verbs, G_N_ELEMENTS(sub_verbs), "bench", "loam bench ops", argc, argv, error);
}
