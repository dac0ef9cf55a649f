/* lookup.h: records whose fields name objects of another file, as the pairs of BigCloneBench name functions. */
#pragma once

#include "data/task/record.h"

typedef struct Lookup Lookup;

/* Reads the file of JSON lines `name` in the folder of the file `path`. fields: names of fields, separated by commas.
 */
Lookup *lookup_open(const char *path, const char *name, const char *fields, GError **error);
void lookup_close(Lookup *lookup); /* NULL is ignored */
/* Puts the object whose `idx` is the value of a field in the place of this value, for each of the fields. */
bool lookup_fill(const Lookup *lookup, const Record *record, GError **error);
