/* Models in FP8: which layers have scales of their own after a microbatch, and that nothing but training knows of it.
 */
#include "kinds.h"
#include "nn/layers.h"
#include "reference/reference.h"

#include <glib.h>

static const Shape shape_of_16 = { true, false, 32, 2, 16, 32, 23 };

enum { SAMPLES = 2, LENGTH = 8 };

static Precision precision_of(Fp8Scaling scaling)
{
    return (Precision){ .compute = DT_BF16,
                        .residual = DT_F32,
                        .grad = DT_F32,
                        .master = DT_F32,
                        .state = DT_F32,
                        .fp8 = { scaling, 0, 4 } };
}

static Device *open_device(Fp8Scaling scaling)
{
    return device_open_cpu(1, precision_of(scaling));
}

static Batch *make_batch(const ModelConfig *config)
{
    static const int32_t ids[LENGTH] = { 3, 1, 4, 1, 5, 9, 2, 6 }, targets[LENGTH] = { 7, 2, 0, 8, 11, 3, 17, 5 };
    static const float weights[LENGTH] = { 1, 0, 1, 1, 1 };
    Batch *batch = batch_new(SAMPLES, config->n_enc ? LENGTH : 0, config->n_dec ? LENGTH : 0);
    for (int32_t s = 0; s < SAMPLES; s++)
        if (config->n_enc > 0 && config->n_dec > 0)
            batch_add(batch, s, ids, LENGTH - s, targets, LENGTH - s, 0);
        else
            batch_add_sequence(
                batch,
                &(BatchSequence){ .sample = s, .n = LENGTH - s, .ids = ids, .targets = targets, .weights = weights });
    return batch;
}

static Model *open_model(Device *dev, const ModelConfig *config, const ModelLoss *loss)
{
    GError *error = NULL;
    Model *model = model_open(dev, config, true, &error);
    g_assert_no_error(error);
    params_init(model_params(model), 7);
    model_reserve(model, SAMPLES, config->n_enc ? LENGTH : 0, config->n_dec ? LENGTH : 0, loss, NULL, &error);
    g_assert_no_error(error);
    return model;
}

static double loss_of(Model *model, const Batch *batch, const ModelLoss *loss)
{
    LossSums sums = { 0 };
    if (loss->grad)
        grads_begin(model_params(model), 1);
    model_loss(model, batch, loss, &sums);
    return loss_sums_total(&sums);
}

static bool is_scaled(Device *dev, const Fp8Scales *scales, int layer)
{
    int scaled = 0;
    for (int factor = 0; factor < FP8_FACTORS; factor++) {
        float scale;
        tensor_read(dev, &scale, DT_F32, fp8_scale(scales, layer, (Fp8Factor)factor).scale);
        scaled += scale != 1;
    }
    g_assert_true(scaled == 0 || scaled == FP8_FACTORS);
    return scaled > 0;
}

static void shape_t5(ModelConfig *config)
{
    (void)config;
}

static const Kind shapes[] = { { "t5", shape_t5 }, { "gpt2", gpt2 }, { "bert", bert } };

static void layers_get_scales(const void *data)
{
    const Kind *kind = data;
    ModelConfig config = tiny_config(&shape_of_16);
    kind->shape(&config);
    config.max_positions = MAX(config.max_positions, 2 * LENGTH);
    for (int scaling = FP8_DELAYED; scaling <= FP8_CURRENT; scaling++) {
        Device *dev = open_device((Fp8Scaling)scaling);
        const ModelLoss loss = { .train = true, .grad = true, .n_targets = { 10, 1 } },
                        eval = { .n_targets = { 10, 1 } };
        Model *model = open_model(dev, &config, &loss);
        Batch *batch = make_batch(&config);
        double before = loss_of(model, batch, &eval);
        loss_of(model, batch, &loss);
        for (int block = 0; block < config.n_enc + config.n_dec; block++)
            for (int site = LINEAR_SELF_QKV; site <= LINEAR_WO; site++) {
                bool cross = site == LINEAR_CROSS_Q || site == LINEAR_CROSS_KV || site == LINEAR_CROSS_O;
                bool there = !cross || (config.n_enc > 0 && block >= config.n_enc);
                g_assert_true(is_scaled(dev, model_fp8(model), block * LINEAR_SITES + site - LINEAR_SELF_QKV) == there);
            }
        g_assert_cmpfloat(loss_of(model, batch, &eval), ==, before); /* evaluation has no scales */
        batch_free(batch);
        model_close(model);
        device_close(dev);
    }
}

/* In the second microbatch the scales are there; the gradients of a model in bf16 are near. */
static void gradients_are_near_those_of_bf16(const void *data)
{
    const Kind *kind = data;
    ModelConfig config = tiny_config(&shape_of_16);
    kind->shape(&config);
    config.max_positions = MAX(config.max_positions, 2 * LENGTH);
    config.dropout = config.activation_dropout = config.attention_dropout = 0;
    const ModelLoss loss = { .train = true, .grad = true, .n_targets = { 10, 1 } };
    double norms[FP8_CURRENT + 1], losses[FP8_CURRENT + 1];
    for (int scaling = FP8_OFF; scaling <= FP8_CURRENT; scaling++) {
        Device *dev = open_device((Fp8Scaling)scaling);
        Model *model = open_model(dev, &config, &loss);
        Batch *batch = make_batch(&config);
        g_assert_true((model_fp8(model) != NULL) == (scaling != FP8_OFF));
        loss_of(model, batch, &loss);
        losses[scaling] = loss_of(model, batch, &loss);
        norms[scaling] = grads_norm(model_params(model));
        g_test_message("%s %d: loss %.6f, norm %.6f", kind->name, scaling, losses[scaling], norms[scaling]);
        batch_free(batch);
        model_close(model);
        device_close(dev);
    }
    for (int scaling = FP8_DELAYED; scaling <= FP8_CURRENT; scaling++) {
        g_assert_cmpfloat(fabs(losses[scaling] / losses[FP8_OFF] - 1), <, 0.02);
        g_assert_cmpfloat(fabs(norms[scaling] / norms[FP8_OFF] - 1), <, 0.1);
        g_assert_cmpfloat(norms[scaling], !=, norms[FP8_OFF]);
    }
}

/* Where a rounding to bf16 goes the other way, so may that to FP8 (by an eighth), and what follows from it: the two are
 * about as far from each other as FP8 is from bf16. */
static void gradients_are_near_those_of_the_reference(const void *data)
{
    const Kind *kind = data;
    ModelConfig config = tiny_config(&shape_of_16);
    kind->shape(&config);
    config.max_positions = MAX(config.max_positions, 2 * LENGTH);
    const ModelLoss loss = { .train = true, .grad = true, .n_targets = { 10, 1 } };
    for (int scaling = FP8_DELAYED; scaling <= FP8_CURRENT; scaling++) {
        Device *devices[] = { open_device((Fp8Scaling)scaling), device_open_mixed(precision_of((Fp8Scaling)scaling)),
                              device_open_mixed(precision_of(FP8_OFF)) };
        Model *models[3];
        double losses[3];
        for (int m = 0; m < 3; m++) {
            models[m] = open_model(devices[m], &config, &loss);
            Batch *batch = make_batch(&config);
            loss_of(models[m], batch, &loss);
            losses[m] = loss_of(models[m], batch, &loss);
            batch_free(batch);
        }
        double own = gradient_distance(models[0], models[1]), fp8 = gradient_distance(models[1], models[2]);
        g_assert_cmpfloat(own, <, 1.5 * fp8);
        g_assert_cmpfloat(fabs(losses[0] / losses[1] - 1), <, 0.02);
        for (int m = 0; m < 3; m++) {
            model_close(models[m]);
            device_close(devices[m]);
        }
    }
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    for (size_t i = 0; i < G_N_ELEMENTS(shapes); i++) {
        g_autofree char *scales = g_strdup_printf("/fp8/linear_layers_of_blocks_get_scales/%s", shapes[i].name);
        g_autofree char *near = g_strdup_printf("/fp8/gradients_are_near_those_of_bf16/%s", shapes[i].name);
        g_test_add_data_func(scales, &shapes[i], layers_get_scales);
        g_test_add_data_func(near, &shapes[i], gradients_are_near_those_of_bf16);
        g_autofree char *same = g_strdup_printf("/fp8/gradients_are_near_those_of_the_reference/%s", shapes[i].name);
        g_test_add_data_func(same, &shapes[i], gradients_are_near_those_of_the_reference);
    }
    return g_test_run();
}
