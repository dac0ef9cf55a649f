/* A checkpoint that passes from layout to layout of data-parallel, tensor-parallel and pipeline ranks comes back with
 * the bytes that it had: weights, masters, states of the optimizer and counters. */
#include "base/file.h"
#include "comm/mesh.h"
#include "data/data_test.h"
#include "model/pipeline/pipeline.h"
#include "run/checkpoint/checkpoint.h"
#include "run/checkpoint/format.h"
#include "run/tiny_model.h"

#include <string.h>

/* Every way in which ranks divide a tensor: a tied embedding with more rows than tokens of equal parts, key/value heads
 * that several ranks share, biases that all ranks have. */
static const ModelConfig tiny = { .preset = (char *)"",
                                  .n_enc = 2,
                                  .n_dec = 2,
                                  .width = 8,
                                  .heads = 4,
                                  .kv_heads = 2,
                                  .head_dim = 4,
                                  .ffn = 32,
                                  .vocab = 131,
                                  .vocab_multiple = 1,
                                  .activation = ACT_GELU_TANH,
                                  .gated = true,
                                  .bias = true,
                                  .tie_embeddings = true,
                                  .first_norm = true,
                                  .final_norm = true,
                                  .norm_eps = 1e-6,
                                  .max_positions = 512,
                                  .sparsity = { .block = 16, .window = 3, .n_random = -1, .rotations = 1 },
                                  .rotary_base = 10000,
                                  .rel_buckets = 32,
                                  .rel_max_distance = 128 };

typedef struct Layout {
    int data, tensor, pipeline;
    ZeroLevel level;
    bool mixed;     /* weights in bf16, masters in f32 */
    int interleave; /* stages per rank */
} Layout;

/* Each is read by the next one. Those of one rank have the same bytes. */
static const Layout chain[] = {
    { 1, 1, 1, ZERO_NONE, false, 1 },    { 2, 2, 2, ZERO_STATES, true, 1 },    { 1, 1, 1, ZERO_NONE, true, 1 },
    { 1, 4, 1, ZERO_NONE, true, 1 },     { 1, 1, 4, ZERO_NONE, false, 1 },     { 1, 1, 1, ZERO_NONE, false, 1 },
    { 2, 2, 2, ZERO_WEIGHTS, false, 1 }, { 2, 1, 4, ZERO_GRADIENTS, true, 1 }, { 1, 4, 2, ZERO_NONE, true, 1 },
    { 1, 1, 1, ZERO_NONE, true, 1 },     { 1, 1, 2, ZERO_NONE, true, 1 },      { 1, 1, 2, ZERO_NONE, true, 2 },
    { 2, 2, 2, ZERO_STATES, false, 2 },  { 1, 1, 2, ZERO_NONE, false, 1 },     { 1, 1, 1, ZERO_NONE, false, 1 }
};

typedef struct Step {
    const Layout *layout;
    OptimConfig optim;
    char *from, *to; /* folders; from NULL means that the numbers are made here */
} Step;

/* Numbers that bf16 has not. */
static void fill(GArray *tensors)
{
    for (guint i = 0; i < tensors->len; i++) {
        const StoredTensor *stored = &g_array_index(tensors, StoredTensor, i);
        const Box all = { { 0, 0 }, { stored->rows, MAX(stored->cols, 1) } };
        g_autofree float *values = g_new(float, (gsize)stored_count(stored));
        for (int64_t j = 0; j < stored_count(stored); j++)
            values[j] = 1 + (float)((g_str_hash(stored->name) + 7919 * (guint)j) % 100003) / 100003;
        stored_write(stored, &all, values);
    }
}

static Model *open_part(Device *dev, const Mesh *mesh, const Layout *layout, int copies)
{
    GError *error = NULL;
    const Sharding shards = { .ranks = mesh->data,
                              .rank = comm_rank(mesh->data),
                              .size = layout->data,
                              .level = layout->level,
                              .pipeline = layout->pipeline > 1 ? mesh->pipeline : NULL,
                              .tp = { .ranks = mesh->tensor,
                                      .rank = comm_rank(mesh->tensor),
                                      .size = layout->tensor,
                                      .n_copies = copies,
                                      .copies = mesh->copies } };
    const StageTokens tokens = { .encoder = 8, .decoder = 8, .targets = 8 };
    g_autofree int *ends = pipeline_divide(&tiny, layout->pipeline, layout->interleave, &tokens);
    const Pipeline pipeline = { .mesh = mesh,
                                .rank = comm_rank(mesh->pipeline),
                                .size = layout->pipeline,
                                .interleave = layout->interleave,
                                .ends = ends };
    Model *model =
        model_open_stages(dev, &tiny, pipeline_held(&pipeline, pipeline.rank), true, NULL, &shards, &pipeline, &error);
    g_assert_no_error(error);
    return model;
}

static void run_rank(Comm *world, void *context)
{
    const Step *step = context;
    const Layout *layout = step->layout;
    const int copies = MAX(layout->tensor / (int)tiny.kv_heads, 1);
    GError *error = NULL;
    Mesh mesh;
    Precision precision = precision_uniform(DT_F32);
    if (layout->mixed)
        precision.compute = DT_BF16;
    const MeshShape shape = { .tensor = layout->tensor,
                              .context = 1,
                              .pipeline = layout->pipeline,
                              .copies = copies,
                              .ring = layout->interleave > 1 };
    g_assert_true(mesh_open(&mesh, world, &shape, &error));
    Device *dev = device_open_cpu(1, precision);
    Model *model = open_part(dev, &mesh, layout, copies);
    Optimizer *optimizer = optimizer_open(model_params(model), &step->optim, &error);
    g_autoptr(GArray) tensors = stored_tensors(model_params(model), optimizer, NULL, comm_rank(world));
    TrainState state = { .best_step = -1 };
    const Checkpoint checkpoint = {
        .model = &tiny, .ranks = world, .params = model_params(model), .optimizer = optimizer, .state = &state
    };
    if (step->from == NULL) {
        fill(tensors);
        state = (TrainState){ .steps = 9,
                              .updates = 7,
                              .samples = 72,
                              .tokens = 4001,
                              .best_value = 1.25,
                              .best_step = 6,
                              .stale = 2,
                              .drops = 1,
                              .skipped = 1 };
    } else
        g_assert_true(checkpoint_load(step->from, &checkpoint, &error));
    g_assert_no_error(error);
    g_assert_true(checkpoint_save(step->to, &checkpoint, &error));
    g_assert_no_error(error);
    optimizer_close(optimizer);
    model_close(model);
    device_close(dev);
    mesh_close(&mesh);
}

static void assert_equal_folders(const char *a, const char *b)
{
    GDir *dir = g_dir_open(a, 0, NULL);
    int n = 0;
    for (const char *name; (name = g_dir_read_name(dir)); n++) {
        g_autofree char *one = g_build_filename(a, name, NULL), *two = g_build_filename(b, name, NULL);
        g_autofree char *x = NULL, *y = NULL;
        gsize x_bytes = 0, y_bytes = 0;
        g_assert_true(g_file_get_contents(one, &x, &x_bytes, NULL) && g_file_get_contents(two, &y, &y_bytes, NULL));
        if (x_bytes != y_bytes || memcmp(x, y, x_bytes) != 0)
            g_error("%s is not %s", two, one);
    }
    g_assert_cmpint(n, ==, 3); /* weights, optimizer, state.json */
    g_dir_close(dir);
}

static void bytes_survive_a_chain_of_layouts(const void *data)
{
    char *root = folder_new();
    g_autofree char *first = g_build_filename(root, "0", NULL);
    Step step = { .optim = TINY_OPTIM(GPOINTER_TO_INT(data)) };
    for (size_t i = 0; i < G_N_ELEMENTS(chain); i++) {
        const Layout *layout = step.layout = &chain[i];
        const int ranks = layout->data * layout->tensor * layout->pipeline;
        step.to = g_strdup_printf("%s/%zu", root, i);
        comm_run_threads(ranks, 60, run_rank, &step);
        if (i > 0 && ranks == 1)
            assert_equal_folders(first, step.to);
        g_free(step.from);
        step.from = step.to;
    }
    g_free(step.from);
    folder_remove(root);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_data_func("/checkpoint_chain/adamw", GINT_TO_POINTER(OPTIM_ADAMW), bytes_survive_a_chain_of_layouts);
    g_test_add_data_func("/checkpoint_chain/adafactor", GINT_TO_POINTER(OPTIM_ADAFACTOR),
                         bytes_survive_a_chain_of_layouts);
    return g_test_run();
}
