/* arena.h: bump allocator with marks, for memory that is used during one training step or one pass through a layer. An
 * arena whose base is NULL only measures: it returns addresses that must not be read or written, and records its peak.
 * A dry run on the null device uses such arenas to find out how large the arenas of a run must be. No GLib here. */
#pragma once

#include <stddef.h>

#define ARENA_ALIGN 64 /* bytes: every allocation begins at a multiple of this */

typedef struct Arena {
    const char *name;
    char *base;              /* NULL means that the arena only measures */
    size_t size, used, peak; /* bytes */
    const char *peak_tag;    /* tag of the allocation with which the peak was reached */
} Arena;

/* Memory NULL and size 0 mean an arena that only measures. */
void arena_init(Arena *arena, const char *name, void *memory, size_t size);
/* Allocates `bytes` bytes of any content, aligned to ARENA_ALIGN. A full arena is a bug (CHECK) that names `tag`. */
void *arena_push(Arena *arena, size_t bytes, const char *tag);
/* arena_mark returns a mark; arena_reset(mark) frees everything that has been allocated since. */
size_t arena_mark(const Arena *arena);
void arena_reset(Arena *arena, size_t mark);
