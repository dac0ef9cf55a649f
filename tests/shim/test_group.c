/* Operations of a group are one launch on a GPU, and change what they change one by one, bit for bit. */
#include "device/scalars.h"
#include "shim/device_shim.h"

#include <glib.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { TENSORS = 14, COLS = 96, MOST_ROWS = 40, ROOM = 6 * MOST_ROWS * COLS + 8 * COLS };

/* A parameter of a bucket: a matrix, or a vector where rows is 1. */
typedef struct Tensors {
    Tensor w, m, v, row, col, g, sums;
    AdafactorSpec spec;
    bool factored;
} Tensors;

typedef struct Bucket {
    _Alignas(64) double memory[TENSORS][ROOM];
    Tensors of[TENSORS];
} Bucket;

static Tensor push(Arena *arena, int64_t rows, int64_t cols)
{
    Tensor t = rows > 1 ? arena_tensor(arena, DT_F32, rows, cols, "test") : arena_vector(arena, DT_F32, cols, "test");
    for (int64_t i = 0; i < rows * cols; i++)
        ((float *)t.p)[i] = sinf((float)i + (float)arena->used);
    return t;
}

static Bucket *bucket_new(void)
{
    Bucket *bucket = aligned_alloc(64, sizeof *bucket);
    g_assert_nonnull(bucket);
    memset(bucket, 0, sizeof *bucket);
    for (int i = 0; i < TENSORS; i++) {
        Tensors *t = &bucket->of[i];
        Arena arena;
        int64_t rows = i % 4 ? 3 * i : 1;
        arena_init(&arena, "test", bucket->memory[i], sizeof bucket->memory[i]);
        t->factored = rows > 1;
        t->w = push(&arena, rows, COLS);
        t->g = push(&arena, rows, COLS);
        t->m = push(&arena, rows, COLS);
        t->v = push(&arena, rows, COLS);
        t->row = push(&arena, 1, rows);
        t->col = push(&arena, 1, COLS);
        t->sums = arena_vector(&arena, DT_F64, 3 + COLS, "sums");
        memset(t->sums.p, 0, (size_t)(3 + COLS) * sizeof(double));
        for (int64_t k = 0; k < rows * COLS; k++)
            ((float *)t->v.p)[k] = 1 + ((float *)t->v.p)[k];
        for (int64_t k = 0; k < rows; k++)
            ((float *)t->row.p)[k] = 1 + ((float *)t->row.p)[k];
        for (int64_t k = 0; k < COLS; k++)
            ((float *)t->col.p)[k] = 1 + ((float *)t->col.p)[k];
        t->spec = (AdafactorSpec){ .eps1 = 1e-30,
                                   .eps2 = 1e-3,
                                   .clip_threshold = 1,
                                   .rows = rows,
                                   .cols = COLS,
                                   .count = rows * COLS,
                                   .scale_parameter = true,
                                   .rate = 1 };
    }
    return bucket;
}

static StepScalars scalars; /* set by main */

static void adamw(Device *dev, const Tensors *t)
{
    op_adamw(dev, t->w, NO_TENSOR, t->m, t->v, t->g, NO_TENSOR,
             &(AdamwSpec){ .beta1 = 0.9, .beta2 = 0.999, .eps = 1e-8, .rate = 1, .count = tensor_count(t->w) },
             &scalars);
}

static Tensor sum(const Tensors *t, int64_t first, int64_t n)
{
    return tensor_slice_rows(t->sums, first, n);
}

static void squares(Device *dev, const Tensors *t)
{
    op_sumsq(dev, sum(t, 0, 1), t->w, 1);
}

static void moments(Device *dev, const Tensors *t)
{
    if (t->factored)
        op_adafactor_moments(dev, t->row, sum(t, 3, COLS), sum(t, 2, 1), NO_TENSOR, t->g, &t->spec, &scalars);
    else
        op_adafactor_moments(dev, NO_TENSOR, NO_TENSOR, NO_TENSOR, t->v, t->g, &t->spec, &scalars);
}

static void columns(Device *dev, const Tensors *t)
{
    if (t->factored)
        op_adafactor_columns(dev, t->col, sum(t, 3, COLS), &t->spec, &scalars);
}

static void size(Device *dev, const Tensors *t)
{
    bool f = t->factored;
    op_adafactor_size(dev, sum(t, 1, 1), f ? t->row : NO_TENSOR, f ? t->col : NO_TENSOR, f ? sum(t, 2, 1) : NO_TENSOR,
                      f ? NO_TENSOR : t->v, t->g, &t->spec, &scalars);
}

static void update(Device *dev, const Tensors *t)
{
    bool f = t->factored;
    op_adafactor(dev, t->w, NO_TENSOR, NO_TENSOR, f ? t->row : NO_TENSOR, f ? t->col : NO_TENSOR,
                 f ? sum(t, 2, 1) : NO_TENSOR, f ? NO_TENSOR : t->v, t->g, sum(t, 0, 1), sum(t, 1, 1), &t->spec,
                 &scalars);
}

/* Operations in the order of an update, and the launches of each over a bucket: moments are those of vectors, of rows,
 * of columns and the sums over rows. */
static const struct {
    const char *name;
    void (*call)(Device *dev, const Tensors *t);
    int64_t launches;
} operations[] = {
    { "adamw", adamw, 1 },
    { "sumsq", squares, 1 },
    { "adafactor_moments", moments, 4 },
    { "adafactor_columns", columns, 1 },
    { "adafactor_size", size, 1 },
    { "adafactor", update, 1 },
};

static void run(Device *dev, Bucket *bucket, size_t operation, bool group)
{
    if (group)
        device_group_begin(dev);
    for (int i = 0; i < TENSORS; i++)
        operations[operation].call(dev, &bucket->of[i]);
    if (group)
        device_group_end(dev);
}

static void a_group_is_one_launch(void)
{
    Device *dev = device_open_shim(precision_uniform(DT_F32));
    Bucket *alone = bucket_new(), *grouped = bucket_new();
    g_assert_true(device_groups(dev));
    for (size_t i = 0; i < G_N_ELEMENTS(operations); i++) {
        run(dev, alone, i, false);
        int64_t before = device_shim_launches();
        run(dev, grouped, i, true);
        g_test_message("%s: %d launches", operations[i].name, (int)(device_shim_launches() - before));
        g_assert_cmpint(device_shim_launches() - before, ==, operations[i].launches);
        g_assert_true(memcmp(alone->memory, grouped->memory, sizeof alone->memory) == 0);
    }
    free(alone);
    free(grouped);
    device_close(dev);
}

/* On the CPU, operations are done one by one, in a group as well. */
static void the_cpu_forms_no_groups(void)
{
    Device *dev = device_open_cpu(1, precision_uniform(DT_F32));
    g_assert_false(device_groups(dev));
    device_close(dev);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    scalars = scalars_of(3);
    g_test_add_func("/group/is_one_launch", a_group_is_one_launch);
    g_test_add_func("/group/is_none_on_the_cpu", the_cpu_forms_no_groups);
    return g_test_run();
}
