/* A head computes its logits a chunk of rows at a time, and ranks divide a vocabulary; finite differences of it are in
 * test_layers.c. */
#include "nn/layers.h"

#include <glib.h>
#include <math.h>
#include <string.h>

/* 48 rows over a vocabulary that allows 32 a chunk: the same as 12 rows at a time, and of them only those that
 * have a weight. */
static void head_chunks_add_up(void)
{
    enum { ROWS = 48, PART = 12, CLASSES = 400000, CHANNELS = 2, SIZE = 140 << 20 };
    Device *dev = device_open_reference();
    Arena arena, scratch, save;
    Philox rng = philox_open(philox_key(6, PHILOX_INIT, 0), 0);
    const XentSpec xent = { .scale = 0.01f, .grad = true };
    double sums[XENT_STATS], part_sums[XENT_STATS], weights[ROWS], ones[PART], total = 0;
    int32_t targets[ROWS], all[ROWS];

    arena_init(&arena, "vars", device_alloc(dev, SIZE), SIZE);
    arena_init(&scratch, "scratch", device_alloc(dev, SIZE), SIZE);
    arena_init(&save, "save", NULL, 0); /* nothing is kept */
    Ctx cx = { .dev = dev, .scratch = &scratch, .save = &save, .precision = precision_uniform(DT_F64) };
    Tensor x = arena_tensor(&arena, DT_F64, ROWS, CHANNELS, "x"), dx[2], dw[2];
    Tensor w = arena_tensor(&arena, DT_F64, CLASSES, CHANNELS, "w");
    for (int64_t i = 0; i < ROWS * CHANNELS; i++)
        ((double *)x.p)[i] = philox_normal(&rng);
    for (int64_t i = 0; i < CLASSES * CHANNELS; i++)
        ((double *)w.p)[i] = philox_normal(&rng);
    for (int i = 0; i < ROWS; i++) {
        targets[i] = (int32_t)philox_below(&rng, CLASSES);
        weights[i] = i % 7 != 0;
        all[i] = i;
    }
    for (int i = 0; i < 2; i++) {
        dx[i] = arena_tensor(&arena, DT_F64, ROWS, CHANNELS, "dx");
        op_fill(dev, dx[i], 0);
        dw[i] = arena_tensor(&arena, DT_F64, CLASSES, CHANNELS, "dw");
    }
    HeadW whole = { .w = w, .dw = dw[0], .scale = 1 }, parts = { .w = w, .dw = dw[1], .scale = 1 };
    const HeadRows every = { tensor_vector(all, DT_I32, ROWS), tensor_vector(targets, DT_I32, ROWS),
                             tensor_vector(weights, DT_F64, ROWS) };
    head_loss(&cx, tensor_vector(sums, DT_F64, XENT_STATS), dx[0], x, &whole, &every, &xent);
    for (int64_t row = 0; row < ROWS; row += PART) {
        parts.beta = row == 0 ? 0 : 1;
        int32_t rows[PART], ids[PART];
        int64_t n = 0;
        for (int32_t i = 0; i < PART; i++)
            if (weights[row + i] > 0) {
                rows[n] = i;
                ids[n] = targets[row + i];
                ones[n++] = 1;
            }
        const HeadRows part = { tensor_vector(rows, DT_I32, n), tensor_vector(ids, DT_I32, n),
                                tensor_vector(ones, DT_F64, n) };
        head_loss(&cx, tensor_vector(part_sums, DT_F64, XENT_STATS), tensor_slice_rows(dx[1], row, PART),
                  tensor_slice_rows(x, row, PART), &parts, &part, &xent);
        total += part_sums[XENT_LOSS];
    }
    g_assert_cmpfloat_with_epsilon(sums[XENT_LOSS], total, 1e-9);
    for (int64_t i = 0; i < ROWS * CHANNELS; i++)
        g_assert_cmpfloat_with_epsilon(((double *)dx[0].p)[i], ((double *)dx[1].p)[i], 1e-14);
    for (int64_t i = 0; i < CLASSES * CHANNELS; i++)
        g_assert_cmpfloat_with_epsilon(((double *)dw[0].p)[i], ((double *)dw[1].p)[i], 1e-14);
    device_free(dev, arena.base);
    device_free(dev, scratch.base);
    device_close(dev);
}

/* The memory that is measured for ROWS rows holds the chunks of fewer: 161 rows, of which 160 fit, are two chunks. */
static void memory_of_many_rows_is_enough_for_fewer(void)
{
    enum { ROWS = 161, CLASSES = 200000, CHANNELS = 2 };
    const XentSpec xent = { .scale = 1, .grad = true };
    Device *null = device_open_null(), *cpu = device_open_cpu(2, precision_uniform(DT_F32));
    Arena scratch, save, vars;
    double sums[XENT_STATS];
    for (int pass = 0; pass < 2; pass++) {
        Device *dev = pass ? cpu : null;
        int64_t n = ROWS - pass;
        size_t room = (size_t)(2 * CLASSES * CHANNELS + 8 * ROWS) * sizeof(float), peak = pass ? scratch.peak : 0;
        void *memory = device_alloc(dev, room), *scratch_memory = pass ? device_alloc(dev, peak) : NULL;
        arena_init(&vars, "vars", memory, room);
        arena_init(&scratch, "scratch", scratch_memory, peak);
        arena_init(&save, "save", NULL, 0);
        Ctx cx = { .dev = dev, .scratch = &scratch, .save = &save, .precision = precision_uniform(DT_F32) };
        Tensor x = arena_tensor(&vars, DT_F32, n, CHANNELS, "x"), dx = arena_tensor(&vars, DT_F32, n, CHANNELS, "dx");
        Tensor w = arena_tensor(&vars, DT_F32, CLASSES, CHANNELS, "w"),
               dw = arena_tensor(&vars, DT_F32, CLASSES, CHANNELS, "dw");
        Tensor rows = arena_vector(&vars, DT_I32, n, "rows"), weights = arena_vector(&vars, DT_F32, n, "weights");
        op_fill(dev, x, 0);
        op_fill(dev, dx, 0);
        op_fill(dev, w, 0);
        op_fill(dev, weights, 1);
        op_fill(dev, rows, 0);
        for (int32_t i = 0; pass && i < n; i++)
            ((int32_t *)rows.p)[i] = i;
        const HeadW head = { .w = w, .dw = dw, .scale = 1 };
        const HeadRows every = { rows, rows, weights };
        head_loss(&cx, tensor_vector(sums, DT_F64, XENT_STATS), dx, x, &head, &every, &xent);
        if (pass)
            device_free(dev, memory);
        device_free(dev, scratch_memory);
        device_close(dev);
    }
    g_assert_cmpfloat_with_epsilon(sums[XENT_LOSS], (ROWS - 1) * log(CLASSES), 1e-3);
}

static size_t scratch_of(int64_t classes)
{
    enum { ROWS = 5, CHANNELS = 2 };
    const XentSpec xent = { .scale = 1, .grad = true };
    Device *dev = device_open_null();
    Arena scratch, vars;
    arena_init(&scratch, "scratch", NULL, 0);
    arena_init(&vars, "vars", NULL, 0);
    Ctx cx = { .dev = dev, .scratch = &scratch, .save = &vars, .precision = precision_uniform(DT_F32) };
    Tensor x = arena_tensor(&vars, DT_F32, ROWS, CHANNELS, "x"),
           w = arena_tensor(&vars, DT_F32, classes, CHANNELS, "w");
    const HeadW head = { .w = w, .dw = arena_like(&vars, DT_F32, w, "dw"), .scale = 1 };
    const HeadRows rows = { arena_vector(&vars, DT_I32, ROWS, "rows"), arena_vector(&vars, DT_I32, ROWS, "targets"),
                            arena_vector(&vars, DT_F32, ROWS, "weights") };
    head_loss(&cx, arena_vector(&vars, DT_F64, XENT_STATS, "sums"), arena_like(&vars, DT_F32, x, "dx"), x, &head, &rows,
              &xent);
    device_close(dev);
    return scratch.peak;
}

/* Rows of logits lie whole multiples of 64 numbers apart, which GPUs read faster, and the plan of memory knows it. */
static void rows_of_logits_are_aligned(void)
{
    g_assert_cmpuint(scratch_of(1025), ==, scratch_of(1088));
    g_assert_cmpuint(scratch_of(1025), ==, scratch_of(1024) + (size_t)5 * 64 * sizeof(float));
}

/* Of GPT-2's vocabulary in bf16, 1,312 rows are 128 MiB and 10,656 are 1 GiB. */
static void chunks_are_larger_on_gpus(void)
{
    Precision precision = precision_uniform(DT_BF16);
    g_assert_cmpint(head_chunk_rows(50304, &precision, 13120), ==, 1312);
    precision.large_chunks = true;
    g_assert_cmpint(head_chunk_rows(50304, &precision, 13120), ==, 6560);
    g_assert_cmpint(head_chunk_rows(50304, &precision, 10000), ==, 10000);
    g_assert_cmpint(head_chunk_rows(250112, &precision, 65536), >=, 2048);
}

/* A head over a vocabulary that several ranks divide, as one of them sees it. */
enum { VOCAB = 419431, TARGETS = 160, WIDTH = 2, MOST_RANKS = 2 };
typedef struct Divided {
    int ranks;
    int64_t n_ids; /* as HeadW.n_ids, without gradients; 0 means with gradients */
    double sums[XENT_STATS];
    float dx[TARGETS * WIDTH], values[TARGETS], log_sums[TARGETS];
    int32_t ids[TARGETS];
    float *dw, *db; /* (VOCAB, WIDTH), (VOCAB) */
} Divided;

static Tensor drawn(Arena *arena, int64_t rows, int64_t first, int64_t n, uint32_t seed)
{
    Tensor t = arena_tensor(arena, DT_F32, n, WIDTH, "drawn");
    for (int64_t i = 0; i < n * WIDTH; i++) {
        Philox rng =
            philox_open(philox_key(seed, PHILOX_INIT, 0), (uint64_t)(first * WIDTH + i) % (uint64_t)(rows * WIDTH));
        ((float *)t.p)[i] = (float)philox_normal(&rng);
    }
    return t;
}

static HeadRows divided_rows(Arena *arena, int64_t n_ids, int64_t first, int64_t end)
{
    HeadRows rows = { arena_vector(arena, DT_I32, TARGETS, "rows"), arena_vector(arena, DT_I32, TARGETS, "targets"),
                      arena_vector(arena, DT_F32, TARGETS, "weights") };
    for (int32_t i = 0; i < TARGETS; i++) {
        int32_t target = (int32_t)((int64_t)i * 7919 * 331 % (n_ids > 0 ? n_ids : VOCAB));
        ((int32_t *)rows.rows.p)[i] = i;
        ((int32_t *)rows.targets.p)[i] = target >= first && target < end ? (int32_t)(target - first) : -1;
        ((float *)rows.weights.p)[i] = i % 5 != 0;
    }
    return rows;
}

static void take_top_and_gradients(const Ctx *cx, Arena *arena, const HeadW *head, Tensor x, Divided *d, int64_t first)
{
    Tensor values = arena_tensor(arena, DT_F32, TARGETS, 1, "values"),
           ids = arena_tensor(arena, DT_I32, TARGETS, 1, "ids");
    Tensor log_sums = arena_vector(arena, DT_F64, TARGETS, "log_sums");
    head_top(cx, values, ids, log_sums, x, head);
    memcpy(d->dw + first * WIDTH, head->dw.p, (size_t)tensor_count(head->dw) * sizeof(float));
    memcpy(d->db + first, head->db.p, (size_t)tensor_count(head->db) * sizeof(float));
    if (tensor_parallel_rank(cx->tp) != d->ranks - 1) /* the numbers of all classes, as the last rank has them */
        return;
    memcpy(d->values, values.p, sizeof d->values);
    memcpy(d->ids, ids.p, sizeof d->ids);
    for (int i = 0; i < TARGETS; i++)
        d->log_sums[i] = (float)((double *)log_sums.p)[i];
}

static void divided_rank(Comm *ranks, void *context)
{
    enum { SIZE = 600 << 20, VARS = 24 << 20 };
    Divided *d = context;
    TensorParallel tp = { .ranks = ranks, .rank = comm_rank(ranks), .size = comm_size(ranks) };
    Device *dev = device_open_cpu(1, precision_uniform(DT_F32));
    const ModelSpec model = { .vocab = VOCAB };
    const bool grad = d->n_ids == 0;
    const XentSpec xent = { .scale = 0.01f, .grad = grad, .label_smoothing = grad ? 0.1f : 0, .z_loss = 1e-3f };
    Arena arena, scratch, save;
    arena_init(&arena, "vars", device_alloc(dev, VARS), VARS);
    arena_init(&scratch, "scratch", device_alloc(dev, SIZE), SIZE);
    arena_init(&save, "save", NULL, 0);
    Ctx cx = { .dev = dev,
               .scratch = &scratch,
               .save = &save,
               .precision = precision_uniform(DT_F32),
               .model = &model,
               .tp = &tp };
    int64_t first = head_first_token(&cx, tp.rank), n = head_first_token(&cx, tp.rank + 1) - first;
    const HeadRows rows = divided_rows(&arena, d->n_ids, first, first + n);
    Tensor x = drawn(&arena, TARGETS, 0, TARGETS, 1), dx = arena_tensor(&arena, DT_F32, TARGETS, WIDTH, "dx");
    double sums[XENT_STATS];
    const HeadW head = { .w = drawn(&arena, VOCAB, first, n, 2),
                         .dw = arena_tensor(&arena, DT_F32, n, WIDTH, "dw"),
                         .b = arena_vector(&arena, DT_F32, n, "b"),
                         .db = arena_vector(&arena, DT_F32, n, "db"),
                         .vocabulary = true,
                         .n_ids = d->n_ids,
                         .scale = 1 };
    for (int64_t i = 0; i < n; i++)
        ((float *)head.b.p)[i] = (float)((first + i) % 3);
    op_fill(dev, dx, 0);
    head_loss(&cx, tensor_vector(sums, DT_F64, XENT_STATS), dx, x, &head, &rows, &xent);
    take_top_and_gradients(&cx, &arena, &head, x, d, first);
    if (tp.rank == tp.size - 1) {
        memcpy(d->sums, sums, sizeof sums);
        memcpy(d->dx, dx.p, sizeof d->dx);
    }
    device_free(dev, arena.base);
    device_free(dev, scratch.base);
    device_close(dev);
}

/* Two ranks with 209,716 and 209,715 tokens: for the first 160 rows are two chunks, for the second they would be one.
 * Of 300,000 ids the second has some, of 209,716 none. */
static void ranks_divide_the_vocabulary(gconstpointer n_ids)
{
    g_autofree Divided *of = g_new0(Divided, MOST_RANKS);
    for (int i = 0; i < MOST_RANKS; i++) {
        of[i] = (Divided){
            .ranks = i + 1, .n_ids = GPOINTER_TO_INT(n_ids), .dw = g_new(float, VOCAB *WIDTH), .db = g_new(float, VOCAB)
        };
        comm_run_threads(i + 1, 60, divided_rank, &of[i]);
    }
    const Divided *one = &of[0], *two = &of[1];
    for (int i = 0; i < XENT_STATS; i++)
        g_assert_cmpfloat_with_epsilon(one->sums[i], two->sums[i], 1e-6 * fabs(one->sums[i]) + 1e-12);
    for (int i = 0; i < TARGETS * WIDTH; i++)
        g_assert_cmpfloat_with_epsilon(one->dx[i], two->dx[i], 1e-6);
    for (int i = 0; i < VOCAB * WIDTH; i++)
        g_assert_cmpfloat_with_epsilon(one->dw[i], two->dw[i], 1e-6);
    for (int i = 0; i < VOCAB; i++)
        g_assert_cmpfloat_with_epsilon(one->db[i], two->db[i], 1e-6);
    for (int i = 0; i < TARGETS; i++) {
        g_assert_cmpint(one->ids[i], ==, two->ids[i]);
        g_assert_cmpfloat(one->values[i], ==, two->values[i]);
        g_assert_cmpfloat_with_epsilon(one->log_sums[i], two->log_sums[i], 1e-5);
    }
    for (int i = 0; i < MOST_RANKS; i++) {
        g_free(of[i].dw);
        g_free(of[i].db);
    }
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/head/chunks_add_up", head_chunks_add_up);
    g_test_add_func("/head/memory_of_many_rows_is_enough_for_fewer", memory_of_many_rows_is_enough_for_fewer);
    g_test_add_func("/head/rows_of_logits_are_aligned", rows_of_logits_are_aligned);
    g_test_add_func("/head/chunks_are_larger_on_gpus", chunks_are_larger_on_gpus);
    g_test_add_data_func("/head/ranks_divide_the_vocabulary", NULL, ranks_divide_the_vocabulary);
    g_test_add_data_func("/head/ranks_divide_the_ids", GINT_TO_POINTER(300000), ranks_divide_the_vocabulary);
    g_test_add_data_func("/head/a_rank_may_have_no_ids", GINT_TO_POINTER(209716), ranks_divide_the_vocabulary);
    return g_test_run();
}
