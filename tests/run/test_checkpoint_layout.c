/* However ranks cut tensors into boxes and flat ranges, a checkpoint of theirs is read as one of whole tensors. */
#include "base/file.h"
#include "format/safetensors.h"
#include "run/checkpoint/format.h"
#include "run/tiny_model.h"

#include <string.h>

static const ModelConfig tiny = TINY_MODEL(.n_dec = 1, .ffn = 16);
static const OptimConfig adafactor = {
    .name = OPTIM_ADAFACTOR, .beta1 = 0.9, .beta2 = -1, .eps = -1, .factored = true, .min_dim_factored = 16
};

/* A model, its optimizer and what a checkpoint holds of them. */
typedef struct Run {
    Device *dev;
    Model *model;
    Optimizer *optimizer;
    GArray *tensors; /* of StoredTensor */
} Run;

static Run run_open(uint64_t seed)
{
    Run run = { .dev = device_open_cpu(1, precision_uniform(DT_F32)) };
    run.model = model_open(run.dev, &tiny, true, NULL);
    run.optimizer = optimizer_open(model_params(run.model), &adafactor, NULL);
    params_init(model_params(run.model), seed);
    run.tensors = stored_tensors(model_params(run.model), run.optimizer, NULL, 0);
    return run;
}

static void run_close(Run *run)
{
    g_array_unref(run->tensors);
    optimizer_close(run->optimizer);
    model_close(run->model);
    device_close(run->dev);
}

static float *values_of(const StoredTensor *stored)
{
    float *values = g_new(float, (gsize)stored_count(stored));
    stored_read(stored, 0, stored->part.shape[0], values);
    return values;
}

/* Numbers of their own for every state of the optimizer. */
static void fill_states(Run *run)
{
    for (guint i = 0; i < run->tensors->len; i++) {
        const StoredTensor *stored = &g_array_index(run->tensors, StoredTensor, i);
        g_autofree float *values = values_of(stored);
        const Box whole = { { 0, 0 }, { stored->rows, MAX(stored->cols, 1) } };
        for (int64_t j = 0; stored->optimizer && j < stored_count(stored); j++)
            values[j] = (float)(1000 * (int)i + j);
        stored_write(stored, &whole, values);
    }
}

/* What one of `ranks` holds of a tensor: elements [first, first + n) of a box. */
typedef struct Share {
    Box box;
    int64_t first, n;
    bool flat;
} Share;

typedef Share (*ShareFn)(int64_t rows, int64_t cols, int rank, int ranks);

static Share by_rows(int64_t rows, int64_t cols, int rank, int ranks)
{
    int64_t from = rows * rank / ranks, to = rows * (rank + 1) / ranks;
    return (Share){ .box = { { from, 0 }, { to - from, cols } }, .n = (to - from) * cols };
}

static Share by_columns(int64_t rows, int64_t cols, int rank, int ranks)
{
    int64_t from = cols * rank / ranks, to = cols * (rank + 1) / ranks;
    if (cols == 1)
        return by_rows(rows, cols, rank, ranks);
    return (Share){ .box = { { 0, from }, { rows, to - from } }, .n = rows * (to - from) };
}

static Share by_elements(int64_t rows, int64_t cols, int rank, int ranks)
{
    int64_t from = rows * cols * rank / ranks, to = rows * cols * (rank + 1) / ranks;
    return (Share){ .box = { { 0, 0 }, { rows, cols } }, .first = from, .n = to - from, .flat = true };
}

/* Two halves of the columns, each cut at an odd element. */
static Share by_both(int64_t rows, int64_t cols, int rank, int ranks)
{
    Share share = by_columns(rows, cols, rank / 2, ranks / 2);
    int64_t cut = share.n / 3 | 1;
    share.flat = true;
    share.first = rank % 2 ? cut : 0;
    share.n = rank % 2 ? share.n - cut : cut;
    return share;
}

static json_t *pair(const int64_t *numbers, int n)
{
    json_t *array = json_array();
    for (int i = 0; i < n; i++)
        json_array_append_new(array, json_integer(numbers[i]));
    return array;
}

/* A rank's share of one tensor, into its file. `kept` owns the values until the file is written. */
static void add_share(SafeWriter *writer, json_t *boxes, GPtrArray *kept, const StoredTensor *stored,
                      const Share *share)
{
    g_autofree float *whole = values_of(stored);
    int64_t cols = MAX(stored->cols, 1), width = share->box.shape[1], shape[2] = { share->n, 0 };
    float *values = g_new(float, (gsize)share->n);
    int rank = stored->cols ? 2 : 1;
    if (share->n == 0)
        return g_free(values);
    for (int64_t i = 0; i < share->n; i++) {
        int64_t row = (share->first + i) / width, col = (share->first + i) % width;
        values[i] = whole[(share->box.start[0] + row) * cols + share->box.start[1] + col];
    }
    g_ptr_array_add(kept, values);
    json_t *entry =
        json_pack("{s:o, s:o}", "start", pair(share->box.start, rank), "shape", pair(share->box.shape, rank));
    if (share->flat)
        json_object_set_new(entry, "flat", pair((const int64_t[]){ share->first, share->n }, 2));
    json_object_set_new(boxes, stored->name, entry);
    safetensors_writer_add(writer, stored->name, "F32", share->flat ? 1 : rank, share->flat ? shape : share->box.shape,
                           values);
}

static void write_rank(const Run *run, const char *folder, json_t *files, ShareFn share_of, int rank, int ranks)
{
    g_autofree char *name = g_strdup_printf("rank-%d.safetensors", rank);
    g_autofree char *path = g_build_filename(folder, name, NULL);
    g_autoptr(GPtrArray) kept = g_ptr_array_new_with_free_func(g_free);
    SafeWriter *writer = safetensors_writer_new();
    json_t *boxes = json_object();
    for (guint i = 0; i < run->tensors->len; i++) {
        const StoredTensor *stored = &g_array_index(run->tensors, StoredTensor, i);
        const Share share = share_of(stored->rows, MAX(stored->cols, 1), rank, ranks);
        add_share(writer, boxes, kept, stored, &share);
    }
    g_assert_true(safetensors_writer_write(writer, path, NULL));
    char hex[17];
    int64_t bytes;
    checkpoint_hex(safetensors_writer_hash(writer, &bytes), hex);
    safetensors_writer_free(writer);
    json_object_set_new(files, name,
                        json_pack("{s:I, s:s, s:o}", "bytes", (json_int_t)bytes, "xxh3", hex, "boxes", boxes));
}

/* Saves the run as ranks would have; returns state.json. */
static json_t *save_shares(const Run *run, const char *folder, ShareFn share_of, int ranks)
{
    const Checkpoint plain = { .model = &tiny, .params = model_params(run->model) };
    g_autofree char *path = g_build_filename(folder, "state.json", NULL);
    g_assert_true(checkpoint_save(folder, &plain, NULL));
    json_t *root = json_load_file(path, 0, NULL), *files = json_object();
    for (int rank = 0; rank < ranks; rank++)
        write_rank(run, folder, files, share_of, rank, ranks);
    json_object_set_new(root, "files", files);
    checkpoint_seal(root);
    json_dump_file(root, path, 0);
    return root;
}

static const struct {
    const char *name;
    ShareFn share;
    int ranks;
} layouts[] = { { "rows", by_rows, 3 },
                { "columns", by_columns, 3 },
                { "flat_ranges", by_elements, 5 },
                { "flat_ranges_of_boxes", by_both, 4 } };

static void layout_is_read(gconstpointer data)
{
    size_t l = GPOINTER_TO_UINT(data);
    GError *error = NULL;
    g_autofree char *dir = g_dir_make_tmp("loam-layout-XXXXXX", NULL);
    g_autofree char *folder = g_build_filename(dir, "step-00000001", NULL);
    g_autofree char *path = g_build_filename(folder, "state.json", NULL);
    Run run = run_open(3), other = run_open(4);
    const Checkpoint to = { .model = &tiny, .params = model_params(other.model), .optimizer = other.optimizer };
    fill_states(&run);
    json_t *root = save_shares(&run, folder, layouts[l].share, layouts[l].ranks);
    checkpoint_load(folder, &to, &error);
    g_assert_no_error(error);
    for (guint i = 0; i < run.tensors->len; i++) {
        const StoredTensor *stored = &g_array_index(run.tensors, StoredTensor, i);
        g_autofree float *a = values_of(stored), *b = values_of(&g_array_index(other.tensors, StoredTensor, i));
        if (memcmp(a, b, (gsize)stored_count(stored) * sizeof *a) != 0)
            g_error("%s has other values", stored->name);
    }
    json_object_del(json_object_get(root, "files"), "rank-1.safetensors");
    checkpoint_seal(root);
    json_dump_file(root, path, 0);
    g_assert_false(checkpoint_load(folder, &to, &error));
    g_assert_nonnull(strstr(error->message, "incomplete"));
    g_clear_error(&error);
    json_decref(root);
    run_close(&run);
    run_close(&other);
    io_remove_tree(dir, NULL);
}

/* Ranges that do not lie in their box, or have other lengths than the file. */
static void wrong_ranges_are_refused(void)
{
    static const int64_t wrong[][2] = { { -1, 10 }, { 0, 1 << 20 }, { 1020, 10 }, { 0, 9 } };
    g_autofree char *dir = g_dir_make_tmp("loam-layout-XXXXXX", NULL);
    g_autofree char *folder = g_build_filename(dir, "step-00000001", NULL);
    g_autofree char *path = g_build_filename(folder, "state.json", NULL);
    Run run = run_open(3);
    const Checkpoint to = { .model = &tiny, .params = model_params(run.model) };
    json_t *root = save_shares(&run, folder, by_elements, 2);
    json_t *file = json_object_get(json_object_get(root, "files"), "rank-0.safetensors");
    json_t *entry = json_object_get(json_object_get(file, "boxes"), "shared");
    for (size_t i = 0; i < G_N_ELEMENTS(wrong); i++) {
        g_autoptr(GError) error = NULL;
        json_object_set_new(entry, "flat", pair(wrong[i], 2));
        checkpoint_seal(root);
        json_dump_file(root, path, 0);
        g_assert_false(checkpoint_load(folder, &to, &error));
        g_assert_nonnull(strstr(error->message, "its box does not fit"));
    }
    json_decref(root);
    run_close(&run);
    io_remove_tree(dir, NULL);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    for (guint i = 0; i < G_N_ELEMENTS(layouts); i++) {
        g_autofree char *path = g_strdup_printf("/checkpoint_layout/%s_are_read", layouts[i].name);
        g_test_add_data_func(path, GUINT_TO_POINTER(i), layout_is_read);
    }
    g_test_add_func("/checkpoint_layout/wrong_ranges_are_refused", wrong_ranges_are_refused);
    return g_test_run();
}
