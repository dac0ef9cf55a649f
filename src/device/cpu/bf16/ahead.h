/* ahead.h: brings numbers that are needed soon into the second-level cache, a few lines at a time between other work.
 */
#pragma once

#include "device/cpu/bf16/panel.h"

enum { CACHE_LINE = 64 };

/* A rectangle of `rows` rows of `bytes` bytes, `ld` bytes apart, and the position of its next line. */
typedef struct Ahead {
    const char *p;
    int64_t ld, rows, bytes, row, at, quota;
} Ahead;

/* Panels of a factor, to be fetched by `calls` calls of fetch. */
static inline Ahead ahead_of(Source s, Range panels, int64_t calls)
{
    int64_t first = panels.begin * PANEL, n = min_i64(panels.end * PANEL, s.rows) - first;
    int64_t bytes = s.f32 ? sizeof(float) : sizeof(uint16_t);
    if (n <= 0 || calls <= 0)
        return (Ahead){ 0 };
    Ahead ahead = { .p = (const char *)s.p + (s.transposed ? first : first * s.ld) * bytes,
                    .ld = s.ld * bytes,
                    .rows = s.transposed ? s.depth : n,
                    .bytes = (s.transposed ? n : s.depth) * bytes };
    ahead.quota = ahead.rows * (ahead.bytes / CACHE_LINE + 1) / calls + 1;
    return ahead;
}

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
