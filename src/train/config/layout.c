/* layout.c: which arrangements of ranks (comm/mesh.h) can train a model. */
#include "model/lora/lora.h"
#include "train/config/config.h"

#include <inttypes.h>
#include <string.h>

#define CHANNELS 4 /* a rank's first channel is a multiple of this: one draw of random numbers makes four masks */

/* Why `tensor` ranks cannot divide the blocks of this model, as a clause; NULL means that they can. g_free. */
static char *undivided(const ModelConfig *model, int64_t tensor)
{
    const struct {
        const char *name;
        int64_t value, multiple;
    } divided[] = { { "model.heads", model->heads, 1 },
                    { "model.kv_heads", model_config_kv_heads(model), 1 },
                    { "model.ffn", model->ffn, CHANNELS } };
    for (size_t i = 0; i < G_N_ELEMENTS(divided); i++)
        if (divided[i].value % (tensor * divided[i].multiple) != 0)
            return g_strdup_printf("%s is %" PRId64 ", which is not a multiple of %" PRId64, divided[i].name,
                                   divided[i].value, tensor * divided[i].multiple);
    return NULL;
}

static bool check_features(const ModelConfig *model, GError **error)
{
    if (model->context_queries)
        return fail_user(error, "parallel.tensor does not go with model.context_queries, which pool over all heads");
    if (lora_has(&model->lora, LORA_SELF_QKV) || (model->gated && lora_has(&model->lora, LORA_WI)))
        return fail_user(error, "parallel.tensor does not go with one adapter for a fused matrix (lora.targets "
                                "self.qkv, or mlp.wi of a gated model): its rows would not be divided by heads");
    return true;
}

/* The largest number of tensor-parallel ranks up to `most` that divides the ranks and the model; at least 1. */
static int64_t nearest(const ModelConfig *model, int ranks, int64_t most)
{
    for (int64_t tensor = most; tensor > 1; tensor--) {
        g_autofree char *why = undivided(model, tensor);
        if (ranks % tensor == 0 && why == NULL)
            return tensor;
    }
    return 1;
}

bool config_check_layout(const Config *config, int ranks, GError **error)
{
    const int64_t tensor = config->parallel.tensor;
    if (tensor == 1)
        return true;
    g_autofree char *why = ranks % tensor != 0 ? g_strdup_printf("the run has %d rank%s", ranks, ranks == 1 ? "" : "s")
                                               : undivided(&config->model, tensor);
    if (why && ranks == 1)
        return fail_user(error,
                         "parallel.tensor is %" PRId64
                         ", and the run has one rank: set parallel.ranks to a multiple of "
                         "%" PRId64 ", or start loam by mpirun or srun",
                         tensor, tensor);
    if (why)
        return fail_user(error,
                         "parallel.tensor is %" PRId64 ", and %s; the nearest value that divides both is %" PRId64,
                         tensor, why, nearest(&config->model, ranks, MIN(tensor, ranks)));
    return check_features(&config->model, error);
}
