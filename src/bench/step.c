/* step.c: `loam bench step`: how long a training step takes, and each operation in it. */
#include "base/json_line.h"
#include "base/text.h"
#include "bench/bench.h"
#include "plan/step_timer.h"
#include "plan/trace.h"
#include "run/launch.h"

#include <inttypes.h>
#include <stdio.h>

/* Kernel launches count as hidden (overlapped) if the host queues a microbatch in less than this share of its time. */
#define HIDDEN 0.9

typedef struct Bench {
    const BenchStep *options;
    Config config; /* a shallow copy in each rank; only the one that the command loaded owns its texts */
    Mesh mesh;     /* set if there are several ranks */
    StepTimer timer;
    StepTimes times;
    Profile profile;
} Bench;

/* The share of a step in which stages wait by their schedule. */
static double bubble(const StepTimer *timer)
{
    return pipeline_bubble(step_timer_stages(timer), (int)timer->config->parallel.interleave, timer->accum);
}

/* The part of the work that each rank of the pipeline has by the rule that divides the blocks. g_free. */
static double *stage_work(const StepTimer *timer)
{
    const ParallelConfig *parallel = &timer->config->parallel;
    const StageTokens tokens = config_stage_tokens(timer->config);
    const int n = step_timer_stages(timer);
    g_autofree int *equal = config_equal_stages(timer->config), *ends = config_stage_ends(timer->config, equal, NULL);
    double *share = g_new0(double, n);
    pipeline_work(share, &timer->config->model, n, (int)parallel->interleave, ends, &tokens);
    return share;
}

static json_t *stages_json(const Bench *b)
{
    const int n = step_timer_stages(&b->timer);
    g_autofree double *share = stage_work(&b->timer);
    json_t *seconds_each = json_array(), *work_each = json_array();
    for (int r = 0; r < n; r++) {
        json_array_append_new(seconds_each, json_finite(b->times.stage_s[r]));
        json_array_append_new(work_each, json_finite(share[r]));
    }
    return json_pack("{s:i, s:o, s:o, s:o, s:o}", "stages", n, "bubble", json_finite(bubble(&b->timer)), "stage_wait",
                     json_finite(b->times.stage_wait), "stage_s", seconds_each, "stage_work", work_each);
}

static bool print_step_json(const Bench *b, GError **error)
{
    const StepTimes *r = &b->times;
    g_autofree char *precision = precision_describe(b->timer.dev->precision);
    json_t *object = json_pack(
        "{s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:s, s:i, s:s, s:I, s:i, s:i}", "tokens_per_s",
        json_finite(r->tokens_per_s), "step_s", json_finite(r->step_s), "micro_batch_s", json_finite(r->micro_s),
        "queued_s", json_finite(r->queued_s), "update_s", json_finite(r->update_s), "flops_per_s",
        json_finite(r->flops_per_s), "peak_flops_per_s", json_finite(r->peak.median), "peak_spread",
        json_finite((r->peak.high - r->peak.low) / r->peak.median), "share_of_peak",
        json_finite(r->flops_per_s / r->peak.median), "isa", b->timer.dev->isa, "threads", b->timer.dev->threads,
        "precision", precision, "parameters", (json_int_t)model_config_params(&b->config.model), "input_tokens",
        step_timer_inputs(&b->timer), "target_tokens", b->timer.dec > 0 ? b->timer.dec : b->timer.enc);
    if (r->planned > 0)
        json_object_update_new(object, json_pack("{s:I, s:I}", "memory_bytes", (json_int_t)r->taken, "planned_bytes",
                                                 (json_int_t)r->planned));
    if (b->options->profile)
        json_object_set_new(object, "profile", bench_profile_json(&b->profile, r->profiled_s));
    if (b->timer.sent > 0)
        json_object_update_new(object, json_pack("{s:I, s:i, s:o, s:o}", "sent_bytes", (json_int_t)b->timer.sent,
                                                 "ranks", comm_size(b->mesh.world), "comm_s", json_finite(r->comm_s),
                                                 "comm_hidden", json_finite(r->comm_hidden)));
    if (step_timer_stages(&b->timer) > 1)
        json_object_update_new(object, stages_json(b));
    return print_json_line(object, error);
}

static void print_work(const StepTimes *r)
{
    if (r->peak.median > 0)
        printf("work         %.0f GFLOP/s, %.1f %% of the %.0f GFLOP/s of matrix products between the steps (%.0f to "
               "%.0f)\n",
               r->flops_per_s / 1e9, 100 * r->flops_per_s / r->peak.median, r->peak.median / 1e9, r->peak.low / 1e9,
               r->peak.high / 1e9);
    else
        printf("work         %.0f GFLOP/s; no memory is left for matrix products to compare it with\n",
               r->flops_per_s / 1e9);
}

/* What each rank of a pipeline has computed, beside its part by the rule that divides the blocks. */
static void print_stages(const Bench *b)
{
    const int n = step_timer_stages(&b->timer);
    g_autofree double *share = stage_work(&b->timer);
    double sum = 0;
    for (int r = 0; r < n; r++)
        sum += b->times.stage_s[r];
    printf("computing   ");
    for (int r = 0; r < n; r++)
        printf("%s %.3f s (%.0f %%, planned %.0f %%)", r > 0 ? "," : "", b->times.stage_s[r],
               100 * b->times.stage_s[r] / sum, 100 * share[r]);
    printf(" of a step\n");
}

static void print_ranks(const Bench *b)
{
    const StepTimer *timer = &b->timer;
    const StepTimes *r = &b->times;
    const int stages = step_timer_stages(timer);
    if (timer->sent == 0)
        return;
    printf("ranks        each of %d (%s)%s sends %" PRId64 " bytes in a step", comm_size(b->mesh.world),
           mesh_transport(&b->mesh), stages > 1 ? " of the first stage" : "", timer->sent);
    if (r->comm_s > 0)
        printf("; %s %.3f s, %.0f %% of it beside computation", stages > 1 ? "sums over ranks take" : "this takes",
               r->comm_s, 100 * r->comm_hidden);
    printf("\n");
    const int64_t interleave = timer->config->parallel.interleave;
    g_autofree char *each =
        interleave > 1 ? g_strdup_printf("ranks with %" PRId64 " stages each", interleave) : g_strdup("stages");
    if (stages == 1)
        return;
    printf("pipeline     %d %s: by their schedule of %" PRId64
           " microbatches they wait %.1f %% of a step; they have waited %.1f %%\n",
           stages, each, timer->accum, 100 * bubble(timer), 100 * r->stage_wait);
    print_stages(b);
}

static void print_step_text(const Bench *b)
{
    const StepTimer *timer = &b->timer;
    const StepTimes *r = &b->times;
    g_autofree char *params = text_grouped(model_config_params(&b->config.model)), *device = bench_device(timer->dev);
    printf("model        %s parameters, %d/%d tokens a sample, %s\n", params, timer->enc, timer->dec, device);
    printf("step         %.3f s: %" PRId64 " x %.3f s forward and backward of %" PRId64 " samples, %.3f s update\n",
           r->step_s, timer->accum, r->micro_s, timer->micro, r->update_s);
    if (*timer->dev->gpu.name && !b->options->profile)
        printf("queue        %.3f s of the host for %.3f s of the GPU: %s\n", r->queued_s, r->micro_s,
               r->queued_s < HIDDEN * r->micro_s ? "launches are hidden" : "the GPU waits for launches");
    printf("speed        %.0f input tokens/s, %.1f samples/s\n", r->tokens_per_s,
           r->tokens_per_s / (double)step_timer_inputs(timer));
    print_work(r);
    print_ranks(b);
    g_autofree char *taken = text_bytes(r->taken), *planned = text_bytes(r->planned);
    if (r->planned > 0)
        printf("memory       %s of the GPU, %s planned\n", taken, planned);
}

/* Traces a step on all ranks; rank 0 writes the file. */
static bool make_trace(Bench *b, GError **error)
{
    Profile events = { 0 };
    TraceRanks ranks = { 0 };
    const bool several = b->config.parallel.mesh != NULL;
    if (several)
        trace_ranks_begin(&ranks, &b->mesh);
    step_timer_trace(&b->timer, &events);
    bool done = !several || trace_ranks_end(&ranks, error);
    if (done && (!several || comm_rank(b->mesh.world) == 0))
        done = trace_write(b->options->trace, &events, &ranks, error);
    trace_ranks_clear(&ranks);
    profile_clear(&events);
    return done;
}

static bool print(const Bench *b, GError **error)
{
    if (b->options->as_json)
        return print_step_json(b, error);
    print_step_text(b);
    if (b->options->profile)
        bench_print_profile(&b->profile, b->times.profiled_s);
    return true;
}

static bool time_rank(Bench *b, GError **error)
{
    if (!step_timer_open(&b->timer, &b->config, error) || !mesh_check(&b->mesh, error))
        return false;
    step_timer_run(&b->timer, b->options->seconds, b->options->profile ? &b->profile : NULL, &b->times);
    return mesh_check(&b->mesh, error) && (b->options->trace == NULL || make_trace(b, error)) &&
           (comm_rank(b->mesh.world) > 0 || print(b, error));
}

/* Runs one rank, of which `context` is a Bench, from start to end. An error on one rank ends all ranks. */
static bool run_step_rank(Comm *ranks, const void *context, GError **error)
{
    Bench b = *(const Bench *)context;
    const Config *config = &((const Bench *)context)->config;
    GError *problem = NULL;
    bool several = comm_size(ranks) > 1;
    const MeshShape shape = config_mesh(config);
    bool done = config_check_layout(config, comm_size(ranks), &problem) && mesh_open(&b.mesh, ranks, &shape, &problem);
    if (done && several)
        b.config.parallel.mesh = &b.mesh;
    done = done && time_rank(&b, &problem);
    if (problem && b.mesh.world)
        mesh_abort(&b.mesh, problem->message);
    g_free(b.times.stage_s);
    step_timer_clear(&b.timer);
    mesh_close(&b.mesh);
    if (problem)
        g_propagate_error(error, problem);
    return done;
}

bool bench_step(const BenchStep *options, const Config *config, bool loaded, GError **error)
{
    const Bench all = { .options = options, .config = *config };
    loaded = loaded && (options->trace == NULL || trace_check(options->trace, error));
    return launch_agree(config, "", loaded, error) && launch_ranks(config, run_step_rank, &all, error);
}
