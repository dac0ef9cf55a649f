#include "base/arena.h"

#include <glib.h>
#include <stdint.h>
#include <string.h>

static void pushes_are_aligned_and_apart(void)
{
    void *memory = g_aligned_alloc(1, 4096, ARENA_ALIGN);
    Arena arena;
    arena_init(&arena, "scratch", memory, 4096);
    char *a = arena_push(&arena, 1, "a"), *b = arena_push(&arena, 65, "b"), *c = arena_push(&arena, 64, "c");
    memset(a, 1, 1);
    memset(b, 2, 65);
    memset(c, 3, 64);
    g_assert_true((void *)a == memory);
    g_assert_cmpint(b - a, ==, 64);
    g_assert_cmpint(c - b, ==, 128);
    g_assert_cmpint(a[0], ==, 1);
    g_assert_cmpint(b[64], ==, 2);
    g_aligned_free(memory);
}

static void reset_returns_to_the_mark(void)
{
    void *memory = g_aligned_alloc(1, 1024, ARENA_ALIGN);
    Arena arena;
    arena_init(&arena, "scratch", memory, 1024);
    arena_push(&arena, 100, "kept");
    size_t mark = arena_mark(&arena);
    void *first = arena_push(&arena, 300, "layer");
    arena_reset(&arena, mark);
    g_assert_true(arena_push(&arena, 10, "layer") == first);
    g_aligned_free(memory);
}

static void peak_names_its_push(void)
{
    Arena arena;
    arena_init(&arena, "save", NULL, 0);
    size_t mark = arena_mark(&arena);
    g_assert_nonnull(arena_push(&arena, (size_t)1 << 40, "huge"));
    arena_reset(&arena, mark);
    arena_push(&arena, 64, "small");
    g_assert_cmpuint(arena.peak, ==, (size_t)1 << 40);
    g_assert_cmpstr(arena.peak_tag, ==, "huge");
    g_assert_cmpuint(arena.used, ==, 64);
}

/* A dry run and the real one must agree byte for byte. */
static void measuring_counts_as_the_real_one(void)
{
    void *memory = g_aligned_alloc(1, 65536, ARENA_ALIGN);
    Arena real, measuring;
    arena_init(&real, "real", memory, 65536);
    arena_init(&measuring, "measuring", NULL, 0);
    for (size_t bytes = 0; bytes < 300; bytes += 17) {
        uintptr_t distance = (uintptr_t)arena_push(&real, bytes, "x") - (uintptr_t)memory;
        g_assert_cmpuint((uintptr_t)arena_push(&measuring, bytes, "x") % ARENA_ALIGN, ==, 0);
        g_assert_cmpuint(distance % ARENA_ALIGN, ==, 0);
    }
    g_assert_cmpuint(real.peak, ==, measuring.peak);
    g_aligned_free(memory);
}

static void overflow_is_a_bug(void)
{
    if (g_test_subprocess()) {
        void *memory = g_aligned_alloc(1, 128, ARENA_ALIGN);
        Arena arena;
        arena_init(&arena, "tiny", memory, 128);
        arena_push(&arena, 129, "too much");
        return;
    }
    g_test_trap_subprocess(NULL, 0, G_TEST_SUBPROCESS_DEFAULT);
    g_test_trap_assert_failed();
    g_test_trap_assert_stderr("*arena tiny is full: 0 of 128 bytes, 129 for too much*");
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/arena/pushes_are_aligned_and_apart", pushes_are_aligned_and_apart);
    g_test_add_func("/arena/reset_returns_to_the_mark", reset_returns_to_the_mark);
    g_test_add_func("/arena/peak_names_its_push", peak_names_its_push);
    g_test_add_func("/arena/measuring_counts_as_the_real_one", measuring_counts_as_the_real_one);
    g_test_add_func("/arena/overflow_is_a_bug", overflow_is_a_bug);
    return g_test_run();
}
