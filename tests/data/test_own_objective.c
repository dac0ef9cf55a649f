/* An objective that nothing in src/ knows, with settings, decisions and side data of its own, through the whole loader.
 * It takes the place of the list: this program defines what objectives.c does, so the linker leaves that file out. */
#include "data/loader.h"

#include "data/objective_test.h"
#include "data/tiny_tokenizer.h"

#include <fcntl.h>
#include <unistd.h>

enum { DOCUMENTS = 12, LENGTH = 16, SEED = 5, LIFT = 1000 };

/* ---- side data: one i32 for each token of the dataset, in the file PREFIX.depth ---- */

static int64_t reads;

static bool read_depths(const Dataset *data, int64_t document, int64_t from, int64_t n, GByteArray *out, GError **error)
{
    g_autofree char *path = g_strconcat(data->prefix, ".depth", NULL);
    g_autofree int32_t *depths = g_new(int32_t, n);
    int64_t first, last, start = from;
    indexed_document(data->set, document, &first, &last);
    for (int64_t sequence = 0; sequence < first; sequence++)
        start += indexed_length(data->set, sequence);
    int file = open(path, O_RDONLY);
    bool good = file >= 0 && pread(file, depths, (size_t)n * 4, start * 4) == n * 4;
    if (file >= 0)
        close(file);
    g_byte_array_append(out, (const guint8 *)depths, (guint)n * 4);
    reads++;
    return good || fail_errno(error, "cannot read", path);
}

/* ---- the objective: the depth of each token is predicted, LIFT added to it ---- */

typedef struct DepthSettings {
    int64_t lift;
    bool pairs; /* every second sample has a chunk of another document behind its own */
} DepthSettings;

static bool plan(ObjectiveConfig *config, G_GNUC_UNUSED GError **error)
{
    const DepthSettings *settings = (const void *)&config->own;
    config->raw_length = LENGTH / 2;
    config->side = read_depths;
    config->takes_others = settings->pairs;
    return true;
}

static void choose(const ObjectiveConfig *config, int64_t n, Choice *choice)
{
    const DepthSettings *settings = (const void *)&config->own;
    choice->own = objective_own(&settings->lift, sizeof settings->lift);
    choice->other_tokens = settings->pairs && choice->sample % 2 == 1 ? LENGTH / 2 : 0;
    choice->n_targets = n + choice->other_tokens;
}

static void apply(G_GNUC_UNUSED const ObjectiveConfig *config, const Choice *choice, G_GNUC_UNUSED Philox *rng,
                  const Text *texts, Example *out)
{
    int64_t lift = *(const int64_t *)(const void *)&choice->own, n = 0;
    example_begin(out, texts[0].n + (choice->other_tokens > 0 ? texts[1].n : 0));
    for (const Text *text = texts; n < out->n_inputs; text++) {
        const int32_t *depths = text->side;
        g_assert_cmpuint(text->side_bytes, ==, (size_t)text->n * 4);
        for (int64_t i = 0; i < text->n; i++, n++) {
            out->inputs[n] = text->tokens[i];
            out->targets[n] = depths[i] + (int32_t)lift;
        }
    }
}

static const Objective depth_objective = { .name = "depth",
                                           .streams = STREAMS_DECODER,
                                           .text = TEXT_DOCUMENTS,
                                           .min_length = 1,
                                           .target_share = 1,
                                           .plan = plan,
                                           .choose = choose,
                                           .apply = apply };

/* ---- the list ---- */

const char *const objective_names[] = { "depth", NULL };
static bool pairs;

const Objective *objective_for(G_GNUC_UNUSED int index, G_GNUC_UNUSED bool decoder_alone)
{
    return &depth_objective;
}

ObjectiveConfig objective_config(G_GNUC_UNUSED int index, G_GNUC_UNUSED const ObjectiveSettings *settings)
{
    return (ObjectiveConfig){ .own = OWN(DepthSettings, LIFT, pairs) };
}

void objective_options(G_GNUC_UNUSED GArray *groups, G_GNUC_UNUSED size_t offset)
{
}

/* ---- the test ---- */

static char *folder, *prefix;
static Tokenizer *tok;

/* Documents of 1 to 33 random ids in two sequences; the depth of a token is its id + 1. */
static void write_dataset(void)
{
    IndexedWriter *writer = indexed_writer_open(prefix, INDEXED_MEGATRON, tokenizer_size(tok), NULL);
    Philox rng = philox_open(philox_key(3, PHILOX_SAMPLING, 0), 0);
    g_autoptr(GArray) depths = g_array_new(false, false, sizeof(int32_t));
    for (int document = 0; document < DOCUMENTS; document++) {
        for (int sequence = 0; sequence < 2; sequence++) {
            int32_t ids[20];
            int64_t n = 1 + (int64_t)philox_below(&rng, 17);
            for (int64_t i = 0; i < n; i++) {
                ids[i] = 5 + (int32_t)philox_below(&rng, 90);
                const int32_t depth = ids[i] + 1;
                g_array_append_val(depths, depth);
            }
            g_assert_true(indexed_writer_add(writer, ids, n, NULL));
        }
        g_assert_true(indexed_writer_end_document(writer, NULL));
    }
    g_assert_true(indexed_writer_finish(writer, NULL));
    g_free(file_write(folder, "set.depth", depths->data, depths->len * 4));
}

static int64_t check_epochs(Loader *loader)
{
    g_autoptr(GError) error = NULL;
    Batch *batch = loader_batch(loader, 1);
    int64_t tokens = 0;
    for (int64_t row = 0; row < 3 * loader_epoch_packed(loader); row++) {
        loader_get(loader, row, 1, batch, &error);
        g_assert_no_error(error);
        for (int32_t i = 0; i < batch->dec.n_tokens; i++)
            g_assert_cmpint(batch->targets[i], ==, batch->dec.ids[i] + 1 + LIFT);
        tokens += batch->dec.n_tokens;
    }
    batch_free(batch);
    return tokens;
}

static Loader *open_loader(void)
{
    const DataConfig config = { .packed = true, .input_length = LENGTH };
    g_autoptr(GError) error = NULL;
    Loader *loader = loader_open(&config, prefix, tok, SEED, false, &error);
    g_assert_no_error(error);
    return loader;
}

static void side_data_of_every_chunk_reaches_the_objective(void)
{
    Loader *loader = open_loader();
    g_assert_cmpint(reads, ==, 0); /* side data is read with its chunk, not when the loader opens */
    g_assert_cmpint(check_epochs(loader), ==, 3 * loader_raw_tokens(loader));
    g_assert_cmpint(reads, >, 3 * DOCUMENTS);
    loader_close(loader);
}

static void side_data_of_the_other_document_comes_too(void)
{
    pairs = true;
    Loader *loader = open_loader();
    g_assert_cmpint(check_epochs(loader), >, 4 * loader_raw_tokens(loader));
    loader_close(loader);
}

static void side_data_that_cannot_be_read_is_an_error(void)
{
    g_autoptr(GError) error = NULL;
    g_autofree char *path = g_strconcat(prefix, ".depth", NULL);
    Loader *loader = open_loader();
    Batch *batch = loader_batch(loader, 1);
    g_assert_cmpint(unlink(path), ==, 0);
    g_assert_false(loader_get(loader, 0, 1, batch, &error));
    g_assert_nonnull(strstr(error->message, "set.depth"));
    batch_free(batch);
    loader_close(loader);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    folder = folder_new();
    prefix = g_build_filename(folder, "set", NULL);
    tok = tiny_tokenizer(folder, "tiny.model", 110);
    write_dataset();
    g_test_add_func("/own_objective/side_data_of_every_chunk_reaches_the_objective",
                    side_data_of_every_chunk_reaches_the_objective);
    g_test_add_func("/own_objective/side_data_of_the_other_document_comes_too",
                    side_data_of_the_other_document_comes_too);
    g_test_add_func("/own_objective/side_data_that_cannot_be_read_is_an_error",
                    side_data_that_cannot_be_read_is_an_error);
    int failed = g_test_run();
    tokenizer_close(tok);
    g_free(prefix);
    folder_remove(folder);
    return failed;
}
