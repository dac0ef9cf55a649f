#include "cli/train/rehearsal.h"

#include <inttypes.h>

enum { BLOCKS = 8, KV_HEADS = 4, TOKENS = 64, BATCH = 32, COMPAT_SAMPLES = 4096 };

/* The same in every rehearsal. */
static const char *const sizes[] = {
    "model.width=128",
    "model.heads=8",
    "model.head_dim=16",
    "model.ffn=256",
    "train.length=20 steps",
    "train.batch_rampup=",
    "train.batch_schedule=",
    "train.stop_at=0",
    "train.micro_batch=1 samples",
    "train.log_every=1 steps",
    "train.eval_every=10 steps",
    "train.eval_samples=16",
    "train.save_every=10 steps",
    "train.save_phases=",
    "train.keep_every=0",
    "optim.warmup=5 steps",
    "optim.decay_until=0",
};

static void add_override(GPtrArray *overrides, const char *name, int64_t value, const char *unit)
{
    g_ptr_array_add(overrides, g_strdup_printf("%s=%" PRId64 "%s", name, value, unit));
}

char **rehearsal_overrides(const Config *config, char **given, int n)
{
    GPtrArray *overrides = g_ptr_array_new();
    const ModelConfig *model = &config->model;
    for (size_t i = 0; i < G_N_ELEMENTS(sizes); i++)
        g_ptr_array_add(overrides, g_strdup(sizes[i]));
    add_override(overrides, "model.n_enc", MIN(model->n_enc, BLOCKS), "");
    add_override(overrides, "model.n_dec", MIN(model->n_dec, BLOCKS), "");
    add_override(overrides, "model.kv_heads", model_config_kv_heads(model) < model->heads ? KV_HEADS : 0, "");
    add_override(overrides, "data.input_length", MIN(config->data.input_length, TOKENS), "");
    add_override(overrides, "train.batch", MIN(config_batch_samples(config), BATCH), " samples");
    if (config->data.compat == COMPAT_MEGATRON) /* its order of samples is made for so many */
        add_override(overrides, "data.compat_samples", COMPAT_SAMPLES, "");
    g_ptr_array_add(overrides, g_strconcat("run.dir=", config->run.dir, "-rehearsal", NULL));
    for (int i = 0; i < n; i++)
        g_ptr_array_add(overrides, g_strdup(given[i]));
    g_ptr_array_add(overrides, NULL);
    return (char **)g_ptr_array_free(overrides, false);
}
