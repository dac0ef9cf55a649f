/* regular.h: refuses what is no regular file, such as a FIFO, from which a read may never return. */
#pragma once

#include "base/error.h"

/* False with a user's error if the path leads to something that is neither a regular file nor absent. */
bool regular_check(const char *path, GError **error);
