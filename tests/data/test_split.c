#include "data/data_config.h"
#include "data/data_test.h"
#include "data/dataset/dataset.h"

/* megatron-fairseq.md §1.9 */
static void boundaries_are_megatron_s(void)
{
    static const struct {
        double shares[SPLIT_PARTS];
        int64_t want[SPLIT_PARTS + 1];
    } cases[] = {
        { { 949, 50, 1 }, { 0, 288714672, 303926193, 304230423 } },
        { { 949, 50, 1 }, { 0, 949, 999, 1000 } },
        { { 0.98, 0.02, 0 }, { 0, 98, 100, 100 } },
        { { 1, 0, 0 }, { 0, 7, 7, 7 } },
        { { 1, 1, 1 }, { 0, 1, 3, 5 } },
    };
    for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
        int64_t got[SPLIT_PARTS + 1];
        split_boundaries(cases[i].shares, cases[i].want[SPLIT_PARTS], got);
        for (int k = 0; k <= SPLIT_PARTS; k++)
            g_assert_cmpint(got[k], ==, cases[i].want[k]);
    }
    for (int64_t n = 0; n < 50; n++) { /* however few documents there are, no share runs backwards */
        int64_t got[SPLIT_PARTS + 1];
        split_boundaries((const double[]){ 1, 1, 1 }, n, got);
        for (int k = 0; k < SPLIT_PARTS; k++)
            g_assert_cmpint(got[k], <=, got[k + 1]);
        g_assert_cmpint(got[SPLIT_PARTS], ==, n);
    }
}

static void shares_are_read_in_either_form(void)
{
    static const char *const bad[] = { "", "1,2,3,4", "a", "1,,2", "-1,2", "0,0", "nan", "1 2", "1e13" };
    static const char *const good[] = { "949,50,1", "949/50/1", " 949, 50, 1 ", "949.0/5e1/1" };
    double shares[SPLIT_PARTS];
    for (size_t i = 0; i < G_N_ELEMENTS(good); i++) {
        g_assert_true(split_parse(shares, good[i], NULL));
        g_assert_true(shares[0] == 949 && shares[1] == 50 && shares[2] == 1);
    }
    g_assert_true(split_parse(shares, "9,1", NULL) && shares[2] == 0);
    for (size_t i = 0; i < G_N_ELEMENTS(bad); i++) {
        g_autoptr(GError) error = NULL;
        g_assert_false(split_parse(shares, bad[i], &error));
        g_assert_error(error, LOAM_ERROR, LOAM_ERROR_USER);
    }
}

static void a_part_has_a_name(void)
{
    double shares[SPLIT_PARTS];
    int part;
    g_autofree char *name = split_name("da@ta/c", (const double[]){ 0.9, 0.1, 0 }, SPLIT_VALID);
    g_assert_cmpstr(name, ==, "da@ta/c@valid:0.9/0.1/0");
    g_assert_cmpint(split_read_name(name, &part, shares, NULL), ==, (int)strlen("da@ta/c"));
    g_assert_cmpint(part, ==, SPLIT_VALID);
    g_assert_true(shares[0] == 0.9 && shares[1] == 0.1 && shares[2] == 0);
    g_assert_cmpint(split_read_name("da@ta/c", &part, shares, NULL), ==, 0);
    g_assert_cmpint(split_read_name("a@other:1/2", &part, shares, NULL), ==, 0);
    g_assert_cmpint(split_read_name("a@valid:x", &part, shares, NULL), ==, -1);
}

/* ---- parts of a dataset ---- */

static char *folder;

/* Documents of one or two sequences; document d begins with token d. */
static char *write_dataset(int64_t n)
{
    char *prefix = g_build_filename(folder, "set", NULL);
    IndexedWriter *writer = indexed_writer_open(prefix, INDEXED_MEGATRON, 1000, NULL);
    for (int32_t d = 0; d < n; d++) {
        const int32_t tokens[] = { d, d, d };
        g_assert_true(indexed_writer_add(writer, tokens, 1 + d % 3, NULL));
        if (d % 2)
            g_assert_true(indexed_writer_add(writer, tokens, 2, NULL));
        g_assert_true(indexed_writer_end_document(writer, NULL));
    }
    g_assert_true(indexed_writer_finish(writer, NULL));
    return prefix;
}

static void parts_hold_every_document_once(void)
{
    static const int64_t sizes[] = { 14, 4, 2 };
    g_autofree char *prefix = write_dataset(20);
    Dataset *whole = dataset_open(prefix, NULL);
    int64_t fingerprints[SPLIT_PARTS], documents = 0, tokens = 0, sequences = 0;
    for (int part = 0; part < SPLIT_PARTS; part++) {
        g_autofree char *name = split_name(prefix, (const double[]){ 7, 2, 1 }, part);
        Dataset *data = dataset_open(name, NULL);
        g_assert_cmpint(indexed_documents(data->set), ==, sizes[part]);
        fingerprints[part] = indexed_fingerprint(data->set);
        for (int64_t d = 0; d < sizes[part]; d++, documents++) {
            int64_t first, last;
            indexed_document(data->set, d, &first, &last);
            g_assert_cmpint(last - first, ==, 1 + documents % 2);
            for (; first < last; first++, sequences++) {
                int32_t read;
                indexed_read(data->set, first, 0, 1, &read, NULL);
                g_assert_cmpint(read, ==, documents);
                tokens += indexed_length(data->set, first);
            }
        }
        g_assert_cmpint(indexed_tokens(data->set), <, tokens + 1);
        dataset_close(data);
    }
    g_assert_cmpint(documents, ==, 20);
    g_assert_cmpint(tokens, ==, indexed_tokens(whole->set));
    g_assert_cmpint(sequences, ==, indexed_sequences(whole->set));
    g_assert_true(fingerprints[0] != fingerprints[1] && fingerprints[0] != indexed_fingerprint(whole->set));
    dataset_close(whole);
}

static void an_empty_part_is_refused(void)
{
    g_autofree char *prefix = write_dataset(20), *name = split_name(prefix, (const double[]){ 99, 1, 0 }, SPLIT_VALID);
    g_autoptr(GError) error = NULL;
    g_assert_null(dataset_open(name, &error));
    g_assert_error(error, LOAM_ERROR, LOAM_ERROR_USER);
    g_assert_nonnull(strstr(error->message, "too few documents"));
}

static void expect_sources(const char *train, const char *split, const char *want_train, const char *want_valid)
{
    DataConfig config = { .train = (char *)train, .valid = (char *)"", .split = (char *)split };
    g_autofree char *got_train = sources_train(&config, NULL), *got_valid = sources_split_valid(&config, NULL);
    g_assert_cmpstr(got_train, ==, want_train);
    g_assert_cmpstr(got_valid, ==, want_valid);
}

static void a_split_cuts_every_dataset(void)
{
    expect_sources("a:.7,b:.3", "", "a:.7,b:.3", "");
    expect_sources("a", "949,50,1", "a@train:949/50/1", "a@valid:949/50/1");
    expect_sources("a:.7,b:3", "9,1", "a@train:9/1/0:0.7,b@train:9/1/0:3", "a@valid:9/1/0:0.7,b@valid:9/1/0:3");
    expect_sources("a,b", "1,0,1", "a@train:1/0/1,b@train:1/0/1", "");
    expect_sources("a,b@test:1/1/1", "9,1", "a@train:9/1/0,b@test:1/1/1", "a@valid:9/1/0");
    DataConfig config = { .train = (char *)"a", .valid = (char *)"", .split = (char *)"x" };
    g_autoptr(GError) error = NULL;
    g_assert_null(sources_train(&config, &error));
    g_assert_true(g_str_has_prefix(error->message, "data.split: x: "));
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    folder = folder_new();
    g_test_add_func("/split/boundaries_are_megatron_s", boundaries_are_megatron_s);
    g_test_add_func("/split/shares_are_read_in_either_form", shares_are_read_in_either_form);
    g_test_add_func("/split/a_part_has_a_name", a_part_has_a_name);
    g_test_add_func("/split/parts_hold_every_document_once", parts_hold_every_document_once);
    g_test_add_func("/split/an_empty_part_is_refused", an_empty_part_is_refused);
    g_test_add_func("/split/a_split_cuts_every_dataset", a_split_cuts_every_dataset);
    int status = g_test_run();
    folder_remove(folder);
    return status;
}
