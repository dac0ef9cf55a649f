/* copy.h: copies files and folders. Every copied file is synced. */
#pragma once

#include <glib.h>
#include <stdbool.h>

/* Copies a file; one that does not exist is no error. */
bool io_copy_file(const char *from, const char *to, GError **error);
/* Copies the regular files of a folder and of the folders in it, at most 8 levels deep. Files that `to` has already are
 * replaced, others stay. A folder that does not exist is no error. */
bool io_copy_tree(const char *from, const char *to, GError **error);
