#include "train/cluster/cluster.h"

#include <math.h>

#define BACKWARD (2.0 / 3) /* share of a microbatch's computing that is its backward pass */

double cluster_between(int n, int stride, int per_node, bool chain)
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

static void set_between(const Config *config, const Machine *machine, StepCost *cost)
{
    const ParallelConfig *parallel = &config->parallel;
    const int tensor = (int)parallel->tensor, data = config_data_ranks(config);
    cost->between[SENT_TENSOR] = cluster_between(tensor, 1, machine->per_node, false);
    cost->between[SENT_GRADIENTS] = cost->between[SENT_WEIGHTS] =
        cluster_between(data, tensor, machine->per_node, false);
    cost->between[SENT_PIPELINE] = cluster_between((int)parallel->pipeline, tensor * data, machine->per_node, true);
}

static double kind_s(const Machine *machine, const StepCost *cost, const MemoryPlan *plan, SentKind kind)
{
    return link_s(machine, (double)plan->sent_kinds.bytes[kind], cost->between[kind]);
}

/* Adds a stage to the cost, which becomes that of the slowest one. */
static void add_stage(const Config *config, const Machine *machine, const MemoryPlan *plan, StepCost *cost)
{
    const double m = (double)plan->micro_batches, computing = m * plan->micro.flops / machine->flops,
                 tensor = kind_s(machine, cost, plan, SENT_TENSOR);
    const double exchange = kind_s(machine, cost, plan, SENT_GRADIENTS) + kind_s(machine, cost, plan, SENT_WEIGHTS);
    const double beside = BACKWARD * (config->parallel.zero >= ZERO_GRADIENTS ? computing : computing / m);
    const double update = (double)(2 * plan->optimizer + plan->gradients + 2 * plan->weights) / machine->copy_bytes;
    cost->pipeline =
        MAX(cost->pipeline, kind_s(machine, cost, plan, SENT_PIPELINE) / m * (double)(config->parallel.pipeline - 1));
    if (exchange - MIN(exchange, beside) >= cost->exchange) {
        cost->hidden = MIN(exchange, beside);
        cost->exchange = exchange - cost->hidden;
    }
    cost->update = MAX(cost->update, update);
    if (computing + tensor > cost->computing + cost->tensor) {
        cost->computing = computing;
        cost->tensor = tensor;
    }
}

bool cluster_step(const Config *config, const Machine *machine, int32_t input_length, int32_t target_length,
                  StepCost *cost, GError **error)
{
    const int stages = (int)config->parallel.pipeline;
    Config stage = *config; /* borrows */
    *cost = (StepCost){ 0 };
    set_between(config, machine, cost);
    for (int s = 0; s < stages; s++) {
        MemoryPlan plan;
        stage.parallel.stage = s;
        if (!memory_plan(&stage, input_length, target_length, &plan, error))
            return false;
        add_stage(config, machine, &plan, cost);
        if (s == 0 || memory_total(&plan) > memory_total(&cost->stage)) {
            cost->stage = plan;
            cost->worst = s;
        }
    }
    const double m = (double)cost->stage.micro_batches;
    cost->bubble_share = (double)(stages - 1) / (m + (double)(stages - 1));
    cost->bubble = (cost->computing + cost->tensor) / m * (double)(stages - 1);
    cost->step = cost->computing + cost->bubble + cost->tensor + cost->pipeline + cost->exchange + cost->update;
    cost->fits = (double)memory_total(&cost->stage) <= machine->memory_bytes;
    return true;
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
