#include "device/profile.h"

#include <glib.h>
#include <string.h>

static void operations_are_counted_by_name_where_asked_for(void)
{
    Device *dev = device_open_cpu(1, precision_uniform(DT_F32));
    float x[8] = { 0 }, y[8];
    Tensor t = tensor_vector(x, DT_F32, 8);
    Profile profile = { 0 };
    op_fill(dev, t, 1);
    dev->profile = &profile;
    op_fill(dev, t, 2);
    op_copy(dev, tensor_vector(y, DT_F32, 8), t);
    op_fill(dev, t, 3);
    dev->profile = NULL;
    op_fill(dev, t, 4);
    g_assert_cmpint(profile.n, ==, 2);
    g_assert_cmpstr(profile.rows[0].op, ==, "fill");
    g_assert_cmpint(profile.rows[0].calls, ==, 2);
    g_assert_cmpstr(profile.rows[1].op, ==, "copy");
    g_assert_cmpfloat(profile.rows[0].seconds, >, 0);
    device_close(dev);
}

/* Phases within phases, with the work of what they contain; without keeps_events there are none. */
static void phases_hold_the_operations_that_run_in_them(void)
{
    Device *dev = device_open_cpu(1, precision_uniform(DT_F32));
    float x[12] = { 0 }, y[4];
    Tensor a = tensor_matrix(x, DT_F32, 2, 3), b = tensor_matrix(x + 6, DT_F32, 2, 3),
           out = tensor_matrix(y, DT_F32, 2, 2);
    Profile profile = { .keeps_events = true };
    profile_begin(dev, "unseen", 0); /* nobody profiles */
    profile_end(dev);
    dev->profile = &profile;
    profile_begin(dev, "outer", -1);
    op_fill(dev, a, 1);
    profile_begin(dev, "inner", 7);
    op_gemm(dev, out, a, b, false, true, 1, 0);
    profile_end(dev);
    profile_end(dev);
    dev->profile = NULL;
    g_assert_cmpuint(profile.n_events, ==, 4);
    g_assert_cmpint(profile.n_open, ==, 0);
    const ProfileEvent *outer = &profile.events[0], *fill = outer + 1, *inner = outer + 2, *gemm = outer + 3;
    g_assert_cmpstr(outer->name, ==, "outer");
    g_assert_cmpstr(fill->name, ==, "fill");
    g_assert_cmpstr(inner->name, ==, "inner");
    g_assert_cmpint(inner->number, ==, 7);
    g_assert_cmpstr(gemm->shapes, ==, "y 2x2 f32, a 2x3 f32, b 2x3 f32");
    g_assert_cmpfloat(gemm->flops, ==, 2.0 * 2 * 2 * 3);
    g_assert_cmpfloat(gemm->bytes, ==, 4.0 * (4 + 6 + 6));
    g_assert_cmpfloat(inner->flops, ==, gemm->flops);
    g_assert_cmpfloat(inner->bytes, ==, gemm->bytes);
    g_assert_cmpfloat(outer->bytes, ==, gemm->bytes + fill->bytes);
    g_assert_cmpfloat(gemm->start + gemm->seconds, <=, inner->start + inner->seconds);
    g_assert_cmpfloat(inner->seconds, <=, outer->seconds);
    profile_clear(&profile);
    device_close(dev);
}

static bool twice_more(Device *dev, const char *op, const struct Operand *operands, int n)
{
    int *runs = dev->profile->again_context;
    (void)op, (void)operands, (void)n;
    return ++*runs % 3 != 0;
}

/* An operation that is measured by itself leaves what one run leaves, also where it changes its inputs: in place, or
 * added to its result; gaps between the rows of a matrix stay as they are. */
static void an_operation_that_runs_again_leaves_what_one_run_leaves(void)
{
    Device *dev = device_open_cpu(1, precision_uniform(DT_F32));
    int runs = 0;
    float a[8] = { 1, 2, 9, 9, 3, 4, 9, 9 }, b[4] = { 1, 0, 0, 1 }, y[8] = { 5, 5, 9, 9, 5, 5, 9, 9 };
    Tensor x = tensor_matrix(a, DT_F32, 2, 2), sum = tensor_matrix(y, DT_F32, 2, 2);
    Profile profile = { .again = twice_more, .again_context = &runs, .keeps_events = true };
    x.ld = sum.ld = 4;
    dev->profile = &profile;
    op_scale(dev, x, x, 2);
    op_gemm(dev, sum, x, tensor_matrix(b, DT_F32, 2, 2), false, false, 1, 1);
    dev->profile = NULL;
    g_assert_cmpint(runs, ==, 6);
    g_assert_cmpint(profile.rows[0].calls, ==, 1);
    g_assert_cmpuint(profile.n_events, ==, 2);
    static const float scaled[] = { 2, 4, 9, 9, 6, 8, 9, 9 }, added[] = { 7, 9, 9, 9, 11, 13, 9, 9 };
    for (int i = 0; i < 8; i++) {
        g_assert_cmpfloat(a[i], ==, scaled[i]);
        g_assert_cmpfloat(y[i], ==, added[i]);
    }
    profile_clear(&profile);
    device_close(dev);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/profile/operations_are_counted_by_name_where_asked_for",
                    operations_are_counted_by_name_where_asked_for);
    g_test_add_func("/profile/phases_hold_the_operations_that_run_in_them",
                    phases_hold_the_operations_that_run_in_them);
    g_test_add_func("/profile/an_operation_that_runs_again_leaves_what_one_run_leaves",
                    an_operation_that_runs_again_leaves_what_one_run_leaves);
    return g_test_run();
}
