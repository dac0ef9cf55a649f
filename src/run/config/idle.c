/* idle.c: warns about options that the user set but that have no effect because of the value of another option. */
#include "base/log.h"
#include "run/config/config.h"

#include <string.h>

typedef struct IdleRule {
    const char *options; /* names of the options, separated by spaces; "fp8." means all options of this group */
    const char *decides; /* the other option, whose value decides whether `options` have an effect */
    const char *values;  /* values of `decides` with which `options` have an effect, separated by spaces; "" means only
                            the empty value, "!" every value but the empty one, "!0" every value but 0 */
} IdleRule;

/* Values of model.classifier with which task.cut_side shortens long inputs; those of tokens and span are shortened by
 * other rules. */
#define WRITERS "none sequence value choice"
static const IdleRule rules[] = {
    { "fp16.", "train.precision", "fp16" },
    { "fp8.", "train.precision", "fp8" },
    { "train.tf32", "train.precision", "f32" },
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

static bool is_working(const IdleRule *rule, const char *value)
{
    if (*rule->values == '\0' || strcmp(rule->values, "!") == 0)
        return (*value == '\0') == (*rule->values == '\0');
    return *rule->values == '!' ? !is_one_of(value, rule->values + 1) : is_one_of(value, rule->values);
}

static bool is_of(const IdleRule *rule, const char *option)
{
    const size_t n = strlen(rule->options);
    return rule->options[n - 1] == '.' ? g_str_has_prefix(option, rule->options) : is_one_of(option, rule->options);
}

/* Warns about the options of `rule` that have no effect. changed (OptionRow *): the options whose values are not their
 * defaults. */
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

void config_advise_idle(const Config *config)
{
    Config defaults = { 0 };
    options_set_defaults(config_options(), &defaults);
    for (OptionClass class = OPT_IDENTITY; class <= OPT_FREE; class ++) {
        g_autoptr(GPtrArray) changed = options_differences(config_options(), config, &defaults, class);
        for (size_t i = 0; i < G_N_ELEMENTS(rules); i++)
            advise_by(&rules[i], config, changed);
    }
    options_clear(config_options(), &defaults);
}

void config_advise_data(const Config *config, bool holds_out)
{
    const char *const *given = (const char *const *)config->given;
    if (*config->data.train && g_strv_contains(given, "data.train"))
        log_warning("data.train: without effect, since task.data is set");
    if (*config->data.valid && holds_out && g_strv_contains(given, "data.valid"))
        log_warning("data.valid: without effect, since the task has examples to evaluate on");
}
