/* import.c: `loam import`: writes a model of another program (Hugging Face, T5X, fairseq) as a checkpoint. */
#include "base/file.h"
#include "cli/cli.h"
#include "model/hf/hf.h"
#include "model/tensor_names.h"
#include "run/checkpoint/checkpoint.h"
#include "run/compute_device.h"
#include "run/model_path.h"
#include "text/tokenizer.h"

#include <string.h>

static const char usage[] = "loam import FOLDER --out DIR [--from hf|t5x|fairseq]";
static const char about[] =
    "Converts a Hugging Face folder of a class that docs/import.md lists (config.json; model.safetensors or\n"
    "pytorch_model.bin, in one file or in shards; a tokenizer) into a checkpoint of loam with the weights and, if "
    "there\n"
    "is one, the tokenizer.\n"
    "Every command that takes a model also opens a Hugging Face folder directly, so import only to keep a copy.\n"
    "--from t5x reads a legacy checkpoint of T5X (the MessagePack file or its folder), --from fairseq a checkpoint "
    "(.pt)\n"
    "of transformer_lm or of AST-T5; both have weights only.\n"
    "\n"
    "  loam import t5-v1_1-small --out models/t5 && loam train c.yaml train.init=models/t5\n";

/* Saves weights and tokenizer in a temporary folder, which is renamed to `out` once both are complete. The tokenizer is
 * where model_open_path looks for it. */
static bool save(const char *out, Model *model, const Tokenizer *tok, GError **error)
{
    g_autofree char *fresh = io_make_folder_beside(out, error);
    if (fresh == NULL)
        return false;
    if (checkpoint_save_weights(fresh, model, error) && (tok == NULL || tokenizer_copy(tok, fresh, error)) &&
        io_sync_directory(fresh, error) && io_swap_in(fresh, out, error))
        return true;
    io_remove_tree(fresh, NULL);
    return false;
}

static bool out_is_free(const char *out, GError **error)
{
    g_autoptr(GDir) dir = g_dir_open(out, 0, NULL);
    if (!g_file_test(out, G_FILE_TEST_EXISTS) || (dir && g_dir_read_name(dir) == NULL))
        return true;
    return fail_user(error, "%s exists and is not an empty folder: give another --out, or remove it", out);
}

static Model *import_hf(Device *dev, const char *folder, GError **error)
{
    Model *model = hf_import(dev, folder, false, error);
    if (model)
        hf_warn_missing_tokenizer(folder);
    return model;
}

typedef struct Form {
    const char *name;
    Model *(*import)(Device *dev, const char *path, GError **error);
    bool has_tokenizer;
} Form;

static const Form forms[] = {
    { "hf", import_hf, true },
    { "t5x", t5x_import, false },
    { "fairseq", fairseq_import, false },
};

static const Form *form_named(const char *name, GError **error)
{
    for (size_t i = 0; i < G_N_ELEMENTS(forms); i++)
        if (strcmp(forms[i].name, name ? name : "hf") == 0)
            return &forms[i];
    return fail_user(error, "--from %s is unknown, want hf, t5x or fairseq", name);
}

bool verb_import(int argc, char **argv, GError **error)
{
    g_autofree char *out = NULL, *from = NULL;
    const GOptionEntry entries[] = {
        CLI_PATH("out", out, "DIR", "checkpoint folder to write; must be absent or empty"),
        CLI_VALUE("from", from, "hf|t5x|fairseq", "format (default hf)"),
        { 0 },
    };
    if (!cli_parse(&argc, &argv, entries, usage, about, error))
        return false;
    if (argc != 2 || out == NULL)
        return fail_user(error, "want one FOLDER and --out; usage: %s", usage);
    const Form *form = form_named(from, error);
    if (form == NULL || !out_is_free(out, error))
        return false;
    g_autoptr(Device) dev = device_open_cpu(0, precision_uniform(DT_F32));
    g_autoptr(Model) model = form->import(dev, argv[1], error);
    g_autoptr(Tokenizer) tok = NULL;
    g_autofree char *beside = model && form->has_tokenizer ? tokenizer_find(argv[1], &tok, NULL) : NULL;
    if (beside && !tok)
        tok = tokenizer_open(beside, error);
    if (tok)
        model_tell_padding(model, tok, argv[1]);
    bool done = model && (tok || !beside) && save(out, model, tok, error);
    if (done)
        g_print("%s\n", out);
    return done;
}
