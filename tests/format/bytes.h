/* bytes.h: comparing memory in tests. */
#pragma once

#include <glib.h>
#include <string.h>

static inline void expect_bytes(const void *got, size_t got_bytes, const void *want, size_t want_bytes)
{
    g_assert_cmpuint(got_bytes, ==, want_bytes);
    g_assert_true(want_bytes == 0 || memcmp(got, want, want_bytes) == 0);
}
