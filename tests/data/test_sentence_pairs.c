/* Pairs of sentences and short sequences, in the masked objective and in the loader. */
#include "data/loader.h"

#include "data/objective_test.h"
#include "data/tiny_tokenizer.h"

#include <math.h>

enum { CLS = 1, SEP = 2, MASK = 3, V = 400, N = 60 };

/* A text and one of another document, without a token in common: 10 + i and 200 + i. Sentences start at 0, 13, 29, 44.
 */
static int32_t tokens[N], others[N];
static const int64_t sentences[] = { 13, 29, 44 };

static ObjectiveConfig config_of(SentencePairs pairs, double short_probability)
{
    GError *error = NULL;
    ObjectiveConfig config = { .input_length = N + (pairs == PAIRS_NONE ? 2 : 3),
                               .noise_density = 0.15,
                               .own = OWN(MlmSettings, .max_ngram = 1, .sentence_pairs = (int)pairs,
                                          .short_sequence_probability = short_probability),
                               .cls = CLS,
                               .sep = SEP,
                               .mask = MASK,
                               .vocab = V };
    g_assert_true(mlm_objective.plan(&config, &error));
    return config;
}

static Choice make(const ObjectiveConfig *config, uint64_t sample, int64_t n, int64_t n_other, bool split, Example *out)
{
    Choice choice = { .rng = philox_open(philox_key(1, PHILOX_CHOICE, 0), sample) };
    Philox rng = philox_open(philox_key(1, PHILOX_OBJECTIVE, 0), sample);
    const Text texts[] = { { tokens, n, sentences, split ? sizeof sentences : 0 },
                           { others, n_other, sentences, split ? sizeof sentences : 0 } };
    mlm_objective.choose(config, n, &choice);
    mlm_objective.apply(config, &choice, &rng, texts, out);
    g_assert_cmpint(out->n_inputs, <=, choice.n_inputs);
    return choice;
}

static bool near_share(int64_t count, int64_t all, double share)
{
    return fabs((double)count - (double)all * share) < 3 * sqrt((double)all * share * (1 - share));
}

/* Where B begins among the targets. */
static int64_t second(const Example *out)
{
    int64_t at = 1;
    while (out->targets[at] != SEP)
        at++;
    return at + 1;
}

static bool begins_sentence(int32_t token, int32_t first)
{
    return token == first || token == first + 13 || token == first + 29 || token == first + 44;
}

/* Half of the second parts are the end of the other text, begin where a sentence does there too, and are as long as
 * what would have followed. */
static void half_of_the_time_another_text_follows(void)
{
    ObjectiveConfig config = config_of(PAIRS_NEXT, 0);
    Example out;
    example_init(&out, &config);
    for (int split = 0; split < 2; split++) {
        int64_t random_next = 0;
        for (uint64_t sample = 0; sample < 2000; sample++) {
            Choice choice = make(&config, sample, N, N, split, &out);
            int64_t b = second(&out), n_a = b - 2, n_b = N - n_a;
            g_assert_cmpint(out.n_inputs, ==, N + 3);
            g_assert_cmpint(out.label, ==, choice.other_tokens > 0);
            assert_same(out.targets + 1, tokens, (size_t)n_a * 4);
            const int32_t *from = out.label ? others + (out.targets[b] - others[0]) : tokens + n_a;
            assert_same(out.targets + b, from, (size_t)n_b * 4);
            g_assert_cmpint(out.targets[b + n_b], ==, SEP);
            g_assert_true(!split || begins_sentence(out.targets[b], out.label ? others[0] : tokens[0]));
            random_next += out.label;
        }
        g_assert_true(near_share(random_next, 2000, 0.5));
    }
    example_clear(&out);
}

/* A text of 7 tokens cannot stand for more: the sample is shorter than was foretold, never longer. */
static void a_short_other_text_makes_a_shorter_sample(void)
{
    ObjectiveConfig config = config_of(PAIRS_NEXT, 0);
    Example out;
    int64_t shorter = 0;
    example_init(&out, &config);
    for (uint64_t sample = 0; sample < 200; sample++) {
        Choice choice = make(&config, sample, N, 7, false, &out);
        int64_t n_b = out.n_inputs - second(&out) - 1;
        g_assert_true(choice.other_tokens == 0 || n_b <= 7);
        shorter += out.n_inputs < choice.n_inputs;
    }
    g_assert_cmpint(shorter, >, 50);
    example_clear(&out);
}

static void order_is_cut_where_a_sentence_begins(void)
{
    ObjectiveConfig config = config_of(PAIRS_ORDER, 0);
    int64_t cuts[N] = { 0 }, swapped = 0;
    Example out;
    example_init(&out, &config);
    for (uint64_t sample = 0; sample < 2000; sample++) {
        make(&config, sample, N, 0, true, &out);
        int64_t b = second(&out), cut = out.label ? N - (b - 2) : b - 2;
        assert_same(out.targets + 1, out.label ? tokens + cut : tokens, (size_t)(b - 2) * 4);
        cuts[cut]++;
        swapped += out.label;
    }
    g_assert_cmpint(cuts[13] + cuts[29] + cuts[44], ==, 2000);
    g_assert_true(cuts[13] > 300 && cuts[29] > 300 && cuts[44] > 300);
    g_assert_true(near_share(swapped, 2000, 0.5));
    example_clear(&out);
}

/* A quarter of the samples take 2 … N tokens in a row, as foretold, from where a sentence begins. */
static void short_sequences_have_their_share(void)
{
    ObjectiveConfig config = config_of(PAIRS_NONE, 0.25);
    int64_t shorter = 0, length = 0;
    Example out;
    example_init(&out, &config);
    for (uint64_t sample = 0; sample < 4000; sample++) {
        Choice choice = make(&config, sample, N, 0, true, &out);
        int64_t n = out.n_inputs - 2, first = out.targets[1] - tokens[0];
        g_assert_cmpint(n, ==, choice.n_inputs - 2);
        g_assert_true(n >= 2 && begins_sentence(out.targets[1], tokens[0]));
        assert_same(out.targets + 1, tokens + first, (size_t)n * 4);
        shorter += n < N;
        length += n < N ? n : 0;
    }
    g_assert_true(near_share(shorter, 4000, 0.25 * (N - 2) / N));
    g_assert_cmpfloat_with_epsilon((double)length / (double)shorter, (N + 1) / 2.0, 2);
    example_clear(&out);
}

/* ---- the loader ---- */

enum { DOCUMENTS = 40, SEED = 5 };

static char *folder, *prefix;
static Tokenizer *tok;

/* Document d is of token 10 + d, but for the first of each of its 1 to 12 sentences, 60 + d. */
static void write_dataset(const char *at, int documents)
{
    IndexedWriter *writer = indexed_writer_open(at, INDEXED_MEGATRON, tokenizer_size(tok), NULL);
    Philox rng = philox_open(philox_key(3, PHILOX_SAMPLING, 0), 0);
    for (int document = 0; document < documents; document++) {
        for (int64_t sentence = 1 + document % 12; sentence > 0; sentence--) {
            int32_t ids[20];
            int64_t n = 3 + (int64_t)philox_below(&rng, 17);
            for (int64_t i = 0; i < n; i++)
                ids[i] = (i == 0 ? 60 : 10) + document;
            g_assert_true(indexed_writer_add(writer, ids, n, NULL));
        }
        g_assert_true(indexed_writer_end_document(writer, NULL));
    }
    g_assert_true(indexed_writer_finish(writer, NULL));
}

static DataConfig loader_config(SentencePairs pairs)
{
    DataConfig config = { .packed = true,
                          .input_length = 64,
                          .noise_density = 0.15,
                          .settings.mlm = { .whole_word = true, .sentence_pairs = (int)pairs, .max_ngram = 1 } };
    config.objective = objective_index("mlm");
    return config;
}

static int32_t document_of(int32_t token)
{
    return token >= 60 ? token - 60 : token - 10;
}

typedef struct Seen {
    int64_t pairs, random_next, cut_mid_sentence, used, rows;
    int64_t digest;
} Seen;

static void look_at(const Batch *batch, int32_t sep, Seen *seen)
{
    const TokenStream *enc = &batch->enc;
    for (int32_t i = 0; i < enc->n_seq; i++) {
        const int32_t *ids = batch->targets + enc->cu[i];
        int64_t n = enc->cu[i + 1] - enc->cu[i], b = 1;
        while (ids[b] != sep)
            b++;
        b++;
        bool random_next = document_of(ids[1]) != document_of(ids[b]);
        g_assert_cmpint(batch->labels[i], ==, random_next);
        for (int64_t j = b; j < n - 1; j++)
            g_assert_cmpint(document_of(ids[j]), ==, document_of(ids[b]));
        seen->pairs++;
        seen->random_next += random_next;
        seen->cut_mid_sentence += ids[b] < 60;
        seen->digest = (seen->digest * 31 + ids[b]) % 1000003;
    }
    seen->used += enc->n_tokens;
    seen->rows += enc->max_tokens;
}

static Seen look_at_epoch(const DataConfig *config, int64_t epoch)
{
    g_autoptr(GError) error = NULL;
    Loader *loader = loader_open(config, prefix, tok, SEED, false, &error);
    g_assert_no_error(error);
    Batch *batch = loader_batch(loader, 1);
    Seen seen = { 0 };
    int64_t rows = loader_epoch_packed(loader);
    for (int64_t row = 0; row < rows; row++) {
        loader_get(loader, epoch * rows + row, 1, batch, &error);
        g_assert_no_error(error);
        look_at(batch, loader_objective(loader)->sep, &seen);
    }
    batch_free(batch);
    loader_close(loader);
    return seen;
}

/* The label says whether both parts are of one document; no epoch pairs as another did. */
static void what_does_not_follow_is_of_another_document(void)
{
    DataConfig config = loader_config(PAIRS_NEXT);
    Seen first = look_at_epoch(&config, 0), again = look_at_epoch(&config, 0), next = look_at_epoch(&config, 1);
    g_assert_cmpint(first.pairs, >, DOCUMENTS);
    g_assert_true(near_share(first.random_next, first.pairs, 0.5));
    g_assert_cmpint(first.digest, ==, again.digest);
    g_assert_cmpint(first.digest, !=, next.digest);
    g_assert_cmpint(first.cut_mid_sentence, <, first.pairs / 5); /* texts of one sentence */
    g_assert_cmpfloat((double)first.used / (double)first.rows, >, 0.9);
}

static void text_of_others_needs_two_documents(void)
{
    g_autofree char *alone = g_build_filename(folder, "alone", NULL);
    g_autoptr(GError) error = NULL;
    DataConfig config = loader_config(PAIRS_NEXT);
    write_dataset(alone, 1);
    g_assert_null(loader_open(&config, alone, tok, SEED, false, &error));
    g_assert_error(error, LOAM_ERROR, LOAM_ERROR_USER);
    g_assert_nonnull(strstr(error->message, "one document"));
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    for (int i = 0; i < N; i++) {
        tokens[i] = 10 + i;
        others[i] = 200 + i;
    }
    folder = folder_new();
    prefix = g_build_filename(folder, "set", NULL);
    tok = tiny_tokenizer(folder, "tiny.model", 110);
    write_dataset(prefix, DOCUMENTS);
    g_test_add_func("/sentence_pairs/half_of_the_time_another_text_follows", half_of_the_time_another_text_follows);
    g_test_add_func("/sentence_pairs/a_short_other_text_makes_a_shorter_sample",
                    a_short_other_text_makes_a_shorter_sample);
    g_test_add_func("/sentence_pairs/order_is_cut_where_a_sentence_begins", order_is_cut_where_a_sentence_begins);
    g_test_add_func("/sentence_pairs/short_sequences_have_their_share", short_sequences_have_their_share);
    g_test_add_func("/sentence_pairs/what_does_not_follow_is_of_another_document",
                    what_does_not_follow_is_of_another_document);
    g_test_add_func("/sentence_pairs/text_of_others_needs_two_documents", text_of_others_needs_two_documents);
    int failed = g_test_run();
    tokenizer_close(tok);
    g_free(prefix);
    folder_remove(folder);
    return failed;
}
