#include "base/log.h"
#include "cli/cli.h"
#include "model/hf.h"
#include "train/open.h"

#include <string.h>

static const char usage[] = "loam export MODEL --to hf --out FOLDER";
static const char about[] = "Writes a model for other programs. MODEL is a run directory (its newest checkpoint;\n"
                            "RUN@best and RUN@12000 choose), a checkpoint or a Hugging Face folder.\n"
                            "\n"
                            "  hf    a folder that T5ForConditionalGeneration.from_pretrained and AutoTokenizer of\n"
                            "        transformers 4 and 5 open: config.json, model.safetensors, spiece.model\n"
                            "\n"
                            "example: loam export runs/a --to hf --out hf-a\n";

static bool export_hf(const char *path, const char *tokenizer_name, const char *out, GError **error)
{
    Device *dev = device_open_cpu(0);
    g_autofree char *beside = NULL;
    Model *model = model_open_path(path, dev, false, &beside, error);
    const char *tokenizer_path = tokenizer_name ? tokenizer_name : beside;
    Tokenizer *tok = model && tokenizer_path ? tokenizer_open(tokenizer_path, error) : NULL;
    bool done = model && (tok || tokenizer_path == NULL) && hf_export(model, tok, out, error);
    if (tok)
        tokenizer_close(tok);
    if (model)
        model_close(model);
    device_close(dev);
    if (done && tokenizer_path == NULL)
        log_warning("no tokenizer lies beside %s: weights only; --tokenizer gives one", path);
    if (done)
        g_print("%s\n", out);
    return done;
}

bool verb_export(int argc, char **argv, GError **error)
{
    g_autofree char *to = NULL, *out = NULL, *tokenizer = NULL;
    const GOptionEntry entries[] = {
        { "to", 0, 0, G_OPTION_ARG_STRING, &to, "the form: hf", "FORM" },
        { "out", 0, 0, G_OPTION_ARG_FILENAME, &out, "the folder to write, absent or empty", "FOLDER" },
        { "tokenizer", 0, 0, G_OPTION_ARG_FILENAME, &tokenizer, "instead of the one beside the model", "FILE" },
        { NULL, 0, 0, 0, NULL, NULL, NULL },
    };
    if (!cli_parse(&argc, &argv, entries, usage, about, error))
        return false;
    if (argc != 2 || to == NULL || out == NULL)
        return fail_user(error, "want one MODEL, --to and --out; usage: %s", usage);
    if (strcmp(to, "hf") != 0)
        return fail_user(error, "--to %s is unknown, want hf", to);
    return export_hf(argv[1], tokenizer, out, error);
}
