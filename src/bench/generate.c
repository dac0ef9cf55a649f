/* generate.c: `loam bench generate`: how fast a model generates text, and each operation in it. */
#include "eval/generate.h"

#include "base/clock.h"
#include "base/json_line.h"
#include "base/philox.h"
#include "bench/bench.h"
#include "run/model_path.h"

#include <inttypes.h>
#include <stdio.h>

typedef struct Bench {
    const BenchGenerate *options;
    LoadedModel loaded;
    Profile profile;
    double load_s, prompt_s,
        answer_s;      /* seconds: loading the model; median until the first token; median for the whole answer */
    double profiled_s; /* wall-clock time that the profile covers */
} Bench;

/* Answers the prompts with `length` tokens each; *seconds becomes the time that this takes. */
static bool answer_prompts(Bench *b, const Prompts *prompts, int64_t length, double *seconds, GError **error)
{
    const TokenRoles *roles = model_roles(b->loaded.model);
    const GenerateOptions options = { .sampling = { .top_p = 1, .repetition_penalty = 1 },
                                      .beams = (int32_t)b->options->beams,
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

/* Measures medians over `runs` answers of one token and of many, alternating, after a warm-up that is not counted. */
static bool time_generation(Bench *b, const Prompts *prompts, GError **error)
{
    const int64_t runs = b->options->runs;
    g_autofree double *first = g_new(double, runs + 1), *whole = g_new(double, runs + 1);
    for (int64_t i = 0; i <= runs; i++) {
        if (!answer_prompts(b, prompts, 1, &first[i], error))
            return false;
        b->loaded.dev->profile = b->options->profile && i > 0 ? &b->profile : NULL;
        if (!answer_prompts(b, prompts, b->options->tokens, &whole[i], error))
            return false;
        b->loaded.dev->profile = NULL;
        b->profiled_s += i > 0 ? whole[i] : 0;
    }
    b->prompt_s = bench_median(first + 1, (size_t)runs);
    b->answer_s = bench_median(whole + 1, (size_t)runs);
    return true;
}

/* A model with few positions cuts answers, whose speed would be that of fewer tokens. generate reports long prompts. */
static bool check_positions(const Bench *b, GError **error)
{
    const ModelConfig *config = model_config(b->loaded.model);
    const int64_t input = b->options->input, tokens = b->options->tokens;
    const int64_t most = generate_most_tokens(config, input, tokens);
    return most == tokens || input > config->max_positions ||
           fail_user(error,
                     "--tokens %" PRId64 " is too much: to prompts of %" PRId64
                     " tokens this model has positions for answers of %" PRId64,
                     tokens, input, most);
}

static bool answer_random_prompts(Bench *b, GError **error)
{
    const int64_t vocab = model_config(b->loaded.model)->vocab, batch = b->options->batch, input = b->options->input,
                  n = batch * input;
    g_autofree int32_t *ids = g_new(int32_t, n), *cu = g_new0(int32_t, batch + 1);
    Philox rng = philox_open(philox_key(1, PHILOX_OTHER, 0), 0);
    for (int64_t i = 0; i < n; i++)
        ids[i] = (int32_t)(philox_uniform(&rng) * (double)vocab);
    for (int64_t p = 0; p < batch; p++)
        cu[p + 1] = (int32_t)((p + 1) * input);
    return time_generation(b, &(Prompts){ ids, cu, (int32_t)batch }, error);
}

static bool print_rate_json(const Bench *b, double rate, const char *precision, GError **error)
{
    const BenchGenerate *options = b->options;
    const Device *dev = b->loaded.dev;
    return print_json_line(json_pack("{s:o, s:o, s:o, s:o, s:I, s:I, s:I, s:I, s:s, s:i, s:s, s:o*}", "tokens_per_s",
                                     json_finite(rate), "answer_s", json_finite(b->answer_s), "first_token_s",
                                     json_finite(b->prompt_s), "load_s", json_finite(b->load_s), "batch",
                                     (json_int_t)options->batch, "beams", (json_int_t)options->beams, "input",
                                     (json_int_t)options->input, "tokens", (json_int_t)options->tokens, "isa", dev->isa,
                                     "threads", dev->threads, "precision", precision, "profile",
                                     options->profile ? bench_profile_json(&b->profile, b->profiled_s) : NULL),
                           error);
}

static bool print_result(const Bench *b, GError **error)
{
    const BenchGenerate *options = b->options;
    const Device *dev = b->loaded.dev;
    double total = (double)(options->batch * options->tokens), rate = total / b->answer_s;
    g_autofree char *precision = precision_describe(dev->precision), *device = bench_device(dev);
    if (options->as_json)
        return print_rate_json(b, total / b->answer_s, precision, error);
    printf("model        %s, loaded in %.2f s\n", device, b->load_s);
    printf("answers      %" PRId64 " of %" PRId64 " tokens to prompts of %" PRId64 " tokens, %s\n", options->batch,
           options->tokens, options->input, options->beams > 1 ? "beam search" : "greedy");
    printf("time         %.3f s, %.3f s to the first token\n", b->answer_s, b->prompt_s);
    printf("speed        %.1f tokens/s\n", rate);
    if (options->profile)
        bench_print_profile(&b->profile, b->profiled_s);
    return true;
}

bool bench_generate(const BenchGenerate *options, GError **error)
{
    Bench b = { .options = options };
    double start = clock_seconds();
    bool done = loaded_model_open(&b.loaded,
                                  &(LoadedModelSource){ .path = options->model,
                                                        .precision_name = options->precision,
                                                        .threads = (int)options->threads,
                                                        .device = options->device },
                                  error);
    b.load_s = clock_seconds() - start;
    done = done && check_positions(&b, error) && answer_random_prompts(&b, error) && print_result(&b, error);
    loaded_model_close(&b.loaded);
    return done;
}
