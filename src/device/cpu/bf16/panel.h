/* panel.h: for the files of this folder only. How the operands of a product lie in memory while they are multiplied.
 *
 * A panel is PANEL rows of a matrix, of which `depth` numbers each are summed over, padded with zeros to a multiple of
 * STEP. It lies in memory step by step; a step is two blocks of SIDE rows × STEP numbers, 1 KiB each. In a block of a
 * left panel the numbers of a row lie side by side: (SIDE, STEP). In a block of a right panel pairs of numbers lie side
 * by side: (STEP / 2, SIDE, 2). Each is the other's transpose, where a pair counts as one element. */
#pragma once

#include "device/cpu/bf16/bf16.h"
#include "device/cpu/share.h"

#define BF16_PASTE_(name, isa)   name##_##isa
#define BF16_PASTE(name, isa)    BF16_PASTE_(name, isa)
#define bf16_products            BF16_PASTE(bf16_products, ISA)
#define bf16_gemm                BF16_PASTE(bf16_gemm, ISA)
#define bf16_tile                BF16_PASTE(bf16_tile, ISA)
#define bf16_attention_fwd       BF16_PASTE(bf16_attention_fwd, ISA)
#define bf16_attention_bwd       BF16_PASTE(bf16_attention_bwd, ISA)
#define bf16_attention_fwd_bytes BF16_PASTE(bf16_attention_fwd_bytes, ISA)
#define bf16_attention_bwd_bytes BF16_PASTE(bf16_attention_bwd_bytes, ISA)
#define bf16_pack                BF16_PASTE(bf16_pack, ISA)
#define bf16_transpose           BF16_PASTE(bf16_transpose, ISA)
#define bf16_product             BF16_PASTE(bf16_product, ISA)
#define bf16_write               BF16_PASTE(bf16_write, ISA)
#define bf16_write_soon          BF16_PASTE(bf16_write_soon, ISA)
#define bf16_enter               BF16_PASTE(bf16_enter, ISA)
#define bf16_leave               BF16_PASTE(bf16_leave, ISA)

enum { SIDE = 16, PANEL = 2 * SIDE, STEP = 32, BLOCK = SIDE * STEP, PANEL_STEP = 2 * BLOCK };

/* A matrix of `rows` rows, of which `depth` numbers are summed over: number d of row r is p[r·ld + d], or p[d·ld + r]
 * if `transposed`. */
typedef struct Source {
    const void *p;
    int64_t ld, rows, depth;
    bool transposed, f32; /* f32: numbers of f32, which are rounded; else of bf16 */
} Source;

typedef enum Side { LEFT, RIGHT } Side;

static inline int64_t steps_of(int64_t depth)
{
    return (depth + STEP - 1) / STEP;
}

static inline int64_t panels_of(int64_t rows)
{
    return (rows + PANEL - 1) / PANEL;
}

void bf16_gemm(Device *dev, Tensor y, Tensor a, Tensor b, bool ta, bool tb, float alpha, float beta);
void bf16_tile(float *y, int64_t ldy, Panel a, Panel b, int64_t m, int64_t n, int64_t k, float alpha, float beta,
               void *scratch);

size_t bf16_attention_fwd_bytes(const AttnSpec *spec, int64_t size);
size_t bf16_attention_bwd_bytes(const AttnSpec *spec, int64_t size);
void bf16_attention_fwd(Tensor o, float *lse, const Head *head, void *memory);
void bf16_attention_bwd(const HeadBwd *hb, Tensor dk, Tensor dv, bool first, bool last, void *memory);

/* Writes n panels, those of rows [row, row + n PANEL), to `to`, aligned to 64; rows beyond the last are zeros. */
void bf16_pack(uint16_t *to, Source source, int64_t row, int64_t n, Side side);

/* Transposes a block in place: left becomes right, right left. */
void bf16_transpose(uint16_t *block);

/* The left factor: a left panel, or the rows of a matrix where they lie. */
typedef struct Left {
    const uint16_t *p;
    int64_t ld, lower, step; /* numbers from a row to the next, to row SIDE, and from a step to the next */
} Left;

static inline Left left_panel(const uint16_t *panel)
{
    return (Left){ panel, STEP, BLOCK, PANEL_STEP };
}

/* sums (PANEL,PANEL) = left · rightᵀ over `steps` steps; `add`: += . Sums are aligned to 64. The right panel should lie
 * in the first-level cache, the left one in the second-level cache. */
void bf16_product(float *sums, Left left, const uint16_t *right, int64_t steps, bool add);

/* What a thread must call before its first product, and after its last and before others read what it wrote. */
void bf16_enter(void);
void bf16_leave(void);

/* Brings the part of y that bf16_write will write into the first-level cache. */
void bf16_write_soon(Tensor y, int64_t row, int64_t col);
/* y [row, …) [col, …) = alpha · sums + beta · y, within y's shape; y is bf16 or f32. `past`: where it can, past the
 * caches, which is faster where y does not fit them. */
void bf16_write(Tensor y, const float *sums, int64_t row, int64_t col, float alpha, float beta, bool past);
