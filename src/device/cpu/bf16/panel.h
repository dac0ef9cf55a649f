/* panel.h: the layout of the operands of a matrix product while they are multiplied; only for the files of this folder.
 *
 * A panel is PANEL rows of a matrix, copied to contiguous memory; the product sums over the `depth` numbers of a row,
 * padded with zeros to a multiple of STEP. A panel consists of steps: STEP numbers of each row. A step consists of two
 * blocks of SIDE rows × STEP numbers, 1 KiB each. A block of a left operand has the layout (SIDE, STEP): the numbers of
 * a row are contiguous. A block of a right operand has the layout (STEP / 2, SIDE, 2): pairs of numbers of a row are
 * contiguous. If a pair counts as one element, the second layout is the transpose of the first. */
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
#define bf16_few_rows            BF16_PASTE(bf16_few_rows, ISA)
#define bf16_widen_bias          BF16_PASTE(bf16_widen_bias, ISA)
#define bf16_pack                BF16_PASTE(bf16_pack, ISA)
#define bf16_transpose           BF16_PASTE(bf16_transpose, ISA)
#define bf16_product             BF16_PASTE(bf16_product, ISA)
#define bf16_write               BF16_PASTE(bf16_write, ISA)
#define bf16_write_soon          BF16_PASTE(bf16_write_soon, ISA)
#define bf16_enter               BF16_PASTE(bf16_enter, ISA)
#define bf16_leave               BF16_PASTE(bf16_leave, ISA)

/* Sizes of blocks and panels, in rows and numbers; BLOCK and PANEL_STEP: numbers in a block, in a step of a panel. */
enum { SIDE = 16, PANEL = 2 * SIDE, STEP = 32, BLOCK = SIDE * STEP, PANEL_STEP = 2 * BLOCK };

/* A matrix operand before it is packed: `rows` rows of `depth` numbers, over which the product sums. Number d of row r
 * is p[r·ld + d], or p[d·ld + r] if `transposed`. */
typedef struct Source {
    const void *p;
    int64_t ld, rows, depth;
    bool transposed, f32; /* f32: true means f32 numbers, which are rounded to bf16; false means bf16 */
} Source;

typedef enum Side { LEFT, RIGHT } Side;

/* The number of steps of a panel. */
static inline int64_t steps_of(int64_t depth)
{
    return (depth + STEP - 1) / STEP;
}

/* The number of panels for `rows` rows. */
static inline int64_t panels_of(int64_t rows)
{
    return (rows + PANEL - 1) / PANEL;
}

/* The functions of Bf16Products (bf16.h). */
void bf16_gemm(Device *dev, Tensor y, Tensor a, Tensor b, Tensor bias, bool ta, bool tb, float alpha, float beta);
void bf16_tile(float *y, int64_t ldy, Panel a, Panel b, int64_t m, int64_t n, int64_t k, float alpha, float beta,
               void *scratch);

size_t bf16_attention_fwd_bytes(const AttnSpec *spec, int64_t size);
size_t bf16_attention_bwd_bytes(const AttnSpec *spec, int64_t size);
void bf16_attention_fwd(Tensor o, float *lse, const Head *head, void *memory);
void bf16_attention_bwd(const HeadBwd *hb, Tensor dk, Tensor dv, bool first, bool last, void *memory);

/* Packs n panels, rows [row, row + n · PANEL) of the source, to `to`, which is aligned to 64 bytes; rows after the last
 * row of the source become zeros. */
void bf16_pack(uint16_t *to, Source source, int64_t row, int64_t n, Side side);

/* Transposes a block in place: converts between the layouts of left and right operands. */
void bf16_transpose(uint16_t *block);

/* A left operand: a left panel, or rows of a matrix that are used in place. */
typedef struct Left {
    const uint16_t *p;
    int64_t ld, lower,
        step; /* distances in numbers: from a row to the next; from row 0 to row SIDE; from a step to the next */
} Left;

/* A left panel as the left operand of a product. */
static inline Left left_panel(const uint16_t *panel)
{
    return (Left){ panel, STEP, BLOCK, PANEL_STEP };
}

/* sums (PANEL,PANEL) = left · rightᵀ over `steps` steps of both; with `add` sums += left · rightᵀ. `sums` is aligned to
 * 64 bytes. It is fastest if the right panel is in the first-level cache and the left operand in the second. */
void bf16_product(float *sums, Left left, const uint16_t *right, int64_t steps, bool add);

/* A thread must call bf16_enter before its first bf16_product, and bf16_leave before other threads read its results. */
void bf16_enter(void);
void bf16_leave(void);

/* How a matrix product is written: y = alpha · sums + beta · y + bias. */
typedef struct Output {
    Tensor y;          /* bf16 or f32 */
    const float *bias; /* one number per column of y, then zeros up to a whole panel; NULL means no bias */
    float alpha, beta;
    bool past; /* write y with non-temporal stores where possible, which is faster if y does not fit the caches */
} Output;

/* Prefetches the part of y that bf16_write will write into the first-level cache. */
void bf16_write_soon(Tensor y, int64_t row, int64_t col);
/* Writes sums (PANEL,PANEL) to rows from `row` on and columns from `col` on of y; drops numbers outside of y. */
void bf16_write(const Output *to, const float *sums, int64_t row, int64_t col);

/* Writes an Output.bias to `to`: bias (n) converted to f32, then zeros up to a whole panel. */
void bf16_widen_bias(Device *dev, float *to, Tensor bias);

/* y = alpha x wᵀ + beta y + bias, computed by `team` threads, for an x with few rows; alpha, beta and y are those of
 * `to`. Returns false, and does nothing, if x has too many rows or the depth is not a multiple of STEP. */
bool bf16_few_rows(Device *dev, Output to, Tensor bias, Tensor x, Tensor w, int team);
