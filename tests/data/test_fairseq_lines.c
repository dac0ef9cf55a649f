#include "data/prepare/prepare.h"

#include "data/data_test.h"
#include "data/dataset/dataset.h"
#include "data/tiny_tokenizer.h"
#include "format/fairseq_dict.h"
#include "golden.h"

#define IWSLT SHARED "golden/fairseq/"

static char *folder;

static char *contents(const char *prefix, const char *suffix, size_t *bytes)
{
    g_autofree char *path = g_strconcat(prefix, suffix, NULL);
    char *data = NULL;
    g_file_get_contents(path, &data, bytes, NULL);
    return data;
}

/* Runs on a new folder FOLDER/out; returns the dictionary as text, or the error's message. */
static char *run(FairseqLinesOptions options, const char *train)
{
    g_autofree char *path = file_write_text(folder, "train.txt", train), *out = g_build_filename(folder, "out", NULL);
    g_autoptr(GError) error = NULL;
    FairseqLinesStats stats;
    size_t bytes;
    options.out = out;
    options.train = (char *[]){ path, NULL };
    g_assert_true(io_remove_tree(out, NULL));
    bool good = fairseq_lines_run(&options, &stats, &error);
    g_ptr_array_unref(stats.sets);
    g_assert_true(good == (error == NULL));
    return good ? contents(out, "/dict.txt", &bytes) : g_strdup(error->message);
}

static void expect_dict(FairseqLinesOptions options, const char *train, const char *want)
{
    g_autofree char *got = run(options, train);
    g_assert_cmpstr(got, ==, want);
}

/* The more frequent first, then by code point; specials are not in the file. */
static void words_are_sorted_by_frequency(void)
{
    expect_dict((FairseqLinesOptions){ 0 }, "b a c\n\na é Z z <s> </s> <unk> c\n", "a 2\nc 2\nZ 1\nb 1\nz 1\né 1\n");
    expect_dict((FairseqLinesOptions){ 0 }, "\xef\xbf\xbf \xf0\x90\x80\x80\n", "\xef\xbf\xbf 1\n\xf0\x90\x80\x80 1\n");
    expect_dict((FairseqLinesOptions){ .min_count = 2 }, "b a c\na c d\n", "a 2\nc 2\n");
    expect_dict((FairseqLinesOptions){ .most_ids = 7 }, "b a c\na c d\n", "a 2\nc 2\nb 1\n");
    expect_dict((FairseqLinesOptions){ .most_ids = 3 }, "b a c\n", "");
}

static void the_size_is_filled_up(void)
{
    expect_dict((FairseqLinesOptions){ .factor = 4 }, "a b\n", "a 1\nb 1\nmadeupword0000 0\nmadeupword0001 0\n");
    expect_dict((FairseqLinesOptions){ .factor = 4 }, "a madeupword0000\n",
                "a 1\nmadeupword0000 1\nmadeupword0001 0\nmadeupword0002 0\n");
    expect_dict((FairseqLinesOptions){ .factor = 1 }, "a\n", "a 1\n");
}

static void white_space_is_python_s(void)
{
    expect_dict((FairseqLinesOptions){ 0 },
                "a\tb\vc\fd\x1c"
                "e\xc2\x85"
                "f\xc2\xa0"
                "g\xe3\x80\x80h \xe2\x80\x8b \xef\xbb\xbf\n",
                "a 1\nb 1\nc 1\nd 1\ne 1\nf 1\ng 1\nh 1\n\xe2\x80\x8b 1\n\xef\xbb\xbf 1\n");
}

static void every_line_is_a_sequence(void)
{
    g_autofree char *valid = file_write_text(folder, "valid.txt", "a <unk> q <s>\n\r\nb"),
                    *dict = run((FairseqLinesOptions){ .valid = (char *[]){ valid, valid, NULL }, .factor = 8 },
                                "b b a\n\n"),
                    *prefix = g_build_filename(folder, "out", "valid1", NULL);
    static const int32_t want[] = { 5, 3, 3, 0, 2, 2, 4, 2 }, lengths[] = { 5, 1, 2 };
    g_assert_true(g_str_has_prefix(dict, "b 2\na 1\nmadeup"));
    Dataset *data = dataset_open(prefix, NULL);
    g_assert_cmpint(indexed_form(data->set), ==, INDEXED_FAIRSEQ);
    g_assert_cmpint(data->meta.vocab, ==, 8);
    g_assert_cmpint(indexed_sequences(data->set), ==, 3);
    for (int64_t i = 0, at = 0; i < 3; at += lengths[i++]) {
        int32_t ids[5];
        g_assert_cmpint(indexed_length(data->set, i), ==, lengths[i]);
        indexed_read(data->set, i, 0, lengths[i], ids, NULL);
        assert_same(ids, want + at, (size_t)lengths[i] * sizeof *ids);
    }
    dataset_close(data);
}

static void a_dictionary_is_not_replaced(void)
{
    g_autofree char *first = run((FairseqLinesOptions){ 0 }, "a b\n"), *out = g_build_filename(folder, "out", NULL),
                    *train = g_build_filename(folder, "train.txt", NULL),
                    *dict = g_build_filename(out, "dict.txt", NULL);
    g_assert_cmpstr(first, ==, "a 1\nb 1\n");
    FairseqLinesOptions options = { .out = out, .train = (char *[]){ train, NULL } };
    FairseqLinesStats stats;
    g_autoptr(GError) error = NULL;
    g_assert_false(fairseq_lines_run(&options, &stats, &error));
    g_ptr_array_unref(stats.sets);
    g_assert_nonnull(strstr(error->message, "--dict"));
    options.dictionary = dict;
    g_assert_true(fairseq_lines_run(&options, &stats, NULL));
    g_assert_cmpint(stats.dictionary, ==, 6);
    g_ptr_array_unref(stats.sets);
}

static void a_set_that_fails_leaves_none(void)
{
    g_autofree char *bad = file_write_text(folder, "bad.txt", "a\n\xff\n"),
                    *out = g_build_filename(folder, "out", NULL);
    g_autofree char *message = run((FairseqLinesOptions){ .valid = (char *[]){ bad, NULL } }, "a\n");
    g_assert_nonnull(strstr(message, "bad.txt:2: not UTF-8"));
    g_autoptr(GDir) names = g_dir_open(out, 0, NULL);
    g_assert_null(g_dir_read_name(names));
}

static void an_empty_file_is_refused_and_nothing_left(void)
{
    g_autofree char *message = run((FairseqLinesOptions){ 0 }, ""),
                    *bin = g_build_filename(folder, "out", "train.bin", NULL);
    g_assert_nonnull(strstr(message, "there is no line in it"));
    g_assert_false(g_file_test(bin, G_FILE_TEST_EXISTS));
}

/* With a tokenizer the ids are its own, and the dictionary says how often train has each. */
static void a_tokenizer_s_ids_stay_as_they_are(void)
{
    Tokenizer *tok = tiny_tokenizer(folder, "tiny.model", 100);
    g_autofree char *text = tiny_text(1, 9), *lines = g_strdup_printf("%s\n\n%s ba\n", text, text),
                    *dict = run((FairseqLinesOptions){ .tok = tok }, lines),
                    *prefix = g_build_filename(folder, "out", "train", NULL);
    g_autoptr(GArray) ids = g_array_new(false, false, sizeof(int32_t));
    g_auto(GStrv) rows = g_strsplit(dict, "\n", -1);
    const int32_t eos = tokenizer_eos(tok);
    g_assert_true(tokenizer_encode(tok, text, strlen(text), false, ids, NULL));
    g_array_append_val(ids, eos);
    Dataset *data = dataset_open(prefix, NULL);
    g_assert_cmpstr(data->meta.tokenizer_hash, ==, tokenizer_hash(tok));
    g_assert_cmpint(indexed_sequences(data->set), ==, 3);
    g_assert_cmpint(indexed_length(data->set, 1), ==, 1);
    g_assert_cmpint(indexed_length(data->set, 0), ==, (int)ids->len);
    g_autofree int32_t *read = g_new(int32_t, ids->len);
    indexed_read(data->set, 0, 0, ids->len, read, NULL);
    assert_same(read, ids->data, ids->len * sizeof *read);
    int64_t total = 0, before = 0;
    for (int id = 4; id < tokenizer_size(tok); id++)
        total += g_ascii_strtoll(strrchr(rows[id - 4], ' '), NULL, 10);
    for (int64_t i = 0; i < 3; i++)
        for (int64_t at = 0; at < indexed_length(data->set, i); at++) {
            int32_t id;
            indexed_read(data->set, i, at, 1, &id, NULL);
            before += id < 4;
        }
    g_assert_cmpint(total + before, ==, indexed_tokens(data->set));
    dataset_close(data);
    tokenizer_close(tok);
}

/* ---- fairseq's own files ---- */

static void expect_dictionary(const char *golden)
{
    size_t bytes;
    FairseqDict *dict = fairseq_dict_read(golden, NULL);
    g_assert_nonnull(dict);
    g_autoptr(GString) text = g_string_new(NULL);
    for (guint i = dict->symbols->len; i > 0; i--) /* rarest first: the order is not that of the file */
        for (int64_t n = 0; n < g_array_index(dict->counts, int64_t, i - 1); n++)
            g_string_append_printf(text, "%s%c", (char *)dict->symbols->pdata[i - 1], n % 40 == 39 ? '\n' : ' ');
    fairseq_dict_free(dict);
    g_autofree char *got = run((FairseqLinesOptions){ .factor = 8 }, text->str), *want = contents(golden, "", &bytes);
    g_assert_cmpstr(got, ==, want);
}

static void their_words_make_their_dictionary(void)
{
    expect_dictionary(IWSLT "dict.en.txt");
}

/* What the last run wrote is the dataset `golden`. */
static void expect_written(const char *golden)
{
    g_autofree char *prefix = g_build_filename(folder, "out", "train", NULL);
    static const char *const suffixes[] = { ".bin", ".idx" };
    for (size_t i = 0; i < G_N_ELEMENTS(suffixes); i++) {
        size_t n, m;
        g_autofree char *got = contents(prefix, suffixes[i], &n), *want = contents(golden, suffixes[i], &m);
        g_assert_cmpuint(n, ==, m);
        assert_same(got, want, n);
    }
}

/* Lines as fairseq-preprocess reads them: a dictionary of words seen twice, and the ids of every line. */
static void lines_make_fairseq_s_files(void)
{
    size_t bytes;
    g_autofree char *text = contents(GOLDEN "fairseq/lines.txt", "", &bytes),
                    *got = run((FairseqLinesOptions){ .factor = 8, .min_count = 2 }, text),
                    *want = contents(GOLDEN "fairseq/dict.txt", "", &bytes);
    g_assert_cmpstr(got, ==, want);
    expect_written(GOLDEN "fairseq/train");
}

static void their_lines_make_their_files(void)
{
    FairseqDict *dict = fairseq_dict_read(IWSLT "dict.en.txt", NULL);
    Indexed *set = indexed_open(IWSLT "valid.en-fr.en", NULL);
    g_assert_true(dict && set);
    g_autoptr(GString) text = g_string_new(NULL);
    for (int64_t i = 0; i < indexed_sequences(set); i++) {
        int32_t n = indexed_length(set, i);
        g_autofree int32_t *ids = g_new(int32_t, n);
        indexed_read(set, i, 0, n, ids, NULL);
        for (int32_t k = 0; k < n - 1; k++)
            g_string_append_printf(text, " %s",
                                   ids[k] == 3 ? "unknown-word" : (char *)dict->symbols->pdata[ids[k] - 4]);
        g_string_append_c(text, '\n');
    }
    fairseq_dict_free(dict);
    indexed_close(set);
    g_free(run((FairseqLinesOptions){ .dictionary = IWSLT "dict.en.txt" }, text->str));
    expect_written(IWSLT "valid.en-fr.en");
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    folder = folder_new();
    g_test_add_func("/fairseq_lines/words_are_sorted_by_frequency", words_are_sorted_by_frequency);
    g_test_add_func("/fairseq_lines/the_size_is_filled_up", the_size_is_filled_up);
    g_test_add_func("/fairseq_lines/white_space_is_python_s", white_space_is_python_s);
    g_test_add_func("/fairseq_lines/every_line_is_a_sequence", every_line_is_a_sequence);
    g_test_add_func("/fairseq_lines/a_dictionary_is_not_replaced", a_dictionary_is_not_replaced);
    g_test_add_func("/fairseq_lines/an_empty_file_is_refused_and_nothing_left",
                    an_empty_file_is_refused_and_nothing_left);
    g_test_add_func("/fairseq_lines/a_tokenizer_s_ids_stay_as_they_are", a_tokenizer_s_ids_stay_as_they_are);
    g_test_add_func("/fairseq_lines/a_set_that_fails_leaves_none", a_set_that_fails_leaves_none);
    g_test_add_func("/fairseq_lines/lines_make_fairseq_s_files", lines_make_fairseq_s_files);
    add_where_present(IWSLT "dict.en.txt", "/fairseq_lines/their_words_make_their_dictionary",
                      their_words_make_their_dictionary);
    add_where_present(IWSLT "dict.en.txt", "/fairseq_lines/their_lines_make_their_files", their_lines_make_their_files);
    int status = g_test_run();
    folder_remove(folder);
    return status;
}
