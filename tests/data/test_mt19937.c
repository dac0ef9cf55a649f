#include "data/compat/mt19937.h"

#include <glib.h>
#include <string.h>

/* The C++ standard says what the 10000th number of the default seed 5489 is ([rand.predef]). */
static void ten_thousandth_number_is_that_of_the_cpp_standard(void)
{
    g_autoptr(GRand) a = g_rand_new_with_seed(5489);
    Mt19937_64 b;
    uint32_t last32 = 0;
    uint64_t last64 = 0;
    mt19937_64_seed(&b, 5489);
    for (int i = 0; i < 10000; i++) {
        last32 = g_rand_int(a);
        last64 = mt19937_64_u64(&b);
    }
    g_assert_cmpuint(last32, ==, 4123659995u);
    g_assert_cmpuint(last64, ==, 9981545732273789042u);
}

static void numbers_of_seed_42_are_those_of_random_state(void)
{
    static const uint32_t below_100[] = { 51, 92, 14, 71, 60, 20 };
    g_autoptr(GRand) rng = g_rand_new_with_seed(42);
    g_assert_cmpfloat(numpy_random(rng), ==, 0.3745401188473625);
    g_rand_set_seed(rng, 42);
    for (size_t i = 0; i < G_N_ELEMENTS(below_100); i++)
        g_assert_cmpuint(numpy_interval(rng, 99), ==, below_100[i]);
    g_assert_cmpuint(numpy_interval(rng, 0), ==, 0);
}

static void shuffle_of_ten_is_that_of_random_state(void)
{
    static const int64_t expected[] = { 8, 1, 5, 0, 7, 2, 9, 4, 3, 6 };
    int64_t wide[10];
    uint16_t narrow[10];
    g_autoptr(GRand) rng = g_rand_new_with_seed(42);
    for (int i = 0; i < 10; i++)
        narrow[i] = (uint16_t)(wide[i] = i);
    numpy_shuffle(rng, wide, 10, sizeof *wide);
    g_rand_set_seed(rng, 42);
    numpy_shuffle(rng, narrow, 10, sizeof *narrow);
    for (int i = 0; i < 10; i++) {
        g_assert_cmpint(wide[i], ==, expected[i]);
        g_assert_cmpint(narrow[i], ==, expected[i]);
    }
}

static void permutations_are_those_of_torch(void)
{
    static const uint32_t zero[] = { 4, 1, 7, 5, 3, 9, 0, 8, 6, 2 }, answer[] = { 2, 6, 1, 8, 4, 5, 0, 9, 3, 7 };
    uint32_t order[1000];
    uint64_t sum = 0;
    torch_randperm(0, order, 10);
    g_assert_true(memcmp(order, zero, sizeof zero) == 0);
    torch_randperm(42, order, 10);
    g_assert_true(memcmp(order, answer, sizeof answer) == 0);
    torch_randperm(45, order, 1000);
    for (uint64_t i = 0; i < 1000; i++)
        sum += (i + 1) * order[i];
    g_assert_cmpuint(sum, ==, 248277828);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/mt19937/ten_thousandth_number_is_that_of_the_cpp_standard",
                    ten_thousandth_number_is_that_of_the_cpp_standard);
    g_test_add_func("/mt19937/numbers_of_seed_42_are_those_of_random_state",
                    numbers_of_seed_42_are_those_of_random_state);
    g_test_add_func("/mt19937/shuffle_of_ten_is_that_of_random_state", shuffle_of_ten_is_that_of_random_state);
    g_test_add_func("/mt19937/permutations_are_those_of_torch", permutations_are_those_of_torch);
    return g_test_run();
}
