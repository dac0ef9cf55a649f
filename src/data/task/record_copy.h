/* record_copy.h: records as lines of JSON, which have all that examples are made of when the file that they were read
 * from is changed or gone. A table's row is an object; the levels of any other record are a list. */
#pragma once

#include "data/task/record.h"

/* One line, without its end. rows: RecordSource.rows; the lists that it leads through, of the record's neighbours, are
 * left out. free(). */
char *record_copy(const Record *record, const char *rows);
/* The levels of the record that a line holds, which belong to `root`: their number, 0 if the line holds none. *columns
 * becomes Record.columns; g_free. */
int record_copy_levels(const json_t *root, const json_t *levels[RECORD_LEVELS], char **columns);
