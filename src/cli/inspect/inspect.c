/* inspect.c: `loam inspect`, and its actions checkpoint and model: the tensors of a checkpoint with the progress of its
 * run, and those of a file of weights. */
#include "cli/inspect/inspect.h"
#include "base/text.h"
#include "cli/cli.h"
#include "format/tensor_file.h"
#include "run/checkpoint/checkpoint.h"
#include "run/model_path.h"

#include <inttypes.h>

static gboolean as_json;
static const GOptionEntry entries[] = {
    CLI_SWITCH("json", as_json, "one JSON object"),
    { 0 },
};

static void print_state(json_t *state)
{
    const char *name;
    json_t *value;
    json_object_foreach(state, name, value) if (json_is_integer(value))
        printf("  %-14s %lld\n", name, (long long)json_integer_value(value));
    else printf("  %-14s %.9g\n", name, json_number_value(value));
}

static void print_checkpoint(const char *folder, json_t *root)
{
    const char *name;
    json_t *value;
    printf("%s: format %lld, valid\n", folder, (long long)json_integer_value(json_object_get(root, "format")));
    if (json_object_get(root, "tokenizer"))
        printf("tokenizer %s\n", json_string_value(json_object_get(root, "tokenizer")));
    printf("files\n");
    json_object_foreach(json_object_get(root, "files"), name, value)
    {
        g_autofree char *size = text_bytes((uint64_t)json_integer_value(json_object_get(value, "bytes")));
        printf("  %s  %s, %zu tensors, xxh3 %s\n", name, size, json_object_size(json_object_get(value, "boxes")),
               json_string_value(json_object_get(value, "xxh3")));
    }
    printf("model\n");
    json_object_foreach(json_object_get(root, "model"), name, value)
        printf("  %-24s %s\n", name, json_string_value(value));
    if (json_object_get(root, "state")) {
        printf("state\n");
        print_state(json_object_get(root, "state"));
    }
}

/* Also reads state.json into *root: the run may remove the checkpoint soon. */
static bool verify(const char *folder, void *context, GError **error)
{
    json_t **root = context;
    g_autofree char *path = g_build_filename(folder, "state.json", NULL);
    if (!checkpoint_verify(folder, error))
        return false;
    *root = json_load_file(path, 0, NULL);
    if (*root == NULL)
        g_set_error(error, CHECKPOINT_DAMAGED, LOAM_ERROR_USER, "%s was removed while it was read", path);
    return *root != NULL;
}

static bool inspect_checkpoint(int argc, char **argv, GError **error)
{
    static const char usage[] = "loam inspect checkpoint RUN|CHECKPOINT [--json]";
    static const char about[] =
        "Prints the contents of a checkpoint, after verifying the size and checksum of every file.\n"
        "\n"
        "  loam inspect checkpoint runs/a@best\n";
    if (!cli_parse(&argc, &argv, entries, usage, about, error))
        return false;
    if (argc != 2)
        return fail_user(error, "one run or checkpoint is wanted; usage: %s", usage);
    json_t *root = NULL;
    g_autofree char *folder = checkpoint_open(argv[1], verify, &root, error);
    if (folder == NULL)
        return false;
    if (as_json)
        return print_json_line(root, error);
    print_checkpoint(folder, root);
    json_decref(root);
    return true;
}

static json_t *tensor_json(const FileTensor *tensor)
{
    json_t *shape = json_array();
    for (int i = 0; i < tensor->rank; i++)
        json_array_append_new(shape, json_integer(tensor->shape[i]));
    return json_pack("{s:s, s:s, s:o, s:I}", "name", tensor->name, "dtype", tensor->dtype, "shape", shape, "bytes",
                     (json_int_t)tensor->bytes);
}

static void print_tensor(const FileTensor *tensor)
{
    printf("%-5s", tensor->dtype);
    int width = 0;
    for (int i = 0; i < tensor->rank; i++)
        width += printf("%s%" PRId64, i ? " x " : "", tensor->shape[i]);
    printf("%*s  %s\n", MAX(16 - width, 0), "", tensor->name);
}

/* Whether a folder is a run or a checkpoint of loam. */
static bool is_loam_folder(const char *folder)
{
    g_autofree char *checkpoints = g_build_filename(folder, "checkpoints", NULL),
                    *state = g_build_filename(folder, "state.json", NULL);
    return g_file_test(checkpoints, G_FILE_TEST_IS_DIR) || g_file_test(state, G_FILE_TEST_EXISTS);
}

static bool inspect_model(int argc, char **argv, GError **error)
{
    static const char usage[] = "loam inspect model FILE|HF-FOLDER [--json]";
    static const char about[] =
        "Prints the names and shapes of the tensors in a safetensors file, a file of torch.save (.bin, .pt), or a\n"
        "Hugging Face folder (also in shards).\n"
        "\n"
        "  loam inspect model hf-t5/\n";
    if (!cli_parse(&argc, &argv, entries, usage, about, error))
        return false;
    if (argc != 2)
        return fail_user(error, "one file or folder is wanted; usage: %s", usage);
    g_autofree char *word = text_shell_word(argv[1]);
    if (is_loam_folder(argv[1]))
        return fail_user(error, "%s is a run or a checkpoint of loam: loam inspect checkpoint %s shows what it holds",
                         argv[1], word);
    g_autoptr(TensorFile) file = weights_open(argv[1], error);
    if (file == NULL)
        return false;
    int64_t elements = 0;
    bool good = true;
    for (int i = 0; good && i < tensor_file_count(file); i++) {
        const FileTensor *tensor = tensor_file_get(file, i);
        uint64_t n = 1; /* may wrap around in a file with a dimension of 0, but then the product is 0 in the end */
        for (int d = 0; d < tensor->rank; d++)
            n *= (uint64_t)tensor->shape[d];
        elements += (int64_t)n;
        if (as_json)
            good = print_json_line(tensor_json(tensor), error);
        else
            print_tensor(tensor);
    }
    g_autofree char *count = text_grouped(elements);
    if (!as_json)
        printf("%d tensors, %s numbers\n", tensor_file_count(file), count);
    return good;
}

static const SubVerb sub_verbs[] = {
    { "dataset", inspect_dataset, "a token dataset: counts, lengths, tokenizer, first documents" },
    { "ngrams", inspect_ngrams, "what counting the training data predicts of held-out data" },
    { "batch", inspect_batch, "what the model sees at a step of a configuration" },
    { "checkpoint", inspect_checkpoint, "the contents of a checkpoint, after verifying it" },
    { "model", inspect_model, "the tensors of a safetensors file or a Hugging Face folder" },
};

bool verb_inspect(int argc, char **argv, GError **error)
{
    return cli_run_sub_verb(sub_verbs, G_N_ELEMENTS(sub_verbs), "inspect",
                            "loam inspect dataset data/train --documents 3", argc, argv, error);
}
