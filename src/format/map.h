/* map.h: whole files mapped read-only. */
#pragma once

#include "base/error.h"

/* An empty file gives a mapping of length 0; a Git LFS pointer is refused. Free with g_mapped_file_unref. */
GMappedFile *map_file(const char *path, GError **error);
