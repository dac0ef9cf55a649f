#include "run/config/layers.h"

#include "data/tiny_tokenizer.h"

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

/* The published figures of a run of 300M samples: its iterations, samples consumed at three of them, and the iterations
 * at which the batch grew. */
static void a_batch_ramps_up_as_in_megatron(void)
{
    static const struct {
        int64_t steps, samples;
    } points[] = { { 29020, 10698064 }, { 33240, 15019344 }, { 43680, 25709904 }, { 23456, 5000528 } };
    Config config;
    BatchSchedule batches;
    const char *const overrides[] = { "train.batch_rampup=16 16 5M samples", "train.batch=1024 samples",
                                      "train.length=300M samples", NULL };
    g_assert_true(load(&config, overrides, NULL));
    g_assert_true(config_batch_schedule(&config, true, &batches, NULL));
    g_assert_cmpint(batch_steps(&batches, 0, 300000000, true), ==, 311541);
    g_assert_cmpint(batch_steps(&batches, 0, 300000000, false), ==, 311542);
    for (size_t i = 0; i < G_N_ELEMENTS(points); i++)
        g_assert_cmpint(batch_samples(&batches, 0, points[i].steps), ==, points[i].samples);
    g_assert_cmpint(batch_last_change(&batches), ==, 23456);
    static const int64_t grown[] = { 4961, 7441, 9095 };
    for (int i = 0; i < 3; i++) {
        g_assert_cmpint(batch_at(&batches, batch_samples(&batches, 0, grown[i] - 1), 0), ==, 16 * (i + 1));
        g_assert_cmpint(batch_at(&batches, batch_samples(&batches, 0, grown[i]), 0), ==, 16 * (i + 2));
    }
    g_assert_cmpint(config_batch_samples(&config), ==, 1024);
    config_clear(&config);
}

/* 17 batches of 8, 9 of 16 and 5 of 24 samples are the 400 of the whole ramp. */
static void a_ramp_ends_at_the_step_that_reaches_the_batch(void)
{
    Config config;
    BatchSchedule batches;
    const char *const overrides[] = { "train.batch_rampup=8 8 400 samples", "train.batch=32 samples", NULL };
    g_assert_true(load(&config, overrides, NULL));
    g_assert_true(config_batch_schedule(&config, true, &batches, NULL));
    g_assert_cmpint(batch_samples(&batches, 0, 31), ==, 400);
    g_assert_cmpint(batch_at(&batches, 400, 0), ==, 32);
    g_assert_cmpint(batch_last_change(&batches), ==, 31);
    config_clear(&config);
}

/* Thresholds of 250B tokens; a bare threshold is in tokens, a bare batch in samples. */
static void a_batch_schedule_counts_tokens_or_samples(void)
{
    Config config;
    BatchSchedule batches;
    const char *const tokens[] = { "train.batch_schedule=0:768 250B:1536", "data.input_length=4096", NULL };
    g_assert_true(load(&config, tokens, NULL));
    g_assert_true(config_batch_schedule(&config, true, &batches, NULL));
    g_assert_cmpint(batch_at(&batches, 0, 249999999999), ==, 768);
    g_assert_cmpint(batch_at(&batches, 0, 250000000000), ==, 1536);
    g_assert_true(config_batch_schedule(&config, false, &batches, NULL)); /* Megatron-LM: 250B / 4096 samples */
    g_assert_cmpint(batch_at(&batches, 61035155, 0), ==, 768);
    g_assert_cmpint(batch_at(&batches, 61035156, 0), ==, 1536);
    config_clear(&config);
    const char *const samples[] = { "train.batch_schedule=0:8,20 samples:5 samples,30 samples:6", NULL };
    g_assert_true(load(&config, samples, NULL));
    g_assert_true(config_batch_schedule(&config, true, &batches, NULL)); /* 8 8 8 5 5 6 6: 0 8 16 24 29 34 40 */
    g_assert_cmpint(batch_samples(&batches, 0, 6), ==, 40);
    g_assert_cmpint(batch_steps(&batches, 0, 29, false), ==, 4);
    g_assert_cmpint(batches.smallest, ==, 5);
    g_assert_cmpint(batches.largest, ==, 8);
    config_clear(&config);
    REFUSED("exclude each other", "train.batch_schedule=0:8,20 samples:4", "train.batch_rampup=8 8 1k samples");
    REFUSED("write up to", "train.batch_schedule=0:8,20 samples:4,20 samples:8");
    REFUSED("write up to", "train.batch_schedule=1 samples:8");
    REFUSED("write up to", "train.batch_schedule=0:8,1k steps:16");
    REFUSED("write up to", "train.batch_schedule=0:8,1k samples:0");
    REFUSED("does not reach", "train.batch_rampup=16 48 5M samples", "train.batch=128 samples");
    REFUSED("only the last phase has no end", "train.save_phases=10,100:20");
    REFUSED("each phase ends after the one before it", "train.save_phases=100:10,50:20");
    REFUSED("a period of 0", "train.save_phases=100:0");
    REFUSED("train.save_phases: \"100:10:3\": not UNTIL:EVERY; write phases such as 100:10,1000:18,1500",
            "train.save_phases=100:10:3");
    REFUSED("\"{until: 100\": not UNTIL:EVERY", "train.save_phases={until: 100, every: 10}");
    REFUSED("is not a date", "train.stop_date=tomorrow");
    REFUSED("train.stop_at is a number of steps", "train.stop_after=10 steps");
    REFUSED("hooks.timeout: \"10 steps\" does not fit; write a time such as 10m", "hooks.timeout=10");
    REFUSED("train.stop_after is a time", "train.stop_at=5m");
    REFUSED("parallel.timeout: \"5 steps\" does not fit; write a time", "parallel.timeout=5");
    REFUSED("train.exit_every: \"2h\" does not fit; write steps", "train.exit_every=2h");
    REFUSED("write the first batch", "train.batch_rampup=16 16");
}

/* The rate of an update of 16 samples. */
static double rate_in_samples(const Schedule *schedule, int64_t before)
{
    return schedule_lr(schedule, (ScheduleCounts){ 0, before, 0, 0 }, (ScheduleCounts){ 1, before + 16, 1, 0 });
}

/* With a batch that varies, amounts in samples are exact: they are not rounded to steps of the largest batch. */
static void a_warm_up_in_samples_follows_the_ramp_up(void)
{
    Config config;
    const char *const overrides[] = { "train.batch_rampup=16 16 5M samples",
                                      "train.batch=1024 samples",
                                      "train.length=300M samples",
                                      "optim.warmup=216320 samples",
                                      "optim.decay_until=126953126 samples",
                                      "optim.lr=1e-4",
                                      "optim.min_lr=1e-5",
                                      "optim.schedule=cosine",
                                      NULL };
    g_assert_true(load(&config, overrides, NULL));
    const Schedule schedule = config_schedule(&config, 0, true);
    static const struct {
        int64_t samples;
        double rate, tolerance;
    } rows[] = {
        { 126953126, 1e-5, 1e-17 },   { 200000000, 1e-5, 1e-17 },   { 10698064, 9.849e-5, 5e-9 },
        { 15019344, 9.700e-5, 5e-9 }, { 25709904, 9.131e-5, 5e-9 },
    };
    g_assert_cmpfloat_with_epsilon(rate_in_samples(&schedule, 108144), 5e-5, 1e-17);
    g_assert_cmpfloat_with_epsilon(rate_in_samples(&schedule, 216304), 1e-4, 1e-17);
    for (size_t i = 0; i < G_N_ELEMENTS(rows); i++)
        g_assert_cmpfloat_with_epsilon(rate_in_samples(&schedule, rows[i].samples), rows[i].rate, rows[i].tolerance);
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

/* Each name of another program leads to an option that exists, with a value that it takes, and is no name of ours. */
static void names_of_other_programs_lead_to_options(void)
{
    for (const OptionForeignName *row = config_foreign_names; row->foreign; row++) {
        if (row->name == NULL) { /* a command */
            g_assert_nonnull(row->example);
            continue;
        }
        g_auto(GStrv) names = g_strsplit(row->name, ", ", -1);
        for (char **name = names; *name; name++) {
            g_assert_nonnull(options_find(config_options(), *name));
            g_assert_cmpstr(strchr(*name, '.') + 1, !=, row->foreign);
        }
        g_autoptr(GRegex) typed = g_regex_new("\\{([^}*]*)[^}]*\\}", G_REGEX_DEFAULT, G_REGEX_MATCH_DEFAULT, NULL);
        g_autofree char *value = g_regex_replace(typed, row->example ? row->example : "", -1, 0, "\\1",
                                                 G_REGEX_MATCH_DEFAULT, NULL),
                        *setting = g_strdup_printf("%s=%s", row->name, value);
        g_auto(Config) config = { 0 };
        g_autoptr(GPtrArray) settings = option_settings_new();
        options_set_defaults(config_options(), &config);
        g_assert_true(!row->example || (option_settings_parse(settings, setting, NULL) &&
                                        options_apply(config_options(), &config, settings, NULL)));
    }
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
    REFUSED("write train.batch=\"128 samples\"", "train.batch=128");
    REFUSED("steps, samples, tokens or epochs", "optim.warmup=3m");
    REFUSED("not a time", "train.save_within=10 steps");
    REFUSED("not one of auto, f32, bf16, fp16, fp8", "train.precision=fp4");
    REFUSED("did you mean train.batch='8 samples'?", "train.batch_size=8");
    REFUSED("and more; `loam help optim` lists them", "optim.zzzzzz=8");
    REFUSED("unknown option optim.offload_optimizer, did you mean optim.offload='true'?",
            "optim.offload_optimizer=cpu");
    REFUSED("unknown option parallel.gpus, did you mean parallel.ranks?", "parallel.gpus=8");
    REFUSED("unknown option optim.learning_rate, did you mean optim.lr?", "optim.learning_rate=1e-3");
    REFUSED("unknown option parallel.rank, did you mean parallel.ranks?", "parallel.rank=2");
    REFUSED("did you mean parallel.tensor?", "parallel.tp=2");
    REFUSED("did you mean parallel.zero='3'?", "fsdp=full_shard");
    REFUSED("unknown option train.num-train-epochs, did you mean train.length='3 epochs'?", "train.num-train-epochs=3");
    REFUSED("nearest are gpt2, ", "model.preset=gpt2-smal");
    Config config;
    GError *error = NULL;
    const char *const denoised[] = { "model.preset=gpt2", "data.objective=span_corruption", NULL };
    g_assert_true(load(&config, denoised, NULL));
    g_assert_false(config_check_objective(&config.data, &config.model, &error));
    g_assert_nonnull(strstr(error->message, "(prefix_lm, clm, full_lm, seq2seq)"));
    g_clear_error(&error);
    config_clear(&config);
    const char *const pairs[] = { "model.family=bert",         "model.n_dec=0",       "data.objective=mlm",
                                  "data.sentence_pairs=order", "model.token_types=1", NULL };
    g_assert_true(load(&config, pairs, NULL));
    g_assert_false(config_check_objective(&config.data, &config.model, &error));
    g_assert_error(error, LOAM_ERROR, LOAM_ERROR_USER);
    g_clear_error(&error);
    config_clear(&config);
}

static void renamed_options_read_their_former_names(void)
{
    static const struct {
        const char *setting;
        int pairs;
    } cases[] = { { "data.sentence_order=true", PAIRS_ORDER }, { "data.sentence_order=false", PAIRS_NONE } };
    for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
        Config config = { 0 };
        const char *const overrides[] = { "model.family=bert",     "model.n_dec=0",
                                          "data.objective=mlm",    cases[i].setting,
                                          "model.segments=2",      "model.norm_after=true",
                                          "model.first_norm=true", NULL };
        g_assert_true(load(&config, overrides, NULL));
        g_assert_cmpint(config.data.settings.mlm.sentence_pairs, ==, cases[i].pairs);
        g_assert_cmpint(config.model.token_types, ==, 2);
        g_assert_true(config.model.post_norm);
        config_clear(&config);
    }
}

/* Everything that was resolved, written and read back, is the same configuration: runs compare their saved copy. */
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
    g_assert_cmpfloat(schedule.warmup.value, ==, 10);
    g_assert_cmpfloat(schedule.total.value, ==, 100);
    g_assert_cmpfloat(schedule_lr(&schedule, (ScheduleCounts){ 4, 4, 4, 0 }, (ScheduleCounts){ 5, 5, 5, 0 }), ==, 0.5);
    g_assert_cmpfloat(schedule_lr(&schedule, (ScheduleCounts){ 55, 55, 55, 0 }, (ScheduleCounts){ 56, 56, 56, 0 }), ==,
                      0.5);
    config_clear(&config);
}

static void amounts_in_tokens_are_counted_or_turned_into_steps(void)
{
    Config config;
    const char *const overrides[] = { "optim.warmup=640k tokens", "train.batch=100 samples", "data.input_length=64",
                                      "train.length=6400k tokens", NULL };
    g_assert_true(load(&config, overrides, NULL));
    Schedule counted = config_schedule(&config, 0, true), steps = config_schedule(&config, 0, false);
    g_assert_true(counted.warmup.unit == UNIT_TOKENS && counted.total.unit == UNIT_TOKENS);
    g_assert_cmpfloat(counted.warmup.value, ==, 640e3);
    g_assert_cmpfloat(counted.total.value, ==, 6400e3);
    g_assert_true(steps.warmup.unit == UNIT_STEPS && steps.total.unit == UNIT_STEPS);
    g_assert_cmpfloat(steps.warmup.value, ==, 100);
    g_assert_cmpfloat(steps.total.value, ==, 1000);
    config.optim.warmup = (Amount){ 6, UNIT_PERCENT };
    counted = config_schedule(&config, 0, true);
    g_assert_true(counted.warmup.unit == UNIT_TOKENS);
    g_assert_cmpfloat(counted.warmup.value, ==, 384e3);
    config_clear(&config);
}

static void check_value(const Config *config, const char *name, const char *want)
{
    g_autofree char *value = options_plain_value(config_options(), config, options_find(config_options(), name));
    if (strcmp(value, want) != 0)
        g_error("%s is %s, not %s", name, value, want);
}

/* Objective, lengths, optimizer and its numbers follow from the model; T5's rate is not AdamW's. */
static void defaults_belong_to_family_size_and_optimizer(void)
{
    static const struct {
        const char *preset, *optimizer, *name, *want;
    } cases[] = {
        { "gpt2", NULL, "data.objective", "clm" },
        { "gpt2", NULL, "optim.name", "adamw" },
        { "gpt2", NULL, "optim.lr", "0.0006" },
        { "gpt2", NULL, "data.input_length", "1024" },
        { "gpt2-xl", NULL, "optim.lr", "0.0002" },
        { "gpt2-xl", NULL, "data.input_length", "1024" }, /* its positions end there */
        { "tr1-13b", NULL, "data.input_length", "2048" },
        { "bert-base", NULL, "data.objective", "mlm" },
        { "bert-base", NULL, "optim.schedule", "linear" },
        { "t5-1.1-base", NULL, "data.objective", "span_corruption" },
        { "t5-1.1-base", NULL, "optim.name", "adafactor" },
        { "t5-1.1-base", NULL, "optim.lr", "0.01" },
        { "t5-1.1-base", "adamw", "optim.lr", "0.0001" },
    };
    for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
        Config config;
        g_autofree char *preset = g_strconcat("model.preset=", cases[i].preset, NULL),
                        *optimizer = g_strconcat("optim.name=", cases[i].optimizer, NULL);
        const char *const overrides[] = { preset, cases[i].optimizer ? optimizer : NULL, NULL };
        g_assert_true(load(&config, overrides, NULL));
        check_value(&config, cases[i].name, cases[i].want);
        config_clear(&config);
    }
}

/* Every preset with every optimizer finds its row, and what is given stays. */
static void every_model_has_defaults(void)
{
    static const char *const optimizers[] = { "optim.name=adamw", "optim.name=adafactor", "optim.name=adamw_rms",
                                              "optim.name=muon" };
    for (const char *const *name = model_preset_names; *name; name++)
        for (size_t i = 0; i < G_N_ELEMENTS(optimizers); i++) {
            Config config;
            g_autofree char *preset = g_strconcat("model.preset=", *name, NULL);
            const char *const overrides[] = { preset, optimizers[i], "train.batch=3 samples", "data.input_length=7",
                                              NULL };
            g_assert_true(load(&config, overrides, NULL));
            g_assert_true(config_check_objective(&config.data, &config.model, NULL));
            check_value(&config, "train.batch", "3 samples");
            check_value(&config, "data.input_length", "7");
            g_assert_cmpint(config.optim.warmup.unit, ==, UNIT_PERCENT);
            g_autoptr(GPtrArray) settings = option_settings_new();
            recipe_add_optimizer(&config.model, config.optim.name, settings);
            recipe_add_start(&config.model, config.optim.name, NULL, settings);
            g_assert_nonnull(option_settings_find(settings, "optim.rewarm"));
            config_clear(&config);
        }
}

static double rate_in_seconds(const Schedule *schedule, int64_t update, double before, double after)
{
    return schedule_lr(schedule, (ScheduleCounts){ update - 1, 0, 0, before }, (ScheduleCounts){ update, 1, 1, after });
}

/* Shares of a length in hours are times, and the decay ends with it. */
static void a_run_of_hours_has_shares_and_an_end(void)
{
    Config config;
    const char *const overrides[] = { "model.preset=gpt2", "train.length=2h", NULL };
    g_assert_true(load(&config, overrides, NULL));
    check_value(&config, "optim.schedule", "cosine");
    check_value(&config, "optim.warmup", "6%");
    const Schedule schedule = config_schedule(&config, 1000, true);
    g_assert_cmpint(schedule.warmup.unit, ==, UNIT_SECONDS);
    g_assert_cmpfloat_with_epsilon(schedule.warmup.value, 432, 1e-9);
    g_assert_cmpfloat(schedule.total.value, ==, 7200);
    const double lr = config.optim.lr;
    g_assert_cmpfloat_with_epsilon(rate_in_seconds(&schedule, 5, 200, 216), lr / 2, 1e-12);
    g_assert_cmpfloat_with_epsilon(rate_in_seconds(&schedule, 9, 432 + 3384, 4000), lr / 2, 1e-12);
    g_assert_cmpfloat_with_epsilon(rate_in_seconds(&schedule, 9, 7200, 7210), 0, 1e-12);
    config_clear(&config);
    /* A warm-up in steps takes its share of the time by the mean length of the updates. */
    const char *const steps[] = { "model.preset=gpt2", "train.length=2h", "optim.schedule=linear", "optim.warmup=10",
                                  NULL };
    g_assert_true(load(&config, steps, NULL));
    const Schedule linear = config_schedule(&config, 1000, true);
    g_assert_cmpfloat_with_epsilon(rate_in_seconds(&linear, 21, 2400, 2520), config.optim.lr * 0.8, 1e-9);
    config_clear(&config);
}

static void a_warm_up_is_a_share_of_the_length(void)
{
    Config config;
    const char *const overrides[] = { "optim.warmup=6%", "train.length=150 steps", "train.save_every=50%", NULL };
    g_assert_true(load(&config, overrides, NULL));
    Schedule schedule = config_schedule(&config, 0, true);
    g_assert_cmpfloat(schedule.warmup.value, ==, 9);
    g_assert_cmpint(config_steps(&config, config.train.save_every, 0), ==, 75);
    check_value(&config, "optim.warmup", "6%");
    config_clear(&config);
    REFUSED("more than the whole", "optim.warmup=101%");
    REFUSED("a percentage is a share of train.length itself", "train.length=6%");
    REFUSED("write samples or tokens", "train.batch=6%");
}

/* The run in run.dir says what nobody gives: here the optimizer and the rate that an earlier version made defaults. */
static void a_run_keeps_the_defaults_that_it_began_with(void)
{
    Config config;
    g_autofree char *folder = folder_new(), *dir = g_strconcat("run.dir=", folder, NULL);
    g_free(file_write_text(
        folder, "config.yaml",
        "optim: { name: adafactor, lr: 1e-2, warmup: 10k steps, beta2: -1 }\ndata: { input_length: 512 }\n"
        "model: { width: 64 }\n"));
    const char *const overrides[] = { dir, "model.preset=gpt2-tiny", "data.objective=clm", "optim.lr=0.5", NULL };
    g_assert_true(load(&config, overrides, NULL));
    check_value(&config, "optim.name", "adafactor");
    check_value(&config, "optim.warmup", "10k steps");
    check_value(&config, "data.input_length", "512");
    check_value(&config, "optim.lr", "0.5");    /* given */
    check_value(&config, "model.width", "256"); /* a preset's, not one of these defaults */
    config_clear(&config);
    folder_remove(g_steal_pointer(&folder));
}

static int precision_of(const char *dir, const char *given)
{
    Config config;
    GError *error = NULL;
    g_autofree char *setting = g_strconcat("run.dir=", dir, NULL);
    const char *const overrides[] = { setting, given, NULL };
    g_assert_true(load(&config, overrides, &error));
    g_assert_no_error(error);
    g_assert_true(config_resolve_precision(&config, &error));
    g_assert_no_error(error);
    int precision = config.train.precision;
    config_clear(&config);
    return precision;
}

/* auto: as the run was saved; a new run in bf16 where the processor multiplies it. */
static void a_run_goes_on_in_its_precision(void)
{
    int native = device_cpu_bf16() ? PRECISION_BF16 : PRECISION_F32;
    char *folder = folder_new();
    g_assert_cmpint(precision_of(folder, "train.precision=auto"), ==, native);
    g_assert_cmpint(precision_of(folder, "train.precision=fp16"), ==, PRECISION_FP16);
    /* Every run of earlier versions says f32; other options of the file do not matter here. */
    g_free(file_write_text(folder, "config.yaml", "train: { precision: f32, init: /nowhere }\n"));
    g_assert_cmpint(precision_of(folder, "train.precision=auto"), ==, PRECISION_F32);
    g_assert_cmpint(precision_of(folder, "train.precision=bf16"), ==, PRECISION_BF16);
    g_free(file_write_text(folder, "config.yaml", "train: { precision: bf16, f32_residual: false }\n"));
    g_assert_cmpint(precision_of(folder, "train.precision=auto"), ==, PRECISION_BF16);
    Precision precision;
    g_assert_true(precision_of_run(folder, &precision, NULL));
    g_autofree char *text = precision_describe(precision);
    g_assert_cmpstr(text, ==, "bf16, residual bf16");
    folder_remove(folder);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/config/a_batch_ramps_up_as_in_megatron", a_batch_ramps_up_as_in_megatron);
    g_test_add_func("/config/a_ramp_ends_at_the_step_that_reaches_the_batch",
                    a_ramp_ends_at_the_step_that_reaches_the_batch);
    g_test_add_func("/config/a_batch_schedule_counts_tokens_or_samples", a_batch_schedule_counts_tokens_or_samples);
    g_test_add_func("/config/a_warm_up_in_samples_follows_the_ramp_up", a_warm_up_in_samples_follows_the_ramp_up);
    g_test_add_func("/config/amounts_become_steps", amounts_become_steps);
    g_test_add_func("/config/an_order_is_made_for_the_samples_of_the_run", an_order_is_made_for_the_samples_of_the_run);
    g_test_add_func("/config/names_of_other_programs_lead_to_options", names_of_other_programs_lead_to_options);
    g_test_add_func("/config/presets_come_before_what_is_named", presets_come_before_what_is_named);
    g_test_add_func("/config/rules_across_fields_name_what_is_right", rules_across_fields_name_what_is_right);
    g_test_add_func("/config/renamed_options_read_their_former_names", renamed_options_read_their_former_names);
    g_test_add_func("/config/a_saved_configuration_reads_back", a_saved_configuration_reads_back);
    g_test_add_func("/config/the_warm_up_is_counted_in_updates", the_warm_up_is_counted_in_updates);
    g_test_add_func("/config/amounts_in_tokens_are_counted_or_turned_into_steps",
                    amounts_in_tokens_are_counted_or_turned_into_steps);
    g_test_add_func("/config/defaults_belong_to_family_size_and_optimizer",
                    defaults_belong_to_family_size_and_optimizer);
    g_test_add_func("/config/every_model_has_defaults", every_model_has_defaults);
    g_test_add_func("/config/a_run_of_hours_has_shares_and_an_end", a_run_of_hours_has_shares_and_an_end);
    g_test_add_func("/config/a_warm_up_is_a_share_of_the_length", a_warm_up_is_a_share_of_the_length);
    g_test_add_func("/config/a_run_keeps_the_defaults_that_it_began_with", a_run_keeps_the_defaults_that_it_began_with);
    g_test_add_func("/config/a_run_goes_on_in_its_precision", a_run_goes_on_in_its_precision);
    return g_test_run();
}
