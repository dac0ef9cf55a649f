#include "base/log.h"
#include "base/text.h"
#include "cli/cli.h"
#include "data/sources.h"
#include "model/model.h"
#include "train/advice.h"
#include "train/memory.h"
#include "train/mixture_report.h"
#include "train/recipe.h"
#include "train/run.h"
#include "train/tokens.h"

#include <inttypes.h>
#include <stdio.h>

#define USAGE "loam plan CONFIG.yaml [group.key=value]…"

static const char about[] =
    "Prints the resolved configuration and what it will do: parameters, memory, work a step, milestones.\n"
    "Computes nothing: the step runs on the null device.\n\n"
    "  loam plan config.yaml train.batch=\"256 samples\"\n";

static gboolean options_reference, presets_reference;
static int megatron_tp;
static const GOptionEntry entries[] = {
    { "options", 0, 0, G_OPTION_ARG_NONE, &options_reference, "print the reference of every option, as Markdown",
      NULL },
    { "presets", 0, 0, G_OPTION_ARG_NONE, &presets_reference, "print every model.preset and its size, as Markdown",
      NULL },
    { "megatron-tp", 0, 0, G_OPTION_ARG_INT, &megatron_tp,
      "also what Megatron-LM counts at this tensor-parallel size, its padded vocabulary included", "N" },
    { 0 },
};

static void add_line(GString *plan, const char *what, const char *format, ...) G_GNUC_PRINTF(3, 4);
static void add_line(GString *plan, const char *what, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    g_string_append_printf(plan, "# %-22s ", what);
    g_string_append_vprintf(plan, format, args);
    g_string_append_c(plan, '\n');
    va_end(args);
}

/* Where the tokenizer decides about the vocabulary, V is its size. */
static void print_params(ModelConfig *config)
{
    int64_t vocab = config->vocab;
    config->vocab = 1;
    int64_t with_one = model_config_params(config);
    config->vocab = 2;
    int64_t per_token = model_config_params(config) - with_one;
    g_autofree char *fixed = text_grouped(with_one - per_token + vocab * per_token);
    if (vocab > 0)
        printf("%s |\n", fixed);
    else
        printf("%s + %" PRId64 " V |\n", fixed, per_token);
}

static bool print_preset(const char *name, GError **error)
{
    Config config = { 0 };
    g_autofree char *override = g_strconcat("model.preset=", name, NULL);
    bool done = config_load(&config, NULL, &override, 1, error);
    ModelConfig *model = &config.model;
    if (done) {
        printf("| `%s` | %" PRId64 " + %" PRId64 " | %" PRId64 " | %" PRId64 " | %" PRId64 " x %" PRId64 " | ", name,
               model->n_enc, model->n_dec, model->width, model->ffn, model->heads, model->head_dim);
        print_params(model);
    }
    config_clear(&config);
    return done;
}

static bool print_presets(GError **error)
{
    fputs("| preset | blocks of encoder + decoder | width | feed-forward | heads | parameters |\n"
          "|---|---|---|---|---|---|\n",
          stdout);
    for (const char *const *name = model_preset_names; *name; name++)
        if (!print_preset(*name, error))
            return false;
    return true;
}

typedef struct Sources {
    Tokenizer *tok;
    Loader *loader; /* NULL: the dataset is not there yet */
} Sources;

/* Resolves the vocabulary and opens what the run would read, as far as it is there. */
static bool resolve(Config *config, Sources *sources, GError **error)
{
    sources->tok = *config->tokenizer.path ? config_open_tokenizer(config, NULL) : NULL;
    if (!config_resolve_vocab(config, sources->tok, error) ||
        (sources->tok && !tokens_check(config, sources->tok, error)))
        return false;
    g_autofree char *train = sources_train(&config->data, error);
    if (!train)
        return false;
    if (sources->tok && *train)
        sources->loader = loader_open(&config->data, train, sources->tok, (uint64_t)config->run.seed, false, NULL);
    return true;
}

static void describe_data(const Loader *loader, int64_t steps, int64_t batch, GString *lines)
{
    int64_t epoch = loader_epoch_samples(loader, 0);
    g_autoptr(GPtrArray) datasets = mixture_report(loader, steps > 0 ? steps * batch : -1);
    for (guint i = 0; i < datasets->len; i++)
        add_line(lines, i == 0 ? "datasets" : "", "%s", (char *)datasets->pdata[i]);
    if (epoch > 0)
        add_line(lines, "an epoch", "%" PRId64 " samples, %.1f steps", epoch, (double)epoch / (double)batch);
}

static void add_sample(GString *lines, const Objective *objective, int64_t raw_length, int32_t enc, int32_t dec)
{
    const char *row = objective->choose ? "at most, in a row of" : "->"; /* several may share it */
    if (enc > 0 && dec > 0)
        add_line(lines, "a sample", "%" PRId64 " raw tokens %s %d input, %d target tokens", raw_length, row, enc, dec);
    else
        add_line(lines, "a sample", "%" PRId64 " raw tokens %s %d tokens", raw_length, row, enc + dec);
}

/* tokens: that the rows have room for. How full they are only the samples' lengths tell, so that a length in tokens may
 * take more steps, and another length fewer tokens. */
static void add_length(GString *lines, const Config *config, const Objective *objective, int64_t steps, double tokens)
{
    bool counted = config->train.length.unit == UNIT_TOKENS && config->data.compat != COMPAT_MEGATRON;
    g_autofree char *count = text_count(tokens);
    add_line(lines, "the run", "%s%" PRId64 " steps, %s input tokens%s", counted ? "about " : "", steps, count,
             counted || objective->choose ? " (an estimate: of full rows)" : "");
}

static bool describe(const Config *config, const Loader *loader, GString *lines, GError **error)
{
    const Objective *objective = data_objective_row(&config->data);
    ObjectiveConfig planned = data_objective(&config->data);
    planned.n_sentinels = TOKENIZER_SENTINELS;
    if (!config_check_objective(&config->data, &config->model, error) || !objective->plan(&planned, error))
        return false;
    int32_t micro = (int32_t)config_micro_samples(config), enc = objective_enc_length(objective, &planned),
            dec = objective_dec_length(objective, &planned);
    int64_t epoch = loader ? loader_epoch_samples(loader, 0) : 0, samples = config_batch_samples(config),
            steps = config_steps(config, config->train.length, epoch);
    g_autofree char *params = text_grouped(model_config_params(&config->model));
    g_autofree char *flops =
        text_count(model_step_flops(&config->model, micro, enc, dec, objective_target_share(objective, &planned)) *
                   (double)samples / micro);
    add_line(lines, "parameters", "%s", params);
    add_sample(lines, objective, planned.raw_length, enc, dec);
    add_line(lines, "a step", "%" PRId64 " samples in microbatches of %d, %s FLOP", samples, micro, flops);
    MemoryPlan plan;
    if (!memory_plan(config, enc, dec, &plan, error))
        return false;
    g_autofree char *memory = memory_describe(&plan);
    add_line(lines, "memory", "%s", memory);
    advice_give(config, config_steps(config, config->optim.warmup, epoch), steps);
    if (steps > 0)
        add_length(lines, config, objective, steps, (double)steps * (double)samples * (enc > 0 ? enc : dec));
    if (loader)
        describe_data(loader, steps, samples, lines);
    return true;
}

/* Megatron pads the vocabulary so that every rank holds a multiple of 128 rows, and counts the padding. */
static void add_megatron(GString *plan, const ModelConfig *config)
{
    ModelConfig padded = *config;
    int64_t multiple = 128 * (int64_t)megatron_tp;
    padded.vocab = (config->vocab + multiple - 1) / multiple * multiple;
    g_autofree char *vocab = text_grouped(padded.vocab), *params = text_grouped(model_config_params(&padded));
    add_line(plan, "Megatron", "vocabulary %s, parameters %s at tensor parallel size %d", vocab, params, megatron_tp);
}

bool verb_plan(int argc, char **argv, GError **error)
{
    if (!cli_parse(&argc, &argv, entries, USAGE, about, error))
        return false;
    if (options_reference) {
        g_autofree char *markdown = options_to_markdown(config_options(), recipe_options);
        fputs(markdown, stdout);
        return true;
    }
    if (presets_reference)
        return print_presets(error);
    if (argc < 2)
        return fail_user(error, "no configuration given; usage: " USAGE);
    if (megatron_tp < 0 || megatron_tp > 1024)
        return fail_user(error, "--megatron-tp is %d, want 1 to 1024", megatron_tp);
    Config config = { 0 };
    Sources sources = { 0 };
    bool done = run_config_load(&config, argv[1], argv + 2, argc - 2, error) && resolve(&config, &sources, error);
    if (done) {
        g_autofree char *yaml = options_to_yaml(config_options(), &config);
        g_autoptr(GString) lines = g_string_new(NULL);
        done = describe(&config, sources.loader, lines, error);
        if (done && megatron_tp > 0)
            add_megatron(lines, &config.model);
        if (done)
            printf("%s%s", yaml, lines->str);
    }
    loader_close(sources.loader);
    g_clear_pointer(&sources.tok, tokenizer_close);
    config_clear(&config);
    return done;
}
