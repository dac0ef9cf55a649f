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

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/profile/operations_are_counted_by_name_where_asked_for",
                    operations_are_counted_by_name_where_asked_for);
    g_test_add_func("/profile/phases_hold_the_operations_that_run_in_them",
                    phases_hold_the_operations_that_run_in_them);
    return g_test_run();
}
