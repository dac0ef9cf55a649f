#include "cli/cli.h"
#include "cli/inspect.h"
#include "train/config.h"

#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>

#define USAGE "loam inspect batch CONFIG.yaml [--step S] [--samples N] [--valid] [--json] [group.key=value]…"

static const char about[] =
    "What the model sees at a step: inputs and targets with their sentinels, and the text that they make together.\n"
    "Steps count from 1, as in metrics.jsonl.\n\n"
    "  loam inspect batch config.yaml --step 3 --samples 2\n";

static gint64 step = 1, max_samples;
static gboolean as_json, held_out;
static const GOptionEntry entries[] = {
    { "step", 0, 0, G_OPTION_ARG_INT64, &step, "the step (1)", "S" },
    { "samples", 0, 0, G_OPTION_ARG_INT64, &max_samples, "show the first N samples only", "N" },
    { "valid", 0, 0, G_OPTION_ARG_NONE, &held_out, "of the held-out data instead of the training data", NULL },
    { "json", 0, 0, G_OPTION_ARG_NONE, &as_json, "one JSON object a sample", NULL },
    { 0 },
};

static json_t *ids_json(const int32_t *ids, int64_t n)
{
    json_t *array = json_array();
    for (int64_t i = 0; i < n; i++)
        json_array_append_new(array, json_integer(ids[i]));
    return array;
}

static bool print_json(int64_t sample, const Example *example, GError **error)
{
    json_t *root = json_pack("{s:I, s:I, s:o, s:o}", "step", (json_int_t)step, "sample", (json_int_t)sample,
                             "input_ids", ids_json(example->inputs, example->n_inputs), "target_ids",
                             ids_json(example->targets, example->n_targets));
    return print_json_line(root, error);
}

static bool print_ids(const char *what, const Tokenizer *tok, const int32_t *ids, int64_t n, GError **error)
{
    g_autofree char *text = tokenizer_decode(tok, ids, n, error);
    if (text)
        printf("%s (%" PRId64 ")\n%s\n", what, n, text);
    return text != NULL;
}

static bool print_text(const Loader *loader, const Tokenizer *tok, int64_t sample, const Example *example,
                       GError **error)
{
    g_autofree int32_t *spliced = g_new(int32_t, example->n_inputs + example->n_targets);
    int64_t n = span_corruption_splice(loader_objective(loader), example, spliced);
    printf("=== step %" PRId64 ", sample %" PRId64 "\n", step, sample);
    return print_ids("input", tok, example->inputs, example->n_inputs, error) &&
           print_ids("target", tok, example->targets, example->n_targets, error) &&
           (n < 0 || print_ids("text", tok, spliced, n, error));
}

static bool print_samples(Loader *loader, const Tokenizer *tok, int64_t first, int64_t n, GError **error)
{
    const ObjectiveConfig *objective = loader_objective(loader);
    Batch *batch = batch_new(1, (int32_t)objective->input_length, (int32_t)objective->target_length);
    bool good = true;
    for (int64_t i = first; good && i < first + n; i++) {
        good = loader_get(loader, i, 1, batch, error);
        const Example example = { batch->enc.ids, batch->targets, batch->enc.n_used, batch->dec.n_used };
        if (good && as_json)
            good = print_json(i, &example, error);
        else if (good)
            good = print_text(loader, tok, i, &example, error);
    }
    batch_free(batch);
    return good;
}

static bool show_batch(const Config *config, GError **error)
{
    const char *prefix = held_out ? config->data.valid : config->data.train;
    int64_t samples = config_batch_samples(config);
    if (*config->tokenizer.path == 0)
        return fail_user(error, "tokenizer.path is not set: name the tokenizer of the dataset");
    if (*prefix == 0)
        return fail_user(error, "%s is not set: name a dataset that loam prepare made",
                         held_out ? "data.valid" : "data.train");
    if (step > INT64_MAX / samples)
        return fail_user(error, "--step %" PRId64 ": too large", step);
    Tokenizer *tok = tokenizer_open(config->tokenizer.path, error);
    if (!tok)
        return false;
    Loader *loader = loader_open(&config->data, prefix, tok, (uint64_t)config->run.seed, held_out, error);
    bool good = loader && print_samples(loader, tok, (step - 1) * samples,
                                        max_samples > 0 ? MIN(max_samples, samples) : samples, error);
    loader_close(loader);
    tokenizer_close(tok);
    return good;
}

bool inspect_batch(int argc, char **argv, GError **error)
{
    if (!cli_parse(&argc, &argv, entries, USAGE, about, error))
        return false;
    if (argc < 2)
        return fail_user(error, "no configuration given; usage: " USAGE);
    if (step < 1)
        return fail_user(error, "--step %" PRId64 ": steps count from 1", step);
    Config config = { 0 };
    bool good = config_load(&config, argv[1], argv + 2, argc - 2, error) && show_batch(&config, error);
    config_clear(&config);
    return good;
}
