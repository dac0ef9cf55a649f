#include "data/mixture.h"

#include "base/file.h"
#include "base/text.h"

#include <jansson.h>
#include <math.h>
#include <string.h>

#define MAX_BYTES ((size_t)1 << 20)
#define ENDING    "_weights.json"

bool language_weights_is(const char *option)
{
    return g_str_has_suffix(option, ".json") && !strchr(option, ',');
}

static json_t *read_weights(const char *path, GError **error)
{
    size_t bytes;
    json_error_t reason;
    g_autofree char *text = io_read_file(path, MAX_BYTES, &bytes, error);
    if (!text)
        return NULL;
    json_t *root = json_loadb(text, bytes, JSON_REJECT_DUPLICATES, &reason);
    const char *language;
    json_t *weight;
    bool good = json_is_object(root) && json_object_size(root) > 0;
    if (!root)
        fail_user(error, "%s: line %d: %s", path, reason.line, reason.text);
    else if (json_object_get(root, "tokenizer"))
        good = fail_user(error, "%s is a file of a dataset, which is named without suffix: %.*s", path,
                         (int)(strlen(path) - strlen(".json")), path);
    else if (!good)
        fail_user(error, "%s: no object of languages and their weights, such as {\"python\": 0.6, \"text\": 0.4}",
                  path);
    json_object_foreach(good ? root : NULL, language, weight)
    {
        bool is_name = *language && !strpbrk(language, "/:,") && strcmp(language, "..") != 0;
        if (good && (!is_name || !json_is_number(weight) || !(json_number_value(weight) > 0) ||
                     !isfinite(json_number_value(weight))))
            good = fail_user(error, "%s: \"%s\": a language and a weight above 0 are wanted", path, language);
    }
    if (!good)
        g_clear_pointer(&root, json_decref);
    return root;
}

/* The path prefix of the dataset of a language. g_free. */
static char *dataset_path(const char *path, const char *language, bool valid)
{
    g_autofree char *folder = g_path_get_dirname(path), *name = g_path_get_basename(path);
    if (strcmp(name, "data" ENDING) == 0) {
        g_autofree char *index = g_build_filename(folder, language, "train.idx", NULL);
        if (g_file_test(index, G_FILE_TEST_EXISTS))
            return g_build_filename(folder, language, valid ? "valid" : "train", NULL);
    }
    size_t stem = strlen(path) - (g_str_has_suffix(path, ENDING) ? strlen(ENDING) : strlen(".json"));
    return g_strdup_printf("%.*s_%s%s", (int)stem, path, language, valid ? "-valid" : "");
}

char *language_weights_list(const char *path, bool valid, GError **error)
{
    json_auto_t *root = read_weights(path, error);
    json_t *weight;
    const char *language;
    if (!root)
        return NULL;
    GString *list = g_string_new(NULL);
    json_object_foreach(root, language, weight)
    {
        g_autofree char *dataset = dataset_path(path, language, valid), *index = g_strconcat(dataset, ".idx", NULL),
                        *number = text_number(json_number_value(weight));
        const char *comma = list->len ? "," : "";
        const bool several = json_object_size(root) > 1;
        if (valid && g_file_test(index, G_FILE_TEST_EXISTS))
            g_string_append_printf(list, "%svalid_%s:%s", comma, language, dataset);
        else if (!valid)
            g_string_append_printf(list, "%s%s%s%s", comma, dataset, several ? ":" : "", several ? number : "");
    }
    if (list->len > 0)
        return g_string_free(list, false);
    g_string_free(list, true);
    return fail_user(error, "%s: no language has a held-out set beside it; loam prepare --valid 1%% makes them", path);
}
