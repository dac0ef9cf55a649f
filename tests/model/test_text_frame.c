/* The ids of texts in their frame are those of transformers with its defaults (tools/make-frames.py). */
#include "base/file.h"
#include "golden.h"
#include "model/special_tokens/special_tokens.h"

#include <glib/gstdio.h>
#include <string.h>

static json_t *cases;

/* Puts the added tokens of a case in place of those of a tokenizer.json with the same ids. */
static void add_tokens(json_t *root, const json_t *tokens)
{
    json_t *list = json_object_get(root, "added_tokens"), *token, *old;
    size_t i, at;
    json_array_foreach(tokens, i, token)
    {
        json_array_foreach(list, at, old) if (json_equal(json_object_get(old, "id"), json_object_get(token, "id")))
            json_array_remove(list, at--);
    }
    json_array_extend(list, (json_t *)(uintptr_t)tokens);
}

static void put(const char *folder, const char *name, const json_t *root)
{
    g_autofree char *path = g_build_filename(folder, name, NULL);
    g_assert_cmpint(json_dump_file(root, path, 0), ==, 0);
}

static void copy(const char *folder, const json_t *c, const char *name)
{
    g_autofree char *from = g_strconcat(GOLDEN, json_string_value(json_object_get(c, "base")), "/", name, NULL),
                    *to = g_build_filename(folder, name, NULL), *data = NULL;
    gsize bytes;
    g_assert_true(g_file_get_contents(from, &data, &bytes, NULL) && g_file_set_contents(to, data, (gssize)bytes, NULL));
    if (strcmp(name, "tokenizer.json") != 0)
        return;
    json_auto_t *root = json_load_file(from, 0, NULL);
    if (json_object_get(c, "post_processor"))
        json_object_set(root, "post_processor", json_object_get(c, "post_processor"));
    add_tokens(root, json_object_get(c, "added"));
    put(folder, name, root);
}

static Tokenizer *open_case(const char *folder, const json_t *c)
{
    GError *error = NULL;
    size_t i;
    json_t *name;
    json_array_foreach(json_object_get(c, "files"), i, name) copy(folder, c, json_string_value(name));
    put(folder, "tokenizer_config.json", json_object_get(c, "config"));
    Tokenizer *tok = tokenizer_open(folder, &error);
    g_assert_no_error(error);
    return tok;
}

static void append(const Tokenizer *tok, const json_t *text, GArray *ids)
{
    const char *words = json_string_value(text);
    g_assert_true(tokenizer_encode(tok, words, strlen(words), true, ids, NULL));
}

static void expect(const GArray *ids, const json_t *want, const char *name)
{
    json_auto_t *got = json_array();
    for (guint i = 0; i < ids->len; i++)
        json_array_append_new(got, json_integer(g_array_index(ids, int32_t, i)));
    if (!json_equal(got, want))
        g_error("%s: %s, not %s", name, json_dumps(got, 0), json_dumps(want, 0));
}

static ModelConfig model_of(const char *preset)
{
    GError *error = NULL;
    ModelConfig config = { 0 };
    g_autoptr(GPtrArray) settings = option_settings_new();
    options_set_defaults(&model_table, &config);
    g_assert_true(model_preset_settings(preset, settings, &error));
    g_assert_true(options_apply(&model_table, &config, settings, &error));
    return config;
}

static void check_case(const json_t *c, const char *folder)
{
    const char *name = json_string_value(json_object_get(c, "name"));
    const json_t *texts = json_object_get(c, "texts"), *single = json_object_get(c, "single"),
                 *pair = json_object_get(c, "pair");
    g_autoptr(Tokenizer) tok = open_case(folder, c);
    ModelConfig config = model_of(json_string_value(json_object_get(c, "preset")));
    const TextFrame frame = model_text_frame(&config, tok);
    g_autoptr(GArray) ids = g_array_new(false, false, sizeof(int32_t));
    for (size_t i = 0; i < json_array_size(texts); i++) {
        g_array_set_size(ids, 0);
        frame_append(ids, &frame.before);
        append(tok, json_array_get(texts, i), ids);
        frame_append(ids, &frame.after);
        expect(ids, json_array_get(single, i), name);
    }
    g_array_set_size(ids, 0);
    frame_append(ids, &frame.before);
    append(tok, json_array_get(texts, 0), ids);
    frame_append(ids, &frame.between);
    append(tok, json_array_get(texts, 1), ids);
    frame_append(ids, &frame.last);
    if (pair)
        expect(ids, pair, name);
    options_clear(&model_table, &config);
}

static void texts_are_framed_as_transformers_frames_them(void)
{
    GError *error = NULL;
    for (size_t i = 0; i < json_array_size(cases); i++) {
        g_autofree char *folder = g_dir_make_tmp("loam-frame-XXXXXX", &error);
        g_assert_no_error(error);
        check_case(json_array_get(cases, i), folder);
        io_remove_tree(folder, NULL);
    }
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    cases = json_load_file(GOLDEN "frames.json", 0, NULL);
    g_assert_cmpuint(json_array_size(cases), ==, 12);
    g_test_add_func("/text_frame/texts_are_framed_as_transformers_frames_them",
                    texts_are_framed_as_transformers_frames_them);
    int status = g_test_run();
    json_decref(cases);
    return status;
}
