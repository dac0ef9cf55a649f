/* Models with a decoder alone and with an encoder alone: continuations, their scores, and masks. */
#include "eval/fill_mask.h"
#include "eval/generate.h"
#include "eval/scorer.h"
#include "model/tiny.h"

#include <math.h>

enum { VOCAB = 23, MASK = 4, EOS = 1 };

static Model *open_model(Device *dev, bool decoder)
{
    ModelConfig config = tiny_config(&tiny_gated);
    config.family = decoder ? FAMILY_GPT : FAMILY_BERT;
    *(decoder ? &config.n_enc : &config.n_dec) = 0;
    Model *model = model_open(dev, &config, false, NULL);
    g_assert_nonnull(model);
    params_init(model_params(model), 7);
    return model;
}

static int32_t *ids_in(const GArray *ids)
{
    return (int32_t *)(void *)ids->data;
}

static Prompts two_prompts(void)
{
    static const int32_t ids[] = { 7, 20, 12, 9, 5, 8, 3 }, cu[] = { 0, 5, 7 };
    return (Prompts){ ids, cu, 2 };
}

/* Each token is the likeliest one after the prompt and what was said; the scorer says the same of the whole. */
static void a_decoder_goes_on_from_its_prompt(void)
{
    Device *dev = device_open_cpu(1, precision_uniform(DT_F32));
    Model *model = open_model(dev, true);
    const Prompts prompts = two_prompts();
    const GenerateOptions options = {
        .sampling = { .repetition_penalty = 1 }, .beams = 1, .n = 1, .max_tokens = 8, .eos = { 1, { EOS } }
    };
    Generation out[2];
    Scorer *scorer = scorer_open(model);
    g_assert_true(generate(model, &prompts, 0, &options, out, NULL));
    for (int32_t p = 0; p < 2; p++) {
        Score score, other;
        const int32_t *inputs = prompts.ids + prompts.cu[p];
        int64_t n_inputs = prompts.cu[p + 1] - prompts.cu[p];
        if (out[p].finished) {
            int32_t eos = EOS;
            g_array_append_val(out[p].ids, eos);
        }
        int32_t *said = ids_in(out[p].ids);
        g_assert_true(scorer_score(scorer, inputs, n_inputs, said, out[p].ids->len, &score, NULL));
        g_assert_true(score.greedy);
        g_assert_cmpint(score.tokens, ==, (int64_t)out[p].ids->len);
        g_assert_cmpfloat_with_epsilon(score.logprob, out[p].logprob, 1e-4);
        said[0] = (said[0] + 1) % VOCAB;
        g_assert_true(scorer_score(scorer, inputs, n_inputs, said, 1, &other, NULL));
        g_assert_false(other.greedy);
        generation_clear(&out[p]);
    }
    scorer_close(scorer);
    model_close(model);
    device_close(dev);
}

/* A search over several prompts: what it says of its answers is what the scorer says of them. */
static void a_search_goes_on_from_its_prompt(void)
{
    Device *dev = device_open_cpu(1, precision_uniform(DT_F32));
    Model *model = open_model(dev, true);
    const Prompts prompts = two_prompts();
    const GenerateOptions options = { .sampling = { .repetition_penalty = 1 },
                                      .beams = 4,
                                      .length_penalty = 0.6,
                                      .n = 4,
                                      .max_tokens = 6,
                                      .eos = { 1, { EOS } } };
    Generation out[8];
    Scorer *scorer = scorer_open(model);
    g_assert_true(generate(model, &prompts, 0, &options, out, NULL));
    for (int32_t i = 0; i < 8; i++) {
        Score score;
        int32_t p = i / 4, eos = EOS;
        g_assert_nonnull(out[i].ids);
        if (out[i].finished)
            g_array_append_val(out[i].ids, eos);
        g_assert_true(scorer_score(scorer, prompts.ids + prompts.cu[p], prompts.cu[p + 1] - prompts.cu[p],
                                   ids_in(out[i].ids), out[i].ids->len, &score, NULL));
        g_assert_cmpfloat_with_epsilon(score.logprob, out[i].logprob, 1e-4);
        generation_clear(&out[i]);
    }
    scorer_close(scorer);
    model_close(model);
    device_close(dev);
}

static void expect_likeliest(const MaskGuesses *mask, const float *logits)
{
    double total = 0;
    for (int v = 0; v < VOCAB; v++)
        total += exp((double)logits[v]);
    for (int i = 0; i < mask->n; i++) {
        int likelier = 0;
        double p = exp((double)logits[mask->ids[i]]) / total;
        for (int v = 0; v < VOCAB; v++)
            likelier += logits[v] > logits[mask->ids[i]];
        g_assert_cmpint(likelier, ==, i);
        g_assert_cmpfloat_with_epsilon(mask->probability[i], p, 1e-6);
    }
}

static void masks_get_the_five_likeliest_tokens(void)
{
    static const int32_t ids[] = { 2, MASK, 9, 17, MASK, 3 };
    static const float weights[6] = { 0 };
    Device *dev = device_open_cpu(1, precision_uniform(DT_F32));
    Model *model = open_model(dev, false);
    g_autoptr(GArray) masks = g_array_new(false, false, sizeof(MaskGuesses));
    float logits[6 * VOCAB];
    g_assert_true(fill_mask(model, ids, 6, MASK, VOCAB, masks, NULL) && fill_mask(model, ids, 6, MASK, 7, masks, NULL));
    g_assert_cmpuint(masks->len, ==, 4);
    Batch *batch = batch_new(1, 6, 0);
    batch_add_sequence(batch, &(BatchSequence){ .n = 6, .ids = ids, .targets = ids, .weights = weights, .label = -1 });
    model_logits(model, batch, logits);
    batch_free(batch);
    for (guint m = 2; m < 4; m++)
        for (int i = 0; i < MASK_GUESSES; i++)
            g_assert_cmpint(g_array_index(masks, MaskGuesses, m).ids[i], <, 7);
    for (guint m = 0; m < 2; m++) {
        const MaskGuesses *mask = &g_array_index(masks, MaskGuesses, m);
        g_assert_cmpint(mask->index, ==, m == 0 ? 1 : 4);
        g_assert_cmpint(mask->n, ==, MASK_GUESSES);
        expect_likeliest(mask, logits + mask->index * VOCAB);
    }
    model_close(model);
    device_close(dev);
}

static void an_encoder_scores_no_targets(void)
{
    static const int32_t ids[] = { 5, 6 };
    g_autoptr(GError) error = NULL;
    Device *dev = device_open_cpu(1, precision_uniform(DT_F32));
    Model *model = open_model(dev, false);
    Scorer *scorer = scorer_open(model);
    Score score;
    g_assert_false(scorer_score(scorer, ids, 2, ids, 2, &score, &error));
    g_assert_error(error, LOAM_ERROR, LOAM_ERROR_USER);
    scorer_close(scorer);
    model_close(model);
    device_close(dev);
}

/* Whatever room the scorer keeps, what fits the positions of the model is scored, and no more. */
static void every_pair_that_fits_the_positions_is_scored(void)
{
    enum { MOST = 100 };
    Device *dev = device_open_cpu(1, precision_uniform(DT_F32));
    ModelConfig config = tiny_config(&tiny_gated);
    config.family = FAMILY_GPT;
    config.n_enc = 0;
    config.position = POSITION_LEARNED;
    config.max_positions = MOST;
    Model *model = model_open(dev, &config, false, NULL);
    params_init(model_params(model), 7);
    Scorer *scorer = scorer_open(model);
    int32_t ids[MOST + 1];
    Score score;
    for (int i = 0; i <= MOST; i++)
        ids[i] = 3 + i % 7;
    g_assert_true(scorer_score(scorer, ids, 10, ids, 5, &score, NULL));
    g_assert_true(scorer_score(scorer, ids, MOST, ids, 1, &score, NULL));
    g_assert_false(scorer_score(scorer, ids, MOST + 1, ids, 1, &score, NULL));
    scorer_close(scorer);
    model_close(model);
    device_close(dev);
}

/* Ids that only pad the vocabulary (here those from 12 on) are never said, whatever chooses; the others share all
 * probability. */
static void padding_has_no_probability(void)
{
    enum { N_IDS = 12, N = 64 };
    Device *dev = device_open_cpu(1, precision_uniform(DT_F32));
    Model *model = open_model(dev, true);
    const Prompts prompts = two_prompts();
    const GenerateOptions ways[] = {
        { .sampling = { .repetition_penalty = 1 }, .beams = 1, .n = 1, .max_tokens = 8 },
        { .sampling = { .repetition_penalty = 1 }, .beams = 8, .n = 8, .max_tokens = 8 },
        { .sampling = { .repetition_penalty = 1.5 }, .beams = 4, .n = 4, .max_tokens = 8 },
        { .sampling = { .repetition_penalty = 1, .temperature = 3 }, .beams = 1, .n = N, .max_tokens = 8 },
        { .sampling = { .repetition_penalty = 1.5, .temperature = 3, .top_k = 20, .top_p = 0.99 },
          .beams = 1,
          .n = N,
          .max_tokens = 8 },
    };
    model_roles(model)->n_ids = N_IDS;
    for (size_t w = 0; w < G_N_ELEMENTS(ways); w++) {
        Generation out[2 * N];
        g_assert_true(generate(model, &prompts, 0, &ways[w], out, NULL));
        for (int32_t i = 0; i < 2 * ways[w].n; i++) {
            for (guint t = 0; t < out[i].ids->len; t++)
                g_assert_cmpint(ids_in(out[i].ids)[t], <, N_IDS);
            generation_clear(&out[i]);
        }
    }
    /* Beams that keep all continuations of one token: their probabilities are all there is. */
    const GenerateOptions all = {
        .sampling = { .repetition_penalty = 1 }, .beams = N_IDS, .n = N_IDS, .max_tokens = 1
    };
    Generation out[2 * N_IDS];
    double sum = 0;
    g_assert_true(generate(model, &prompts, 0, &all, out, NULL));
    for (int32_t i = 0; i < 2 * N_IDS; i++) {
        sum += exp(out[i].logprob);
        generation_clear(&out[i]);
    }
    g_assert_cmpfloat_with_epsilon(sum, 2, 1e-5);
    model_close(model);
    device_close(dev);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/generate/a_decoder_goes_on_from_its_prompt", a_decoder_goes_on_from_its_prompt);
    g_test_add_func("/generate/a_search_goes_on_from_its_prompt", a_search_goes_on_from_its_prompt);
    g_test_add_func("/generate/padding_has_no_probability", padding_has_no_probability);
    g_test_add_func("/fill_mask/masks_get_the_five_likeliest_tokens", masks_get_the_five_likeliest_tokens);
    g_test_add_func("/score/an_encoder_scores_no_targets", an_encoder_scores_no_targets);
    g_test_add_func("/score/every_pair_that_fits_the_positions_is_scored",
                    every_pair_that_fits_the_positions_is_scored);
    return g_test_run();
}
