#include "train/config.h"

#include "base/text.h"
#include "data/sources.h"
#include "train/resolve.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#define MAX_ROWS (1 << 28) /* tokens of a microbatch: what 32-bit row numbers hold, with room for long targets */

#define MAX_COMPAT_SAMPLES 1e12 /* as the option */

static const char *const precision_names[] = { "f32", NULL };
static const char *const recompute_names[] = { "none", "block", NULL };

#define ROW(field) offsetof(RunConfig, field)
static const OptionRow run_options[] = {
    { "run.dir", OPT_STRING, ROW(dir), "", 0, 0, OPT_FREE, "run directory: checkpoints, metrics, logs", NULL },
    { "run.seed", OPT_I64, ROW(seed), "42", 0, 9e15, OPT_IDENTITY, "seed of initialisation, data order and dropout",
      NULL },
};
#undef ROW

static const OptionRow tokenizer_options[] = {
    { "tokenizer.path", OPT_STRING, offsetof(TokenizerConfig, path), "", 0, 0, OPT_FREE,
      "SentencePiece model; a resumed run compares its hash, not its path", NULL },
};

#define ROW(field) offsetof(TrainConfig, field)
static const OptionRow train_options[] = {
    { "train.length", OPT_AMOUNT, ROW(length), "10k steps", 0, 1e18, OPT_TUNABLE, "how long to train", NULL },
    { "train.batch", OPT_AMOUNT, ROW(batch), "128 samples", 1, 1e12, OPT_TUNABLE,
      "global batch of an update, in samples or tokens", NULL },
    { "train.micro_batch", OPT_AMOUNT, ROW(micro_batch), "8 samples", 1, 1e9, OPT_TUNABLE,
      "samples computed at once; accumulation follows", NULL },
    { "train.log_every", OPT_AMOUNT, ROW(log_every), "10 steps", 1, 1e18, OPT_FREE,
      "how often to log; a time (30s) will do", NULL },
    { "train.eval_every", OPT_AMOUNT, ROW(eval_every), "1k steps", 0, 1e18, OPT_TUNABLE,
      "how often to evaluate data.valid; a time (2h) will do; 0: only at the end", NULL },
    { "train.save_every", OPT_AMOUNT, ROW(save_every), "1k steps", 0, 1e18, OPT_TUNABLE,
      "how often to save; a time (20m) will do; 0: only at the end and by save_within", NULL },
    { "train.save_within", OPT_AMOUNT, ROW(save_within), "30m", 0, 1e18, OPT_FREE,
      "also save when so much time has passed since the last save, unless save_every is a time itself; 0: never",
      NULL },
    { "train.eval_samples", OPT_I64, ROW(eval_samples), "1024", 0, 1e15, OPT_TUNABLE,
      "samples of data.valid in each evaluation; 0: all", NULL },
    { "train.keep_last", OPT_I64, ROW(keep_last), "2", 1, 1e6, OPT_FREE, "newest checkpoints to keep", NULL },
    { "train.keep_every", OPT_I64, ROW(keep_every), "0", 0, 1e15, OPT_FREE,
      "also keep the checkpoints at multiples of this many steps; 0: none", NULL },
    { "train.precision", OPT_ENUM, ROW(precision), "f32", 0, 0, OPT_IDENTITY, "arithmetic of activations",
      precision_names },
    { "train.recompute", OPT_ENUM, ROW(recompute), "none", 0, 0, OPT_FREE,
      "block: run each block again in backward instead of keeping its activations", recompute_names },
    { "train.init", OPT_STRING, ROW(init), "", 0, 0, OPT_IDENTITY,
      "start from the weights of this model (run, checkpoint or Hugging Face folder), of its shape and with its "
      "tokenizer, "
      "with a fresh optimizer",
      NULL },
    { "train.label_smoothing", OPT_F64, ROW(label_smoothing), "0", 0, 0.99, OPT_TUNABLE, "mass taken off the target",
      NULL },
    { "train.z_loss", OPT_F64, ROW(z_loss), "0", 0, 1, OPT_TUNABLE, "weight of (log Z)^2 in the loss; T5X: 1e-4",
      NULL },
    { "train.threads", OPT_I64, ROW(threads), "0", 0, 4096, OPT_FREE, "compute threads; 0: every core", NULL },
};
#undef ROW

const OptionTable *config_options(void)
{
    static OptionGroup groups[6];
    static const OptionTable table = { groups, G_N_ELEMENTS(groups), sizeof(Config) };
    static gsize ready;
    if (g_once_init_enter(&ready)) {
        groups[0] = (OptionGroup){ run_options, G_N_ELEMENTS(run_options), offsetof(Config, run) };
        groups[1] = (OptionGroup){ model_options, n_model_options, offsetof(Config, model) };
        groups[2] = (OptionGroup){ tokenizer_options, G_N_ELEMENTS(tokenizer_options), offsetof(Config, tokenizer) };
        groups[3] = (OptionGroup){ data_options, n_data_options, offsetof(Config, data) };
        groups[4] = (OptionGroup){ train_options, G_N_ELEMENTS(train_options), offsetof(Config, train) };
        groups[5] = (OptionGroup){ optim_options, n_optim_options, offsetof(Config, optim) };
        g_once_init_leave(&ready, 1);
    }
    return &table;
}

/* What a reference system's order depends on is, where nothing else is said, the run's length and its microbatch. */
static bool resolve_compat(Config *config, GError **error)
{
    DataConfig *data = &config->data;
    Amount length = config->train.length;
    if (data->compat == COMPAT_FAIRSEQ && data->compat_batch.value == 0)
        data->compat_batch = config->train.micro_batch;
    if (data->compat != COMPAT_MEGATRON || data->compat_samples > 0)
        return true;
    if (length.unit == UNIT_EPOCHS || length.unit == UNIT_SECONDS)
        return fail_user(error, "data.compat=megatron: its order depends on the number of samples of the run; give "
                                "train.length in steps, samples or tokens, or set data.compat_samples");
    double samples = length.unit == UNIT_STEPS ? length.value * (double)config_batch_samples(config)
                                               : (double)config_samples(config, length, 0);
    data->compat_samples = (int64_t)MIN(samples, MAX_COMPAT_SAMPLES);
    return true;
}

void config_fit_model(Config *config, const ModelConfig *model)
{
    config->data.decoder_alone = model->n_enc == 0;
    config->data.memory_rows = model->memory_tokens;
}

bool config_load(Config *config, const char *path, char **overrides, int n_overrides, GError **error)
{
    options_set_defaults(config_options(), config);
    g_autoptr(GPtrArray) layers = resolve_layers(path, overrides, n_overrides, error);
    if (layers == NULL || !options_apply(config_options(), config, layers, error) ||
        !resolve_recipe(config, layers, error) || !config_check(config, error) || !resolve_compat(config, error))
        return false;
    config_fit_model(config, &config->model);
    config->model.prefix_lm |=
        config->data.decoder_alone && strcmp(data_objective_row(&config->data)->name, "prefix_lm") == 0;
    return true;
}

void config_clear(Config *config)
{
    options_clear(config_options(), config);
}

/* An encoder alone hides words behind its mask, if it has one. */
static bool needs_sentinels(const Config *config, const Tokenizer *tok)
{
    const ModelConfig *model = &config->model;
    bool masks = tokenizer_role(tok, ROLE_MASK) >= 0;
    bool room = model->vocab == 0 || model->vocab >= tokenizer_size(tok) + TOKENIZER_SENTINELS;
    return room && model->n_enc > 0 && (model->n_dec > 0 || !masks);
}

Tokenizer *config_open_tokenizer(const Config *config, GError **error)
{
    Tokenizer *tok = tokenizer_open(config->tokenizer.path, error);
    if (!tok)
        fail_context(error, "tokenizer.path");
    else if (needs_sentinels(config, tok))
        tokenizer_add_sentinels(tok);
    return tok;
}

bool config_resolve_vocab(Config *config, const Tokenizer *tok, GError **error)
{
    ModelConfig *model = &config->model;
    int size = tok ? tokenizer_size(tok) : 0;
    if (model->vocab == 0 && tok == NULL)
        return fail_user(error, "model.vocab is auto and there is no tokenizer to take it from: set tokenizer.path, or "
                                "model.vocab to a number");
    if (model->vocab == 0)
        model->vocab = (size + model->vocab_multiple - 1) / model->vocab_multiple * model->vocab_multiple;
    return model->vocab >= size ||
           fail_user(error,
                     "model.vocab %" PRId64 " is smaller than the tokenizer's %d ids (sentinels included); use auto or "
                     "at least %d",
                     model->vocab, size, size);
}

int64_t config_batch_samples(const Config *config)
{
    double samples = config->train.batch.value;
    if (config->train.batch.unit == UNIT_TOKENS)
        samples /= (double)config->data.input_length;
    return MAX(1, (int64_t)samples);
}

int64_t config_micro_samples(const Config *config)
{
    double samples = config->train.micro_batch.value;
    if (config->train.micro_batch.unit == UNIT_TOKENS)
        samples /= (double)config->data.input_length;
    return CLAMP((int64_t)samples, 1, config_batch_samples(config));
}

int64_t config_samples(const Config *config, Amount amount, int64_t epoch_samples)
{
    switch (amount.unit) {
    case UNIT_SAMPLES:
        return (int64_t)ceil(amount.value);
    case UNIT_TOKENS:
        return (int64_t)ceil(amount.value / (double)config->data.input_length);
    case UNIT_EPOCHS:
        return (int64_t)ceil(amount.value * (double)epoch_samples);
    case UNIT_STEPS:
    case UNIT_SECONDS:
    case UNIT_PERCENT:
        break;
    }
    return -1;
}

int64_t config_share(Amount amount, int64_t total)
{
    return (int64_t)ceil(amount.value * (double)total / 100);
}

int64_t config_steps(const Config *config, Amount amount, int64_t epoch_samples)
{
    int64_t samples = config_samples(config, amount, epoch_samples), batch = config_batch_samples(config);
    if (amount.unit == UNIT_STEPS)
        return (int64_t)amount.value;
    if (amount.unit == UNIT_PERCENT)
        return config_share(amount, config_steps(config, config->train.length, epoch_samples));
    return samples < 0 ? -1 : (samples + batch - 1) / batch;
}

double config_tokens(const Config *config, Amount amount)
{
    Amount length = config->train.length;
    if (amount.unit == UNIT_PERCENT && length.unit == UNIT_TOKENS)
        return ceil(amount.value * length.value / 100);
    return amount.unit == UNIT_TOKENS ? amount.value : 0;
}

Schedule config_schedule(const Config *config, int64_t epoch_samples, bool count_tokens)
{
    const OptimConfig *optim = &config->optim;
    Amount warmup = optim->warmup, length = config->train.length;
    Schedule schedule = { .kind = optim->schedule,
                          .lr = optim->lr,
                          .min_lr = optim->min_lr,
                          .power = optim->power,
                          .warmup = (double)config_steps(config, warmup, epoch_samples),
                          .total = (double)config_steps(config, length, epoch_samples) };
    schedule.warmup_in_tokens = count_tokens && config_tokens(config, warmup) > 0;
    if (schedule.warmup_in_tokens)
        schedule.warmup = config_tokens(config, warmup);
    schedule.total_in_tokens = count_tokens && config_tokens(config, length) > 0;
    if (schedule.total_in_tokens)
        schedule.total = config_tokens(config, length);
    return schedule;
}

/* Samples of a step are counted in samples or tokens, not in steps. */
static bool check_batch(const char *name, Amount amount, GError **error)
{
    if (amount.unit == UNIT_SAMPLES || amount.unit == UNIT_TOKENS)
        return true;
    g_autofree char *text = amount_format(amount), *number = text_number(amount.value);
    if (amount.unit == UNIT_STEPS)
        return fail_user(error,
                         "%s: %s of what? A number alone would be steps; write %s=\"%s samples\", or tokens, such as "
                         "\"64k tokens\"",
                         name, number, name, number);
    return fail_user(error, "%s: \"%s\" does not fit; write samples or tokens, such as \"128 samples\"", name, text);
}

/* How long, or how often: in whole steps, so that a time does not fit, and a share of the length only
 * where that has steps. */
static bool check_steps(const char *name, Amount amount, Amount length, GError **error)
{
    g_autofree char *text = amount_format(amount);
    if (amount.unit == UNIT_SECONDS)
        return fail_user(error, "%s: \"%s\" does not fit; write steps, samples, tokens or epochs", name, text);
    if (amount.unit != UNIT_PERCENT)
        return true;
    if (amount.value > 100)
        return fail_user(error, "%s: %s is more than the whole of train.length", name, text);
    return length.unit != UNIT_SECONDS ||
           fail_user(error, "%s: %s of train.length, which is a time, are no number of steps; write steps", name, text);
}

/* How often something is done may be a time too. */
static bool check_every(const char *name, Amount amount, Amount length, GError **error)
{
    return amount.unit == UNIT_SECONDS || check_steps(name, amount, length, error);
}

static bool check_within(Amount amount, GError **error)
{
    g_autofree char *text = amount_format(amount);
    return amount.unit == UNIT_SECONDS || amount.value == 0 ||
           fail_user(error, "train.save_within: \"%s\" is not a time; write one like 30m, or 0", text);
}

bool config_check(const Config *config, GError **error)
{
    const TrainConfig *train = &config->train;
    if (train->length.unit == UNIT_PERCENT)
        return fail_user(error, "train.length: a share of itself; write steps, samples, tokens, epochs or a time");
    if (!check_batch("train.batch", train->batch, error) ||
        !check_batch("train.micro_batch", train->micro_batch, error) ||
        !check_steps("optim.warmup", config->optim.warmup, train->length, error) ||
        !check_every("train.log_every", train->log_every, train->length, error) ||
        !check_every("train.eval_every", train->eval_every, train->length, error) ||
        !check_every("train.save_every", train->save_every, train->length, error) ||
        !check_within(train->save_within, error) ||
        (config->data.mixture.cap.value > 0 && !check_batch("data.mixture_cap", config->data.mixture.cap, error)) ||
        (config->data.compat_batch.value > 0 && !check_batch("data.compat_batch", config->data.compat_batch, error)) ||
        !sources_check(&config->data, error))
        return false;
    if (config->data.break_mode != BREAK_NONE && config->data.compat != COMPAT_FAIRSEQ)
        return fail_user(error, "data.break_mode=%s is fairseq's; it needs data.compat=fairseq",
                         break_mode_names[config->data.break_mode]);
    if (config_micro_samples(config) > MAX_ROWS / config->data.input_length)
        return fail_user(error,
                         "train.micro_batch: %" PRId64 " samples of %" PRId64
                         " tokens are more than are computed at once "
                         "(%d tokens); accumulation makes train.batch of smaller ones",
                         config_micro_samples(config), config->data.input_length, MAX_ROWS);
    bool decays = config->optim.schedule != SCHEDULE_CONSTANT && config->optim.schedule != SCHEDULE_INVERSE_SQRT;
    if (train->length.unit == UNIT_SECONDS && decays)
        return fail_user(
            error,
            "train.length is a time, but optim.schedule %s needs to know its last step; give the length in "
            "steps, samples, tokens or epochs, or choose constant or inverse_sqrt",
            schedule_names[config->optim.schedule]);
    return model_config_check(&config->model, error);
}

static bool check_segments(const DataConfig *data, const ModelConfig *model, GError **error)
{
    return data->sentence_pairs == PAIRS_NONE || model->segments != 1 ||
           fail_user(error,
                     "model.segments is 1: a pair of data.sentence_pairs has tokens of two; set 2, or 0 for none");
}

/* Whether an objective fills the streams that the model has. */
static bool suits(const Objective *objective, const ModelConfig *model)
{
    return (objective->streams != STREAMS_DECODER) == (model->n_enc > 0) &&
           (objective->streams != STREAMS_ENCODER) == (model->n_dec > 0);
}

bool config_check_objective(const DataConfig *data, const ModelConfig *model, GError **error)
{
    static const char *const trains[] = { [STREAMS_BOTH] = "an encoder and a decoder",
                                          [STREAMS_ENCODER] = "an encoder alone",
                                          [STREAMS_DECODER] = "a decoder alone" };
    const Objective *objective = data_objective_row(data);
    if (suits(objective, model))
        return check_segments(data, model, error);
    g_autoptr(GString) others = g_string_new(NULL);
    for (int i = 0; objective_names[i]; i++)
        if (suits(objective_for(i, model->n_enc == 0), model))
            g_string_append_printf(others, "%s%s", others->len ? ", " : "", objective_names[i]);
    return fail_user(error,
                     "data.objective=%s trains %s, but the model has %" PRId64 " encoder and %" PRId64
                     " decoder blocks; choose another objective (%s) or another model",
                     objective->name, trains[objective->streams], model->n_enc, model->n_dec, others->str);
}
