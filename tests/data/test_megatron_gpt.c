#include "data/compat/compat.h"

#include "data/loader.h"
#include "data/objective_test.h"
#include "data/tiny_tokenizer.h"

enum { SEED = 42, SEQ = 8, DOCUMENTS = 6 };

static const int32_t sizes[DOCUMENTS] = { 5, 7, 3, 11, 2, 9 }; /* 37 */

static char *folder, *prefix;
static Tokenizer *tok;
static DataConfig config;

/* ---- the index ---- */

static MegatronGptIndex *index_of(const int32_t *lengths, int64_t n, int64_t seq_length, int64_t n_samples,
                                  uint32_t seed)
{
    int64_t tokens = 0;
    for (int64_t i = 0; i < n; i++)
        tokens += lengths[i];
    MegatronGptIndex *index = megatron_gpt_plan(tokens, n, seq_length, n_samples, NULL);
    g_assert_true(index && index->order == NULL && index->shuffle == NULL);
    megatron_gpt_order(index, lengths, seed);
    return index;
}

static void assert_index(const MegatronGptIndex *index, const uint32_t *order, const int32_t (*starts)[2],
                         const uint32_t *shuffle)
{
    g_assert_cmpint(index->n_epochs, ==, 3);
    g_assert_cmpint(index->n_order, ==, 18);
    g_assert_cmpint(index->n_samples, ==, 13);
    assert_same(index->order, order, 18 * sizeof *order);
    for (int i = 0; i <= 13; i++) {
        g_assert_cmpint(index->starts[i], ==, starts[i][0]);
        g_assert_cmpint(index->offsets[i], ==, starts[i][1]);
    }
    assert_same(index->shuffle, shuffle, 13 * sizeof *shuffle);
}

/* What numpy and Megatron's own loops give (megatron-fairseq.md §1.9). */
static void the_index_is_megatron_s(void)
{
    static const uint32_t order[] = { 0, 1, 2, 5, 3, 1, 4, 3, 5, 2, 3, 5, 4, 0, 1, 4, 2, 0 };
    static const int32_t starts[][2] = { { 0, 0 }, { 1, 3 }, { 3, 1 },  { 4, 0 },  { 4, 8 },  { 5, 5 },  { 7, 4 },
                                         { 8, 1 }, { 9, 0 }, { 10, 5 }, { 11, 2 }, { 12, 1 }, { 14, 2 }, { 16, 1 } };
    static const uint32_t shuffle[] = { 9, 2, 8, 6, 0, 12, 3, 10, 11, 5, 7, 1, 4 };
    static const uint32_t apart_order[] = { 4, 3, 0, 2, 5, 2, 1, 5, 4, 1, 3, 0, 0, 5, 3, 1, 4, 2 };
    static const int32_t apart_starts[][2] = { { 0, 0 },  { 1, 6 },  { 2, 3 },  { 4, 3 },  { 5, 2 },
                                               { 7, 0 },  { 7, 8 },  { 9, 5 },  { 10, 6 }, { 11, 3 },
                                               { 13, 1 }, { 14, 0 }, { 14, 8 }, { 15, 5 } };
    static const uint32_t apart_shuffle[] = { 5, 2, 8, 6, 0, 4, 3, 7, 1, 10, 11, 12, 9 };
    MegatronGptIndex *index = index_of(sizes, DOCUMENTS, SEQ, 12, SEED);
    MegatronGptIndex *apart = index_of(sizes, DOCUMENTS, SEQ, 11, SEED);
    g_assert_false(index->separate_last_epoch);
    g_assert_true(apart->separate_last_epoch);
    assert_index(index, order, starts, shuffle);
    assert_index(apart, apart_order, apart_starts, apart_shuffle);
    megatron_gpt_index_free(index);
    megatron_gpt_index_free(apart);
}

static int64_t add(int64_t sum, int64_t i, int64_t value)
{
    return (sum + (i + 1) * value) % INT32_MAX;
}

/* Weighted sums of what numpy gives for 1000 documents at other numbers of samples. */
static void larger_indices_are_megatron_s(void)
{
    static const struct {
        int64_t wanted, epochs, samples, sums[4];
        bool separate;
    } cases[] = {
        { 5000, 7, 5698, { 1537860957, 667609260, 527520366, 580286525 }, true },
        { 4000, 5, 4070, { 1972510115, 1891770453, 274670640, 145512291 }, true },
        { 1000, 2, 1628, { 1004488906, 1770511557, 43876405, 1348758409 }, true },
        { 700, 1, 814, { 251897522, 224289046, 10916996, 134734229 }, false },
    };
    int32_t many[1000];
    for (int i = 0; i < 1000; i++)
        many[i] = (i * i * 7 + 3 * i) % 97 + 1;
    for (size_t c = 0; c < G_N_ELEMENTS(cases); c++) {
        MegatronGptIndex *index = index_of(many, 1000, 64, cases[c].wanted, 1234);
        int64_t sums[4] = { 0 };
        g_assert_cmpint(index->n_epochs, ==, cases[c].epochs);
        g_assert_cmpint(index->n_samples, ==, cases[c].samples);
        g_assert_true(index->separate_last_epoch == cases[c].separate);
        for (int64_t i = 0; i < index->n_order; i++)
            sums[0] = add(sums[0], i, index->order[i]);
        for (int64_t i = 0; i <= index->n_samples; i++) {
            sums[1] = add(sums[1], i, index->starts[i]);
            sums[2] = add(sums[2], i, index->offsets[i]);
        }
        for (int64_t i = 0; i < index->n_samples; i++)
            sums[3] = add(sums[3], i, index->shuffle[i]);
        for (int i = 0; i < 4; i++)
            g_assert_cmpint(sums[i], ==, cases[c].sums[i]);
        megatron_gpt_index_free(index);
    }
}

static void too_many_samples_are_refused(void)
{
    g_autoptr(GError) error = NULL;
    g_assert_null(megatron_gpt_plan(37, DOCUMENTS, SEQ, (int64_t)1e12, &error));
    g_assert_error(error, LOAM_ERROR, LOAM_ERROR_USER);
}

/* ---- the loader ---- */

/* Token t of document d is 10 d + t, but the last one of each is EOS. */
static int32_t token_of(int document, int at)
{
    return at == sizes[document] - 1 ? tokenizer_eos(tok) : 10 * document + at + 3;
}

static void write_dataset(const char *at)
{
    IndexedWriter *writer = indexed_writer_open(at, INDEXED_MEGATRON, tokenizer_size(tok), NULL);
    for (int document = 0; document < DOCUMENTS; document++) {
        int32_t ids[16];
        for (int i = 0; i < sizes[document]; i++)
            ids[i] = token_of(document, i);
        g_assert_true(indexed_writer_add(writer, ids, sizes[document], NULL));
        g_assert_true(indexed_writer_end_document(writer, NULL));
    }
    g_assert_true(indexed_writer_finish(writer, NULL));
}

static Loader *open_loader(const char *at, bool held_out)
{
    g_autoptr(GError) error = NULL;
    Loader *loader = loader_open(&config, at, tok, SEED, held_out, &error);
    g_assert_no_error(error);
    return loader;
}

/* Sample `sample` of the index, before the shuffle, token by token. */
static void read_sample(const MegatronGptIndex *index, int64_t sample, int32_t *out)
{
    uint32_t place = index->starts[sample];
    int32_t at = index->offsets[sample];
    for (int i = 0; i <= SEQ; i++) {
        out[i] = token_of((int)index->order[place], at++);
        if (at == sizes[index->order[place]]) {
            place++;
            at = 0;
        }
    }
}

static void check_rows(Loader *loader, const MegatronGptIndex *index, int64_t rows)
{
    Batch *batch = loader_batch(loader, 1);
    for (int64_t row = 0; row < rows; row++) {
        int32_t want[SEQ + 1];
        read_sample(index, index->shuffle[row % index->n_samples], want);
        g_assert_true(loader_get(loader, row, 1, batch, NULL));
        g_assert_cmpint(batch->dec.n_tokens, ==, SEQ);
        g_assert_cmpint(batch->dec.n_seq, ==, 1);
        g_assert_cmpint(batch->dec.sample[0], ==, row);
        assert_same(batch->dec.ids, want, SEQ * sizeof *want);
        assert_same(batch->targets, want + 1, SEQ * sizeof *want);
    }
    batch_free(batch);
}

static void rows_are_samples_in_megatron_s_order(void)
{
    for (config.compat_samples = 11; config.compat_samples <= 12; config.compat_samples++) {
        MegatronGptIndex *index = index_of(sizes, DOCUMENTS, SEQ, config.compat_samples, SEED);
        Loader *loader = open_loader(prefix, false);
        g_assert_cmpint(loader_epoch_packed(loader), ==, 13);
        g_assert_cmpint(loader_raw_tokens(loader), ==, 37);
        check_rows(loader, index, 30);
        loader_close(loader);
        megatron_gpt_index_free(index);
    }
}

static void held_out_sets_are_one_pass(void)
{
    MegatronGptIndex *index = index_of(sizes, DOCUMENTS, SEQ, 0, SEED);
    config.compat_samples = 12;
    Loader *loader = open_loader(prefix, true);
    g_assert_cmpint(loader_epoch_packed(loader), ==, 4);
    check_rows(loader, index, 6);
    loader_close(loader);
    megatron_gpt_index_free(index);
}

/* ns·w·1.005 samples of each: 9.045 and 3.015, so 10 and 4. */
static void datasets_of_a_blend_share_the_seed(void)
{
    g_autofree char *both = g_strdup_printf("%s:3,%s:1", prefix, prefix);
    config.compat_samples = 12;
    MegatronGptIndex *more = index_of(sizes, DOCUMENTS, SEQ, 10, SEED);
    MegatronGptIndex *less = index_of(sizes, DOCUMENTS, SEQ, 4, SEED);
    Loader *loader = open_loader(both, false);
    Batch *batch = loader_batch(loader, 1);
    int64_t counts[2] = { 0 };
    for (int64_t row = 0; row < 12; row++) {
        double behind[2];
        for (int k = 0; k < 2; k++)
            behind[k] = (k == 0 ? 0.75 : 0.25) * (double)MAX(row, 1) - (double)counts[k];
        int k = behind[1] > behind[0];
        int32_t want[SEQ + 1];
        const MegatronGptIndex *index = k == 0 ? more : less;
        read_sample(index, index->shuffle[counts[k]++], want);
        g_assert_true(loader_get(loader, row, 1, batch, NULL));
        assert_same(batch->dec.ids, want, SEQ * sizeof *want);
    }
    g_assert_cmpint(counts[0], ==, 9);
    batch_free(batch);
    loader_close(loader);
    megatron_gpt_index_free(more);
    megatron_gpt_index_free(less);
}

static void documents_end_attention_positions_and_loss(void)
{
    config.compat_samples = 12;
    config.settings.clm = (ClmSettings){ true, true, true };
    Loader *loader = open_loader(prefix, false);
    Batch *batch = loader_batch(loader, 13);
    const TokenStream *dec = &batch->dec;
    g_assert_true(loader_get(loader, 0, 13, batch, NULL));
    g_assert_cmpint(dec->n_seq, >, 13);
    g_assert_cmpint(batch->n_samples, ==, 13);
    for (int32_t i = 0; i < dec->n_seq; i++)
        for (int32_t row = dec->cu[i]; row < dec->cu[i + 1]; row++) {
            bool ends = dec->ids[row] == tokenizer_eos(tok);
            g_assert_true(!ends || row == dec->cu[i + 1] - 1);
            g_assert_cmpint(dec->position_ids[row], ==, row - dec->cu[i]);
            g_assert_true(batch->weights[row] == (ends ? 0 : 1));
        }
    batch_free(batch);
    loader_close(loader);
    config.settings.clm = (ClmSettings){ 0 };
}

static void expect_refusal(const char *at, uint64_t seed, const char *phrase)
{
    g_autoptr(GError) error = NULL;
    g_assert_null(loader_open(&config, at, tok, seed, false, &error));
    g_assert_error(error, LOAM_ERROR, LOAM_ERROR_USER);
    if (!strstr(error->message, phrase))
        g_error("\"%s\" does not say \"%s\"", error->message, phrase);
}

static void what_has_no_order_is_refused(void)
{
    g_autofree char *bare = g_build_filename(folder, "bare", NULL);
    g_autofree char *meta = g_strdup_printf("{\"version\": 1, \"tokenizer\": {\"hash\": \"%s\", \"kind\": \"x\", "
                                            "\"size\": 9}, \"append_eod\": false, \"documents\": 6, \"tokens\": 37}",
                                            tokenizer_hash(tok));
    const DataConfig usual = config;
    g_free(file_write_text(folder, "bare.json", meta));
    write_dataset(bare);
    expect_refusal(bare, SEED, "--append-eod");
    expect_refusal(prefix, UINT64_C(1) << 32, "below 2^32");
    config.input_length = 37;
    config.compat_samples = 0;
    expect_refusal(prefix, SEED, "too little text for one sample of 38 tokens");
    config = usual;
    config.raw_length = 1;
    expect_refusal(prefix, SEED, "data.raw_length=1");
    config = usual;
    config.objective = objective_index("full_lm");
    expect_refusal(prefix, SEED, "data.compat=megatron does not support data.objective=full_lm, only clm");
    config = usual;
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    folder = folder_new();
    prefix = g_build_filename(folder, "set", NULL);
    tok = tiny_tokenizer(folder, "tiny.model", 100);
    config = (DataConfig){ .input_length = SEQ, .compat = COMPAT_MEGATRON };
    config.objective = objective_index("clm");
    write_dataset(prefix);
    g_test_add_func("/megatron_gpt/the_index_is_megatron_s", the_index_is_megatron_s);
    g_test_add_func("/megatron_gpt/larger_indices_are_megatron_s", larger_indices_are_megatron_s);
    g_test_add_func("/megatron_gpt/too_many_samples_are_refused", too_many_samples_are_refused);
    g_test_add_func("/megatron_gpt/rows_are_samples_in_megatron_s_order", rows_are_samples_in_megatron_s_order);
    g_test_add_func("/megatron_gpt/held_out_sets_are_one_pass", held_out_sets_are_one_pass);
    g_test_add_func("/megatron_gpt/datasets_of_a_blend_share_the_seed", datasets_of_a_blend_share_the_seed);
    g_test_add_func("/megatron_gpt/documents_end_attention_positions_and_loss",
                    documents_end_attention_positions_and_loss);
    g_test_add_func("/megatron_gpt/what_has_no_order_is_refused", what_has_no_order_is_refused);
    int failed = g_test_run();
    tokenizer_close(tok);
    g_free(prefix);
    folder_remove(folder);
    return failed;
}
