#include "base/file.h"
#include "format/bytes.h"
#include "format/indexed.h"
#include "golden.h"

#include <errno.h>
#include <string.h>

static char *folder;

static char *prefix_of(const char *name)
{
    return g_build_filename(folder, name, NULL);
}

static char *slurp(const char *prefix, const char *suffix, size_t *bytes)
{
    g_autofree char *path = g_strconcat(prefix, suffix, NULL);
    char *data = NULL;
    g_assert_true(g_file_get_contents(path, &data, bytes, NULL));
    return data;
}

static void put(const char *prefix, const char *suffix, const void *data, size_t bytes)
{
    g_autofree char *path = g_strconcat(prefix, suffix, NULL);
    g_assert_true(g_file_set_contents(path, data, (gssize)bytes, NULL));
}

/* Documents [[1,2,3],[4,5]], [[6]]. */
static bool write_small(const char *prefix, int64_t vocab, GError **error)
{
    static const int32_t tokens[] = { 1, 2, 3, 4, 5, 6 };
    IndexedWriter *writer = indexed_writer_open(prefix, INDEXED_MEGATRON, vocab, error);
    if (writer == NULL)
        return false;
    if (indexed_writer_add(writer, tokens, 3, error) && indexed_writer_add(writer, tokens + 3, 2, error) &&
        indexed_writer_end_document(writer, error) && indexed_writer_add(writer, tokens + 5, 1, error) &&
        indexed_writer_end_document(writer, error))
        return indexed_writer_finish(writer, error);
    indexed_writer_close(writer);
    return false;
}

static void expect_sha256(const char *prefix, const char *suffix, size_t bytes, const char *want)
{
    size_t n;
    g_autofree char *data = slurp(prefix, suffix, &n);
    g_assert_cmpuint(n, ==, bytes);
    g_autofree char *sum = g_compute_checksum_for_data(G_CHECKSUM_SHA256, (const guchar *)data, n);
    g_assert_cmpstr(sum, ==, want);
}

static int n_files(void)
{
    g_autoptr(GDir) dir = g_dir_open(folder, 0, NULL);
    int n = 0;
    while (g_dir_read_name(dir))
        n++;
    return n;
}

static void writes_megatron_s_bytes(void)
{
    g_autofree char *prefix = prefix_of("golden");
    g_autoptr(GError) error = NULL;
    int before = n_files();
    g_assert_true(write_small(prefix, 65499, &error));
    g_assert_cmpint(n_files(), ==, before + 2); /* no temporary file stays */
    expect_sha256(prefix, ".idx", 94, "47c7544db60cc5df37c4dd3c3d059ff1564b0f593e82d269f91b2e1f93e340cb");
    expect_sha256(prefix, ".bin", 12, "b1cd5bf03b9488553472b7264c8d53326d8d6b2aa42ab53e2d0f27387db492d5");
}

static void reads_what_was_written(void)
{
    for (int wide = 0; wide < 2; wide++) {
        g_autofree char *prefix = prefix_of("read");
        g_autoptr(GError) error = NULL;
        g_assert_true(write_small(prefix, wide ? 65500 : 7, &error));
        Indexed *set = indexed_open(prefix, &error);
        g_assert_no_error(error);
        g_assert_cmpint(indexed_dtype(set), ==, wide ? INDEXED_I32 : INDEXED_U16);
        g_assert_cmpint(indexed_sequences(set), ==, 3);
        g_assert_cmpint(indexed_documents(set), ==, 2);
        g_assert_cmpint(indexed_tokens(set), ==, 6);
        g_assert_cmpint(indexed_length(set, 1), ==, 2);
        int64_t first, last;
        indexed_document(set, 1, &first, &last);
        g_assert_cmpint(first, ==, 2);
        g_assert_cmpint(last, ==, 3);
        int32_t out[2];
        indexed_read(set, 0, 1, 2, out, NULL);
        g_assert_cmpint(out[0], ==, 2);
        g_assert_cmpint(out[1], ==, 3);
        indexed_read(set, 2, 1, 0, out, NULL);
        indexed_close(set);
    }
}

static void an_empty_set_is_a_set(void)
{
    g_autofree char *prefix = prefix_of("empty");
    g_autoptr(GError) error = NULL;
    IndexedWriter *writer = indexed_writer_open(prefix, INDEXED_MEGATRON, 100, &error);
    g_assert_true(indexed_writer_finish(writer, &error));
    Indexed *set = indexed_open(prefix, &error);
    g_assert_no_error(error);
    g_assert_cmpint(indexed_documents(set), ==, 0);
    g_assert_cmpint(indexed_sequences(set), ==, 0);
    indexed_close(set);
}

static void refuses_another_writer(const char *prefix)
{
    g_autoptr(GError) refusal = NULL;
    g_assert_null(indexed_writer_open(prefix, INDEXED_MEGATRON, 100, &refusal));
    g_assert_nonnull(strstr(refusal->message, "another process is writing the dataset"));
}

/* A second writer of a dataset is refused, and the tokens of the first stay as they are. */
static void one_writer_at_a_time(void)
{
    static const int32_t tokens[] = { 7, 8, 9 };
    g_autofree char *prefix = prefix_of("shared"), *bin = g_strconcat(prefix, ".bin", NULL),
                    *unfinished = g_strconcat(bin, ".tmp", NULL);
    g_autoptr(GError) error = NULL;
    int32_t out[3];
    IndexedWriter *writer = indexed_writer_open(prefix, INDEXED_MEGATRON, 100, &error);
    g_assert_true(indexed_writer_add(writer, tokens, 3, &error) && indexed_writer_end_document(writer, &error));
    refuses_another_writer(prefix);
    g_assert_true(io_rename(unfinished, bin, &error)); /* as the first does while it finishes: files of it are left */
    refuses_another_writer(prefix);
    g_assert_true(io_rename(bin, unfinished, &error));
    g_assert_true(indexed_writer_finish(writer, &error));
    g_assert_true(write_small(prefix, 100, &error)); /* when the first has ended, another may write it */
    writer = indexed_writer_open(prefix, INDEXED_MEGATRON, 100, &error);
    indexed_writer_close(writer);
    Indexed *set = indexed_open(prefix, &error);
    g_assert_no_error(error);
    indexed_read(set, 0, 0, 3, out, NULL);
    g_assert_cmpint(out[0], ==, 1);
    indexed_close(set);
}

/* The folder of a dataset is removed and made again while a writer has it open, and another one writes there. */
static void a_replaced_folder_is_left_alone(void)
{
    static const int32_t tokens[] = { 7, 8, 9 };
    g_autofree char *dataset_folder = prefix_of("gone"), *prefix = g_build_filename(dataset_folder, "set", NULL);
    g_autoptr(GError) error = NULL, refusal = NULL;
    g_assert_true(io_make_directories(dataset_folder, &error));
    IndexedWriter *writer = indexed_writer_open(prefix, INDEXED_MEGATRON, 100, &error);
    for (int i = 0; i < 50000; i++) /* their lengths fill several pages */
        g_assert_true(indexed_writer_add(writer, tokens, 3, &error) && indexed_writer_end_document(writer, &error));
    g_assert_true(io_remove_tree(dataset_folder, &error) && io_make_directories(dataset_folder, &error));
    IndexedWriter *other = indexed_writer_open(prefix, INDEXED_MEGATRON, 100, &error);
    g_assert_true(indexed_writer_add(other, tokens, 2, &error) && indexed_writer_end_document(other, &error));
    g_assert_false(indexed_writer_finish(writer, &refusal));
    g_assert_nonnull(strstr(refusal->message, "was removed or replaced while it was written"));
    refuses_another_writer(prefix); /* the lock of the other writer stays */
    g_assert_true(indexed_writer_finish(other, &error));
    Indexed *set = indexed_open(prefix, &error);
    g_assert_no_error(error);
    g_assert_cmpint(indexed_tokens(set), ==, 2);
    indexed_close(set);
    g_assert_true(io_remove_tree(dataset_folder, &error));
}

static void every_dtype_is_widened(void)
{
    static const struct {
        int code, bytes;
        int64_t first; /* what the token 0xff…ff, or for i64 2^31, means */
    } cases[] = { { 1, 1, 255 }, { 2, 1, -1 }, { 3, 2, -1 }, { 4, 4, -1 }, { 5, 8, -1 }, { 8, 2, 65535 } };
    g_autofree char *prefix = prefix_of("dtype");
    for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
        GByteArray *idx = g_byte_array_new();
        g_byte_array_append(idx, (const guint8 *)"MMIDIDX\0\0\1\0\0\0\0\0\0\0", 17);
        guint8 code = (guint8)cases[i].code;
        g_byte_array_append(idx, &code, 1);
        const int64_t counts[2] = { 1, 2 }, offset = 0, documents[2] = { 0, 1 };
        const int32_t length = 2;
        g_byte_array_append(idx, (const guint8 *)counts, 16);
        g_byte_array_append(idx, (const guint8 *)&length, 4);
        g_byte_array_append(idx, (const guint8 *)&offset, 8);
        g_byte_array_append(idx, (const guint8 *)documents, 16);
        put(prefix, ".idx", idx->data, idx->len);
        g_byte_array_unref(idx);
        guint8 bin[16];
        memset(bin, 0xff, sizeof bin);
        if (cases[i].code == 5)
            memcpy(bin, &(int64_t){ 1LL << 31 }, 8);
        put(prefix, ".bin", bin, 2 * (size_t)cases[i].bytes);
        g_autoptr(GError) error = NULL;
        Indexed *set = indexed_open(prefix, &error);
        g_assert_no_error(error);
        int32_t out[2];
        indexed_read(set, 0, 0, 2, out, NULL);
        g_assert_cmpint(out[0], ==, cases[i].first);
        indexed_close(set);
    }
}

/* A good pair of files with `n` bytes at `at` of the index replaced. */
static void expect_refused(const char *words, size_t at, const void *bytes, size_t n, int64_t idx_cut, int64_t bin_cut)
{
    g_autofree char *prefix = prefix_of("bad");
    g_assert_true(write_small(prefix, 100, NULL));
    size_t idx_bytes, bin_bytes;
    g_autofree char *idx = slurp(prefix, ".idx", &idx_bytes), *bin = slurp(prefix, ".bin", &bin_bytes);
    idx = g_realloc(idx, 1000);
    memcpy(idx + at, bytes, n);
    put(prefix, ".idx", idx, (size_t)((int64_t)idx_bytes - idx_cut));
    put(prefix, ".bin", bin, (size_t)((int64_t)bin_bytes - bin_cut));
    g_autoptr(GError) error = NULL;
    g_assert_null(indexed_open(prefix, &error));
    g_assert_error(error, LOAM_ERROR, LOAM_ERROR_USER);
    if (strstr(error->message, words) == NULL)
        g_error("\"%s\" does not say \"%s\"", error->message, words);
}

#define I64(x) &(int64_t){ x }, 8
#define I32(x) &(int32_t){ x }, 4

static void refuses_every_inconsistency(void)
{
    expect_refused("does not begin with MMIDIDX", 0, "X", 1, 0, 0);
    expect_refused("does not begin with MMIDIDX", 0, "", 0, 94, 0);
    expect_refused("bad.idx: truncated: its header has 34 bytes, it has 20", 0, "", 0, 74, 0);
    expect_refused("version 2 is unknown", 9, I64(2), 0, 0);
    expect_refused("dtype code 9 is unknown", 17, "\11", 1, 0, 0);
    expect_refused("dtype code 0 is unknown", 17, "\0", 1, 0, 0);
    expect_refused("dtype code 6 is for floats", 17, "\6", 1, 0, 0);
    expect_refused("bad.idx: truncated by 1 bytes: 3 sequences and 3 document boundaries need 94, it has 93", 0, "", 0,
                   1, 0);
    expect_refused("1 bytes too long", 0, "", 0, -1, 0);
    expect_refused("counts are impossible", 18, I64(-1), 0, 0);
    expect_refused("counts are impossible", 26, I64(-1), 0, 0);
    expect_refused("truncated by 12 bytes", 18, I64(4), 0, 0);
    expect_refused("not even the first", 26, I64(0), 0, 0);
    expect_refused("sequence 1 has length -1", 38, I32(-1), 0, 0);
    expect_refused("sequence 0 begins at byte -2", 46, I64(-2), 0, 0);
    expect_refused("sequence 1 begins at byte 7", 54, I64(7), 0, 0);
    expect_refused("sequence 2 ends at byte 16 of", 62, I64(14), 0, 0);
    expect_refused("sequence 2 ends at byte 12 of", 0, "", 0, 0, 1);
    expect_refused("bad.bin, which has only 11: it is truncated", 0, "", 0, 0, 1);
    expect_refused("sequence 0 ends at byte 4294967294 of", 34, I32(2147483647), 0, 0);
    expect_refused("first document begins at sequence 1", 70, I64(1), 0, 0);
    expect_refused("document 1 ends at sequence 1, before it begins (2)", 86, I64(1), 0, 0);
    expect_refused("last document ends at sequence 2 of 3", 86, I64(2), 0, 0);
    expect_refused("last document ends at sequence 4 of 3", 86, I64(4), 0, 0);
    g_autoptr(GError) error = NULL;
    g_assert_null(indexed_open("/nonexistent/x", &error));
    g_assert_nonnull(strstr(error->message, "/nonexistent/x.idx"));
}

static void a_failing_call_leaves_no_index(void)
{
    g_autofree char *prefix = prefix_of("failing"), *idx = g_strconcat(prefix, ".idx", NULL);
    g_assert_true(write_small(prefix, 65500, NULL));
    int before = n_files();
    for (int n = 1;; n++) {
        g_autoptr(GError) error = NULL;
        g_assert_true(write_small(prefix, 65500, NULL)); /* its index does not fit the new .bin */
        io_fail_at(n, ENOSPC);
        bool ok = write_small(prefix, 100, &error);
        bool reached = io_calls() >= n;
        io_fail_at(0, 0);
        if (ok) {
            g_assert_cmpint(n, >, 10);
            break;
        }
        g_assert_true(reached);
        g_assert_error(error, LOAM_ERROR, LOAM_ERROR_MACHINE);
        g_assert_cmpint(n_files(), <=, before); /* the parts are removed */
        Indexed *set = indexed_open(prefix, NULL);
        g_assert_true(set != NULL ||
                      !g_file_test(idx, G_FILE_TEST_EXISTS)); /* the old pair, the new one, or no index */
        indexed_close(set);
    }
}

/* Copies every document of a dataset and compares the files. */
static void expect_same_when_rewritten(const char *prefix, IndexedWriter *writer, const char *copy)
{
    g_autoptr(GError) error = NULL;
    Indexed *set = indexed_open(prefix, &error);
    g_assert_no_error(error);
    for (int64_t d = 0; d < indexed_documents(set); d++) {
        int64_t first, last;
        for (indexed_document(set, d, &first, &last); first < last; first++) {
            int64_t n = indexed_length(set, first);
            g_autofree int32_t *tokens = g_new(int32_t, (gsize)n);
            indexed_read(set, first, 0, n, tokens, NULL);
            g_assert_true(indexed_writer_add(writer, tokens, n, &error));
        }
        g_assert_true(indexed_writer_end_document(writer, &error));
    }
    indexed_close(set);
    g_assert_true(indexed_writer_finish(writer, &error));
    for (int bin = 0; bin < 2; bin++) {
        size_t n, m;
        g_autofree char *want = slurp(prefix, bin ? ".bin" : ".idx", &n);
        g_autofree char *got = slurp(copy, bin ? ".bin" : ".idx", &m);
        expect_bytes(got, m, want, n);
    }
}

static void rewrite_megatron(const char *prefix)
{
    g_autofree char *copy = prefix_of("copy");
    g_autoptr(GError) error = NULL;
    Indexed *set = indexed_open(prefix, &error);
    g_assert_no_error(error);
    int32_t vocab = indexed_dtype(set) == INDEXED_U16 ? 65499 : INT32_MAX;
    indexed_close(set);
    expect_same_when_rewritten(prefix, indexed_writer_open(copy, INDEXED_MEGATRON, vocab, &error), copy);
}

static void rewrite_fairseq(const char *prefix, int32_t vocab, int64_t documents)
{
    g_autofree char *copy = prefix_of("fairseq");
    g_autoptr(GError) error = NULL;
    Indexed *set = indexed_open(prefix, &error);
    g_assert_no_error(error);
    g_assert_cmpint(indexed_form(set), ==, INDEXED_FAIRSEQ);
    g_assert_cmpint(indexed_documents(set), ==, documents);
    for (int64_t i = 0; i < documents; i++) {
        int32_t last;
        indexed_read(set, i, indexed_length(set, i) - 1, 1, &last, NULL);
        g_assert_cmpint(last, ==, 2); /* </s> ends every line */
    }
    indexed_close(set);
    expect_same_when_rewritten(prefix, indexed_writer_open(copy, INDEXED_FAIRSEQ, vocab, &error), copy);
}

static void rewriting_megatron_s_files_gives_their_bytes(void)
{
    rewrite_megatron(GOLDEN "megatron/u16");
    rewrite_megatron(GOLDEN "megatron/i32");
}

static void rewriting_bigscience_s_files_gives_their_bytes(void)
{
    rewrite_megatron(SHARED "golden/megatron/bigscience_ag_news_prompt_inputs_document");
    rewrite_megatron(SHARED "golden/megatron/bigscience_ag_news_prompt_targets_document");
    rewrite_megatron(SHARED "golden/megatron/megatron_test_text_document");
}

static void rewriting_fairseq_s_files_gives_their_bytes(void)
{
    rewrite_fairseq(GOLDEN "fairseq/train", 1000, 400);
}

static void rewriting_iwslt_gives_its_bytes(void)
{
    rewrite_fairseq(SHARED "golden/fairseq/valid.en-fr.en", 4880, 1619);
}

static void fairseq_s_large_ids_are_unsigned(void)
{
    g_autofree char *prefix = prefix_of("u32");
    g_autoptr(GError) error = NULL;
    IndexedWriter *writer = indexed_writer_open(prefix, INDEXED_FAIRSEQ, 70000, &error);
    g_assert_true(indexed_writer_add(writer, (const int32_t[]){ 69999, 5 }, 2, &error));
    g_assert_true(indexed_writer_end_document(writer, &error) && indexed_writer_finish(writer, &error));
    Indexed *set = indexed_open(prefix, &error);
    g_assert_no_error(error);
    g_assert_cmpint(indexed_dtype(set), ==, INDEXED_U32);
    int32_t out[2];
    indexed_read(set, 0, 0, 2, out, NULL);
    g_assert_cmpint(out[0], ==, 69999);
    indexed_close(set);
}

/* Two sequences of 2 and 1 tokens, as Megatron's or fairseq's `lazy` builders laid them out. */
static void put_legacy(const char *prefix, bool fairseq, int64_t patch_at, int64_t patch)
{
    int64_t idx[32] = { 0, 1, 4, 4, 2, 2 };
    memcpy(idx, "TNTIDX\0\0", 8);
    int n = 6;
    if (!fairseq)
        idx[n++] = 2; /* document boundaries */
    const int64_t arrays[] = { 0, 1, 2, 0, 2, 3, 2, 1, 0, 2 };
    memcpy(idx + n, arrays, sizeof arrays);
    n += fairseq ? 8 : 10;
    if (patch_at >= 0)
        idx[patch_at] = patch;
    put(prefix, ".idx", idx, (size_t)n * 8);
    put(prefix, ".bin", (const int32_t[]){ 7, 8, 9 }, 12);
}

static void reads_legacy_files(void)
{
    for (int fairseq = 0; fairseq < 2; fairseq++) {
        g_autofree char *prefix = prefix_of("legacy");
        g_autoptr(GError) error = NULL;
        put_legacy(prefix, fairseq, -1, 0);
        Indexed *set = indexed_open(prefix, &error);
        g_assert_no_error(error);
        g_assert_cmpint(indexed_form(set), ==, fairseq ? INDEXED_LEGACY_FAIRSEQ : INDEXED_LEGACY);
        g_assert_cmpint(indexed_sequences(set), ==, 2);
        g_assert_cmpint(indexed_documents(set), ==, fairseq ? 2 : 1);
        g_assert_cmpint(indexed_tokens(set), ==, 3);
        int32_t out[2];
        indexed_read(set, 0, 1, 1, out, NULL);
        g_assert_cmpint(out[0], ==, fairseq ? 7 : 8); /* fairseq stored ids plus one */
        indexed_read(set, 1, 0, 1, out, NULL);
        g_assert_cmpint(out[0], ==, fairseq ? 8 : 9);
        indexed_close(set);
    }
}

static void refuses_bad_legacy_files(void)
{
    static const struct {
        int at;
        int64_t value;
        const char *words;
    } cases[] = {
        { 1, 2, "version 2 is unknown" },
        { 2, 6, "dtype code 6 is for floats" },
        { 3, 8, "its tokens have 8 bytes, but dtype code 4 has 4" },
        { 4, -1, "counts are impossible" },
        { 5, 3, "3 sizes for 2 sequences" },
        { 6, 0, "not even the first" },
        { 6, 3, "truncated by 8 bytes" },
        { 8, 2, "sequence 0 has not one dimension" },
        { 11, -1, "sequence 1 begins at byte -1" },
        { 11, INT64_MAX, "where no token begins" },
        { 14, 2, "sequence 1 ends at byte 16 of" },
        { 14, INT64_MAX, "sequence 1 has length" },
        { 16, 1, "last document ends at sequence 1 of 2" },
    };
    for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
        g_autofree char *prefix = prefix_of("bad-legacy");
        g_autoptr(GError) error = NULL;
        put_legacy(prefix, false, cases[i].at, cases[i].value);
        g_assert_null(indexed_open(prefix, &error));
        g_assert_error(error, LOAM_ERROR, LOAM_ERROR_USER);
        if (strstr(error->message, cases[i].words) == NULL)
            g_error("\"%s\" does not say \"%s\"", error->message, cases[i].words);
    }
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    folder = g_dir_make_tmp("loam-indexed-XXXXXX", NULL);
    g_test_add_func("/indexed/writes_megatron_s_bytes", writes_megatron_s_bytes);
    g_test_add_func("/indexed/reads_what_was_written", reads_what_was_written);
    g_test_add_func("/indexed/an_empty_set_is_a_set", an_empty_set_is_a_set);
    g_test_add_func("/indexed/one_writer_at_a_time", one_writer_at_a_time);
    g_test_add_func("/indexed/a_replaced_folder_is_left_alone", a_replaced_folder_is_left_alone);
    g_test_add_func("/indexed/every_dtype_is_widened", every_dtype_is_widened);
    g_test_add_func("/indexed/refuses_every_inconsistency", refuses_every_inconsistency);
    g_test_add_func("/indexed/a_failing_call_leaves_no_index", a_failing_call_leaves_no_index);
    g_test_add_func("/indexed/rewriting_megatron_s_files_gives_their_bytes",
                    rewriting_megatron_s_files_gives_their_bytes);
    g_test_add_func("/indexed/rewriting_fairseq_s_files_gives_their_bytes",
                    rewriting_fairseq_s_files_gives_their_bytes);
    add_where_present(SHARED "golden/megatron/megatron_test_text_document.idx",
                      "/indexed/rewriting_bigscience_s_files_gives_their_bytes",
                      rewriting_bigscience_s_files_gives_their_bytes);
    add_where_present(SHARED "golden/fairseq/valid.en-fr.en.idx", "/indexed/rewriting_iwslt_gives_its_bytes",
                      rewriting_iwslt_gives_its_bytes);
    g_test_add_func("/indexed/fairseq_s_large_ids_are_unsigned", fairseq_s_large_ids_are_unsigned);
    g_test_add_func("/indexed/reads_legacy_files", reads_legacy_files);
    g_test_add_func("/indexed/refuses_bad_legacy_files", refuses_bad_legacy_files);
    int status = g_test_run();
    io_remove_tree(folder, NULL);
    g_free(folder);
    return status;
}
