/* foreign.h: files that are not UTF-8 text, such as UTF-16 or PDF. One table says for all verbs what such a file
 * is, by its first bytes or its name, and which command makes text or JSON lines of it; docs/data-files.md explains the
 * commands. */
#pragma once

#include "base/error.h"

#include <stddef.h>

/* Fails if a file is not text by its first n bytes, of which 512 are enough. path: its name, by which forms in a zip
 * (.docx, .xlsx) are told from each other; the name of a compressed file means that the bytes are decompressed. */
bool foreign_check_start(const char *path, const char *start, size_t n, GError **error);
/* Fails for the name of a table in a binary form that is not read (.feather). */
bool foreign_check_name(const char *path, GError **error);
/* Fails for a folder that `datasets` wrote, which holds its texts in .arrow files. */
bool foreign_check_folder(const char *path, GError **error);
/* Sets the error for a byte that is not UTF-8 or is NUL; returns false. where: the file and the line or column. */
bool foreign_fail_byte(const char *where, char byte, GError **error);
