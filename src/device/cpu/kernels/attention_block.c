/* attention_block.c: the scratch memory of attention kernels, and the scores of a tile. */
#include "device/cpu/kernels/attention.h"

static size_t floats(int64_t n)
{
    return align64((size_t)n * sizeof(float));
}

static Scratch scratch_block(const Device *dev, char *memory, const AttnSpec *spec, int64_t size, bool backward,
                             size_t *used)
{
    int64_t rows = attn_max_rows(spec, attn_tiling), keys = min_i64(TILE_KEYS, spec->max_k);
    size_t tile = floats(rows * (keys + 3)), sums = backward ? floats(spec->max_k * size) : 0;
    size_t panels = cpu_gemm_tile_bytes(dev, rows, keys, size), other = cpu_gemm_tile_bytes(dev, rows, size, keys);
    *used = 0;
    return (Scratch){ .tile = attn_take(memory, used, tile),
                      .gradients = attn_take(memory, used, backward ? tile : 0),
                      .mask = attn_take(memory, used, floats(keys)),
                      .block = attn_take(memory, used, floats(rows * size)),
                      .dk = attn_take(memory, used, sums),
                      .dv = attn_take(memory, used, sums),
                      .row = attn_take(memory, used, floats(size)),
                      .other = attn_take(memory, used, floats(size)),
                      .panels = attn_take(memory, used, panels > other ? panels : other),
                      .runs = attn_take(memory, used, sizeof(KeyRange) * (size_t)attn_max_runs(spec, attn_tiling)) };
}

size_t attn_scratch_bytes(const Device *dev, const AttnSpec *spec, int64_t size, bool backward)
{
    size_t used;
    (void)scratch_block(dev, NULL, spec, size, backward, &used);
    return used;
}

Scratch attn_scratch_at(const Device *dev, char *memory, const AttnSpec *spec, int64_t size, bool backward)
{
    size_t used;
    return scratch_block(dev, memory, spec, size, backward, &used);
}

int64_t attn_tile_ld(const Head *head)
{
    return min_i64(TILE_KEYS, (head->tk + 3) / 4 * 4);
}

Block attn_tile(Block b, int *run)
{
    Block tile = { .first = b.first, .rows = b.rows, .runs = b.runs + *run };
    do {
        tile.columns += b.runs[*run].keys;
        tile.n_runs++;
        ++*run;
    } while (*run < b.n_runs && b.runs[*run].column > 0);
    return tile;
}

void attn_scores(Device *dev, const Scratch *scratch, const Head *head, Block b)
{
    float rescale = head->spec->rescale, scale = head->spec->scale / (rescale > 0 ? rescale : 1);
    int64_t ld = attn_tile_ld(head);
    Panel q = attn_panel(head->q, b.first, false);
    for (const KeyRange *run = b.runs; run < b.runs + b.n_runs; run++)
        cpu_gemm_tile(dev, scratch->tile + run->column, ld, q, attn_panel(head->k, run->begin, true), b.rows, run->keys,
                      head->size, scale, 0, scratch->panels);
    for (int64_t r = 0; rescale > 0 && r < b.rows; r++) {
        float *row = scratch->tile + r * ld;
        SIMD for (int64_t j = 0; j < b.columns; j++) row[j] *= rescale;
    }
}

void attn_mask_outside(float *row, Range seen, int64_t keys)
{
    memset(row, 0, (size_t)seen.begin * sizeof *row);
    memset(row + seen.end, 0, (size_t)(keys - seen.end) * sizeof *row);
}

const float *attn_bias_from(const Head *head, int64_t i, int64_t key)
{
    return head->bias ? head->bias - i + key : NULL;
}

void attn_dropout(float *mask, const Head *head, Block b, int64_t i)
{
    MaskRow factors = mask_row(head->drop, head->q_first + i, (uint32_t)head->number);
    for (const KeyRange *run = b.runs; run < b.runs + b.n_runs; run++)
        mask_fill(mask + run->column, &factors, run->begin, run->keys);
}
