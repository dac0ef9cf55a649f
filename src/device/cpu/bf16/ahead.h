/* ahead.h: prefetches numbers that bf16_pack will read soon to the second-level cache, a few lines at a time. */
#pragma once

#include "device/cpu/bf16/panel.h"

enum { CACHE_LINE = 64 };

/* Memory to prefetch: `rows` rows of `bytes` bytes each, which are `ld` bytes apart. The next cache line to prefetch is
 * at byte `at` of row `row`; each call of fetch prefetches `quota` cache lines. */
typedef struct Ahead {
    const char *p;
    int64_t ld, rows, bytes, row, at, quota;
} Ahead;

/* The memory that bf16_pack reads to pack n panels from row `row` on; `calls` calls of fetch prefetch all of it. */
static inline Ahead ahead_of(Source s, int64_t row, int64_t n, int64_t calls)
{
    int64_t rows = min_i64(n * PANEL, s.rows - row), bytes = s.f32 ? sizeof(float) : sizeof(uint16_t);
    if (rows <= 0 || calls <= 0)
        return (Ahead){ 0 };
    Ahead ahead = { .p = (const char *)s.p + (s.transposed ? row : row * s.ld) * bytes,
                    .ld = s.ld * bytes,
                    .rows = s.transposed ? s.depth : rows,
                    .bytes = (s.transposed ? rows : s.depth) * bytes };
    ahead.quota = ahead.rows * (ahead.bytes / CACHE_LINE + 1) / calls + 1;
    return ahead;
}

/* Prefetches the next `quota` cache lines. */
static inline void fetch(Ahead *ahead)
{
    for (int64_t i = 0; i < ahead->quota && ahead->row < ahead->rows; i++) {
        __builtin_prefetch(ahead->p + ahead->row * ahead->ld + ahead->at, 0, 2);
        ahead->at += CACHE_LINE;
        if (ahead->at >= ahead->bytes) {
            ahead->at = 0;
            ahead->row++;
        }
    }
}
