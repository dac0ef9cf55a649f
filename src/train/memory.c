#include "train/memory.h"

#include "base/text.h"
#include "model/model.h"

#include <string.h>

static size_t state_bytes(const Optimizer *optimizer)
{
    size_t bytes = 0;
    for (int i = 0; i < optimizer_state_count(optimizer); i++) {
        const char *name;
        Tensor t = optimizer_state(optimizer, i, &name);
        bytes += (size_t)tensor_count(t) * dtype_bytes(t.dtype);
    }
    return bytes;
}

static bool plan_on(Device *null, const Config *config, int32_t input_length, int32_t target_length, MemoryPlan *plan,
                    GError **error)
{
    Model *model = model_open(null, &config->model, true, error);
    if (model == NULL)
        return false;
    const ModelLoss loss = {
        .n_targets = 1, .train = true, .grad = true, .recompute = config->train.recompute == RECOMPUTE_BLOCK
    };
    Optimizer *optimizer = optimizer_open(model_params(model), &config->optim, error);
    bool ok = optimizer && model_reserve(model, (int32_t)config_micro_samples(config), input_length, target_length,
                                         &loss, &plan->activations, error);
    plan->weights = plan->gradients = (size_t)params_elements(model_params(model)) * dtype_bytes(null->real);
    plan->optimizer = optimizer ? state_bytes(optimizer) : 0;
    g_clear_pointer(&optimizer, optimizer_close);
    model_close(model);
    return ok;
}

/* Host memory of a step's microbatches: ids, positions, samples, targets, their rows and weights. */
static size_t batch_bytes(const Config *config, int32_t input_length, int32_t target_length)
{
    size_t rows = (size_t)config_batch_samples(config) * (size_t)(input_length + target_length);
    return rows * (5 * sizeof(int32_t) + sizeof(int64_t) + sizeof(float));
}

bool memory_plan(const Config *config, int32_t input_length, int32_t target_length, MemoryPlan *plan, GError **error)
{
    Device *null = device_open_null();
    bool ok = plan_on(null, config, input_length, target_length, plan, error);
    device_close(null);
    plan->batches = batch_bytes(config, input_length, target_length);
    return ok;
}

size_t memory_total(const MemoryPlan *plan)
{
    return plan->weights + plan->gradients + plan->optimizer + plan->activations + plan->batches;
}

char *memory_describe(const MemoryPlan *plan)
{
    g_autofree char *total = text_bytes(memory_total(plan)), *weights = text_bytes(plan->weights),
                    *gradients = text_bytes(plan->gradients), *optimizer = text_bytes(plan->optimizer),
                    *activations = text_bytes(plan->activations);
    return g_strdup_printf("%s: weights %s, gradients %s, optimizer %s, activations %s", total, weights, gradients,
                           optimizer, activations);
}

/* Bytes that can be had without swapping, 0 if the kernel does not say. */
static size_t available(void)
{
    g_autofree char *info = NULL;
    if (!g_file_get_contents("/proc/meminfo", &info, NULL, NULL))
        return 0;
    const char *line = strstr(info, "MemAvailable:");
    return line ? (size_t)g_ascii_strtoull(line + strlen("MemAvailable:"), NULL, 10) * 1024 : 0;
}

bool memory_check(const MemoryPlan *plan, GError **error)
{
    size_t there = available();
    if (there == 0 || memory_total(plan) <= there)
        return true;
    g_autofree char *needed = memory_describe(plan), *has = text_bytes(there);
    return fail_machine(error,
                        "the run needs %s; this machine has %s free. A smaller train.micro_batch or train.recompute: "
                        "block takes fewer activations",
                        needed, has);
}
