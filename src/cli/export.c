/* export.c: `loam export`: writes a model as a Hugging Face folder. */
#include "base/log.h"
#include "cli/cli.h"
#include "model/hf/hf.h"
#include "run/config/config.h"
#include "run/model_path.h"

#include <string.h>

static const char usage[] = "loam export MODEL --to hf|peft --out FOLDER [--replace] [model.architecture=NAME]";
static const char about[] =
    "Writes a model in the format of other programs. MODEL is a run directory (its newest checkpoint; RUN@best and\n"
    "RUN@12000 choose another), a checkpoint or a Hugging Face folder.\n"
    "\n"
    "  hf    a folder for from_pretrained of transformers 4 and 5, AutoTokenizer included: config.json,\n"
    "        model.safetensors, tokenizer.json; adapters (lora.*) are merged into the weights\n"
    "  peft  only the adapters, and the trained head of a classifier, for PeftModel.from_pretrained:\n"
    "        adapter_config.json, adapter_model.safetensors; --base names the model that the adapters belong to\n"
    "\n"
    "model.architecture=NAME (`loam help model.architecture`) replaces the architecture that the model stores.\n"
    "\n"
    "  loam export runs/a --to hf --out hf-a\n";

static char *to, *out, *tokenizer, *dtype, *shard_size, *base;
static gboolean replace;
static const GOptionEntry entries[] = {
    CLI_VALUE("to", to, "hf|peft", "format of the folder"),
    CLI_PATH("out", out, "FOLDER", "folder to write; must be absent or empty, or with --replace an earlier export"),
    CLI_SWITCH("replace", replace, "hf: replace an earlier export in this folder, all at once"),
    CLI_VALUE("base", base, "MODEL", "peft: folder or name of the model that the adapters belong to"),
    CLI_PATH("tokenizer", tokenizer, "FILE", "tokenizer to export instead of the one beside the model"),
    CLI_VALUE("dtype", dtype, "f32|bf16|f16", "dtype of the tensors (default f32)"),
    CLI_VALUE("shard-size", shard_size, "SIZE", "maximum size of a file of tensors, such as 2GB (default: one file)"),
    { 0 },
};

/* Parses --dtype: sets form->dtype to the safetensors name, "BF16" for "bf16". */
static bool parse_dtype(const char *text, HfForm *form, GError **error)
{
    static const char *const names[][2] = { { "f32", "F32" }, { "bf16", "BF16" }, { "f16", "F16" } };
    form->dtype = "F32";
    for (size_t i = 0; text && i < G_N_ELEMENTS(names); i++)
        if (strcmp(text, names[i][0]) == 0) {
            form->dtype = names[i][1];
            return true;
        }
    return text == NULL || fail_user(error, "--dtype %s is unknown, want f32, bf16 or f16", text);
}

/* Parses "2GB", "500MB" or "1.5GiB", the units of Hugging Face. */
static bool parse_shard_size(const char *text, HfForm *form, GError **error)
{
    static const struct {
        const char *name;
        double bytes;
    } units[] = {
        { "KB", 1e3 }, { "MB", 1e6 }, { "GB", 1e9 }, { "KiB", 0x1p10 }, { "MiB", 0x1p20 }, { "GiB", 0x1p30 }
    };
    if (text == NULL)
        return true;
    char *end;
    double size = g_ascii_strtod(text, &end);
    for (size_t i = 0; i < G_N_ELEMENTS(units); i++)
        if (strcmp(end, units[i].name) == 0 && size * units[i].bytes >= 1 && size * units[i].bytes < 1e18) {
            form->shard_bytes = (int64_t)(size * units[i].bytes);
            return true;
        }
    return fail_user(error, "--shard-size %s: a size with its unit is wanted, such as 2GB, 500MB or 1GiB", text);
}

/* Reads model.architecture=NAME, the one option that an export accepts; -1 means that of the model. */
static bool read_architecture(ModelConfig *config, char **options, int n, GError **error)
{
    g_autoptr(GPtrArray) settings = option_settings_new();
    for (int i = 0; i < n; i++)
        if (!g_str_has_prefix(options[i], "model.architecture="))
            return fail_user(error, "%s: of the options only model.architecture is for an export; usage: %s",
                             options[i], usage);
        else if (!option_settings_parse(settings, options[i], error))
            return false;
    config->architecture = -1;
    return options_apply(&model_table, config, settings, error);
}

/* The length to which the run that PATH names truncates the texts of its classifier; 0 for other models. */
static int64_t classified_length(const char *path, const ModelConfig *model)
{
    g_autofree char *run = NULL;
    if (model->classifier == LABELS_NONE || !model_find_run(&run, path, NULL) || !run)
        return 0;
    g_auto(RunRecord) record = config_record_of_run(run);
    const char *length = json_string_value(json_object_get(record.options, "data.input_length"));
    return length ? g_ascii_strtoll(length, NULL, 10) : 0;
}

/* adapter: --to peft, which writes only the adapters. */
static bool export_model(const char *path, bool adapter, HfForm form, int architecture, GError **error)
{
    g_auto(LoadedModel) loaded = { 0 };
    const Precision exact = precision_uniform(DT_F32);
    const LoadedModelSource source = { .path = path, .tokenizer = tokenizer, .precision = &exact, .device = "cpu" };
    if (!loaded_model_open(&loaded, &source, error))
        return false;
    if (architecture >= 0)
        model_set_architecture(loaded.model, (Architecture)architecture);
    form.longest = classified_length(path, model_config(loaded.model));
    bool done = adapter ? hf_export_adapter(loaded.model, loaded.tok, base, out, error)
                        : hf_export(loaded.model, loaded.tok, form, out, error);
    if (done && loaded.tok == NULL)
        log_warning("no tokenizer lies beside %s: weights only; --tokenizer gives one", path);
    if (done && loaded.tok)
        hf_report_blanks(loaded.tok);
    if (done && model_config(loaded.model)->prefix_lm)
        log_warning("transformers lets a token of a prompt attend only to those before it, while in this model "
                    "(model.prefix_lm) all attend to each other: its answers in transformers are others");
    if (done)
        g_print("%s\n", out);
    return done;
}

bool verb_export(int argc, char **argv, GError **error)
{
    if (!cli_parse(&argc, &argv, entries, usage, about, error))
        return false;
    if (argc < 2 || to == NULL || out == NULL)
        return fail_user(error, "want one MODEL, --to and --out; usage: %s", usage);
    HfForm form = { .replace = replace };
    ModelConfig options = { 0 };
    const bool adapter = strcmp(to, "peft") == 0;
    if (!adapter && strcmp(to, "hf") != 0)
        return fail_user(error, "--to %s is unknown, want hf or peft", to);
    if (adapter ? dtype || shard_size : base != NULL)
        return fail_user(error, adapter ? "--dtype and --shard-size are for --to hf" : "--base is for --to peft");
    if (adapter && replace)
        return fail_user(error, "--replace is for --to hf");
    return read_architecture(&options, argv + 2, argc - 2, error) && parse_dtype(dtype, &form, error) &&
           parse_shard_size(shard_size, &form, error) &&
           export_model(argv[1], adapter, form, options.architecture, error);
}
