/* A head computes its logits a chunk of rows at a time; finite differences of it are in test_layers.c. */
#include "nn/layers.h"

#include <glib.h>
#include <math.h>

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

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/head/chunks_add_up", head_chunks_add_up);
    g_test_add_func("/head/memory_of_many_rows_is_enough_for_fewer", memory_of_many_rows_is_enough_for_fewer);
    return g_test_run();
}
