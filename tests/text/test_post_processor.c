#include "base/file.h"
#include "text/post_processor.h"

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

static void expect(bool known, int32_t before, int32_t after)
{
    PostProcessor frame;
    g_assert_true(post_processor_read(scratch, tok, &frame) == known);
    g_assert_cmpint(frame.before, ==, before);
    g_assert_cmpint(frame.after, ==, after);
}

#define TEMPLATE(parts) "{\"type\": \"TemplateProcessing\", \"single\": [" parts "]}"
#define SPECIAL(piece)  "{\"SpecialToken\": {\"id\": \"" piece "\", \"type_id\": 0}}"
#define TEXT            "{\"Sequence\": {\"id\": \"A\", \"type_id\": 0}}"

static void post_processors_say_what_stands_around(void)
{
    static const struct {
        const char *processor;
        int32_t before, after;
    } cases[] = {
        { "null", -1, -1 },
        { "{\"type\": \"ByteLevel\"}", -1, -1 },
        { TEMPLATE(SPECIAL("<s>") ", " TEXT), 3, -1 },
        { TEMPLATE(TEXT ", " SPECIAL("</s>")), -1, 4 },
        { TEMPLATE(SPECIAL("[CLS]") ", " TEXT ", " SPECIAL("[SEP]")), 1, 2 },
        { TEMPLATE(SPECIAL("<none>") ", " TEXT), -1, -1 },
        { "{\"type\": \"BertProcessing\", \"sep\": [\"[SEP]\", 2], \"cls\": [\"[CLS]\", 1]}", 1, 2 },
        { "{\"type\": \"RobertaProcessing\", \"sep\": [\"</s>\", 4], \"cls\": [\"<s>\", 3]}", 3, 4 },
        { "{\"type\": \"Sequence\", \"processors\": [{\"type\": \"ByteLevel\"}, " TEMPLATE(
              SPECIAL("<s>") ", " TEXT) "]}",
          3, -1 },
        { "{\"type\": \"Sequence\", \"processors\": [{\"type\": \"Sequence\", \"processors\": []}, 7]}", -1, -1 },
        { "[1, {}]", -1, -1 },
    };
    for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
        g_autofree char *text = g_strdup_printf("{\"post_processor\": %s}", cases[i].processor);
        put("tokenizer.json", text);
        expect(true, cases[i].before, cases[i].after);
    }
    put("tokenizer.json", NULL);
}

static void without_one_the_flags_of_the_config_do(void)
{
    expect(false, -1, -1);
    put("tokenizer_config.json", "{\"add_bos_token\": true, \"bos_token\": \"<s>\", \"eos_token\": \"</s>\"}");
    expect(true, 3, -1);
    put("tokenizer_config.json", "{\"add_bos_token\": true, \"add_eos_token\": true, \"bos_token\": {\"content\": "
                                 "\"<s>\", \"lstrip\": false}, \"eos_token\": {\"content\": \"</s>\"}}");
    expect(true, 3, 4);
    put("tokenizer_config.json", "{\"add_bos_token\": false, \"bos_token\": \"<s>\"}");
    expect(true, -1, -1);
    put("tokenizer_config.json", "{\"bos_token\": \"<s>\"}");
    expect(false, -1, -1);
    put("tokenizer_config.json", "not JSON");
    expect(false, -1, -1);
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
    g_test_add_func("/post_processor/post_processors_say_what_stands_around", post_processors_say_what_stands_around);
    g_test_add_func("/post_processor/without_one_the_flags_of_the_config_do", without_one_the_flags_of_the_config_do);
    int status = g_test_run();
    tokenizer_close(tok);
    io_remove_tree(scratch, NULL);
    g_free(scratch);
    return status;
}
