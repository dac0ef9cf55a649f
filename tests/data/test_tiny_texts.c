/* Every objective on texts that hardly are any: a few tokens, most of them special, drawn at random. What a loader
 * opens it must serve, whatever the text holds. */
#include "data/loader.h"

#include "data/tiny_tokenizer.h"

enum { SETS = 60, DRAWS = 12, ROWS = 3 };

static char *folder, *prefix;
static Tokenizer *tok;
static int64_t opened;

static int32_t draw_id(Philox *rng, int kinds)
{
    const int32_t specials[] = { tokenizer_eos(tok), tokenizer_pad(tok), tokenizer_unk(tok), tokenizer_sentinel(tok, 0),
                                 tokenizer_sentinel(tok, 99) };
    uint64_t kind = philox_below(rng, (uint64_t)kinds);
    return kind < G_N_ELEMENTS(specials) ? specials[kind] : 3 + (int32_t)philox_below(rng, 50);
}

/* Up to six documents of up to five sequences of up to nine tokens. With one kind all are the end of a text, which also
 * separates texts. */
static void write_dataset(Philox *rng)
{
    g_autoptr(GError) error = NULL;
    IndexedWriter *writer = indexed_writer_open(prefix, INDEXED_MEGATRON, tokenizer_size(tok), &error);
    int kinds = 1 + (int)philox_below(rng, 8);
    for (uint64_t documents = 1 + philox_below(rng, 6); documents > 0; documents--) {
        for (uint64_t sequences = philox_below(rng, 5); sequences > 0; sequences--) {
            int32_t ids[9];
            int64_t n = (int64_t)philox_below(rng, 10);
            for (int64_t i = 0; i < n; i++)
                ids[i] = draw_id(rng, kinds);
            g_assert_true(indexed_writer_add(writer, ids, n, &error));
        }
        g_assert_true(indexed_writer_end_document(writer, &error));
    }
    g_assert_true(indexed_writer_finish(writer, &error));
}

static DataConfig draw_config(Philox *rng, int objective)
{
    bool in_place = strcmp(objective_names[objective], "mlm") == 0 || philox_below(rng, 20) == 0;
    const MlmSettings mlm = { .whole_word = philox_below(rng, 2),
                              .sentence_pairs = in_place ? (int)philox_below(rng, 3) : PAIRS_NONE,
                              .short_sequence_probability = in_place && philox_below(rng, 2) ? philox_uniform(rng) : 0,
                              .max_ngram = 1 + (int64_t)philox_below(rng, 3) };
    return (DataConfig){ .packed = true,
                         .objective = objective,
                         .decoder_alone = philox_below(rng, 2),
                         .compat = (int)philox_below(rng, 2) ? (int)philox_below(rng, 4) : COMPAT_NONE,
                         .compat_samples = (int64_t)philox_below(rng, 30),
                         .compat_batch = { 1 + (double)philox_below(rng, 8), UNIT_SAMPLES },
                         .break_mode = (int)philox_below(rng, 4),
                         .input_length = 2 + (int64_t)philox_below(rng, 30),
                         .target_length = philox_below(rng, 4) ? 0 : (int64_t)philox_below(rng, 20),
                         .raw_length = philox_below(rng, 4) ? 0 : (int64_t)philox_below(rng, 20),
                         .noise_density = 0.01 + 0.98 * philox_uniform(rng),
                         .mixture = { .temperature = 1 },
                         .static_masks = philox_below(rng, 2),
                         .settings = { .span_corruption = { 1 + (double)philox_below(rng, 5) },
                                       .clm = { philox_below(rng, 2), philox_below(rng, 2), philox_below(rng, 2) },
                                       .mlm = mlm },
                         .memory_tokens = (int64_t)philox_below(rng, 3) };
}

static void check_batch(const Batch *batch)
{
    const TokenStream *loss = batch_loss_stream(batch);
    double sum = 0;
    for (int32_t i = 0; i < loss->n_tokens; i++) {
        g_assert_true(batch->weights[i] == 0 || batch->weights[i] == 1);
        g_assert_true(batch->targets[i] >= 0 && batch->targets[i] < tokenizer_size(tok));
        g_assert_true(loss->ids[i] >= 0 && loss->ids[i] < tokenizer_size(tok));
        sum += (double)batch->weights[i];
    }
    for (int32_t i = 0; i < batch->enc.n_tokens; i++)
        g_assert_true(batch->enc.ids[i] >= 0 && batch->enc.ids[i] < tokenizer_size(tok));
    g_assert_cmpfloat(sum, ==, (double)batch->n_targets);
}

/* What does not fit is an error of the user with a message, and nothing else. */
static void check_loader(const DataConfig *config, bool held_out)
{
    g_autoptr(GError) error = NULL;
    Loader *loader = loader_open(config, prefix, tok, 7, held_out, &error);
    if (!loader) {
        g_assert_error(error, LOAM_ERROR, LOAM_ERROR_USER);
        return;
    }
    opened++;
    Batch *batch = loader_batch(loader, ROWS);
    int64_t rows = loader_epoch_packed(loader);
    for (int64_t row = 0; row < 2 * rows; row += ROWS) {
        loader_get(loader, row, ROWS, batch, &error);
        g_assert_no_error(error);
        check_batch(batch);
    }
    batch_free(batch);
    loader_close(loader);
}

static void every_objective_takes_texts_of_special_tokens(void)
{
    for (uint64_t set = 0; set < SETS; set++) {
        Philox rng = philox_open(philox_key(3, PHILOX_SAMPLING, 0), set);
        write_dataset(&rng);
        for (int objective = 0; objective_names[objective]; objective++)
            for (int draw = 0; draw < DRAWS; draw++) {
                const DataConfig config = draw_config(&rng, objective);
                check_loader(&config, draw % 2 == 0);
            }
    }
    g_assert_cmpint(opened, >, SETS * DRAWS); /* most are not refused */
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    folder = folder_new();
    prefix = g_build_filename(folder, "data", NULL);
    tok = tiny_tokenizer(folder, "tok.model", 200);
    g_test_add_func("/tiny_texts/every_objective_takes_texts_of_special_tokens",
                    every_objective_takes_texts_of_special_tokens);
    int status = g_test_run();
    tokenizer_close(tok);
    g_free(prefix);
    folder_remove(folder);
    return status;
}
