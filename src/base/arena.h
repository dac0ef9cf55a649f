/* arena.h: bump allocator with marks, for memory that lives as long as a training step or a layer's pass. No GLib here.
 * An arena whose base is NULL only measures: it returns addresses that nobody may read or write, and records the peak.
 * With such arenas the null device finds out how large the arenas of a run must be. */
#pragma once

#include <stddef.h>

#define ARENA_ALIGN 64 /* bytes */

typedef struct Arena {
    const char *name;
    char *base;              /* NULL means that the arena only measures */
    size_t size, used, peak; /* bytes */
    const char *peak_tag;    /* tag of the allocation that reached the peak */
} Arena;

void arena_init(Arena *arena, const char *name, void *memory,
                size_t size); /* memory NULL and size 0: an arena that only measures */
/* Allocates `bytes` bytes, aligned to ARENA_ALIGN, of unknown content. CHECK fails if the arena is full; `tag` names
 * the allocation in its message. */
void *arena_push(Arena *arena, size_t bytes, const char *tag);
/* arena_mark returns how much of the arena is used; arena_reset(mark) frees everything that was pushed after that call.
 */
size_t arena_mark(const Arena *arena);
void arena_reset(Arena *arena, size_t mark);
