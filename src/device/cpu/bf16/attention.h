/* attention.h: attention with matrix products of bf16, only for the attention_*.c files of this folder. The keys and
 * values of a head are packed into panels once (panel.h). Scores exist only as blocks of PANEL queries × PANEL keys in
 * f32, in the caches; the loop that computes their exponentials also rounds these to bf16, as operands of the next
 * matrix product. Exponentials are computed as powers of 2; the factor log2(e) is part of the scale. */
#pragma once

#include "device/cpu/attention.h"
#include "device/cpu/bf16/panel.h"
#include "device/cpu/mask.h"

#define bf16_key_panels   BF16_PASTE(bf16_key_panels, ISA)
#define bf16_pack_rows    BF16_PASTE(bf16_pack_rows, ISA)
#define bf16_pack_columns BF16_PASTE(bf16_pack_columns, ISA)
#define bf16_left_rows    BF16_PASTE(bf16_left_rows, ISA)
#define bf16_bias         BF16_PASTE(bf16_bias, ISA)

enum { SUMS = PANEL * PANEL }; /* number of elements in a block of sums (PANEL,PANEL) */

#define LOG2_E 1.44269504f
#define LN_2   0.693147181f

/* How the keys of a head are packed into panels. A unit is a key block of the layout, padded to whole panels, so that
 * every key range (KeyRange) begins at the beginning of a panel; without a layout a unit is one panel. */
typedef struct KeyPanels {
    int64_t unit, panels;    /* number of keys, and of panels, in a unit */
    int64_t tile_keys, tile; /* number of keys, and of panels, in a tile: the smallest number of whole units with at
                                least the number of panels given to bf16_key_panels */
} KeyPanels;

/* Decides the packing. panels: the smallest number of panels in a tile. */
KeyPanels bf16_key_panels(const AttnSpec *spec, int64_t panels);

/* The number of panels for n keys, the first of which begins a unit. */
static inline int64_t panels_of_keys(KeyPanels kp, int64_t n)
{
    return (n + kp.unit - 1) / kp.unit * kp.panels;
}

/* The index of the panel that begins with key `key`. */
static inline int64_t panel_of_key(KeyPanels kp, int64_t key)
{
    return key / kp.unit * kp.panels + key % kp.unit / PANEL;
}

/* Packs the rows of t (keys, size) as right panels, for products that sum over channels. */
void bf16_pack_rows(uint16_t *to, Tensor t, KeyPanels kp);
/* Packs the columns of t (keys, size) as right panels of panels_of_keys steps, for products that sum over keys. */
void bf16_pack_columns(uint16_t *to, Tensor t, KeyPanels kp);
/* Rows [row, row + n) of t as the left operand of a product: in place if possible, otherwise copied to `buffer`. */
Left bf16_left_rows(uint16_t *buffer, Tensor t, int64_t row, int64_t n);

/* Writes the bias of a head, times log2(e), with PANEL zeros before and after it, to `to` (bias_numbers), and returns a
 * pointer such that result[j - i] is the bias for key j and query i; NULL if there is no bias. */
const float *bf16_bias(float *to, const Head *head);

/* The number of elements that bf16_bias writes. */
static inline int64_t bias_numbers(int64_t tq, int64_t tk)
{
    return tq + tk + 2 * PANEL;
}

/* Bytes of n numbers. */
static inline size_t numbers_of_f32(int64_t n)
{
    return (size_t)n * sizeof(float);
}

static inline size_t numbers_of_bf16(int64_t n)
{
    return (size_t)n * sizeof(uint16_t);
}

/* A bit mask: bit c is set if column first + c is within the range, for c < PANEL. */
static inline uint32_t lanes_within(Range range, int64_t first)
{
    int64_t begin = max_i64(range.begin - first, 0), end = min_i64(range.end - first, PANEL);
    return begin >= end ? 0 : (uint32_t)(((uint64_t)1 << end) - ((uint64_t)1 << begin));
}

/* 2^x with a relative error of at most 1.5e-7: 2^⌊x⌋ times a minimax polynomial of x - ⌊x⌋. */
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
