/* The casts of FP8 against those of PyTorch, bit for bit, by checksums that tools/make-float8.py prints. */
#include "base/float8.h"

#include <glib.h>

enum { HALVES = 1 << 16, WORDS = 1 << 22 };

static const struct {
    bool e5m2;
    const char *of_bf16, *of_f32, *to_f32;
} formats[] = {
    { false, "2f8096b3b00699a86e3e44c61fc0287c5111ab4b4e3d1ad604f6f3a5b3eca0db",
      "d6f93698f4da23949fe6c85c5fee93a65cc7c7e1437ebf35905ae5420e4cd17a",
      "60efb1d40706a18a8834b00445a3e025c9f2bc953f6acbf3dc1d3caa17950418" },
    { true, "69d1394f72425f9b4be7e18c947e02d52e9ca5feb64c8bf06254e46dead83e4f",
      "214b798ce66f705a451d1d85e1c8d215404420f013a9fcb248fe28ea49ae0206",
      "b76d90bf6c5c66496bec790d6fbea857f87c424e7ee17a11c5e55d9bf719dd73" },
};

static void assert_sum(const void *bytes, size_t n, const char *wanted)
{
    g_autofree char *found = g_compute_checksum_for_data(G_CHECKSUM_SHA256, bytes, n);
    g_assert_cmpstr(found, ==, wanted);
}

static void test_casts(void)
{
    g_autofree uint8_t *codes = g_malloc(WORDS);
    for (size_t f = 0; f < G_N_ELEMENTS(formats); f++) {
        for (uint32_t i = 0; i < HALVES; i++)
            codes[i] = float8_from_f32(bf16_to_f32((uint16_t)i), formats[f].e5m2);
        assert_sum(codes, HALVES, formats[f].of_bf16);
        for (uint32_t i = 0; i < WORDS; i++)
            codes[i] = float8_from_f32(f32_of_bits(i * 2654435761u), formats[f].e5m2);
        assert_sum(codes, WORDS, formats[f].of_f32);
    }
}

static void test_numbers(void)
{
    for (size_t f = 0; f < G_N_ELEMENTS(formats); f++) {
        float numbers[256];
        for (int i = 0; i < 256; i++) {
            numbers[i] = float8_to_f32((uint8_t)i, formats[f].e5m2);
            if (!isfinite(numbers[i]))
                numbers[i] = 12345;
        }
        assert_sum(numbers, sizeof numbers, formats[f].to_f32);
    }
}

/* What a product on a processor without FP8 computes with is what a GPU computes with. */
static void test_rounding(void)
{
    for (size_t f = 0; f < G_N_ELEMENTS(formats); f++)
        for (uint32_t i = 0; i < WORDS; i++) {
            float x = f32_of_bits(i * 2654435761u), rounded = float8_round(x, formats[f].e5m2);
            float stored = float8_to_f32(float8_from_f32(x, formats[f].e5m2), formats[f].e5m2);
            g_assert_true(bits_of_f32(rounded) == bits_of_f32(stored) || (isnan(x) && isnan(rounded) && isnan(stored)));
        }
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/float8/casts_are_those_of_pytorch", test_casts);
    g_test_add_func("/float8/every_code_is_the_number_of_pytorch", test_numbers);
    g_test_add_func("/float8/rounding_is_casting_there_and_back", test_rounding);
    return g_test_run();
}
