/* cluster.c: what `loam plan` says of a run on another machine, and which presets this machine trains in an evening and
 * in a day. */
#include "base/text.h"
#include "cli/plan/plan.h"
#include "plan/mixture_report.h"
#include "plan/step_timer.h"

#include <inttypes.h>
#include <stdarg.h>

void plan_line(GString *plan, const char *what, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    g_string_append_printf(plan, "%-16s ", what);
    g_string_append_vprintf(plan, format, args);
    g_string_append_c(plan, '\n');
    va_end(args);
}

/* ---- another machine ---- */

static const char *const kind_names[SENT_KINDS] = { [SENT_GRADIENTS] = "gradients",
                                                    [SENT_WEIGHTS] = "weights",
                                                    [SENT_TENSOR] = "tensor",
                                                    [SENT_CONTEXT] = "context",
                                                    [SENT_PIPELINE] = "pipeline" };

/* FLOPs of the largest step with the recomputation of blocks, as Megatron-LM counts them for a model of one stack. */
static double work_of(const Outline *o)
{
    const bool recompute = o->config->train.recompute == RECOMPUTE_BLOCK;
    const double counted = megatron_step_flops(&o->config->model, o->samples, o->config->data.input_length, recompute);
    return counted > 0 ? counted : o->step_flops * (recompute ? 4.0 / 3 : 1);
}

/* Steps of the run, counted in steps of the largest batch. */
static double full_steps(const Outline *o)
{
    return o->run_samples > 0 ? (double)o->run_samples / (double)o->samples : 0;
}

/* Adds a line in place of a number that follows from the length of the run, which is unknown or 0. */
static void add_unknown(GString *lines, const Outline *o, const char *what)
{
    const AmountUnit unit = o->config->train.length.unit;
    plan_line(lines, what, "%s",
              unit == UNIT_SECONDS  ? "unknown: train.length is a time"
              : unit == UNIT_EPOCHS ? "unknown: train.length is in epochs of data that cannot be read"
                                    : "none: train.length is 0");
}

static void add_wishes(GString *lines, const Outline *o, const PlanCluster *cluster)
{
    const int gpus = config_ranks(o->config);
    const double work = work_of(o), steps = full_steps(o);
    const double tokens = (double)o->run_samples * (double)o->config->data.input_length;
    if (cluster->days > 0 && steps <= 0)
        add_unknown(lines, o, "needed");
    else if (cluster->days > 0)
        plan_line(lines, "needed", "%.2f TFLOP/s of each of %d to end in %g days, recomputation included",
                  work * steps / (cluster->days * 86400 * gpus * 1e12), gpus, cluster->days);
    if (cluster->tflops > 0 && steps <= 0)
        add_unknown(lines, o, "days");
    else if (cluster->tflops > 0)
        plan_line(lines, "days", "%.2f with %d at %g TFLOP/s each; %.2f by 8 T P / (n X)",
                  work * steps / (cluster->tflops * 1e12 * gpus * 86400), gpus, cluster->tflops,
                  training_days(tokens, (double)model_config_params(&o->config->model), gpus, cluster->tflops * 1e12));
}

static void add_traffic(GString *lines, const StepCost *cost)
{
    g_autoptr(GString) text = g_string_new(NULL);
    for (int kind = 0; kind < SENT_KINDS; kind++) {
        const int64_t bytes = cost->stage.sent_kinds.bytes[kind];
        g_autofree char *all = text_bytes((uint64_t)bytes);
        if (bytes > 0)
            g_string_append_printf(text, "%s%s %s (%.0f %% between nodes)", text->len ? ", " : "", kind_names[kind],
                                   all, 100 * cost->between[kind]);
    }
    plan_line(lines, "traffic", "a rank%s sends in a step: %s", cost->bubble_share > 0 ? " of that stage" : "",
              text->len ? text->str : "nothing");
}

static void add_cluster_step(GString *lines, const StepCost *cost)
{
    g_autoptr(GString) text = g_string_new(NULL);
    const struct {
        const char *name;
        double seconds;
    } parts[] = { { "computing", cost->computing },
                  { "launches", cost->launches },
                  { "bubble", cost->bubble },
                  { "tensor", cost->tensor },
                  { "context", cost->context },
                  { "pipeline", cost->pipeline },
                  { "gradients and weights", cost->exchange },
                  { "update", cost->update } };
    for (size_t i = 0; i < G_N_ELEMENTS(parts); i++)
        if (parts[i].seconds >= 0.0005 * cost->step)
            g_string_append_printf(text, "%s%s %.3g s", text->len ? ", " : "", parts[i].name, parts[i].seconds);
    plan_line(lines, "a step there", "%.3g s predicted: %s; %.3g s of communication hidden", cost->step, text->str,
              cost->hidden);
}

/* The operations that the host of a GPU queues. */
static void add_launches(GString *lines, const Machine *machine, const StepCost *cost)
{
    const int64_t n = cost->stage.launches;
    if (machine->gpus)
        plan_line(lines, "launches", "%" PRId64 " or more of a rank in a step, which its host queues in %.3g s%s", n,
                  (double)n * machine->launch_s, cost->launches > 0 ? "" : ", while the GPU computes");
}

static void add_run(GString *lines, const Outline *o, const Machine *machine, const StepCost *cost)
{
    const int gpus = config_ranks(o->config);
    const double seconds = cost->step * full_steps(o);
    g_autofree char *time = text_duration(seconds),
                    *speed = text_count((double)(o->samples * o->config->data.input_length) / cost->step);
    const char *again = o->config->train.recompute == RECOMPUTE_NONE ? "" : " with recomputation";
    plan_line(lines, "the run there", "%s%s%s tokens/s, %.2f TFLOP/s of each%s", seconds > 0 ? time : "",
              seconds > 0 ? "; " : "", speed, work_of(o) / (cost->step * gpus * 1e12), again);
    if (seconds <= 0)
        add_unknown(lines, o, "energy");
    else if (machine->watts > 0)
        plan_line(lines, "energy", "%.3g MWh at %g W for each", seconds * gpus * machine->watts / 3.6e9,
                  machine->watts);
    else
        plan_line(lines, "energy", "unknown: --watts W, or \"watts\" in \"machine\" of the file, says what each takes");
}

/* Says whether optim.offload would make a run fit of which no layout fits. Returns false if not. */
static bool add_offloaded(GString *lines, const Outline *o, const Machine *machine)
{
    StepCost cost;
    Config offloaded = *o->config; /* shallow copy */
    offloaded.optim.offload = true;
    if (!machine->gpus || o->config->optim.offload || !cost_of_step(&offloaded, machine, o->enc, o->dec, &cost, NULL) ||
        !cost.fits)
        return false;
    g_autofree char *needs = text_bytes((uint64_t)cost.bytes), *host = text_bytes(cost.stage.host);
    plan_line(lines, "", "optim.offload=true would fit (%s, and %s of its host's memory), in %.3g s a step", needs,
              host, cost.step);
    return true;
}

/* Which layout of as many GPUs would fit. */
static bool add_nearest(GString *lines, const Outline *o, const Machine *machine, GError **error)
{
    g_autoptr(GArray) layouts = layouts_list(o->config, machine, config_ranks(o->config), o->enc, o->dec, error);
    if (layouts == NULL)
        return false;
    const Layout *nearest = layouts_nearest(layouts, o->config);
    g_autofree char *options = nearest ? layout_options(nearest, o->config) : NULL,
                    *needs = nearest ? text_bytes((uint64_t)nearest->cost.bytes) : NULL;
    if (nearest)
        plan_line(lines, "", "%s would fit (%s), in %.3g s a step", options, needs, nearest->cost.step);
    else if (!add_offloaded(lines, o, machine))
        plan_line(lines, "", "no layout of %d GPU%s fits; more GPUs or shorter samples need less memory",
                  config_ranks(o->config), config_ranks(o->config) == 1 ? "" : "s");
    return true;
}

bool plan_cluster(GString *lines, const Outline *o, const PlanCluster *cluster, GError **error)
{
    StepCost cost;
    add_wishes(lines, o, cluster);
    if (cluster->machine == NULL)
        return true;
    if (!cost_of_step(o->config, cluster->machine, o->enc, o->dec, &cost, error))
        return false;
    g_autofree char *machine = machine_describe(cluster->machine), *needs = text_bytes((uint64_t)cost.bytes),
                    *has = text_bytes((uint64_t)cluster->machine->memory_bytes);
    plan_line(lines, "machine", "%s", machine);
    if (config_ranks(o->config) == 1)
        plan_line(lines, "", "of these one is planned; parallel.ranks sets another number");
    plan_line(lines, "memory there", "%s: stage %d needs %s of %s", cost.fits ? "fits" : "does not fit", cost.worst + 1,
              needs, has);
    if (!cost.fits && !add_nearest(lines, o, cluster->machine, error))
        return false;
    add_traffic(lines, &cost);
    add_launches(lines, cluster->machine, &cost);
    add_cluster_step(lines, &cost);
    add_run(lines, o, cluster->machine, &cost);
    return true;
}

/* ---- presets for a run that takes longer ---- */

#define TOKENS_PER_PARAMETER 20.0 /* a model is trained on at least so many tokens per parameter, as Chinchilla was */

/* A preset, and what its run reads in some hours. */
typedef struct Reach {
    const char *preset;
    double params, samples, tokens;
} Reach;

static bool apply_preset(ModelConfig *model, const char *name)
{
    g_autoptr(GPtrArray) settings = option_settings_new();
    model_config_defaults(model);
    return model_preset_settings(name, settings, NULL) && options_apply(&model_table, model, settings, NULL);
}

/* Options in which a preset chooses the size of a model. */
static const char *const sizes[] = { "model.n_enc", "model.n_dec",    "model.width",    "model.ffn",
                                     "model.heads", "model.kv_heads", "model.head_dim", NULL };

/* Gives `model` the values, except sizes, in which `own` differs from its own preset. */
static bool apply_changes(ModelConfig *model, const ModelConfig *own)
{
    g_auto(ModelConfig) preset = { 0 };
    g_autoptr(GPtrArray) settings = option_settings_new();
    if (!apply_preset(&preset, own->preset))
        return false;
    g_autoptr(GPtrArray) rows = options_differences(&model_table, own, &preset, OPT_IDENTITY);
    for (guint i = 0; i < rows->len; i++) {
        const OptionRow *row = rows->pdata[i];
        g_autofree char *value = options_plain_value(&model_table, own, row);
        if (!g_strv_contains(sizes, row->name))
            option_settings_add(settings, row->name, value, "the plan");
    }
    return options_apply(&model_table, model, settings, NULL);
}

/* Sets *model to what the plan would train with this preset and its sizes. Returns false if it cannot train. */
static bool read_preset(ModelConfig *model, const char *name, const Outline *o)
{
    const ModelConfig *own = &o->config->model;
    if (!apply_preset(model, name) || model->family != own->family || (*own->preset && !apply_changes(model, own)))
        return false;
    model->vocab = own->vocab;
    return model_config_check(model, NULL) && model_config_fits(model, MAX(o->enc, o->dec), NULL);
}

/* The better one is the largest that has TOKENS_PER_PARAMETER, else the smallest. */
static bool is_better(const Reach *a, const Reach *b)
{
    const bool enough = a->tokens >= TOKENS_PER_PARAMETER * a->params,
               had_enough = b->tokens >= TOKENS_PER_PARAMETER * b->params;
    if (b->preset == NULL || enough != had_enough)
        return b->preset == NULL || enough;
    return enough ? a->params > b->params : a->params < b->params;
}

static void add_reach(GString *lines, const Outline *o, const char *what, double hours, const Reach *reach)
{
    const double passes = o->epoch > 0 ? reach->samples / (double)o->epoch : 0;
    g_autofree char *size = text_count(reach->params), *tokens = text_count(reach->tokens),
                    *again = passes > MANY_EPOCHS ? g_strdup_printf(", %.0f passes over the same text", passes)
                                                  : g_strdup("");
    plan_line(lines, what, "model.preset=%s (%s parameters) on about %s tokens%s: %g hours here", reach->preset, size,
              tokens, again, hours);
}

void plan_presets(GString *lines, const Outline *o)
{
    static const struct {
        const char *what;
        double hours;
    } times[] = { { "in an evening", 3 }, { "in a day", 24 } };
    Reach best[G_N_ELEMENTS(times)] = { 0 };
    if (o->peak <= 0 || *o->config->train.init || o->config->model.vocab == 0)
        return;
    for (int i = 0; model_preset_names[i]; i++) {
        g_auto(ModelConfig) model = { 0 };
        if (!read_preset(&model, model_preset_names[i], o))
            continue;
        const double params = (double)model_config_params(&model),
                     rate = STEP_USUAL_SHARE * o->peak / outline_sample_flops(o, &model);
        for (size_t t = 0; t < G_N_ELEMENTS(times); t++) {
            const double samples = rate * 3600 * times[t].hours;
            const Reach reach = { model_preset_names[i], params, samples, outline_tokens(o, samples) };
            if (is_better(&reach, &best[t]))
                best[t] = reach;
        }
    }
    for (size_t t = 0; t < G_N_ELEMENTS(times); t++)
        if (best[t].preset)
            add_reach(lines, o, times[t].what, times[t].hours, &best[t]);
}
