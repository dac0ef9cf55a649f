/* The loader with objectives whose samples are shorter than a row. */
#include "data/loader.h"

#include "data/tiny_tokenizer.h"
#include "golden.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

enum { SEED = 5, ROWS = 8 };

static char *folder, *prefix;
static Tokenizer *tok;

static DataConfig config;

/* An objective by its name; "prefix_lm alone": on a decoder alone. */
static DataConfig config_of(const char *objective, int64_t input_length)
{
    DataConfig data = { .packed = true,
                        .input_length = input_length,
                        .noise_density = 0.15,
                        .settings = { .span_corruption = { 3 }, .mlm = { .whole_word = true, .max_ngram = 3 } } };
    data.decoder_alone = strcmp(objective, "prefix_lm alone") == 0;
    while (!g_str_has_prefix(objective, objective_names[data.objective]))
        data.objective++;
    return data;
}

/* 80 documents of 1 to 200 tokens. */
static void write_dataset(void)
{
    g_autoptr(GError) error = NULL;
    IndexedWriter *writer = indexed_writer_open(prefix, INDEXED_MEGATRON, tokenizer_size(tok), &error);
    Philox rng = philox_open(philox_key(1, PHILOX_SAMPLING, 0), 0);
    for (int document = 0; document < 80; document++) {
        int32_t ids[200];
        int64_t n = 1 + (int64_t)philox_below(&rng, 200);
        for (int64_t i = 0; i < n; i++)
            ids[i] = 3 + (int32_t)philox_below(&rng, 97);
        g_assert_true(indexed_writer_add(writer, ids, n, &error) && indexed_writer_end_document(writer, &error));
    }
    g_assert_true(indexed_writer_finish(writer, &error));
}

static Loader *open_loader(bool held_out)
{
    g_autoptr(GError) error = NULL;
    Loader *loader = loader_open(&config, prefix, tok, SEED, held_out, &error);
    g_assert_no_error(error);
    return loader;
}

static void get(Loader *loader, int64_t first, int64_t n, Batch *batch)
{
    g_autoptr(GError) error = NULL;
    loader_get(loader, first, n, batch, &error);
    g_assert_no_error(error);
}

/* Ids of the text alone, whatever the objective put around it: they lie between 3 and 99. */
static void count_text(const int32_t *ids, int64_t n, int64_t *counts)
{
    for (int64_t i = 0; i < n; i++)
        if (ids[i] >= 3 && ids[i] < 100)
            counts[ids[i]]++;
}

static void count_batch(const Batch *batch, int64_t *counts)
{
    bool both = batch->enc.max_tokens > 0 && batch->dec.max_tokens > 0;
    if (both)
        count_text(batch->enc.ids, batch->enc.n_tokens, counts);
    if (config.decoder_alone) /* whose first tokens are no targets */
        count_text(batch->dec.ids, batch->dec.n_tokens, counts);
    else
        count_text(batch->targets, batch_loss_stream(batch)->n_tokens, counts);
}

static void count_dataset(int64_t raw, int64_t min_length, int64_t *counts)
{
    Indexed *set = indexed_open(prefix, NULL);
    for (int64_t i = 0; i < indexed_sequences(set); i++) {
        int32_t out[200], n = indexed_length(set, i);
        indexed_read(set, i, 0, n, out, NULL);
        count_text(out, raw > 0 && n % raw < min_length ? n / raw * raw : n, counts);
    }
    indexed_close(set);
}

/* Sentinels and mode tokens lie above the text, so that every objective can be asked. */
static void an_epoch_of_any_objective_holds_every_token_once(void)
{
    static const char *const names[] = { "prefix_lm", "prefix_lm alone", "iid_denoising", "ul2", "full_lm", "mlm" };
    for (size_t i = 0; i < G_N_ELEMENTS(names); i++) {
        config = config_of(names[i], 64);
        Loader *loader = open_loader(false);
        const Objective *objective = data_objective_row(&config);
        bool cut = objective->text == TEXT_DOCUMENTS;
        int64_t want[100] = { 0 }, n = loader_epoch_packed(loader);
        Batch *batch = loader_batch(loader, 1);
        count_dataset(cut ? loader_objective(loader)->raw_length : 0, objective->min_length, want);
        for (int64_t epoch = 0; epoch < 3; epoch++) {
            int64_t got[100] = { 0 };
            for (int64_t row = 0; row < n; row++) {
                get(loader, epoch * n + row, 1, batch);
                count_batch(batch, got);
            }
            assert_same(got, want, sizeof got);
        }
        batch_free(batch);
        loader_close(loader);
    }
}

static void assert_same_batches(const Batch *a, const Batch *b)
{
    const TokenStream *streams[2][2] = { { &a->enc, &b->enc }, { &a->dec, &b->dec } };
    int32_t rows = batch_loss_stream(a)->n_tokens;
    g_assert_cmpint(a->n_targets, ==, b->n_targets);
    for (int i = 0; i < 2; i++) {
        const TokenStream *x = streams[i][0], *y = streams[i][1];
        g_assert_cmpint(x->n_tokens, ==, y->n_tokens);
        g_assert_cmpint(x->n_seq, ==, y->n_seq);
        if (x->n_tokens == 0)
            continue;
        assert_same(x->ids, y->ids, (size_t)x->n_tokens * 4);
        assert_same(x->sample, y->sample, (size_t)x->n_tokens * 8);
        assert_same(x->position_ids, y->position_ids, (size_t)x->n_tokens * 4);
        assert_same(x->token_types, y->token_types, (size_t)x->n_tokens * 4);
        assert_same(x->cu, y->cu, (size_t)(x->n_seq + 1) * 4);
        assert_same(x->prefix_length, y->prefix_length, (size_t)x->n_seq * 4);
    }
    assert_same(a->targets, b->targets, (size_t)rows * 4);
    assert_same(a->weights, b->weights, (size_t)rows * 4);
}

/* Rows [first, first + n) asked for at once, one by one, and from behind. */
static void a_row_is_a_function_of_its_index(void)
{
    static const char *const names[] = { "prefix_lm", "prefix_lm alone", "iid_denoising", "ul2", "clm", "mlm" };
    for (size_t i = 0; i < G_N_ELEMENTS(names); i++) {
        config = config_of(names[i], 64);
        config.settings.clm.reset_attention = config.settings.clm.reset_position = true;
        Loader *loader = open_loader(false), *again = open_loader(false);
        int64_t first = loader_epoch_packed(loader) - 3; /* into the next epoch */
        Batch *whole = loader_batch(loader, ROWS), *one = loader_batch(loader, 1), *other = loader_batch(loader, 1);
        get(loader, first, ROWS, whole);
        int64_t used = 0, targets = 0;
        for (int64_t row = ROWS - 1; row >= 0; row--) {
            get(again, first + row, 1, one);
            get(loader, first + row, 1, other);
            assert_same_batches(one, other);
            used += batch_input_stream(one)->n_tokens;
            targets += one->n_targets;
        }
        g_assert_cmpint(used, ==, batch_input_stream(whole)->n_tokens);
        g_assert_cmpint(targets, ==, whole->n_targets);
        batch_free(whole);
        batch_free(one);
        batch_free(other);
        loader_close(loader);
        loader_close(again);
    }
}

/* Every sample of an epoch has an index of its own, and the next epoch goes on from there. */
static void samples_are_numbered_through(void)
{
    config = config_of("prefix_lm", 64);
    Loader *loader = open_loader(false);
    Batch *batch = loader_batch(loader, 1);
    int64_t rows = loader_epoch_packed(loader), samples = 0, sum = 0;
    for (int64_t row = 0; row < 2 * rows; row++) {
        get(loader, row, 1, batch);
        for (int32_t i = 0; i < batch->enc.n_seq; i++, samples++)
            sum += batch->enc.sample[batch->enc.cu[i]];
    }
    g_assert_cmpint(samples, >, 2 * rows); /* rows are shared */
    g_assert_cmpint(sum, ==, samples * (samples - 1) / 2);
    batch_free(batch);
    loader_close(loader);
}

/* Several in a row, each with a prefix of its own, where the loss begins. */
static void prefixes_are_packed(void)
{
    config = config_of("prefix_lm alone", 64);
    Loader *loader = open_loader(false);
    Batch *batch = loader_batch(loader, 8);
    const TokenStream *dec = &batch->dec;
    get(loader, 0, 8, batch);
    g_assert_cmpint(batch->enc.max_tokens, ==, 0);
    g_assert_cmpint(dec->n_seq, >, 8);
    for (int32_t i = 0; i < dec->n_seq; i++)
        for (int32_t row = dec->cu[i]; row < dec->cu[i + 1]; row++) {
            g_assert_cmpint(dec->prefix_length[i], >, 0);
            g_assert_true(batch->weights[row] == (row - dec->cu[i] >= dec->prefix_length[i] - 1 ? 1 : 0));
        }
    batch_free(batch);
    loader_close(loader);
}

/* Eight rows of memory before each sample, and as many more in a row. */
static void packed_rows_leave_room_for_memory(void)
{
    config = config_of("prefix_lm", 64);
    config.memory_tokens = 8;
    Loader *loader = open_loader(false);
    Batch *batch = loader_batch(loader, 1);
    int32_t most = 0, fullest = 0;
    for (int64_t row = 0; row < loader_epoch_packed(loader); row++) {
        get(loader, row, 1, batch);
        most = MAX(most, batch->enc.n_seq);
        fullest = MAX(fullest, batch->enc.n_tokens + 8 * batch->enc.n_seq);
    }
    g_assert_cmpint(most, >, 1);
    g_assert_cmpint(fullest, <=, 64 + 8);
    batch_free(batch);
    loader_close(loader);
}

static void attention_ends_with_a_document(void)
{
    config = config_of("clm", 64);
    config.settings.clm = (ClmSettings){ true, true, true };
    Loader *loader = open_loader(false);
    Batch *batch = loader_batch(loader, 12);
    get(loader, 0, 12, batch);
    const TokenStream *dec = &batch->dec;
    g_assert_cmpint(dec->n_tokens, ==, 12 * 64);
    g_assert_cmpint(dec->n_seq, >, 12);
    g_assert_cmpint(batch->n_samples, ==, 12);
    for (int32_t i = 0; i < dec->n_seq; i++)
        for (int32_t row = dec->cu[i]; row < dec->cu[i + 1]; row++) {
            bool ends = dec->ids[row] == tokenizer_eos(tok);
            g_assert_cmpint(dec->position_ids[row], ==, row - dec->cu[i]);
            g_assert_cmpint(dec->dropout_position[row], ==, row % 64);
            g_assert_true(!ends || row == dec->cu[i + 1] - 1);
            g_assert_true(batch->weights[row] == (ends ? 0 : 1));
        }
    batch_free(batch);
    loader_close(loader);
}

static void static_masks_are_the_same_in_every_epoch(void)
{
    static const struct {
        const char *objective;
        int64_t length; /* a document makes one sample of 400 tokens, and several of 40 */
    } cases[] = { { "mlm", 400 }, { "mlm", 40 }, { "span_corruption", 40 }, { "iid_denoising", 40 } };
    for (size_t c = 0; c < 2 * G_N_ELEMENTS(cases); c++) {
        const bool fixed = c % 2;
        config = config_of(cases[c / 2].objective, cases[c / 2].length);
        config.static_masks = fixed;
        Loader *loader = open_loader(false);
        int64_t counts[2][100] = { { 0 } }, rows = loader_epoch_packed(loader);
        Batch *batch = loader_batch(loader, 1);
        for (int64_t row = 0; row < 2 * rows; row++) {
            get(loader, row, 1, batch);
            for (int32_t i = 0; i < batch_loss_stream(batch)->n_tokens; i++)
                if (batch->weights[i] > 0 && batch->targets[i] < 100)
                    counts[row / rows][batch->targets[i]]++;
        }
        g_assert_true((memcmp(counts[0], counts[1], sizeof counts[0]) == 0) == fixed);
        batch_free(batch);
        loader_close(loader);
    }
}

/* The same dataset twice. */
static void a_mixture_is_a_function_of_the_index_too(void)
{
    g_autoptr(GError) error = NULL;
    g_autofree char *both = g_strdup_printf("%s:3,%s:1", prefix, prefix);
    config = config_of("prefix_lm", 64);
    Loader *one = open_loader(false), *mixed = loader_open(&config, both, tok, SEED, false, &error);
    g_assert_no_error(error);
    int64_t rows = loader_epoch_packed(one);
    Batch *batch = loader_batch(mixed, 8), *again = loader_batch(mixed, 8);
    g_assert_cmpint(loader_epoch_packed(mixed), >, rows);
    g_assert_cmpint(loader_raw_tokens(mixed), ==, 2 * loader_raw_tokens(one));
    get(mixed, 8, 8, batch);
    get(mixed, 0, 8, again);
    get(mixed, 8, 8, again);
    assert_same_batches(batch, again);
    batch_free(batch);
    batch_free(again);
    loader_close(one);
    loader_close(mixed);
}

static void no_two_samples_of_a_mixture_share_a_number(void)
{
    g_autoptr(GError) error = NULL;
    g_autofree char *both = g_strdup_printf("%s,%s", prefix, prefix);
    g_autoptr(GHashTable) seen = g_hash_table_new_full(g_int64_hash, g_int64_equal, g_free, NULL);
    config = config_of("prefix_lm", 64);
    Loader *mixed = loader_open(&config, both, tok, SEED, false, &error);
    g_assert_no_error(error);
    Batch *batch = loader_batch(mixed, 5);
    int64_t rows = loader_epoch_packed(mixed);
    for (int64_t row = 0; row < 2 * rows; row += 5) {
        get(mixed, row, MIN(5, 2 * rows - row), batch);
        for (int32_t i = 0; i < batch->enc.n_seq; i++) {
            int64_t sample = batch->enc.sample[batch->enc.cu[i]];
            g_assert_cmpint(sample, <, (int64_t)1 << 48);
            g_assert_true(g_hash_table_add(seen, g_memdup2(&sample, sizeof sample)));
            g_assert_cmpint(batch->dec.sample[batch->dec.cu[i]], ==, sample);
        }
    }
    batch_free(batch);
    loader_close(mixed);
}

/* Rows of each dataset over several epochs of AST-T5's mixture: each goes on where it stopped, in one order. */
static void concat_weighted_slides_through_one_order(void)
{
    g_autoptr(GError) error = NULL;
    g_autofree char *both = g_strdup_printf("%s:.75,%s:.25", prefix, prefix);
    config = config_of("clm", 64);
    config.mixture.weights = MIXTURE_CONCAT_WEIGHTED;
    Loader *one = open_loader(false), *mixed = loader_open(&config, both, tok, SEED, false, &error);
    g_assert_no_error(error);
    int64_t rows = loader_epoch_packed(one), counts[2] = { 0 };
    g_assert_cmpint(loader_epoch_packed(mixed), ==, rows + rows / 3);
    g_autofree guint *first = g_new0(guint, 2 * rows); /* of each dataset: hashes of the rows of its first epoch */
    Batch *batch = loader_batch(mixed, 1);
    for (int64_t row = 0; row < 5 * (rows + rows / 3); row++) {
        get(mixed, row, 1, batch);
        const TokenStream *dec = &batch->dec;
        int of = dec->sample[0] >> 39 ? 1 : 0;
        int64_t within = counts[of]++;
        guint hash = 5381;
        for (int32_t i = 0; i < dec->n_tokens; i++)
            hash = hash * 33 + (guint)dec->ids[i];
        if (within < rows)
            first[of * rows + within] = hash;
        else
            g_assert_cmpuint(first[of * rows + within % rows], ==, hash);
    }
    g_assert_cmpint(counts[0], ==, 5 * rows);
    g_assert_cmpint(counts[1], ==, 5 * (rows / 3));
    g_assert_true(memcmp(first, first + rows, (size_t)rows * sizeof *first) != 0);
    batch_free(batch);
    loader_close(one);
    loader_close(mixed);
}

/* ---- natural text ---- */

/* Lines as documents. */
static bool write_natural(const char *path, const Tokenizer *t5, const char *out)
{
    g_autofree char *text = NULL;
    if (!g_file_get_contents(path, &text, NULL, NULL))
        return false;
    g_auto(GStrv) lines = g_strsplit_set(text, "\n", -1);
    IndexedWriter *writer = indexed_writer_open(out, INDEXED_MEGATRON, tokenizer_size(t5), NULL);
    for (char **line = lines; *line; line++) {
        g_autoptr(GArray) ids = g_array_new(false, false, sizeof(int32_t));
        g_assert_true(tokenizer_encode(t5, *line, strlen(*line), false, ids, NULL));
        if (ids->len > 0)
            g_assert_true(indexed_writer_add(writer, (int32_t *)(void *)ids->data, ids->len, NULL) &&
                          indexed_writer_end_document(writer, NULL));
    }
    return indexed_writer_finish(writer, NULL);
}

static double fill_of(int64_t used, int64_t rows, int64_t capacity)
{
    return capacity > 0 ? (double)used / (double)(rows * capacity) : 1;
}

/* Both streams, as the options leave them. */
static void check_fill(const char *objective, SentencePairs pairs, const Tokenizer *with, const char *set)
{
    config = config_of(objective, 512);
    config.settings.mlm.sentence_pairs = (int)pairs;
    Loader *loader = loader_open(&config, set, with, SEED, false, NULL);
    Batch *batch = loader_batch(loader, 1);
    int64_t rows = loader_epoch_packed(loader), enc = 0, dec = 0;
    for (int64_t row = 0; row < rows; row++) {
        get(loader, row, 1, batch);
        enc += batch->enc.n_tokens;
        dec += batch->dec.n_tokens;
    }
    double enc_fill = fill_of(enc, rows, batch->enc.max_tokens), dec_fill = fill_of(dec, rows, batch->dec.max_tokens);
    g_test_message("%s: %" PRId64 " rows, fill %.4f, %.4f", objective, rows, enc_fill, dec_fill);
    g_assert_cmpfloat(enc_fill, >=, 0.97);
    g_assert_cmpfloat(dec_fill, >=, 0.97);
    batch_free(batch);
    loader_close(loader);
}

static void check_fills(const Tokenizer *with, const char *set)
{
    static const char *const names[] = { "span_corruption", "prefix_lm", "prefix_lm alone",
                                         "iid_denoising",   "ul2",       "clm",
                                         "full_lm",         "mlm" };
    for (size_t i = 0; i < G_N_ELEMENTS(names); i++)
        check_fill(names[i], PAIRS_NONE, with, set);
    check_fill("mlm", PAIRS_ORDER, with, set);
    check_fill("mlm", PAIRS_NEXT, with, set);
}

/* Lengths are those of natural documents, logarithms normally distributed: half are shorter than 150 tokens, one in
 * seven longer than 450. */
static void rows_are_full(void)
{
    g_autofree char *set = g_build_filename(folder, "lognormal", NULL);
    IndexedWriter *writer = indexed_writer_open(set, INDEXED_MEGATRON, tokenizer_size(tok), NULL);
    g_autofree int32_t *ids = g_new(int32_t, 100000);
    Philox rng = philox_open(philox_key(2, PHILOX_SAMPLING, 0), 0);
    for (int document = 0; document < 3000; document++) {
        int64_t n = 1 + (int64_t)MIN(150 * exp(1.1 * philox_normal(&rng)), 99999);
        for (int64_t i = 0; i < n; i++)
            ids[i] = 3 + (int32_t)philox_below(&rng, 97);
        g_assert_true(indexed_writer_add(writer, ids, n, NULL) && indexed_writer_end_document(writer, NULL));
    }
    g_assert_true(indexed_writer_finish(writer, NULL));
    check_fills(tok, set);
}

/* Without packing each sample has a row of its own, whatever the objective. */
static void samples_that_are_not_packed_have_rows_of_their_own(void)
{
    static const char *const names[] = { "prefix_lm", "prefix_lm alone", "iid_denoising", "ul2", "mlm" };
    for (size_t i = 0; i < G_N_ELEMENTS(names); i++) {
        config = config_of(names[i], 128);
        config.packed = false;
        Loader *loader = open_loader(false);
        Batch *batch = loader_batch(loader, 4);
        get(loader, 0, 4, batch);
        g_assert_cmpint(batch->n_samples, ==, 4);
        g_assert_cmpint(batch_loss_stream(batch)->n_seq, ==, 4);
        batch_free(batch);
        loader_close(loader);
    }
}

/* What the model puts before every sample finds room beside one sample's, and rows of several stay full. */
static void memory_finds_room(void)
{
    static const char *const names[] = { "prefix_lm", "iid_denoising", "ul2" };
    enum { MEMORY = 10, LENGTH = 128 };
    for (size_t i = 0; i < G_N_ELEMENTS(names); i++) {
        config = config_of(names[i], LENGTH);
        config.memory_tokens = MEMORY;
        Loader *loader = open_loader(false);
        Batch *batch = loader_batch(loader, 1);
        int64_t rows = loader_epoch_packed(loader), used = 0;
        for (int64_t row = 0; row < rows; row++) {
            get(loader, row, 1, batch);
            g_assert_cmpint(batch->enc.n_tokens + MEMORY * batch->enc.n_seq, <=, LENGTH + MEMORY);
            used += batch->enc.n_tokens + MEMORY * batch->enc.n_seq;
        }
        g_assert_cmpfloat(fill_of(used, rows, LENGTH + MEMORY), >=, 0.94); /* of few rows the last is not full */
        batch_free(batch);
        loader_close(loader);
    }
}

static void rows_of_books_are_full(void)
{
    static const char *const texts[] = { "wikitext-2.valid.txt", "moby-dick.txt", "tinyshakespeare.txt" };
    Tokenizer *t5 = tokenizer_open(SHARED "tokenizers/t5/spiece.model", NULL);
    for (size_t i = 0; i < G_N_ELEMENTS(texts); i++) {
        g_autofree char *set = g_build_filename(folder, texts[i], NULL),
                        *text = g_strconcat(SHARED "text/", texts[i], NULL);
        g_assert_true(write_natural(text, t5, set));
        check_fills(t5, set);
    }
    tokenizer_close(t5);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    folder = folder_new();
    prefix = g_build_filename(folder, "set", NULL);
    tok = tiny_tokenizer(folder, "tiny.model", 100);
    write_dataset();
    g_test_add_func("/loader/an_epoch_of_any_objective_holds_every_token_once",
                    an_epoch_of_any_objective_holds_every_token_once);
    g_test_add_func("/loader/a_row_is_a_function_of_its_index", a_row_is_a_function_of_its_index);
    g_test_add_func("/loader/samples_are_numbered_through", samples_are_numbered_through);
    g_test_add_func("/loader/prefixes_are_packed", prefixes_are_packed);
    g_test_add_func("/loader/packed_rows_leave_room_for_memory", packed_rows_leave_room_for_memory);
    g_test_add_func("/loader/attention_ends_with_a_document", attention_ends_with_a_document);
    g_test_add_func("/loader/static_masks_are_the_same_in_every_epoch", static_masks_are_the_same_in_every_epoch);
    g_test_add_func("/loader/a_mixture_is_a_function_of_the_index_too", a_mixture_is_a_function_of_the_index_too);
    g_test_add_func("/loader/no_two_samples_of_a_mixture_share_a_number", no_two_samples_of_a_mixture_share_a_number);
    g_test_add_func("/loader/concat_weighted_slides_through_one_order", concat_weighted_slides_through_one_order);
    g_test_add_func("/loader/samples_that_are_not_packed_have_rows_of_their_own",
                    samples_that_are_not_packed_have_rows_of_their_own);
    g_test_add_func("/loader/memory_finds_room", memory_finds_room);
    g_test_add_func("/loader/rows_are_full", rows_are_full);
    add_where_present(SHARED "tokenizers/t5/spiece.model", "/loader/rows_of_books_are_full", rows_of_books_are_full);
    int failed = g_test_run();
    tokenizer_close(tok);
    g_free(prefix);
    folder_remove(folder);
    return failed;
}
