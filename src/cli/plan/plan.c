/* plan.c: `loam plan`: parameters, memory and time of a run, without running it. */
#include "cli/plan/plan.h"
#include "base/log.h"
#include "base/text.h"
#include "cli/cli.h"
#include "model/hf/hf.h"
#include "plan/disk.h"
#include "plan/mixture_report.h"
#include "run/checkpoint/checkpoint.h"
#include "run/compute_device.h"
#include "run/run_dir.h"

#include <inttypes.h>
#include <limits.h>
#include <string.h>

#define USAGE                                                                                                          \
    "loam plan CONFIG.yaml [--measure SECONDS] [--machine NAME|FILE [--layouts --gpus N --rows N]] [--watts W] "       \
    "[--days D] [--tflops X] [--options] [--megatron-tp N] [group.key=value]…"
#define ROWS            20
#define MOST_ROWS       65536
#define NOT_GIVEN       INT_MIN
#define LONG_DAYS       60    /* a longer run is warned of */
#define SHORT_STEP_FLOP 200e6 /* a step of fewer takes longer than its products */

static const char about[] =
    "Predicts what training with a configuration will do: time, evaluations and checkpoints, memory, parameters, work\n"
    "per step. Nothing is trained: a dry run counts operations and bytes. --measure also times real steps.\n"
    "\n"
    "  loam plan config.yaml train.batch=\"256 samples\"\n"
    "  loam plan config.yaml --options > resolved.yaml\n";

static gboolean show_options;
static double measure_s = NOT_GIVEN, in_days = NOT_GIVEN, tflops = NOT_GIVEN, watts = NOT_GIVEN;
static char *machine_name;
static gboolean list_layouts;
static int gpus = NOT_GIVEN, rows = NOT_GIVEN;
static int megatron_tp = NOT_GIVEN;
static const GOptionEntry entries[] = {
    CLI_SWITCH("options", show_options, "also print every option with its resolved value, as YAML"),
    CLI_VALUE("measure", measure_s, "SECONDS", "also run training steps for this many seconds, and use their time"),
    CLI_VALUE("megatron-tp", megatron_tp, "N",
              "also print Megatron-LM's count of parameters at this tensor-parallel size, with its padded vocabulary"),
    CLI_VALUE("machine", machine_name, "h200|h100|a100|v100|cpu|FILE",
              "predict the run on parallel.ranks GPUs of such nodes; cpu: on processors; or on those of a file of loam "
              "bench comm --out"),
    CLI_SWITCH(
        "layouts", list_layouts,
        "with --machine: list layouts of --gpus GPUs by the time of a step instead: every split by matrices, blocks "
        "and samples, at each ZeRO level, with microbatches of 1, 2, 4, … samples; of steps within 1 % of each other "
        "those come first that use least of parallel.tensor, context, pipeline, interleave, ZeRO 2 and 3, "
        "recomputation"),
    CLI_VALUE("gpus", gpus, "N", "with --layouts: number of GPUs (default: parallel.ranks)"),
    CLI_VALUE("rows", rows, "N", "with --layouts: number of layouts to print (default 20); 0 means all"),
    CLI_VALUE("watts", watts, "W", "with --machine: watts of a GPU with its share of its node (default: the preset's)"),
    CLI_VALUE("days", in_days, "D", "print the TFLOP/s that each GPU must reach to end the run in D days"),
    CLI_VALUE("tflops", tflops, "X", "print the days that the run takes if each GPU reaches X TFLOP/s"),
    { 0 },
};

static void describe_sample(GString *lines, const Objective *objective, int64_t raw_length, int32_t enc, int32_t dec)
{
    if (objective->accepts) /* with encoded labels (data.objective=labels) a sample is all text */
        raw_length = enc;
    const char *row =
        objective->choose ? "at most, in a row of" : "->"; /* several samples may share a packed sequence */
    if (enc > 0 && dec > 0)
        plan_line(lines, "a sample", "%" PRId64 " raw tokens %s %d input, %d target tokens", raw_length, row, enc, dec);
    else
        plan_line(lines, "a sample", "%" PRId64 " raw tokens %s %d tokens", raw_length, row, enc + dec);
}

/* Adds the length of the run. If train.length is in tokens, the steps are an estimate by the mean length of samples; if
 * it is a time, they follow from the time of a step. */
static void add_length(GString *lines, const Outline *o, double tokens)
{
    const Config *config = o->config;
    const AmountUnit unit = config->train.length.unit;
    const bool counted = unit == UNIT_TOKENS && config->data.compat != COMPAT_MEGATRON,
               timed = unit == UNIT_SECONDS && o->steps == o->length,
               estimated = counted || timed || *config->train.skip_samples; /* a range costs up to a batch more */
    g_autofree char *count = text_count(tokens);
    plan_line(lines, "the run", "%s%" PRId64 " steps, %s input tokens%s", estimated ? "about " : "", o->steps, count,
              estimated || o->objective->choose ? " (an estimate)" : "");
    if (o->steps == o->length)
        return;
    g_autofree char *stop = amount_format(config->train.stop_at), *length = amount_format(config->train.length);
    plan_line(lines, "", "ends at train.stop_at=%s; the schedule is that of train.length=%s", stop, length);
}

/* Adds the options that end a command or a run before train.length and train.stop_at. */
static void add_stops(GString *lines, const Outline *o)
{
    const TrainConfig *train = &o->config->train;
    const double all = o->steps > 0 && o->step_s > 0 ? outline_seconds(o, o->steps) : 0;
    g_autofree char *evaluations = text_counted(train->patience, "evaluation");
    if (train->patience > 0)
        plan_line(lines, "it ends earlier", "after %s without a better %s (train.patience)", evaluations,
                  strcmp(train->best, "loss") == 0 ? "held-out loss" : train->best);
    if (train->stop_after.value > 0) {
        g_autofree char *after = amount_format(train->stop_after);
        g_autofree char *commands =
            all > 0 ? g_strdup_printf(": the run takes about %.0f", ceil(all / train->stop_after.value)) : g_strdup("");
        plan_line(lines, "a command stops", "after %s (train.stop_after)%s", after, commands);
    }
    if (*train->stop_date)
        plan_line(lines, "a command stops", "at %s (train.stop_date)", train->stop_date);
    if (train->exit_every.value > 0) {
        g_autofree char *every = amount_format(train->exit_every);
        plan_line(lines, "a command stops", "every %s (train.exit_every)", every);
    }
    if (*train->stop_file)
        plan_line(lines, "a command stops", "when %s exists (train.stop_file)", train->stop_file);
}

static void add_time(GString *lines, const Outline *o)
{
    if (o->step_s <= 0 && compute_device_is_gpu(o->config->train.device))
        plan_line(lines, "time", "not estimated for a GPU; --measure 20 runs steps on it");
    if (o->step_s <= 0)
        return;
    g_autofree char *step = text_duration(o->step_s),
                    *run = text_duration(o->steps > 0 ? round(outline_seconds(o, o->steps)) : 0);
    if (o->steps > 0)
        plan_line(lines, "time", "%s%s on this machine, %s a step%s", measure_s > 0 ? "" : "about ", run, step,
                  measure_s > 0 ? ", measured" : "");
    else
        plan_line(lines, "time", "%s%s a step on this machine%s", measure_s > 0 ? "" : "about ", step,
                  measure_s > 0 ? ", measured" : "");
    if (measure_s <= 0)
        plan_line(lines, "",
                  "estimated from its rate of matrix products, %.0f GFLOP/s (%.0f to %.0f while it was measured); "
                  "--measure 20 runs steps",
                  o->peak / 1e9, o->peak_low / 1e9, o->peak / 1e9);
    if (measure_s <= 0 && o->step_flops < SHORT_STEP_FLOP)
        plan_line(lines, "",
                  "a step this short takes longer: most of its time is overhead, which the estimate leaves out");
}

/* Adds the period of an action: "every 1000 steps, about every 12m5s", or "at the end of the run". */
static void add_every(GString *lines, const Outline *o, const char *what, Amount every)
{
    int64_t steps = every.unit == UNIT_SECONDS ? -1 : config_steps(o->config, outline_capacity(o, every), o->epoch);
    if (every.value <= 0 || (o->steps > 0 && steps >= o->steps)) {
        plan_line(lines, what, "at the end of the run");
        return;
    }
    const double seconds = steps > 0 ? round(o->step_s * (double)steps) : 0;
    g_autofree char *amount = amount_format(every), *time = seconds > 0 ? text_duration(seconds) : NULL;
    plan_line(lines, what, "every %s%s%s", amount, time ? ", about every " : "", time ? time : "");
}

static void add_phases(GString *lines, const Outline *o)
{
    SavePhase phases[SAVE_PHASES];
    int n;
    config_save_phases(o->config, phases, &n, NULL);
    for (int i = 0; i < n; i++) {
        g_autofree char *every = amount_format(phases[i].every), *until = amount_format(phases[i].until);
        plan_line(lines, i == 0 ? "a save" : "", "every %s%s%s", every, phases[i].until.value > 0 ? " until " : "",
                  phases[i].until.value > 0 ? until : "");
    }
}

/* Adds the time that the run has trained until its newest checkpoint, if train.length is a time. */
static void add_trained_time(GString *lines, const Outline *o, int64_t newest)
{
    TrainState state;
    const Amount length = o->config->train.length;
    g_autofree char *folder = run_checkpoint_path(o->config->run.dir, newest), *whole = amount_format(length);
    if (!checkpoint_state(folder, &state, NULL) || state.trained_s <= 0)
        return;
    g_autofree char *trained = text_duration(round(state.trained_s));
    plan_line(lines, "", "%s of train.length=%s, which all commands of the run share", trained, whole);
    if (state.trained_s >= length.value)
        log_warning("train.length is %s, no more than %s has trained: nothing is left to do", whole,
                    o->config->run.dir);
}

/* Adds the step of the newest checkpoint, if run.dir already holds a run. */
static void add_trained(GString *lines, const Outline *o)
{
    g_autoptr(GArray) steps = run_checkpoints(o->config->run.dir);
    if (steps->len == 0)
        return;
    const int64_t newest = g_array_index(steps, int64_t, 0);
    plan_line(lines, "trained so far", "%" PRId64 " steps of %s", newest, o->config->run.dir);
    const bool timed = o->config->train.length.unit == UNIT_SECONDS;
    if (timed)
        add_trained_time(lines, o, newest);
    if (o->steps > 0 && o->steps < newest && !(timed && o->steps == o->length)) /* then its steps are an estimate */
        log_warning("%s is %" PRId64 " steps, less than the %" PRId64 " that %s has trained: nothing is left to do",
                    o->steps == o->length ? "train.length" : "train.stop_at", o->steps, newest, o->config->run.dir);
}

/* Adds the stages of a batch that changes during the run. */
static void add_batches(GString *lines, const Outline *o)
{
    const BatchSchedule *batches = &o->batches;
    if (batches->ramp > 0)
        plan_line(lines, "the batch",
                  "grows from %" PRId64 " to %" PRId64 " samples by %" PRId64 ", until step %" PRId64, batches->start,
                  batches->largest, batches->increment, batch_last_change(batches));
    for (int i = 0; i < batches->n; i++) {
        int64_t from = batches->stages[i].from, length = batches->in_tokens ? batches->input_length : 1;
        plan_line(lines, i == 0 ? "the batch" : "", "%" PRId64 " samples from %sstep %" PRId64 " on",
                  batches->stages[i].samples, batches->in_tokens && i > 0 ? "about " : "",
                  batch_steps(batches, 0, (from + length - 1) / length, false));
    }
}

static int64_t warmup_steps(const Outline *o)
{
    const Amount warmup = outline_capacity(o, o->config->optim.warmup);
    const OutlineTrained *trained = &o->trained;
    const int64_t samples = config_samples(o->config, warmup, o->epoch);
    /* a run whose batch was changed has a warm-up in samples, and made its steps with whatever batch size */
    if (samples > 0 && batch_samples(&o->batches, 0, trained->steps) != trained->learnt)
        return samples > trained->learnt
                   ? trained->steps +
                         batch_steps(&o->batches, trained->samples, trained->samples + samples - trained->learnt, false)
                   : (int64_t)ceil((double)trained->steps * (double)samples / (double)trained->learnt);
    return warmup.unit == UNIT_PERCENT ? config_share(warmup, MAX(o->length, 0))
                                       : config_steps(o->config, warmup, o->epoch);
}

static void add_milestones(GString *lines, const Outline *o)
{
    const TrainConfig *train = &o->config->train;
    const int64_t warmup = warmup_steps(o);
    if (o->steps > 0)
        add_length(lines, o, outline_tokens(o, (double)o->run_samples));
    add_stops(lines, o);
    add_batches(lines, o);
    add_trained(lines, o);
    if (o->epoch > 0)
        plan_line(lines, "an epoch", "%" PRId64 " samples, %.1f steps", o->epoch,
                  (double)o->epoch / (double)o->samples);
    if (warmup > 0)
        plan_line(lines, "warm-up ends", "at step %" PRId64, warmup);
    const bool evaluates = *o->config->data.valid || *o->config->data.split || *o->config->task.valid;
    if (evaluates)
        add_every(lines, o, "an evaluation", train->eval_every);
    add_phases(lines, o);
    add_every(lines, o, *train->save_phases ? "" : "a save", train->save_every);
    if (train->save_within.value > 0 && train->save_every.unit != UNIT_SECONDS) {
        g_autofree char *within = amount_format(train->save_within);
        plan_line(lines, "", "and when %s have passed since the last", within);
    }
    if (evaluates)
        plan_line(lines, "", "and after an evaluation that is the best so far");
}

/* Adds whether the run fits the free memory of this machine's GPU, and if not, what would fit. */
static void add_gpu(GString *lines, const Outline *o, const MemoryPlan *plan)
{
    const Config *config = o->config;
    g_autoptr(GError) problem = NULL;
    g_autoptr(Device) dev =
        compute_device_open(config->train.device, (int)config->train.threads, config_precision(config), NULL);
    if (dev == NULL) {
        plan_line(lines, "", "not compared with a GPU's, since none can be used here; --machine compares it");
        return;
    }
    g_autofree char *has = text_bytes(device_memory_available(dev));
    if (memory_check(plan, config, o->enc, o->dec, dev, &problem))
        plan_line(lines, "", "fits: %s has %s free", dev->gpu.name, has);
    else
        plan_line(lines, "", "does not fit: %s", problem->message);
}

/* Warns if the run does not fit this machine's memory, has more compute threads (train.threads of each rank) than this
 * machine has cores, or takes longer than LONG_DAYS. */
static void advise_machine(const Outline *o, const MemoryPlan *plan)
{
    g_autoptr(GError) problem = NULL;
    const double days = o->steps > 0 ? outline_seconds(o, o->steps) / 86400 : 0;
    if (!compute_device_is_gpu(o->config->train.device)) {
        g_autoptr(Device) dev = device_open_cpu((int)o->config->train.threads, config_precision(o->config));
        memory_check(plan, o->config, o->enc, o->dec, dev, &problem);
        compute_device_check_threads((int)o->config->train.threads, config_ranks(o->config));
    }
    if (problem)
        log_warning("%s", problem->message);
    if (days > LONG_DAYS) {
        const double time = days < 730 ? days / 30.4 : days / 365.25;
        g_autofree char *amount = time < 100 ? g_strdup_printf("%.3g", time) : text_grouped((int64_t)time);
        log_warning("the run takes about %s %s on this machine: a smaller model, a shorter train.length or a faster "
                    "machine ends sooner",
                    amount, days < 730 ? "months" : "years");
    }
}

/* ", a pipeline of 4 ranks with 2 stages each" as a clause; "" means no pipeline. g_free. */
static char *describe_pipeline(const ParallelConfig *parallel)
{
    return parallel->pipeline == 1 ? g_strdup("")
           : parallel->interleave > 1
               ? g_strdup_printf(", a pipeline of %" PRId64 " ranks with %" PRId64 " stages each", parallel->pipeline,
                                 parallel->interleave)
               : g_strdup_printf(", a pipeline of %" PRId64 " stages", parallel->pipeline);
}

static void add_ranks(GString *lines, const Config *config, const MemoryPlan *plan)
{
    const ParallelConfig *parallel = &config->parallel;
    int ranks = config_ranks(config), tensor = (int)parallel->tensor, context = (int)parallel->context;
    const char *first = parallel->pipeline == 1    ? ""
                        : parallel->interleave > 1 ? " of the first stages"
                                                   : " of the first stage";
    g_autofree char *sent = text_bytes((size_t)plan->sent),
                    *groups = tensor > 1 ? g_strdup_printf(", tensor parallel %d%s", tensor,
                                                           parallel->sequence ? " with divided tokens" : "")
                                         : g_strdup(""),
                    *tokens = context > 1 ? g_strdup_printf(", context parallel %d", context) : g_strdup(""),
                    *stages = describe_pipeline(parallel);
    if (ranks > 1)
        plan_line(lines, "ranks",
                  "%d%s%s%s, ZeRO %d: memory is for each rank%s, which sends %s in a step (%" PRId64 " bytes)", ranks,
                  groups, tokens, stages, parallel->zero, first, sent, plan->sent);
}

/* "1 to 5, 21 to 25": blocks of a rank, numbered from 1. g_free. */
static char *blocks_text(const Stages *stages)
{
    GString *text = g_string_new(NULL);
    for (int i = 0; i < stages->n; i++) {
        const Stage range = stages->range[i];
        g_string_append_printf(text, i > 0 ? ", %d" : "%d", range.first + 1);
        if (range.end > range.first + 1)
            g_string_append_printf(text, " to %d", range.end);
    }
    return g_string_free(text, false);
}

/* Adds a line per rank of the pipeline: its stages and blocks, its memory, and the bytes that it sends per step; and
 * the cuts of stages of equal work beside those that are configured. */
static bool add_stages(GString *lines, const Outline *o, const Config *config, GError **error)
{
    const ParallelConfig *parallel = &config->parallel;
    const int n = (int)parallel->pipeline, interleave = (int)parallel->interleave;
    const int64_t micro = (config_rank_samples(config) + o->micro - 1) / o->micro;
    Config stage = *config; /* shallow copy */
    for (int s = 0; n > 1 && s < n; s++) {
        MemoryPlan plan;
        stage.parallel.stage = s;
        if (!memory_plan(&stage, o->enc, o->dec, &plan, error))
            return false;
        g_autofree char *memory = memory_describe(&plan), *sent = text_bytes((size_t)plan.sent),
                        *blocks = blocks_text(&plan.stages),
                        *name = g_strdup_printf(interleave > 1 ? "stages of %d" : "stage %d", s + 1);
        plan_line(lines, name, "blocks %s; memory %s; sends %s", blocks, memory, sent);
    }
    if (n == 1)
        return true;
    g_autofree int *equal = config_equal_stages(config);
    g_autofree char *cuts = pipeline_cuts_text(equal, n * interleave);
    if (*parallel->cuts)
        plan_line(lines, "cuts", "parallel.cuts=%s; equal work would be %s", parallel->cuts, cuts);
    else
        plan_line(lines, "cuts", "stages of equal work, as with parallel.cuts=%s", cuts);
    plan_line(lines, "bubble", "stages wait %.1f %% of a step of %" PRId64 " microbatches each",
              100 * pipeline_bubble(n, interleave, micro), micro);
    return true;
}

/* Adds the disk that the checkpoints of the run need, and warns if it is not there. */
static void add_disk(GString *lines, const Outline *o, const Config *config, const MemoryPlan *plan, bool elsewhere)
{
    const size_t bytes = plan->saved * (size_t)config_ranks(config);
    const int64_t most =
        disk_checkpoints(config, o->steps > 0 ? o->steps : -1, o->epoch, *config->data.valid || *config->task.valid);
    g_autofree char *needs = disk_describe(most, bytes);
    g_autoptr(GError) problem = NULL;
    plan_line(lines, "disk", "%s", needs);
    if (!elsewhere && *config->run.dir && !disk_check(config->run.dir, most, bytes, &problem))
        log_warning("%s", problem->message);
}

/* Says why the model that the run trains has no form of Hugging Face, if it has none. */
static void add_export(GString *lines, const ModelConfig *config)
{
    g_autoptr(GError) problem = NULL;
    if (!hf_can_export(config, &problem))
        plan_line(lines, "no export", "`loam export --to hf` cannot write this model: %s", problem->message);
}

static bool describe_plan(Outline *o, Config *config, const Loader *loader, const PlanCluster *cluster, GString *lines,
                          GError **error)
{
    MemoryPlan plan;
    if (!memory_plan(config, o->enc, o->dec, &plan, error) ||
        (!cluster->machine && !outline_time(o, config, MAX(measure_s, 0), error)))
        return false;
    int64_t n_params = model_config_params(&config->model);
    g_autofree char *memory = memory_describe(&plan), *params = text_grouped(n_params),
                    *trained = memory_describe_trained(&plan, n_params), *flops = text_count(o->step_flops),
                    *precision = precision_describe(config_precision(config));
    if (!cluster->machine)
        add_time(lines, o);
    if (!cluster->machine && o->steps > 0 && outline_seconds(o, o->steps) > 86400 && !task_is_set(&config->task))
        plan_presets(lines, o);
    add_milestones(lines, o);
    plan_line(lines, "precision", "%s", precision);
    plan_line(lines, "memory", "%s", memory);
    if (!cluster->machine && compute_device_is_gpu(config->train.device))
        add_gpu(lines, o, &plan);
    add_ranks(lines, config, &plan);
    add_disk(lines, o, config, &plan, cluster->machine != NULL);
    if (!add_stages(lines, o, config, error) || !plan_cluster(lines, o, cluster, error))
        return false;
    plan_line(lines, "parameters", "%s%s", params, trained);
    add_export(lines, &config->model);
    describe_sample(lines, o->objective, o->planned.raw_length, o->enc, o->dec);
    plan_line(lines, "a step", "%" PRId64 " samples in microbatches of %d, %s FLOP", o->samples, o->micro, flops);
    if (o->micro_chosen)
        plan_line(lines, "", "%s",
                  config_micro_is_auto(config) ? "train.micro_batch=auto: chosen when the run has its GPU"
                                               : "the microbatch is chosen by memory (train.micro_batch=auto)");
    g_autoptr(GPtrArray) datasets = loader ? mixture_report(loader, o->run_samples) : NULL;
    for (guint i = 0; datasets && i < datasets->len; i++)
        plan_line(lines, i == 0 ? "datasets" : "", "%s", (char *)datasets->pdata[i]);
    if (!cluster->machine)
        advise_machine(o, &plan);
    if (loader && o->steps > 0 && !task_is_set(&config->task))
        mixture_advise(loader, o->run_samples);
    config_advise(config, warmup_steps(o), o->length, o->epoch);
    return true;
}

/* Adds the number of parameters as Megatron-LM counts them: with the vocabulary padded to a multiple of 128. */
static void add_megatron(GString *plan, const ModelConfig *config)
{
    ModelConfig padded = *config;
    int64_t multiple = 128 * (int64_t)megatron_tp;
    padded.vocab = (config->vocab + multiple - 1) / multiple * multiple;
    g_autofree char *vocab = text_grouped(padded.vocab), *params = text_grouped(model_config_params(&padded));
    plan_line(plan, "Megatron", "vocabulary %s, parameters %s at tensor parallel size %d", vocab, params, megatron_tp);
}

/* With --options the plan is printed as comments after the options, so that the output is a valid configuration. */
static void print_plan(const Config *config, const char *lines)
{
    if (!show_options) {
        fputs(lines, stdout);
        return;
    }
    g_autofree char *yaml = options_to_yaml(config_options(), config);
    g_auto(GStrv) comments = g_strsplit(lines, "\n", -1);
    fputs(yaml, stdout);
    for (char **line = comments; *line && **line; line++)
        printf("# %s\n", *line);
}

/* What a plan is of: the run on this machine or on a cluster (--machine), or the layouts of a cluster (--layouts). */
enum { HERE = 1, CLUSTER = 2, LAYOUTS = 4 };

/* An option of the command. */
typedef struct PlanOption {
    const char *name;
    bool given;
    int plans;           /* those in which it has an effect: HERE | CLUSTER … */
    const char *instead; /* what serves in the other plans; NULL means nothing */
    double value, most;
    int least;        /* of a whole number */
    const char *unit; /* of a number above 0; NULL means a whole number, or no number if most is 0 */
} PlanOption;

static bool check_range(const PlanOption *option, GError **error)
{
    if (option->most == 0)
        return true;
    if (option->unit)
        return (option->value > 0 && option->value <= option->most) ||
               fail_user(error, "--%s is %g, want %s above 0, up to %g", option->name, option->value, option->unit,
                         option->most);
    return (option->value >= option->least && option->value <= option->most) ||
           fail_user(error, "--%s is %.0f, want %d to %.0f", option->name, option->value, option->least, option->most);
}

/* Fails for an option that has no effect in this plan. */
static bool check_effect(const PlanOption *option, int plan, GError **error)
{
    if (option->plans & plan)
        return true;
    if (!(option->plans & HERE) && plan != LAYOUTS)
        return fail_user(error, "--%s goes with --%s%s%s", option->name,
                         option->plans & CLUSTER ? "machine" : "layouts", option->instead ? ": otherwise " : "",
                         option->instead ? option->instead : "");
    return fail_user(error, "--%s has no effect with --%s: leave one of them out", option->name,
                     plan == LAYOUTS && (option->plans & CLUSTER) ? "layouts" : "machine");
}

static bool check_plan_options(GError **error)
{
    const PlanOption options[] = {
        { "options", show_options, HERE | CLUSTER, NULL, 0, 0, 0, NULL },
        { "measure", measure_s != NOT_GIVEN, HERE, NULL, measure_s, 3600, 0, "seconds" },
        { "megatron-tp", megatron_tp != NOT_GIVEN, HERE | CLUSTER, NULL, megatron_tp, 1024, 1, NULL },
        { "days", in_days != NOT_GIVEN, HERE | CLUSTER, NULL, in_days, 1e6, 0, "days" },
        { "tflops", tflops != NOT_GIVEN, HERE | CLUSTER, NULL, tflops, 1e6, 0, "TFLOP/s" },
        { "watts", watts != NOT_GIVEN, CLUSTER, NULL, watts, 1e6, 0, "watts" },
        { "gpus", gpus != NOT_GIVEN, LAYOUTS, "set parallel.ranks", gpus, CONFIG_MOST_RANKS, 1, NULL },
        { "rows", rows != NOT_GIVEN, LAYOUTS, NULL, rows, MOST_ROWS, 0, NULL },
    };
    const int plan = list_layouts ? LAYOUTS : machine_name ? CLUSTER : HERE;
    if (list_layouts && machine_name == NULL) {
        g_autofree char *names = machine_names();
        return fail_user(error, "--layouts needs --machine: one of %s, or a file of loam bench comm --out", names);
    }
    for (size_t i = 0; i < G_N_ELEMENTS(options); i++)
        if (options[i].given && !(check_range(&options[i], error) && check_effect(&options[i], plan, error)))
            return false;
    return true;
}

/* The machine of --machine; *machine stays NULL without the option. */
static bool find_machine(Machine *storage, const Machine **machine, GError **error)
{
    if (machine_name == NULL)
        return true;
    if (!machine_find(storage, machine_name, error))
        return false;
    if (watts != NOT_GIVEN)
        storage->watts = watts;
    *machine = storage;
    return true;
}

/* Warns if `loam train` would refuse the configuration, since run.dir holds a run with other options, in its words. */
static void advise_run(const Config *config)
{
    g_autoptr(GPtrArray) changes = g_ptr_array_new_with_free_func(g_free);
    g_autoptr(GError) problem = NULL;
    g_autofree char *examples = g_build_filename(config->run.dir, "task", "train", NULL),
                    *held_out = g_strconcat(examples, "-valid", NULL), *sidecar = g_strconcat(held_out, ".json", NULL);
    g_auto(RunRecord) record = config_record_of_run(config->run.dir);
    Config trained = *config; /* shallow copy, with the datasets that training makes of a task */
    if (task_is_set(&config->task))
        trained.data.train = examples;
    if (task_is_set(&config->task) && g_file_test(sidecar, G_FILE_TEST_EXISTS))
        trained.data.valid = held_out;
    if (!config_check_run(&trained, &record, changes, &problem))
        log_warning("loam train will refuse this: %s", problem->message);
}

bool verb_plan(int argc, char **argv, GError **error)
{
    if (!cli_parse(&argc, &argv, entries, USAGE, about, error))
        return false;
    if (argc < 2)
        return fail_user(error, "no configuration given; usage: " USAGE);
    if (!check_plan_options(error))
        return false;
    g_auto(Config) config = { 0 };
    g_autoptr(Tokenizer) tok = NULL;
    g_autoptr(Loader) loader = NULL;
    g_autoptr(GPtrArray) unread = g_ptr_array_new_with_free_func(g_free);
    g_autoptr(GString) lines = g_string_new(NULL);
    Outline outline;
    Machine machine;
    PlanCluster cluster = { .days = MAX(in_days, 0),
                            .tflops = MAX(tflops, 0),
                            .rows = rows != NOT_GIVEN ? rows : ROWS };
    if (!config_load_run(&config, argv[1], argv + 2, argc - 2, error) ||
        !find_machine(&machine, &cluster.machine, error) ||
        !outline_resolve(&config, cluster.machine, &tok, &loader, unread, error))
        return false;
    if (!cluster.machine && *config.run.dir)
        advise_run(&config);
    if (!outline_of(&outline, &config, loader, cluster.machine, error))
        return false;
    if (list_layouts) {
        cluster.gpus = gpus != NOT_GIVEN ? gpus : config_ranks(&config);
        return plan_layouts(&outline, &cluster, error);
    }
    for (guint i = 0; i < unread->len; i++)
        plan_line(lines, "not read", "%s", (char *)unread->pdata[i]);
    if (!describe_plan(&outline, &config, loader, &cluster, lines, error))
        return false;
    if (megatron_tp != NOT_GIVEN)
        add_megatron(lines, &config.model);
    print_plan(&config, lines->str);
    return true;
}
