/* The stages of a pipeline and the order of their passes. */
#include "model/params/params.h"
#include "model/pipeline/pipeline.h"

#include <string.h>

enum { STAGES = 8, MICROBATCHES = 16 };

/* A pipeline whose stages follow their schedules: which passes each has made. */
typedef struct Simulation {
    int size, n;
    PipelinePass passes[STAGES][2 * MICROBATCHES];
    int done[STAGES]; /* number of passes made */
    bool made[STAGES][2][MICROBATCHES];
} Simulation;

/* Whether the messages that the next pass of a stage needs have been sent. */
static bool may_go(const Simulation *s, int rank)
{
    const PipelinePass pass = s->passes[rank][s->done[rank]];
    if (!pass.backward)
        return rank == 0 || s->made[rank - 1][0][pass.microbatch];
    return s->made[rank][0][pass.microbatch] && (rank == s->size - 1 || s->made[rank + 1][1][pass.microbatch]);
}

/* Microbatches whose activations a stage keeps. */
static int kept(const Simulation *s, int rank)
{
    int n = 0;
    for (int m = 0; m < s->n; m++)
        n += s->made[rank][0][m] && !s->made[rank][1][m];
    return n;
}

static void simulate(Simulation *s)
{
    for (bool moved = true; moved;) {
        moved = false;
        for (int rank = 0; rank < s->size; rank++)
            for (; s->done[rank] < 2 * s->n && may_go(s, rank); s->done[rank]++, moved = true) {
                const PipelinePass pass = s->passes[rank][s->done[rank]];
                g_assert_false(s->made[rank][pass.backward][pass.microbatch]);
                s->made[rank][pass.backward][pass.microbatch] = true;
                g_assert_cmpint(kept(s, rank), <=, s->size - rank);
            }
    }
    for (int rank = 0; rank < s->size; rank++)
        g_assert_cmpint(s->done[rank], ==, 2 * s->n);
}

static void schedules_end__and_keep_few_activations(void)
{
    for (int size = 1; size <= STAGES; size++)
        for (int n = 1; n <= MICROBATCHES; n++) {
            Simulation s = { .size = size, .n = n };
            for (int rank = 0; rank < size; rank++)
                pipeline_schedule(s.passes[rank], rank, size, n);
            simulate(&s);
        }
}

/* Gradients add up in the order of microbatches, as without a pipeline. */
static void backward_passes_come_in_the_order_of_microbatches(void)
{
    PipelinePass passes[2 * MICROBATCHES];
    for (int rank = 0; rank < STAGES; rank++) {
        int next[2] = { 0, 0 };
        pipeline_schedule(passes, rank, STAGES, MICROBATCHES);
        for (int i = 0; i < 2 * MICROBATCHES; i++)
            g_assert_cmpint(passes[i].microbatch, ==, next[passes[i].backward]++);
    }
}

static ModelConfig config_of(const char *preset, int n_enc, int n_dec)
{
    GError *error = NULL;
    ModelConfig config = { 0 };
    g_autoptr(GPtrArray) settings = option_settings_new();
    options_set_defaults(&model_table, &config);
    g_assert_true(model_preset_settings(preset, settings, &error));
    g_assert_true(options_apply(&model_table, &config, settings, &error));
    config.n_enc = n_enc;
    config.n_dec = n_dec;
    return config;
}

static void stages_follow_each_other__and_have_every_block(void)
{
    for (int size = 1; size <= 6; size++) {
        ModelConfig config = config_of("t5-1.1-small", 3, 4);
        const Pipeline pipeline = { .size = size, .decoder_share = 0.2 };
        int next = 0;
        for (int rank = 0; rank < size; rank++) {
            Stage stage = pipeline_stage(&config, &pipeline, rank);
            g_assert_cmpint(stage.first, ==, next);
            g_assert_cmpint(stage.end, >, stage.first);
            next = stage.end;
        }
        g_assert_cmpint(next, ==, 7);
        model_config_clear(&config);
    }
}

/* GPT-2's head is worth 5.4 blocks; the decoder of a T5 has a third of the tokens of its encoder here. */
static void stages_have_equal_work(void)
{
    ModelConfig gpt = config_of("gpt2", 0, 12), t5 = config_of("t5-1.1-base", 12, 12);
    const Pipeline two = { .size = 2 }, four = { .size = 4, .decoder_share = 0.33 };
    Stage first = pipeline_stage(&gpt, &two, 0);
    g_assert_cmpint(first.end, ==, 9);
    first = pipeline_stage(&t5, &four, 0);
    g_assert_cmpint(first.end, ==, 5);
    model_config_clear(&gpt);
    model_config_clear(&t5);
}

/* A tied embedding is the first stage's; the last one has a copy. */
static void tied_parameters_are_marked(void)
{
    ModelConfig config = config_of("gpt2", 0, 4);
    for (int rank = 0; rank < 2; rank++) {
        const Pipeline pipeline = { .rank = rank, .size = 2 };
        int n, tied = 0;
        g_autofree ParamSpec *specs = model_param_specs(&config, pipeline_stage(&config, &pipeline, rank), &n);
        pipeline_mark_tied(specs, n, &config, &pipeline);
        for (int i = 0; i < n; i++) {
            tied += specs[i].tie != TIE_NONE;
            if (strcmp(specs[i].name, "shared") == 0)
                g_assert_cmpint(specs[i].tie, ==, rank == 0 ? TIE_FIRST : TIE_COPY);
        }
        g_assert_cmpint(tied, ==, 1);
    }
    model_config_clear(&config);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/pipeline/schedules_end", schedules_end__and_keep_few_activations);
    g_test_add_func("/pipeline/order_of_backward", backward_passes_come_in_the_order_of_microbatches);
    g_test_add_func("/pipeline/stages_follow_each_other", stages_follow_each_other__and_have_every_block);
    g_test_add_func("/pipeline/equal_work", stages_have_equal_work);
    g_test_add_func("/pipeline/tied", tied_parameters_are_marked);
    return g_test_run();
}
