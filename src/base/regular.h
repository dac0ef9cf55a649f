/* regular.h: reads a file of a model's folder, and refuses what is no regular file, such as a FIFO, from which a read
 * may never return. */
#pragma once

#include "base/error.h"

#include <stddef.h>

/* As io_read_file (base/file.h); it is a user's error if the path leads to something that is no regular file. */
char *regular_read(const char *path, size_t limit, size_t *bytes, GError **error);
