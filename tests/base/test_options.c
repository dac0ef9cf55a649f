#include "base/amount.h"
#include "base/error.h"
#include "base/options/options.h"
#include "yaml_text.h"

#include <math.h>
#include <string.h>

static const char *const set_keys[] = { "name?", "path", "weight?", NULL };
static const char *const optimizers[] = { "adamw", "adafactor", NULL };

typedef struct OptimConfig {
    int name;
    double lr;
    bool nesterov;
} OptimConfig;

typedef struct TrainConfig {
    Amount length, log_every;
    char *data, *note, *sets;
    int64_t vocab, seed, width;
    double scale;
} TrainConfig;

typedef struct TestConfig {
    int64_t before;
    OptimConfig optim;
    TrainConfig train;
} TestConfig;

/* clang-format off */
static const OptionRow optim_rows[] = {
    { "optim.name", OPT_ENUM, offsetof(OptimConfig, name), "adafactor", 0, 0, OPT_TUNABLE, optimizers,
      "which optimizer" },
    { "optim.lr", OPT_F64, offsetof(OptimConfig, lr), "1e-3", 0, 10, OPT_TUNABLE, NULL, "peak learning rate" },
    { "optim.nesterov", OPT_BOOL, offsetof(OptimConfig, nesterov), "false", 0, 0, OPT_TUNABLE, NULL, "this | that" },
};
static const OptionRow train_rows[] = {
    { "train.length", OPT_AMOUNT, offsetof(TrainConfig, length), "64k steps", 1, 1e15, OPT_TUNABLE, NULL,
      "when to end" },
    { "data.train", OPT_STRING, offsetof(TrainConfig, data), "", 0, 0, OPT_IDENTITY, NULL, "the dataset" },
    { "data.sets", OPT_LIST, offsetof(TrainConfig, sets), "", 0, 0, OPT_IDENTITY, set_keys, "some datasets" },
    { "train.log_every", OPT_AMOUNT, offsetof(TrainConfig, log_every), "10 steps", 0, 1e6, OPT_FREE, NULL,
      "how often" },
    { "train.note", OPT_STRING, offsetof(TrainConfig, note), "none: #1", 0, 0, OPT_FREE, NULL, "a note" },
    { "model.vocab", OPT_I64, offsetof(TrainConfig, vocab), "auto", 2, 1e6, OPT_IDENTITY, NULL,
      "rows of the embedding" },
    { "model.width", OPT_I64, offsetof(TrainConfig, width), "512", 1, 1e18, OPT_IDENTITY, NULL, "width" },
    { "run.seed", OPT_I64, offsetof(TrainConfig, seed), "42", 0, 0, OPT_IDENTITY, NULL, "seed" },
    { "optim.scale", OPT_F64, offsetof(TrainConfig, scale), "auto", 0, 1, OPT_TUNABLE, NULL, "scale" },
};
/* clang-format on */
static const char *const speeds[] = { "fast", "0.5", NULL };
static const OptionRename renames[] = { { "optim.speed", "optim.lr", speeds }, { NULL, NULL, NULL } };
static const OptionGroup groups[] = {
    { optim_rows, G_N_ELEMENTS(optim_rows), offsetof(TestConfig, optim), NULL },
    { train_rows, G_N_ELEMENTS(train_rows), offsetof(TestConfig, train), renames },
};
static const OptionForeignName foreign_names[] = {
    { "learning_rate", "optim.lr", NULL },      { "num_epochs", "train.length", "{3} epochs" },
    { "warmup_share", "optim.lr", "{6*100}%" }, { "train_file=.csv .tsv", "data.train", "table" },
    { "train_file", "data.train", NULL },       { NULL, NULL, NULL }
};
static const OptionTable table = { groups, G_N_ELEMENTS(groups), foreign_names };

/* Defaults, then the settings of the YAML text (NULL: none) and the overrides (NULL-terminated list, or NULL). */
static bool configure(TestConfig *config, const char *yaml, const char *const *overrides, GError **error)
{
    g_autoptr(GPtrArray) settings = option_settings_new();
    *config = (TestConfig){ 0 };
    options_set_defaults(&table, config);
    if (yaml && !read_yaml(settings, yaml, strlen(yaml), error))
        return false;
    for (; overrides && *overrides; overrides++)
        if (!option_settings_parse(settings, *overrides, error))
            return false;
    return options_apply(&table, config, settings, error);
}

static void expect_error(const char *yaml, const char *override, const char *wanted)
{
    TestConfig config;
    g_autoptr(GError) error = NULL;
    const char *overrides[] = { override, NULL };
    g_assert_false(configure(&config, yaml, overrides, &error));
    g_assert_error(error, LOAM_ERROR, LOAM_ERROR_USER);
    g_assert_cmpstr(error->message, ==, wanted);
    options_clear(&table, &config);
}

static void defaults_fill_every_field(void)
{
    TestConfig config;
    g_assert_true(configure(&config, NULL, NULL, NULL));
    g_assert_cmpint(config.before, ==, 0);
    g_assert_cmpint(config.optim.name, ==, 1);
    g_assert_cmpfloat(config.optim.lr, ==, 1e-3);
    g_assert_false(config.optim.nesterov);
    g_assert_cmpfloat(config.train.length.value, ==, 64000);
    g_assert_cmpint(config.train.length.unit, ==, UNIT_STEPS);
    g_assert_cmpstr(config.train.data, ==, "");
    g_assert_cmpint(config.train.vocab, ==, 0);
    g_assert_cmpint(config.train.width, ==, 512);
    options_clear(&table, &config);
    g_assert_null(config.train.data);
}

/* A name counts wherever its group is: renames of one module may concern options of any. */
static void former_names_and_values_are_read(void)
{
    static const char *const values[] = { "fast", "0.25" };
    static const double wanted[] = { 0.5, 0.25 };
    for (size_t i = 0; i < G_N_ELEMENTS(values); i++) {
        TestConfig config = { 0 };
        g_autoptr(GPtrArray) settings = option_settings_new();
        option_settings_add(settings, "optim.speed", values[i], "run.yaml");
        options_set_defaults(&table, &config);
        option_settings_rename(settings, &table);
        g_assert_true(options_apply(&table, &config, settings, NULL));
        g_assert_cmpfloat(config.optim.lr, ==, wanted[i]);
        options_clear(&table, &config);
    }
}

static void settings_reach_their_fields(void)
{
    TestConfig config;
    g_autoptr(GError) error = NULL;
    const char *yaml = "# a run\n"
                       "optim: { name: adamw, lr: 0.5, nesterov: true }\n"
                       "train:\n"
                       "  length: 5M samples\n"
                       "  note: \"a \\\"b\\\" \\u00fc\"\n"
                       "data:\n"
                       "model:\n"
                       "  vocab: 32k\n"
                       "  width: 1.5k\n"
                       "run.seed: -9223372036854775808\n";
    const char *overrides[] = { "optim.lr=0.25", "data.train=a=b c", NULL };
    configure(&config, yaml, overrides, &error);
    g_assert_no_error(error);
    g_assert_cmpint(config.optim.name, ==, 0);
    g_assert_cmpfloat(config.optim.lr, ==, 0.25);
    g_assert_true(config.optim.nesterov);
    g_assert_cmpint(config.train.length.unit, ==, UNIT_SAMPLES);
    g_assert_cmpstr(config.train.note, ==, "a \"b\" ü");
    g_assert_cmpstr(config.train.data, ==, "a=b c");
    g_assert_cmpint(config.train.vocab, ==, 32000);
    g_assert_cmpint(config.train.width, ==, 1500);
    g_assert_true(config.train.seed == INT64_MIN);
    options_clear(&table, &config);
}

static void auto_stands_for_0(void)
{
    TestConfig config;
    const char *overrides[] = { "model.vocab=100", "model.vocab=auto", "optim.scale=auto", NULL };
    g_assert_true(configure(&config, NULL, overrides, NULL));
    g_assert_cmpint(config.train.vocab, ==, 0);
    g_assert_cmpfloat(config.train.scale, ==, 0);
    g_autofree char *vocab = options_value(&table, &config, options_find(&table, "model.vocab"));
    g_autofree char *scale = options_value(&table, &config, options_find(&table, "optim.scale"));
    g_assert_cmpstr(vocab, ==, "auto");
    g_assert_cmpstr(scale, ==, "auto");
    options_clear(&table, &config);
    expect_error(NULL, "model.vocab=1",
                 "model.vocab: 1 is out of range, it must be between 2 and 1000000, or auto (command line)");
    expect_error(NULL, "model.width=auto",
                 "model.width: \"auto\" is not a whole number; write one like 8 or 64k (command line)");
}

static void unknown_names_get_hints(void)
{
    expect_error("\noptim:\n  lrr: 1\n", NULL, "run.yaml:3: unknown option optim.lrr, did you mean optim.lr?");
    expect_error(NULL, "Optim.LR=1", "unknown option Optim.LR, did you mean optim.lr? (command line)");
    expect_error(NULL, "train.lr=1", "unknown option train.lr, did you mean optim.lr? (command line)");
    expect_error(NULL, "lr=1", "unknown option lr, did you mean optim.lr? (command line)");
    expect_error(NULL, "optm.nane=x", "unknown option optm.nane, did you mean optim.name? (command line)");
    expect_error(NULL, "data.trainn=1", "unknown option data.trainn, did you mean data.train? (command line)");
    expect_error(NULL, "run.zzz=1", "unknown option run.zzz; run has seed (command line)");
    expect_error(NULL, "zzz.qqq=1",
                 "unknown option zzz.qqq; the groups are optim, train, data, model, run (command line)");
    expect_error("optim: 3\n", NULL, "run.yaml:1: unknown option optim; optim has name, lr, nesterov, scale");
    expect_error(NULL, "optim.lr", "\"optim.lr\" is not an override; write group.key=value");
    expect_error(NULL, "=3", "\"=3\" is not an override; write group.key=value");
}

static void values_are_checked(void)
{
    expect_error(NULL, "optim.lr=20", "optim.lr: 20 is out of range, it must be between 0 and 10 (command line)");
    expect_error("optim: {lr: 20}", NULL, "run.yaml:1: optim.lr: 20 is out of range, it must be between 0 and 10");
    expect_error(NULL, "model.width=0", "model.width: 0 is out of range, it must be at least 1 (command line)");
    expect_error(NULL, "model.width=2000000000000000000",
                 "model.width: 2000000000000000000 is too far from 0 (command line)");
    expect_error(NULL, "train.length=0 epochs",
                 "train.length: 0 epochs is out of range, it must be at least 1 (command line)");
    expect_error("train:\n  log_every: abc", NULL,
                 "run.yaml:2: train.log_every: \"abc\" is not an amount; write one like 10k steps, 5M samples, 260B "
                 "tokens, 3 epochs or 19h50m");
    expect_error(NULL, "optim.name=adamm",
                 "optim.name: \"adamm\" is not one of adamw, adafactor; did you mean adamw? (command line)");
    expect_error(NULL, "optim.name=lion", "optim.name: \"lion\" is not one of adamw, adafactor (command line)");
    expect_error(NULL, "optim.nesterov=yes", "optim.nesterov: \"yes\" is not accepted, write true (command line)");
    expect_error(NULL, "optim.nesterov=Off", "optim.nesterov: \"Off\" is not accepted, write false (command line)");
    expect_error(NULL, "optim.nesterov=maybe",
                 "optim.nesterov: \"maybe\" is not accepted, write true or false (command line)");
    expect_error(NULL, "data.train=\xff", "data.train: the text is not UTF-8 (command line)");
}

static void numbers_are_read_whole(void)
{
    static const char *const bad_i64[] = { "",     " 1",  "1 ",  "1.5", "9223372036854775808", "1e30", "k", "-",
                                           "0x10", "1kk", "--1", NULL };
    for (int i = 0; bad_i64[i]; i++) {
        g_autofree char *override = g_strconcat("run.seed=", bad_i64[i], NULL);
        g_autofree char *wanted = g_strdup_printf(
            "run.seed: \"%s\" is not a whole number; write one like 8 or 64k (command line)", bad_i64[i]);
        expect_error(NULL, override, wanted);
    }
    static const char *const bad_f64[] = { "", " 1", "1 ", "nan", "inf", "0x1p3", "1e999", "1,5", "1k", NULL };
    for (int i = 0; bad_f64[i]; i++) {
        g_autofree char *override = g_strconcat("optim.lr=", bad_f64[i], NULL);
        g_autofree char *wanted =
            g_strdup_printf("optim.lr: \"%s\" is not a number; write one like 0.1 or 1e-3 (command line)", bad_f64[i]);
        expect_error(NULL, override, wanted);
    }
}

/* A string of anything that UTF-8 holds, mostly of what YAML might trip over. */
static char *random_text(void)
{
    static const char *const pieces[] = { "a",   " ",      ":",        "#",      "'",      "\"",        "\\", "\n",
                                          "\t",  "-",      ",",        "[",      "{",      "&",         "*",  "!",
                                          "|",   ">",      "%",        "@",      "`",      "=",         "~",  "null",
                                          "ü",   "\u2028", "\xc2\x85", "\uFEFF", "\r",     "\x01",      "/x", "..",
                                          "yes", "---",    "1e",       "\x7f",   "\uFFFE", "\U0001F600" };
    GString *text = g_string_new(NULL);
    for (int n = g_test_rand_int_range(0, 8); n > 0; n--)
        g_string_append(text, pieces[g_test_rand_int_range(0, G_N_ELEMENTS(pieces))]);
    return g_string_free(text, FALSE);
}

static void randomize(TestConfig *config)
{
    config->optim.name = g_test_rand_int_range(0, 2);
    config->optim.lr = g_test_rand_double_range(0, 10);
    config->optim.nesterov = g_test_rand_bit();
    config->train.length = (Amount){ g_test_rand_int_range(1, 1 << 30), (AmountUnit)g_test_rand_int_range(0, 5) };
    config->train.log_every = (Amount){ g_test_rand_int_range(0, 1000) * 1000, UNIT_STEPS };
    g_free(config->train.data);
    g_free(config->train.note);
    config->train.data = random_text();
    config->train.note = random_text();
    config->train.vocab = g_test_rand_bit() ? 0 : g_test_rand_int_range(2, 1000000);
    config->train.width = (gint64)1 << g_test_rand_int_range(0, 60);
    config->train.seed = (gint64)((guint64)(guint32)g_test_rand_int() << 32 | (guint32)g_test_rand_int());
    config->train.scale = exp(g_test_rand_double_range(-50, 0));
}

static void expect_sets(const char *yaml, const char *override, const char *wanted)
{
    TestConfig config;
    g_autoptr(GError) error = NULL;
    const char *overrides[] = { override, NULL };
    configure(&config, yaml, overrides, &error);
    g_assert_no_error(error);
    g_assert_cmpstr(config.train.sets, ==, wanted);
    options_clear(&table, &config);
}

/* A list has one text, however it was written. */
static void lists_become_text(void)
{
    const char *text = "a:0.7,b:0.3";
    expect_sets("data: {sets: 'a:0.7 , b:0.3'}\n", NULL, text);
    expect_sets(NULL, "data.sets= a:0.7, b:0.3", text);
    expect_sets("data: {sets: [{path: a, weight: 0.7}, {weight: 0.3, path: b}]}\n", NULL, text);
    expect_sets("data:\n  sets:\n  - path: a\n    weight: 0.7\n  - b:0.3\n", NULL, text);
    expect_sets("data: {sets: [{path: x, name: y}]}\n", NULL, "y:x");
    expect_sets("data: {sets: [{path: x}]}\n", "data.sets=z", "z");
    expect_sets("data: {sets: []}\n", NULL, "");
    expect_error("optim:\n  lr: [1]\n", NULL, "run.yaml:2: optim.lr: a list is not accepted here, write one value");
    expect_error("data: {sets: [{path: a}, {weight: 1}]}\n", NULL,
                 "run.yaml:1: data.sets: item 2: no path; an item has name, path, weight");
    expect_error("data: {sets: [{path: ''}]}\n", NULL,
                 "run.yaml:1: data.sets: item 1: no path; an item has name, path, weight");
    expect_error("data: {sets: [{path: a, wait: 1}]}\n", NULL,
                 "run.yaml:1: data.sets: item 1: an unknown key; an item has name, path, weight");
    expect_error("data: {sets: [{path: 'a,b'}]}\n", NULL,
                 "run.yaml:1: data.sets: item 1: a comma ends an item, so none can be in it");
}

static void yaml_reads_back_the_same(void)
{
    for (int i = 0; i < 3000; i++) {
        TestConfig config, again;
        g_autoptr(GError) error = NULL;
        configure(&config, NULL, NULL, NULL);
        randomize(&config);
        g_autofree char *yaml = options_to_yaml(&table, &config);
        configure(&again, yaml, NULL, &error);
        g_assert_no_error(error);
        g_assert_true(memcmp(&config.optim, &again.optim, sizeof config.optim) == 0);
        g_assert_cmpstr(config.train.data, ==, again.train.data);
        g_assert_cmpstr(config.train.note, ==, again.train.note);
        g_assert_cmpfloat(config.train.length.value, ==, again.train.length.value);
        g_assert_cmpint(config.train.length.unit, ==, again.train.length.unit);
        g_assert_cmpint(config.train.vocab, ==, again.train.vocab);
        g_assert_cmpint(config.train.width, ==, again.train.width);
        g_assert_cmpint(config.train.seed, ==, again.train.seed);
        g_assert_cmpfloat(config.train.scale, ==, again.train.scale);
        options_clear(&table, &config);
        options_clear(&table, &again);
    }
}

/* A group whose rows two modules own is written once. */
static void yaml_is_grouped(void)
{
    TestConfig config;
    configure(&config, NULL, NULL, NULL);
    g_autofree char *yaml = options_to_yaml(&table, &config);
    g_assert_cmpstr(yaml, ==,
                    "optim:\n  name: adafactor\n  lr: 0.001\n  nesterov: false\n  scale: auto\n"
                    "train:\n  length: 64k steps\n  log_every: 10 steps\n  note: \"none: #1\"\n"
                    "data:\n  train: \"\"\n  sets: \"\"\n"
                    "model:\n  vocab: auto\n  width: 512\n"
                    "run:\n  seed: 42\n");
    options_clear(&table, &config);
}

static void markdown_lists_every_option(void)
{
    static const char *const by_model[] = { "train.length", NULL };
    g_autofree char *text = options_to_markdown(&table, NULL, by_model);
    g_assert_nonnull(strstr(text, "- `train.length` ([by model](../defaults.md); "));
    g_assert_nonnull(strstr(text, "# Options of optim\n\n[How to read this](../options.md).\n\n"));
    g_assert_nonnull(strstr(text, "\n- `optim.name` (`adafactor`; adamw, adafactor; logged): which optimizer\n"
                                  "- `optim.lr` (`1e-3`; number 0…10; logged): peak learning rate\n"
                                  "- `optim.nesterov` (`false`; logged): this | that\n"));
    g_assert_nonnull(strstr(text, "- `model.width` (`512`; 1…): width\n"));
    g_assert_nonnull(strstr(text, "- `data.train` (`\"\"`): the dataset\n"));
    g_assert_nonnull(strstr(text, "text, or list of maps: name, path, weight): some datasets\n"));
    g_assert_nonnull(strstr(text, "amount 0…1000000; free): how often\n"));
    g_autofree char *run = options_to_markdown(&table, "run", by_model);
    g_assert_true(g_str_has_prefix(run, "# Options of run\n\n"));
    g_assert_true(g_str_has_suffix(run, "\n\n- `run.seed` (`42`; whole number): seed\n"));
    g_assert_null(options_to_markdown(&table, "ru", by_model));
}

static void names_of_other_programs_are_told(void)
{
    expect_error(NULL, "optim.learning_rate=1",
                 "unknown option optim.learning_rate, did you mean optim.lr? (command line)");
    expect_error("train:\n  Num-Epochs: 5\n", NULL,
                 "run.yaml:2: unknown option train.Num-Epochs, did you mean train.length='5 epochs'?");
    g_assert_null(options_find_foreign(&table, "lr_rate", NULL));
    static const char *const told[][3] = {
        { "num_epochs", NULL, "train.length='3 epochs'" },
        { "num_epochs", "5", "train.length='5 epochs'" },
        { "num_epochs", "1.5", "train.length='1.5 epochs'" },
        { "num_epochs", "-1", "train.length" },
        { "warmup_share", NULL, "optim.lr='6%'" },
        { "warmup_share", "0.1", "optim.lr='10%'" },
        { "train_file", "x.tsv", "data.train='table'" },
        { "train_file", "x", "data.train" },
    };
    for (size_t i = 0; i < G_N_ELEMENTS(told); i++) {
        g_autofree char *got = options_find_foreign(&table, told[i][0], told[i][1]);
        g_assert_cmpstr(got, ==, told[i][2]);
    }
}

static void text_is_of_a_group_or_an_option(void)
{
    static const char *const by_model[] = { "optim.lr", NULL };
    g_autofree char *one = options_to_text(&table, "optim.lr", by_model, 40), *all = NULL, *group = NULL;
    g_assert_cmpstr(one, ==,
                    "optim.lr\n    peak learning rate\n    (number between 0 and 10; default:\n"
                    "    by model; a resumed run may change\n    it)\n");
    all = options_to_text(&table, NULL, by_model, 100);
    g_assert_true(strstr(all, "\nrun.seed\n") && g_str_has_prefix(all, "optim.name\n"));
    group = options_to_text(&table, "data", by_model, 100);
    g_assert_true(g_str_has_prefix(group, "data.train\n") && strstr(group, "\ndata.sets\n"));
    g_assert_null(strstr(group, "train.length"));
    g_assert_null(options_to_text(&table, "dat", by_model, 100));
    g_assert_null(options_to_text(&table, "data.trian", by_model, 100));
}

static void differences_are_by_class(void)
{
    TestConfig a, b;
    const char *overrides[] = { "optim.lr=2", "data.train=x", "train.note=y", "model.vocab=auto", NULL };
    configure(&a, NULL, NULL, NULL);
    configure(&b, NULL, overrides, NULL);
    static const struct {
        unsigned classes;
        const char *name;
    } wanted[] = { { OPT_IDENTITY, "data.train" }, { OPT_LOGGED, "optim.lr" }, { OPT_FREE, "train.note" } };
    for (size_t i = 0; i < G_N_ELEMENTS(wanted); i++) {
        g_autoptr(GPtrArray) rows = options_differences(&table, &a, &b, wanted[i].classes);
        g_assert_cmpuint(rows->len, ==, 1);
        g_assert_cmpstr(((const OptionRow *)g_ptr_array_index(rows, 0))->name, ==, wanted[i].name);
    }
    options_clear(&table, &a);
    options_clear(&table, &b);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/options/defaults_fill_every_field", defaults_fill_every_field);
    g_test_add_func("/options/settings_reach_their_fields", settings_reach_their_fields);
    g_test_add_func("/options/auto_stands_for_0", auto_stands_for_0);
    g_test_add_func("/options/unknown_names_get_hints", unknown_names_get_hints);
    g_test_add_func("/options/values_are_checked", values_are_checked);
    g_test_add_func("/options/numbers_are_read_whole", numbers_are_read_whole);
    g_test_add_func("/options/lists_become_text", lists_become_text);
    g_test_add_func("/options/yaml_reads_back_the_same", yaml_reads_back_the_same);
    g_test_add_func("/options/yaml_is_grouped", yaml_is_grouped);
    g_test_add_func("/options/markdown_lists_every_option", markdown_lists_every_option);
    g_test_add_func("/options/former_names_and_values_are_read", former_names_and_values_are_read);
    g_test_add_func("/options/names_of_other_programs_are_told", names_of_other_programs_are_told);
    g_test_add_func("/options/text_is_of_a_group_or_an_option", text_is_of_a_group_or_an_option);
    g_test_add_func("/options/differences_are_by_class", differences_are_by_class);
    return g_test_run();
}
