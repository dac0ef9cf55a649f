/* attention.h: for the attention_*.c files of this folder only. A head's keys and values are packed once; its scores
 * exist as blocks of PANEL queries × PANEL keys in f32, in the caches, and become operands of the next products, in
 * bf16, in the pass that computes their exponentials. Exponents are base 2: log2(e) is part of the factors. */
#pragma once

#include "device/cpu/attention.h"
#include "device/cpu/bf16/panel.h"
#include "device/cpu/mask.h"

#define bf16_key_panels   BF16_PASTE(bf16_key_panels, ISA)
#define bf16_pack_rows    BF16_PASTE(bf16_pack_rows, ISA)
#define bf16_pack_columns BF16_PASTE(bf16_pack_columns, ISA)
#define bf16_left_rows    BF16_PASTE(bf16_left_rows, ISA)
#define bf16_bias         BF16_PASTE(bf16_bias, ISA)

enum { SUMS = PANEL * PANEL }; /* numbers of a block of sums, as of a step of a panel */

#define LOG2_E 1.44269504f
#define LN_2   0.693147181f

/* How keys are packed: a unit is a key block of the layout, padded to whole panels, so that the keys of a Run begin
 * with a panel; without a layout it is a panel. */
typedef struct KeyPanels {
    int64_t unit, panels;    /* keys of a unit, and its panels */
    int64_t tile_keys, tile; /* of a tile: the fewest units of at least so many panels as were asked for */
} KeyPanels;

KeyPanels bf16_key_panels(const AttnSpec *spec, int64_t panels);

/* The panels of n keys from the beginning of a unit on. */
static inline int64_t panels_of_keys(KeyPanels kp, int64_t n)
{
    return (n + kp.unit - 1) / kp.unit * kp.panels;
}

/* The panel that begins with a key, counted from the panel of key 0. */
static inline int64_t panel_of_key(KeyPanels kp, int64_t key)
{
    return key / kp.unit * kp.panels + key % kp.unit / PANEL;
}

/* The rows of t (keys, size) as right panels with the channels summed over. */
void bf16_pack_rows(uint16_t *to, Tensor t, KeyPanels kp);
/* The columns of t (keys, size) as right panels with the keys summed over, each of panels_of_keys steps. */
void bf16_pack_columns(uint16_t *to, Tensor t, KeyPanels kp);
/* The left panel of rows [row, row + n) of t, in place if possible, else in `buffer`. */
Left bf16_left_rows(uint16_t *buffer, Tensor t, int64_t row, int64_t n);

/* A head's bias for exponents of base 2: bias[j - i], with PANEL zeros on either side. `to` has room for
 * bias_numbers of them. NULL where there is no bias. */
const float *bf16_bias(float *to, const Head *head);

static inline int64_t bias_numbers(int64_t tq, int64_t tk)
{
    return tq + tk + 2 * PANEL;
}

static inline size_t numbers_of_f32(int64_t n)
{
    return (size_t)n * sizeof(float);
}

static inline size_t numbers_of_bf16(int64_t n)
{
    return (size_t)n * sizeof(uint16_t);
}

/* The lanes of columns [first, first + PANEL) that lie within the range. */
static inline uint32_t lanes_within(Range range, int64_t first)
{
    int64_t begin = max_i64(range.begin - first, 0), end = min_i64(range.end - first, PANEL);
    return begin >= end ? 0 : (uint32_t)(((uint64_t)1 << end) - ((uint64_t)1 << begin));
}

/* 2^x to 1.5e-7 of itself: 2^⌊x⌋ times a minimax polynomial of x - ⌊x⌋. */
static inline __m512 exp2_f32(__m512 x)
{
    enum { FLOOR = 1 };
    __m512 r = _mm512_reduce_ps(x, FLOOR), p = _mm512_set1_ps(1.87757669e-3f);
    p = _mm512_fmadd_ps(p, r, _mm512_set1_ps(8.98934063e-3f));
    p = _mm512_fmadd_ps(p, r, _mm512_set1_ps(5.58263175e-2f));
    p = _mm512_fmadd_ps(p, r, _mm512_set1_ps(2.40153611e-1f));
    p = _mm512_fmadd_ps(p, r, _mm512_set1_ps(6.93153083e-1f));
    p = _mm512_fmadd_ps(p, r, _mm512_set1_ps(9.99999940e-1f));
    return _mm512_scalef_ps(p, x);
}
