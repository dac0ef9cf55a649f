/* Vectors of texts against what transformers' bare encoders make of them, stored in tests/parity. */
#include "eval/embedder.h"
#include "format/safetensors.h"
#include "model/hf/hf.h"

#include <jansson.h>
#include <math.h>
#include <string.h>

#define FIXTURES  LOAM_SOURCE_DIR "/tests/parity/"
#define MAX_IDS   256
#define TOLERANCE 1e-5 /* of the largest value */

typedef struct Fixture {
    Device *dev;
    Model *model;
    TensorFile *encoded;
    json_t *root;
    const json_t *samples;
} Fixture;

static void fixture_open(Fixture *f, const char *name)
{
    GError *error = NULL;
    g_autofree char *folder = g_build_filename(FIXTURES, name, NULL);
    g_autofree char *batch = g_build_filename(folder, "batch.json", NULL);
    g_autofree char *encoded = g_build_filename(folder, "encoded.safetensors", NULL);
    f->dev = device_open_cpu(2);
    f->model = hf_import(f->dev, folder, false, &error);
    g_assert_no_error(error);
    f->encoded = safetensors_open(encoded, &error);
    g_assert_no_error(error);
    f->root = json_load_file(batch, 0, NULL);
    f->samples = json_object_get(f->root, "samples");
    g_assert_cmpuint(json_array_size(f->samples), >, 0);
}

static void fixture_close(Fixture *f)
{
    json_decref(f->root);
    tensor_file_close(f->encoded);
    model_close(f->model);
    device_close(f->dev);
}

static int64_t sample_ids(const Fixture *f, size_t i, int32_t *ids)
{
    const json_t *array = json_object_get(json_array_get(f->samples, i), "input_ids");
    size_t n = json_array_size(array);
    g_assert_cmpuint(n, <=, MAX_IDS);
    for (size_t k = 0; k < n; k++)
        ids[k] = (int32_t)json_integer_value(json_array_get(array, k));
    return (int64_t)n;
}

static int64_t longest(const Fixture *f)
{
    int32_t ids[MAX_IDS];
    int64_t most = 0;
    for (size_t i = 0; i < json_array_size(f->samples); i++)
        most = MAX(most, sample_ids(f, i, ids));
    return most;
}

/* Appends what a batch gives. */
static void run(const Fixture *f, Embedder *embedder, GArray *out, int64_t rows)
{
    if (rows > 0)
        g_array_append_vals(out, embedder_run(embedder), (guint)(rows * model_config(f->model)->width));
}

/* The vectors of all samples, in batches that hold `rows` of the longest. */
static GArray *embed(const Fixture *f, Pooling pooling, int64_t rows)
{
    GError *error = NULL;
    GArray *out = g_array_new(false, false, sizeof(float));
    Embedder *embedder = embedder_open(f->model, pooling, longest(f), rows, &error);
    g_assert_no_error(error);
    int64_t pending = 0;
    for (size_t i = 0; i < json_array_size(f->samples); i++) {
        int32_t ids[MAX_IDS];
        int64_t n = sample_ids(f, i, ids);
        if (!embedder_add(embedder, ids, n)) {
            run(f, embedder, out, pending);
            pending = 0;
            g_assert_true(embedder_add(embedder, ids, n));
        }
        pending += pooling == POOLING_NONE ? n : 1;
    }
    run(f, embedder, out, pending);
    embedder_close(embedder);
    return out;
}

static void assert_near(const GArray *ours, const float *truth, gsize n)
{
    float away = 0, largest = 0;
    g_assert_cmpuint(ours->len, ==, n);
    for (gsize i = 0; i < n; i++) {
        away = fmaxf(away, fabsf(g_array_index(ours, float, i) - truth[i]));
        largest = fmaxf(largest, fabsf(truth[i]));
    }
    g_test_message("%.1e from the truth", (double)(away / largest));
    g_assert_cmpfloat((double)(away / largest), <, TOLERANCE);
}

static float *stored(const Fixture *f, const char *name, gsize *n)
{
    GError *error = NULL;
    const FileTensor *tensor = tensor_file_find(f->encoded, name);
    if (tensor == NULL)
        return NULL;
    *n = tensor->bytes / sizeof(float);
    float *values = g_new(float, *n);
    file_tensor_read_f32(tensor, 0, (int64_t)*n, values, &error);
    g_assert_no_error(error);
    return values;
}

static void equals_transformers(gconstpointer name)
{
    Fixture f;
    gsize n, n_pooled;
    fixture_open(&f, name);
    g_autofree float *hidden = stored(&f, "hidden", &n), *pooled = stored(&f, "pooled", &n_pooled);
    for (int64_t rows = 1; rows <= 4; rows++) {
        g_autoptr(GArray) tokens = embed(&f, POOLING_NONE, rows);
        assert_near(tokens, hidden, n);
    }
    if (pooled) {
        g_autoptr(GArray) ours = embed(&f, POOLING_POOLER, 2);
        assert_near(ours, pooled, n_pooled);
    }
    fixture_close(&f);
}

/* The mean, and the first, of each text's vectors. */
static void pools_what_it_says(void)
{
    Fixture f;
    gsize n;
    int32_t ids[MAX_IDS];
    fixture_open(&f, "bert");
    g_autofree float *hidden = stored(&f, "hidden", &n);
    gsize width = (gsize)model_config(f.model)->width, n_samples = json_array_size(f.samples);
    g_autofree float *mean = g_new0(float, n_samples *width), *first = g_new0(float, n_samples *width);
    const float *row = hidden;
    for (size_t i = 0; i < n_samples; i++) {
        int64_t length = sample_ids(&f, i, ids);
        memcpy(first + i * width, row, sizeof *row * width);
        for (int64_t t = 0; t < length; t++, row += width)
            for (gsize c = 0; c < width; c++)
                mean[i * width + c] += row[c] / (float)length;
    }
    g_autoptr(GArray) means = embed(&f, POOLING_MEAN, 2), firsts = embed(&f, POOLING_FIRST, 2);
    assert_near(means, mean, n_samples * width);
    assert_near(firsts, first, n_samples * width);
    fixture_close(&f);
}

static void refuses(const char *name, Pooling pooling, int64_t max_tokens, int64_t rows, const char *words)
{
    g_autoptr(GError) error = NULL;
    g_autofree char *folder = g_build_filename(FIXTURES, name, NULL);
    Device *dev = device_open_cpu(1);
    Model *model = hf_import(dev, folder, false, &error);
    g_assert_no_error(error);
    g_assert_null(embedder_open(model, pooling, max_tokens, rows, &error));
    g_assert_error(error, LOAM_ERROR, LOAM_ERROR_USER);
    if (!strstr(error->message, words))
        g_error("'%s' does not say '%s'", error->message, words);
    model_close(model);
    device_close(dev);
}

static void says_what_it_cannot(void)
{
    refuses("gpt2", POOLING_MEAN, 8, 1, "no encoder");
    refuses("roberta", POOLING_POOLER, 8, 1, "no pooler");
    refuses("bert", POOLING_MEAN, 41, 1, "model.max_positions is 40");
    refuses("modernbert", POOLING_MEAN, 1 << 20, 2, "at most 1048576 tokens");
}

int main(int argc, char **argv)
{
    static const char *const names[] = { "bert", "roberta", "modernbert", "t5-v1.0", "t5-v1.1" };
    g_test_init(&argc, &argv, NULL);
    for (size_t i = 0; i < G_N_ELEMENTS(names); i++) {
        g_autofree char *path = g_strdup_printf("/embed/%s_equals_transformers", names[i]);
        g_test_add_data_func(path, names[i], equals_transformers);
    }
    g_test_add_func("/embed/pools_what_it_says", pools_what_it_says);
    g_test_add_func("/embed/says_what_it_cannot", says_what_it_cannot);
    return g_test_run();
}
