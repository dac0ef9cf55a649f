#include "run/config/config.h"

#include "data/data_test.h"

/* The configuration of these options. */
static void load(Config *config, const char *const *overrides)
{
    GError *error = NULL;
    *config = (Config){ 0 };
    g_assert_true(config_load(config, NULL, (char **)overrides, (int)g_strv_length((char **)overrides), &error));
    g_assert_no_error(error);
}

/* Of span corruption with 512 input tokens a decoder has 114, whether data.target_length says so or not; encoder blocks
 * of T5-base are worth 2.5 of the decoder's, which multiply the encoder's output by their keys and values. */
static void a_decoder_counts_its_own_tokens__unless_it_reads_the_encoder(void)
{
    static const char *const derived[] = { "model.preset=t5-base", "model.vocab=32128", "parallel.ranks=2",
                                           "parallel.pipeline=2", NULL },
                             *const given[] = { "model.preset=t5-base", "model.vocab=32128",      "parallel.ranks=2",
                                                "parallel.pipeline=2",  "data.target_length=114", NULL };
    Config config;
    double share[2];
    for (int i = 0; i < 2; i++) {
        load(&config, i == 0 ? derived : given);
        const StageTokens tokens = config_stage_tokens(&config);
        g_assert_cmpfloat(tokens.encoder, ==, 512);
        g_assert_cmpfloat(tokens.decoder, ==, 114);
        g_assert_cmpfloat(tokens.targets, ==, 114);
        g_autofree int *ends = config_equal_stages(&config);
        g_assert_cmpint(ends[0], ==, 9);
        pipeline_work(share, &config.model, 2, 1, ends, &tokens);
        g_assert_cmpfloat_with_epsilon(share[0], 0.516, 0.001);
        g_assert_cmpfloat_with_epsilon(share[1], 0.484, 0.001);
        config_clear(&config);
    }
}

static const struct {
    const char *model, *objective;
    StageTokens tokens;
} kinds[] = {
    { "model.preset=gpt2", "data.objective=clm", { .decoder = 512, .targets = 512 } },
    { "model.preset=bert-base", "data.objective=mlm", { .encoder = 512, .targets = 512 * 0.15 } },
    { "model.preset=t5-base", "data.objective=seq2seq", { .encoder = 512, .decoder = 128, .targets = 128 } },
    { "model.memory_tokens=4", "data.objective=span_corruption", { .encoder = 516, .decoder = 114, .targets = 114 } },
};

static void tokens_are_those_of_the_objective(void)
{
    for (size_t i = 0; i < G_N_ELEMENTS(kinds); i++) {
        Config config;
        const char *const overrides[] = { kinds[i].model, kinds[i].objective, "model.vocab=32128",
                                          "data.input_length=512", NULL };
        load(&config, overrides);
        const StageTokens tokens = config_stage_tokens(&config);
        g_assert_cmpfloat(tokens.encoder, ==, kinds[i].tokens.encoder);
        g_assert_cmpfloat(tokens.decoder, ==, kinds[i].tokens.decoder);
        g_assert_cmpfloat_with_epsilon(tokens.targets, kinds[i].tokens.targets, 1e-6);
        config_clear(&config);
    }
}

/* Lengths that the objective refuses are somebody else's error: stages are divided all the same. */
static void stages_exist_for_lengths_that_the_objective_refuses(void)
{
    static const char *const refused[] = { "model.preset=t5-base", "model.vocab=32128",     "parallel.ranks=2",
                                           "parallel.pipeline=2",  "data.target_length=20", NULL };
    Config config;
    load(&config, refused);
    g_autofree int *ends = config_equal_stages(&config);
    g_assert_cmpint(ends[0], >, 9);
    g_assert_cmpint(ends[1], ==, 24);
    config_clear(&config);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/layout/a_decoder_counts_its_own_tokens",
                    a_decoder_counts_its_own_tokens__unless_it_reads_the_encoder);
    g_test_add_func("/layout/tokens_are_those_of_the_objective", tokens_are_those_of_the_objective);
    g_test_add_func("/layout/stages_exist_for_lengths_that_the_objective_refuses",
                    stages_exist_for_lengths_that_the_objective_refuses);
    return g_test_run();
}
