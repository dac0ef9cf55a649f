#include "data/compat/compat.h"

#include "data/compat/mt19937.h"
#include "data/loader.h"
#include "data/objective_test.h"
#include "data/tiny_tokenizer.h"

/* ---- the mapping ---- */

/* t5-experiments.md §8. */
static void the_mapping_is_megatron_s(void)
{
    static const int64_t documents[] = { 0, 1, 7, 11, 13, 20, 25 };
    static const int32_t sizes[] = { 5,  18, 25, 9, 16, 23, 7, 8,  15, 22, 6,  21, 5,
                                     11, 18, 25, 9, 16, 23, 7, 24, 8,  15, 22, 6 };
    static const uint32_t expected[][3] = { { 15, 17, 16 }, { 13, 15, 29 }, { 13, 15, 29 }, { 7, 11, 29 },
                                            { 20, 22, 29 }, { 3, 7, 29 },   { 17, 20, 29 }, { 11, 13, 29 },
                                            { 7, 11, 29 },  { 20, 22, 29 }, { 3, 7, 29 },   { 15, 17, 29 },
                                            { 1, 3, 29 },   { 1, 3, 29 },   { 22, 25, 29 }, { 17, 20, 29 },
                                            { 11, 13, 29 }, { 22, 25, 8 } };
    const MegatronBertSpec spec = {
        .max_target = 29, .min_sentences = 2, .short_probability = 0.1, .seed = 42, .n_samples = 10
    };
    int64_t n;
    g_autofree MegatronBertSpan *spans = megatron_bert_mapping(documents, 6, sizes, &spec, &n, NULL);
    g_assert_cmpint(n, ==, G_N_ELEMENTS(expected)); /* whole passes: two of nine samples make ten */
    assert_same(spans, expected, sizeof expected);
}

static int64_t add(int64_t sum, int64_t i, int64_t value)
{
    return (sum + (i + 1) * value) % INT32_MAX;
}

/* Weighted sums of what Megatron's loop gives with C++'s own generators, for 200 documents of 0 to 10 sentences, some
 * of them too long. */
static void larger_mappings_are_megatron_s(void)
{
    static const struct {
        MegatronBertSpec spec;
        int64_t n, sum;
    } cases[] = { { { 61, 2, 0.1, 1234, 0 }, 289, 45111064 },
                  { { 61, 2, 0.1, 1235, 600 }, 874, 401700721 },
                  { { 12, 2, 0.5, 1236, 1 }, 436, 96759326 },
                  { { 61, 1, 0, 1237, 302 }, 602, 193516753 } };
    int64_t documents[201] = { 0 }, n_sizes = 0;
    int32_t sizes[200 * 10];
    for (int d = 0; d < 200; d++) {
        for (int i = 0; i < (d * 7 + 3) % 11; i++)
            sizes[n_sizes++] = d % 23 == 5 && i == 1 ? 600 : (d * 31 + i * 17) % 40 + 1;
        documents[d + 1] = n_sizes;
    }
    for (size_t c = 0; c < G_N_ELEMENTS(cases); c++) {
        int64_t n, sum = 0;
        g_autofree MegatronBertSpan *spans = megatron_bert_mapping(documents, 200, sizes, &cases[c].spec, &n, NULL);
        g_assert_cmpint(n, ==, cases[c].n);
        for (int64_t i = 0; i < n; i++)
            sum = add(add(add(sum, i, spans[i].first), i, spans[i].end), i, spans[i].target);
        g_assert_cmpint(sum, ==, cases[c].sum);
    }
}

static void a_share_near_zero_shortens_no_sample(void)
{
    static const int64_t documents[] = { 0, 3 };
    static const int32_t sizes[] = { 4, 4, 4 };
    static const double shares[] = { 1e-9, 0x1p-32, 1e-300 };
    for (size_t i = 0; i < G_N_ELEMENTS(shares); i++) {
        const MegatronBertSpec spec = { .max_target = 29, .min_sentences = 2, .short_probability = shares[i] };
        int64_t n;
        g_autofree MegatronBertSpan *spans = megatron_bert_mapping(documents, 1, sizes, &spec, &n, NULL);
        g_assert_cmpint(n, ==, 1);
        g_assert_cmpuint(spans[0].target, ==, 29);
    }
}

/* ---- samples ---- */

enum { CLS = 1, SEP = 2, MASK = 3 };

static bool continues[400];

static ObjectiveConfig config_of(int32_t vocab, int32_t first_part)
{
    for (int32_t id = 0; id < vocab; id++)
        continues[id] = id >= first_part;
    return (ObjectiveConfig){ .input_length = 64,
                              .noise_density = 0.15,
                              .own =
                                  OWN(MlmSettings, .max_ngram = 3, .whole_word = true, .sentence_pairs = PAIRS_ORDER),
                              .cls = CLS,
                              .sep = SEP,
                              .mask = MASK,
                              .vocab = vocab,
                              .continues = continues };
}

/* t5-experiments.md §8: pieces from 50 on continue a word. */
static void samples_are_megatron_s(void)
{
    static const int32_t tokens[] = { 10, 11, 51, 12, 13, 52, 53, 14, 15, 16, 17, 18, 54, 19, 20, 21, 22, 55, 23 };
    static const int64_t cu[] = { 0, 4, 9, 13, 19 };
    static const struct {
        int64_t sample, target, n;
        int32_t label, inputs[22], targets[22]; /* 0: no loss there */
    } cases[] = {
        { 0,
          29,
          22,
          0,
          { 1, 3, 3, 3, 12, 13, 52, 53, 14, 15, 16, 17, 18, 54, 2, 19, 20, 21, 22, 55, 23, 2 },
          { 0, 10, 11, 51 } },
        { 7,
          29,
          22,
          1,
          { 1, 19, 20, 21, 22, 55, 23, 2, 10, 11, 51, 12, 3, 37, 53, 14, 15, 16, 17, 18, 54, 2 },
          { [12] = 13, [13] = 52, [14] = 53 } },
        { 1, 12, 15, 1, { 1, 16, 17, 18, 54, 19, 3, 21, 22, 2, 10, 11, 51, 12, 2 }, { [6] = 20 } },
    };
    ObjectiveConfig config = config_of(64, 50);
    Example out;
    example_init(&out, &config);
    for (size_t c = 0; c < G_N_ELEMENTS(cases); c++) {
        megatron_bert_sample(&config, 42, cases[c].sample, cases[c].target, tokens, cu, 4, &out);
        g_assert_cmpint(out.n_inputs, ==, cases[c].n);
        g_assert_cmpint(out.label, ==, cases[c].label);
        assert_same(out.inputs, cases[c].inputs, (size_t)out.n_inputs * 4);
        for (int64_t i = 0; i < out.n_inputs; i++) {
            g_assert_true((out.weights[i] > 0) == (cases[c].targets[i] > 0));
            g_assert_true(out.weights[i] == 0 || out.targets[i] == cases[c].targets[i]);
        }
    }
    example_clear(&out);
}

/* Tokens of 2 to 7 sentences of 1 to 9 tokens; returns the number of sentences. */
static int64_t make_sentences(int64_t sample, int32_t *tokens, int64_t *cu)
{
    int64_t n = 2 + sample % 6, done = 0;
    cu[0] = 0;
    for (int64_t i = 0; i < n; i++) {
        for (int64_t j = 0; j < 1 + (sample + i * 5) % 9; j++)
            tokens[done++] = (int32_t)(5 + (sample * 13 + i * 7 + j * j * 11) % 395);
        cu[i + 1] = done;
    }
    return n;
}

/* Weighted sums of what numpy gives for 500 samples. */
static void many_samples_are_megatron_s(void)
{
    static const int64_t targets[] = { 5, 6, 12, 29, 61 };
    static const struct {
        uint32_t seed;
        int64_t max_ngram;
        bool whole_word, pair;
        double density;
        int64_t tokens, hidden, sum;
    } cases[] = {
        { 42, 3, true, true, 0.15, 8138, 809, 1325975054 },
        { 4294967200u, 1, false, true, 0.15, 8138, 809, 1153191976 },
        { 7, 3, true, false, 0.15, 7638, 775, 609198562 },
        { 7, 6, true, true, 0.5, 8138, 3490, 2115916999 },
    };
    for (size_t c = 0; c < G_N_ELEMENTS(cases); c++) {
        ObjectiveConfig config = config_of(400, 300);
        int64_t cu[8], n = 0, hidden = 0, sum = 0;
        int32_t tokens[64];
        Example out;
        config.own = OWN(MlmSettings, .max_ngram = cases[c].max_ngram, .whole_word = cases[c].whole_word,
                         .sentence_pairs = cases[c].pair ? PAIRS_ORDER : PAIRS_NONE);
        config.noise_density = cases[c].density;
        example_init(&out, &config);
        for (int64_t sample = 0; sample < 500; sample++) {
            int64_t sentences = make_sentences(sample, tokens, cu);
            megatron_bert_sample(&config, cases[c].seed, sample, targets[sample % 5], tokens, cu, sentences, &out);
            for (int64_t i = 0; i < out.n_inputs; i++, n++) {
                sum = add(sum, n, 2 * out.inputs[i] + (out.weights[i] > 0));
                hidden += out.weights[i] > 0;
            }
            sum = add(sum, n, out.label + 1);
        }
        g_assert_cmpint(n, ==, cases[c].tokens);
        g_assert_cmpint(hidden, ==, cases[c].hidden);
        g_assert_cmpint(sum, ==, cases[c].sum);
        example_clear(&out);
    }
}

/* ---- the loader ---- */

static char *folder;
static Tokenizer *tok;

/* Eight documents of one to eight sentences of 4 to 11 tokens. */
static char *write_dataset(const char *name, bool split)
{
    char *prefix = g_build_filename(folder, name, NULL);
    IndexedWriter *writer = indexed_writer_open(prefix, INDEXED_MEGATRON, tokenizer_size(tok), NULL);
    for (int document = 0; document < 8; document++) {
        for (int sentence = 0; sentence < (split ? document + 1 : 1); sentence++) {
            int32_t ids[11];
            int n = 4 + (document + 3 * sentence) % 8;
            for (int i = 0; i < n; i++)
                ids[i] = 3 + (document * 29 + sentence * 11 + i) % 90;
            g_assert_true(indexed_writer_add(writer, ids, n, NULL));
        }
        g_assert_true(indexed_writer_end_document(writer, NULL));
    }
    g_assert_true(indexed_writer_finish(writer, NULL));
    return prefix;
}

static DataConfig loader_config(SentencePairs pairs)
{
    DataConfig config = { .packed = true,
                          .compat = COMPAT_MEGATRON,
                          .compat_samples = 30,
                          .input_length = 32,
                          .noise_density = 0.15,
                          .settings.mlm = { .whole_word = true,
                                            .sentence_pairs = (int)pairs,
                                            .short_sequence_probability = 0.1,
                                            .max_ngram = 3 } };
    config.objective = objective_index("mlm");
    return config;
}

/* Row i is sample i of the mapping, in every epoch. */
static void rows_are_the_mapping_s(void)
{
    g_autofree char *prefix = write_dataset("split", true);
    DataConfig config = loader_config(PAIRS_ORDER);
    Loader *loader = loader_open(&config, prefix, tok, 42, false, NULL);
    const ObjectiveConfig *planned = loader_objective(loader);
    Dataset *data = dataset_open(prefix, NULL);
    const CompatSpec spec = { .data = data, .config = planned, .seed = 42, .n_samples = 30 };
    int64_t n_mapped;
    void *index = compat_megatron_bert.open(&spec, &n_mapped, NULL);
    Batch *batch = loader_batch(loader, 1);
    Example out;
    int64_t n = loader_epoch_packed(loader);
    example_init(&out, planned);
    g_assert_cmpint(n, ==, n_mapped);
    g_assert_cmpint(n, >=, 30);
    for (int64_t row = 0; row < 2 * n; row++) {
        g_assert_true(loader_get(loader, row, 1, batch, NULL));
        g_assert_true(compat_megatron_bert.fill(index, 0, row % n, &out, NULL));
        g_assert_cmpint(batch->enc.n_seq, ==, 1);
        g_assert_cmpint(batch->enc.n_tokens, ==, out.n_inputs);
        g_assert_cmpint(batch->labels[0], ==, out.label);
        assert_same(batch->enc.ids, out.inputs, (size_t)out.n_inputs * 4);
        assert_same(batch->targets, out.targets, (size_t)out.n_inputs * 4);
        assert_same(batch->weights, out.weights, (size_t)out.n_inputs * 4);
    }
    example_clear(&out);
    batch_free(batch);
    compat_megatron_bert.close(index);
    dataset_close(data);
    loader_close(loader);
}

/* Every epoch is a permutation of the same samples, that of torch. */
static void epochs_of_t5_experiments_are_torch_s(void)
{
    g_autofree char *prefix = write_dataset("sampled", true);
    DataConfig config = loader_config(PAIRS_ORDER);
    Loader *mapped = loader_open(&config, prefix, tok, 42, false, NULL);
    config.compat = COMPAT_T5_EXPERIMENTS;
    Loader *sampled = loader_open(&config, prefix, tok, 42, false, NULL);
    Batch *batch = loader_batch(sampled, 1), *expected = loader_batch(mapped, 1);
    uint32_t order[200];
    int64_t n = loader_epoch_packed(sampled);
    g_assert_cmpint(n, <=, 200);
    for (int64_t row = 0; row < 3 * n; row++) {
        torch_randperm(42 + (uint32_t)(row / n), order, (uint32_t)n);
        g_assert_true(loader_get(sampled, row, 1, batch, NULL));
        g_assert_true(loader_get(mapped, order[row % n], 1, expected, NULL));
        g_assert_cmpint(batch->enc.n_tokens, ==, expected->enc.n_tokens);
        assert_same(batch->enc.ids, expected->enc.ids, (size_t)batch->enc.n_tokens * 4);
        assert_same(batch->weights, expected->weights, (size_t)batch->enc.n_tokens * 4);
    }
    batch_free(batch);
    batch_free(expected);
    loader_close(mapped);
    loader_close(sampled);
}

static void assert_refused(const char *prefix, DataConfig config, const char *phrase)
{
    g_autoptr(GError) error = NULL;
    g_assert_null(loader_open(&config, prefix, tok, 42, false, &error));
    g_assert_error(error, LOAM_ERROR, LOAM_ERROR_USER);
    g_assert_nonnull(strstr(error->message, phrase));
}

static void what_megatron_does_not_know_is_refused(void)
{
    g_autofree char *whole = write_dataset("whole", false);
    DataConfig many = loader_config(PAIRS_NONE);
    many.compat_samples = (int64_t)1e12;
    assert_refused(whole, loader_config(PAIRS_NEXT), "sentence_pairs=next");
    assert_refused(whole, loader_config(PAIRS_ORDER), "--split-sentences");
    assert_refused(whole, many, "2^31");
    DataConfig none = loader_config(PAIRS_NONE);
    Loader *loader = loader_open(&none, whole, tok, 42, true, NULL);
    g_assert_cmpint(loader_epoch_packed(loader), ==, 8); /* a document of one sentence is a sample without pairs */
    loader_close(loader);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    folder = folder_new();
    tok = tiny_tokenizer(folder, "tiny.model", 100);
    g_test_add_func("/megatron_bert/the_mapping_is_megatron_s", the_mapping_is_megatron_s);
    g_test_add_func("/megatron_bert/larger_mappings_are_megatron_s", larger_mappings_are_megatron_s);
    g_test_add_func("/megatron_bert/a_share_near_zero_shortens_no_sample", a_share_near_zero_shortens_no_sample);
    g_test_add_func("/megatron_bert/samples_are_megatron_s", samples_are_megatron_s);
    g_test_add_func("/megatron_bert/many_samples_are_megatron_s", many_samples_are_megatron_s);
    g_test_add_func("/megatron_bert/rows_are_the_mapping_s", rows_are_the_mapping_s);
    g_test_add_func("/megatron_bert/epochs_of_t5_experiments_are_torch_s", epochs_of_t5_experiments_are_torch_s);
    g_test_add_func("/megatron_bert/what_megatron_does_not_know_is_refused", what_megatron_does_not_know_is_refused);
    int failed = g_test_run();
    tokenizer_close(tok);
    folder_remove(folder);
    return failed;
}
