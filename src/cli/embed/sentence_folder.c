#include "cli/embed/sentence_folder.h"

#include "base/log.h"
#include "base/regular.h"
#include "text/tokenizer_json.h"

#include <string.h>

#define ASIDE "; --pooling KIND leaves modules.json aside"

/* The modes of the module Pooling. */
static const struct {
    const char *key, *name; /* the key of older files, the value of "pooling_mode" in newer ones */
    Pooling pooling;
} modes[] = {
    { "pooling_mode_cls_token", "cls", POOLING_FIRST },
    { "pooling_mode_mean_tokens", "mean", POOLING_MEAN },
    { "pooling_mode_max_tokens", "max", POOLING_MAX },
    { "pooling_mode_mean_sqrt_len_tokens", "mean_sqrt_len_tokens", POOLING_SQRT },
    { "pooling_mode_weightedmean_tokens", "weightedmean", POOLING_WEIGHTED },
    { "pooling_mode_lasttoken", "lasttoken", POOLING_LAST },
};

static bool read_pooling(const char *module, SentenceFolder *folder, GError **error)
{
    json_auto_t *root = NULL;
    int n = 0;
    if (!tokenizer_json_read(module, "config.json", &root, error))
        return false;
    const char *name = tokenizer_json_text(root, "pooling_mode");
    for (size_t i = 0; i < G_N_ELEMENTS(modes); i++)
        if (json_is_true(json_object_get(root, modes[i].key)) || strcmp(name, modes[i].name) == 0) {
            folder->pooling = modes[i].pooling;
            n++;
        }
    return n == 1 ||
           fail_user(error, "%s/config.json has %d modes of pooling that loam knows, want one" ASIDE, module, n);
}

static bool read_limits(const char *module, SentenceFolder *folder, GError **error)
{
    json_auto_t *root = NULL;
    if (!tokenizer_json_read(module, "sentence_bert_config.json", &root, error))
        return false;
    const json_t *most = json_object_get(root, "max_seq_length");
    folder->max_tokens = json_is_integer(most) && json_integer_value(most) > 0 ? json_integer_value(most) : 0;
    return !json_is_true(json_object_get(root, "do_lower_case")) ||
           fail_user(error, "sentence_bert_config.json has do_lower_case, which loam does not do: write the texts in "
                            "lower case and set it to false");
}

static bool read_module(const char *path, const json_t *entry, SentenceFolder *folder, GError **error)
{
    const char *type = tokenizer_json_text(entry, "type"), *dot = strrchr(type, '.'), *name = dot ? dot + 1 : type;
    g_autofree char *module = g_build_filename(path, tokenizer_json_text(entry, "path"), NULL);
    if (strcmp(name, "Transformer") == 0)
        return read_limits(module, folder, error);
    if (strcmp(name, "Pooling") == 0)
        return read_pooling(module, folder, error);
    folder->normalize = strcmp(name, "Normalize") == 0;
    return folder->normalize || fail_user(error, "%s/modules.json has the module %s, which loam does not have" ASIDE,
                                          path, *type ? type : "without a type");
}

/* A prompt that sentence-transformers puts before every text. */
static bool check_prompt(const char *path, GError **error)
{
    json_auto_t *root = NULL;
    if (!tokenizer_json_read(path, "config_sentence_transformers.json", &root, error))
        return false;
    const char *name = tokenizer_json_text(root, "default_prompt_name"),
               *prompt = tokenizer_json_text(json_object_get(root, "prompts"), name);
    if (*prompt)
        log_warning("%s: its default prompt \"%s\" is not put before the texts: write it into them", path, prompt);
    return true;
}

bool sentence_folder_read(const char *path, SentenceFolder *folder, GError **error)
{
    g_autofree char *file = g_build_filename(path, "modules.json", NULL);
    size_t bytes, i;
    json_error_t wrong;
    const json_t *entry;
    *folder = (SentenceFolder){ .found = g_file_test(file, G_FILE_TEST_EXISTS) };
    if (!folder->found)
        return true;
    g_autofree char *text = regular_read(file, 1 << 20, &bytes, error);
    json_auto_t *modules = text ? json_loadb(text, bytes, 0, &wrong) : NULL;
    if (text && !json_is_array(modules))
        return fail_user(error, "%s is no list of modules", file);
    json_array_foreach(modules, i, entry) if (!read_module(path, entry, folder, error)) return false;
    return text && check_prompt(path, error);
}
