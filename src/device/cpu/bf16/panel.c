/* panel.c: packs panels, and writes the sums of a product. */
#include "device/cpu/bf16/panel.h"
#include "device/cpu/bf16/ahead.h"

#include <immintrin.h>
#include <string.h>

/* Mask of the first n of 16 lanes; mask32: of 32. */
static __mmask16 mask16(int64_t n)
{
    return (__mmask16)(n >= 16 ? 0xFFFF : n <= 0 ? 0 : (1u << n) - 1);
}

static __mmask32 mask32(int64_t n)
{
    return n >= 32 ? 0xFFFFFFFFu : n <= 0 ? 0 : (1u << n) - 1;
}

/* Transposes 16 × 16 pairs in four rounds: each round doubles the side of the squares that are already transposed. */
void bf16_transpose(uint16_t *block)
{
    __m512i r[SIDE], t[SIDE];
    for (int i = 0; i < SIDE; i++)
        r[i] = _mm512_load_si512(block + i * STEP);
    for (int i = 0; i < SIDE; i += 2) {
        t[i] = _mm512_unpacklo_epi32(r[i], r[i + 1]);
        t[i + 1] = _mm512_unpackhi_epi32(r[i], r[i + 1]);
    }
    for (int i = 0; i < SIDE; i += 4) {
        r[i] = _mm512_unpacklo_epi64(t[i], t[i + 2]);
        r[i + 1] = _mm512_unpackhi_epi64(t[i], t[i + 2]);
        r[i + 2] = _mm512_unpacklo_epi64(t[i + 1], t[i + 3]);
        r[i + 3] = _mm512_unpackhi_epi64(t[i + 1], t[i + 3]);
    }
    for (int j = 0; j < 4; j++) { /* lane l of r[4i + j] holds pair 4l + j of rows 4i … 4i + 3 */
        __m512i even = _mm512_shuffle_i32x4(r[j], r[4 + j], 0x88), odd = _mm512_shuffle_i32x4(r[j], r[4 + j], 0xDD);
        __m512i even2 = _mm512_shuffle_i32x4(r[8 + j], r[12 + j], 0x88),
                odd2 = _mm512_shuffle_i32x4(r[8 + j], r[12 + j], 0xDD);
        _mm512_store_si512(block + j * STEP, _mm512_shuffle_i32x4(even, even2, 0x88));
        _mm512_store_si512(block + (4 + j) * STEP, _mm512_shuffle_i32x4(odd, odd2, 0x88));
        _mm512_store_si512(block + (8 + j) * STEP, _mm512_shuffle_i32x4(even, even2, 0xDD));
        _mm512_store_si512(block + (12 + j) * STEP, _mm512_shuffle_i32x4(odd, odd2, 0xDD));
    }
}

/* Loads 32 numbers from `at` on; those outside the mask are zero. */
static inline __m512i numbers(Source s, int64_t at, __mmask32 mask)
{
    if (!s.f32)
        return _mm512_maskz_loadu_epi16(mask, (const uint16_t *)s.p + at);
    const float *from = (const float *)s.p + at;
    return (__m512i)_mm512_cvtne2ps_pbh(_mm512_maskz_loadu_ps((__mmask16)(mask >> 16), from + SIDE),
                                        _mm512_maskz_loadu_ps((__mmask16)mask, from));
}

/* Packs one step of a panel from an operand whose rows are contiguous, in the layout of left panels. */
static void step_of_rows(uint16_t *to, Source s, int64_t row, int64_t first)
{
    __mmask32 mask = mask32(s.depth - first);
    int64_t n = min_i64(PANEL, s.rows - row);
    for (int64_t i = 0; i < PANEL; i++)
        _mm512_store_si512(to + i * STEP, i < n ? numbers(s, (row + i) * s.ld + first, mask) : _mm512_setzero_si512());
}

/* Packs one step of a panel from an operand whose columns are contiguous, in the layout of right panels. */
static void step_of_columns(uint16_t *to, Source s, int64_t row, int64_t first)
{
    static const uint16_t interleave[2][32]
        __attribute__((aligned(64))) = { { 0, 32, 1, 33, 2,  34, 3,  35, 4,  36, 5,  37, 6,  38, 7,  39,
                                           8, 40, 9, 41, 10, 42, 11, 43, 12, 44, 13, 45, 14, 46, 15, 47 },
                                         { 16, 48, 17, 49, 18, 50, 19, 51, 20, 52, 21, 53, 22, 54, 23, 55,
                                           24, 56, 25, 57, 26, 58, 27, 59, 28, 60, 29, 61, 30, 62, 31, 63 } };
    const __m512i upper = _mm512_load_si512(interleave[0]), lower = _mm512_load_si512(interleave[1]);
    __mmask32 mask = mask32(s.rows - row);
    int64_t n = s.depth - first;
    for (int64_t i = 0; i < STEP / 2; i++) {
        int64_t from = (first + 2 * i) * s.ld + row;
        __m512i even = 2 * i < n ? numbers(s, from, mask) : _mm512_setzero_si512();
        __m512i odd = 2 * i + 1 < n ? numbers(s, from + s.ld, mask) : _mm512_setzero_si512();
        _mm512_store_si512(to + i * STEP, _mm512_permutex2var_epi16(even, upper, odd));
        _mm512_store_si512(to + BLOCK + i * STEP, _mm512_permutex2var_epi16(even, lower, odd));
    }
}

/* Packs a left panel whose rows are contiguous, one row after another: the fastest order to read from memory. */
static void pack_rows(uint16_t *to, Source s, int64_t row)
{
    for (int64_t i = 0; i < PANEL; i++)
        for (int64_t first = 0; first < s.depth; first += STEP)
            _mm512_store_si512(to + first / STEP * PANEL_STEP + i * STEP,
                               numbers(s, (row + i) * s.ld + first, row + i < s.rows ? mask32(s.depth - first) : 0));
}

/* Packs n panels together, so that each read of a row covers several cache lines, and prefetches the next numbers. */
static void pack_steps(uint16_t *to, Source s, int64_t row, int64_t n, Side side)
{
    int64_t steps = steps_of(s.depth), size = steps * PANEL_STEP;
    Ahead ahead = ahead_of(s, s.transposed ? row : row + n * PANEL, n, steps * n);
    if (s.transposed)
        ahead.row = STEP;
    for (int64_t first = 0; first < s.depth; first += STEP, to += PANEL_STEP)
        for (int64_t i = 0; i < n; i++) {
            uint16_t *step = to + i * size;
            fetch(&ahead);
            if (s.transposed)
                step_of_columns(step, s, row + i * PANEL, first);
            else
                step_of_rows(step, s, row + i * PANEL, first);
            if (s.transposed == (side == LEFT)) {
                bf16_transpose(step);
                bf16_transpose(step + BLOCK);
            }
        }
}

void bf16_pack(uint16_t *to, Source source, int64_t row, int64_t n, Side side)
{
    int64_t together = source.transposed ? 8 : 1, size = steps_of(source.depth) * PANEL_STEP;
    for (int64_t i = 0; i < n; i += together)
        if (source.transposed || side == RIGHT)
            pack_steps(to + i * size, source, row + i * PANEL, min_i64(together, n - i), side);
        else
            pack_rows(to + i * size, source, row + i * PANEL);
}

static __m512 widened(__mmask16 mask, const uint16_t *p)
{
    return _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(_mm256_maskz_loadu_epi16(mask, p)), 16));
}

/* SIDE numbers of the output before rounding: alpha · sums + beta · y + bias. */
static inline __m512 scaled(const Output *to, const float *sums, int64_t col)
{
    __m512 value = _mm512_load_ps(sums), alpha = _mm512_set1_ps(to->alpha);
    return to->bias ? _mm512_fmadd_ps(alpha, value, _mm512_loadu_ps(to->bias + col)) : _mm512_mul_ps(alpha, value);
}

/* Writes n ≤ SIDE numbers of a row of the output. */
static void write_part(const Output *to, const float *sums, int64_t at, int64_t col, int64_t n)
{
    __mmask16 mask = mask16(n);
    __m512 value = n > 0 ? scaled(to, sums, col) : _mm512_setzero_ps(), beta = _mm512_set1_ps(to->beta);
    if (to->y.dtype == DT_F32) {
        float *y = (float *)to->y.p + at;
        if (to->beta != 0)
            value = _mm512_fmadd_ps(beta, _mm512_maskz_loadu_ps(mask, y), value);
        _mm512_mask_storeu_ps(y, mask, value);
    } else {
        uint16_t *y = (uint16_t *)to->y.p + at;
        if (to->beta != 0)
            value = _mm512_fmadd_ps(beta, widened(mask, y), value);
        _mm256_mask_storeu_epi16(y, mask, (__m256i)_mm512_cvtneps_pbh(value));
    }
}

/* Whether each PANEL numbers of a row of y, from columns that are multiples of PANEL, start at a cache line. */
static bool begins_lines(Tensor y)
{
    int64_t bytes = y.dtype == DT_F32 ? sizeof(float) : sizeof(uint16_t);
    return ((int64_t)(uintptr_t)y.p | y.ld * bytes) % CACHE_LINE == 0;
}

/* Writes whole rows with non-temporal stores: a cache line that is written as a whole need not be read first. */
static void write_lines(const Output *to, const float *sums, int64_t at, int64_t col, int64_t rows)
{
    for (int64_t i = 0; i < rows; i++, at += to->y.ld, sums += PANEL) {
        __m512 first = scaled(to, sums, col), second = scaled(to, sums + SIDE, col + SIDE);
        if (to->y.dtype == DT_F32) {
            _mm512_stream_ps((float *)to->y.p + at, first);
            _mm512_stream_ps((float *)to->y.p + at + SIDE, second);
        } else {
            _mm512_stream_si512((void *)((uint16_t *)to->y.p + at), (__m512i)_mm512_cvtne2ps_pbh(second, first));
        }
    }
}

void bf16_widen_bias(Device *dev, float *to, Tensor bias)
{
    int64_t n = bias.d[0];
    dev->ops->copy(dev, tensor_vector(to, DT_F32, n), bias);
    memset(to + n, 0, (size_t)(panels_of(n) * PANEL - n) * sizeof *to);
}

void bf16_write_soon(Tensor y, int64_t row, int64_t col)
{
    int64_t rows = min_i64(PANEL, y.d[0] - row), bytes = y.dtype == DT_F32 ? sizeof(float) : sizeof(uint16_t);
    const char *at = (const char *)y.p + (row * y.ld + col) * bytes;
    for (int64_t i = 0; i < rows; i++, at += y.ld * bytes) {
        __builtin_prefetch(at, 1, 3);
        if (y.dtype == DT_F32)
            __builtin_prefetch(at + CACHE_LINE, 1, 3);
    }
}

void bf16_write(const Output *to, const float *sums, int64_t row, int64_t col)
{
    Tensor y = to->y;
    int64_t rows = min_i64(PANEL, y.d[0] - row), cols = min_i64(PANEL, y.d[1] - col), at = row * y.ld + col;
    if (to->past && cols == PANEL && to->beta == 0 && begins_lines(y)) {
        write_lines(to, sums, at, col, rows);
        return;
    }
    for (int64_t i = 0; i < rows; i++, at += y.ld, sums += PANEL) {
        write_part(to, sums, at, col, cols);
        write_part(to, sums + SIDE, at + SIDE, col + SIDE, cols - SIDE);
    }
}
