#include "cli/embed/sentence_folder.h"

#include "base/log.h"
#include "model/hf/hf.h"
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

/* The content of FOLDER/NAME; NULL means that there is none. */
static const json_t *json_file(const json_t *files, const char *folder, const char *name)
{
    g_autofree char *path = g_build_filename(folder, name, NULL);
    return json_object_get(files, path);
}

static bool read_pooling(const json_t *root, const char *module, SentenceFolder *folder, GError **error)
{
    int n = 0;
    const char *name = tokenizer_json_text(root, "pooling_mode");
    for (size_t i = 0; i < G_N_ELEMENTS(modes); i++)
        if (json_is_true(json_object_get(root, modes[i].key)) || strcmp(name, modes[i].name) == 0) {
            folder->pooling = modes[i].pooling;
            n++;
        }
    return n == 1 ||
           fail_user(error, "%s/config.json has %d modes of pooling that loam knows, want one" ASIDE, module, n);
}

static bool read_limits(const json_t *root, SentenceFolder *folder, GError **error)
{
    const json_t *most = json_object_get(root, "max_seq_length");
    folder->max_tokens = json_is_integer(most) && json_integer_value(most) > 0 ? json_integer_value(most) : 0;
    return !json_is_true(json_object_get(root, "do_lower_case")) ||
           fail_user(error, HF_SENTENCE_LIMITS " has do_lower_case, which loam does not do: write the texts in lower "
                                               "case and set it to false");
}

static bool read_module(const json_t *files, const json_t *entry, SentenceFolder *folder, GError **error)
{
    const char *type = tokenizer_json_text(entry, "type"), *name = hf_sentence_module(entry),
               *module = tokenizer_json_text(entry, "path");
    if (strcmp(name, "Transformer") == 0)
        return read_limits(json_file(files, module, HF_SENTENCE_LIMITS), folder, error);
    if (strcmp(name, "Pooling") == 0)
        return read_pooling(json_file(files, module, "config.json"), module, folder, error);
    folder->normalize = strcmp(name, "Normalize") == 0;
    return folder->normalize || fail_user(error, "modules.json has the module %s, which loam does not have" ASIDE,
                                          *type ? type : "without a type");
}

/* A prompt that sentence-transformers puts before every text. */
static void warn_of_prompt(const json_t *root)
{
    const char *name = tokenizer_json_text(root, "default_prompt_name"),
               *prompt = tokenizer_json_text(json_object_get(root, "prompts"), name);
    if (*prompt)
        log_warning("the model's default prompt \"%s\" is not put before the texts: write it into them", prompt);
}

bool sentence_folder_read(const json_t *files, SentenceFolder *folder, GError **error)
{
    size_t i;
    const json_t *entry;
    *folder = (SentenceFolder){ 0 };
    json_array_foreach(json_object_get(files, "modules.json"), i,
                       entry) if (!read_module(files, entry, folder, error)) return false;
    warn_of_prompt(json_object_get(files, HF_SENTENCE_PROMPTS));
    return true;
}
