/* attention_fwd.c: the softmax of a block's scores, and its product with the values. */
#include "device/cpu/kernels/attention.h"

#include <math.h>
#include <string.h>

/* Adds bias[j], where there is one, to n scores; returns the largest. */
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

static float exponentials(float *scores, float max, int64_t n)
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

/* Row i of scores becomes e^(score + bias - max), zero where masked; returns the log-sum-exp. *sum is that of the row.
 */
static float softmax_row(float *row, const Head *head, Block b, int64_t i, float *sum)
{
    float max = -INFINITY, total = 0;
    for (const Run *run = b.runs; run < b.runs + b.n_runs; run++) {
        Range seen = attn_seen(head, i, run);
        float *scores = row + run->column;
        attn_mask_outside(scores, seen, run->keys);
        float most =
            biased_max(scores + seen.begin, attn_bias_from(head, i, run->begin + seen.begin), seen.end - seen.begin);
        max = most > max ? most : max;
    }
    for (const Run *run = b.runs; run < b.runs + b.n_runs; run++) {
        Range seen = attn_seen(head, i, run);
        total += exponentials(row + run->column + seen.begin, max, seen.end - seen.begin);
    }
    *sum = total;
    return total > 0 ? max + logf(total) : 0.0f;
}

/* o (rows,size) of a block and its log-sum-exps. */
static void block_fwd(Device *dev, Tensor o, float *lse, const Desk *desk, const Head *head, Block b)
{
    float sums[MAX_BLOCK];
    int64_t ld = attn_tile_ld(head), size = head->size;
    attn_scores(dev, desk, head, b);
    for (int64_t r = 0; r < b.rows; r++) {
        float *row = desk->tile + r * ld;
        lse[r] = softmax_row(row, head, b, b.first + r, &sums[r]);
        if (head->drop->rate > 0) {
            attn_dropout(desk->mask, head, b, b.first + r);
            SIMD for (int64_t j = 0; j < b.columns; j++) row[j] *= desk->mask[j];
        }
    }
    for (const Run *run = b.runs; run < b.runs + b.n_runs; run++)
        cpu_gemm_tile(dev, desk->block, size, (Panel){ desk->tile + run->column, ld, false, DT_F32 },
                      attn_panel(head->v, run->begin, false), b.rows, size, run->keys, 1, run == b.runs ? 0 : 1,
                      desk->panels);
    for (int64_t r = 0; r < b.rows; r++) {
        float *row = desk->block + r * size, factor = sums[r] > 0 ? 1 / sums[r] : 0;
        SIMD for (int64_t c = 0; c < size; c++) row[c] *= factor;
        row_write(o, r, 0, size, row);
    }
}

/* o (tq,size) and log_sums (tq) of all queries of a head. */
static void head_fwd(Device *dev, Tensor o, float *log_sums, const Desk *desk, const Head *head)
{
    for (int64_t first = 0; first < head->tq;) {
        Block b = attn_block(head, first, desk->runs);
        Tensor rows = tensor_slice_rows(o, first, b.rows);
        if (b.columns > 0) {
            block_fwd(dev, rows, log_sums + first, desk, head, b);
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
    int64_t size = q.d[1] / spec->heads;
    size_t bytes = attn_desk_bytes(dev, spec, size, false);
    char *workspace = cpu_workspace(dev, (size_t)dev->threads * bytes);
    cpu_gemm_enter(dev);
    zero_uncovered(o, spec->cu_q.device, spec->n_seq);
    KERNEL(fill)(dev, lse, 0);
#pragma omp parallel for num_threads(dev->threads) schedule(dynamic, 1)
    for (int64_t task = 0; task < (int64_t)spec->n_seq * spec->heads; task++) {
        Desk desk = attn_desk_at(dev, workspace + (size_t)omp_get_thread_num() * bytes, spec, size, false);
        Head head =
            head_of(spec, drop, (int32_t)(task / spec->heads), (int32_t)(task % spec->heads), q, k, v, bias, desk.bias);
        head_fwd(dev, head_rows(o, head.q_first, head.tq, head.index, size), row_of(lse, head.index) + head.q_first,
                 &desk, &head);
    }
}
