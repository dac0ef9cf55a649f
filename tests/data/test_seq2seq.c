/* Pairs of input and target through the whole loader: with an encoder, and on a decoder alone. */
#include "data/loader.h"

#include "data/objective_test.h"
#include "data/tiny_tokenizer.h"

enum { PAIRS = 60, SEED = 5, ROWS = 4 };

static char *folder, *prefix;
static Tokenizer *tok;

/* Pair i: an input of 1 + i % 11 and a target of i % 4 tokens; all ids of pair i are 3 + i. */
static void write_pairs(const char *path, int sequences)
{
    g_autoptr(GError) error = NULL;
    IndexedWriter *writer = indexed_writer_open(path, INDEXED_MEGATRON, tokenizer_size(tok), &error);
    for (int i = 0; i < PAIRS; i++) {
        int32_t ids[12];
        for (size_t k = 0; k < G_N_ELEMENTS(ids); k++)
            ids[k] = 3 + i;
        g_assert_true(indexed_writer_add(writer, ids, 1 + i % 11, &error));
        if (sequences > 1)
            g_assert_true(indexed_writer_add(writer, ids, i % 4, &error));
        g_assert_true(indexed_writer_end_document(writer, &error));
    }
    g_assert_true(indexed_writer_finish(writer, &error));
}

static bool in_both_directions; /* of the loaders that are opened */

static DataConfig config_of(bool alone, int64_t input_length, int64_t target_length)
{
    return (DataConfig){ .packed = true,
                         .objective = objective_index("seq2seq"),
                         .decoder_alone = alone,
                         .prefix_lm = in_both_directions,
                         .input_length = input_length,
                         .target_length = target_length,
                         .noise_density = 0.15 };
}

static Loader *open_loader(bool alone, int64_t input_length, int64_t target_length, bool held_out)
{
    const DataConfig config = config_of(alone, input_length, target_length);
    g_autoptr(GError) error = NULL;
    Loader *loader = loader_open(&config, prefix, tok, SEED, held_out, &error);
    g_assert_no_error(error);
    return loader;
}

/* Each sequence of the batch is an input with its EOS, and the targets its target with EOS. */
static void check_both(const Batch *batch, int *seen)
{
    int32_t eos = tokenizer_eos(tok);
    g_assert_cmpint(batch->enc.n_seq, ==, batch->dec.n_seq);
    for (int32_t s = 0; s < batch->enc.n_seq; s++) {
        int32_t e = batch->enc.cu[s], d = batch->dec.cu[s], pair = batch->enc.ids[e] - 3;
        g_assert_cmpint(batch->enc.cu[s + 1] - e, ==, 2 + pair % 11);
        g_assert_cmpint(batch->dec.cu[s + 1] - d, ==, 1 + pair % 4);
        g_assert_cmpint(batch->enc.ids[batch->enc.cu[s + 1] - 1], ==, eos);
        g_assert_cmpint(batch->targets[batch->dec.cu[s + 1] - 1], ==, eos);
        for (int32_t t = d; t + 1 < batch->dec.cu[s + 1]; t++)
            g_assert_cmpint(batch->targets[t], ==, pair + 3);
        seen[pair]++;
    }
}

static void check_alone(const Batch *batch, int *seen)
{
    for (int32_t s = 0; s < batch->dec.n_seq; s++) {
        int32_t d = batch->dec.cu[s], end = batch->dec.cu[s + 1], pair = batch->dec.ids[d] - 3;
        int32_t n_input = 1 + pair % 11;
        g_assert_cmpint(end - d, ==, n_input + pair % 4);
        g_assert_cmpint(batch->dec.prefix_length[s], ==, in_both_directions ? n_input : 0);
        for (int32_t t = d; t < end; t++) {
            g_assert_cmpfloat(batch->weights[t], ==, t - d >= n_input - 1 ? 1 : 0);
            g_assert_cmpint(batch->targets[t], ==, t + 1 < end ? pair + 3 : tokenizer_eos(tok));
        }
        seen[pair]++;
    }
}

/* Every pair comes once an epoch, whole, packed with others, in another order in the next. */
static void check_epochs(bool alone)
{
    Loader *loader = open_loader(alone, 24, alone ? 0 : 8, false);
    int64_t rows = loader_epoch_packed(loader);
    Batch *batch = loader_batch(loader, 1);
    g_autoptr(GError) error = NULL;
    int32_t first[2][PAIRS], n[2] = { 0 };
    g_assert_cmpint(rows, <, PAIRS / 2);
    for (int epoch = 0; epoch < 2; epoch++) {
        int seen[PAIRS] = { 0 };
        for (int64_t row = 0; row < rows; row++) {
            g_assert_true(loader_get(loader, epoch * rows + row, 1, batch, &error));
            (alone ? check_alone : check_both)(batch, seen);
            first[epoch][n[epoch]++] = (alone ? &batch->dec : &batch->enc)->ids[0];
        }
        for (int i = 0; i < PAIRS; i++)
            g_assert_cmpint(seen[i], ==, 1);
    }
    g_assert_true(memcmp(first[0], first[1], sizeof first[0][0] * (size_t)rows) != 0);
    batch_free(batch);
    loader_close(loader);
}

static void pairs__come_once_an_epoch(void)
{
    check_epochs(false);
}

static void pairs__are_one_sequence_on_a_decoder_alone(void)
{
    check_epochs(true);
}

static void inputs__are_prefixes_of_a_prefix_lm(void)
{
    in_both_directions = true;
    check_epochs(true);
    in_both_directions = false;
}

static void check_refused(const char *path, const DataConfig *config, const char *part)
{
    g_autoptr(GError) error = NULL;
    g_assert_null(loader_open(config, path, tok, SEED, false, &error));
    g_assert_nonnull(strstr(error->message, part));
}

static void datasets__that_do_not_fit_are_refused(void)
{
    g_autofree char *single = g_build_filename(folder, "single", NULL);
    DataConfig config = config_of(false, 24, 8);
    write_pairs(single, 1);
    check_refused(single, &config, "holds no pairs of input and target");
    config = config_of(false, 11, 8); /* the longest inputs have 11 tokens and an EOS */
    check_refused(prefix, &config, "an input of 11 and a target of 2 tokens (document 10)");
    config = config_of(false, 12, 3);
    check_refused(prefix, &config, "a target of 3 tokens");
    config = config_of(true, 10, 0);
    check_refused(prefix, &config, "data.input_length=10");
    config = config_of(false, 24, 8);
    config.raw_length = 9;
    check_refused(prefix, &config, "takes whole pairs");
}

/* A row is a function of its number: the second half read by a fresh loader is that of the first. */
static void pairs__resume_anywhere(void)
{
    Loader *a = open_loader(false, 24, 8, false), *b = open_loader(false, 24, 8, false);
    Batch *x = loader_batch(a, ROWS), *y = loader_batch(b, ROWS);
    g_autoptr(GError) error = NULL;
    for (int64_t row = 0; row < 30; row += ROWS)
        g_assert_true(loader_get(a, row, ROWS, x, &error));
    g_assert_true(loader_get(b, 28, ROWS, y, &error));
    g_assert_cmpint(x->enc.n_tokens, ==, y->enc.n_tokens);
    assert_same(x->enc.ids, y->enc.ids, (size_t)x->enc.n_tokens * sizeof *x->enc.ids);
    assert_same(x->targets, y->targets, (size_t)x->dec.n_tokens * sizeof *x->targets);
    batch_free(x);
    batch_free(y);
    loader_close(a);
    loader_close(b);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    folder = folder_new();
    prefix = g_build_filename(folder, "pairs", NULL);
    tok = tiny_tokenizer(folder, "tok.model", 120);
    write_pairs(prefix, 2);
    g_test_add_func("/data/seq2seq/epoch", pairs__come_once_an_epoch);
    g_test_add_func("/data/seq2seq/alone", pairs__are_one_sequence_on_a_decoder_alone);
    g_test_add_func("/data/seq2seq/prefix_lm", inputs__are_prefixes_of_a_prefix_lm);
    g_test_add_func("/data/seq2seq/refused", datasets__that_do_not_fit_are_refused);
    g_test_add_func("/data/seq2seq/resume", pairs__resume_anywhere);
    int status = g_test_run();
    tokenizer_close(tok);
    g_free(prefix);
    folder_remove(folder);
    return status;
}
