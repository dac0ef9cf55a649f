/* export.c: `loam export`: a model as a folder of Hugging Face. */
#include "base/log.h"
#include "cli/cli.h"
#include "model/hf/hf.h"
#include "train/model_path.h"

#include <string.h>

static const char usage[] = "loam export MODEL --to hf --out FOLDER";
static const char about[] =
    "Writes a model for other programs. MODEL is a run directory (its newest checkpoint;\n"
    "RUN@best and RUN@12000 choose), a checkpoint or a Hugging Face folder.\n"
    "\n"
    "  hf    a folder that from_pretrained of transformers 4 and 5 opens, AutoTokenizer's too:\n"
    "        config.json, model.safetensors, tokenizer.json\n"
    "\n"
    "example: loam export runs/a --to hf --out hf-a\n";

/* "bf16" -> "BF16". */
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

static bool export_hf(const char *path, const char *tokenizer, const HfForm *form, const char *out, GError **error)
{
    g_auto(LoadedModel) loaded = { 0 };
    const LoadedModelSource source = { .path = path, .tokenizer = tokenizer };
    bool done = loaded_model_open(&loaded, &source, error) && hf_export(loaded.model, loaded.tok, *form, out, error);
    if (done && loaded.tok == NULL)
        log_warning("no tokenizer lies beside %s: weights only; --tokenizer gives one", path);
    if (done)
        g_print("%s\n", out);
    return done;
}

bool verb_export(int argc, char **argv, GError **error)
{
    g_autofree char *to = NULL, *out = NULL, *tokenizer = NULL, *dtype = NULL, *shard_size = NULL;
    HfForm form = { 0 };
    const GOptionEntry entries[] = {
        CLI_VALUE("to", to, "the form: hf", "FORM"),
        CLI_PATH("out", out, "the folder to write, absent or empty", "FOLDER"),
        CLI_PATH("tokenizer", tokenizer, "instead of the one beside the model", "FILE"),
        CLI_VALUE("dtype", dtype, "of the tensors: f32, bf16 or f16 (f32)", "TYPE"),
        CLI_VALUE("shard-size", shard_size, "most in one file of tensors, such as 2GB (all)", "SIZE"),
        { 0 },
    };
    if (!cli_parse(&argc, &argv, entries, usage, about, error))
        return false;
    if (argc != 2 || to == NULL || out == NULL)
        return fail_user(error, "want one MODEL, --to and --out; usage: %s", usage);
    if (strcmp(to, "hf") != 0)
        return fail_user(error, "--to %s is unknown, want hf", to);
    return parse_dtype(dtype, &form, error) && parse_shard_size(shard_size, &form, error) &&
           export_hf(argv[1], tokenizer, &form, out, error);
}
