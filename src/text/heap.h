/* heap.h: binary heaps in plain arrays, since GLib has no heap */
#pragma once

#include <stddef.h>

/* Defines heap_push and heap_pop for items of a type. goes_first(const Type *a, const Type *b) says whether a comes
 * before b; the item that comes first is heap[0]. heap_push adds an item to a heap of n items, whose array must have
 * space for one more item. heap_pop removes the first item of a heap of n items and returns it. */
#define HEAP_OF(Type, goes_first)                                                                                      \
    static void heap_push(Type *heap, size_t n, Type item)                                                             \
    {                                                                                                                  \
        size_t at = n;                                                                                                 \
        for (; at > 0 && goes_first(&item, &heap[(at - 1) / 2]); at = (at - 1) / 2)                                    \
            heap[at] = heap[(at - 1) / 2];                                                                             \
        heap[at] = item;                                                                                               \
    }                                                                                                                  \
                                                                                                                       \
    static Type heap_pop(Type *heap, size_t n)                                                                         \
    {                                                                                                                  \
        Type top = heap[0], last = heap[--n];                                                                          \
        size_t at = 0;                                                                                                 \
        for (size_t child; (child = 2 * at + 1) < n; at = child) {                                                     \
            if (child + 1 < n && goes_first(&heap[child + 1], &heap[child]))                                           \
                child++;                                                                                               \
            if (!goes_first(&heap[child], &last))                                                                      \
                break;                                                                                                 \
            heap[at] = heap[child];                                                                                    \
        }                                                                                                              \
        heap[at] = last;                                                                                               \
        return top;                                                                                                    \
    }
