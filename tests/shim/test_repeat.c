/* test_repeat.c: parts of the work that repeat (device_repeat), as graphs of a fake of CUDA's runtime (cuda/): what is
 * queued, when a graph is dropped, and that decoding by graphs gives the bits of decoding without, for every kind of
 * decoder. */
#include "device/profile.h"
#include "model/decoder.h"
#include "model/kinds.h"
#include "shim/native.h"

#include <glib.h>
#include <string.h>

/* ---- parts ---- */

typedef struct Part {
    Device *dev;
    Tensor x;
    int calls;
} Part;

static void double_it(void *data)
{
    Part *part = data;
    op_scale(part->dev, part->x, part->x, 2);
    part->calls++;
}

static Part part_open(int order)
{
    Part part = { .dev = open_gpu(0, (FakeOrder)order) };
    part.x = tensor_matrix(device_alloc(part.dev, sizeof(float)), DT_F32, 1, 1);
    op_fill(part.dev, part.x, 1);
    return part;
}

static void part_close(Part *part)
{
    device_free(part->dev, part->x.p);
    device_close(part->dev);
}

static float number_of(Part *part)
{
    float x = 0;
    device_download(part->dev, &x, part->x.p, sizeof x);
    device_synchronise(part->dev);
    return x;
}

static void repeat(Part *part, int64_t number, int times)
{
    for (int i = 0; i < times; i++)
        device_repeat(part->dev, part, number, double_it, part);
}

/* Two calls as they are, one that is captured, and then none. */
static void the_third_call_is_captured(void)
{
    for (int order = 0; order < FAKE_ORDERS; order++) {
        Part part = part_open(order);
        FakeCounts before = fake_cuda_counts();
        repeat(&part, 7, 10);
        FakeCounts after = fake_cuda_counts();
        g_assert_cmpint(part.calls, ==, 3);
        g_assert_cmpint(after.launches - before.launches, ==, 2);
        g_assert_cmpint(after.captured - before.captured, ==, 1);
        g_assert_cmpint(after.graphs - before.graphs, ==, 8);
        g_assert_cmpfloat(number_of(&part), ==, 1024);
        part_close(&part);
    }
}

/* A part is known by its owner and its number. */
static void other_parts_are_captured_anew(void)
{
    Part part = part_open(FAKE_LATE), other = part;
    repeat(&part, 7, 4);
    repeat(&part, 8, 4);
    g_assert_cmpint(part.calls, ==, 6);
    repeat(&other, 7, 4);
    g_assert_cmpint(other.calls, ==, 3);
    repeat(&part, 7, 1);
    g_assert_cmpint(part.calls, ==, 6);
    for (int64_t number = 9; number < 20; number++) /* more than are kept: the oldest go */
        repeat(&part, number, 4);
    g_assert_cmpint(part.calls, ==, 6 + 11 * 3);
    repeat(&part, 7, 1);
    g_assert_cmpint(part.calls, ==, 6 + 11 * 3 + 1);
    device_forget(part.dev, &part);
    repeat(&part, 19, 1);
    g_assert_cmpint(part.calls, ==, 6 + 11 * 3 + 2);
    g_assert_cmpfloat(number_of(&part), ==, ldexpf(1, 8 + 4 + 1 + 44 + 1 + 1));
    part_close(&part);
}

/* The profile measures each operation, so it has to be called. */
static void a_profile_sees_each_call(void)
{
    Part part = part_open(FAKE_LATE);
    Profile profile = { 0 };
    part.dev->profile = &profile;
    repeat(&part, 7, 10);
    part.dev->profile = NULL;
    g_assert_cmpint(part.calls, ==, 10);
    profile_clear(&profile);
    part_close(&part);
}

/* LOAM_CUDA_GRAPHS=0, and a GPU that refuses graphs: the program says so once, and goes on. */
static void without_graphs_all_calls_are_queued(void)
{
    static const struct {
        const char *variable;
        int calls, graphs;
    } cases[] = { { "LOAM_CUDA_GRAPHS", 10 }, { "LOAM_FAKE_GPU_GRAPHS", 11 } }; /* one call more: what was captured */
    for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
        g_setenv(cases[i].variable, "0", TRUE);
        Part part = part_open(FAKE_SHUFFLED);
        long before = fake_cuda_counts().graphs;
        repeat(&part, 7, 5);
        repeat(&part, 8, 5);
        g_assert_cmpint(part.calls, ==, cases[i].calls);
        g_assert_cmpint(fake_cuda_counts().graphs, ==, before);
        g_assert_cmpfloat(number_of(&part), ==, 1024);
        part_close(&part);
        g_unsetenv(cases[i].variable);
    }
}

/* The sums of the columns of a matrix, whose partial sums are in scratch memory. */
typedef struct Sums {
    Device *dev;
    Tensor sum, x;
    int calls;
} Sums;

enum { COLUMNS = 8 };

static void add_up(void *data)
{
    Sums *sums = data;
    op_column_sums(sums->dev, sums->sum, sums->x, 0);
    sums->calls++;
}

static Sums sums_open(Device *dev, int64_t rows)
{
    Sums sums = { .dev = dev };
    sums.x = tensor_matrix(device_alloc(dev, (size_t)rows * COLUMNS * sizeof(float)), DT_F32, rows, COLUMNS);
    sums.sum = tensor_vector(device_alloc(dev, COLUMNS * sizeof(float)), DT_F32, COLUMNS);
    op_fill(dev, sums.x, 1);
    return sums;
}

/* An operation that needs more scratch memory moves it. A graph that was captured before would use what is freed. */
static void graphs_go_when_scratch_memory_moves(void)
{
    enum { FEW = 20, MANY = 4000 };
    Device *dev = open_gpu(0, FAKE_LATE);
    Sums few = sums_open(dev, FEW), many = sums_open(dev, MANY);
    float seen[COLUMNS];

    for (int i = 0; i < 4; i++)
        device_repeat(dev, &few, 1, add_up, &few);
    g_assert_cmpint(few.calls, ==, 3);
    add_up(&many);
    device_repeat(dev, &few, 1, add_up, &few);
    g_assert_cmpint(few.calls, ==, 4);
    device_download(dev, seen, few.sum.p, sizeof seen);
    device_synchronise(dev);
    for (int i = 0; i < COLUMNS; i++)
        g_assert_cmpfloat(seen[i], ==, FEW);
    for (const Sums *sums = &few; sums; sums = sums == &few ? &many : NULL) {
        device_free(dev, sums->x.p);
        device_free(dev, sums->sum.p);
    }
    device_close(dev);
}

/* ---- decoding ---- */

/* Two prompts of two sequences each, which take each other's places now and then. In a model without an encoder the
 * longest has a few tokens less than a graph is for, so that a second graph follows. Sequences of an encoder-decoder
 * begin with none, so only one model goes so far. */
enum { PROMPTS = 2, EACH = 2, SEQUENCES = PROMPTS * EACH, LONGEST = 124, SHORT = 8, LONG = 133, BEYOND = 10 };

typedef struct Generation {
    int32_t ids[2 * LONGEST], cu[PROMPTS + 1];
    int32_t steps;
} Generation;

static Generation generation_of(const ModelConfig *config, bool goes_far)
{
    const bool encodes = config->n_enc > 0;
    Generation g = { .steps = encodes && !goes_far ? SHORT : encodes ? LONG : BEYOND };
    const int32_t lengths[PROMPTS] = { 5, encodes ? 11 : LONGEST };

    for (int32_t p = 0; p < PROMPTS; p++)
        g.cu[p + 1] = g.cu[p] + lengths[p];
    for (int32_t i = 0; i < g.cu[PROMPTS]; i++)
        g.ids[i] = i * 7 % 22 + 1;
    return g;
}

/* What decoding gives, as one text: all logits of some steps, of others the most likely tokens. */
static GByteArray *decode(const ModelConfig *config, Precision precision, const Generation *g, FakeOrder order)
{
    static const int32_t turn[SEQUENCES] = { 1, 1, 3, 2 };
    GByteArray *all = g_byte_array_new();
    int32_t tokens[SEQUENCES] = { 1, 1, 1, 1 };
    GError *error = NULL;
    Device *dev = open_gpu_of(0, order, precision);
    Model *model = model_open(dev, config, false, &error);
    g_assert_no_error(error);
    params_init(model_params(model), 7);
    for (int again = 0; again < 2; again++) { /* a second decoder, whose memory is that of the first */
        Decoder *decoder = decoder_open(model, &(Prompts){ g->ids, g->cu, PROMPTS }, EACH, g->steps, &error);
        g_assert_no_error(error);
        for (int32_t t = 0; t < g->steps; t++) {
            TopTokens top = { 0 };
            if (t % 3 == 2)
                g_byte_array_append(all, (const guint8 *)decoder_step(decoder, tokens),
                                    (guint)(SEQUENCES * config->vocab * (int64_t)sizeof(float)));
            else
                top = decoder_step_top(decoder, tokens, 2);
            for (int32_t r = 0; top.k && r < SEQUENCES; r++) {
                tokens[r] = top.ids[r * top.k + (r + t) % top.k];
                g_byte_array_append(all, (const guint8 *)&top.logits[r * top.k], 2 * sizeof(float));
            }
            if (t % 5 == 4)
                decoder_reorder(decoder, turn);
        }
        decoder_close(decoder);
    }
    model_close(model);
    device_close(dev);
    return all;
}

/* Graphs are used, and give the same bits. */
static void check_decoding(const ModelConfig *config, Precision precision, bool goes_far, FakeOrder order)
{
    Generation g = generation_of(config, goes_far);
    g_setenv("LOAM_CUDA_GRAPHS", "0", TRUE);
    GByteArray *without = decode(config, precision, &g, order);
    g_unsetenv("LOAM_CUDA_GRAPHS");
    const long before = fake_cuda_counts().graphs;
    GByteArray *with = decode(config, precision, &g, order);
    const long graphs = fake_cuda_counts().graphs - before;
    const bool second = config->n_enc == 0 || goes_far;
    g_assert_cmpuint(with->len, ==, without->len);
    g_assert_true(memcmp(with->data, without->data, with->len) == 0);
    for (guint i = 0; i < with->len / sizeof(float); i++)
        g_assert_true(isfinite(((const float *)(const void *)with->data)[i]));
    g_assert_cmpint(graphs, ==, 2 * (g.steps - (second ? 4 : 2)));
    g_byte_array_unref(with);
    g_byte_array_unref(without);
}

static ModelConfig config_of(const Kind *kind)
{
    ModelConfig config = tiny_config(&tiny_gated);
    if (kind)
        kind->shape(&config);
    config.n_enc = MIN(config.n_enc, 1);
    config.max_positions = MAX(config.max_positions, 2 * LONGEST);
    config.rotary_base = 100;
    return config;
}

static void decoding_gives_the_same_bits(const void *data)
{
    const ModelConfig config = config_of(data);
    check_decoding(&config, in_bf16(), data == NULL, FAKE_SHUFFLED);
}

static void decoding_gives_the_same_bits_in_f32(void)
{
    const ModelConfig config = config_of(NULL);
    for (int order = 0; order < FAKE_ORDERS; order++)
        check_decoding(&config, precision_uniform(DT_F32), false, (FakeOrder)order);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/repeat/the_third_call_is_captured", the_third_call_is_captured);
    g_test_add_func("/repeat/other_parts_are_captured_anew", other_parts_are_captured_anew);
    g_test_add_func("/repeat/a_profile_sees_each_call", a_profile_sees_each_call);
    g_test_add_func("/repeat/without_graphs_all_calls_are_queued", without_graphs_all_calls_are_queued);
    g_test_add_func("/repeat/graphs_go_when_scratch_memory_moves", graphs_go_when_scratch_memory_moves);
    g_test_add_func("/repeat/decoding_gives_the_same_bits/f32", decoding_gives_the_same_bits_in_f32);
    g_test_add_data_func("/repeat/decoding_gives_the_same_bits/t5", NULL, decoding_gives_the_same_bits);
    for (size_t i = 0; i < G_N_ELEMENTS(kinds); i++) {
        ModelConfig config = config_of(&kinds[i]);
        g_autofree char *path = g_strdup_printf("/repeat/decoding_gives_the_same_bits/%s", kinds[i].name);
        if (config.n_dec > 0)
            g_test_add_data_func(path, &kinds[i], decoding_gives_the_same_bits);
    }
    return g_test_run();
}
