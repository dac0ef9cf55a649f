#include "data/prefetch.h"

#include "data/objective_test.h"
#include "data/tiny_tokenizer.h"

#include <unistd.h>

#include <stdlib.h>
#include <time.h>

enum { VOCAB_PIECES = 100, SEED = 5 };

static char *folder, *prefix;
static Tokenizer *tok;
static int64_t n_tokens;
static DataConfig config = {
    .packed = true, .input_length = 64, .noise_density = 0.15, .settings.span_corruption = { 3 }
};

/* 60 documents of random ids of the vocabulary; every third one has two sequences. */
static void write_dataset(void)
{
    g_autoptr(GError) error = NULL;
    IndexedWriter *writer = indexed_writer_open(prefix, INDEXED_MEGATRON, tokenizer_size(tok), &error);
    Philox rng = philox_open(philox_key(1, PHILOX_SAMPLING, 0), 0);
    for (int document = 0; document < 60; document++) {
        for (int sequence = 0; sequence < (document % 3 == 0 ? 2 : 1); sequence++) {
            int32_t ids[200];
            int64_t n = 1 + (int64_t)philox_below(&rng, 200);
            for (int64_t i = 0; i < n; i++)
                ids[i] = 3 + (int32_t)philox_below(&rng, VOCAB_PIECES - 3);
            g_assert_true(indexed_writer_add(writer, ids, n, &error));
            n_tokens += n;
        }
        g_assert_true(indexed_writer_end_document(writer, &error));
    }
    g_assert_true(indexed_writer_finish(writer, &error));
}

static Loader *open_loader(uint64_t seed, bool held_out)
{
    g_autoptr(GError) error = NULL;
    Loader *loader = loader_open(&config, prefix, tok, seed, held_out, &error);
    g_assert_no_error(error);
    return loader;
}

static Batch *new_batch(const Loader *loader, int32_t samples)
{
    const ObjectiveConfig *objective = loader_objective(loader);
    return batch_new(samples, (int32_t)objective->input_length, (int32_t)objective->target_length);
}

static void get(Loader *loader, int64_t first, int64_t n, Batch *batch)
{
    g_autoptr(GError) error = NULL;
    g_assert_true(loader_get(loader, first, n, batch, &error));
    g_assert_no_error(error);
}

/* Sequence i of a batch as the text it was made of, appended to `ids`. */
static void append_text(const Loader *loader, const Batch *batch, int32_t i, GArray *ids)
{
    const TokenStream *enc = &batch->enc, *dec = &batch->dec;
    int32_t out[12000];
    const Example example = { .inputs = enc->ids + enc->cu[i],
                              .targets = batch->targets + dec->cu[i],
                              .n_inputs = enc->cu[i + 1] - enc->cu[i],
                              .n_targets = dec->cu[i + 1] - dec->cu[i] };
    int64_t n = span_corruption_splice(loader_objective(loader), &example, out, NULL);
    g_assert_cmpint(n, >, 0);
    g_array_append_vals(ids, out, (guint)n);
}

/* All text of samples [first, first + n), in order. */
static GArray *read_text(Loader *loader, int64_t first, int64_t n)
{
    GArray *ids = g_array_new(false, false, sizeof(int32_t));
    Batch *batch = new_batch(loader, 1);
    for (int64_t i = first; i < first + n; i++) {
        get(loader, i, 1, batch);
        append_text(loader, batch, 0, ids);
    }
    batch_free(batch);
    return ids;
}

static GArray *read_file(void)
{
    Indexed *set = indexed_open(prefix, NULL);
    GArray *ids = g_array_new(false, false, sizeof(int32_t));
    for (int64_t i = 0; i < indexed_sequences(set); i++) {
        int32_t out[200], n = indexed_length(set, i);
        indexed_read(set, i, 0, n, out, NULL);
        g_array_append_vals(ids, out, (guint)n);
    }
    indexed_close(set);
    return ids;
}

static void assert_same_ids(const GArray *a, const GArray *b)
{
    g_assert_cmpuint(a->len, ==, b->len);
    assert_same(a->data, b->data, a->len * sizeof(int32_t));
}

static bool equal_ids(const GArray *a, const GArray *b)
{
    return a->len == b->len && memcmp(a->data, b->data, a->len * sizeof(int32_t)) == 0;
}

static int compare_ids(const void *a, const void *b)
{
    int32_t x = *(const int32_t *)a, y = *(const int32_t *)b;
    return (x > y) - (x < y);
}

/* Which 70 tokens of the file a row of held-out data is. */
static int64_t find_piece(Loader *loader, int64_t row, const GArray *file)
{
    g_autoptr(GArray) text = read_text(loader, row, 1);
    for (int64_t at = 0; at < file->len; at += 70)
        if (MIN(70, file->len - at) == text->len &&
            memcmp(&g_array_index(file, int32_t, at), text->data, text->len * sizeof(int32_t)) == 0)
            return at / 70;
    g_assert_not_reached();
}

/* Cut as the file lies there, every piece once; any n rows are from all over the file, and another seed or epoch has
 * the same. */
static void held_out_rows_are_drawn_once_and_for_all(void)
{
    Loader *loader = open_loader(SEED, true), *other = open_loader(6, true);
    int64_t n = loader_epoch_packed(loader), early = 0;
    g_assert_cmpint(n, ==, (n_tokens + 69) / 70);
    g_assert_cmpint(loader_raw_tokens(loader), ==, n_tokens);
    g_autoptr(GArray) file = read_file();
    g_autofree bool *seen = g_new0(bool, n);
    for (int64_t row = 0; row < n; row++) {
        int64_t piece = find_piece(loader, row, file);
        g_assert_false(seen[piece]);
        seen[piece] = true;
        early += row < n / 2 && piece < n / 2;
        g_assert_cmpint(find_piece(other, row, file), ==, piece);
        g_assert_cmpint(find_piece(loader, n + row, file), ==, piece);
    }
    g_assert_cmpint(early, >, n / 8); /* a quarter of the rows; half of them in the file's order */
    g_assert_cmpint(early, <, 3 * n / 8);
    loader_close(loader);
    loader_close(other);
}

static void an_epoch_holds_every_token_once(void)
{
    Loader *loader = open_loader(SEED, false);
    int64_t n = loader_epoch_packed(loader);
    g_autoptr(GArray) want = read_file();
    qsort(want->data, want->len, sizeof(int32_t), compare_ids);
    for (int64_t epoch = 0; epoch < 3; epoch++) {
        g_autoptr(GArray) got = read_text(loader, epoch * n, n);
        qsort(got->data, got->len, sizeof(int32_t), compare_ids);
        assert_same_ids(got, want);
    }
    loader_close(loader);
}

static void epochs_and_seeds_differ_and_repeat(void)
{
    Loader *loader = open_loader(SEED, false), *again = open_loader(SEED, false), *other = open_loader(6, false);
    int64_t n = loader_epoch_packed(loader);
    g_autoptr(GArray) first = read_text(loader, 0, n), second = read_text(loader, n, n);
    g_autoptr(GArray) repeated = read_text(again, 0, n), seeded = read_text(other, 0, n);
    g_assert_false(equal_ids(first, second));
    g_assert_false(equal_ids(first, seeded));
    assert_same_ids(first, repeated);
    loader_close(loader);
    loader_close(again);
    loader_close(other);
}

/* With one piece an epoch, only the order of documents can tell epochs apart. */
static void documents_are_shuffled_anew_in_every_epoch(void)
{
    const DataConfig usual = config;
    config.input_length = 10000;
    config.settings.span_corruption.mean_span_length = 100;
    Loader *loader = open_loader(SEED, false), *other = open_loader(6, false);
    g_assert_cmpint(loader_epoch_packed(loader), ==, 1);
    g_autoptr(GArray) seeded = read_text(other, 0, 1);
    g_autoptr(GArray) first = read_text(loader, 0, 1), second = read_text(loader, 1, 1);
    g_assert_false(equal_ids(first, second));
    g_assert_false(equal_ids(first, seeded));
    loader_close(loader);
    loader_close(other);
    config = usual;
}

static void assert_same_batches(const Batch *a, const Batch *b)
{
    const TokenStream *streams[2][2] = { { &a->enc, &b->enc }, { &a->dec, &b->dec } };
    g_assert_cmpint(a->first_sample, ==, b->first_sample);
    g_assert_cmpint(a->n_samples, ==, b->n_samples);
    g_assert_cmpint(a->n_targets, ==, b->n_targets);
    for (int i = 0; i < 2; i++) {
        const TokenStream *x = streams[i][0], *y = streams[i][1];
        size_t rows = (size_t)x->n_tokens;
        g_assert_cmpint(x->n_tokens, ==, y->n_tokens);
        g_assert_cmpint(x->n_seq, ==, y->n_seq);
        assert_same(x->ids, y->ids, rows * sizeof *x->ids);
        assert_same(x->dropout_position, y->dropout_position, rows * sizeof *x->dropout_position);
        assert_same(x->sample, y->sample, rows * sizeof *x->sample);
        assert_same(x->cu, y->cu, (size_t)(x->n_seq + 1) * sizeof *x->cu);
    }
    assert_same(a->targets, b->targets, (size_t)a->dec.n_tokens * sizeof *a->targets);
    assert_same(a->weights, b->weights, (size_t)a->dec.n_tokens * sizeof *a->weights);
}

/* Across the end of an epoch, so that both cached epochs are in use. */
static void a_batch_is_the_union_of_its_samples(void)
{
    Loader *loader = open_loader(SEED, false), *single = open_loader(SEED, false);
    int64_t first = loader_epoch_packed(loader) - 7;
    Batch *whole = new_batch(loader, 16), *joined = new_batch(loader, 16), *one = new_batch(single, 1);
    get(loader, first, 16, whole);
    for (int64_t i = 15; i >= 0; i--) /* backwards: no call may depend on the one before */
        get(single, first + i, 1, one);
    for (int64_t i = 0; i < 16; i++) {
        get(single, first + i, 1, one);
        batch_add(joined, first + i, one->enc.ids, one->enc.n_tokens, one->targets, one->dec.n_tokens, one->dec.ids[0]);
    }
    assert_same_batches(whole, joined);
    batch_free(whole);
    batch_free(joined);
    batch_free(one);
    loader_close(loader);
    loader_close(single);
}

static void prefetch_equals_direct_calls_under_jumps(void)
{
    Loader *loader = open_loader(SEED, false), *direct = open_loader(SEED, false);
    Prefetch *prefetch = prefetch_open(loader, 4, 3, (PrefetchShare){ 0 });
    Batch *want = new_batch(direct, 4);
    Philox rng = philox_open(philox_key(3, PHILOX_SAMPLING, 0), 0);
    int64_t at = 0;
    for (int call = 0; call < 3000; call++) {
        int64_t n = philox_below(&rng, 5) == 0 ? 1 + (int64_t)philox_below(&rng, 4) : 4;
        if (philox_below(&rng, 8) == 0)
            at = (int64_t)philox_below(&rng, 300);
        const Batch *got = prefetch_borrow(prefetch, at, n, NULL);
        get(direct, at, n, want);
        assert_same_batches(got, want);
        prefetch_give_back(prefetch, got);
        at += n;
    }
    batch_free(want);
    prefetch_close(prefetch);
    loader_close(loader);
    loader_close(direct);
}

/* Batches held at once, given back in an order of their own, and which of them a call got. */
static void batches_are_lent_and_given_back_in_any_order(void)
{
    enum { HELD = 5, DEPTH = 2, STEPS = 40 };
    Loader *loader = open_loader(SEED, false), *direct = open_loader(SEED, false);
    Prefetch *prefetch = prefetch_open(loader, 4, DEPTH, (PrefetchShare){ 0 });
    Batch *want = new_batch(direct, 4);
    g_autoptr(GHashTable) known = g_hash_table_new(NULL, NULL);
    Philox rng = philox_open(philox_key(3, PHILOX_SAMPLING, 1), 0);
    for (int64_t step = 0; step < STEPS; step++) {
        const Batch *held[HELD];
        for (int64_t i = 0; i < HELD; i++) {
            held[i] = prefetch_borrow(prefetch, (step * HELD + i) * 4, 4, NULL);
            g_hash_table_add(known, (gpointer)held[i]);
        }
        g_usleep(200); /* the thread goes on meanwhile, and must not write into a batch that is held */
        for (int64_t i = 0; i < HELD; i++) {
            get(direct, (step * HELD + i) * 4, 4, want);
            assert_same_batches(held[i], want);
        }
        for (int n = HELD; n > 0; n--) {
            uint64_t drawn = philox_below(&rng, (uint64_t)n);
            prefetch_give_back(prefetch, held[drawn]);
            held[drawn] = held[n - 1];
        }
    }
    /* What is lent is what the thread filled: no more batches exist than are held, ready and being made. */
    g_assert_cmpint(g_hash_table_size(known), <=, HELD + DEPTH + 1);
    batch_free(want);
    prefetch_close(prefetch);
    loader_close(loader);
    loader_close(direct);
}

static void expect_refusal(const char *at, const char *phrase)
{
    g_autoptr(GError) error = NULL;
    g_assert_null(loader_open(&config, at, tok, SEED, false, &error));
    g_assert_error(error, LOAM_ERROR, LOAM_ERROR_USER);
    g_assert_nonnull(strstr(error->message, phrase));
}

static void another_tokenizer_is_refused(void)
{
    g_autofree char *meta = g_strdup_printf(
        "{\"version\": 1, \"tokenizer\": {\"hash\": \"0123456789abcdef\", \"kind\": \"x\", \"size\": 9}, "
        "\"append_eod\": false, \"documents\": 60, \"tokens\": %" G_GINT64_FORMAT "}",
        n_tokens);
    g_autofree char *path = file_write_text(folder, "set.json", meta);
    expect_refusal(prefix, "0123456789abcdef");
    expect_refusal(prefix, tokenizer_hash(tok));
    expect_refusal(prefix, "loam prepare --tokenizer");
    g_assert_true(io_remove_tree(path, NULL));
}

static void a_dataset_without_tokens_is_refused(void)
{
    g_autofree char *empty = g_build_filename(folder, "empty", NULL);
    IndexedWriter *writer = indexed_writer_open(empty, INDEXED_MEGATRON, 100, NULL);
    g_assert_true(indexed_writer_finish(writer, NULL));
    expect_refusal(empty, "empty");
}

/* A text of 5 documents of 2 sequences of 5 tokens; the bad id is token 8 of document 3. */
static void the_place_of_a_bad_id_is_told(void)
{
    g_autofree char *set = g_build_filename(folder, "placed", NULL);
    static const char *const names[] = { "span_corruption", "prefix_lm", "mlm", "clm" };
    IndexedWriter *writer = indexed_writer_open(set, INDEXED_MEGATRON, 60000, NULL);
    for (int document = 0; document < 5; document++) {
        int32_t first[5] = { 5, 6, 7, 8, 9 }, second[5] = { 5, 6, 7, document == 3 ? 50000 : 8, 9 };
        g_assert_true(indexed_writer_add(writer, first, 5, NULL) && indexed_writer_add(writer, second, 5, NULL) &&
                      indexed_writer_end_document(writer, NULL));
    }
    g_assert_true(indexed_writer_finish(writer, NULL));
    for (size_t i = 0; i < G_N_ELEMENTS(names); i++) {
        g_autoptr(GError) error = NULL;
        DataConfig data = config;
        data.input_length = 8;
        data.objective = objective_index(names[i]);
        Loader *loader = loader_open(&data, set, tok, SEED, false, &error);
        g_assert_no_error(error);
        Batch *batch = loader_batch(loader, 1);
        for (int64_t row = 0; !error; row++)
            loader_get(loader, row, 1, batch, &error);
        g_assert_error(error, LOAM_ERROR, LOAM_ERROR_USER);
        g_assert_nonnull(strstr(error->message, "placed holds token id 50000"));
        g_assert_nonnull(strstr(error->message, "(document 3, token 8, from 0)"));
        batch_free(batch);
        loader_close(loader);
    }
}

/* Other tokens are still read. */
static void a_bin_that_is_cut_meanwhile_is_an_error_of_the_machine(void)
{
    g_autofree char *set = g_build_filename(folder, "cut", NULL), *bin = g_strconcat(set, ".bin", NULL);
    g_autoptr(GError) error = NULL;
    IndexedWriter *writer = indexed_writer_open(set, INDEXED_MEGATRON, 200, NULL);
    int32_t ids[5000];
    for (int i = 0; i < 5000; i++)
        ids[i] = 5;
    g_assert_true(indexed_writer_add(writer, ids, 5000, NULL) && indexed_writer_end_document(writer, NULL) &&
                  indexed_writer_finish(writer, NULL));
    Dataset *data = dataset_open(set, NULL);
    g_assert_cmpint(truncate(bin, 6000), ==, 0);
    g_assert_true(dataset_read(data, 0, 0, 3000, 200, ids, &error));
    g_assert_false(dataset_read(data, 0, 2000, 2000, 200, ids, &error));
    g_assert_error(error, LOAM_ERROR, LOAM_ERROR_MACHINE);
    g_assert_nonnull(strstr(error->message, "cut.bin was cut while it was in use: it had 10000 bytes"));
    dataset_close(data);
}

static void ids_beyond_the_tokenizer_are_refused(void)
{
    g_autofree char *beyond = g_build_filename(folder, "beyond", NULL);
    IndexedWriter *writer = indexed_writer_open(beyond, INDEXED_MEGATRON, 60000, NULL);
    g_autoptr(GError) error = NULL;
    g_assert_true(indexed_writer_add(writer, (int32_t[]){ 5, 5, tokenizer_size(tok) }, 3, NULL));
    g_assert_true(indexed_writer_end_document(writer, NULL));
    g_assert_true(indexed_writer_finish(writer, NULL));
    Loader *loader = loader_open(&config, beyond, tok, SEED, false, NULL);
    Batch *batch = new_batch(loader, 1);
    Prefetch *prefetch = prefetch_open(loader, 1, 2, (PrefetchShare){ 0 });
    g_assert_false(loader_get(loader, 0, 1, batch, &error));
    g_assert_nonnull(strstr(error->message, "holds token id 200"));
    for (int64_t i = 0; i < 3; i++) {
        g_clear_error(&error);
        g_assert_null(prefetch_borrow(prefetch, i, 1, &error));
        g_assert_error(error, LOAM_ERROR, LOAM_ERROR_USER);
    }
    prefetch_close(prefetch);
    batch_free(batch);
    loader_close(loader);
}

/* T5-small on a processor takes less than 10k tokens a second; 20 times that is the least. Processor time of this
 * thread, so that other programs do not count. */
static double processor_seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

static void the_loader_is_far_ahead_of_a_training_step(void)
{
    config.input_length = 512;
    Loader *loader = open_loader(SEED, false);
    Batch *batch = new_batch(loader, 32);
    double start = processor_seconds(), elapsed = 0;
    int64_t tokens = 0;
    for (int64_t i = 0; elapsed < 0.3; i += 32) {
        get(loader, i, 32, batch);
        tokens += batch->enc.n_tokens;
        elapsed = processor_seconds() - start;
    }
    double rate = (double)tokens / elapsed;
    g_test_message("%.3g input tokens a second", rate);
    g_assert_cmpfloat(rate, >, 200e3);
    batch_free(batch);
    loader_close(loader);
    config.input_length = 64;
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    folder = folder_new();
    prefix = g_build_filename(folder, "set", NULL);
    tok = tiny_tokenizer(folder, "tiny.model", VOCAB_PIECES);
    write_dataset();
    g_test_add_func("/loader/held_out_rows_are_drawn_once_and_for_all", held_out_rows_are_drawn_once_and_for_all);
    g_test_add_func("/loader/an_epoch_holds_every_token_once", an_epoch_holds_every_token_once);
    g_test_add_func("/loader/epochs_and_seeds_differ_and_repeat", epochs_and_seeds_differ_and_repeat);
    g_test_add_func("/loader/documents_are_shuffled_anew_in_every_epoch", documents_are_shuffled_anew_in_every_epoch);
    g_test_add_func("/loader/a_batch_is_the_union_of_its_samples", a_batch_is_the_union_of_its_samples);
    g_test_add_func("/loader/another_tokenizer_is_refused", another_tokenizer_is_refused);
    g_test_add_func("/loader/a_dataset_without_tokens_is_refused", a_dataset_without_tokens_is_refused);
    g_test_add_func("/loader/the_place_of_a_bad_id_is_told", the_place_of_a_bad_id_is_told);
    g_test_add_func("/loader/a_bin_that_is_cut_meanwhile_is_an_error_of_the_machine",
                    a_bin_that_is_cut_meanwhile_is_an_error_of_the_machine);
    g_test_add_func("/loader/ids_beyond_the_tokenizer_are_refused", ids_beyond_the_tokenizer_are_refused);
    g_test_add_func("/prefetch/batches_are_lent_and_given_back_in_any_order",
                    batches_are_lent_and_given_back_in_any_order);
    g_test_add_func("/prefetch/equals_direct_calls_under_jumps", prefetch_equals_direct_calls_under_jumps);
    g_test_add_func("/loader/is_far_ahead_of_a_training_step", the_loader_is_far_ahead_of_a_training_step);
    int failed = g_test_run();
    tokenizer_close(tok);
    g_free(prefix);
    folder_remove(folder);
    return failed;
}
