/* How many operations and transfers a step asks for, counted on the null device. */
#include "kinds.h"

#include "param/optim.h"

enum { LENGTH = 12 };

static void add_sequence(Batch *batch, int64_t sample, int32_t n)
{
    static const int32_t ids[LENGTH] = { 3, 1, 4, 1, 5, 9, 2, 6, 5, 3, 5, 8 };
    static const float weights[LENGTH] = { 1, 0, 1 };

    if (batch->enc.max_tokens > 0 && batch->dec.max_tokens > 0)
        batch_add(batch, sample, ids, n, ids, n, 0);
    else
        batch_add_sequence(batch, &(BatchSequence){ .sample = sample,
                                                    .n = n,
                                                    .ids = ids,
                                                    .targets = ids,
                                                    .weights = weights,
                                                    .label = sample % 2 ? 1 : -1 });
}

/* What one step of `passes` microbatches of n_seq sequences asks for. */
static DeviceCounts step_counts(const ModelConfig *config, int32_t n_seq, int passes)
{
    GError *error = NULL;
    const ModelLoss loss = { .train = true, .grad = true };
    Device *dev = device_open_null();
    Model *model = model_open(dev, config, true, &error);
    g_assert_no_error(error);
    Batch *batch = batch_new(n_seq, config->n_enc ? LENGTH : 0, config->n_dec ? LENGTH : 0);
    LossSums sums = { 0 };

    for (int32_t s = 0; s < n_seq; s++)
        add_sequence(batch, s, LENGTH / 2);
    dev->counts = (DeviceCounts){ 0 };
    grads_begin(model_params(model), passes);
    for (int i = 0; i < passes; i++)
        model_pass(model, batch, &loss);
    model_take_sums(model, &sums);
    grads_norm(model_params(model));
    DeviceCounts counts = dev->counts;
    batch_free(batch);
    model_close(model);
    device_close(dev);
    return counts;
}

/* However many sequences a batch holds, and whichever of them have labels. */
static void calls_do_not_depend_on_the_number_of_sequences(const void *data)
{
    const Kind *kind = data;
    ModelConfig config = tiny_config(&tiny_gated);
    kind->shape(&config);
    config.max_positions = MAX(config.max_positions, 2 * LENGTH);
    config.rotary_base = 10000;
    DeviceCounts one = step_counts(&config, 1, 1), six = step_counts(&config, 6, 1);
    g_test_message("%s: %d calls, %d uploads", kind->name, (int)six.calls, (int)six.uploads);
    int pooled = config.context_queries ? 5 : 0; /* each of the other sequences by itself, in four blocks */
    g_assert_cmpint(six.calls, <=, one.calls + pooled * 4 * 10);
    g_assert_cmpint(six.uploads, <=, one.uploads + pooled * 4 * 2);
}

/* The sums and the norm. */
static void a_step_is_read_once(void)
{
    ModelConfig config = tiny_config(&tiny_gated);
    g_assert_cmpint(step_counts(&config, 2, 1).downloads, ==, 2);
    g_assert_cmpint(step_counts(&config, 2, 4).downloads, ==, 2);
}

/* T5 1.1 small: 8 + 8 blocks. */
static void a_step_of_t5_small_is_bounded(void)
{
    ModelConfig config = tiny_config(&tiny_gated);
    config.n_enc = config.n_dec = 8;
    DeviceCounts counts = step_counts(&config, 6, 1);
    g_test_message("%d calls, %d uploads", (int)counts.calls, (int)counts.uploads);
    g_assert_cmpint(counts.calls, <=, 562);
    g_assert_cmpint(counts.uploads, <=, 16);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    for (size_t i = 0; i < G_N_ELEMENTS(kinds); i++) {
        g_autofree char *path = g_strdup_printf("/calls/of_%s_do_not_depend_on_the_number_of_sequences", kinds[i].name);
        g_test_add_data_func(path, &kinds[i], calls_do_not_depend_on_the_number_of_sequences);
    }
    g_test_add_func("/calls/a_step_is_read_once", a_step_is_read_once);
    g_test_add_func("/calls/a_step_of_t5_small_is_bounded", a_step_of_t5_small_is_bounded);
    return g_test_run();
}
