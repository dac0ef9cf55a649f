/* attention_block.c: heads, their blocks of queries, and the scores of a block. */
#include "device/cpu/kernels/attention.h"

#include <string.h>

int64_t attn_max_rows(const AttnSpec *spec)
{
    int64_t rows = min_i64(TILE_QUERIES, spec->max_q);
    return spec->layout ? min_i64(rows, spec->layout->size) : rows;
}

static size_t floats(int64_t n)
{
    return align64((size_t)n * sizeof(float));
}

/* The next part of a desk, of `bytes`; counts alone where there is no memory yet. */
static void *take(char **memory, size_t *used, size_t bytes)
{
    void *p = *memory ? *memory + *used : NULL;
    *used += align64(bytes);
    return p;
}

static Desk lay_out(const Device *dev, char *memory, const AttnSpec *spec, int64_t size, bool backward, size_t *used)
{
    int64_t rows = attn_max_rows(spec), keys = min_i64(TILE_KEYS, spec->max_k);
    size_t tile = floats(rows * (keys + 3)), sums = backward ? floats(spec->max_k * size) : 0;
    size_t panels = cpu_gemm_tile_bytes(dev, rows, keys, size), other = cpu_gemm_tile_bytes(dev, rows, size, keys);
    int64_t runs = spec->layout ? spec->max_k / spec->layout->size + 1 : 1;
    *used = 0;
    return (Desk){ .tile = take(&memory, used, tile),
                   .gradients = take(&memory, used, backward ? tile : 0),
                   .mask = take(&memory, used, floats(keys + MASK_STEP)),
                   .bias = take(&memory, used, floats(spec->max_q + spec->max_k)),
                   .block = take(&memory, used, floats(rows * size)),
                   .dk = take(&memory, used, sums),
                   .dv = take(&memory, used, sums),
                   .row = take(&memory, used, floats(size)),
                   .other = take(&memory, used, floats(size)),
                   .panels = take(&memory, used, panels > other ? panels : other),
                   .runs = take(&memory, used, sizeof(Run) * (size_t)(runs + spec->max_k / TILE_KEYS)) };
}

size_t attn_desk_bytes(const Device *dev, const AttnSpec *spec, int64_t size, bool backward)
{
    size_t used;
    (void)lay_out(dev, NULL, spec, size, backward, &used);
    return used;
}

Desk attn_desk_at(const Device *dev, char *memory, const AttnSpec *spec, int64_t size, bool backward)
{
    size_t used;
    return lay_out(dev, memory, spec, size, backward, &used);
}

int64_t attn_tile_ld(const Head *head)
{
    return min_i64(TILE_KEYS, (head->tk + 3) / 4 * 4);
}

Range attn_seen(const Head *head, int64_t i, const Run *run)
{
    Range range = visible(head, i);
    int64_t begin = min_i64(max_i64(range.begin - run->begin, 0), run->keys);
    return (Range){ begin, max_i64(min_i64(range.end - run->begin, run->keys), begin) };
}

/* The keys of [begin, end) join the block's last run where they follow it, as far as its tile has room. */
static void add_run(Block *b, Run *runs, int64_t begin, int64_t end)
{
    while (begin < end) {
        Run *last = b->n_runs ? &runs[b->n_runs - 1] : NULL;
        int64_t column = b->columns % TILE_KEYS, keys = min_i64(end - begin, TILE_KEYS - column);
        if (last && last->begin + last->keys == begin && column > 0)
            last->keys += keys;
        else
            runs[b->n_runs++] = (Run){ begin, keys, column };
        b->columns += keys;
        begin += keys;
    }
}

static void add_layout_runs(Block *b, Run *runs, const Head *head, Range seen)
{
    const BlockLayout *layout = head->spec->layout;
    const int32_t *first = layout->first.device + attn_layout_row(layout, head->number, b->first + head->tk - head->tq);
    for (int32_t k = first[0]; k < first[1]; k++) {
        int64_t begin = (int64_t)layout->keys.device[k] * layout->size;
        add_run(b, runs, max_i64(begin, seen.begin), min_i64(begin + layout->size, seen.end));
    }
}

Block attn_block(const Head *head, int64_t first, Run *runs)
{
    const BlockLayout *layout = head->spec->layout;
    int64_t rows = min_i64(attn_max_rows(head->spec), head->tq - first);
    if (layout)
        rows = min_i64(rows, layout->size - (first + head->tk - head->tq) % layout->size);
    Block b = { .first = first, .rows = rows, .runs = runs };
    Range seen = { visible(head, first).begin / 4 * 4, visible(head, first + rows - 1).end };
    if (layout)
        add_layout_runs(&b, runs, head, seen);
    else
        add_run(&b, runs, seen.begin, seen.end);
    return b;
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

void attn_scores(Device *dev, const Desk *desk, const Head *head, Block b)
{
    float rescale = head->spec->rescale, scale = head->spec->scale / (rescale > 0 ? rescale : 1);
    int64_t ld = attn_tile_ld(head);
    Panel q = attn_panel(head->q, b.first, false);
    for (const Run *run = b.runs; run < b.runs + b.n_runs; run++)
        cpu_gemm_tile(dev, desk->tile + run->column, ld, q, attn_panel(head->k, run->begin, true), b.rows, run->keys,
                      head->size, scale, 0, desk->panels);
    for (int64_t r = 0; rescale > 0 && r < b.rows; r++) {
        float *row = desk->tile + r * ld;
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
    for (const Run *run = b.runs; run < b.runs + b.n_runs; run++)
        mask_fill(mask + run->column, &factors, run->begin, run->keys);
}
