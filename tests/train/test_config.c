#include "train/config.h"

#include "data/tiny_tokenizer.h"
#include "train/memory.h"

static bool load(Config *config, const char *const *overrides, GError **error)
{
    *config = (Config){ 0 };
    return config_load(config, NULL, (char **)overrides, (int)g_strv_length((char **)overrides), error);
}

static void check_refused(const char *const *overrides, const char *text)
{
    Config config;
    GError *error = NULL;
    g_assert_false(load(&config, overrides, &error));
    g_assert_error(error, LOAM_ERROR, LOAM_ERROR_USER);
    if (strstr(error->message, text) == NULL)
        g_error("no \"%s\" in: %s", text, error->message);
    g_clear_error(&error);
    config_clear(&config);
}

#define REFUSED(text, ...) check_refused((const char *const[]){ __VA_ARGS__, NULL }, text)

static void amounts_become_steps(void)
{
    Config config;
    const char *const overrides[] = { "train.batch=128 samples", "data.input_length=512", NULL };
    g_assert_true(load(&config, overrides, NULL));
    g_assert_cmpint(config_steps(&config, (Amount){ 1000, UNIT_STEPS }, 0), ==, 1000);
    g_assert_cmpint(config_steps(&config, (Amount){ 1000, UNIT_SAMPLES }, 0), ==, 8);
    g_assert_cmpint(config_steps(&config, (Amount){ 1e6, UNIT_TOKENS }, 0), ==, 16); /* of 65,536 tokens */
    g_assert_cmpint(config_steps(&config, (Amount){ 2, UNIT_EPOCHS }, 1000), ==, 16);
    g_assert_cmpint(config_steps(&config, (Amount){ 60, UNIT_SECONDS }, 1000), ==, -1);
    config_clear(&config);
    const char *const by_tokens[] = { "train.batch=65536 tokens", "train.micro_batch=4k tokens", NULL };
    g_assert_true(load(&config, by_tokens, NULL));
    g_assert_cmpint(config_batch_samples(&config), ==, 128);
    g_assert_cmpint(config_micro_samples(&config), ==, 7);
    config_clear(&config);
}

static void an_order_is_made_for_the_samples_of_the_run(void)
{
    static const struct {
        const char *length, *samples;
        int64_t want;
    } cases[] = {
        { "train.length=10 steps", "data.compat_samples=auto", 1280 },
        { "train.length=1001 samples", "data.compat_samples=auto", 1001 },
        { "train.length=65536 tokens", "data.compat_samples=auto", 128 },
        { "train.length=3 epochs", "data.compat_samples=70", 70 },
    };
    for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
        Config config;
        const char *const overrides[] = { "data.compat=megatron", "train.batch=128 samples", cases[i].length,
                                          cases[i].samples, NULL };
        g_assert_true(load(&config, overrides, NULL));
        g_assert_cmpint(config.data.compat_samples, ==, cases[i].want);
        config_clear(&config);
    }
    REFUSED("data.compat_samples", "data.compat=megatron", "train.length=3 epochs");
}

static void presets_come_before_what_is_named(void)
{
    Config config;
    const char *const overrides[] = { "model.width=640", "model.preset=t5-1.1-base", NULL };
    g_assert_true(load(&config, overrides, NULL));
    g_assert_cmpint(config.model.n_enc, ==, 12);
    g_assert_cmpint(config.model.width, ==, 640); /* though it stands before the preset */
    config_clear(&config);
}

static void rules_across_fields_name_what_is_right(void)
{
    REFUSED("t5-1.1-small", "model.preset=t5-1.1-smal");
    REFUSED("128 samples", "train.batch=128");
    REFUSED("steps, samples, tokens or epochs", "optim.warmup=3m");
    REFUSED("not a time", "train.save_within=10 steps");
    REFUSED("constant or inverse_sqrt", "train.length=3m", "optim.schedule=cosine");
    REFUSED("f32", "train.precision=bf16");
    Config config;
    GError *error = NULL;
    const char *const pairs[] = { "model.family=bert",         "model.n_dec=0",    "data.objective=mlm",
                                  "data.sentence_pairs=order", "model.segments=1", NULL };
    g_assert_true(load(&config, pairs, NULL));
    g_assert_false(config_check_objective(&config.data, &config.model, &error));
    g_assert_error(error, LOAM_ERROR, LOAM_ERROR_USER);
    g_clear_error(&error);
    config_clear(&config);
}

/* Everything that was resolved, written and read back, is the same configuration: runs compare their saved copy. */
static void a_renamed_option_reads_as_before(void)
{
    static const struct {
        const char *setting;
        int pairs;
    } cases[] = { { "data.sentence_order=true", PAIRS_ORDER }, { "data.sentence_order=false", PAIRS_NONE } };
    for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
        Config config = { 0 };
        const char *const overrides[] = { "model.family=bert", "model.n_dec=0", "data.objective=mlm", cases[i].setting,
                                          NULL };
        g_assert_true(load(&config, overrides, NULL));
        g_assert_cmpint(config.data.sentence_pairs, ==, cases[i].pairs);
        config_clear(&config);
    }
}

static void a_saved_configuration_reads_back(void)
{
    Config config, back = { 0 };
    const char *const overrides[] = { "model.preset=t5-1.1-tiny", "optim.lr=0.1",          "run.dir=a: b",
                                      "train.length=90m",         "train.batch=3k tokens", NULL };
    g_assert_true(load(&config, overrides, NULL));
    g_autofree char *folder = folder_new(), *yaml = options_to_yaml(config_options(), &config);
    g_autofree char *path = file_write_text(folder, "config.yaml", yaml);
    GError *error = NULL;
    g_assert_true(config_load(&back, path, NULL, 0, &error));
    for (int class = OPT_IDENTITY; class <= OPT_FREE; class ++) {
        g_autoptr(GPtrArray) rows = options_differences(config_options(), &config, &back, (OptionClass) class);
        g_assert_cmpuint(rows->len, ==, 0);
    }
    config_clear(&config);
    config_clear(&back);
    folder_remove(g_steal_pointer(&folder));
}

static void the_warm_up_is_counted_in_updates(void)
{
    Config config;
    const char *const overrides[] = { "optim.warmup=1280 samples",
                                      "train.batch=128 samples",
                                      "train.length=2 epochs",
                                      "optim.schedule=linear",
                                      "optim.lr=1",
                                      NULL };
    g_assert_true(load(&config, overrides, NULL));
    Schedule schedule = config_schedule(&config, 6400, true);
    g_assert_cmpfloat(schedule.warmup, ==, 10);
    g_assert_cmpfloat(schedule.total, ==, 100);
    g_assert_cmpfloat(schedule_lr(&schedule, 5, 5), ==, 0.5);
    g_assert_cmpfloat(schedule_lr(&schedule, 55, 55), ==, 0.5);
    config_clear(&config);
}

static void amounts_in_tokens_are_counted_or_turned_into_steps(void)
{
    Config config;
    const char *const overrides[] = { "optim.warmup=640k tokens", "train.batch=100 samples", "data.input_length=64",
                                      "train.length=6400k tokens", NULL };
    g_assert_true(load(&config, overrides, NULL));
    Schedule counted = config_schedule(&config, 0, true), steps = config_schedule(&config, 0, false);
    g_assert_true(counted.warmup_in_tokens && counted.total_in_tokens);
    g_assert_cmpfloat(counted.warmup, ==, 640e3);
    g_assert_cmpfloat(counted.total, ==, 6400e3);
    g_assert_false(steps.warmup_in_tokens || steps.total_in_tokens);
    g_assert_cmpfloat(steps.warmup, ==, 100);
    g_assert_cmpfloat(steps.total, ==, 1000);
    config_clear(&config);
}

/* Weights and gradients of 76,961,152 f32 numbers; Adam keeps two more; recompute needs fewer activations. */
static void memory_is_known_beforehand(void)
{
    Config config;
    MemoryPlan kept, again;
    const char *const overrides[] = { "model.preset=t5-1.1-small", "optim.name=adamw", "train.micro_batch=4 samples",
                                      NULL };
    g_assert_true(load(&config, overrides, NULL));
    g_assert_true(memory_plan(&config, 512, 114, &kept, NULL));
    g_assert_cmpuint(kept.weights, ==, 4 * 76961152ul);
    g_assert_cmpuint(kept.gradients, ==, kept.weights);
    g_assert_cmpuint(kept.optimizer, ==, 2 * kept.weights);
    config.train.recompute = RECOMPUTE_BLOCK;
    g_assert_true(memory_plan(&config, 512, 114, &again, NULL));
    g_assert_cmpuint(again.activations, <, kept.activations / 2);
    config_clear(&config);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/config/amounts_become_steps", amounts_become_steps);
    g_test_add_func("/config/an_order_is_made_for_the_samples_of_the_run", an_order_is_made_for_the_samples_of_the_run);
    g_test_add_func("/config/presets_come_before_what_is_named", presets_come_before_what_is_named);
    g_test_add_func("/config/rules_across_fields_name_what_is_right", rules_across_fields_name_what_is_right);
    g_test_add_func("/config/a_renamed_option_reads_as_before", a_renamed_option_reads_as_before);
    g_test_add_func("/config/a_saved_configuration_reads_back", a_saved_configuration_reads_back);
    g_test_add_func("/config/the_warm_up_is_counted_in_updates", the_warm_up_is_counted_in_updates);
    g_test_add_func("/config/amounts_in_tokens_are_counted_or_turned_into_steps",
                    amounts_in_tokens_are_counted_or_turned_into_steps);
    g_test_add_func("/config/memory_is_known_beforehand", memory_is_known_beforehand);
    return g_test_run();
}
