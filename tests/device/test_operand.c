/* What the front door says of operands whose shapes are right: shared memory, and dtypes by role. */
#include "device/device.h"

#include <glib.h>

enum { ROWS = 3, COLS = 8 };

static float memory[4][ROWS * COLS];

static Tensor matrix(int i)
{
    return tensor_matrix(memory[i], DT_F32, ROWS, COLS);
}

static void an_output_may_be_an_operand_that_its_entry_names(Device *dev)
{
    op_scale(dev, matrix(0), matrix(0), 2);
    op_add(dev, matrix(0), matrix(1), matrix(0));
    op_add(dev, matrix(0), matrix(0), matrix(0));
}

static void slices_of_columns_lie_apart(Device *dev)
{
    Tensor left = tensor_slice_cols(matrix(0), 0, 4), right = tensor_slice_cols(matrix(0), 4, 4);
    op_copy(dev, left, right);
    op_copy(dev, right, left);
}

static void an_output_over_another_input(Device *dev)
{
    op_gemm(dev, matrix(0), tensor_matrix(memory[0], DT_F32, ROWS, ROWS), matrix(1), false, false, 1, 0);
}

static void slices_that_share_a_column(Device *dev)
{
    op_copy(dev, tensor_slice_cols(matrix(0), 0, 4), tensor_slice_cols(matrix(0), 3, 4));
}

static void a_named_operand_shifted_by_a_row(Device *dev)
{
    op_scale(dev, tensor_slice_rows(matrix(0), 0, 2), tensor_slice_rows(matrix(0), 1, 2), 2);
}

static void weights_of_another_dtype(Device *dev)
{
    op_bias_add(dev, matrix(0), matrix(1), tensor_vector(memory[2], DT_BF16, COLS));
}

static const struct {
    const char *path;
    void (*call)(Device *dev);
    const char *says; /* NULL: nothing is wrong */
} cases[] = {
    { "/operand/an_output_may_be_an_operand_that_its_entry_names", an_output_may_be_an_operand_that_its_entry_names,
      NULL },
    { "/operand/slices_of_columns_lie_apart", slices_of_columns_lie_apart, NULL },
    { "/operand/refuses_an_output_over_another_input", an_output_over_another_input, "*gemm: y shares memory with a*" },
    { "/operand/refuses_slices_that_share_a_column", slices_that_share_a_column, "*copy: y shares memory with x*" },
    { "/operand/refuses_a_named_operand_shifted_by_a_row", a_named_operand_shifted_by_a_row,
      "*scale: y shares memory with x*" },
    { "/operand/refuses_weights_of_another_dtype", weights_of_another_dtype, "*bias_add on cpu: b is bf16, not f32*" },
};

static void run(gconstpointer data)
{
    size_t i = GPOINTER_TO_SIZE(data);
    if (cases[i].says == NULL || g_test_subprocess()) {
        Device *dev = device_open_cpu(1, precision_uniform(DT_F32));
        cases[i].call(dev);
        device_close(dev);
        return;
    }
    g_test_trap_subprocess(NULL, 0, G_TEST_SUBPROCESS_DEFAULT);
    g_test_trap_assert_failed();
    g_test_trap_assert_stderr(cases[i].says);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    for (size_t i = 0; i < G_N_ELEMENTS(cases); i++)
        g_test_add_data_func(cases[i].path, GSIZE_TO_POINTER(i), run);
    return g_test_run();
}
