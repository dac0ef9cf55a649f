/* presets.c: the presets that this machine trains in an evening and in a day, for a run that takes longer. */
#include "base/text.h"
#include "cli/plan/plan.h"
#include "plan/step_timer.h"

#define TOKENS_PER_PARAMETER 20.0 /* a model is trained on at least so many tokens per parameter, as Chinchilla was */
#define FLOPS_PER_TOKEN      6.0  /* and parameter, forward and backward */

/* Sets *model to a preset, with the vocabulary of `own`. */
static bool read_preset(ModelConfig *model, const char *name, const ModelConfig *own)
{
    g_autoptr(GPtrArray) settings = option_settings_new();
    model_config_defaults(model);
    if (!model_preset_settings(name, settings, NULL) || !options_apply(&model_table, model, settings, NULL))
        return false;
    model->vocab = own->vocab;
    return model->family == own->family;
}

/* Adds the largest preset of the model's family that has TOKENS_PER_PARAMETER in this time, else the smallest one. */
static void add_reachable_preset(GString *lines, const Outline *o, const char *what, double hours)
{
    const double flops = hours * 3600 * STEP_USUAL_SHARE * o->peak;
    const char *chosen = NULL;
    double params = 0;
    for (int i = 0; model_preset_names[i]; i++) {
        g_auto(ModelConfig) model = { 0 };
        if (!read_preset(&model, model_preset_names[i], &o->config->model))
            continue;
        const double own = (double)model_config_params(&model);
        const bool fits = flops >= FLOPS_PER_TOKEN * TOKENS_PER_PARAMETER * own * own,
                   fitted = chosen && flops >= FLOPS_PER_TOKEN * TOKENS_PER_PARAMETER * params * params;
        if (!chosen || (fits && (own > params || !fitted)) || (!fits && !fitted && own < params)) {
            chosen = model_preset_names[i];
            params = own;
        }
    }
    if (chosen == NULL)
        return;
    g_autofree char *size = text_count(params), *tokens = text_count(flops / (FLOPS_PER_TOKEN * params));
    plan_line(lines, what, "model.preset=%s (%s parameters) on about %s tokens: %g hours here", chosen, size, tokens,
              hours);
}

void plan_presets(GString *lines, const Outline *o)
{
    if (o->peak <= 0 || *o->config->train.init || o->config->model.vocab == 0)
        return;
    add_reachable_preset(lines, o, "in an evening", 3);
    add_reachable_preset(lines, o, "in a day", 24);
}
