#include "param/store.h"
#include "reference/reference.h"

#include <stddef.h>
#include <string.h>

typedef struct View {
    Tensor q, k, qk, bias;
} View;

enum { ROWS = 4, COLS = 5, COUNT = ROWS * COLS };

/* k lies behind q in one matrix: boxes of it begin within the bucket. */
static const ParamSpec specs[] = {
    { "q", 0, offsetof(View, q), offsetof(View, qk), 3, COLS, SPLIT_NONE, TIE_NONE, INIT_CONSTANT, 1, true, false,
      PARAM_MATRIX, 1, 1 },
    { "k", 0, offsetof(View, k), offsetof(View, qk), ROWS, COLS, SPLIT_NONE, TIE_NONE, INIT_CONSTANT, 1, true, false,
      PARAM_MATRIX, 1, 1 },
    { "bias", 0, offsetof(View, bias), -1, COUNT, 0, SPLIT_NONE, TIE_NONE, INIT_CONSTANT, 1, false, false, PARAM_MATRIX,
      1, 1 },
};

static Box box_of(int64_t row, int64_t rows, int64_t col, int64_t cols)
{
    return (Box){ { row, col }, { rows, cols } };
}

/* Numbers 0, 1, … are written to a parameter of zeros: each lands where the box says, and nowhere else. */
static void check_box(ParamStore *store, int index, int64_t all_cols, Box box)
{
    float values[COUNT] = { 0 }, whole[COUNT];
    params_write(store, index, NULL, DT_F32, values);
    for (int i = 0; i < COUNT; i++)
        values[i] = (float)(i + 1);
    params_write(store, index, &box, DT_F32, values);
    params_read(store, index, NULL, DT_F32, whole);
    for (int64_t i = 0; i < COUNT; i++) {
        int64_t row = i / all_cols - box.start[0], col = i % all_cols - box.start[1];
        bool inside = row >= 0 && row < box.shape[0] && col >= 0 && col < box.shape[1];
        g_assert_cmpfloat(whole[i], ==, inside ? (float)(row * box.shape[1] + col + 1) : 0);
    }
    float again[COUNT];
    params_read(store, index, &box, DT_F32, again);
    g_assert_true(memcmp(again, values, (size_t)(box.shape[0] * box.shape[1]) * sizeof *again) == 0);
}

static void boxes_of(Device *dev)
{
    ParamStore *store = params_open(dev, specs, G_N_ELEMENTS(specs), NULL, true);
    float q[3 * COLS];
    params_init(store, 1);
    for (int64_t row = 0; row < ROWS; row++)
        for (int64_t col = 0; col < COLS; col++)
            check_box(store, 1, COLS, box_of(row, ROWS - row, col / 2, COLS - col));
    for (int64_t first = 0; first < COUNT; first += 3)
        check_box(store, 2, 1, box_of(first, (COUNT - first) / 2, 0, 1));
    params_read(store, 0, NULL, DT_F32, q);
    for (int i = 0; i < 3 * COLS; i++)
        g_assert_cmpfloat(q[i], ==, 1);
    params_close(store);
    device_close(dev);
}

static void boxes_are_read_and_written(void)
{
    boxes_of(device_open_cpu(1, precision_uniform(DT_F32)));
    boxes_of(device_open_reference());
    boxes_of(device_open_mixed(
        (Precision){ .compute = DT_BF16, .residual = DT_BF16, .grad = DT_F32, .master = DT_F32, .state = DT_F32 }));
}

static void numbers_are_cast(void)
{
    const double written[] = { 1.0 / 3, -2.5 };
    const Box box = box_of(1, 1, 2, 2);
    Device *dev = device_open_reference();
    ParamStore *store = params_open(dev, specs, G_N_ELEMENTS(specs), NULL, false);
    double wide[2];
    float narrow[2];
    uint16_t half[2];
    params_write(store, 1, &box, DT_F64, written);
    params_read(store, 1, &box, DT_F64, wide);
    params_read(store, 1, &box, DT_F32, narrow);
    params_read(store, 1, &box, DT_BF16, half);
    g_assert_true(memcmp(wide, written, sizeof wide) == 0);
    g_assert_cmpfloat(narrow[0], ==, (float)written[0]);
    g_assert_cmphex(half[0], ==, 0x3EAB);
    g_assert_cmphex(half[1], ==, 0xC020);
    params_close(store);
    device_close(dev);
}

/* Of every range of every box: the parts hold its elements, in their order. */
static void flat_ranges_are_boxes(void)
{
    for (int64_t cols = 1; cols <= COLS; cols++)
        for (int64_t first = 0; first < ROWS * cols; first++)
            for (int64_t n = 0; first + n <= ROWS * cols; n++) {
                const Box box = box_of(7, ROWS, 3, cols);
                Box parts[3];
                int64_t element = first;
                int n_parts = box_split(&box, first, n, parts);
                g_assert_cmpint(n_parts, <=, 3);
                for (int p = 0; p < n_parts; p++)
                    for (int64_t i = 0; i < parts[p].shape[0] * parts[p].shape[1]; i++, element++) {
                        int64_t row = parts[p].start[0] + i / parts[p].shape[1] - 7;
                        int64_t col = parts[p].start[1] + i % parts[p].shape[1] - 3;
                        g_assert_cmpint(row * cols + col, ==, element);
                        g_assert_cmpint(col, <, cols);
                    }
                g_assert_cmpint(element, ==, first + n);
            }
}

static void copies_keep_every_bit(void)
{
    Device *dev = device_open_cpu(1, precision_uniform(DT_F32));
    ParamStore *from = params_open(dev, specs, G_N_ELEMENTS(specs), NULL, false);
    ParamStore *to = params_open(dev, specs, G_N_ELEMENTS(specs), NULL, false);
    float values[COUNT], copied[COUNT];
    for (int i = 0; i < COUNT; i++)
        values[i] = 1 / (float)(i + 3);
    params_write(from, 2, NULL, DT_F32, values);
    params_copy(to, params_index(to, "bias"), from, 2);
    params_read(to, 2, NULL, DT_F32, copied);
    g_assert_true(memcmp(values, copied, sizeof values) == 0);
    g_assert_cmpint(params_index(to, "none"), ==, -1);
    params_close(from);
    params_close(to);
    device_close(dev);
}

/* Masters are for training: a model that is only read has one copy of its weights. Vectors have one of f32 always. */
static void a_store_without_gradients_has_no_masters(void)
{
    Device *dev = device_open_mixed(
        (Precision){ .compute = DT_BF16, .residual = DT_F32, .grad = DT_F32, .master = DT_F32, .state = DT_F32 });
    for (int gradients = 0; gradients < 2; gradients++) {
        ParamStore *store = params_open(dev, specs, G_N_ELEMENTS(specs), NULL, gradients);
        size_t n = (size_t)params_elements(store);
        ParamBytes bytes = params_bytes(store);
        float values[] = { 1.001f, 1.001f };
        for (int i = 0; i < 2; i++) {
            params_write(store, 1 + i, &(Box){ { 1, 0 }, { 1, 1 } }, DT_F32, &values[i]);
            params_read(store, 1 + i, &(Box){ { 1, 0 }, { 1, 1 } }, DT_F32, &values[i]);
        }
        g_assert_cmpuint(bytes.weights, ==, 2 * (n - COUNT) + 4 * COUNT);
        g_assert_cmpuint(bytes.masters, ==, gradients ? 4 * (n - COUNT) : 0);
        g_assert_cmpfloat(values[0], ==, gradients ? 1.001f : 1);
        g_assert_cmpfloat(values[1], ==, 1.001f);
        params_close(store);
    }
    device_close(dev);
}

/* A checkpoint holds what a frozen matrix was loaded with, and not what bf16 makes of it. */
static void frozen_matrices_keep_every_bit(void)
{
    Device *dev = device_open_mixed(
        (Precision){ .compute = DT_BF16, .residual = DT_F32, .grad = DT_F32, .master = DT_F32, .state = DT_F32 });
    ParamSpec frozen[G_N_ELEMENTS(specs)];
    memcpy(frozen, specs, sizeof specs);
    for (size_t i = 0; i < G_N_ELEMENTS(specs); i++)
        frozen[i].frozen = true;
    ParamStore *store = params_open(dev, frozen, G_N_ELEMENTS(specs), NULL, true);
    ParamBytes bytes = params_bytes(store);
    const Box one = { { 1, 0 }, { 1, 1 } };
    float value = 1.001f;
    params_write(store, 1, &one, DT_F32, &value);
    value = 0;
    params_read(store, 1, &one, DT_F32, &value);
    g_assert_cmpfloat(value, ==, 1.001f);
    g_assert_cmpuint(bytes.gradients, ==, 0);
    g_assert_cmpuint(bytes.masters, ==, 4 * ((size_t)params_elements(store) - COUNT));
    params_close(store);
    device_close(dev);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/params_access/boxes_are_read_and_written", boxes_are_read_and_written);
    g_test_add_func("/params_access/numbers_are_cast", numbers_are_cast);
    g_test_add_func("/params_access/flat_ranges_are_up_to_three_boxes", flat_ranges_are_boxes);
    g_test_add_func("/params_access/copies_keep_every_bit", copies_keep_every_bit);
    g_test_add_func("/params_access/a_store_without_gradients_has_no_masters",
                    a_store_without_gradients_has_no_masters);
    g_test_add_func("/params_access/frozen_matrices_keep_every_bit", frozen_matrices_keep_every_bit);
    return g_test_run();
}
