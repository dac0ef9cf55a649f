/* attention_bwd.c: gradients of queries, keys, values and biases, a block of queries at a time. */
#include "device/cpu/kernels/attention.h"

/* Row i of scores becomes the probabilities e^(score + bias - lse), zero where masked. */
static void probabilities_row(float *row, const Head *head, Block b, int64_t i, float lse)
{
    for (const KeyRange *run = b.runs; run < b.runs + b.n_runs; run++) {
        Range seen = attn_seen(head, i, run);
        const float *bias = attn_bias_from(head, i, run->begin + seen.begin);
        float *scores = row + run->column;
        int64_t n = seen.end - seen.begin;
        attn_mask_outside(scores, seen, run->keys);
        scores += seen.begin;
        if (bias) {
            SIMD for (int64_t j = 0; j < n; j++) scores[j] = exp_f32(scores[j] + bias[j] - lse);
        } else {
            SIMD for (int64_t j = 0; j < n; j++) scores[j] = exp_f32(scores[j] - lse);
        }
    }
}

/* Row i of a tile: p (columns) becomes p∘mask, dp (columns) becomes ds = p∘(mask∘dp - delta), where delta = Σ p∘mask∘dp
 * over all keys = dout·o. */
static void score_gradient_row(float *p, float *dp, float delta, const Scratch *scratch, const HeadBwd *hb, Block tile,
                               int64_t i)
{
    int64_t n = tile.columns;
    if (hb->head.drop->rate > 0) {
        const float *mask = scratch->mask;
        attn_dropout(scratch->mask, &hb->head, tile, i);
        SIMD for (int64_t j = 0; j < n; j++)
        {
            dp[j] = p[j] * (mask[j] * dp[j] - delta);
            p[j] *= mask[j];
        }
    } else {
        SIMD for (int64_t j = 0; j < n; j++) dp[j] = p[j] * (dp[j] - delta);
    }
    for (const KeyRange *run = tile.runs; hb->dbias && run < tile.runs + tile.n_runs; run++) {
        float *to = hb->dbias - i + run->begin;
        const float *terms = dp + run->column;
        SIMD for (int64_t j = 0; j < run->keys; j++) to[j] += terms[j];
    }
}

/* Adds the part of one key range to a block's gradients, from the probabilities and the gradients of its scores. first:
 * dq is written instead of added to; beta: factor on the old dk and dv. */
static void run_bwd(Device *dev, const HeadBwd *hb, const Scratch *scratch, Block b, const KeyRange *run, bool first,
                    float beta)
{
    const Head *head = &hb->head;
    int64_t ld = attn_tile_ld(head), size = head->size, keys = run->keys, at = run->begin * size;
    float scale = head->spec->scale;
    const float *p = scratch->tile + run->column, *ds = scratch->gradients + run->column;
    cpu_gemm_tile(dev, scratch->dv + at, size, (Panel){ p, ld, true, DT_F32 }, attn_panel(hb->dout, b.first, false),
                  keys, size, b.rows, 1, beta, scratch->panels);
    cpu_gemm_tile(dev, scratch->block, size, (Panel){ ds, ld, false, DT_F32 }, attn_panel(head->k, run->begin, false),
                  b.rows, size, keys, scale, first ? 0 : 1, scratch->panels);
    cpu_gemm_tile(dev, scratch->dk + at, size, (Panel){ ds, ld, true, DT_F32 }, attn_panel(head->q, b.first, false),
                  keys, size, b.rows, scale, beta, scratch->panels);
}

/* Adds the part of one tile to the gradients. deltas (rows): as in score_gradient_row. */
static void tile_bwd(Device *dev, const HeadBwd *hb, const Scratch *scratch, Block tile, const float *deltas,
                     bool first, float beta)
{
    const Head *head = &hb->head;
    int64_t ld = attn_tile_ld(head), size = head->size;
    Panel dout = attn_panel(hb->dout, tile.first, false);
    attn_scores(dev, scratch, head, tile);
    for (const KeyRange *run = tile.runs; run < tile.runs + tile.n_runs; run++)
        cpu_gemm_tile(dev, scratch->gradients + run->column, ld, dout, attn_panel(head->v, run->begin, true), tile.rows,
                      run->keys, size, 1, 0, scratch->panels);
    for (int64_t r = 0; r < tile.rows; r++) {
        int64_t i = tile.first + r;
        probabilities_row(scratch->tile + r * ld, head, tile, i, hb->lse[i]);
        score_gradient_row(scratch->tile + r * ld, scratch->gradients + r * ld, deltas[r], scratch, hb, tile, i);
    }
    for (const KeyRange *run = tile.runs; run < tile.runs + tile.n_runs; run++)
        run_bwd(dev, hb, scratch, tile, run, first && run == tile.runs, beta);
}

/* beta: factor on the old dk and dv; 0 for the first block if it attends to all keys, otherwise 1. */
static void block_bwd(Device *dev, const HeadBwd *hb, const Scratch *scratch, Block b, float beta)
{
    int64_t size = hb->head.size;
    float deltas[TILE_QUERIES];
    for (int64_t r = 0; r < b.rows; r++)
        deltas[r] = dot(row_read(scratch->row, hb->dout, b.first + r, 0, size),
                        row_read(scratch->other, hb->o, b.first + r, 0, size), size);
    for (int run = 0; run < b.n_runs;) {
        bool first = run == 0;
        tile_bwd(dev, hb, scratch, attn_tile(b, &run), deltas, first, beta);
    }
    for (int64_t r = 0; r < b.rows; r++)
        row_write(hb->dq, b.first + r, 0, size, scratch->block + r * size);
}

/* The first query of the block that ends before `end`; blocks are the same as in forward. */
static int64_t block_before(const Head *head, int64_t end)
{
    const BlockLayout *layout = head->spec->layout;
    int64_t step = attn_max_rows(head->spec, attn_tiling);
    if (!layout)
        return (end - 1) / step * step;
    int64_t shift = head->tk - head->tq, begin = max_i64((end - 1 + shift) / layout->size * layout->size - shift, 0);
    return begin + (end - 1 - begin) / step * step;
}

/* Processes the blocks of queries from last to first: without a window or a layout the last queries attend to every
 * key, so the first block can write dk and dv of all keys and the others add to them. first_head: true if no head has
 * been added to scratch->dk and dv yet. */
static void attention_head_bwd(Device *dev, const HeadBwd *hb, const Scratch *scratch, bool first_head)
{
    const Head *head = &hb->head;
    bool empty = head->tq == 0 || head->tk == 0;
    bool write = first_head && head->spec->window == 0 && !head->spec->layout;
    size_t sums_bytes = (size_t)(head->tk * head->size) * sizeof(float);
    if (first_head && (empty || !write)) {
        memset(scratch->dk, 0, sums_bytes);
        memset(scratch->dv, 0, sums_bytes);
    }
    if (empty) {
        zero_rows(hb->dq);
        return;
    }
    for (int64_t end = head->tq; end > 0;) {
        Block b = attn_block(head, block_before(head, end), attn_tiling, (Range){ 0, head->tk }, scratch->runs);
        if (b.columns > 0)
            block_bwd(dev, hb, scratch, b, write && end == head->tq ? 0 : 1);
        else
            zero_rows(tensor_slice_rows(hb->dq, b.first, b.rows));
        end = b.first;
    }
}

/* dbias = beta·dbias + Σ over sequences, in their order. In `sums` (H, Nq + Nk), the sums of a sequence begin at the
 * index of its first rows, with that of j - i = 1 - Tq. row: buffer for a row of dbias. */
static void reduce_bias(Tensor dbias, float beta, const float *sums, int64_t ld, const AttnSpec *spec, float *row)
{
    int64_t n = dbias.d[1];
    for (int32_t h = 0; h < spec->heads; h++) {
        float *d = beta == 0.0f ? row_place(row, dbias, h, 0) : row_update(row, dbias, h, 0, n);
        for (int64_t t = 0; t < n; t++)
            d[t] = beta == 0.0f ? 0 : d[t] * beta;
        for (int32_t s = 0; s < spec->n_seq; s++) {
            int64_t tq = spec->cu_q.device[s + 1] - spec->cu_q.device[s],
                    tk = spec->cu_k.device[s + 1] - spec->cu_k.device[s];
            const float *from = sums + h * ld + spec->cu_q.device[s] + spec->cu_k.device[s];
            float *to = d + spec->max_q - tq;
            SIMD for (int64_t t = 0; t < tq + tk - 1; t++) to[t] += from[t];
        }
        row_write(dbias, h, 0, n, d);
    }
}

/* Scratch memory of all threads: sums of the bias (reduce_bias), then per thread a bias row and a head's memory. */
typedef struct Memory {
    const Bf16Products *bf16;
    float *sums;
    int64_t ld_sums;
    char *threads;
    size_t row_bytes, bytes; /* bytes of a row; bytes of a thread, with its row */
} Memory;

static Memory memory_open(Device *dev, const AttnSpec *spec, int64_t size, int64_t ld_sums)
{
    const Bf16Products *bf16 = attn_bf16(dev, spec);
    size_t row = row_bytes(spec->max_q + spec->max_k), sums_bytes = row_bytes(ld_sums * spec->heads);
    size_t bytes = row + (bf16 ? bf16->attention_bwd_bytes(spec, size) : attn_scratch_bytes(dev, spec, size, true));
    char *workspace = cpu_workspace(dev, sums_bytes + (size_t)dev->threads * bytes);
    memset(workspace, 0, sums_bytes);
    return (Memory){ bf16, (float *)workspace, ld_sums, workspace + sums_bytes, row, bytes };
}

/* Backward of key head kv_head of sequence s with all its query heads, which add to the same dk and dv. */
static void kv_head_bwd(Device *dev, const Bwd *t, int32_t s, int32_t kv_head, const Memory *memory)
{
    char *mine = memory->threads + (size_t)omp_get_thread_num() * memory->bytes, *rest = mine + memory->row_bytes;
    int32_t group = t->spec->heads / attn_kv_heads(t->spec);
    int64_t first = t->spec->cu_k.device[s], n = t->spec->cu_k.device[s + 1] - first;
    Scratch scratch = { 0 };
    if (!memory->bf16)
        scratch = attn_scratch_at(dev, rest, t->spec, t->q.d[1] / t->spec->heads, true);
    for (int32_t g = 0; g < group; g++) {
        HeadBwd hb = head_bwd_of(t, s, kv_head * group + g, (float *)mine);
        int64_t size = hb.head.size;
        if (tensor_present(t->dbias))
            hb.dbias = memory->sums + hb.head.index * memory->ld_sums + hb.head.q_first + first + hb.head.tq - 1;
        if (memory->bf16)
            memory->bf16->attention_bwd(&hb, head_rows(t->dk, first, n, kv_head, size),
                                        head_rows(t->dv, first, n, kv_head, size), g == 0, g == group - 1, rest);
        else
            attention_head_bwd(dev, &hb, &scratch, g == 0);
    }
    if (!memory->bf16)
        write_keys(t, s, kv_head, scratch.dk, scratch.dv);
}

void KERNEL(attn_bwd)(Device *dev, Tensor dq, Tensor dk, Tensor dv, Tensor dbias, float beta_bias, Tensor dout,
                      Tensor o, Tensor lse, Tensor q, Tensor k, Tensor v, Tensor bias, const AttnSpec *spec,
                      const Dropout *drop)
{
    const Bwd tensors = { dq, dk, dv, dbias, dout, o, lse, q, k, v, bias, spec, drop };
    if (spec->distance) {
        cpu_attn_distance_bwd(dev, &tensors);
        return;
    }
    int64_t ld_sums = tensor_present(dbias) ? q.d[0] + k.d[0] : 0;
    Memory memory = memory_open(dev, spec, q.d[1] / spec->heads, ld_sums);
    int32_t kv_heads = attn_kv_heads(spec);
    cpu_gemm_enter(dev);
    zero_uncovered(dq, spec->cu_q.device, spec->n_seq);
    zero_uncovered(dk, spec->cu_k.device, spec->n_seq);
    zero_uncovered(dv, spec->cu_k.device, spec->n_seq);
#pragma omp parallel for num_threads(dev->threads) schedule(dynamic, 1)
    for (int64_t task = 0; task < (int64_t)spec->n_seq * kv_heads; task++)
        kv_head_bwd(dev, &tensors, (int32_t)(task / kv_heads), (int32_t)(task % kv_heads), &memory);
    if (tensor_present(dbias))
        reduce_bias(dbias, beta_bias, memory.sums, ld_sums, spec, (float *)memory.threads);
}
