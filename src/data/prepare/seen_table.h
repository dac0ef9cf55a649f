/* seen_table.h: a set of 128-bit hashes of the texts seen so far. It is kept in a memory-mapped temporary file without
 * a name, which the kernel can page out, so memory stays bounded for any number of documents. */
#pragma once

#include "base/error.h"

#include <stdint.h>

typedef struct SeenTable SeenTable;

/* folder: where the temporary file is made. */
SeenTable *seen_table_open(const char *folder, GError **error);
void seen_table_close(SeenTable *table);
/* Adds a hash; *fresh becomes true if it was not in the set before. */
bool seen_table_add(SeenTable *table, uint64_t low, uint64_t high, bool *fresh, GError **error);
