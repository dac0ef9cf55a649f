/* sentencepieces.json holds small models of SentencePiece, one a setting, and pipelines of Hugging Face's tokenizers,
 * with the ids that these libraries gave; bench/peers/sentencepieces.py --fixture makes it. */
#include "base/file.h"
#include "text/tokenizer.h"

#include <jansson.h>
#include <string.h>
#include <time.h>

#define FIXTURE LOAM_SOURCE_DIR "/tests/text/sentencepieces.json"

static char *folder;
static json_t *fixture;

static Tokenizer *open_or_fail(const char *path)
{
    g_autoptr(GError) error = NULL;
    Tokenizer *tok = tokenizer_open(path, &error);
    g_assert_no_error(error);
    return tok;
}

static Tokenizer *open_bytes(const char *name, const void *data, size_t bytes)
{
    g_autofree char *path = g_build_filename(folder, name, NULL);
    g_assert_true(io_write_file(path, data, bytes, NULL));
    return open_or_fail(path);
}

static Tokenizer *open_model(const json_t *row)
{
    gsize bytes;
    g_autofree guchar *data = g_base64_decode(json_string_value(json_object_get(row, "model")), &bytes);
    return open_bytes("spiece.model", data, bytes);
}

static GArray *encode(const Tokenizer *tok, const char *text, size_t bytes)
{
    GArray *ids = g_array_new(FALSE, FALSE, sizeof(int32_t));
    g_autoptr(GError) error = NULL;
    tokenizer_encode(tok, text, bytes, false, ids, &error);
    g_assert_no_error(error);
    return ids;
}

static void expect_ids(const Tokenizer *tok, const json_t *wanted, const char *name)
{
    size_t i, k;
    json_t *line, *id;
    json_array_foreach(json_object_get(fixture, "lines"), i, line)
    {
        const char *text = json_string_value(line);
        const json_t *list = json_array_get(wanted, i);
        g_autoptr(GArray) ids = encode(tok, text, strlen(text));
        bool same = ids->len == json_array_size(list);
        json_array_foreach(list, k, id) same = same && g_array_index(ids, int32_t, k) == json_integer_value(id);
        if (!same)
            g_error("%s: \"%s\" has other ids", name, text);
    }
}

static void ids_are_sentencepiece_s_for_every_setting(void)
{
    size_t i;
    json_t *row;
    json_array_foreach(json_object_get(fixture, "models"), i, row)
    {
        Tokenizer *tok = open_model(row);
        expect_ids(tok, json_object_get(row, "ids"), json_string_value(json_object_get(row, "name")));
        tokenizer_close(tok);
    }
    g_assert_cmpuint(i, >, 30);
}

static void an_export_encodes_alike_or_is_refused_by_name(void)
{
    g_autofree char *path = g_build_filename(folder, "tokenizer.json", NULL);
    size_t i;
    json_t *row;
    json_array_foreach(json_object_get(fixture, "models"), i, row)
    {
        const char *name = json_string_value(json_object_get(row, "name"));
        json_t *parts = json_object_get(row, "parts"), *refused = json_object_get(row, "refused");
        Tokenizer *tok = open_model(row);
        g_autoptr(GError) error = NULL;
        bool written = tokenizer_write_json(tok, path, NULL, &error);
        if (parts) { /* those with which tokenizers gave SentencePiece's ids */
            g_assert_no_error(error);
            json_t *root = json_load_file(path, 0, NULL);
            g_assert_true(json_equal(json_object_get(root, "normalizer"), json_object_get(parts, "normalizer")));
            g_assert_true(json_equal(json_object_get(root, "pre_tokenizer"), json_object_get(parts, "pre_tokenizer")));
            json_decref(root);
        } else {
            g_assert_false(written);
            g_assert_true(refused == NULL || g_str_has_suffix(error->message, json_string_value(refused)));
        }
        tokenizer_close(tok);
        if (parts && g_str_has_prefix(name, "unigram")) {
            tok = open_or_fail(path);
            expect_ids(tok, json_object_get(row, "ids"), name);
            tokenizer_close(tok);
        }
    }
}

static void a_unigram_tokenizer_json_is_read_as_tokenizers_read_it(void)
{
    size_t i;
    json_t *row;
    json_array_foreach(json_object_get(fixture, "tokenizers"), i, row)
    {
        const char *text = json_string_value(json_object_get(row, "json"));
        Tokenizer *tok = open_bytes("tokenizer.json", text, strlen(text));
        g_autofree char *name = g_strdup_printf("tokenizers[%zu]", i);
        expect_ids(tok, json_object_get(row, "ids"), name);
        tokenizer_close(tok);
    }
    g_assert_cmpuint(i, >=, 10);
}

/* ---- cost ---- */

static double cpu_seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

static double time_of(const Tokenizer *tok, const char *text, size_t bytes)
{
    double start = cpu_seconds();
    g_array_unref(encode(tok, text, bytes));
    return cpu_seconds() - start;
}

/* The least times of a few: other programs take the caches away at times. */
static void expect_growth(const Tokenizer *tok, const char *name, const char *text, size_t part, size_t whole)
{
    double few = 1e9, all = 1e9;
    for (int i = 0; i < 20 && all > 5 * few; i++) {
        few = MIN(few, time_of(tok, text, part));
        all = MIN(all, time_of(tok, text, whole));
    }
    if (all > 5 * few)
        g_error("%s, \"%.12s…\": %g s, four times as long %g s", name, text, few, all);
}

static void time_grows_with_the_length_of_a_run(void)
{
    static const char *const runs[] = { "漢字仮名", "\xcc\x81", "a", " ", "=", "the cat " };
    size_t i, bytes = (size_t)1 << 20;
    json_t *row;
    json_array_foreach(json_object_get(fixture, "models"), i, row)
    {
        Tokenizer *tok = open_model(row);
        for (size_t k = 0; k < G_N_ELEMENTS(runs) && i % 3 == 1;
             k++) { /* one of three ways with spaces: they are kept */
            g_autoptr(GString) text = g_string_sized_new(bytes + 16);
            while (text->len < bytes)
                g_string_append(text, runs[k]);
            size_t n = strlen(runs[k]);
            expect_growth(tok, json_string_value(json_object_get(row, "name")), text->str, text->len / 4 / n * n,
                          text->len);
        }
        tokenizer_close(tok);
    }
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    folder = g_dir_make_tmp("loam-sentencepiece-XXXXXX", NULL);
    fixture = json_load_file(FIXTURE, 0, NULL);
    g_assert_nonnull(fixture);
    g_test_add_func("/sentencepiece_encode/ids_are_sentencepiece_s_for_every_setting",
                    ids_are_sentencepiece_s_for_every_setting);
    g_test_add_func("/sentencepiece_encode/an_export_encodes_alike_or_is_refused_by_name",
                    an_export_encodes_alike_or_is_refused_by_name);
    g_test_add_func("/sentencepiece_encode/a_unigram_tokenizer_json_is_read_as_tokenizers_read_it",
                    a_unigram_tokenizer_json_is_read_as_tokenizers_read_it);
    g_test_add_func("/sentencepiece_encode/time_grows_with_the_length_of_a_run", time_grows_with_the_length_of_a_run);
    int status = g_test_run();
    json_decref(fixture);
    io_remove_tree(folder, NULL);
    g_free(folder);
    return status;
}
