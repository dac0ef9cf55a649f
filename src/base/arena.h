/* arena.h: bump allocation with marks, for everything that lives as long as a step or a layer. No GLib here.
 * An arena without memory (base NULL) measures: it hands out addresses that must not be touched and records the peak,
 * which is how the null device sizes the real ones before step 0. */
#pragma once

#include <stddef.h>

#define ARENA_ALIGN 64

typedef struct Arena {
    const char *name;
    char *base; /* NULL: measuring */
    size_t size, used, peak;
    const char *peak_tag; /* what was pushed when the peak was reached */
} Arena;

void arena_init(Arena *arena, const char *name, void *memory, size_t size); /* memory NULL, size 0: measuring */
void *arena_push(Arena *arena, size_t bytes, const char *tag);              /* aligned to 64; a bug (CHECK) when full */
size_t arena_mark(const Arena *arena);
void arena_reset(Arena *arena, size_t mark);
