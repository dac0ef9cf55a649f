#include "device/cpu/attention.h"

Head attn_head(const AttnSpec *spec, const Dropout *drop, int32_t s, int32_t h, Tensor q, Tensor k, Tensor v,
               const float *bias_row)
{
    int64_t size = q.d[1] / spec->heads, kv_head = h / (spec->heads / attn_kv_heads(spec));
    int64_t tq = spec->cu_q.device[s + 1] - spec->cu_q.device[s], tk = spec->cu_k.device[s + 1] - spec->cu_k.device[s];
    int64_t k_first = spec->k_first.device ? spec->k_first.device[s] : spec->cu_k.device[s];
    return (Head){ .spec = spec,
                   .drop = drop,
                   .q = head_rows(q, spec->cu_q.device[s], tq, h, size),
                   .k = head_rows(k, k_first, tk, kv_head, size),
                   .v = head_rows(v, k_first, tk, kv_head, size),
                   .bias = bias_row ? bias_row + attn_bias_column(spec, tk) : NULL,
                   .q_first = spec->cu_q.device[s],
                   .tq = tq,
                   .tk = tk,
                   .prefix = spec->prefix.device ? spec->prefix.device[s] : 0,
                   .size = size,
                   .index = h,
                   .number = spec->first_head + h };
}

Range attn_keys(const Head *head, int64_t i)
{
    Range range;
    attn_visible(head->spec, (AttnSequence){ head->tq, head->tk, head->prefix }, i, &range.begin, &range.end);
    return range;
}

int64_t attn_max_rows(const AttnSpec *spec, Tiling tiling)
{
    int64_t rows = min_i64(tiling.rows, spec->max_q);
    return spec->layout ? min_i64(rows, spec->layout->size) : rows;
}

int64_t attn_max_runs(const AttnSpec *spec, Tiling tiling)
{
    int64_t blocks = spec->layout ? spec->max_k / spec->layout->size + 1 : 1;
    int64_t columns = blocks * (spec->layout ? (spec->layout->size / tiling.unit + 1) * tiling.unit : spec->max_k);
    return blocks + columns / tiling.columns + 1;
}

Range attn_seen(const Head *head, int64_t i, const KeyRange *run)
{
    Range range = attn_keys(head, i);
    int64_t begin = min_i64(max_i64(range.begin - run->begin, 0), run->keys);
    return (Range){ begin, max_i64(min_i64(range.end - run->begin, run->keys), begin) };
}

/* Adds keys [begin, end) to the block: extends its last range if they follow it within its tile, else adds ranges. */
static void add_run(Block *b, KeyRange *runs, Tiling tiling, int64_t begin, int64_t end)
{
    while (begin < end) {
        KeyRange *last = b->n_runs ? &runs[b->n_runs - 1] : NULL;
        bool follows = last && last->begin + last->keys == begin && b->columns % tiling.unit == 0;
        int64_t at = (b->columns + tiling.unit - 1) / tiling.unit * tiling.unit, column = at % tiling.columns;
        int64_t keys = min_i64(end - begin, tiling.columns - column);
        if (follows && column > 0)
            last->keys += keys;
        else
            runs[b->n_runs++] = (KeyRange){ begin, keys, column };
        b->columns = at + keys;
        begin += keys;
    }
}

static void add_layout_runs(Block *b, KeyRange *runs, const Head *head, Tiling tiling, Range seen)
{
    const BlockLayout *layout = head->spec->layout;
    const int32_t *first = layout->first.device + attn_layout_row(layout, head->number, b->first + head->tk - head->tq);
    for (int32_t k = first[0]; k < first[1]; k++) {
        int64_t begin = (int64_t)layout->keys.device[k] * layout->size, end = begin + layout->size;
        int64_t skipped = max_i64(seen.begin - begin, 0) / tiling.unit * tiling.unit;
        if (end > seen.begin)
            add_run(b, runs, tiling, begin + skipped, min_i64(end, seen.end));
    }
}

Block attn_block(const Head *head, int64_t first, Tiling tiling, Range limit, KeyRange *runs)
{
    const BlockLayout *layout = head->spec->layout;
    int64_t rows = min_i64(attn_max_rows(head->spec, tiling), head->tq - first);
    if (layout)
        rows = min_i64(rows, layout->size - (first + head->tk - head->tq) % layout->size);
    Block b = { .first = first, .rows = rows, .runs = runs };
    Range seen = { max_i64(attn_keys(head, first).begin, limit.begin),
                   min_i64(attn_keys(head, first + rows - 1).end, limit.end) };
    if (layout && seen.begin < seen.end)
        add_layout_runs(&b, runs, head, tiling, seen);
    else if (seen.begin < seen.end)
        add_run(&b, runs, tiling, seen.begin / tiling.unit * tiling.unit, seen.end);
    return b;
}
