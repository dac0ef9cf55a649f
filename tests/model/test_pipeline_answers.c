/* Stages on ranks of a pipeline decode and classify together: the bits of the whole model on every rank. */
#include "comm/comm.h"
#include "kind_model.h"
#include "model/decoder.h"
#include "model/pipeline/pipeline.h"

#include <string.h>

enum { PROMPTS = 2, EACH = 3, ROWS = PROMPTS * EACH, STEPS = 4, TOP = 2, BLOCKS = 4 };

/* What a model answers: the logits of a step with reordered sequences, the most likely tokens of the next step, and a
 * classifier's logits. */
typedef struct Found {
    float *logits, *classes;
    int32_t ids[ROWS * TOP];
    float values[ROWS * TOP];
    double sums[ROWS];
} Found;

typedef struct Case {
    const Kind *kind;
    int size, interleave;
    DType compute;
    Found whole;
} Case;

static ModelConfig deep_config(const Kind *kind)
{
    ModelConfig config = kind_config(kind);
    config.n_enc = config.n_enc > 0 ? BLOCKS : 0;
    config.n_dec = config.n_dec > 0 ? BLOCKS : 0;
    config.max_positions = config.max_positions > 0 ? 2 * config.max_positions : 0;
    return config;
}

/* Three prompts' worth of steps: logits, a reordering within each prompt, then the most likely tokens. */
static void decode(Model *model, Found *found)
{
    static const int32_t ids[] = { 9, 4, 1, 7, 1 }, cu[] = { 0, 3, 5 }, from[] = { 2, 0, 0, 3, 5, 4 };
    const int64_t vocab = model_config(model)->vocab;
    const Prompts prompts = { ids, cu, PROMPTS };
    GError *error = NULL;
    Decoder *decoder = decoder_open(model, &prompts, EACH, STEPS, &error);
    g_assert_no_error(error);
    for (int step = 0; step < STEPS; step++) {
        int32_t tokens[ROWS];
        for (int r = 0; r < ROWS; r++)
            tokens[r] =
                step == 0 ? (int32_t)prompts.ids[prompts.cu[r / EACH + 1] - 1] : (r * 5 + step * 3) % (int32_t)vocab;
        if (step < STEPS - 1)
            memcpy(found->logits, decoder_step(decoder, tokens), (size_t)(ROWS * vocab) * sizeof(float));
        else {
            TopTokens top = decoder_step_top(decoder, tokens, TOP);
            memcpy(found->ids, top.ids, sizeof found->ids);
            memcpy(found->values, top.logits, sizeof found->values);
            memcpy(found->sums, top.log_sums, sizeof found->sums);
        }
        decoder_reorder(decoder, from);
    }
    decoder_close(decoder);
}

static void classify(Model *model, Found *found)
{
    GError *error = NULL;
    Batch *batch = model_classifier_batch(LENGTH);
    g_assert_true(model_reserve_classifier(model, batch, &error));
    for (int64_t i = 0; i < TINY_SAMPLES; i++)
        kind_add(batch, model_config(model), i);
    model_classify(model, batch, found->classes);
    batch_free(batch);
}

static Found found_new(int64_t vocab)
{
    return (Found){ .logits = g_new0(float, ROWS *vocab), .classes = g_new0(float, 2 * TINY_SAMPLES) };
}

static void found_clear(Found *found)
{
    g_free(found->logits);
    g_free(found->classes);
}

static void assert_same(const Found *a, const Found *b, int64_t vocab)
{
    g_assert_true(memcmp(a->logits, b->logits, (size_t)(ROWS * vocab) * sizeof(float)) == 0);
    g_assert_true(memcmp(a->classes, b->classes, 2 * TINY_SAMPLES * sizeof(float)) == 0);
    g_assert_true(memcmp(a->ids, b->ids, sizeof a->ids) == 0);
    g_assert_true(memcmp(a->values, b->values, sizeof a->values) == 0);
    g_assert_true(memcmp(a->sums, b->sums, sizeof a->sums) == 0);
}

static void answer(Model *model, Found *found)
{
    if (model_config(model)->classifier == LABELS_NONE)
        decode(model, found);
    else
        classify(model, found);
}

static Model *open_whole(Device *dev, const ModelConfig *config)
{
    GError *error = NULL;
    Model *model = model_open(dev, config, false, &error);
    g_assert_no_error(error);
    params_init(model_params(model), 7);
    disturb(model);
    return model;
}

/* The stages of one rank, with the weights of the whole model. */
static Model *open_part(Device *dev, const ModelConfig *config, const Pipeline *pipeline)
{
    GError *error = NULL;
    Device *other = device_open_cpu(1, dev->precision);
    Model *whole = open_whole(other, config);
    Model *model =
        model_open_stages(dev, config, pipeline_held(pipeline, pipeline->rank), false, NULL, NULL, pipeline, &error);
    g_assert_no_error(error);
    for (int i = 0; i < params_count(model_params(model)); i++) {
        const char *name = params_spec(model_params(model), i)->name;
        params_copy(model_params(model), i, model_params(whole), params_index(model_params(whole), name));
    }
    model_close(whole);
    device_close(other);
    return model;
}

static void run_rank(Comm *ranks, void *context)
{
    const Case *c = context;
    ModelConfig config = deep_config(c->kind);
    GError *error = NULL;
    Mesh mesh;
    const MeshShape shape = { .tensor = 1, .context = 1, .pipeline = c->size, .copies = 1, .ring = c->interleave > 1 };
    g_assert_true(mesh_open(&mesh, ranks, &shape, &error));
    const StageTokens equal = { .encoder = 8, .decoder = 8, .targets = 8 };
    g_autofree int *ends = pipeline_divide(&config, c->size, c->interleave, &equal);
    const Pipeline pipeline = {
        .mesh = &mesh, .rank = comm_rank(ranks), .size = c->size, .interleave = c->interleave, .ends = ends
    };
    Device *dev = device_open_cpu(1, kind_precision(c->compute));
    Model *model = open_part(dev, &config, &pipeline);
    Found found = found_new(config.vocab);

    for (int twice = 0; twice < 2; twice++) {
        answer(model, &found);
        assert_same(&found, &c->whole, config.vocab);
    }
    g_assert_true(mesh_check(&mesh, &error));
    found_clear(&found);
    model_close(model);
    device_close(dev);
    mesh_close(&mesh);
}

static void stages_answer_what_the_model_answers(gconstpointer data)
{
    const Kind *kind = data;
    ModelConfig config = deep_config(kind);
    const int n_blocks = (int)(config.n_enc + config.n_dec);
    for (int bf16 = 0; bf16 < 2; bf16++) {
        Case c = { .kind = kind, .compute = bf16 ? DT_BF16 : DT_F32, .whole = found_new(config.vocab) };
        Device *dev = device_open_cpu(1, kind_precision(c.compute));
        Model *whole = open_whole(dev, &config);
        answer(whole, &c.whole);
        model_close(whole);
        device_close(dev);
        for (c.interleave = 1; c.interleave <= 2; c.interleave++)
            for (c.size = 2; c.size * c.interleave <= n_blocks; c.size += bf16 ? n_blocks : 1)
                comm_run_threads(c.size, 60, run_rank, &c);
        found_clear(&c.whole);
    }
}

/* An encoder and a decoder in every cut: within each of them, between them, and a stage with parts of both. */
static void plain(ModelConfig *config)
{
    (void)config;
}

static const Kind t5 = { "t5", plain };

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_data_func("/pipeline_answers/t5", &t5, stages_answer_what_the_model_answers);
    for (size_t i = 0; i < G_N_ELEMENTS(kinds); i++) {
        const ModelConfig config = kind_config(&kinds[i]);
        g_autofree char *path = g_strconcat("/pipeline_answers/", kinds[i].name, NULL);
        if (config.n_dec > 0 || config.classifier != LABELS_NONE)
            g_test_add_data_func(path, &kinds[i], stages_answer_what_the_model_answers);
    }
    return g_test_run();
}
