/* µP: initial sizes and learning rates of wider models (Yang et al. 2022), and that with them the first updates do the
 * same at every width. */
#include "difference.h"
#include "kind_model.h"
#include "model/params/params.h"
#include "param/optim_defaults.h"

enum { BASE = 16 };

static ModelConfig wide_config(void (*shape)(ModelConfig *), int64_t width, int64_t mup)
{
    ModelConfig config = kind_config(&(Kind){ "", shape });
    config.width = width;
    config.head_dim = 8;
    config.heads = width / config.head_dim;
    config.ffn = 4 * width;
    config.dropout = 0;
    config.mup = mup;
    return config;
}

static void t5_v1_0(ModelConfig *config)
{
    config->gated = false;
    config->tie_embeddings = config->scale_logits = true;
}

static void untied_gpt2(ModelConfig *config)
{
    gpt2(config);
    config->tie_embeddings = false;
}

/* Factors on the initial size and the learning rate at four times the width, as the package mup 1.0 has them for
 * nn.Embedding, nn.Linear, nn.LayerNorm and MuReadout (its factor 1/4 on the output is one on the weights, and so on
 * their steps, here). The head dimension of 8 makes the factor of queries 8^1/2. */
static void factors_are_those_of_the_package(void)
{
    const double q = 2.8284271247461903;
    const struct {
        void (*shape)(ModelConfig *);
        const char *name;
        double size, rate;
    } expected[] = {
        { gpt2, "shared", 1, 1 },
        { gpt2, "decoder.positions", 1, 1 },
        { gpt2, "decoder.0.self.q", q / 2, q / 4 },
        { gpt2, "decoder.0.self.k", 0.5, 0.25 },
        { gpt2, "decoder.1.mlp.wi", 0.5, 0.25 },
        { gpt2, "decoder.1.mlp.wi.bias", 1, 1 },
        { gpt2, "decoder.1.mlp.wo", 0.5, 0.25 },
        { gpt2, "decoder.0.self.norm", 1, 1 },
        { gpt2, "decoder.final_norm", 0.25, 0.25 },
        { gpt2, "decoder.final_norm.bias", 0.25, 0.25 },
        { untied_gpt2, "decoder.final_norm", 1, 1 },
        { untied_gpt2, "lm_head", 0.25, 0.25 },
        { t5_v1_0, "encoder.final_norm", 1, 1 },
        { t5_v1_0, "decoder.final_norm", 0.5, 0.5 }, /* width^-1/2 is on the logits already */
        { t5_v1_0, "decoder.relpos", 1, 1 },
    };
    for (size_t e = 0; e < G_N_ELEMENTS(expected); e++) {
        ModelConfig config = wide_config(expected[e].shape, 4 * BASE, BASE),
                    base = wide_config(expected[e].shape, BASE, 0);
        int n_specs, seen = 0;
        g_autofree ParamSpec *specs = model_param_specs(&config, stage_whole(&config), &n_specs),
                             *bases = model_param_specs(&base, stage_whole(&base), &n_specs);
        for (int i = 0; i < n_specs; i++) {
            if (!g_str_equal(specs[i].name, expected[e].name))
                continue;
            g_assert_cmpfloat_with_epsilon(specs[i].size, expected[e].size, 1e-12);
            g_assert_cmpfloat_with_epsilon(specs[i].rate, expected[e].rate, 1e-12);
            g_assert_cmpfloat_with_epsilon(specs[i].std, bases[i].std * expected[e].size, 1e-12);
            g_assert_cmpfloat(bases[i].rate, ==, 1);
            seen++;
        }
        g_assert_cmpint(seen, ==, 1);
    }
}

/* How much some updates lower the loss on the batch that they are made from. */
static double loss_drop(void (*shape)(ModelConfig *), int64_t width, int64_t mup, OptimKind optimizer)
{
    Device *dev = device_open_cpu(1, precision_uniform(DT_F32));
    ModelConfig config = wide_config(shape, width, mup);
    Model *model = model_open(dev, &config, true, NULL);
    ParamStore *params = model_params(model);
    params_init(params, 7);
    const OptimConfig settings = optim_defaults(optimizer);
    Optimizer *opt = optimizer_open(params, &settings, NULL);
    Batch *batch = kind_batch(&config, TINY_SAMPLES, true);
    ModelLoss loss = kind_loss(batch);
    double losses[2] = { 0 };
    tiny_reserve(model, batch, &loss);
    for (int update = 1; update <= 6; update++) {
        losses[update > 1] = loss_and_gradients(model, batch, &loss);
        optimizer_step(opt, update, optimizer == OPTIM_ADAMW || optimizer == OPTIM_MUON ? 0.004 : 0.04,
                       grads_norm(params), 1);
    }
    batch_free(batch);
    optimizer_close(opt);
    model_close(model);
    device_close(dev);
    return losses[0] - losses[1];
}

/* At sixteen times the base width six updates do what they do at twice, with every optimizer; without µP they do not.
 */
static void updates_do_the_same_at_every_width(void)
{
    void (*const shapes[])(ModelConfig *) = { gpt2, untied_gpt2, t5_v1_0 };
    for (size_t s = 0; s < G_N_ELEMENTS(shapes); s++) {
        for (OptimKind optimizer = 0; optimizer < OPTIM_KINDS; optimizer++) {
            const double narrow = loss_drop(shapes[s], 2 * BASE, BASE, optimizer),
                         wide = loss_drop(shapes[s], 16 * BASE, BASE, optimizer);
            if (!(fabs(wide / narrow - 1) < 0.2))
                g_error("shape %zu, optimizer %d: the loss falls by %g and %g", s, (int)optimizer, narrow, wide);
        }
        if (shapes[s] == untied_gpt2)
            continue; /* six plain updates differ by 8 % between these widths: too little to tell µP by */
        const double plain = loss_drop(shapes[s], 2 * BASE, 0, OPTIM_ADAMW),
                     plain_wide = loss_drop(shapes[s], 16 * BASE, 0, OPTIM_ADAMW);
        g_assert_cmpfloat(fabs(plain_wide / plain - 1), >, 0.4);
    }
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/model/mup/factors", factors_are_those_of_the_package);
    g_test_add_func("/model/mup/updates", updates_do_the_same_at_every_width);
    return g_test_run();
}
