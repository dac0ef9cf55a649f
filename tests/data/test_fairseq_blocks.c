#include "data/compat/compat.h"

#include "data/loader.h"
#include "data/objective_test.h"
#include "data/tiny_tokenizer.h"

enum { SEED = 1, BLOCK = 8, ITEMS = 14 };

static const int32_t sizes[ITEMS] = { 3, 5, 1, 4, 4, 2, 1, 1, 6, 7, 3, 2, 8, 1 };

static char *folder, *prefix;
static Tokenizer *tok;
static DataConfig config;

/* ---- blocks ---- */

/* Blocks as ranges of the text: begin and end, to 0, 0. What fairseq's _get_slice_indices_fast gives. */
static const int64_t slices[][16][2] = {
    [BREAK_NONE] = { { 0, 8 }, { 8, 16 }, { 16, 24 }, { 24, 32 }, { 32, 40 }, { 40, 48 } },
    [BREAK_COMPLETE] = { { 0, 8 }, { 8, 13 }, { 13, 21 }, { 21, 27 }, { 27, 34 }, { 34, 39 }, { 39, 47 }, { 47, 48 } },
    [BREAK_COMPLETE_DOC] = { { 0, 8 }, { 9, 17 }, { 17, 19 }, { 21, 27 }, { 27, 34 }, { 34, 39 }, { 39, 47 } },
    [BREAK_EOS] = { { 0, 3 },
                    { 3, 8 },
                    { 8, 9 },
                    { 9, 13 },
                    { 13, 17 },
                    { 17, 19 },
                    { 19, 20 },
                    { 20, 21 },
                    { 21, 27 },
                    { 27, 34 },
                    { 34, 37 },
                    { 37, 39 },
                    { 39, 47 },
                    { 47, 48 } },
};

static int64_t begin_of(const int32_t *lengths, FairseqBlock block)
{
    int64_t begin = block.offset;
    for (uint32_t i = 0; i < block.item; i++)
        begin += lengths[i];
    g_assert_cmpint(block.offset, <, lengths[block.item]);
    return begin;
}

static void blocks_break_where_fairseq_breaks(void)
{
    for (BreakMode mode = BREAK_NONE; mode <= BREAK_EOS; mode++) {
        int64_t n;
        g_autofree FairseqBlock *blocks = fairseq_blocks(sizes, ITEMS, mode, BLOCK, &n);
        for (int64_t i = 0; i < n; i++) {
            g_assert_cmpint(begin_of(sizes, blocks[i]), ==, slices[mode][i][0]);
            g_assert_cmpint(blocks[i].length, ==, slices[mode][i][1] - slices[mode][i][0]);
        }
        g_assert_cmpint(slices[mode][n][1], ==, 0);
    }
}

static void a_long_item_is_cut(void)
{
    static const int32_t lengths[] = { 2, 19, 0, 4 };
    for (BreakMode mode = BREAK_COMPLETE; mode <= BREAK_EOS; mode++) {
        int64_t n, at = 0;
        g_autofree FairseqBlock *blocks = fairseq_blocks(lengths, 4, mode, BLOCK, &n);
        static const int32_t want[] = { 2, 8, 8, 3, 4 };
        g_assert_cmpint(n, ==, G_N_ELEMENTS(want));
        for (int64_t i = 0; i < n; i++) {
            g_assert_cmpint(blocks[i].length, ==, want[i]);
            g_assert_cmpint(begin_of(lengths, blocks[i]), ==, at);
            at += want[i];
        }
    }
}

/* ---- batches ---- */

/* 19 blocks of 8 tokens and a last of 5 (megatron-fairseq.md §5). */
static void batches_are_fairseq_s(void)
{
    static const uint32_t want[] = { 19, 3, 8, 13, 6, 1, 5, 15, 10, 4, 7, 14, 0, 17, 12, 18, 11, 9, 2, 16 };
    const Amount eight = { 8, UNIT_SAMPLES };
    FairseqBlock blocks[20];
    uint32_t order[3];
    for (uint32_t i = 0; i < 20; i++)
        blocks[i] = (FairseqBlock){ i, 0, i < 19 ? 8 : 5 };
    FairseqBatches *batches = fairseq_batches(blocks, 20, eight, SEED);
    g_assert_cmpint(batches->n_batches, ==, 3);
    assert_same(batches->blocks, want, sizeof want);
    assert_same(batches->starts, ((uint32_t[]){ 0, 8, 16, 20 }), 4 * sizeof(uint32_t));
    fairseq_batches_shuffle(batches, SEED, 1, order);
    assert_same(order, ((uint32_t[]){ 2, 1, 0 }), sizeof order);
    fairseq_batches_free(batches);
}

static int64_t add(int64_t sum, int64_t i, int64_t value)
{
    return (sum + (i + 1) * value) % INT32_MAX;
}

/* Weighted sums of what numpy and fairseq's loops give for 1000 blocks. */
static void larger_batches_are_fairseq_s(void)
{
    static const struct {
        Amount size;
        int64_t batches, starts, epochs[2];
    } cases[] = {
        { { 8, UNIT_SAMPLES }, 125, 5271000, { 502895, 481206 } },
        { { 12, UNIT_SAMPLES }, 125, 5271000, { 502895, 481206 } }, /* cut to a multiple of 8 */
        { { 3, UNIT_SAMPLES }, 334, 37426537, { 9120412, 9220785 } },
        { { 512, UNIT_TOKENS }, 83, 2716392, { 145889, 147215 } },
        { { 100, UNIT_TOKENS }, 476, 93757488, { 26884647, 26604311 } },
        { { 1000, UNIT_TOKENS }, 39, 621104, { 14473, 15303 } },
    };
    FairseqBlock blocks[1000];
    uint32_t order[1000];
    for (uint32_t i = 0; i < 1000; i++)
        blocks[i] = (FairseqBlock){ i, 0, (int32_t)((i * i * 7 + 3 * i) % 61 + 1) };
    for (size_t c = 0; c < G_N_ELEMENTS(cases); c++) {
        FairseqBatches *batches = fairseq_batches(blocks, 1000, cases[c].size, 5);
        int64_t sum = 0, starts = 0;
        g_assert_cmpint(batches->n_batches, ==, cases[c].batches);
        for (int64_t i = 0; i < 1000; i++)
            sum = add(sum, i, batches->blocks[i]);
        for (int64_t i = 0; i < batches->n_batches; i++)
            starts = add(starts, i, batches->starts[i + 1]);
        g_assert_cmpint(sum, ==, 250117975);
        g_assert_cmpint(starts, ==, cases[c].starts);
        for (int64_t epoch = 1; epoch <= 2; epoch++) {
            int64_t visits = 0;
            fairseq_batches_shuffle(batches, 5, epoch, order);
            for (int64_t i = 0; i < batches->n_batches; i++)
                visits = add(visits, i, order[i]);
            g_assert_cmpint(visits, ==, cases[c].epochs[epoch - 1]);
        }
        fairseq_batches_free(batches);
    }
}

/* ---- the loader ---- */

/* A data-bin: token `at` of the text is at + 10, the last of an item is </s>. */
static void write_dataset(void)
{
    IndexedWriter *writer = indexed_writer_open(prefix, INDEXED_FAIRSEQ, tokenizer_size(tok), NULL);
    int32_t at = 0;
    for (int item = 0; item < ITEMS; item++) {
        int32_t ids[BLOCK];
        for (int i = 0; i < sizes[item]; i++, at++)
            ids[i] = i == sizes[item] - 1 ? tokenizer_eos(tok) : at + 10;
        g_assert_true(indexed_writer_add(writer, ids, sizes[item], NULL) && indexed_writer_end_document(writer, NULL));
    }
    g_assert_true(indexed_writer_finish(writer, NULL));
}

static int32_t token_at(int64_t at)
{
    int64_t end = 0;
    for (int item = 0; item < ITEMS; item++)
        if (at == (end += sizes[item]) - 1)
            return tokenizer_eos(tok);
    return at < 0 ? tokenizer_eos(tok) : (int32_t)at + 10;
}

static Loader *open_loader(BreakMode mode, bool held_out)
{
    g_autoptr(GError) error = NULL;
    config.break_mode = (int)mode;
    Loader *loader = loader_open(&config, prefix, tok, SEED, held_out, &error);
    g_assert_no_error(error);
    return loader;
}

static void check_row(const Batch *batch, int64_t row, const int64_t slice[2])
{
    g_assert_cmpint(batch->dec.n_seq, ==, 1);
    g_assert_cmpint(batch->dec.n_tokens, ==, slice[1] - slice[0]);
    g_assert_cmpint(batch->dec.sample[0], ==, row);
    for (int32_t i = 0; i < batch->dec.n_tokens; i++) {
        g_assert_cmpint(batch->targets[i], ==, token_at(slice[0] + i));
        g_assert_cmpint(batch->dec.ids[i], ==, token_at(slice[0] + i - 1));
        g_assert_true(batch->weights[i] > 0);
    }
}

static void held_out_rows_are_the_blocks_in_order(void)
{
    for (BreakMode mode = BREAK_NONE; mode <= BREAK_EOS; mode++) {
        Loader *loader = open_loader(mode, true);
        Batch *batch = loader_batch(loader, 1);
        int64_t n = loader_epoch_packed(loader);
        for (int64_t row = 0; row < 2 * n; row++) {
            g_assert_true(loader_get(loader, row, 1, batch, NULL));
            check_row(batch, row, slices[mode][row % n]);
        }
        batch_free(batch);
        loader_close(loader);
    }
}

/* From behind, so that the order of an epoch is made again. */
static void rows_are_the_blocks_of_the_batches(void)
{
    config.compat_batch = (Amount){ 3, UNIT_SAMPLES };
    for (BreakMode mode = BREAK_NONE; mode <= BREAK_EOS; mode++) {
        int64_t n;
        uint32_t order[ITEMS];
        g_autofree FairseqBlock *blocks = fairseq_blocks(sizes, ITEMS, mode, BLOCK, &n);
        FairseqBatches *batches = fairseq_batches(blocks, n, config.compat_batch, SEED);
        Loader *loader = open_loader(mode, false);
        Batch *batch = loader_batch(loader, 1);
        for (int64_t epoch = 2; epoch >= 0; epoch--) {
            int64_t row = epoch * n;
            fairseq_batches_shuffle(batches, SEED, epoch + 1, order);
            for (int64_t i = 0; i < batches->n_batches; i++)
                for (uint32_t at = batches->starts[order[i]]; at < batches->starts[order[i] + 1]; at++, row++) {
                    g_assert_true(loader_get(loader, row, 1, batch, NULL));
                    check_row(batch, row, slices[mode][batches->blocks[at]]);
                }
            g_assert_cmpint(row, ==, (epoch + 1) * n);
        }
        batch_free(batch);
        loader_close(loader);
        fairseq_batches_free(batches);
    }
}

/* complete_doc takes an item of one token for the end of a document. */
static void text_without_a_block_is_refused(void)
{
    g_autoptr(GError) error = NULL;
    g_autofree char *ends = g_build_filename(folder, "ends", NULL);
    int32_t eos = tokenizer_eos(tok);
    IndexedWriter *writer = indexed_writer_open(ends, INDEXED_FAIRSEQ, tokenizer_size(tok), NULL);
    for (int item = 0; item < 3; item++)
        g_assert_true(indexed_writer_add(writer, &eos, 1, NULL) && indexed_writer_end_document(writer, NULL));
    g_assert_true(indexed_writer_finish(writer, NULL));
    config.break_mode = BREAK_COMPLETE_DOC;
    g_assert_null(loader_open(&config, ends, tok, SEED, false, &error));
    g_assert_error(error, LOAM_ERROR, LOAM_ERROR_USER);
    g_assert_nonnull(strstr(error->message, "too little text"));
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    folder = folder_new();
    prefix = g_build_filename(folder, "train", NULL);
    tok = tiny_tokenizer(folder, "tiny.model", 100);
    config = (DataConfig){
        .packed = true, .input_length = BLOCK, .compat = COMPAT_FAIRSEQ, .compat_batch = { 8, UNIT_SAMPLES }
    };
    config.objective = objective_index("clm");
    write_dataset();
    g_test_add_func("/fairseq_blocks/break_where_fairseq_breaks", blocks_break_where_fairseq_breaks);
    g_test_add_func("/fairseq_blocks/a_long_item_is_cut", a_long_item_is_cut);
    g_test_add_func("/fairseq_batches/are_fairseq_s", batches_are_fairseq_s);
    g_test_add_func("/fairseq_batches/larger_ones_are_fairseq_s", larger_batches_are_fairseq_s);
    g_test_add_func("/fairseq_blocks/held_out_rows_are_the_blocks_in_order", held_out_rows_are_the_blocks_in_order);
    g_test_add_func("/fairseq_blocks/text_without_a_block_is_refused", text_without_a_block_is_refused);
    g_test_add_func("/fairseq_blocks/rows_are_the_blocks_of_the_batches", rows_are_the_blocks_of_the_batches);
    int failed = g_test_run();
    tokenizer_close(tok);
    g_free(prefix);
    folder_remove(folder);
    return failed;
}
