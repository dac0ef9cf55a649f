/* Which characters of a text a token stands for, against Hugging Face's tokenizers (tools/make-token-ranges.py). */
#include "data/task/task.h"

#include "golden.h"

#include "base/file.h"
#include <jansson.h>
#include <string.h>

static Tokenizer *open_case(const json_t *each)
{
    GError *error = NULL;
    g_autofree char *from = g_build_filename(GOLDEN, json_string_value(json_object_get(each, "base")), "tokenizer.json",
                                             NULL),
                    *folder = g_dir_make_tmp("loam-ranges-XXXXXX", NULL),
                    *to = g_build_filename(folder, "tokenizer.json", NULL);
    json_auto_t *root = json_load_file(from, 0, NULL);
    json_t *normalizer = json_object_get(each, "normalizer");
    if (json_is_object(normalizer))
        json_object_set(root, "normalizer", normalizer);
    g_assert_cmpint(json_dump_file(root, to, 0), ==, 0);
    Tokenizer *tok = tokenizer_open(folder, &error);
    g_assert_no_error(error);
    g_assert_true(io_remove_tree(folder, NULL));
    return tok;
}

/* A span of the library without white space at its ends: [*begin, *end). Before `least`, a zero-width space that a
 * normalizer made a space is one. */
static void trim_span(const char *text, const json_t *span, uint32_t least, uint32_t *begin, uint32_t *end)
{
    *begin = (uint32_t)json_integer_value(json_array_get(span, 0));
    *end = (uint32_t)json_integer_value(json_array_get(span, 1));
    while (*begin < *end && g_ascii_isspace(text[*begin]))
        ++*begin;
    while (*begin < least && g_str_has_prefix(text + *begin, "\xe2\x80\x8b"))
        *begin += 3;
    while (*begin < *end && g_ascii_isspace(text[*end - 1]))
        --*end;
}

static int count_differences(const Tokenizer *tok, const char *name, const json_t *each)
{
    const char *text = json_string_value(json_object_get(each, "text"));
    const json_t *spans = json_object_get(each, "spans"), *wanted = json_object_get(each, "ids");
    g_autoptr(GArray) ids = g_array_new(false, false, sizeof(int32_t)),
                      ranges = g_array_new(false, false, sizeof(TokenRange));
    GError *error = NULL;
    int wrong = 0;
    token_ranges_encode(tok, text, ids, ranges, &error);
    g_assert_no_error(error);
    g_assert_cmpuint(ids->len, ==, json_array_size(wanted));
    g_assert_cmpuint(ranges->len, ==, ids->len);
    for (guint i = 0; i < ids->len; i++) {
        const TokenRange *token = &g_array_index(ranges, TokenRange, i);
        uint32_t begin, end, stop = token->end;
        g_assert_cmpint(g_array_index(ids, int32_t, i), ==, json_integer_value(json_array_get(wanted, i)));
        trim_span(text, json_array_get(spans, i), token->begin, &begin, &end);
        while (stop > end && g_unichar_ismark(g_utf8_get_char(g_utf8_prev_char(text + stop))))
            stop = (uint32_t)(g_utf8_prev_char(text + stop) - text);
        if (begin == end || token->begin == token->end || (token->begin == begin && stop == end))
            continue;
        g_test_message("%s: \"%s\": token %u is bytes %u to %u, the library's %u to %u", name, text, i, token->begin,
                       token->end, begin, end);
        wrong++;
    }
    return wrong;
}

static void tokens_stand_for_the_characters_that_the_library_says(void)
{
    json_auto_t *cases = json_load_file(GOLDEN "token-ranges.json", 0, NULL);
    json_t *each, *text;
    size_t i, j;
    int wrong = 0;
    g_assert_cmpuint(json_array_size(cases), >, 3);
    json_array_foreach(cases, i, each)
    {
        g_autoptr(Tokenizer) tok = open_case(each);
        json_array_foreach(json_object_get(each, "texts"), j, text) wrong +=
            count_differences(tok, json_string_value(json_object_get(each, "base")), text);
    }
    g_assert_cmpint(wrong, ==, 0);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/token_ranges/tokens_stand_for_the_characters_that_the_library_says",
                    tokens_stand_for_the_characters_that_the_library_says);
    return g_test_run();
}
