/* Any bytes as a configuration file: an error or settings, and settings that read back from YAML as they are. */
#include "base/amount.h"
#include "base/check.h"
#include "base/options/options.h"
#include "fuzz_folder.h"

#include <string.h>

static const char *const names[] = { "adamw", "adafactor", NULL };

typedef struct FuzzConfig {
    bool flag;
    int64_t vocab;
    double lr;
    char *train;
    int name;
    Amount length;
} FuzzConfig;

static const OptionRow rows[] = {
    { "run.flag", OPT_BOOL, offsetof(FuzzConfig, flag), "false", 0, 0, OPT_FREE, NULL, "a flag" },
    { "model.vocab", OPT_I64, offsetof(FuzzConfig, vocab), "auto", 0, 1e6, OPT_IDENTITY, NULL, "rows" },
    { "optim.lr", OPT_F64, offsetof(FuzzConfig, lr), "1e-3", 0, 10, OPT_TUNABLE, NULL, "peak learning rate" },
    { "data.train", OPT_STRING, offsetof(FuzzConfig, train), "", 0, 0, OPT_IDENTITY, NULL, "a dataset" },
    { "optim.name", OPT_ENUM, offsetof(FuzzConfig, name), "adamw", 0, 0, OPT_TUNABLE, names, "which" },
    { "train.length", OPT_AMOUNT, offsetof(FuzzConfig, length), "1k steps", 0, 1e15, OPT_TUNABLE, NULL, "length" },
};
static const OptionGroup group = { rows, G_N_ELEMENTS(rows), 0, NULL };
static const OptionTable table = { &group, 1, NULL };

static void apply(FuzzConfig *config, const char *yaml, size_t bytes, GError **error)
{
    g_autoptr(GPtrArray) settings = option_settings_new();
    options_set_defaults(&table, config);
    g_autofree char *path = g_build_filename(fuzz_folder(), "fuzz.yaml", NULL);
    fuzz_put("fuzz.yaml", yaml, bytes);
    if (option_settings_read_yaml(settings, path, error))
        options_apply(&table, config, settings, error);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    FuzzConfig config = { 0 }, again = { 0 };
    g_autoptr(GError) error = NULL;
    if (memmem(data, bytes, "extends", 7)) /* would open files of the mutator's choice */
        return 0;
    apply(&config, (const char *)data, bytes, &error);
    if (error == NULL) {
        g_autofree char *yaml = options_to_yaml(&table, &config);
        apply(&again, yaml, strlen(yaml), &error);
        CHECK(error == NULL, "%s\n%s", error->message, yaml);
        g_autofree char *yaml_again = options_to_yaml(&table, &again);
        CHECK(strcmp(yaml, yaml_again) == 0, "%s\n%s", yaml, yaml_again);
    }
    options_clear(&table, &config);
    options_clear(&table, &again);
    return 0;
}
