/* check.c: rules that involve several options, and warnings about settings that are allowed but probably not meant. */
#include "base/log.h"
#include "base/text.h"
#include "data/data_config.h"
#include "eval/task_scores.h"
#include "run/compute_device.h"
#include "run/config/config.h"

#include <inttypes.h>
#include <string.h>

#define FEW_UPDATES 100 /* fewer updates per epoch of a task than this give a warning */

/* train.batch and train.micro_batch are in samples or tokens. */
static bool check_batch(const char *name, Amount amount, GError **error)
{
    if (amount.unit == UNIT_SAMPLES || amount.unit == UNIT_EXAMPLES || amount.unit == UNIT_TOKENS)
        return true;
    g_autofree char *text = amount_format(amount), *number = text_number(amount.value);
    if (amount.unit == UNIT_STEPS)
        return fail_user(error,
                         "%s: %s of what? A number alone would be steps; write %s=\"%s samples\", or tokens, such as "
                         "\"64k tokens\"",
                         name, number, name, number);
    return fail_user(error, "%s: \"%s\" does not fit; write samples or tokens, such as \"128 samples\"", name, text);
}

/* Checks an amount that is counted as the run goes on: not a time, and no more than the whole of train.length. */
static bool check_steps(const char *name, Amount amount, GError **error)
{
    g_autofree char *text = amount_format(amount);
    if (amount.unit == UNIT_SECONDS)
        return fail_user(error, "%s: \"%s\" does not fit; write steps, samples, tokens or epochs", name, text);
    return amount.unit != UNIT_PERCENT || amount.value <= 100 ||
           fail_user(error, "%s: %s is more than the whole of train.length", name, text);
}

/* Checks a period: like check_steps, but a time is valid too. */
static bool check_every(const char *name, Amount amount, GError **error)
{
    return amount.unit == UNIT_SECONDS || check_steps(name, amount, error);
}

static bool check_within(Amount amount, GError **error)
{
    g_autofree char *text = amount_format(amount);
    return amount.unit == UNIT_SECONDS || amount.value == 0 ||
           fail_user(error, "train.save_within: \"%s\" is not a time; write one like 30m, or 0", text);
}

/* Fails for a task given to an encoder-only model without a classifier. The message says which option adds one. */
static bool fail_unanswered(const TaskConfig *task, GError **error)
{
    const LabelKind kind = task_learns(task);
    if (kind != LABELS_NONE)
        return fail_user(error,
                         "the model is encoder-only, without a classifier (model.classifier=none, the task wants %s): "
                         "fine-tune it on the task first, with train.init",
                         label_kind_names[kind]);
    if (*task->name && *task->target == '\0')
        return fail_user(error,
                         "task.name=%s is text to text, but the model is encoder-only: give task.input and task.label, "
                         "or use a T5 or a GPT",
                         task->name);
    return fail_user(error, "the model has no decoder that writes an answer: give task.label (or task.value, "
                            "task.tags, task.answers, task.choices), which trains a classifier, or use a T5 or a GPT");
}

/* Whether a target that the user set leaves nothing of a decoder-only model's sequences to the input. */
static bool check_input_room(const Config *config, GError **error)
{
    const DataConfig *data = &config->data;
    const bool given = config->given && g_strv_contains((const char *const *)config->given, "data.target_length");
    return !given || config->model.n_enc > 0 || config->model.classifier != LABELS_NONE ||
           data->target_length < data->input_length ||
           fail_user(error,
                     "data.target_length=%" PRId64 " leaves no token of data.input_length=%" PRId64
                     ", which a decoder-only model's input and target share, to the input: leave "
                     "data.target_length out, or give both more room",
                     data->target_length, data->input_length);
}

static bool check_task(const Config *config, GError **error)
{
    const TaskConfig *own = &config->task;
    const bool known =
        *own->name == '\0' ||
        task_find(own->name); /* an unknown name is reported by task_configure below, with the nearest known one */
    Task task;
    if (!task_is_set(own))
        return true;
    if (known && config->model.n_dec == 0 && config->model.classifier == LABELS_NONE)
        return fail_unanswered(own, error);
    if (!check_input_room(config, error) || !task_configure(&task, &config->task, error))
        return false;
    const LabelKind has = (LabelKind)config->model.classifier, wants = task.learns;
    if (has != wants && has != LABELS_NONE && wants != LABELS_NONE)
        return fail_user(
            error, "model.classifier=%s does not fit the task, whose labels are for model.classifier=%s: leave it out",
            label_kind_names[has], label_kind_names[wants]);
    return task_scores_check(&task, error);
}

static bool check_best(const Config *config, GError **error)
{
    const char *best = config->train.best;
    Task task;
    if (strcmp(best, "loss") == 0)
        return true;
    if (!task_is_set(&config->task))
        /* Datasets in data.valid that were made from tasks (run/task_set.h) have scores too. */
        return *config->data.valid || fail_user(error,
                                                "train.best=%s: only a run with a task (task.name, or task.data) has "
                                                "scores; loss is the held-out loss",
                                                best);
    g_autofree char *metric = task_configure(&task, &config->task, error) ? task_metric_find(&task, best, error) : NULL;
    return metric || fail_context(error, "train.best");
}

static bool check_class_weights(const Config *config, GError **error)
{
    GError *problem = NULL;
    g_free(config_class_weights(config, &problem));
    return problem == NULL || fail_with(error, problem);
}

static bool check_smoothing(const Config *config, GError **error)
{
    const LabelKind kind = (LabelKind)config->model.classifier;
    if (config->train.label_smoothing == 0 || kind == LABELS_NONE)
        return true;
    if (!labels_have_names(kind))
        return fail_user(error, "train.label_smoothing: model.classifier=%s has no classes to spread it over",
                         label_kind_names[kind]);
    return *config->train.class_weights == '\0' ||
           fail_user(error, "train.label_smoothing and train.class_weights of a classifier: set one of them");
}

/* Batches in examples need data.packed=false: with packing, the number of examples in a packed sequence varies. */
static bool check_examples(const Config *config, GError **error)
{
    const TrainConfig *train = &config->train;
    const bool counted = train->batch.unit == UNIT_EXAMPLES || train->micro_batch.unit == UNIT_EXAMPLES;
    return !counted || !config->data.packed ||
           fail_user(error,
                     "%s counts examples, of which several share a packed sequence: leave out data.packed=true, "
                     "or write packed sequences, such as train.batch=\"8 samples\"",
                     train->batch.unit == UNIT_EXAMPLES ? "train.batch" : "train.micro_batch");
}

static bool check_schedule(const Config *config, GError **error)
{
    const OptimConfig *optim = &config->optim;
    return check_steps("optim.warmup", optim->warmup, error) &&
           check_steps("optim.decay_until", optim->decay_until, error) &&
           check_steps("optim.cycle", optim->cycle, error) &&
           (optim->schedule != SCHEDULE_WSD || check_steps("optim.decay_length", optim->decay_length, error));
}

/* Whether the run's scores of its task, if it computes any, fit its labels. */
static bool check_score_labels(const Config *config, GError **error)
{
    Task task;
    if (!task_is_set(&config->task) || (!config->train.scores && strcmp(config->train.best, "loss") == 0))
        return true;
    return task_configure(&task, &config->task, error) && task_labels_check(&task, config->task.classes, error);
}

bool config_check_inputs(const Config *config, GError **error)
{
    if (*config->run.dir == '\0')
        return fail_user(error, "run.dir is not set: give the directory of the run, such as run.dir=runs/a");
    if (task_is_set(&config->task) && strchr(config->run.dir, ','))
        return fail_user(error,
                         "run.dir %s: the dataset of a task lies in the run, and a comma separates datasets: "
                         "choose a folder without one",
                         config->run.dir);
    if (*config->tokenizer.path == '\0')
        return fail_user(error, "tokenizer.path is not set: give the tokenizer that `loam tokenizer train --out` made");
    if (*config->data.train == '\0' && !task_is_set(&config->task))
        return fail_user(error, "data.train is not set: give the PREFIX that `loam prepare --out PREFIX` made");
    return check_score_labels(config, error);
}

bool config_check(const Config *config, GError **error)
{
    const TrainConfig *train = &config->train;
    if (train->length.unit == UNIT_PERCENT)
        return fail_user(error, "train.length: a percentage is a share of train.length itself; write steps, samples, "
                                "tokens, epochs or a time");
    if (!compute_device_check(train->device, error))
        return fail_context(error, "train.device");
    BatchSchedule batches;
    if (!check_batch("train.batch", train->batch, error) || !config_batch_schedule(config, true, &batches, error) ||
        !check_batch("train.micro_batch", train->micro_batch, error) || !check_examples(config, error) ||
        !check_schedule(config, error) || !check_every("train.log_every", train->log_every, error) ||
        !check_every("train.eval_every", train->eval_every, error) ||
        !check_every("train.save_every", train->save_every, error) || !check_within(train->save_within, error) ||
        !config_check_run_control(config, error) ||
        (config->data.mixture.cap.value > 0 && !check_batch("data.mixture_cap", config->data.mixture.cap, error)) ||
        (config->data.compat_batch.value > 0 && !check_batch("data.compat_batch", config->data.compat_batch, error)) ||
        !sources_check(&config->data, error) || !check_task(config, error) || !check_class_weights(config, error) ||
        !check_smoothing(config, error) || !check_best(config, error))
        return false;
    if (config->data.break_mode != BREAK_NONE && config->data.compat != COMPAT_FAIRSEQ)
        return fail_user(error, "data.break_mode=%s is fairseq's; it needs data.compat=fairseq",
                         break_mode_names[config->data.break_mode]);
    if (config_micro_samples(config) > CONFIG_MICRO_TOKENS / config->data.input_length)
        return fail_user(error,
                         "train.micro_batch: %" PRId64 " samples of %" PRId64
                         " tokens are more than a microbatch may have (%d tokens); a smaller train.micro_batch gives "
                         "the same train.batch",
                         config_micro_samples(config), config->data.input_length, CONFIG_MICRO_TOKENS);
    return model_config_check(&config->model, error);
}

static bool check_segments(const DataConfig *data, const ModelConfig *model, GError **error)
{
    return data->settings.mlm.sentence_pairs == PAIRS_NONE || model->token_types != 1 ||
           fail_user(error, "model.token_types is 1: data.sentence_pairs needs two token types; set 2, or 0 for none");
}

/* Whether an objective fills exactly the streams (encoder, decoder) that the model has. */
static bool suits(const Objective *objective, const ModelConfig *model)
{
    return (objective->streams != STREAMS_DECODER) == (model->n_enc > 0) &&
           (objective->streams != STREAMS_ENCODER) == (model->n_dec > 0 && !model_config_shifts(model));
}

bool config_check_objective(const DataConfig *data, const ModelConfig *model, GError **error)
{
    static const char *const trains[] = { [STREAMS_BOTH] = "an encoder and a decoder",
                                          [STREAMS_ENCODER] = "an encoder alone",
                                          [STREAMS_DECODER] = "a decoder alone" };
    const Objective *objective = data_objective_row(data);
    bool labels = objective->accepts != NULL;
    if (model->classifier != LABELS_NONE && !labels)
        return fail_user(error,
                         "data.objective=%s trains a head over the vocabulary, and the model has a classifier "
                         "(model.classifier=%s): data.objective=labels trains it, on a task",
                         objective->name, label_kind_names[model->classifier]);
    if (labels && model->classifier == LABELS_NONE)
        return fail_user(error, "data.objective=labels trains a classifier: set model.classifier, or a task with "
                                "task.label");
    if (data->compat != COMPAT_NONE && !compat_find((Compat)data->compat, objective->name, error))
        return false;
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

/* Warns about fine-tuning with few updates, such as 40: the Trainer of transformers, whose batch is 8 examples, makes
 * hundreds even on a small table, and a model learns little from fewer. */
static void advise_updates(const Config *config, int64_t epoch_samples, int64_t total)
{
    const int64_t batch = config_batch_samples(config), epoch = (epoch_samples + batch - 1) / batch;
    if (!task_is_set(&config->task) || epoch_samples <= 0 || epoch >= FEW_UPDATES || total < 0 ||
        total >= 3 * FEW_UPDATES)
        return;
    log_warning(
        "an epoch of the task is %" PRId64 " updates of train.batch=%" PRId64 " %s, the run %" PRId64
        " updates: few for a model to learn from; more epochs (train.length) or a smaller train.batch make more",
        epoch, batch, config->data.packed ? "packed sequences of several examples" : "examples", total);
}

/* Warns of adapters whose second matrix, which starts at zero, would have steps of almost no length. */
static void advise_adapters(const Config *config)
{
    const OptimConfig *optim = &config->optim;
    const bool relative = (optim->name == OPTIM_ADAFACTOR && optim->scale_parameter) || optim->name == OPTIM_ADAMW_RMS;
    g_autofree char *name = options_plain_value(config_options(), config, options_find(config_options(), "optim.name"));
    if (config->model.lora.rank > 0 && relative)
        log_warning(
            "lora.rank with optim.name=%s: its steps are relative to the size of a matrix, and one of an adapter's two "
            "starts at zero, so that it learns next to nothing; write optim.name=adamw%s",
            name, optim->name == OPTIM_ADAFACTOR ? ", or optim.scale_parameter=false" : "");
}

/* ---- tokenizer, datasets and model must agree about tokens ---- */

/* The argument of `loam tokenizer train --for` that makes a tokenizer for the model. */
static const char *family_of(const ModelConfig *model)
{
    if (model->n_dec > 0)
        return model->n_enc > 0 ? "t5" : "gpt";
    return model->position_offset > 0 ? "roberta" : "bert";
}

static bool fail_missing(const Config *config, const Tokenizer *tok, const char *what, GError **error)
{
    return fail_user(error,
                     "the tokenizer %s has no %s, which data.objective=%s needs; loam tokenizer train --for %s makes "
                     "one that has",
                     tokenizer_path(tok), what, data_objective_row(&config->data)->name, family_of(&config->model));
}

static bool check_objective(const Config *config, const Tokenizer *tok, GError **error)
{
    const Objective *objective = data_objective_row(&config->data);
    if (objective->streams == STREAMS_ENCODER) {
        if (!objective->pairs && tokenizer_encoder_role(tok, ROLE_MASK) < 0)
            return fail_missing(config, tok, "piece to hide words behind ([MASK], <mask> or a sentinel)", error);
        if (tokenizer_encoder_role(tok, ROLE_SEP) < 0)
            return fail_missing(config, tok, "piece to end a text with ([SEP] or </s>)", error);
        return true;
    }
    if (tokenizer_eos(tok) < 0)
        return fail_missing(config, tok, "end of a sequence (</s> or <|endoftext|>)", error);
    bool denoises =
        objective->streams == STREAMS_BOTH && !objective->pairs && strcmp(objective->name, "prefix_lm") != 0;
    if (denoises && tokenizer_sentinel(tok, 0) < 0)
        return fail_missing(config, tok, "sentinels (<extra_id_0> …), for which model.vocab has no room either", error);
    return true;
}

static void warn_missing(const Config *config, const Tokenizer *tok, const char *what, int instead, const char *effect)
{
    log_warning("the tokenizer %s has no %s: \"%s\" %s; loam tokenizer train --for %s makes one that has",
                tokenizer_path(tok), what, tokenizer_piece(tok, instead), effect, family_of(&config->model));
}

static void warn_of_encoder(const Config *config, const Tokenizer *tok)
{
    int64_t offset = config->model.position_offset;
    if (tokenizer_role(tok, ROLE_MASK) < 0)
        warn_missing(config, tok, "mask", tokenizer_encoder_role(tok, ROLE_MASK), "hides words instead");
    if (tokenizer_role(tok, ROLE_SEP) < 0)
        warn_missing(config, tok, "piece between texts", tokenizer_encoder_role(tok, ROLE_SEP), "ends them instead");
    if (tokenizer_pad(tok) < 0)
        log_warning("the tokenizer %s has no padding: transformers will not batch texts of different lengths; loam "
                    "tokenizer train --for %s makes one that has",
                    tokenizer_path(tok), family_of(&config->model));
    else if (offset > 0 && tokenizer_pad(tok) != offset - 1)
        log_warning("positions begin at row %" G_GINT64_FORMAT ", so transformers will take id %" G_GINT64_FORMAT
                    " for padding, but the tokenizer's is %d: loam tokenizer train --for roberta, or "
                    "model.position_offset=%d",
                    offset, offset - 1, tokenizer_pad(tok), tokenizer_pad(tok) + 1);
}

bool config_check_tokens(const Config *config, const Tokenizer *tok, GError **error)
{
    const ModelConfig *model = &config->model;
    if (!check_objective(config, tok, error))
        return false;
    if (model->n_dec == 0)
        warn_of_encoder(config, tok);
    else if (model->n_enc > 0 && tokenizer_pad(tok) < 0)
        warn_missing(config, tok, "padding", 0, "begins what the decoder writes instead");
    return true;
}

/* ---- options that the user set but that have no effect because of the value of another option ---- */

typedef struct IdleRule {
    const char *options; /* names of the options, separated by spaces; "fp8." means all options of this group */
    const char *decides; /* the other option, whose value decides whether `options` have an effect */
    const char *values;  /* values of `decides` with which `options` have an effect, separated by spaces; "" means only
                            the empty value, "!" every value but the empty one, "!0" every value but 0, "," every
                            list of datasets and the empty value */
} IdleRule;

/* Values of model.classifier with which task.cut_side shortens long inputs; tokens and span have other rules. */
#define WRITERS "none sequence value choice"
static const IdleRule rules[] = {
    { "fp16.", "train.precision", "fp16" },
    { "fp8.", "train.precision", "fp8" },
    { "train.tf32", "train.precision", "f32" },
    { "train.tf32", "train.device", "!cpu" },
    { "train.f32_residual train.f32_gradients", "train.precision", "bf16 fp16 fp8" },
    { "train.z_loss", "model.classifier", "none" },
    { "data.noise_density", "data.objective", "span_corruption iid_denoising subtree_corruption mlm" },
    { "data.static_masks", "data.objective", "span_corruption prefix_lm iid_denoising ul2 subtree_corruption mlm" },
    { "data.mean_span_length", "data.objective", "span_corruption" },
    { "data.subtrees data.subtree_span_length data.subtree_least_split data.subtree_most_split "
      "data.identifier_probability data.identifier_share data.empty_spans",
      "data.objective", "subtree_corruption" },
    { "data.subtree_least_split data.subtree_most_split data.identifier_probability data.identifier_share",
      "data.subtrees", "true" },
    { "data.reset_attention data.reset_position data.mask_eod", "data.objective", "clm full_lm" },
    { "data.whole_word data.max_ngram data.sentence_pairs data.short_sequence_probability", "data.objective", "mlm" },
    { "data.mixture_weights data.mixture_temperature data.mixture_cap", "task.data", "" },
    { "data.mixture_temperature data.mixture_cap", "data.train", "," },
    { "data.compat_samples", "data.compat", "megatron t5_experiments" },
    { "data.compat_batch", "data.compat", "fairseq" },
    { "task.stride", "model.classifier", "span" },
    { "task.cut_side", "model.classifier", WRITERS },
    { "task.labels", "model.classifier", "none sequence tokens" },
    { "task.references", "model.classifier", WRITERS },
    { "optim.min_lr", "optim.schedule", "linear cosine inverse_sqrt polynomial plateau wsd" },
    { "train.spike_window train.spike_action train.spike_after", "train.spike", "!0" },
    { "optim.power", "optim.schedule", "polynomial" },
    { "train.batch", "train.batch_schedule", "" },
    { "optim.decay_until", "optim.schedule", "linear cosine polynomial wsd" },
    { "optim.decay_length optim.decay_curve", "optim.schedule", "wsd" },
    { "optim.cycle optim.cycle_growth optim.cycle_shrink", "optim.schedule", "cosine" },
    { "optim.cycle_growth optim.cycle_shrink", "optim.cycle", "!0" },
    { "optim.decay_until", "optim.cycle", "0" },
    { "optim.init_lr", "optim.warmup", "!0" },
    { "optim.weight_decay_start", "optim.weight_decay_ramp", "linear cosine" },
    { "optim.rewarm", "train.init", "!" },
    { "optim.rewarm", "task.data", "" },
    { "optim.lr optim.min_lr optim.schedule optim.warmup optim.power optim.plateau_factor optim.plateau_patience",
      "optim.relative_step", "false" },
    { "optim.plateau_factor optim.plateau_patience", "optim.schedule", "plateau" },
    { "optim.beta2 optim.eps", "optim.name", "adamw adamw_rms muon" },
    { "optim.momentum optim.muon_scale optim.matrix_lr", "optim.name", "muon" },
    { "optim.eps1 optim.eps2 optim.clip_threshold optim.decay_rate optim.step_offset optim.factored "
      "optim.min_dim_factored optim.scale_parameter optim.relative_step optim.warmup_init optim.decay_by_lr",
      "optim.name", "adafactor" },
    { "optim.eps2", "optim.scale_parameter", "true" },
    { "optim.min_dim_factored", "optim.factored", "true" },
    { "lora.alpha lora.targets lora.dropout", "lora.rank", "!0" },
    { "parallel.sequence", "parallel.tensor", "!1" },
    { "log.cpu_watts log.ram_watts log.carbon_intensity log.pue log.country", "log.emissions", "true" },
    { "log.mlflow_experiment", "log.mlflow", "!" },
};

static bool is_one_of(const char *word, const char *list)
{
    g_auto(GStrv) words = g_strsplit(list, " ", -1);
    return g_strv_contains((const char *const *)words, word);
}

/* Of an amount only the number counts: "0 steps" and "0%" are 0. */
static bool is_working(const IdleRule *rule, const char *value)
{
    g_autofree char *first = g_strndup(value, strcspn(value, " %"));
    if (strcmp(rule->values, ",") == 0) /* a .json has weights for a list */
        return *value == '\0' || strchr(value, ',') || g_str_has_suffix(value, ".json");
    if (*rule->values == '\0' || strcmp(rule->values, "!") == 0)
        return (*value == '\0') == (*rule->values == '\0');
    return *rule->values == '!' ? !is_one_of(first, rule->values + 1) : is_one_of(first, rule->values);
}

static bool is_of(const IdleRule *rule, const char *option)
{
    const size_t n = strlen(rule->options);
    return rule->options[n - 1] == '.' ? g_str_has_prefix(option, rule->options) : is_one_of(option, rule->options);
}

/* Warns about options of `rule` without effect. changed (OptionRow *): the options whose values are not defaults. */
static void advise_by(const IdleRule *rule, const Config *config, const GPtrArray *changed)
{
    g_autofree char *value =
        options_plain_value(config_options(), config, options_find(config_options(), rule->decides));
    g_autoptr(GString) idle = g_string_new(NULL);
    for (guint i = 0; !is_working(rule, value) && i < changed->len; i++) {
        const OptionRow *row = changed->pdata[i];
        if (is_of(rule, row->name) && g_strv_contains((const char *const *)config->given, row->name))
            g_string_append_printf(idle, "%s%s", idle->len > 0 ? ", " : "", row->name);
    }
    if (idle->len > 0)
        log_warning("%s: without effect, since %s is %s", idle->str, rule->decides, *value ? value : "not set");
}

static void advise_idle(const Config *config)
{
    Config defaults = { 0 };
    options_set_defaults(config_options(), &defaults);
    static const unsigned classes[] = { OPT_IDENTITY, OPT_LOGGED, OPT_FREE };
    for (size_t c = 0; c < G_N_ELEMENTS(classes); c++) {
        g_autoptr(GPtrArray) changed = options_differences(config_options(), config, &defaults, classes[c]);
        for (size_t i = 0; i < G_N_ELEMENTS(rules); i++)
            advise_by(&rules[i], config, changed);
    }
    options_clear(config_options(), &defaults);
}

void config_advise(const Config *config, int64_t warmup, int64_t total, int64_t epoch_samples)
{
    advise_idle(config);
    config_advise_run_control(config);
    advise_updates(config, epoch_samples, total);
    advise_adapters(config);
    if (config->train.precision == PRECISION_FP8 && !compute_device_is_gpu(config->train.device))
        log_warning("train.precision=fp8 on the CPU emulates the rounding of a GPU, and is slower than bf16");
    if (config->data.settings.mlm.sentence_pairs != PAIRS_NONE && !config->model.sentence_head)
        log_warning("data.sentence_pairs makes labels, but the model has no head for them: set model.sentence_head and "
                    "model.pooler, or data.sentence_pairs=none");
    if (total >= 2 && warmup >= total)
        log_warning("optim.warmup is %" PRId64 " steps and the run %" PRId64
                    ": the learning rate rises to its last step and "
                    "never %s; write a share of the length, such as optim.warmup=6%%",
                    warmup, total, warmup == total ? "falls" : "reaches its peak");
}

void config_advise_data(const Config *config, bool holds_out)
{
    const char *const *given = (const char *const *)config->given;
    if (*config->data.train && g_strv_contains(given, "data.train"))
        log_warning("data.train: without effect, since task.data is set");
    if (*config->data.valid && holds_out && g_strv_contains(given, "data.valid"))
        log_warning("data.valid: without effect, since the task has examples to evaluate on");
}
