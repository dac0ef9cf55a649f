/* The ids that transformers gives for settings beside a tokenizer's files (tools/make-settings.py). */
#include "base/file.h"
#include "golden.h"
#include "text/tokenizer.h"

#include <glib/gstdio.h>
#include <jansson.h>
#include <string.h>

static void put(const char *folder, const char *name, const json_t *content)
{
    g_autofree char *path = g_build_filename(folder, name, NULL);
    g_assert_cmpint(json_dump_file(content, path, 0), ==, 0);
}

/* Replaces keys of a JSON file. */
static void update(const char *folder, const char *name, json_t *keys)
{
    g_autofree char *path = g_build_filename(folder, name, NULL);
    json_auto_t *root = json_object_size(keys) > 0 ? json_load_file(path, 0, NULL) : NULL;
    if (root) {
        json_object_update(root, keys);
        put(folder, name, root);
    }
}

/* Makes the folder of a case. */
static char *make_folder(const json_t *each)
{
    GError *error = NULL;
    size_t i;
    const char *name;
    json_t *file, *content;
    char *folder = g_dir_make_tmp("loam-settings-XXXXXX", &error);
    g_assert_no_error(error);
    json_array_foreach(json_object_get(each, "files"), i, file)
    {
        g_autofree char *from = g_strdup_printf("%s%s/%s", GOLDEN, json_string_value(json_object_get(each, "base")),
                                                json_string_value(file));
        g_autofree char *to = g_build_filename(folder, json_string_value(file), NULL), *data = NULL;
        gsize bytes;
        g_assert_true(g_file_get_contents(from, &data, &bytes, NULL));
        g_assert_true(g_file_set_contents(to, data, (gssize)bytes, NULL));
    }
    update(folder, "tokenizer.json", json_object_get(each, "json"));
    update(folder, "vocab.json", json_object_get(each, "vocab"));
    json_object_foreach(json_object_get(each, "settings"), name, content) put(folder, name, content);
    return folder;
}

static bool ids_equal(const GArray *ids, const json_t *wanted)
{
    bool same = ids->len == json_array_size(wanted);
    for (guint i = 0; same && i < ids->len; i++)
        same = g_array_index(ids, int32_t, i) == json_integer_value(json_array_get(wanted, i));
    return same;
}

/* Returns the number of texts whose ids differ from those of transformers. */
static int count_differences(const Tokenizer *tok, const json_t *texts, const json_t *wanted)
{
    int n = 0;
    size_t i;
    const json_t *text;
    json_array_foreach(texts, i, text)
    {
        g_autoptr(GArray) ids = g_array_new(FALSE, FALSE, sizeof(int32_t));
        GError *error = NULL;
        const char *string = json_string_value(text);
        tokenizer_encode(tok, string, strlen(string), true, ids, &error);
        g_assert_no_error(error);
        if (ids_equal(ids, json_array_get(wanted, i)))
            continue;
        n++;
        g_autoptr(GString) got = g_string_new(NULL);
        for (guint id = 0; id < ids->len; id++)
            g_string_append_printf(got, " %d", g_array_index(ids, int32_t, id));
        g_test_message("differs: \"%s\" is%s", string, got->str);
    }
    return n;
}

/* The texts of a case: its own, or those of all. */
static const json_t *texts_of(const json_t *root, const json_t *each)
{
    const json_t *own = json_object_get(each, "texts");
    return own ? own : json_object_get(root, "texts");
}

/* Whether the first two texts of a case with texts of its own are framed as a pair by transformers. */
static bool pair_is_framed(const Tokenizer *tok, const json_t *each)
{
    const json_t *wanted = json_object_get(each, "pair"), *ids = json_object_get(each, "ids");
    const TextFrame *frame = tokenizer_frame(tok);
    const FrameTokens *around[] = { &frame->before, &frame->between, &frame->last };
    g_autoptr(GArray) got = g_array_new(FALSE, FALSE, sizeof(int32_t));
    for (size_t part = 0; part < G_N_ELEMENTS(around); part++) {
        size_t i;
        json_t *id;
        frame_append(got, around[part]);
        json_array_foreach(part < 2 ? json_array_get(ids, part) : NULL, i, id)
        {
            const int32_t value = (int32_t)json_integer_value(id);
            g_array_append_val(got, value);
        }
    }
    return wanted == NULL || ids_equal(got, wanted);
}

/* Without its spaces, which loam and transformers put differently beside added tokens, and without the special token,
 * which some kinds keep. */
static char *squeezed(const char *text)
{
    g_autoptr(GString) rest = g_string_new(text);
    g_string_replace(rest, " ", "", 0);
    g_string_replace(rest, "<end>", "", 0);
    return g_strdup(rest->str);
}

/* Returns the number of texts that the ids of transformers are decoded to differently, of a case that has them. */
static int count_other_texts(const Tokenizer *tok, const json_t *each)
{
    int n = 0;
    size_t i, k;
    json_t *wanted, *id;
    json_array_foreach(json_object_get(each, "decoded"), i, wanted)
    {
        g_autoptr(GArray) ids = g_array_new(FALSE, FALSE, sizeof(int32_t));
        json_array_foreach(json_array_get(json_object_get(each, "ids"), i), k, id)
        {
            const int32_t value = (int32_t)json_integer_value(id);
            g_array_append_val(ids, value);
        }
        g_autofree char *text = tokenizer_decode(tok, (const int32_t *)(void *)ids->data, ids->len, NULL),
                        *got = squeezed(text), *want = squeezed(json_string_value(wanted));
        const bool exact = strcmp(tokenizer_kind(tok), "unigram") == 0 || strcmp(tokenizer_kind(tok), "char-bpe") == 0;
        if (exact ? strcmp(text, json_string_value(wanted)) == 0
                  : g_ascii_strcasecmp(got, want) == 0) /* a WordPiece may write its added tokens in lower case */
            continue;
        n++;
        g_test_message("decoded: \"%s\", not \"%s\"", text, json_string_value(wanted));
    }
    return n;
}

static bool check_case(const json_t *each, const json_t *texts)
{
    GError *error = NULL;
    g_autofree char *folder = make_folder(each);
    g_autoptr(Tokenizer) tok = tokenizer_open(folder, &error);
    if (tok)
        g_assert_true(tokenizer_set_blanks(tok, "transformers", &error));
    int wrong = tok ? count_differences(tok, texts, json_object_get(each, "ids")) + !pair_is_framed(tok, each) +
                          count_other_texts(tok, each)
                    : -1;
    if (wrong != 0) {
        char *settings = json_dumps(json_object_get(each, "settings"), JSON_COMPACT);
        char *files = json_dumps(json_object_get(each, "files"), JSON_COMPACT);
        char *parts = json_dumps(json_object_get(each, "json"), JSON_COMPACT);
        g_test_message("%d of %zu texts differ: %s %s %s %s %s", wrong, json_array_size(texts),
                       json_string_value(json_object_get(each, "base")), files, settings, parts,
                       error ? error->message : "");
        free(settings);
        free(files);
        free(parts);
    }
    g_clear_error(&error);
    g_assert_true(io_remove_tree(folder, NULL));
    return wrong == 0;
}

static void settings_give_the_ids_of_transformers(void)
{
    json_auto_t *root = json_load_file(GOLDEN "settings.json", 0, NULL);
    json_t *cases = json_object_get(root, "cases"), *each;
    size_t i, right = 0;
    g_assert_cmpuint(json_array_size(cases), >, 100);
    json_array_foreach(cases, i, each) right += check_case(each, texts_of(root, each));
    g_assert_cmpuint(right, ==, json_array_size(cases));
}

/* Added tokens that are found in the normalized text end at bytes of the text itself. */
static void ends_are_those_of_the_text_that_is_not_normalized(void)
{
    static const uint32_t wanted[][8] = { { 3, 5, 6, 12, 14 }, { 1, 2, 8, 10, 11, 17, 17, 18 } };
    json_auto_t *root = json_load_file(GOLDEN "settings.json", 0, NULL);
    json_t *each, *found = NULL;
    size_t i;
    json_array_foreach(json_object_get(root, "cases"), i, each)
    {
        const bool has_json = json_object_size(json_object_get(each, "json")) > 0 && json_object_get(each, "decoded");
        if (found == NULL && has_json && strcmp(json_string_value(json_object_get(each, "base")), "unigram") == 0)
            found = each;
    }
    g_assert_nonnull(found);
    GError *error = NULL;
    g_autofree char *folder = make_folder(found);
    g_autoptr(Tokenizer) tok = tokenizer_open(folder, &error);
    g_assert_no_error(error);
    for (i = 0; i < G_N_ELEMENTS(wanted); i++) {
        g_autoptr(GArray) ids = g_array_new(FALSE, FALSE, sizeof(int32_t)),
                          ends = g_array_new(FALSE, FALSE, sizeof(uint32_t));
        const char *text = json_string_value(json_array_get(json_object_get(found, "texts"), i));
        tokenizer_encode_ends(tok, text, strlen(text), true, ids, ends, &error);
        g_assert_no_error(error);
        g_assert_true(ids_equal(ids, json_array_get(json_object_get(found, "ids"), i)));
        g_assert_cmpuint(ends->len, ==, ids->len);
        g_assert_true(memcmp(ends->data, wanted[i], ids->len * sizeof **wanted) == 0);
    }
    g_assert_true(io_remove_tree(folder, NULL));
}

/* tokenizer.json has a normalizer that cannot be read. */
static void the_next_file_is_read_if_the_first_cannot_be(void)
{
    GError *error = NULL;
    json_auto_t *each = json_pack("{s:s, s:[s, s], s:{s:{s:s}}}", "base", "llama", "files", "tokenizer.json",
                                  "tokenizer.model", "json", "normalizer", "type", "Nmt");
    g_autofree char *folder = make_folder(each);
    g_autoptr(Tokenizer) tok = tokenizer_open(folder, &error);
    g_assert_no_error(error);
    g_assert_cmpstr(tokenizer_kind(tok), ==, "sentencepiece-bpe");
    g_autoptr(Tokenizer) opened = NULL;
    g_autofree char *found = tokenizer_find(folder, &opened, &error);
    g_assert_true(g_str_has_suffix(found, "/tokenizer.model"));
    g_assert_cmpstr(tokenizer_path(opened), ==, found);
    g_assert_cmpstr(tokenizer_hash(opened), ==, tokenizer_hash(tok));
    g_assert_true(io_remove_tree(folder, NULL));
}

/* A vocab.json does not say how a text is split into words, so it is not read in place of a tokenizer.json. */
static void a_vocabulary_does_not_stand_in_for_a_tokenizer_json(void)
{
    GError *error = NULL;
    json_auto_t *each = json_pack("{s:s, s:[s, s, s], s:{s:{s:s}}}", "base", "byte-bpe", "files", "tokenizer.json",
                                  "vocab.json", "merges.txt", "json", "normalizer", "type", "Nmt");
    g_autofree char *folder = make_folder(each);
    g_assert_null(tokenizer_open(folder, &error));
    g_assert_nonnull(strstr(error->message, "normalizer is Nmt"));
    g_clear_error(&error);
    g_assert_true(io_remove_tree(folder, NULL));
}

/* Fails to open a byte-level tokenizer.json beside which this token has this id. */
static void refuse_id(const char *content, const char *id, const char *message)
{
    GError *error = NULL;
    json_auto_t *each = json_pack("{s:s, s:[s], s:{s:{s:{s:{s:s}}}}}", "base", "byte-bpe", "files", "tokenizer.json",
                                  "settings", "tokenizer_config.json", "added_tokens_decoder", id, "content", content);
    g_autofree char *folder = make_folder(each);
    g_assert_null(tokenizer_open(folder, &error));
    g_assert_nonnull(strstr(error->message, message));
    g_clear_error(&error);
    g_assert_true(io_remove_tree(folder, NULL));
}

/* transformers would ignore such an id. */
static void an_id_that_the_tokenizer_json_gives_another_token_is_refused(void)
{
    refuse_id("<o>", "899", "\"<o>\" the id 899, which is that of");
    refuse_id("<|endoftext|>", "905", "\"<|endoftext|>\" the id 905, but it has the id ");
}

/* A copy of a tokenizer, and its tokenizer.json for PreTrainedTokenizerFast, keep what its class makes of the
 * settings. */
static void copies_and_exports_split_as_the_class_does(void)
{
    GError *error = NULL;
    json_auto_t *root = json_load_file(GOLDEN "settings.json", 0, NULL);
    json_t *each;
    size_t i;
    json_array_foreach(json_object_get(root, "cases"), i, each)
    {
        g_autofree char *folder = make_folder(each), *copy = g_dir_make_tmp("loam-copy-XXXXXX", NULL),
                        *json = g_build_filename(copy, "tokenizer.json", NULL);
        g_autoptr(Tokenizer) tok = tokenizer_open(folder, &error);
        g_assert_true(tokenizer_set_blanks(tok, "transformers", &error));
        g_assert_true(tokenizer_copy(tok, copy, &error));
        g_autoptr(Tokenizer) same = tokenizer_open(copy, &error);
        g_assert_no_error(error);
        g_assert_cmpstr(tokenizer_hash(same), ==, tokenizer_hash(tok));
        g_assert_cmpint(count_differences(same, texts_of(root, each), json_object_get(each, "ids")), ==, 0);
        g_assert_true(pair_is_framed(same, each));
        g_assert_true(io_remove_tree(copy, NULL) && g_mkdir(copy, 0700) == 0);
        g_assert_true(tokenizer_write_json(tok, json, NULL, &error));
        g_autoptr(Tokenizer) written = tokenizer_open(copy, &error);
        g_assert_no_error(error);
        g_assert_true(tokenizer_set_blanks(written, "transformers", &error));
        g_assert_cmpint(count_differences(written, texts_of(root, each), json_object_get(each, "ids")), ==, 0);
        g_assert_true(io_remove_tree(folder, NULL) && io_remove_tree(copy, NULL));
    }
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/settings/settings_give_the_ids_of_transformers", settings_give_the_ids_of_transformers);
    g_test_add_func("/settings/ends_are_those_of_the_text_that_is_not_normalized",
                    ends_are_those_of_the_text_that_is_not_normalized);
    g_test_add_func("/settings/the_next_file_is_read_if_the_first_cannot_be",
                    the_next_file_is_read_if_the_first_cannot_be);
    g_test_add_func("/settings/a_vocabulary_does_not_stand_in_for_a_tokenizer_json",
                    a_vocabulary_does_not_stand_in_for_a_tokenizer_json);
    g_test_add_func("/settings/an_id_that_the_tokenizer_json_gives_another_token_is_refused",
                    an_id_that_the_tokenizer_json_gives_another_token_is_refused);
    g_test_add_func("/settings/copies_and_exports_split_as_the_class_does", copies_and_exports_split_as_the_class_does);
    return g_test_run();
}
