#include "base/file.h"
#include "text/tokenizer.h"

#include <glib/gstdio.h>
#include <string.h>

static char *scratch;
static Tokenizer *tok; /* its ids: [UNK] 0, [CLS] 1, [SEP] 2, <s> 3, </s> 4, a 5 */

static void put(const char *name, const char *text)
{
    GError *error = NULL;
    g_autofree char *path = g_build_filename(scratch, name, NULL);
    if (text)
        io_write_file(path, text, strlen(text), &error);
    else
        io_remove_tree(path, &error);
    g_assert_no_error(error);
}

static char *ids_text(const FrameTokens *tokens)
{
    GString *text = g_string_new(NULL);
    for (int32_t i = 0; i < tokens->n; i++)
        g_string_append_printf(text, "%d", tokens->ids[i]);
    return g_string_free(text, false);
}

/* want: ids before and after a text, between the texts of a pair and after it, with '|' between. */
static void expect(const TextFrame *frame, const char *want)
{
    g_autofree char *before = ids_text(&frame->before), *after = ids_text(&frame->after),
                    *between = ids_text(&frame->between), *last = ids_text(&frame->last),
                    *got = g_strjoin("|", before, after, between, last, NULL);
    g_assert_cmpstr(got, ==, want);
}

#define PIECE(name) "{\"SpecialToken\": {\"id\": \"" name "\", \"type_id\": 0}}"
#define TEXT(name)  "{\"Sequence\": {\"id\": \"" name "\", \"type_id\": 0}}"
#define TEMPLATE(single, pair)                                                                                         \
    "{\"type\": \"TemplateProcessing\", \"single\": [" single "], \"pair\": [" pair "], \"special_tokens\": {"         \
    "\"both\": {\"id\": \"both\", \"ids\": [3, 1], \"tokens\": [\"<s>\", \"[CLS]\"]}}}"
#define LLAMA TEMPLATE(PIECE("<s>") ", " TEXT("A"), PIECE("<s>") ", " TEXT("A") ", " PIECE("<s>") ", " TEXT("B"))
#define T5    TEMPLATE(TEXT("A") ", " PIECE("</s>"), TEXT("A") ", " PIECE("</s>") ", " TEXT("B") ", " PIECE("</s>"))

static const struct {
    const char *processor, *want;
} cases[] = {
    { "null", "|||" },
    { "{\"type\": \"ByteLevel\"}", "|||" },
    { LLAMA, "3||3|" },
    { T5, "|4|4|4" },
    { TEMPLATE(PIECE("both") ", " TEXT("A"), ""), "31|||" },
    { TEMPLATE(PIECE("<none>") ", " TEXT("A"), TEXT("A") ", " TEXT("B")), "|||" },
    { "{\"type\": \"BertProcessing\", \"sep\": [\"[SEP]\", 2], \"cls\": [\"[CLS]\", 1]}", "1|2|2|2" },
    { "{\"type\": \"RobertaProcessing\", \"sep\": [\"</s>\", 4], \"cls\": [\"<s>\", 3]}", "3|4|44|4" },
    { "{\"type\": \"Sequence\", \"processors\": [{\"type\": \"ByteLevel\"}, " LLAMA "]}", "3||3|" },
    { "{\"type\": \"Sequence\", \"processors\": [{\"type\": \"Sequence\", \"processors\": []}, 7]}", "|||" },
    { "[1, {}]", "|||" },
};

static void a_post_processor_says_what_stands_around(void)
{
    for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
        GError *error = NULL;
        TextFrame frame, again;
        json_auto_t *processor = json_loads(cases[i].processor, JSON_DECODE_ANY, NULL);
        g_assert_true(frame_read(&frame, processor, tok, &error));
        g_assert_no_error(error);
        expect(&frame, cases[i].want);
        json_auto_t *written = frame_json(&frame, false, tok);
        g_assert_true(frame_read(&again, written, tok, NULL) && frame_equal(&frame, &again));
    }
}

static void too_many_tokens_are_an_error(void)
{
    GError *error = NULL;
    TextFrame frame;
    json_auto_t *processor = json_loads(
        TEMPLATE(PIECE("both") ", " PIECE("both") ", " PIECE("both") ", " PIECE("both") ", " PIECE("a"), ""), 0, NULL);
    g_assert_false(frame_read(&frame, processor, tok, &error));
    g_assert_nonnull(strstr(error->message, "more than 8 special tokens in one place"));
    g_error_free(error);
}

/* Opens the vocab.txt of the folder again, beside other files. */
static void expect_of_folder(const char *want)
{
    GError *error = NULL;
    g_autofree char *vocab = g_build_filename(scratch, "vocab.txt", NULL);
    g_autoptr(Tokenizer) again = tokenizer_open(vocab, &error);
    g_assert_no_error(error);
    expect(tokenizer_frame(again), want);
}

/* As transformers 5 has it: tokenizer.json decides, and flags only where there is none. */
static void without_a_tokenizer_json_the_flags_of_the_config_do(void)
{
    expect_of_folder("|||");
    put("tokenizer_config.json", "{\"add_bos_token\": true, \"bos_token\": \"<s>\", \"eos_token\": \"</s>\"}");
    expect_of_folder("3||3|");
    put("tokenizer_config.json", "{\"add_bos_token\": true, \"add_eos_token\": true, \"bos_token\": {\"content\": "
                                 "\"<s>\", \"lstrip\": false}, \"eos_token\": {\"content\": \"</s>\"}}");
    expect_of_folder("3|4|43|4");
    put("tokenizer.json", "{\"post_processor\": " T5 "}");
    expect_of_folder("|4|4|4");
    put("tokenizer.json", "{\"post_processor\": null}");
    expect_of_folder("|||");
    put("tokenizer.json", NULL);
    put("tokenizer_config.json", "{\"add_eos_token\": true, \"eos_token\": \"</s>\"}");
    expect_of_folder("|4|4|4");
    put("tokenizer_config.json", "{\"add_bos_token\": false, \"bos_token\": \"<s>\"}");
    expect_of_folder("|||");
    put("tokenizer_config.json", "{\"bos_token\": \"<s>\"}");
    expect_of_folder("|||");
}

/* A copy gives the same tokenizer, with its frame. */
static void a_copy_has_the_frame(void)
{
    GError *error = NULL;
    g_autofree char *vocab = g_build_filename(scratch, "vocab.txt", NULL),
                    *copy = g_build_filename(scratch, "copy", NULL);
    put("tokenizer.json", "{\"post_processor\": " LLAMA "}");
    g_autoptr(Tokenizer) first = tokenizer_open(vocab, &error);
    g_mkdir(copy, 0700);
    g_assert_true(tokenizer_copy(first, copy, &error));
    g_autoptr(Tokenizer) second = tokenizer_open(copy, &error);
    g_assert_no_error(error);
    expect(tokenizer_frame(second), "3||3|");
    put("tokenizer.json", NULL);
}

int main(int argc, char **argv)
{
    GError *error = NULL;
    g_test_init(&argc, &argv, NULL);
    scratch = g_dir_make_tmp("loam-frame-XXXXXX", &error);
    g_assert_no_error(error);
    put("vocab.txt", "[UNK]\n[CLS]\n[SEP]\n<s>\n</s>\na\n");
    g_autofree char *vocab = g_build_filename(scratch, "vocab.txt", NULL);
    tok = tokenizer_open(vocab, &error);
    g_assert_no_error(error);
    g_test_add_func("/frame/a_post_processor_says_what_stands_around", a_post_processor_says_what_stands_around);
    g_test_add_func("/frame/too_many_tokens_are_an_error", too_many_tokens_are_an_error);
    g_test_add_func("/frame/without_a_tokenizer_json_the_flags_of_the_config_do",
                    without_a_tokenizer_json_the_flags_of_the_config_do);
    g_test_add_func("/frame/a_copy_has_the_frame", a_copy_has_the_frame);
    int status = g_test_run();
    tokenizer_close(tok);
    io_remove_tree(scratch, NULL);
    g_free(scratch);
    return status;
}
