#include "base/arena.h"

#include "base/check.h"

#include <stdint.h>

/* The base of an arena that only measures: its addresses lie in page 0, where any access faults. */
static char *const nowhere = (char *)ARENA_ALIGN;

void arena_init(Arena *arena, const char *name, void *memory, size_t size)
{
    CHECK((uintptr_t)memory % ARENA_ALIGN == 0, "arena %s at %p", name, memory);
    *arena = (Arena){ .name = name, .base = memory, .size = size, .peak_tag = "" };
}

void *arena_push(Arena *arena, size_t bytes, const char *tag)
{
    size_t rounded = (bytes + ARENA_ALIGN - 1) / ARENA_ALIGN * ARENA_ALIGN;
    char *p = (arena->base ? arena->base : nowhere) + arena->used;
    arena->used += rounded;
    if (arena->used > arena->peak) {
        arena->peak = arena->used;
        arena->peak_tag = tag;
    }
    CHECK(arena->base == NULL || arena->used <= arena->size, "arena %s is full: %zu of %zu bytes, %zu for %s",
          arena->name, arena->used - rounded, arena->size, bytes, tag);
    return p;
}

size_t arena_mark(const Arena *arena)
{
    return arena->used;
}

void arena_reset(Arena *arena, size_t mark)
{
    CHECK(mark <= arena->used, "arena %s reset to %zu of %zu", arena->name, mark, arena->used);
    arena->used = mark;
}
