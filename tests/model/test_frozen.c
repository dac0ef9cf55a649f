/* Frozen parameters: they stay as they are, cost no gradient and no optimizer state, and the others learn as ever. */
#include "kind_model.h"
#include "model/params/params.h"
#include "param/optim.h"

static Model *open_frozen(Device *dev, const ModelConfig *config, const char *const *frozen)
{
    GError *error = NULL;
    Model *model = model_open_stages(dev, config, stage_whole(config), true, frozen, NULL, NULL, &error);
    g_assert_no_error(error);
    params_init(model_params(model), 7);
    disturb(model);
    return model;
}

static float *weights_of(Model *model, int index)
{
    const ParamSpec *spec = params_spec(model_params(model), index);
    float *values = g_new(float, (gsize)(spec->rows * MAX(spec->cols, 1)));
    params_read(model_params(model), index, NULL, DT_F32, values);
    return values;
}

static void pass(Model *model, const Batch *batch, const ModelLoss *loss)
{
    grads_begin(model_params(model), 1);
    model_pass(model, batch, loss);
}

static void count_ready(void *counts, int bucket)
{
    ((int *)counts)[bucket]++;
}

/* A bucket with a gradient is ready once, after which nobody waits; one without, all frozen, never is. */
static void check_buckets(Model *model, const Batch *batch, const ModelLoss *loss)
{
    const ModelConfig *config = model_config(model);
    ParamStore *params = model_params(model);
    int n = BUCKET_BLOCK + stage_whole(config).range[0].end;
    g_autofree int *ready = g_new0(int, n), *expected = model_bucket_uses(config, stage_whole(config));
    g_autofree bool *learns = g_new0(bool, n);

    for (int i = 0; i < params_count(params); i++)
        learns[params_spec(params, i)->bucket] |= !params_spec(params, i)->frozen;
    grads_on_ready(params, count_ready, ready);
    pass(model, batch, loss);
    for (int b = 0; b < n; b++)
        g_assert_cmpint(ready[b], ==, learns[b] && expected[b] > 0);
    grads_norm(params); /* aborts where a bucket is still awaited */
    grads_on_ready(params, NULL, NULL);
}

static bool same_bytes(Tensor a, Tensor b)
{
    return memcmp(a.p, b.p, (size_t)tensor_count(a) * sizeof(float)) == 0;
}

/* The gradients of all other parameters are bit for bit those of a model of which nothing is frozen. */
static void check_gradients(Model *frozen, Model *whole)
{
    for (int i = 0; i < params_count(model_params(whole)); i++) {
        Tensor a = params_get(model_params(frozen), i)->g, b = params_get(model_params(whole), i)->g;
        g_assert_true(tensor_present(a) != params_spec(model_params(frozen), i)->frozen);
        if (tensor_present(a) && !same_bytes(a, b))
            g_error("another gradient of %s", params_spec(model_params(whole), i)->name);
    }
}

static void check_training(Model *model, Batch *batch, ModelLoss *loss)
{
    static const OptimConfig config = { .name = OPTIM_ADAMW, .lr = 1e-2, .beta1 = -1, .beta2 = -1, .eps = -1 };
    ParamStore *params = model_params(model);
    Optimizer *opt = optimizer_open(params, &config, NULL);
    g_autoptr(GPtrArray) before = g_ptr_array_new_with_free_func(g_free);
    for (int i = 0; i < params_count(params); i++)
        g_ptr_array_add(before, weights_of(model, i));
    for (int update = 1; update <= 2; update++) {
        pass(model, batch, loss);
        optimizer_step(opt, update, 1e-2, grads_norm(params), 1);
    }
    for (int i = 0; i < params_count(params); i++) {
        const ParamSpec *spec = params_spec(params, i);
        gsize bytes = (gsize)(spec->rows * MAX(spec->cols, 1)) * sizeof(float);
        g_autofree float *after = weights_of(model, i);
        bool same = memcmp(after, before->pdata[i], bytes) == 0;
        if (same != spec->frozen)
            g_error("%s %s", spec->name, same ? "did not learn" : "moved");
    }
    ParamBytes bytes = params_bytes(params);
    g_assert_cmpuint(optimizer_bytes(opt), ==, 2 * bytes.gradients);
    g_assert_cmpuint(bytes.gradients, <, bytes.weights);
    optimizer_close(opt);
}

static double step_flops(const ModelConfig *config, const Batch *batch, const ModelLoss *loss,
                         const char *const *frozen)
{
    Device *null = device_open_null();
    Model *model = open_frozen(null, config, frozen);
    pass(model, batch, loss);
    double flops = null->counts.flops;
    model_close(model);
    device_close(null);
    return flops;
}

/* The product of a frozen matrix's gradient, 2 rows cols FLOPs a token, is left out. */
static void check_flops(const ModelConfig *config, const Batch *batch, const ModelLoss *loss, const char *const *frozen)
{
    static const char *const none[] = { NULL };
    Device *null = device_open_null();
    Model *model = open_frozen(null, config, frozen);
    double least = 0;
    for (int i = 0; i < params_count(model_params(model)); i++) {
        const ParamSpec *spec = params_spec(model_params(model), i);
        bool of_encoder =
            g_str_has_prefix(spec->name, "encoder.") || g_regex_match_simple("\\.cross\\.[kv]$", spec->name, 0, 0);
        bool linear = g_regex_match_simple("(self|cross|mlp)\\.(q|k|v|o|wi|wi_0|wi_1|wo)$", spec->name, 0, 0);
        if (spec->frozen && linear)
            least += 2.0 * (double)(spec->rows * spec->cols) * stream_rows(of_encoder ? &batch->enc : &batch->dec);
    }
    double saved = step_flops(config, batch, loss, none) - step_flops(config, batch, loss, frozen);
    g_assert_cmpfloat(saved, >=, least);
    model_close(model);
    device_close(null);
}

static void frozen_parts_stay(const void *data)
{
    static const char *const none[] = { NULL }, *const embedding[] = { "shared", NULL },
                             *const encoder[] = { "encoder.*", NULL }, *const norms[] = { "*norm*", NULL },
                             *const decoder[] = { "decoder.*", "lm_head*", NULL },
                             *const inner[] = { "*.self.*", "*relpos", "*positions", "*segments", "*memory", NULL },
                             *const biases[] = { "*bias", "*distance", NULL };
    static const char *const *const choices[] = { embedding, encoder, norms, decoder, inner, biases };
    Device *dev = device_open_cpu(1, precision_uniform(DT_F32));
    ModelConfig config = kind_config(data);
    Model *whole = open_frozen(dev, &config, none);
    Batch *batch = kind_batch(&config, 4, true);
    ModelLoss loss = kind_loss(batch);

    tiny_reserve(whole, batch, &loss);
    pass(whole, batch, &loss);
    for (size_t i = 0; i < G_N_ELEMENTS(choices); i++) {
        Model *model = open_frozen(dev, &config, choices[i]);
        ParamBytes bytes = params_bytes(model_params(model));
        tiny_reserve(model, batch, &loss);
        pass(model, batch, &loss);
        check_gradients(model, whole);
        check_buckets(model, batch, &loss);
        check_flops(&config, batch, &loss, choices[i]);
        if (bytes.gradients < bytes.weights && bytes.gradients > 0)
            check_training(model, batch, &loss);
        model_close(model);
    }
    batch_free(batch);
    model_close(whole);
    device_close(dev);
}

static void half_a_group_is_refused(void)
{
    static const char *const query[] = { "encoder.0.self.q", NULL };
    g_autoptr(GError) error = NULL;
    Device *dev = device_open_null();
    ModelConfig config = tiny_config(&tiny_gated);
    g_assert_null(model_open_stages(dev, &config, stage_whole(&config), true, query, NULL, NULL, &error));
    g_assert_error(error, LOAM_ERROR, LOAM_ERROR_USER);
    g_assert_nonnull(strstr(error->message, "encoder.0.self.q and encoder.0.self.k are stored as one matrix"));
    device_close(dev);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    for (size_t i = 0; i < G_N_ELEMENTS(kinds); i++) {
        g_autofree char *path = g_strdup_printf("/frozen/parts_stay/%s", kinds[i].name);
        g_test_add_data_func(path, &kinds[i], frozen_parts_stay);
    }
    g_test_add_func("/frozen/half_a_fusion_group_is_refused", half_a_group_is_refused);
    return g_test_run();
}
