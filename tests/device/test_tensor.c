#include "device/tensor.h"

#include <glib.h>

static float memory[6 * 8];

static void slices_are_views(void)
{
    Tensor t = tensor_matrix(memory, DT_F32, 6, 8);
    Tensor rows = tensor_slice_rows(t, 2, 3), block = tensor_slice_cols(rows, 5, 2);
    g_assert_true(rows.p == memory + 16);
    g_assert_cmpint(tensor_rows(rows), ==, 3);
    g_assert_cmpint(tensor_cols(rows), ==, 8);
    g_assert_true(block.p == memory + 21);
    g_assert_cmpint(block.ld, ==, 8);
    g_assert_cmpint(tensor_count(block), ==, 6);
    g_assert_true(tensor_slice_rows(block, 1, 1).p == memory + 29);
}

static void a_vector_is_one_row(void)
{
    Tensor v = tensor_vector(memory, DT_F32, 7), part = tensor_slice_rows(v, 3, 2);
    g_assert_cmpint(tensor_rows(v), ==, 1);
    g_assert_cmpint(tensor_cols(v), ==, 7);
    g_assert_true(part.p == memory + 3);
    g_assert_cmpint(tensor_cols(part), ==, 2);
}

static void absence_has_no_elements(void)
{
    g_assert_false(tensor_present(NO_TENSOR));
    g_assert_cmpint(tensor_count(NO_TENSOR), ==, 0);
    g_assert_true(tensor_present(tensor_matrix(memory, DT_F32, 0, 8)));
}

static void shapes_compare_by_rank_and_dimensions(void)
{
    Tensor a = tensor_matrix(memory, DT_F32, 1, 8), b = tensor_vector(memory, DT_F32, 8);
    Tensor wide = tensor_slice_cols(tensor_matrix(memory, DT_F32, 3, 16), 8, 8);
    g_assert_false(tensor_same_shape(a, b));
    g_assert_true(tensor_same_shape(wide, tensor_matrix(memory, DT_F64, 3, 8)));
    g_assert_false(tensor_same_shape(wide, tensor_matrix(memory, DT_F32, 2, 8)));
}

static void an_arena_counts_their_bytes(void)
{
    Arena arena;
    arena_init(&arena, "test", NULL, 0);
    arena_tensor(&arena, DT_BF16, 3, 32, "matrix");
    g_assert_cmpuint(arena.peak, ==, 192);
    arena_vector(&arena, DT_I64, 1, "vector");
    g_assert_cmpuint(arena.peak, ==, 256);
    g_assert_cmpuint(dtype_bytes(DT_F16), ==, 2);
    g_assert_cmpstr(dtype_name(DT_BF16), ==, "bf16");
}

static void a_slice_beyond_its_tensor_is_a_bug(void)
{
    if (g_test_subprocess()) {
        tensor_slice_rows(tensor_matrix(memory, DT_F32, 6, 8), 4, 3);
        return;
    }
    g_test_trap_subprocess(NULL, 0, G_TEST_SUBPROCESS_DEFAULT);
    g_test_trap_assert_failed();
    g_test_trap_assert_stderr("*rows 4 + 3 of 6*");
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/tensor/slices_are_views", slices_are_views);
    g_test_add_func("/tensor/a_vector_is_one_row", a_vector_is_one_row);
    g_test_add_func("/tensor/absence_has_no_elements", absence_has_no_elements);
    g_test_add_func("/tensor/shapes_compare_by_rank_and_dimensions", shapes_compare_by_rank_and_dimensions);
    g_test_add_func("/tensor/an_arena_counts_their_bytes", an_arena_counts_their_bytes);
    g_test_add_func("/tensor/a_slice_beyond_its_tensor_is_a_bug", a_slice_beyond_its_tensor_is_a_bug);
    return g_test_run();
}
