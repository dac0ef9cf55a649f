/* arena.h: bump allocation with marks, for memory that lives as long as a step or a layer. No GLib here. An arena with
 * base NULL only measures: it returns addresses that nobody may read or write, and records the peak. The null device
 * measures this way how large the arenas of a run must be. */
#pragma once

#include <stddef.h>

#define ARENA_ALIGN 64 /* bytes */

typedef struct Arena {
    const char *name;
    char *base;              /* NULL means that the arena only measures */
    size_t size, used, peak; /* bytes */
    const char *peak_tag;    /* tag of the allocation that reached the peak */
} Arena;

void arena_init(Arena *arena, const char *name, void *memory, size_t size); /* NULL and 0 for one that measures */
/* `bytes` bytes, aligned to ARENA_ALIGN; CHECK fails if the arena is full. `tag` names the allocation in messages. */
void *arena_push(Arena *arena, size_t bytes, const char *tag);
/* arena_reset frees everything that was pushed since arena_mark returned this mark. */
size_t arena_mark(const Arena *arena);
void arena_reset(Arena *arena, size_t mark);
