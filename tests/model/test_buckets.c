/* Each bucket of gradients is ready exactly once a step, after its last contribution, in every shape of model. */
#include "kinds.h"

enum { LENGTH = 12, SEQUENCES = 2, MICROBATCHES = 3 };

static void add_sequence(Batch *batch, int64_t sample)
{
    static const int32_t ids[LENGTH] = { 3, 1, 4, 1, 5, 9, 2, 6, 5, 3, 5, 8 };
    static const float weights[LENGTH] = { 1, 0, 1 };

    if (batch->enc.max_tokens > 0 && batch->dec.max_tokens > 0)
        batch_add(batch, sample, ids, LENGTH, ids, LENGTH, 0);
    else
        batch_add_sequence(batch, &(BatchSequence){ .sample = sample,
                                                    .n = LENGTH,
                                                    .ids = ids,
                                                    .targets = ids,
                                                    .weights = weights,
                                                    .label = sample % 2 ? 1 : -1 });
}

/* What the store's hook is told: how often each bucket was ready, and during which microbatch. */
typedef struct Record {
    GArray *ready;
    int microbatch;
} Record;

static void note_ready(void *context, int bucket)
{
    Record *record = context;
    g_assert_cmpint(record->microbatch, ==, MICROBATCHES - 1);
    g_array_append_val(record->ready, bucket);
}

/* Buckets that the loss reaches: every one with parameters, but the pooler of a model without a sentence head. */
static GHashTable *reached(Model *model)
{
    GHashTable *buckets = g_hash_table_new(NULL, NULL);
    for (int i = 0; i < params_count(model_params(model)); i++) {
        const ParamSpec *spec = params_spec(model_params(model), i);
        bool idle = strcmp(spec->name, "pooler") == 0 || strcmp(spec->name, "pooler.bias") == 0;
        if (!idle || model_config(model)->sentence_head)
            g_hash_table_add(buckets, GINT_TO_POINTER(spec->bucket));
    }
    return buckets;
}

static void check_step(const ModelConfig *config, bool recompute)
{
    GError *error = NULL;
    const ModelLoss loss = { .train = true, .grad = true, .recompute = recompute };
    Device *dev = device_open_null();
    Model *model = model_open(dev, config, true, &error);
    g_assert_no_error(error);
    Batch *batch = batch_new(SEQUENCES, config->n_enc ? LENGTH : 0, config->n_dec ? LENGTH : 0);
    g_autoptr(GHashTable) waiting = reached(model);
    Record record = { .ready = g_array_new(false, false, sizeof(int)) };

    for (int32_t s = 0; s < SEQUENCES; s++)
        add_sequence(batch, s);
    grads_on_ready(model_params(model), note_ready, &record);
    grads_begin(model_params(model), MICROBATCHES);
    for (; record.microbatch < MICROBATCHES; record.microbatch++)
        model_pass(model, batch, &loss);
    for (guint i = 0; i < record.ready->len; i++)
        g_assert_true(g_hash_table_remove(waiting, GINT_TO_POINTER(g_array_index(record.ready, int, i))));
    g_assert_cmpuint(g_hash_table_size(waiting), ==, 0);
    g_assert_cmpfloat(grads_norm(model_params(model)), ==, 0);
    g_array_unref(record.ready);
    batch_free(batch);
    model_close(model);
    device_close(dev);
}

static void each_bucket_is_ready_once(const void *data)
{
    const Kind *kind = data;
    for (int variant = 0; variant < 4; variant++) {
        ModelConfig config = tiny_config(&tiny_gated);
        if (kind)
            kind->shape(&config);
        config.max_positions = MAX(config.max_positions, 2 * LENGTH);
        config.rotary_base = 10000;
        config.tie_embeddings = variant & 1;
        check_step(&config, variant & 2);
    }
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_data_func("/buckets/each_is_ready_once/t5", NULL, each_bucket_is_ready_once);
    for (size_t i = 0; i < G_N_ELEMENTS(kinds); i++) {
        g_autofree char *path = g_strdup_printf("/buckets/each_is_ready_once/%s", kinds[i].name);
        g_test_add_data_func(path, &kinds[i], each_bucket_is_ready_once);
    }
    return g_test_run();
}
