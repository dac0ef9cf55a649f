/* delimiter.h: the characters between the cells of a table. */
#pragma once

#include "data/task/cells.h"

/* Sets *delimiter to the character that the option task.delimiter names: "," ";" "|" "\t"; "" gives 0. Returns false
 * for other names. */
bool delimiter_find(char *delimiter, const char *name);
/* Fails for a table whose first line lacks the delimiter of its format and has another one. To be called before the
 * first row is read. */
bool delimiter_check(CellReader *cells, const char *path, CellFormat format, GError **error);
