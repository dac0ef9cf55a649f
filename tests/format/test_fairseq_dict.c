#include "base/file.h"
#include "format/bytes.h"
#include "format/fairseq_dict.h"
#include "golden.h"

#include <string.h>

static char *path;

static FairseqDict *read_text(const char *text, GError **error)
{
    g_assert_true(g_file_set_contents(path, text, -1, NULL));
    return fairseq_dict_read(path, error);
}

static void lines_become_ids_from_four_on(void)
{
    FairseqDict *dict = read_text("the 12\na b 3\n</s> 0 #fairseq:overwrite\nlast 1", NULL);
    g_assert_nonnull(dict);
    g_assert_cmpint(fairseq_dict_size(dict), ==, 8);
    g_assert_cmpstr(dict->symbols->pdata[1], ==, "a b");
    g_assert_cmpstr(dict->symbols->pdata[2], ==, "</s>");
    g_assert_cmpint(g_array_index(dict->counts, int64_t, 0), ==, 12);
    fairseq_dict_free(dict);
}

static void expect_refused(const char *text, const char *words)
{
    g_autoptr(GError) error = NULL;
    g_assert_null(read_text(text, &error));
    g_assert_error(error, LOAM_ERROR, LOAM_ERROR_USER);
    if (strstr(error->message, words) == NULL)
        g_error("\"%s\" does not say \"%s\"", error->message, words);
}

static void refuses_what_fairseq_refuses(void)
{
    expect_refused("a 1\nb\n", ":2: want a symbol, a space and a count");
    expect_refused("a x\n", ":1: want a symbol");
    expect_refused("a -1\n", ":1: want a symbol");
    expect_refused("a 99999999999999999999\n", ":1: want a symbol");
    expect_refused("a 1\n\n", ":2: want a symbol");
    expect_refused("a 1\na 2\n", ":2: the symbol \"a\" came before");
    expect_refused("<pad> 1\n", ":1: the symbol \"<pad>\" came before");
    expect_refused("\xff 1\n", "not UTF-8");
}

static void repeated_symbols_are_flagged(void)
{
    FairseqDict *dict = fairseq_dict_new();
    fairseq_dict_add(dict, "x", 1);
    fairseq_dict_add(dict, "x", 2);
    fairseq_dict_add(dict, "<s>", 3);
    g_assert_true(fairseq_dict_write(dict, path, NULL));
    fairseq_dict_free(dict);
    g_autofree char *text = NULL;
    g_assert_true(g_file_get_contents(path, &text, NULL, NULL));
    g_assert_cmpstr(text, ==, "x 1\nx 2 #fairseq:overwrite\n<s> 3 #fairseq:overwrite\n");
    dict = fairseq_dict_read(path, NULL);
    g_assert_cmpint(fairseq_dict_size(dict), ==, 7);
    fairseq_dict_free(dict);
}

static void expect_same_when_rewritten(const char *golden)
{
    g_autofree char *want = NULL, *got = NULL;
    size_t n, m;
    g_assert_true(g_file_get_contents(golden, &want, &n, NULL));
    FairseqDict *dict = fairseq_dict_read(golden, NULL);
    g_assert_nonnull(dict);
    g_assert_cmpint(fairseq_dict_size(dict) % 8, ==, 0); /* fairseq pads its vocabulary to 8 */
    g_assert_true(fairseq_dict_write(dict, path, NULL));
    fairseq_dict_free(dict);
    g_assert_true(g_file_get_contents(path, &got, &m, NULL));
    expect_bytes(got, m, want, n);
}

static void rewriting_fairseq_s_file_gives_its_bytes(void)
{
    expect_same_when_rewritten(GOLDEN "fairseq/dict.txt");
}

static void rewriting_iwslt_s_dictionaries_gives_their_bytes(void)
{
    expect_same_when_rewritten(SHARED "golden/fairseq/dict.en.txt");
    expect_same_when_rewritten(SHARED "golden/fairseq/dict.fr.txt");
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_autofree char *folder = g_dir_make_tmp("loam-dict-XXXXXX", NULL);
    path = g_build_filename(folder, "dict.txt", NULL);
    g_test_add_func("/fairseq_dict/lines_become_ids_from_four_on", lines_become_ids_from_four_on);
    g_test_add_func("/fairseq_dict/refuses_what_fairseq_refuses", refuses_what_fairseq_refuses);
    g_test_add_func("/fairseq_dict/repeated_symbols_are_flagged", repeated_symbols_are_flagged);
    g_test_add_func("/fairseq_dict/rewriting_fairseq_s_file_gives_its_bytes", rewriting_fairseq_s_file_gives_its_bytes);
    add_where_present(SHARED "golden/fairseq/dict.en.txt",
                      "/fairseq_dict/rewriting_iwslt_s_dictionaries_gives_their_bytes",
                      rewriting_iwslt_s_dictionaries_gives_their_bytes);
    int status = g_test_run();
    io_remove_tree(folder, NULL);
    g_free(path);
    return status;
}
