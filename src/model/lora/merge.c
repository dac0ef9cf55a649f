/* merge.c: copies a model with low-rank adapters into one without, adding each adapter's product to its matrix. */
#include "base/check.h"
#include "model/lora/lora.h"
#include "model/transformer/transformer.h"

static float *read_param(ParamStore *params, int index)
{
    const ParamSpec *spec = params_spec(params, index);
    float *values = g_new(float, (gsize)(spec->rows * MAX(spec->cols, 1)));
    params_read(params, index, NULL, DT_F32, values);
    return values;
}

/* w (rows,in) += scale b a, where b (rows,r) and a (r,in). */
static void add_product(float *w, const float *b, const float *a, int64_t rows, int64_t in, int64_t r, float scale)
{
#pragma omp parallel for
    for (int64_t i = 0; i < rows; i++)
        for (int64_t k = 0; k < r; k++)
            for (int64_t j = 0; j < in; j++)
                w[i * in + j] += scale * b[i * r + k] * a[k * in + j];
}

/* Adds the product of an adapter to the members of its layer; a: the index of its lora_a, before its lora_b. */
static void merge_layer(ParamStore *to, ParamStore *from, int index, const LoraLayer *layer, size_t prefix, float scale)
{
    const ParamSpec *spec = params_spec(from, index);
    g_autofree float *a = read_param(from, index), *b = read_param(from, index + 1);
    int64_t row = 0;
    for (size_t m = 0; m < G_N_ELEMENTS(layer->members) && layer->members[m]; m++) {
        g_autofree char *name = g_strdup_printf("%.*s%s", (int)prefix, spec->name, layer->members[m]);
        int member = params_index(to, name);
        if (member < 0)
            continue;
        int64_t rows = params_spec(to, member)->rows;
        g_autofree float *w = read_param(to, member);
        add_product(w, b + row * spec->rows, a, rows, spec->cols, spec->rows, scale);
        params_write(to, member, NULL, DT_F32, w);
        row += rows;
    }
    CHECK(row == params_spec(from, index + 1)->rows, "%s: %lld rows were merged", spec->name, (long long)row);
}

Model *lora_merged(Model *model, GError **error)
{
    ModelConfig config = *model_config(model);
    float scale = (float)lora_scale(&config.lora);
    config.lora = (LoraConfig){ 0 };
    Model *merged = model_open(model->dev, &config, false, error);
    if (merged == NULL)
        return NULL;
    ParamStore *to = model_params(merged), *from = model_params(model);
    for (int i = 0; i < params_count(to); i++)
        params_copy(to, i, from, params_index(from, params_spec(to, i)->name));
    for (int i = 0; i < params_count(from); i++) {
        size_t prefix;
        const char *name = params_spec(from, i)->name;
        const LoraLayer *layer = lora_layer_of(name, &prefix);
        if (layer && g_str_has_suffix(name, LORA_A))
            merge_layer(to, from, i, layer, prefix, scale);
    }
    token_roles_copy(model_roles(merged), model_roles(model));
    return merged;
}
