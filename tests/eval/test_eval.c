#include "data/tiny_tokenizer.h"
#include "eval/generate.h"
#include "eval/heldout.h"
#include "eval/scorer.h"
#include "model/tiny.h"

static char *folder, *prefix;
static Tokenizer *tok;
static Device *dev;
static Model *model;
static Loader *loader;

static void set_up(void)
{
    GError *error = NULL;
    folder = folder_new();
    prefix = g_build_filename(folder, "set", NULL);
    tok = tiny_tokenizer(folder, "tiny.model", 100);
    IndexedWriter *writer = indexed_writer_open(prefix, INDEXED_MEGATRON, tokenizer_size(tok), &error);
    for (uint64_t document = 0; document < 20; document++) {
        g_autofree char *text = tiny_text(document, 30);
        g_autoptr(GArray) ids = g_array_new(false, false, sizeof(int32_t));
        g_assert_true(tokenizer_encode(tok, text, strlen(text), false, ids, &error));
        g_assert_true(indexed_writer_add(writer, (int32_t *)(void *)ids->data, ids->len, &error));
        g_assert_true(indexed_writer_end_document(writer, &error));
    }
    g_assert_true(indexed_writer_finish(writer, &error));
    const DataConfig data = { .input_length = 32, .noise_density = 0.15, .settings.span_corruption = { 3 } };
    loader = loader_open(&data, prefix, tok, 1, true, &error);
    g_assert_no_error(error);
    dev = device_open_cpu(1, precision_uniform(DT_F32));
    Shape shape = tiny_gated;
    shape.vocab = tokenizer_size(tok);
    model = tiny_open(dev, &shape);
    const ModelLoss plain = { 0 };
    g_assert_true(model_reserve(model, 8, 32, (int32_t)loader_objective(loader)->target_length, &plain, NULL, &error));
}

static void tear_down(void)
{
    loader_close(loader);
    model_close(model);
    device_close(dev);
    tokenizer_close(tok);
    g_free(prefix);
    folder_remove(folder);
}

static LossSums loss_by(int64_t n, int64_t micro)
{
    LossSums sums = { 0 };
    g_assert_true(heldout_loss(model, loader, n, micro, (HeldoutPart){ 0 }, NULL, &sums, NULL));
    return sums;
}

static void loss_does_not_depend_on_the_microbatch(void)
{
    LossSums one = loss_by(0, 1), eight = loss_by(0, 8), again = loss_by(0, 8);
    g_assert_cmpfloat(one.head[HEAD_TOKENS].weight, ==, eight.head[HEAD_TOKENS].weight);
    g_assert_cmpfloat_with_epsilon(one.head[HEAD_TOKENS].nll / eight.head[HEAD_TOKENS].nll, 1, 1e-6);
    g_assert_cmpfloat(eight.head[HEAD_TOKENS].nll, ==, again.head[HEAD_TOKENS].nll);
    g_assert_cmpfloat(eight.head[HEAD_TOKENS].loss, ==,
                      eight.head[HEAD_TOKENS].nll); /* no smoothing, no z-loss: plain nats */
    g_assert_cmpfloat(loss_by(3, 2).head[HEAD_TOKENS].weight, <, one.head[HEAD_TOKENS].weight);
}

/* The entropy of the targets, counted here once more from the batches themselves. */
static void unigram_is_the_entropy_of_the_targets(void)
{
    const ObjectiveConfig *objective = loader_objective(loader);
    Batch *batch = batch_new(1, 32, (int32_t)objective->target_length);
    int64_t counts[256] = { 0 }, total = 0;
    for (int64_t sample = 0; sample < loader_epoch_packed(loader); sample++) {
        g_assert_true(loader_get(loader, sample, 1, batch, NULL));
        for (int32_t row = 0; row < batch->dec.n_tokens; row++, total++)
            counts[batch->targets[row]]++;
    }
    double entropy = 0, nats;
    for (int id = 0; id < 256; id++)
        entropy -= counts[id] ? (double)counts[id] / (double)total * log((double)counts[id] / (double)total) : 0;
    g_assert_true(heldout_unigram(loader, 0, tokenizer_size(tok), &nats, NULL));
    g_assert_cmpfloat_with_epsilon(nats, entropy, 1e-12);
    g_assert_cmpint(counts[tokenizer_sentinel(tok, 0)], ==, loader_epoch_packed(loader));
    batch_free(batch);
}

/* All of the targets' text, put together here: what the sentinels hide, and nothing else. */
static void bytes_are_those_of_the_hidden_text(void)
{
    const ObjectiveConfig *objective = loader_objective(loader);
    Batch *batch = batch_new(1, 32, (int32_t)objective->target_length);
    int64_t want = 0, bytes;
    for (int64_t sample = 0; sample < loader_epoch_packed(loader); sample++) {
        int32_t ids[64];
        int64_t n = 0;
        g_assert_true(loader_get(loader, sample, 1, batch, NULL));
        for (int32_t row = 0; row < batch->dec.n_tokens; row++)
            if (batch->targets[row] < tokenizer_size(tok) - TOKENIZER_SENTINELS)
                ids[n++] = batch->targets[row];
        g_autofree char *text = tokenizer_decode(tok, ids, n, NULL);
        want += (int64_t)strlen(text);
    }
    g_assert_true(heldout_bytes(loader, tok, 0, &bytes, NULL));
    g_assert_cmpint(bytes, ==, want);
    g_assert_cmpint(bytes, >, 100);
    batch_free(batch);
}

static GPtrArray *open_sets(const char *format, GError **error)
{
    g_auto(GStrv) parts = g_strsplit(format, "%", -1);
    g_autofree char *valid = g_strjoinv(prefix, parts);
    const DataConfig data = {
        .valid = valid, .input_length = 32, .noise_density = 0.15, .settings.span_corruption = { 3 }
    };
    return heldout_sets_open(&data, tok, 1, error);
}

static void held_out_sets_have_names(void)
{
    static const char *const wrong[][2] = {
        { "a:%,%", "has no name" },
        { "%,b:%", "has no name" },
        { "a:%,a:%", "two sets are named \"a\"" },
        { "a:%-none", "set-none" },
    };
    g_autoptr(GPtrArray) none = open_sets("", NULL), one = open_sets("%", NULL), two = open_sets("a:%, code-2:%", NULL);
    g_assert_cmpuint(none->len, ==, 0);
    g_assert_cmpuint(one->len, ==, 1);
    const HeldoutSet *set = one->pdata[0];
    g_assert_null(set->name);
    g_assert_cmpuint(two->len, ==, 2);
    set = two->pdata[1];
    g_assert_cmpstr(set->name, ==, "code-2");
    g_assert_cmpstr(set->path_prefix, ==, prefix);
    g_assert_cmpint(loader_epoch_packed(set->loader), ==, loader_epoch_packed(loader));
    for (size_t i = 0; i < G_N_ELEMENTS(wrong); i++) {
        g_autoptr(GError) error = NULL;
        g_assert_null(open_sets(wrong[i][0], &error));
        g_assert_error(error, LOAM_ERROR, LOAM_ERROR_USER);
        g_assert_nonnull(strstr(error->message, wrong[i][1]));
    }
}

static int32_t *ids_in(const GArray *ids)
{
    return (int32_t *)(void *)ids->data;
}

/* Each token is the likeliest one of the uncached model that sees all tokens before it. */
static void greedy_follows_the_uncached_model(void)
{
    static const int32_t inputs[] = { 7, 30, 12, 99, 45, 8, 1 }, cu[] = { 0, G_N_ELEMENTS(inputs) };
    const GenerateOptions options = { .sampling = { .repetition_penalty = 1 },
                                      .beams = 1,
                                      .n = 1,
                                      .max_tokens = 10,
                                      .eos = { 1, { tokenizer_eos(tok) } } };
    Generation answer;
    g_assert_true(generate(model, &(Prompts){ inputs, cu, 1 }, 0, &options, &answer, NULL));
    g_assert_cmpuint(answer.ids->len, >, 0);
    int64_t vocab = model_config(model)->vocab, targets = loader_objective(loader)->target_length;
    g_autofree float *logits = g_new(float, 8 * targets * vocab);
    Batch *batch = batch_new(8, 32, (int32_t)targets);
    int32_t *ids = ids_in(answer.ids);
    batch_add(batch, 0, inputs, G_N_ELEMENTS(inputs), ids, MIN(answer.ids->len, (guint)targets), 0);
    model_logits(model, batch, logits);
    double logprob = 0;
    for (guint i = 0; i < MIN(answer.ids->len, (guint)targets); i++) {
        const float *row = logits + (int64_t)i * vocab;
        double sum = 0;
        for (int64_t v = 0; v < vocab; v++) {
            g_assert_cmpfloat(row[v], <=, row[ids[i]] + 1e-5f);
            sum += exp((double)row[v]);
        }
        logprob += (double)row[ids[i]] - log(sum);
    }
    if (!answer.finished && answer.ids->len <= (guint)targets)
        g_assert_cmpfloat_with_epsilon(answer.logprob, logprob, 1e-4);
    batch_free(batch);
    generation_clear(&answer);
}

enum { PROMPTS = 5 };

static Prompts five_prompts(void)
{
    static const int32_t ids[] = { 7, 30, 12, 99, 45, 8, 1, 5, 1, 88, 3, 71, 1, 7, 30, 12, 99, 45, 8, 1, 60, 61, 1 };
    static const int32_t cu[PROMPTS + 1] = { 0, 7, 9, 13, 20, 23 };
    return (Prompts){ ids, cu, PROMPTS };
}

static bool same_ids(const Generation *a, const Generation *b)
{
    return a->ids->len == b->ids->len && memcmp(a->ids->data, b->ids->data, a->ids->len * sizeof(int32_t)) == 0;
}

/* The answers to five prompts at once and one by one are the same; out (5 × n) are those at once. */
static void answer_five(const GenerateOptions *options, Generation *out)
{
    Prompts all = five_prompts();
    g_assert_true(generate(model, &all, 0, options, out, NULL));
    for (int32_t p = 0; p < PROMPTS; p++) {
        const int32_t cu[] = { 0, all.cu[p + 1] - all.cu[p] };
        g_autofree Generation *one = g_new(Generation, options->n);
        g_assert_true(generate(model, &(Prompts){ all.ids + all.cu[p], cu, 1 }, p, options, one, NULL));
        for (int32_t i = 0; i < options->n; i++) {
            Generation *batched = &out[p * options->n + i];
            g_assert_true(same_ids(&one[i], batched));
            g_assert_cmpfloat_with_epsilon(one[i].logprob, batched->logprob, 1e-4);
            g_assert_true(one[i].finished == batched->finished);
            generation_clear(&one[i]);
        }
    }
}

static void a_batch_answers_as_its_prompts_alone(void)
{
    GenerateOptions options = { .sampling = { .repetition_penalty = 1.3 },
                                .beams = 1,
                                .n = 1,
                                .max_tokens = 12,
                                .eos = { 1, { tokenizer_eos(tok) } } };
    Generation out[PROMPTS * 3];
    answer_five(&options, out);
    g_assert_true(same_ids(&out[0], &out[3])); /* prompt 3 is prompt 0 once more */
    for (int i = 0; i < PROMPTS; i++)
        generation_clear(&out[i]);
    options.beams = 4;
    options.n = 3;
    options.length_penalty = 0.6;
    answer_five(&options, out);
    for (int i = 0; i < 3 * PROMPTS; i++)
        generation_clear(&out[i]);
}

static void samples_depend_on_seed_and_prompt_and_number_alone(void)
{
    GenerateOptions options = { .sampling = { .temperature = 1, .top_p = 0.95, .repetition_penalty = 1 },
                                .beams = 1,
                                .n = 2,
                                .max_tokens = 12,
                                .seed = 4,
                                .eos = { 1, { tokenizer_eos(tok) } } };
    Generation out[PROMPTS * 2], other[PROMPTS * 2];
    answer_five(&options, out);
    g_assert_false(same_ids(&out[0], &out[1])); /* two samples of one prompt */
    g_assert_false(same_ids(&out[0], &out[6])); /* the same prompt at another place */
    options.seed = 5;
    answer_five(&options, other);
    g_assert_false(same_ids(&out[0], &other[0]));
    for (int i = 0; i < 2 * PROMPTS; i++) {
        generation_clear(&out[i]);
        generation_clear(&other[i]);
    }
}

/* What a search says of its answer is what the model says of it, step by step. */
static void a_search_reports_the_probability_of_its_answer(void)
{
    static const int32_t inputs[] = { 7, 30, 12, 99, 45, 8, 1 }, cu[] = { 0, G_N_ELEMENTS(inputs) };
    const Prompts prompt = { inputs, cu, 1 };
    const GenerateOptions options = { .sampling = { .repetition_penalty = 1 },
                                      .beams = 4,
                                      .n = 4,
                                      .length_penalty = 0.6,
                                      .max_tokens = 12,
                                      .eos = { 1, { tokenizer_eos(tok) } } };
    Generation out[4];
    int64_t vocab = model_config(model)->vocab;
    g_assert_true(generate(model, &prompt, 0, &options, out, NULL));
    for (int i = 0; i < 4; i++) {
        Decoder *decoder = decoder_open(model, &prompt, 1, 12, NULL);
        double logprob = 0;
        int32_t token = 0;
        g_assert_nonnull(out[i].ids);
        for (guint t = 0; t < out[i].ids->len + out[i].finished; t++) {
            float *logits = decoder_step(decoder, &token);
            token = t < out[i].ids->len ? ids_in(out[i].ids)[t] : options.eos.ids[0];
            logprob += (double)logits[token] - sampler_log_sum(logits, vocab);
        }
        g_assert_cmpfloat_with_epsilon(out[i].logprob, logprob, 1e-4);
        decoder_close(decoder);
        generation_clear(&out[i]);
    }
}

/* A greedy answer is scored as what decoding said of it; one other token makes it less likely. */
static void a_score_is_what_decoding_says(void)
{
    static const int32_t inputs[] = { 7, 30, 12, 99, 45, 8, 1 }, cu[] = { 0, G_N_ELEMENTS(inputs) };
    const GenerateOptions options = { .sampling = { .repetition_penalty = 1 },
                                      .beams = 1,
                                      .n = 1,
                                      .max_tokens = 70,
                                      .eos = { 1, { tokenizer_eos(tok) } } };
    Generation answer;
    Score score, other;
    Scorer *scorer = scorer_open(model);
    GError *error = NULL;
    g_assert_true(generate(model, &(Prompts){ inputs, cu, 1 }, 0, &options, &answer, NULL));
    if (answer.finished)
        g_array_append_val(answer.ids, options.eos.ids[0]);
    int32_t *ids = ids_in(answer.ids);
    g_assert_true(scorer_score(scorer, inputs, G_N_ELEMENTS(inputs), ids, answer.ids->len, &score, NULL));
    g_assert_cmpfloat_with_epsilon(score.logprob, answer.logprob, 1e-3);
    g_assert_true(score.greedy);
    g_assert_cmpint(score.tokens, ==, (int64_t)answer.ids->len);
    ids[0] = ids[0] == 50 ? 51 : 50;
    g_assert_true(scorer_score(scorer, inputs, G_N_ELEMENTS(inputs), ids, 1, &other, NULL));
    g_assert_false(other.greedy);
    g_assert_cmpfloat(other.logprob, <, 0);
    ids[0] = 1 << 20;
    g_assert_false(scorer_score(scorer, inputs, G_N_ELEMENTS(inputs), ids, 1, &other, &error));
    g_assert_error(error, LOAM_ERROR, LOAM_ERROR_USER);
    g_clear_error(&error);
    scorer_close(scorer);
    generation_clear(&answer);
}

static GArray *ids_of(const char *text)
{
    GArray *ids = g_array_new(false, false, sizeof(int32_t));
    g_assert_true(tokenizer_encode(tok, text, strlen(text), true, ids, NULL));
    return ids;
}

static void check_fill(const char *prompt, const char *answer, const char *want)
{
    g_autoptr(GArray) inputs = ids_of(prompt), said = ids_of(answer);
    g_autofree char *text = generate_fill(tok, (int32_t *)(void *)inputs->data, inputs->len, said, NULL);
    g_assert_cmpstr(text, ==, want);
}

static void blanks_are_filled_in_their_places(void)
{
    check_fill("bako <extra_id_0> tume <extra_id_1>", "<extra_id_0> ri <extra_id_1> salo nida",
               "bako ri tume salo nida");
    check_fill("bako <extra_id_0> tume", "<extra_id_0> ri sa <extra_id_1> lo", "bako ri sa tume");
    check_fill("bako <extra_id_0> tume <extra_id_1>", "<extra_id_1> lo", "bako <extra_id_0> tume lo");
    check_fill("bako tume", "<extra_id_0> lo", "bako tume");
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    set_up();
    g_test_add_func("/heldout/loss_does_not_depend_on_the_microbatch", loss_does_not_depend_on_the_microbatch);
    g_test_add_func("/heldout/unigram_is_the_entropy_of_the_targets", unigram_is_the_entropy_of_the_targets);
    g_test_add_func("/heldout/bytes_are_those_of_the_hidden_text", bytes_are_those_of_the_hidden_text);
    g_test_add_func("/heldout/held_out_sets_have_names", held_out_sets_have_names);
    g_test_add_func("/generate/greedy_follows_the_uncached_model", greedy_follows_the_uncached_model);
    g_test_add_func("/generate/a_batch_answers_as_its_prompts_alone", a_batch_answers_as_its_prompts_alone);
    g_test_add_func("/generate/samples_depend_on_seed_and_prompt_and_number_alone",
                    samples_depend_on_seed_and_prompt_and_number_alone);
    g_test_add_func("/generate/a_search_reports_the_probability_of_its_answer",
                    a_search_reports_the_probability_of_its_answer);
    g_test_add_func("/score/a_score_is_what_decoding_says", a_score_is_what_decoding_says);
    g_test_add_func("/generate/blanks_are_filled_in_their_places", blanks_are_filled_in_their_places);
    int status = g_test_run();
    tear_down();
    return status;
}
