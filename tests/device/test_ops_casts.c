/* Casts of the cpu, number by number: every bf16 and f16, and of f32 every sign and exponent with significands around
 * each bf16 and f16 and the middles between them. */
#include "base/float16.h"
#include "device/scalars.h"
#include "under_avx2.h"

#include <math.h>

static const uint32_t ends[] = { 0, 1, 0xFFF, 0x1000, 0x1001, 0x1FFF, 0x7FFF, 0x8000, 0x8001, 0xFFFF };
enum { ENDS = sizeof ends / sizeof *ends, NARROW = 1 << 16 };

/* AVX-512-BF16 rounds denormal numbers of f32 to zeros of bf16. */
static bool rounds_to_zero(const Device *dev, DType dtype, float x)
{
    bool bf16_instructions = strcmp(dev->isa, "avx512_bf16") == 0 || strcmp(dev->isa, "amx") == 0;
    return bf16_instructions && dtype == DT_BF16 && (bits_of_f32(x) & 0x7F800000u) == 0;
}

static void every_narrow_number_is_widened_exactly(void)
{
    static uint16_t narrow[NARROW], back[NARROW];
    static float wide[NARROW];
    Device *dev = device_open_cpu(2, precision_uniform(DT_F32));
    for (int i = 0; i < NARROW; i++)
        narrow[i] = (uint16_t)i;
    for (DType dtype = DT_BF16; dtype <= DT_F16; dtype++) {
        op_copy(dev, tensor_vector(wide, DT_F32, NARROW), tensor_vector(narrow, dtype, NARROW));
        op_copy(dev, tensor_vector(back, dtype, NARROW), tensor_vector(wide, DT_F32, NARROW));
        for (int i = 0; i < NARROW; i++) {
            float want = dtype == DT_BF16 ? bf16_to_f32(narrow[i]) : f16_to_f32(narrow[i]);
            g_assert_true(isnan(want) ? isnan(wide[i]) : bits_of_f32(wide[i]) == bits_of_f32(want));
            uint16_t same = rounds_to_zero(dev, dtype, want) ? narrow[i] & 0x8000u : narrow[i];
            g_assert_true(isnan(want) || back[i] == same);
        }
    }
    device_close(dev);
}

/* The f32 of these bits; by integers, since the cpu device makes floating-point instructions read denormals as 0. */
static double exactly(uint32_t bits)
{
    int exponent = (int)(bits >> 23 & 255);
    uint32_t significand = (bits & 0x7FFFFFu) | (exponent ? 0x800000u : 0);
    double magnitude = exponent == 255 ? INFINITY : ldexp((double)significand, (exponent ? exponent : 1) - 150);
    return bits >> 31 ? -magnitude : magnitude;
}

static double nearest_even(DType dtype, double x)
{
    int digits = dtype == DT_BF16 ? 8 : 11, least = dtype == DT_BF16 ? -126 : -14;
    int exponent = x == 0 || ilogb(x) < least ? least : ilogb(x);
    double unit = ldexp(1, exponent - (digits - 1)), rounded = isinf(x) ? x : rint(x / unit) * unit;
    return fabs(rounded) >= ldexp(1, dtype == DT_BF16 ? 128 : 16) ? copysign(INFINITY, x) : rounded;
}

static void check_rounding(const Device *dev, DType dtype, float x, uint16_t narrow)
{
    if (rounds_to_zero(dev, dtype, x))
        x = f32_of_bits(bits_of_f32(x) & 0x80000000u);
    uint16_t scalar = dtype == DT_BF16 ? bf16_from_f32(x) : f16_from_f32(x);
    float wide = dtype == DT_BF16 ? bf16_to_f32(narrow) : f16_to_f32(narrow);
    double want = nearest_even(dtype, exactly(bits_of_f32(x)));
    if (isnan(x) ? !isnan(wide) : narrow != scalar || exactly(bits_of_f32(wide)) != want)
        g_error("%08x becomes %04x in %s, by float16.h %04x, not %g", bits_of_f32(x), narrow, dtype_name(dtype), scalar,
                want);
}

static void numbers_are_rounded_to_the_nearest_even(void)
{
    static float wide[NARROW * ENDS];
    static uint16_t narrow[NARROW * ENDS];
    Device *dev = device_open_cpu(2, precision_uniform(DT_F32));
    for (uint32_t i = 0; i < NARROW * ENDS; i++)
        wide[i] = f32_of_bits(i / ENDS << 16 | ends[i % ENDS]);
    for (DType dtype = DT_BF16; dtype <= DT_F16; dtype++) {
        op_copy(dev, tensor_vector(narrow, dtype, NARROW * ENDS), tensor_vector(wide, DT_F32, NARROW * ENDS));
        for (int i = 0; i < NARROW * ENDS; i++)
            check_rounding(dev, dtype, wide[i], narrow[i]);
    }
    device_close(dev);
}

/* The sum of 300 numbers below half a unit in the last place of the entry they belong to: it does not move if it is
 * rounded after each of them. */
static void many_tokens_of_one_entry_are_added_before_they_are_rounded(void)
{
    enum { TOKENS = 300, C = 40 };
    static uint16_t dtable[C], dy[TOKENS * C];
    static int32_t ids[TOKENS];
    Device *dev = device_open_cpu(2, precision_uniform(DT_F32));
    for (int i = 0; i < TOKENS * C; i++)
        dy[i] = bf16_from_f32(0x1p-10f);
    for (int c = 0; c < C; c++)
        dtable[c] = bf16_from_f32(1);
    const OpTable *kernels = dev->ops;
    kernels->scatter_add(dev, tensor_matrix(dtable, DT_BF16, 1, C), tensor_matrix(dy, DT_BF16, TOKENS, C),
                         tensor_vector(ids, DT_I32, TOKENS), 1);
    for (int c = 0; c < C; c++)
        g_assert_cmpuint(dtable[c], ==, bf16_from_f32(1 + TOKENS * 0x1p-10f));
    device_close(dev);
}

static Tensor device_vector(Device *dev, DType dtype, int64_t n, float value)
{
    Tensor t = tensor_vector(device_alloc(dev, (size_t)n * dtype_bytes(dtype)), dtype, n);
    op_fill(dev, t, (double)value);
    return t;
}

/* Written past the cache, or not where size or address are odd: `offset` numbers of memory are left out. */
static void check_rounded_weights(Device *dev, int64_t n, int64_t offset)
{
    const AdamwSpec spec = { .beta1 = 0.9, .beta2 = 0.999, .eps = 1e-8, .rate = 1, .count = n };
    const StepScalars scalars = scalars_of(1);
    Tensor w = device_vector(dev, DT_F32, n, 0), m = device_vector(dev, DT_F32, n, 0);
    Tensor v = device_vector(dev, DT_F32, n, 0), g = device_vector(dev, DT_F32, n, 1);
    Tensor room = device_vector(dev, DT_BF16, n + 2 * offset, 77);
    for (int64_t i = 0; i < n; i++)
        ((float *)w.p)[i] = 1 + (float)i * 0x1p-12f;
    op_adamw(dev, w, tensor_slice_rows(room, offset, n), m, v, g, NO_TENSOR, &spec, &scalars);
    const uint16_t *rounded = room.p;
    for (int64_t i = 0; i < n; i++)
        g_assert_cmpuint(rounded[offset + i], ==, bf16_from_f32(((const float *)w.p)[i]));
    for (int64_t i = 0; i < offset; i++)
        g_assert_true(rounded[i] == bf16_from_f32(77) && rounded[offset + n + i] == bf16_from_f32(77));
    const Tensor all[] = { w, m, v, g, room };
    for (size_t i = 0; i < G_N_ELEMENTS(all); i++)
        device_free(dev, all[i].p);
}

static void an_update_rounds_all_its_weights(void)
{
    static const int64_t sizes[] = { 1, 15, 16, 31, 32, 33, 512, 528, 4096, 4112, 40000, 40016 };
    Device *dev = device_open_cpu(
        2, (Precision){ .compute = DT_BF16, .residual = DT_F32, .grad = DT_F32, .master = DT_F32, .state = DT_F32 });
    for (size_t i = 0; i < G_N_ELEMENTS(sizes); i++)
        for (int64_t offset = 0; offset <= 16; offset += 8)
            check_rounded_weights(dev, sizes[i], offset);
    device_close(dev);
}

static void the_same_under_avx2(void)
{
    run_under_avx2(NULL);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/casts/every_narrow_number_is_widened_exactly", every_narrow_number_is_widened_exactly);
    g_test_add_func("/casts/numbers_are_rounded_to_the_nearest_even", numbers_are_rounded_to_the_nearest_even);
    g_test_add_func("/casts/many_tokens_of_one_entry_are_added_before_they_are_rounded",
                    many_tokens_of_one_entry_are_added_before_they_are_rounded);
    g_test_add_func("/casts/an_update_rounds_all_its_weights", an_update_rounds_all_its_weights);
    if (!under_avx2())
        g_test_add_func("/casts/the_same_under_avx2", the_same_under_avx2);
    return g_test_run();
}
