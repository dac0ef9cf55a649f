/* sentence.c: the files of sentence-transformers beside a model, which say how a text's hidden states become its
 * vector. TokenRoles.sentence holds them. */
#include "base/file.h"
#include "base/log.h"
#include "model/hf/config_json.h"
#include "model/hf/hf.h"
#include "text/tokenizer_json.h"

#include <string.h>

#define LIST      "modules.json"
#define MOST_LIST (1 << 20)

/* Names of the file with the limits of a Transformer; sentence-transformers takes the first that is there. */
static const char *const limits[] = { HF_SENTENCE_LIMITS,
                                      "sentence_roberta_config.json",
                                      "sentence_distilbert_config.json",
                                      "sentence_camembert_config.json",
                                      "sentence_albert_config.json",
                                      "sentence_xlm-roberta_config.json",
                                      "sentence_xlnet_config.json" };

const char *hf_sentence_module(const json_t *module)
{
    const char *type = json_text(module, "type"), *dot = strrchr(type, '.');
    return dot ? dot + 1 : type;
}

/* Adds a file to `files`, as `name`, unless it is there already or the folder lacks it. */
static bool take_module(const char *folder, const char *file, const char *name, json_t *files, GError **error)
{
    json_t *content = NULL;
    if (json_object_get(files, name) == NULL && !tokenizer_json_read(folder, file, &content, error))
        return false;
    if (content)
        json_object_set_new(files, name, content);
    return true;
}

/* The folder of a module below the model's; "" is the model's own. */
static bool is_below(const char *path)
{
    return *path != '/' && strstr(path, "..") == NULL;
}

static bool read_module(const char *folder, const json_t *module, json_t *files, GError **error)
{
    const char *path = json_text(module, "path");
    if (!is_below(path))
        return fail_user(error, "%s/" LIST " has the module in \"%s\", which is no folder below it", folder, path);
    bool transformer = strcmp(hf_sentence_module(module), "Transformer") == 0;
    g_autofree char *config = g_build_filename(path, "config.json", NULL),
                    *limit = g_build_filename(path, HF_SENTENCE_LIMITS, NULL);
    for (size_t i = 0; transformer && i < G_N_ELEMENTS(limits); i++) {
        g_autofree char *file = g_build_filename(path, limits[i], NULL);
        if (!take_module(folder, file, limit, files, error))
            return false;
    }
    return transformer || take_module(folder, config, config, files, error);
}

/* Without a max_seq_length the tokenizer's model_max_length counts; 10^30 there means that there is none. */
static bool take_length(const char *folder, json_t *files, GError **error)
{
    json_auto_t *settings = NULL;
    json_t *own = json_object_get(files, HF_SENTENCE_LIMITS);
    if (json_is_integer(json_object_get(own, "max_seq_length")))
        return true;
    if (!tokenizer_json_read(folder, "tokenizer_config.json", &settings, error))
        return false;
    json_t *length = json_object_get(settings, "model_max_length");
    if (own == NULL)
        json_object_set_new(files, HF_SENTENCE_LIMITS, own = json_object());
    if (json_is_integer(length))
        json_object_set(own, "max_seq_length", length);
    return true;
}

bool hf_sentence_read(const char *folder, json_t **sentence, GError **error)
{
    g_autofree char *path = g_build_filename(folder, LIST, NULL);
    size_t bytes, i;
    const json_t *module;
    if (!g_file_test(path, G_FILE_TEST_EXISTS))
        return true;
    g_autofree char *text = io_read_regular(path, MOST_LIST, &bytes, error);
    json_auto_t *list = text ? json_loadb(text, bytes, 0, NULL) : NULL, *files = json_object();
    if (!json_is_array(list))
        return text && fail_user(error, "%s is no list of modules", path);
    json_object_set(files, LIST, list);
    json_array_foreach(list, i, module) if (!read_module(folder, module, files, error)) return false;
    if (!take_length(folder, files, error) ||
        !take_module(folder, HF_SENTENCE_PROMPTS, HF_SENTENCE_PROMPTS, files, error))
        return false;
    json_decref(*sentence);
    *sentence = json_incref(files);
    return true;
}

/* A module whose files an export has. */
static bool is_whole_module(const json_t *module)
{
    const char *name = hf_sentence_module(module);
    return strcmp(name, "Transformer") == 0 ? *json_text(module, "path") == '\0'
                                            : strcmp(name, "Pooling") == 0 || strcmp(name, "Normalize") == 0;
}

bool hf_sentence_write(const char *folder, const json_t *sentence, GError **error)
{
    size_t i;
    const char *name;
    json_t *module, *content, *files = (json_t *)(uintptr_t)sentence;
    json_array_foreach(json_object_get(sentence, LIST), i, module) if (!is_whole_module(module))
    {
        log_warning(LIST " is left out: it has the module %s, which an export does not have",
                    json_text(module, "type"));
        return true;
    }
    json_object_foreach(files, name, content)
    {
        g_autofree char *path = g_build_filename(folder, name, NULL), *parent = g_path_get_dirname(path);
        if (!is_below(name))
            return fail_user(error, "\"%s\" is no file of a folder of sentence-transformers", name);
        if (!io_make_directories(parent, error) || !hf_write_object(folder, name, json_incref(content), error) ||
            !io_sync_directory(parent, error))
            return false;
    }
    return true;
}
