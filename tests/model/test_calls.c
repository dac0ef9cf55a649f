/* How many operations and transfers a step asks for, counted on the null device. */
#include "kinds.h"

#include "model/decoder.h"
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
    g_assert_cmpint(six.calls, <=, one.calls);
    g_assert_cmpint(six.uploads, <=, one.uploads);
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
    g_assert_cmpint(counts.calls, <=, 482);
    g_assert_cmpint(counts.uploads, <=, 16);
}

/* What decoding asks for: to begin, for the second token, and to go on from other sequences. */
typedef struct DecodingCounts {
    DeviceCounts open, step, reorder;
} DecodingCounts;

static DeviceCounts taken(Device *dev)
{
    DeviceCounts counts = dev->counts;
    dev->counts = (DeviceCounts){ 0 };
    return counts;
}

static DecodingCounts decoding_counts(const ModelConfig *config, int32_t n_prompts, int32_t n_each)
{
    static const int32_t ids[] = { 3, 1, 4, 1, 5, 9, 2, 6, 5, 3, 5, 8 }, cu[] = { 0, 4, 7, 12 };
    GError *error = NULL;
    Device *dev = device_open_null();
    Model *model = model_open(dev, config, false, &error);
    g_assert_no_error(error);
    int32_t n = n_prompts * n_each;
    g_autofree int32_t *tokens = g_new0(int32_t, n), *from = g_new(int32_t, n);
    DecodingCounts counts;

    for (int32_t i = 0; i < n; i++)
        from[i] = i - i % n_each; /* all of a prompt go on from its first */
    taken(dev);
    Decoder *decoder = decoder_open(model, &(Prompts){ ids, cu, n_prompts }, n_each, 5, &error);
    g_assert_no_error(error);
    decoder_step(decoder, tokens);
    counts.open = taken(dev);
    decoder_step(decoder, tokens);
    counts.step = taken(dev);
    decoder_reorder(decoder, from);
    counts.reorder = taken(dev);
    decoder_close(decoder);
    model_close(model);
    device_close(dev);
    return counts;
}

static void decoding_does_not_depend_on_the_number_of_sequences(const void *data)
{
    const Kind *kind = data;
    ModelConfig config = tiny_config(&tiny_gated);
    kind->shape(&config);
    config.max_positions = MAX(config.max_positions, 2 * LENGTH);
    config.rotary_base = 10000;
    if (config.n_dec == 0)
        return;
    DecodingCounts two = decoding_counts(&config, 1, 2), twelve = decoding_counts(&config, 3, 4);
    const DeviceCounts counts[][2] = { { two.open, twelve.open },
                                       { two.step, twelve.step },
                                       { two.reorder, twelve.reorder } };
    g_test_message("%s: %d calls to begin, %d a step, %d to reorder", kind->name, (int)two.open.calls,
                   (int)two.step.calls, (int)two.reorder.calls);
    for (size_t i = 0; i < G_N_ELEMENTS(counts); i++) {
        g_assert_cmpint(counts[i][0].calls, ==, counts[i][1].calls);
        g_assert_cmpint(counts[i][0].uploads, ==, counts[i][1].uploads);
    }
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    for (size_t i = 0; i < G_N_ELEMENTS(kinds); i++) {
        g_autofree char *path = g_strdup_printf("/calls/of_%s_do_not_depend_on_the_number_of_sequences", kinds[i].name);
        g_autofree char *decoding = g_strdup_printf("/calls/decoding_with_%s_does_not_depend_on_it", kinds[i].name);
        g_test_add_data_func(path, &kinds[i], calls_do_not_depend_on_the_number_of_sequences);
        g_test_add_data_func(decoding, &kinds[i], decoding_does_not_depend_on_the_number_of_sequences);
    }
    g_test_add_func("/calls/a_step_is_read_once", a_step_is_read_once);
    g_test_add_func("/calls/a_step_of_t5_small_is_bounded", a_step_of_t5_small_is_bounded);
    return g_test_run();
}
