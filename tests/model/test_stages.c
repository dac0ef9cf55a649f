/* A model cut into stages, each with the parameters that it uses alone, and with several microbatches in flight: the
 * gradients of the whole, bit for bit. */
#include "kind_model.h"
#include "model/params/params.h"
#include "model/transformer/slot.h"

enum { MICROBATCHES = 4, MOST_STAGES = 5, MOST_BUCKETS = BUCKET_BLOCK + 6 };

/* Its backward reads the lengths of the stream with memory tokens, which a slot must own. */
/* Stages with only this one. */
static Stages stage_alone(Stage stage)
{
    return (Stages){ .range = { stage }, .n = 1 };
}

static void memory_and_context_queries(ModelConfig *config)
{
    memory(config);
    context_queries(config);
}

static const Kind both = { "memory_and_context_queries", memory_and_context_queries };

typedef struct Pipeline {
    Device *dev;
    int n_stages, n_slots;
    Stage range[MOST_STAGES];
    Model *stage[MOST_STAGES];
    Batch *batch[MICROBATCHES];
    ModelLoss loss;
} Pipeline;

/* Enough blocks for every cut; three and three, so that a stage holds the end of the encoder and the start of the
 * decoder, or the cut lies between them. */
static ModelConfig deep_config(const Kind *kind)
{
    ModelConfig config = kind_config(kind);
    int64_t n = config.n_enc > 0 && config.n_dec > 0 ? 3 : 5;
    config.n_enc = config.n_enc > 0 ? n : 0;
    config.n_dec = config.n_dec > 0 ? n : 0;
    return config;
}

/* Microbatch m has samples m and m + 1, so no two are alike. */
static Batch *microbatch(const ModelConfig *config, int m)
{
    Batch *batch = kind_batch(config, 2, false);
    for (int i = 0; i < 2; i++)
        kind_add(batch, config, (m + i) % TINY_SAMPLES);
    return batch;
}

static Model *whole_open(Device *dev, const ModelConfig *config)
{
    GError *error = NULL;
    Model *model = model_open(dev, config, true, &error);
    g_assert_no_error(error);
    params_init(model_params(model), 7);
    disturb(model);
    return model;
}

static void pipeline_open(Pipeline *p, Model *whole)
{
    const ModelConfig *config = model_config(whole);
    int n_blocks = (int)(config->n_enc + config->n_dec);
    GError *error = NULL;

    for (int s = 0; s < p->n_stages; s++) {
        p->range[s] = (Stage){ n_blocks * s / p->n_stages, n_blocks * (s + 1) / p->n_stages };
        Model *model = p->stage[s] =
            model_open_stages(p->dev, config, stage_alone(p->range[s]), true, NULL, NULL, NULL, &error);
        g_assert_no_error(error);
        for (int i = 0; i < params_count(model_params(model)); i++) {
            const char *name = params_spec(model_params(model), i)->name;
            params_copy(model_params(model), i, model_params(whole), params_index(model_params(whole), name));
        }
        model_set_slots(model, p->n_slots);
        tiny_reserve(model, p->batch[0], &p->loss);
    }
}

static void send(Device *dev, Tensor to, Tensor from)
{
    g_assert_true(tensor_present(to) == tensor_present(from));
    if (tensor_present(to))
        op_copy(dev, to, from);
}

static void deliver(Device *dev, StageMessage to, StageMessage from)
{
    send(dev, to.x, from.x);
    send(dev, to.encoder_output, from.encoder_output);
}

static void forward(const Pipeline *p, int m)
{
    int slot = m % p->n_slots;
    StageMessage message = { 0 };
    for (int s = 0; s < p->n_stages; s++) {
        deliver(p->dev, slot_begin(p->stage[s], slot, p->batch[m], &p->loss), message);
        message = slot_loss(p->stage[s], slot, slot_fwd(p->stage[s], slot));
    }
}

static void backward(const Pipeline *p, int m)
{
    int slot = m % p->n_slots;
    StageMessage gradient = { 0 };
    for (int s = p->n_stages - 1; s >= 0; s--) {
        deliver(p->dev, slot_gradient(p->stage[s], slot), gradient);
        gradient = slot_bwd(p->stage[s], slot);
    }
}

static void note_ready(void *context, int bucket)
{
    int *times = context;
    times[bucket]++;
}

/* Once each, but for those that nothing adds to. */
static void assert_ready_once(Model *model, Stage stage, const int *times)
{
    g_autofree int *uses = model_bucket_uses(model_config(model), stage_alone(stage));
    for (int i = 0; i < params_count(model_params(model)); i++) {
        int bucket = params_spec(model_params(model), i)->bucket;
        g_assert_cmpint(times[bucket], ==, uses[bucket] > 0);
    }
    g_assert_cmpfloat(grads_norm(model_params(model)), >, 0);
}

/* Every slot is taken before the first backward pass, and again as soon as it is free. */
static void run(const Pipeline *p)
{
    int ready[MOST_STAGES][MOST_BUCKETS] = { 0 };

    for (int s = 0; s < p->n_stages; s++) {
        grads_on_ready(model_params(p->stage[s]), note_ready, ready[s]);
        grads_begin(model_params(p->stage[s]), MICROBATCHES);
    }
    for (int m = 0; m < MICROBATCHES + p->n_slots; m++) {
        if (m >= p->n_slots)
            backward(p, m - p->n_slots);
        if (m < MICROBATCHES)
            forward(p, m);
    }
    for (int s = 0; s < p->n_stages; s++)
        assert_ready_once(p->stage[s], p->range[s], ready[s]);
}

/* The gradients of one parameter, summed over the stages that have it; the number of them. */
static int summed_gradient(const Pipeline *p, const Param *param, double *sum)
{
    int holders = 0;
    for (int s = 0; s < p->n_stages; s++) {
        const Param *part = params_find(model_params(p->stage[s]), param->spec.name);
        for (int64_t i = 0; part && i < tensor_count(part->g); i++)
            sum[i] = (holders ? sum[i] : 0) + tensor_value(part->g, i);
        holders += part != NULL;
    }
    return holders;
}

/* Bit for bit, but for what several stages have: its sum is in another order. */
static void assert_gradients(const Pipeline *p, Model *whole)
{
    for (int i = 0; i < params_count(model_params(whole)); i++) {
        const Param *param = params_get(model_params(whole), i);
        int64_t n = tensor_count(param->g);
        g_autofree double *sum = g_new0(double, (gsize)n);
        int holders = summed_gradient(p, param, sum);
        double distance = 0, tolerance = holders > 1 ? 1e-6 : 0;
        for (int64_t j = 0; j < n; j++)
            distance += pow(sum[j] - tensor_value(param->g, j), 2);
        g_assert_cmpint(holders, >=, 1);
        if (!(sqrt(distance) <= tolerance * tiny_norm(param->g)))
            g_error("%d stages, %d slots: gradient of %s: distance %.3g of its norm", p->n_stages, p->n_slots,
                    param->spec.name, sqrt(distance) / tiny_norm(param->g));
    }
}

static void assert_sums(const Pipeline *p, const LossSums *expected)
{
    LossSums sums = { 0 };
    for (int s = 0; s < p->n_stages; s++)
        model_take_sums(p->stage[s], &sums);
    for (int h = 0; h < HEAD_COUNT; h++) {
        g_assert_cmpfloat(sums.head[h].loss, ==, expected->head[h].loss);
        g_assert_cmpfloat(sums.head[h].correct, ==, expected->head[h].correct);
        g_assert_cmpfloat(sums.head[h].weight, ==, expected->head[h].weight);
    }
}

static void check_cuts(const Kind *kind, bool recompute)
{
    static const int stages[] = { 2, 3, 5 }, slots[] = { 1, 2, 4 };
    Pipeline p = { .dev = device_open_cpu(2, precision_uniform(DT_F32)) };
    const ModelConfig config = deep_config(kind);
    Model *whole = whole_open(p.dev, &config);
    LossSums expected = { 0 };

    for (int m = 0; m < MICROBATCHES; m++)
        p.batch[m] = microbatch(&config, m);
    p.loss = kind_loss(p.batch[0]);
    p.loss.recompute = recompute;
    tiny_reserve(whole, p.batch[0], &p.loss);
    grads_begin(model_params(whole), MICROBATCHES);
    for (int m = 0; m < MICROBATCHES; m++)
        model_pass(whole, p.batch[m], &p.loss);
    model_take_sums(whole, &expected);
    for (size_t i = 0; i < G_N_ELEMENTS(stages); i++)
        for (size_t j = 0; j < G_N_ELEMENTS(slots); j++) {
            p.n_stages = stages[i];
            p.n_slots = slots[j];
            pipeline_open(&p, whole);
            run(&p);
            assert_gradients(&p, whole);
            assert_sums(&p, &expected);
            for (int s = 0; s < p.n_stages; s++)
                model_close(p.stage[s]);
        }
    for (int m = 0; m < MICROBATCHES; m++)
        batch_free(p.batch[m]);
    model_close(whole);
    device_close(p.dev);
}

static void gradients_are_those_of_the_whole(const void *kind)
{
    check_cuts(kind, false);
}

static void gradients_with_recompute_are_those_of_the_whole(const void *kind)
{
    check_cuts(kind, true);
}

/* The parameters of the stages of a cut are those of the model, and only buckets that a stage adds to are among them,
 * but for a pooler without a sentence head. */
static void stages_hold_what_they_use(const void *kind)
{
    const ModelConfig config = deep_config(kind);
    int n_blocks = (int)(config.n_enc + config.n_dec), n, seen = 0, n_parts;
    g_autofree ParamSpec *specs = model_param_specs(&config, stage_whole(&config), &n);
    g_autofree int *whole = model_bucket_uses(&config, stage_whole(&config));

    for (int i = 0; i < n; i++) {
        int holders = 0, uses = 0;
        for (int first = 0; first < n_blocks; first++) {
            const Stages stage = stage_alone((Stage){ first, first + 1 });
            g_autofree ParamSpec *parts = model_param_specs(&config, stage, &n_parts);
            g_autofree int *used = model_bucket_uses(&config, stage);
            for (int j = 0; j < n_parts; j++)
                if (strcmp(parts[j].name, specs[i].name) == 0) {
                    g_assert_true(used[parts[j].bucket] > 0 || parts[j].bucket == BUCKET_POOLER);
                    holders++;
                    uses += used[parts[j].bucket];
                }
        }
        g_assert_cmpint(holders, >=, 1);
        if (specs[i].bucket == BUCKET_SHARED)
            g_assert_cmpint(uses, ==, whole[BUCKET_SHARED]);
        seen += holders;
    }
    g_assert_cmpint(seen, >=, n);
}

typedef struct Test {
    const char *what;
    void (*run)(const void *kind);
} Test;

static const Test tests[] = {
    { "hold_what_they_use", stages_hold_what_they_use },
    { "gradients_are_those_of_the_whole", gradients_are_those_of_the_whole },
    { "gradients_with_recompute_are_those_of_the_whole", gradients_with_recompute_are_those_of_the_whole },
};

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    for (size_t t = 0; t < G_N_ELEMENTS(tests); t++)
        for (size_t k = 0; k <= G_N_ELEMENTS(kinds); k++) {
            const Kind *kind = k < G_N_ELEMENTS(kinds) ? &kinds[k] : &both;
            g_autofree char *path = g_strdup_printf("/stages/%s/%s", kind->name, tests[t].what);
            g_test_add_data_func(path, kind, tests[t].run);
        }
    return g_test_run();
}
