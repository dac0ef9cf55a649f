/* lookup.h: replaces indices in records by objects of another file, as in BigCloneBench, whose pairs refer to functions
 * by index. */
#pragma once

#include "data/task/record.h"

typedef struct Lookup Lookup;

/* Reads the file of JSON lines `name` in the folder of the file `path`. fields: names of fields, separated by commas.
 */
Lookup *lookup_open(const char *path, const char *name, const char *fields, GError **error);
void lookup_close(Lookup *lookup); /* NULL is ignored */
/* Replaces the value of each of the fields by the object whose `idx` is that value. */
bool lookup_fill(const Lookup *lookup, const Record *record, GError **error);
