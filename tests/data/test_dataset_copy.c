#include "data/dataset/dataset.h"

#include "base/file.h"

#include <string.h>

static char *folder;

static char *prefix_of(const char *name)
{
    return g_build_filename(folder, name, NULL);
}

/* n documents; document i has the sequences [first + i] and [7, 7]. hash: of PREFIX.json, or NULL for none. */
static char *write_set(const char *name, int32_t first, int n, int64_t vocab, const char *hash)
{
    char *prefix = prefix_of(name);
    g_autofree char *json = g_strconcat(prefix, ".json", NULL);
    IndexedWriter *writer = indexed_writer_open(prefix, INDEXED_MEGATRON, vocab, NULL);
    for (int32_t i = 0; i < n; i++) {
        g_assert_true(indexed_writer_add(writer, &(int32_t){ first + i }, 1, NULL));
        g_assert_true(indexed_writer_add(writer, (int32_t[]){ 7, 7 }, 2, NULL));
        g_assert_true(indexed_writer_end_document(writer, NULL));
    }
    g_assert_true(indexed_writer_finish(writer, NULL));
    const DatasetMeta meta = {
        .tokenizer_hash = (char *)hash, .tokenizer_kind = (char *)"k", .vocab = vocab, .counts = { n, 3 * n, 0 }
    };
    g_assert_true(io_remove_tree(json, NULL) && (hash == NULL || dataset_meta_write(&meta, json, NULL)));
    return prefix;
}

/* The first token of a document, whose two sequences are still apart. */
static int32_t mark(const Dataset *data, int64_t document)
{
    int64_t first, last;
    int32_t token;
    indexed_document(data->set, document, &first, &last);
    g_assert_cmpint(last - first, ==, 2);
    g_assert_cmpint(indexed_length(data->set, first + 1), ==, 2);
    indexed_read(data->set, first, 0, 1, &token, NULL);
    return token;
}

static void merging_keeps_documents_and_sequences(void)
{
    g_autofree char *a = write_set("a", 0, 3, 100, "h"), *b = write_set("b", 50, 2, 100, "h"),
                    *out = prefix_of("sub/ab");
    g_autoptr(GError) error = NULL;
    DatasetCounts counts;
    g_assert_true(dataset_merge((char *[]){ a, b }, 2, out, &counts, &error));
    g_assert_cmpint(counts.documents, ==, 5);
    g_assert_cmpint(counts.tokens, ==, 15);
    Dataset *data = dataset_open(out, &error);
    g_assert_no_error(error);
    g_assert_cmpstr(data->meta.tokenizer_hash, ==, "h");
    g_assert_cmpint(indexed_documents(data->set), ==, 5);
    for (int i = 0; i < 5; i++)
        g_assert_cmpint(mark(data, i), ==, i < 3 ? i : 47 + i);
    dataset_close(data);
}

static void expect_refused(char *a, char *b, const char *words)
{
    g_autofree char *out = prefix_of("refused");
    g_autoptr(GError) error = NULL;
    DatasetCounts counts;
    g_assert_false(dataset_merge((char *[]){ a, b }, 2, out, &counts, &error));
    g_assert_error(error, LOAM_ERROR, LOAM_ERROR_USER);
    if (strstr(error->message, words) == NULL || strstr(error->message, a) == NULL || strstr(error->message, b) == NULL)
        g_error("\"%s\" does not say \"%s\"", error->message, words);
}

static void sources_that_differ_are_named(void)
{
    g_autofree char *a = write_set("a", 0, 3, 100, "h"), *other = write_set("other", 0, 1, 100, "g");
    g_autofree char *none = write_set("none", 0, 1, 100, NULL), *wide = write_set("wide", 0, 1, 70000, NULL);
    expect_refused(a, other, "different tokenizers: h and g");
    expect_refused(a, none, "different tokenizers: h and unknown");
    expect_refused(none, wide, "tokens of different types: codes 8 and 4");
    g_autoptr(GError) error = NULL;
    DatasetCounts counts;
    g_assert_false(dataset_merge((char *[]){ a, a }, 2, a, &counts, &error));
    g_assert_nonnull(strstr(error->message, "is both read and written"));
}

static void shuffling_moves_whole_documents(void)
{
    g_autofree char *a = write_set("many", 0, 1000, 2000, NULL);
    g_autoptr(GError) error = NULL;
    int same_place = 0, same_twice = 0;
    int32_t before[1000];
    for (int run = 0; run < 3; run++) {
        g_autofree char *out = prefix_of(run == 1 ? "again" : "shuffled");
        DatasetCounts counts;
        g_assert_true(dataset_shuffle(a, out, run == 2 ? 6 : 5, &counts, &error));
        Dataset *data = dataset_open(out, &error);
        bool seen[1000] = { false };
        for (int i = 0; i < 1000; i++) {
            int32_t at = mark(data, i);
            g_assert_false(seen[at]);
            seen[at] = true;
            same_place += at == i;
            same_twice += run == 2 && at == before[i];
            g_assert_true(run != 1 || at == before[i]); /* the same seed, the same order */
            before[i] = at;
        }
        dataset_close(data);
    }
    g_assert_cmpint(same_place, <, 30);
    g_assert_cmpint(same_twice, <, 15);
}

static void a_split_holds_each_document_once(void)
{
    g_autofree char *a = write_set("whole", 0, 10, 100, "h"), *out = prefix_of("cut");
    g_autofree char *test = prefix_of("cut-test.idx");
    g_autoptr(GError) error = NULL;
    DatasetCounts counts[SPLIT_PARTS];
    g_assert_true(dataset_split(a, out, (const double[]){ 8, 2, 0 }, counts, &error));
    g_assert_cmpint(counts[0].documents, ==, 8);
    g_assert_cmpint(counts[1].documents, ==, 2);
    g_assert_false(g_file_test(test, G_FILE_TEST_EXISTS));
    g_autofree char *valid = prefix_of("cut-valid");
    Dataset *data = dataset_open(valid, &error);
    g_assert_cmpint(mark(data, 0), ==, 8);
    g_assert_cmpint(mark(data, 1), ==, 9);
    dataset_close(data);
}

static void a_part_of_before_that_has_no_share_now_is_an_error(void)
{
    g_autofree char *a = write_set("again", 0, 10, 100, "h"), *out = prefix_of("again");
    g_autoptr(GError) error = NULL;
    DatasetCounts counts[SPLIT_PARTS];
    g_assert_true(dataset_split(a, out, (const double[]){ 8, 1, 1 }, counts, &error));
    g_assert_true(dataset_split(a, out, (const double[]){ 7, 1, 2 }, counts, &error));
    g_assert_false(dataset_split(a, out, (const double[]){ 9, 1, 0 }, counts, &error));
    g_assert_nonnull(strstr(error->message, "again-test exists from an earlier run"));
    g_autofree char *train = prefix_of("again-train");
    Dataset *data = dataset_open(train, NULL);
    g_assert_cmpint(indexed_documents(data->set), ==, 7); /* nothing was written */
    dataset_close(data);
}

static void ids_beyond_the_vocabulary_are_named(void)
{
    g_autofree char *a = write_set("beyond", 98, 3, 200, "h"), *json = prefix_of("beyond.json"), *out = prefix_of("x");
    const DatasetMeta meta = {
        .tokenizer_hash = (char *)"h", .tokenizer_kind = (char *)"k", .vocab = 100, .counts = { 3, 9, 0 }
    };
    g_assert_true(dataset_meta_write(&meta, json, NULL));
    g_autoptr(GError) error = NULL;
    DatasetCounts counts;
    g_assert_false(dataset_shuffle(a, out, 0, &counts, &error));
    g_assert_nonnull(
        strstr(error->message, "holds token id 100, but the tokenizer has 100 ids (document 2, token 0, from 0)"));
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    folder = g_dir_make_tmp("loam-copy-XXXXXX", NULL);
    g_test_add_func("/dataset_copy/merging_keeps_documents_and_sequences", merging_keeps_documents_and_sequences);
    g_test_add_func("/dataset_copy/sources_that_differ_are_named", sources_that_differ_are_named);
    g_test_add_func("/dataset_copy/shuffling_moves_whole_documents", shuffling_moves_whole_documents);
    g_test_add_func("/dataset_copy/a_split_holds_each_document_once", a_split_holds_each_document_once);
    g_test_add_func("/dataset_copy/a_part_of_before_that_has_no_share_now_is_an_error",
                    a_part_of_before_that_has_no_share_now_is_an_error);
    g_test_add_func("/dataset_copy/ids_beyond_the_vocabulary_are_named", ids_beyond_the_vocabulary_are_named);
    int status = g_test_run();
    io_remove_tree(folder, NULL);
    g_free(folder);
    return status;
}
