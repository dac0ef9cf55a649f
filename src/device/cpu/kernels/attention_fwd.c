/* attention_fwd.c: computes the softmax of a block's scores and its product with the values. */
#include "device/cpu/kernels/attention.h"

/* Adds bias[j] (NULL means no bias) to n scores; returns the largest. */
static float biased_max(float *scores, const float *bias, int64_t n)
{
    float max = -INFINITY;
    if (!bias) {
#pragma omp simd reduction(max : max)
        for (int64_t j = 0; j < n; j++)
            max = scores[j] > max ? scores[j] : max;
        return max;
    }
#pragma omp simd reduction(max : max)
    for (int64_t j = 0; j < n; j++) {
        float score = scores[j] + bias[j];
        scores[j] = score;
        max = score > max ? score : max;
    }
    return max;
}

static float exponentials_row(float *scores, float max, int64_t n)
{
    float total = 0;
#pragma omp simd reduction(+ : total)
    for (int64_t j = 0; j < n; j++) {
        float term = exp_f32(scores[j] - max);
        scores[j] = term;
        total += term;
    }
    return total;
}

/* Online softmax of a row: the largest score so far, and the sum of e^(score - max). */
typedef struct Softmax {
    float max, sum;
} Softmax;

/* Row i of a tile's scores becomes e^(score + bias - max), zero where masked. Returns the factor on what earlier tiles
 * added to the sums of this row: e^(their max - max). */
static float softmax_row(float *row, const Head *head, Block tile, int64_t i, Softmax *softmax)
{
    float max = softmax->max, total = 0;
    for (const KeyRange *run = tile.runs; run < tile.runs + tile.n_runs; run++) {
        Range seen = attn_seen(head, i, run);
        float *scores = row + run->column;
        attn_mask_outside(scores, seen, run->keys);
        float most =
            biased_max(scores + seen.begin, attn_bias_from(head, i, run->begin + seen.begin), seen.end - seen.begin);
        max = most > max ? most : max;
    }
    for (const KeyRange *run = tile.runs; run < tile.runs + tile.n_runs; run++) {
        Range seen = attn_seen(head, i, run);
        total += exponentials_row(row + run->column + seen.begin, max, seen.end - seen.begin);
    }
    float factor = softmax->max < max ? exp_f32(softmax->max - max) : 1;
    *softmax = (Softmax){ max, softmax->sum * factor + total };
    return factor;
}

static void scale_row(float *row, float factor, int64_t n)
{
    SIMD for (int64_t c = 0; c < n; c++) row[c] *= factor;
}

/* Adds the part of one tile to the sums of a block: scratch->block (rows,size) += e^(scores - max) v. */
static void tile_fwd(Device *dev, const Scratch *scratch, const Head *head, Block tile, Softmax *softmax, bool first)
{
    int64_t ld = attn_tile_ld(head), size = head->size;
    attn_scores(dev, scratch, head, tile);
    for (int64_t r = 0; r < tile.rows; r++) {
        float *row = scratch->tile + r * ld, factor = softmax_row(row, head, tile, tile.first + r, &softmax[r]);
        if (!first && factor < 1)
            scale_row(scratch->block + r * size, factor, size);
        if (head->drop->rate > 0) {
            attn_dropout(scratch->mask, head, tile, tile.first + r);
            SIMD for (int64_t j = 0; j < tile.columns; j++) row[j] *= scratch->mask[j];
        }
    }
    for (const KeyRange *run = tile.runs; run < tile.runs + tile.n_runs; run++)
        cpu_gemm_tile(dev, scratch->block, size, (Panel){ scratch->tile + run->column, ld, false, DT_F32 },
                      attn_panel(head->v, run->begin, false), tile.rows, size, run->keys, 1,
                      first && run == tile.runs ? 0 : 1, scratch->panels);
}

/* Computes o (rows,size) and the log-sum-exps of a block. */
static void block_fwd(Device *dev, Tensor o, float *lse, const Scratch *scratch, const Head *head, Block b)
{
    Softmax softmax[TILE_QUERIES];
    for (int64_t r = 0; r < b.rows; r++)
        softmax[r] = (Softmax){ .max = -INFINITY };
    for (int run = 0; run < b.n_runs;) {
        bool first = run == 0;
        tile_fwd(dev, scratch, head, attn_tile(b, &run), softmax, first);
    }
    for (int64_t r = 0; r < b.rows; r++) {
        float *row = scratch->block + r * head->size, sum = softmax[r].sum;
        lse[r] = sum > 0 ? softmax[r].max + logf(sum) : 0;
        scale_row(row, sum > 0 ? 1 / sum : 0, head->size);
        row_write(o, r, 0, head->size, row);
    }
}

/* Computes o (tq,size) and log_sums (tq) of all queries of a head. */
static void head_fwd(Device *dev, Tensor o, float *log_sums, const Scratch *scratch, const Head *head)
{
    for (int64_t first = 0; first < head->tq;) {
        Block b = attn_block(head, first, attn_tiling, (Range){ 0, head->tk }, scratch->runs);
        Tensor rows = tensor_slice_rows(o, first, b.rows);
        if (b.columns > 0) {
            block_fwd(dev, rows, log_sums + first, scratch, head, b);
        } else {
            zero_rows(rows);
            memset(log_sums + first, 0, (size_t)b.rows * sizeof *log_sums);
        }
        first += b.rows;
    }
}

void KERNEL(attn_fwd)(Device *dev, Tensor o, Tensor lse, Tensor q, Tensor k, Tensor v, Tensor bias,
                      const AttnSpec *spec, const Dropout *drop)
{
    if (spec->distance) {
        cpu_attn_distance_fwd(dev, o, lse, q, k, v, spec, drop);
        return;
    }
    if (spec->max_q <= FEW_QUERIES && !spec->layout && drop->rate == 0) {
        cpu_attn_single_fwd(dev, o, lse, q, k, v, bias, spec);
        return;
    }
    int64_t size = q.d[1] / spec->heads;
    const Bf16Products *bf16 = attn_bf16(dev, spec);
    size_t bias_bytes = row_bytes(spec->max_q + spec->max_k);
    size_t bytes =
        bias_bytes + (bf16 ? bf16->attention_fwd_bytes(spec, size) : attn_scratch_bytes(dev, spec, size, false));
    char *workspace = cpu_workspace(dev, (size_t)dev->threads * bytes);
    cpu_gemm_enter(dev);
    zero_uncovered(o, spec->cu_q.device, spec->n_seq);
    KERNEL(fill)(dev, lse, 0);
#pragma omp parallel for num_threads(dev->threads) schedule(dynamic, 1)
    for (int64_t task = 0; task < (int64_t)spec->n_seq * spec->heads; task++) {
        char *memory = workspace + (size_t)omp_get_thread_num() * bytes;
        Head head = head_of(spec, drop, (int32_t)(task / spec->heads), (int32_t)(task % spec->heads), q, k, v, bias,
                            (float *)memory);
        Tensor rows = head_rows(o, head.q_first, head.tq, head.index, size);
        float *log_sums = row_of(lse, head.index) + head.q_first;
        if (bf16) {
            bf16->attention_fwd(rows, log_sums, &head, memory + bias_bytes);
        } else {
            Scratch scratch = attn_scratch_at(dev, memory + bias_bytes, spec, size, false);
            head_fwd(dev, rows, log_sums, &scratch, &head);
        }
    }
}
