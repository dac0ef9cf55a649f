#include "param/param_sums.h"
#include "train/services/service.h"

#include <string.h>

/* The index of a parameter's layer: 0 … n_enc - 1 the encoder's blocks, then the decoder's, then the rest. */
static int layer_of(const ModelConfig *config, const char *name)
{
    const int n_enc = (int)config->n_enc, n_dec = (int)config->n_dec;
    const bool encoder = g_str_has_prefix(name, "encoder."), decoder = g_str_has_prefix(name, "decoder.");
    const char *number = name + strlen("encoder.");
    if ((!encoder && !decoder) || !g_ascii_isdigit(*number))
        return n_enc + n_dec;
    return (decoder ? n_enc : 0) + (int)g_ascii_strtoll(number, NULL, 10);
}

static void name_layer(const ModelConfig *config, int layer, LayerNorms *norms)
{
    const int n_enc = (int)config->n_enc, n_dec = (int)config->n_dec;
    const bool decoder = layer >= n_enc;
    if (layer == n_enc + n_dec)
        g_strlcpy(norms->name, "other", sizeof norms->name);
    else
        g_snprintf(norms->name, sizeof norms->name, "%s.%d", decoder ? "decoder" : "encoder",
                   decoder ? layer - n_enc : layer);
}

static void finish_norms(LayerNorms *norms, const ParamSums *sums, double loss_scale)
{
    norms->param = sqrt(sums->weights);
    norms->gradient = sqrt(sums->gradients) / loss_scale;
    norms->zeros = sums->zeros;
}

Norms norms_measure(Model *model, Comm *ranks, double loss_scale)
{
    const ModelConfig *config = model_config(model);
    ParamStore *params = model_params(model);
    const int n = (int)(config->n_enc + config->n_dec) + 1;
    g_autofree ParamSums *sums = g_new0(ParamSums, n);
    for (int i = 0; i < params_count(params); i++)
        param_sums_add(params, i, &sums[layer_of(config, params_spec(params, i)->name)]);
    comm_sum(ranks, (double *)sums, n * (int)(sizeof *sums / sizeof(double)));
    Norms norms = { .n_layers = n, .layers = g_new0(LayerNorms, n) };
    ParamSums all = { 0 };
    for (int i = 0; i < n; i++) {
        name_layer(config, i, &norms.layers[i]);
        finish_norms(&norms.layers[i], &sums[i], loss_scale);
        all.weights += sums[i].weights;
        all.gradients += sums[i].gradients;
        all.zeros += sums[i].zeros;
    }
    finish_norms(&norms.model, &all, loss_scale);
    return norms;
}

void norms_clear(Norms *norms)
{
    g_clear_pointer(&norms->layers, g_free);
    norms->n_layers = 0;
}

static void *norms_service_open(const Trainer *t, G_GNUC_UNUSED GError **error)
{
    return t->config.log.norms != NORMS_NONE ? g_new0(Norms, 1) : NULL;
}

static void norms_service_free(void *own)
{
    norms_clear(own);
    g_free(own);
}

static void norms_service_measure(void *own, const Trainer *t, TrainRecord *record)
{
    Norms *norms = own;
    norms_clear(norms);
    *norms = norms_measure(t->model, t->mesh.world, t->step.loss_scale);
    record->norms = norms;
}

const Service norms_service = { .open = norms_service_open,
                                .free = norms_service_free,
                                .measure = norms_service_measure };
