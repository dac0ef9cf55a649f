/* A checkpoint that several ranks wrote is loaded bit by bit by any other number of ranks, at any level of ZeRO. */
#include "base/file.h"
#include "data/data_test.h"
#include "run/checkpoint/format.h"
#include "run/tiny_model.h"

#include "run/checkpoint/checkpoint.h"

#include <string.h>

static const ModelConfig tiny = TINY_MODEL(.n_dec = 3, .ffn = 20);

/* What the ranks do: save, or load and compare. */
typedef struct Work {
    const char *folder;
    OptimConfig optim;
    Precision precision;
    ZeroLevel level;
    bool saves;
} Work;

/* Element i of a tensor: some number that bf16 has not. */
static float number(const char *name, int64_t i)
{
    return 1 + (float)((g_str_hash(name) + 7919 * (guint)i) % 100003) / 100003;
}

static float *numbers(const StoredTensor *stored, const Box *box)
{
    int64_t cols = MAX(stored->cols, 1), first = box->start[0] * cols, n = box->shape[0] * cols;
    float *values = g_new(float, (gsize)n);
    for (int64_t i = 0; i < n; i++)
        values[i] = number(stored->name, first + i);
    return values;
}

static void fill(GArray *tensors)
{
    for (guint i = 0; i < tensors->len; i++) {
        const StoredTensor *stored = &g_array_index(tensors, StoredTensor, i);
        const Box all = { { 0, 0 }, { stored->rows, MAX(stored->cols, 1) } };
        g_autofree float *values = numbers(stored, &all);
        stored_write(stored, &all, values);
    }
}

static void compare(GArray *tensors)
{
    for (guint i = 0; i < tensors->len; i++) {
        const StoredTensor *stored = &g_array_index(tensors, StoredTensor, i);
        size_t bytes = (size_t)(stored->part.shape[0] * stored->part.shape[1]) * sizeof(float);
        g_autofree float *want = numbers(stored, &stored->part), *is = g_malloc0(bytes);
        stored_read(stored, 0, stored->part.shape[0], is);
        if (bytes > 0 && memcmp(is, want, bytes) != 0)
            g_error("%s is not what was saved", stored->name);
    }
}

static void run_rank(Comm *comm, void *context)
{
    const Work *work = context;
    GError *error = NULL;
    Device *dev = device_open_cpu(1, work->precision);
    const Sharding shards = { .ranks = comm, .rank = comm_rank(comm), .size = comm_size(comm), .level = work->level };
    Model *model = model_open_stages(dev, &tiny, stage_whole(&tiny), true, NULL, &shards, NULL, &error);
    g_assert_no_error(error);
    Optimizer *optimizer = optimizer_open(model_params(model), &work->optim, &error);
    g_autoptr(GArray) tensors = stored_tensors(model_params(model), optimizer, NULL, comm_rank(comm));
    TrainState state = { .steps = work->saves ? 5 : 0, .updates = work->saves ? 4 : 0, .best_step = -1 };
    const Checkpoint checkpoint = {
        .model = &tiny, .ranks = comm, .params = model_params(model), .optimizer = optimizer, .state = &state
    };
    if (work->saves)
        fill(tensors);
    bool done = work->saves ? checkpoint_save(work->folder, &checkpoint, &error)
                            : checkpoint_load(work->folder, &checkpoint, &error);
    g_assert_no_error(error);
    g_assert_true(done);
    if (!work->saves)
        compare(tensors);
    g_assert_cmpint(state.steps, ==, 5);
    g_assert_cmpint(state.updates, ==, 4);
    optimizer_close(optimizer);
    model_close(model);
    device_close(dev);
}

static void any_ranks_load_what_others_saved(const void *data)
{
    const OptimKind kind = (OptimKind)GPOINTER_TO_INT(data);
    char *root = folder_new();
    g_autofree char *folder = g_build_filename(root, "checkpoint", NULL);
    Precision mixed = precision_uniform(DT_F32);
    mixed.compute = DT_BF16;
    Work work = { .folder = folder, .optim = TINY_OPTIM((int)kind) };
    for (int ranks = 1; ranks <= 4; ranks++)
        for (int loaded = 1; loaded <= 4; loaded++) {
            work.saves = true;
            work.level = (ZeroLevel)((ranks + loaded) % 4);
            work.precision = ranks % 2 ? mixed : precision_uniform(DT_F32);
            comm_run_threads(ranks, 20, run_rank, &work);
            work.saves = false;
            work.level = (ZeroLevel)(loaded % 4);
            work.precision = loaded % 3 ? mixed : precision_uniform(DT_F32);
            comm_run_threads(loaded, 20, run_rank, &work);
        }
    folder_remove(root);
}

/* Rank 1 takes part in a save up to where its files are written, and is lost then. Without its list of files there must
 * be no checkpoint, which would lack its parts. */
static void lose_rank_1(Comm *comm, void *context)
{
    const Work *work = context;
    g_autoptr(GError) error = NULL;
    char own[4096] = "", all[2 * sizeof own];
    if (comm_rank(comm) == 1) {
        comm_agree(comm, true, NULL);
        comm_share(comm, all, own, sizeof own);
        comm_agree(comm, true, NULL);
        comm_abort(comm, "rank 1 is lost");
        return;
    }
    Device *dev = device_open_cpu(1, precision_uniform(DT_F32));
    const Sharding shards = { .ranks = comm, .rank = 0, .size = 2, .level = ZERO_NONE };
    Model *model = model_open_stages(dev, &tiny, stage_whole(&tiny), true, NULL, &shards, NULL, &error);
    g_assert_no_error(error);
    TrainState state = { .best_step = -1 };
    const Checkpoint checkpoint = { .model = &tiny, .ranks = comm, .params = model_params(model), .state = &state };
    g_assert_false(checkpoint_save(work->folder, &checkpoint, &error));
    g_assert_false(g_file_test(work->folder, G_FILE_TEST_EXISTS));
    model_close(model);
    device_close(dev);
}

static void no_checkpoint_without_a_lost_rank(void)
{
    char *root = folder_new();
    g_autofree char *folder = g_build_filename(root, "checkpoint", NULL);
    Work work = { .folder = folder };
    comm_run_threads(2, 20, lose_rank_1, &work);
    folder_remove(root);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_data_func("/checkpoint_ranks/any_ranks_load_what_others_saved/adamw", GINT_TO_POINTER(OPTIM_ADAMW),
                         any_ranks_load_what_others_saved);
    g_test_add_data_func("/checkpoint_ranks/any_ranks_load_what_others_saved/adafactor",
                         GINT_TO_POINTER(OPTIM_ADAFACTOR), any_ranks_load_what_others_saved);
    g_test_add_func("/checkpoint_ranks/no_checkpoint_without_a_lost_rank", no_checkpoint_without_a_lost_rank);
    return g_test_run();
}
