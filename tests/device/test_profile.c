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

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/profile/operations_are_counted_by_name_where_asked_for",
                    operations_are_counted_by_name_where_asked_for);
    return g_test_run();
}
