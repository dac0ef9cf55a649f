/* labels: starts-first */
/* banks.c: prints, for each kernel of a training step that uses shared memory, its accesses of whole warps, and the
 * wavefronts (cycles of shared memory) that conflicts of banks add. The operations of T5 1.1 in bf16 and f32, and of
 * GPT-2 in bf16, run twice each on the tests' simulated GPU, at small sizes: two heads of 64 channels, 80 tokens. */
#include "shim/banks.h"
#include "bench/op_cases.h"
#include "nn/layers.h"
#include "plan/step_timer.h"
#include "run/config/config.h"
#include "shim/device_shim.h"

#include <stdio.h>
#include <string.h>

#define SIZES                                                                                                          \
    "model.width=128", "model.ffn=256", "model.heads=2", "model.head_dim=64", "model.vocab=256",                       \
        "data.input_length=80", "train.micro_batch=1 samples", "train.batch=1 samples", "model.dropout=0"
#define T5(precision)                                                                                                  \
    {                                                                                                                  \
        "model.preset=t5-1.1-small", "model.n_enc=1", "model.n_dec=1", SIZES, "train.precision=" precision             \
    }
enum { OVERRIDES = 13 };
static const char *const models[][OVERRIDES] = {
    T5("bf16"),
    T5("f32"),
    { "model.preset=gpt2", "data.objective=clm", "model.n_dec=1", SIZES, "train.precision=bf16" },
};

static void run_case(const OpCase *of, const OpSizes *sizes, Device *null, Device *dev)
{
    OpRig counted = { .of = of, .sizes = *sizes, .dev = null, .runs = -1 };
    OpRig run = { .of = of, .sizes = *sizes, .dev = dev, .runs = -1 };
    arena_init(&counted.arena, "banks", NULL, 0);
    of->run(&counted);
    void *memory = device_alloc(dev, counted.arena.peak);
    memset(memory, 0, counted.arena.peak);
    arena_init(&run.arena, "banks", memory, counted.arena.peak);
    run.turns = g_array_new(false, false, sizeof(double));
    of->run(&run);
    g_array_unref(run.turns);
    device_free(dev, memory);
}

static bool run_model(const char *const *overrides, GError **error)
{
    g_auto(Config) config = { 0 };
    StepTimer plan;
    if (!config_load(&config, NULL, (char **)(void *)overrides, OVERRIDES, error) ||
        !step_timer_plan(&plan, &config, error))
        return false;
    const Precision precision = config_precision(&config);
    const OpSizes sizes = { .model = &config.model,
                            .samples = plan.micro,
                            .enc = plan.enc,
                            .dec = plan.dec,
                            .logit_rows = plan.micro * (plan.dec > 0 ? plan.dec : plan.enc) };
    Device *null = device_open_null_of(precision), *dev = device_open_shim(precision);
    for (int i = 0; i < n_op_cases; i++)
        if (op_case_applies(&op_cases[i], &sizes))
            run_case(&op_cases[i], &sizes, null, dev);
    device_close(dev);
    device_close(null);
    return true;
}

int main(void)
{
    trace_count_banks();
    for (size_t i = 0; i < G_N_ELEMENTS(models); i++) {
        g_autoptr(GError) error = NULL;
        if (!run_model(models[i], &error)) {
            fprintf(stderr, "banks: %s\n", error->message);
            return 1;
        }
    }
    puts("| kernel | accesses | wavefronts more | of all wavefronts |\n|---|---:|---:|---:|");
    trace_print_banks();
    return 0;
}
