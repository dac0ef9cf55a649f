/* data_test.h: what the tests of the data floor share. */
#pragma once

#include <glib.h>
#include <string.h>

/* The macro, so that a failure names the caller's line. */
#define assert_same(got, want, bytes) g_assert_true(memcmp(got, want, bytes) == 0)
