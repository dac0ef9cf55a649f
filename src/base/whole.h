/* whole.h: notices that a file has lost its end while it was read. */
#pragma once

#include "base/error.h"

#include <stdint.h>

/* Size of an open regular file in bytes; 0 for anything else, such as a pipe. To be called after opening it. */
uint64_t whole_size(int file);
/* For the reader of a file at its end, after `done` bytes: fails if the file had more bytes (`size`, by whole_size),
 * since another process has cut it and the rest is lost. */
bool whole_check(const char *path, uint64_t done, uint64_t size, GError **error);
