/* generate.c: `loam bench generate`: how fast a model generates text, and each operation in it. */
#include "eval/generate.h"

#include "base/clock.h"
#include "base/philox.h"
#include "cli/bench/bench.h"
#include "cli/cli.h"
#include "run/config/config.h"
#include "run/model_path.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#define USAGE                                                                                                          \
    "loam bench generate --model MODEL [--batch N] [--input N] [--tokens N] [--beams K] [--runs N] [--profile] "       \
    "[--json]"

static const char about[] = "Times generation: answers of a model to prompts of random tokens. No token ends an "
                            "answer, so all answers have the\n"
                            "same length; the time includes reading the prompts. MODEL is a run directory, a "
                            "checkpoint or a Hugging Face folder.\n"
                            "\n"
                            "  loam bench generate --model runs/a --precision bf16 --batch 16\n";

enum { MOST_TOKENS = 32768, MOST_ROWS = 1024, MOST_THREADS = 4096 };

static char *model_path, *precision_name, *device_name;
static int64_t batch = 1, n_input = 64, n_tokens = 64, beams = 1, runs = 3, threads;
static gboolean as_json, with_profile;
static const GOptionEntry entries[] = {
    CLI_PATH("model", model_path, "the model", "MODEL"),
    CLI_VALUE("device", device_name, "device (default cpu); auto: a GPU if one can be used", "cpu|cuda|cuda:N|auto"),
    CLI_VALUE("precision", precision_name, "precision (default: that of training; f32 if the model is not from a run)",
              "f32|bf16|fp16|auto"),
    CLI_VALUE("batch", batch, "prompts in one batch (default 1)", "N"),
    CLI_VALUE("input", n_input, "tokens per prompt (default 64)", "N"),
    CLI_VALUE("tokens", n_tokens, "tokens per answer (default 64)", "N"),
    CLI_VALUE("beams", beams, "beam search with K hypotheses (default 1: greedy decoding)", "K"),
    CLI_VALUE("runs", runs, "number of measurements, of which the median is printed (default 3)", "N"),
    CLI_VALUE("threads", threads, "compute threads (default: one per core)", "N"),
    CLI_SWITCH("profile", with_profile, "print the share of time of each operation"),
    CLI_SWITCH("json", as_json, "one JSON object"),
    { 0 },
};

typedef struct Bench {
    LoadedModel loaded;
    Profile profile;
    double load_s, prompt_s,
        answer_s;      /* seconds: loading the model; median until the first token; median for the whole answer */
    double profiled_s; /* wall-clock time that the profile covers */
} Bench;

static int shortest_first(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Answers the prompts with `length` tokens each; *seconds becomes the time that this takes. */
static bool answer(Bench *b, const Prompts *prompts, int64_t length, double *seconds, GError **error)
{
    const TokenRoles *roles = model_roles(b->loaded.model);
    const GenerateOptions options = { .sampling = { .top_p = 1, .repetition_penalty = 1 },
                                      .beams = (int32_t)beams,
                                      .length_penalty = 1,
                                      .n = 1,
                                      .max_tokens = length,
                                      .decoder_start = MAX(0, roles->decoder_start) };
    g_autofree Generation *answers = g_new0(Generation, prompts->n);
    double start = clock_seconds();
    bool done = generate(b->loaded.model, prompts, 0, &options, answers, error);
    *seconds = clock_seconds() - start;
    for (int32_t p = 0; p < prompts->n; p++)
        generation_clear(&answers[p]);
    return done;
}

/* Measures the medians over `runs` answers of one token and of `n_tokens` tokens, alternating, after a warm-up that is
 * not counted. */
static bool measure(Bench *b, const Prompts *prompts, GError **error)
{
    g_autofree double *first = g_new(double, runs + 1), *whole = g_new(double, runs + 1);
    for (int64_t i = 0; i <= runs; i++) {
        if (!answer(b, prompts, 1, &first[i], error))
            return false;
        b->loaded.dev->profile = with_profile && i > 0 ? &b->profile : NULL;
        if (!answer(b, prompts, n_tokens, &whole[i], error))
            return false;
        b->loaded.dev->profile = NULL;
        b->profiled_s += i > 0 ? whole[i] : 0;
    }
    qsort(first + 1, (size_t)runs, sizeof *first, shortest_first);
    qsort(whole + 1, (size_t)runs, sizeof *whole, shortest_first);
    b->prompt_s = first[1 + runs / 2];
    b->answer_s = whole[1 + runs / 2];
    return true;
}

/* A model with few positions cuts its answers, whose speed would be that of fewer tokens. Of prompts that are too long,
 * generate says so. */
static bool check_positions(const Model *model, GError **error)
{
    const ModelConfig *config = model_config(model);
    const int64_t most = generate_most_tokens(config, n_input, n_tokens);
    return most == n_tokens || n_input > config->max_positions ||
           fail_user(error,
                     "--tokens %" PRId64 " is too much: to prompts of %" PRId64
                     " tokens this model has positions for answers of %" PRId64,
                     n_tokens, n_input, most);
}

static bool answer_random_prompts(Bench *b, GError **error)
{
    int64_t vocab = model_config(b->loaded.model)->vocab, n = batch * n_input;
    g_autofree int32_t *ids = g_new(int32_t, n), *cu = g_new0(int32_t, batch + 1);
    Philox rng = philox_open(philox_key(1, PHILOX_OTHER, 0), 0);
    for (int64_t i = 0; i < n; i++)
        ids[i] = (int32_t)(philox_uniform(&rng) * (double)vocab);
    for (int64_t p = 0; p < batch; p++)
        cu[p + 1] = (int32_t)((p + 1) * n_input);
    return measure(b, &(Prompts){ ids, cu, (int32_t)batch }, error);
}

static bool print_json(const Bench *b, double rate, const char *precision, GError **error)
{
    const Device *dev = b->loaded.dev;
    json_t *object = json_pack("{s:o, s:o, s:o, s:o, s:I, s:I, s:I, s:I, s:s, s:i, s:s}", "tokens_per_s",
                               json_finite(rate), "answer_s", json_finite(b->answer_s), "first_token_s",
                               json_finite(b->prompt_s), "load_s", json_finite(b->load_s), "batch", (json_int_t)batch,
                               "beams", (json_int_t)beams, "input", (json_int_t)n_input, "tokens", (json_int_t)n_tokens,
                               "isa", dev->isa, "threads", dev->threads, "precision", precision);
    if (with_profile)
        json_object_set_new(object, "profile", bench_profile_json(&b->profile, b->profiled_s));
    return print_json_line(object, error);
}

static bool print_result(const Bench *b, GError **error)
{
    const Device *dev = b->loaded.dev;
    double total = (double)(batch * n_tokens), rate = total / b->answer_s;
    g_autofree char *precision = precision_describe(dev->precision), *device = bench_device(dev);
    if (as_json)
        return print_json(b, total / b->answer_s, precision, error);
    printf("model        %s, loaded in %.2f s\n", device, b->load_s);
    printf("answers      %" PRId64 " of %" PRId64 " tokens to prompts of %" PRId64 " tokens, %s\n", batch, n_tokens,
           n_input, beams > 1 ? "beam search" : "greedy");
    printf("time         %.3f s, %.3f s to the first token\n", b->answer_s, b->prompt_s);
    printf("speed        %.1f tokens/s\n", rate);
    if (with_profile)
        bench_print_profile(&b->profile, b->profiled_s);
    return true;
}

static bool check_count(const char *name, int64_t value, int64_t most, GError **error)
{
    return (value >= 1 && value <= most) ||
           fail_user(error, "--%s %" PRId64 " is out of range, it must be between 1 and %" PRId64, name, value, most);
}

static bool check_ranges(GError **error)
{
    return check_count("batch", batch, MOST_ROWS, error) && check_count("input", n_input, MOST_TOKENS, error) &&
           check_count("tokens", n_tokens, MOST_TOKENS, error) && check_count("beams", beams, 256, error) &&
           check_count("runs", runs, 1000, error) &&
           (threads == 0 || check_count("threads", threads, MOST_THREADS, error));
}

bool bench_generate(int argc, char **argv, GError **error)
{
    if (!cli_parse(&argc, &argv, entries, USAGE, about, error))
        return false;
    if (model_path == NULL)
        return fail_user(error, "--model is missing; usage: " USAGE);
    if (argc > 1)
        return fail_user(error, "%s is not an option; usage: " USAGE, argv[1]);
    Precision precision;
    if (!check_ranges(error) ||
        (precision_name && !precision_of_name(precision_name, "--precision", device_name, &precision, error)))
        return false;
    Bench b = { 0 };
    double start = clock_seconds();
    bool done = loaded_model_open(&b.loaded,
                                  &(LoadedModelSource){ .path = model_path,
                                                        .precision = precision_name ? &precision : NULL,
                                                        .threads = (int)threads,
                                                        .device = device_name },
                                  error);
    b.load_s = clock_seconds() - start;
    done =
        done && check_positions(b.loaded.model, error) && answer_random_prompts(&b, error) && print_result(&b, error);
    loaded_model_close(&b.loaded);
    return done;
}
