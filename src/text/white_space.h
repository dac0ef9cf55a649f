/* white_space.h: Unicode's property White_Space. */
#pragma once

#include <glib.h>
#include <stdbool.h>

static inline bool is_white_space(gunichar c)
{
    return g_unichar_isspace(c) || c == 0x0b || c == 0x85;
}
