/* labels: starts-first */
/* banks.c: prints, for each kernel of a training step that uses shared memory, its accesses of whole warps, and the
 * wavefronts (cycles of shared memory) that conflicts of banks add. A step of T5 1.1 in bf16 and in f32, and one of
 * GPT-2 in bf16, run on the tests' simulated GPU, at small sizes: two heads of 64 channels, 80 tokens. */
#include "shim/banks.h"
#include "plan/step_timer.h"
#include "run/config/config.h"
#include "shim/device_shim.h"

#include <stdio.h>

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

/* One sample of tokens 0, 1, 2, …, each of which is also a target. */
static Batch *a_batch(const StepTimer *plan)
{
    enum { MOST = 256 };
    int32_t ids[MOST];
    float weights[MOST];
    const BatchSequence sequence = { .n = plan->dec, .ids = ids, .targets = ids, .weights = weights };
    Batch *batch = batch_new(1, plan->enc, plan->dec);
    for (int32_t i = 0; i < MOST; i++) {
        ids[i] = i;
        weights[i] = 1;
    }
    if (plan->enc > 0)
        batch_add(batch, 0, ids, plan->enc, ids, plan->dec, 0);
    else
        batch_add_sequence(batch, &sequence);
    return batch;
}

static bool run_model(const char *const *overrides, GError **error)
{
    g_auto(Config) config = { 0 };
    StepTimer plan;
    if (!config_load(&config, NULL, (char **)(void *)overrides, OVERRIDES, error) ||
        !step_timer_plan(&plan, &config, error))
        return false;
    ModelLoss loss = config_loss(&config);
    Device *dev = device_open_shim(config_precision(&config));
    Batch *batch = a_batch(&plan);
    Model *model = config_open_model(&config, dev, error);
    if (model == NULL || !model_reserve(model, 1, plan.enc, plan.dec, &loss, NULL, error))
        return false;
    ParamStore *params = model_params(model);
    Optimizer *optimizer = optimizer_open(params, &config.optim, error);
    if (optimizer == NULL)
        return false;
    params_init(params, 1);
    loss_count(&loss, model_config(model), batch);
    grads_begin(params, 1);
    model_pass(model, batch, &loss);
    optimizer_step(optimizer, 1, 1e-3, grads_norm(params), 1);
    optimizer_close(optimizer);
    model_close(model);
    batch_free(batch);
    device_close(dev);
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
