#include "data/mixture.h"

#include "data/data_test.h"

static Mixture *parse(const char *text)
{
    g_autoptr(GError) error = NULL;
    Mixture *mixture = mixture_parse(text, &error);
    g_assert_no_error(error);
    return mixture;
}

static void assert_order(const char *text, const int *want, int64_t n)
{
    Mixture *mixture = parse(text), *again = parse(text);
    int64_t counts[MIXTURE_MAX] = { 0 }, within;
    for (int64_t row = 0; row < n; row++) {
        g_assert_cmpint(mixture_at(mixture, row, &within), ==, want[row]);
        g_assert_cmpint(within, ==, counts[want[row]]++);
    }
    for (int64_t row = n - 1; row >= 0; row--) /* backwards: no call may depend on the one before */
        g_assert_cmpint(mixture_at(again, row, &within), ==, want[row]);
    mixture_free(mixture);
    mixture_free(again);
}

/* megatron-fairseq.md §1.9; t5-experiments.md §8. */
static void the_order_is_that_of_the_references(void)
{
    assert_order("a:.5,b:.3,c:.2", (int[]){ 0, 1, 2, 0, 1, 0, 2, 0, 1, 0, 0, 1 }, 12);
    assert_order("a:4, b:6, c:3", (int[]){ 1, 0, 2, 1, 0, 1, 2, 1, 0, 1, 2, 0, 1 }, 13);
}

static void one_dataset_needs_no_weight(void)
{
    Mixture *mixture = parse("folder:with/colon");
    int64_t within;
    g_assert_cmpint(mixture->n, ==, 1);
    g_assert_cmpstr(mixture->paths[0], ==, "folder:with/colon");
    g_assert_cmpint(mixture_at(mixture, 123456789012, &within), ==, 0);
    g_assert_cmpint(within, ==, 123456789012);
    mixture_free(mixture);
}

static void weights_that_are_none_are_refused(void)
{
    static const char *const bad[] = { "a:1,b", "a,b:1", "a:0,b:1", "a:-1,b:2", "a:1,:2", "a:1,b:x", "a:1,b:inf" };
    for (size_t i = 0; i < G_N_ELEMENTS(bad); i++) {
        g_autoptr(GError) error = NULL;
        g_assert_null(mixture_parse(bad[i], &error));
        g_assert_error(error, LOAM_ERROR, LOAM_ERROR_USER);
        g_assert_nonnull(strstr(error->message, "PREFIX:WEIGHT"));
    }
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/mixture/the_order_is_that_of_the_references", the_order_is_that_of_the_references);
    g_test_add_func("/mixture/one_dataset_needs_no_weight", one_dataset_needs_no_weight);
    g_test_add_func("/mixture/weights_that_are_none_are_refused", weights_that_are_none_are_refused);
    return g_test_run();
}
