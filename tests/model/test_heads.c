/* The losses of a model with two heads, BERT's tokens and labels, are kept apart. */
#include "kind_model.h"

static const Kind two_heads = { "bert", bert };

typedef struct Fixture {
    Device *dev;
    Model *model;
    Batch *batch;
    ModelLoss loss;
} Fixture;

static void setup(Fixture *f, gconstpointer data)
{
    (void)data;
    f->dev = device_open_cpu(1, precision_uniform(DT_F32));
    f->model = kind_open(f->dev, &two_heads);
    f->batch = kind_batch(model_config(f->model), TINY_SAMPLES, true);
    f->loss = kind_loss(f->batch);
    tiny_reserve(f->model, f->batch, &f->loss);
}

static void teardown(Fixture *f, gconstpointer data)
{
    (void)data;
    batch_free(f->batch);
    model_close(f->model);
    device_close(f->dev);
}

static LossSums run(Fixture *f)
{
    LossSums sums = { 0 };
    grads_begin(model_params(f->model), 1);
    model_loss(f->model, f->batch, &f->loss, &sums);
    return sums;
}

static double gradient_norm(Fixture *f, const char *name)
{
    return tiny_norm(params_find(model_params(f->model), name)->g);
}

static void count_the_rows_of_a_batch(Fixture *f, gconstpointer data)
{
    (void)data;
    ModelLoss loss = { 0 };
    LossSums sums = run(f);
    loss_count(&loss, model_config(f->model), f->batch);
    loss_count(&loss, model_config(f->model), f->batch);
    for (int h = 0; h < HEAD_COUNT; h++)
        g_assert_cmpfloat(loss.n_targets[h], ==, 2 * sums.head[h].weight);
    g_assert_cmpfloat(sums.head[HEAD_TOKENS].weight, ==, (double)f->batch->n_targets);
    g_assert_cmpfloat(sums.head[HEAD_LABELS].weight, ==, 3);
}

/* A checkpoint holds one sum for both, as it always did. */
static void labels_take_no_smoothing(Fixture *f, gconstpointer data)
{
    (void)data;
    LossSums sums = run(f);
    g_assert_cmpfloat(sums.head[HEAD_LABELS].loss, ==, sums.head[HEAD_LABELS].nll);
    g_assert_cmpfloat(sums.head[HEAD_TOKENS].loss, !=, sums.head[HEAD_TOKENS].nll);
}

/* Each gradient is that of a mean over the head's own rows. */
static void gradients_are_of_means_of_their_own(Fixture *f, gconstpointer data)
{
    (void)data;
    run(f);
    double tokens = gradient_norm(f, "lm_head.bias"), labels = gradient_norm(f, "sentence");
    f->loss.n_targets[HEAD_LABELS] *= 2;
    run(f);
    g_assert_cmpfloat(gradient_norm(f, "lm_head.bias"), ==, tokens);
    g_assert_cmpfloat_with_epsilon(gradient_norm(f, "sentence"), labels / 2, 1e-7);
    f->loss.n_targets[HEAD_LABELS] /= 2;
    f->loss.n_targets[HEAD_TOKENS] *= 2;
    run(f);
    g_assert_cmpfloat_with_epsilon(gradient_norm(f, "lm_head.bias"), tokens / 2, 1e-7);
    g_assert_cmpfloat(gradient_norm(f, "sentence"), ==, labels);
}

static void the_total_is_the_sum_of_means(void)
{
    const LossSums none = { 0 };
    LossSums sums = { .head = { [HEAD_TOKENS] = { .loss = 6, .correct = 1, .weight = 2 },
                                [HEAD_LABELS] = { .loss = 2, .correct = 3, .weight = 4 } } };

    g_assert_cmpfloat(loss_sums_total(&sums), ==, 3.5);
    g_assert_cmpfloat(loss_sums_accuracy(&sums, HEAD_LABELS), ==, 0.75);
    g_assert_cmpint(loss_sums_heads(&sums), ==, 2);
    sums.head[HEAD_LABELS] = none.head[HEAD_LABELS];
    g_assert_cmpfloat(loss_sums_total(&sums), ==, 3);
    g_assert_true(isnan(loss_sums_total(&none)));
    g_assert_true(loss_sums_finite(&sums));
    sums.head[HEAD_LABELS].loss = (double)INFINITY;
    g_assert_false(loss_sums_finite(&sums));
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add("/heads/count_the_rows_of_a_batch", Fixture, NULL, setup, count_the_rows_of_a_batch, teardown);
    g_test_add("/heads/labels_take_no_smoothing", Fixture, NULL, setup, labels_take_no_smoothing, teardown);
    g_test_add("/heads/gradients_are_of_means_of_their_own", Fixture, NULL, setup, gradients_are_of_means_of_their_own,
               teardown);
    g_test_add_func("/heads/the_total_is_the_sum_of_means", the_total_is_the_sum_of_means);
    return g_test_run();
}
