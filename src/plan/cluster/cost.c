#include "plan/cluster/cluster.h"

#define BACKWARD (2.0 / 3) /* share of a microbatch's computing that is its backward pass */

double cost_between(int n, int stride, int per_node, bool chain)
{
    if (n < 2)
        return 0;
    int64_t leave = 0;
    for (int r = 0, end; r < n; r = end) { /* ranks r … end - 1 share a node */
        for (end = r; end < n && (int64_t)end * stride / per_node == (int64_t)r * stride / per_node;)
            end++;
        leave += chain ? end < n : (int64_t)(end - r) * (n - (end - r));
    }
    return (double)leave / (chain ? n - 1 : (double)n * (n - 1));
}

static double link_s(const Machine *machine, double bytes, double between)
{
    return bytes * (1 - between) / machine->within + bytes * between / machine->between;
}

/* The same for the ranks of a pipeline with `interleave` stages each, whose last one then also sends to the first. */
static double between_stages(const ParallelConfig *parallel, int stride, int per_node)
{
    const int n = (int)parallel->pipeline, interleave = (int)parallel->interleave;
    const double chain = cost_between(n, stride, per_node, true), messages = (double)(n * interleave - 1);
    const bool leaves = (n - 1) * stride / per_node > 0;
    return n < 2 ? 0 : (chain * (n - 1) * interleave + leaves * (interleave - 1)) / messages;
}

static void set_between(const Config *config, const Machine *machine, StepCost *cost)
{
    const ParallelConfig *parallel = &config->parallel;
    const int tensor = (int)parallel->tensor, context = (int)parallel->context,
              replicas = config_data_ranks(config) * context;
    cost->between[SENT_TENSOR] = cost_between(tensor, 1, machine->per_node, false);
    cost->between[SENT_CONTEXT] = cost_between(context, tensor, machine->per_node, false);
    cost->between[SENT_GRADIENTS] = cost->between[SENT_WEIGHTS] =
        cost_between(replicas, tensor, machine->per_node, false);
    cost->between[SENT_PIPELINE] = between_stages(parallel, tensor * replicas, machine->per_node);
}

static double kind_s(const Machine *machine, const StepCost *cost, const MemoryPlan *plan, SentKind kind)
{
    return link_s(machine, (double)plan->sent_kinds.bytes[kind], cost->between[kind]);
}

/* Seconds of a microbatch. */
static double computing_s(const Machine *machine, const MemoryPlan *plan)
{
    return (plan->flops - plan->fp8_flops) / machine->flops +
           (plan->fp8_flops > 0 ? plan->fp8_flops / (machine->flops * machine->fp8) : 0);
}

/* Seconds in which the slowest stage so far works on microbatches. */
static double busy_s(const StepCost *cost)
{
    return cost->computing + cost->launches + cost->tensor + cost->context;
}

/* Adds a stage to the cost: pipeline, exchange, update, and what busy_s adds up each become those of the stage in which
 * they take longest. */
static void add_stage(const Config *config, const Machine *machine, const MemoryPlan *plan, StepCost *cost)
{
    const double m = (double)plan->micro_batches, computing = m * computing_s(machine, plan),
                 tensor = kind_s(machine, cost, plan, SENT_TENSOR), context = kind_s(machine, cost, plan, SENT_CONTEXT),
                 launches = MAX((double)plan->launches * machine->launch_s - computing - tensor - context, 0);
    const double waits =
        pipeline_bubble((int)config->parallel.pipeline, (int)config->parallel.interleave, plan->micro_batches);
    const double exchange = kind_s(machine, cost, plan, SENT_GRADIENTS) + kind_s(machine, cost, plan, SENT_WEIGHTS);
    const double beside = BACKWARD * (config->parallel.zero >= ZERO_GRADIENTS ? computing : computing / m);
    const double in_memory = (double)(2 * plan->optimizer + plan->updated) / machine->copy_bytes,
                 update = plan->update_flops / machine->flops +
                          (plan->host > 0 ? MAX(in_memory, (double)plan->host / machine->host) : in_memory);
    cost->pipeline = MAX(cost->pipeline, kind_s(machine, cost, plan, SENT_PIPELINE) * waits / (1 - waits));
    if (exchange - MIN(exchange, beside) >= cost->exchange) {
        cost->hidden = MIN(exchange, beside);
        cost->exchange = exchange - cost->hidden;
    }
    cost->update = MAX(cost->update, update);
    if (computing + launches + tensor + context > busy_s(cost)) {
        cost->computing = computing;
        cost->launches = launches;
        cost->tensor = tensor;
        cost->context = context;
    }
}

/* Bytes of a rank on its GPU, or in the memory of its processor. */
static double bytes_on(const Machine *machine, const MemoryPlan *plan)
{
    return (double)(memory_total(plan) - (machine->gpus ? plan->batches + plan->saving : 0));
}

/* Whether the stages have equally many blocks, all of them inner ones of the same stack. */
static bool is_alike(const ModelConfig *model, Stage x, Stage y)
{
    const int64_t first[] = { 0, model->n_enc }, end[] = { model->n_enc, model->n_enc + model->n_dec };
    bool inner = false;
    for (int stack = 0; stack < 2; stack++)
        inner |= MIN(x.first, y.first) > first[stack] && MAX(x.end, y.end) < end[stack];
    return inner && x.end - x.first == y.end - y.first;
}

/* Whether rank s of the pipeline can be passed over: the stages of an earlier one are like its own. That one takes as
 * long, and needs as much memory or more: earlier ones keep more activations. */
static bool resembles_former(const Config *config, const int *ends, int s)
{
    const Pipeline pipeline = { .size = (int)config->parallel.pipeline,
                                .interleave = (int)config->parallel.interleave,
                                .ends = ends };
    const Stages own = pipeline_held(&pipeline, s);
    bool found = false;
    for (int r = 1; r < s && !found; r++) {
        const Stages former = pipeline_held(&pipeline, r);
        found = true;
        for (int i = 0; i < own.n; i++)
            found &= is_alike(&config->model, former.range[i], own.range[i]);
    }
    return found;
}

/* Adds stage s of the configurations to their costs. */
static bool add_stages(const Config *configs, int n, const Machine *machine, int s, MemoryPlanner *planner,
                       StepCost *costs, GError **error)
{
    for (int i = 0; i < n; i++) {
        MemoryPlan plan;
        Config stage = configs[i]; /* shallow copy */
        stage.parallel.stage = s;
        if (!memory_planner_plan(planner, &stage, &plan, error))
            return false;
        add_stage(&configs[i], machine, &plan, &costs[i]);
        if (s == 0 || bytes_on(machine, &plan) > bytes_on(machine, &costs[i].stage)) {
            costs[i].stage = plan;
            costs[i].worst = s;
        }
    }
    return true;
}

/* Sets what follows from all stages. */
static void add_up(const Config *config, const Machine *machine, StepCost *cost)
{
    const ParallelConfig *parallel = &config->parallel;
    cost->bubble_share = pipeline_bubble((int)parallel->pipeline, (int)parallel->interleave, cost->stage.micro_batches);
    cost->bubble = busy_s(cost) * cost->bubble_share / (1 - cost->bubble_share);
    cost->step = busy_s(cost) + cost->bubble + cost->pipeline + cost->exchange + cost->update;
    cost->bytes = bytes_on(machine, &cost->stage);
    cost->fits = cost->bytes <= machine->memory_bytes;
}

bool cost_of_steps(const Config *configs, int n, const Machine *machine, int32_t input_length, int32_t target_length,
                   StepCost *costs, GError **error)
{
    g_autofree int *equal = config_equal_stages(configs), *ends = config_stage_ends(configs, equal, error);
    bool ok = ends != NULL;
    for (int i = 0; i < n; i++) {
        costs[i] = (StepCost){ 0 };
        set_between(&configs[i], machine, &costs[i]);
    }
    for (int s = 0; ok && s < configs->parallel.pipeline; s++) {
        if (resembles_former(configs, ends, s))
            continue;
        MemoryPlanner *planner = memory_planner_new(input_length, target_length);
        ok = add_stages(configs, n, machine, s, planner, costs, error);
        memory_planner_free(planner);
    }
    for (int i = 0; ok && i < n; i++)
        add_up(&configs[i], machine, &costs[i]);
    return ok;
}

bool cost_of_step(const Config *config, const Machine *machine, int32_t input_length, int32_t target_length,
                  StepCost *cost, GError **error)
{
    return cost_of_steps(config, 1, machine, input_length, target_length, cost, error);
}

double megatron_step_flops(const ModelConfig *model, int64_t samples, int64_t length, bool recompute)
{
    const double l = (double)(model->n_enc + model->n_dec), h = (double)model->width, s = (double)length;
    if (model->n_enc > 0 && model->n_dec > 0)
        return 0;
    return (model->gated ? 32.0 : 24.0) * (recompute ? 4 : 3) * (double)samples * s * l * h * h *
           (1 + s / (6 * h) + (double)model->vocab / (16 * l * h));
}

double training_days(double tokens, double parameters, int gpus, double flops)
{
    return 8 * tokens * parameters / (gpus * flops * 86400);
}
