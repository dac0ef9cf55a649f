/* lookup.h: replaces indices in records by the objects of another file that have these indices. BigCloneBench needs
 * this: its pairs refer to functions by index. */
#pragma once

#include "data/records/records.h"

typedef struct Lookup Lookup;

/* Reads the file `name`, of JSON lines, in the folder of the file `path`. fields: names of the fields that hold
 * indices, separated by commas. */
Lookup *lookup_open(const char *path, const char *name, const char *fields, GError **error);
void lookup_close(Lookup *lookup); /* NULL is ignored */
/* Replaces the value of each of these fields in a record by the object of the other file whose `idx` equals the
 * value. */
bool lookup_fill(const Lookup *lookup, const Record *record, GError **error);
