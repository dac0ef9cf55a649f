/* seen_table.h: a set of 128-bit hashes of the texts seen so far. The set lies in a memory-mapped temporary file
 * without a name; the kernel can write its pages to disk, so memory use stays bounded for any number of documents. */
#pragma once

#include "base/error.h"

#include <stdint.h>

typedef struct SeenTable SeenTable;

/* Makes an empty set. folder: the folder of the temporary file. */
SeenTable *seen_table_open(const char *folder, GError **error);
void seen_table_close(SeenTable *table);
/* Adds the hash (high, low) to the set; *fresh becomes true if the set did not have it. */
bool seen_table_add(SeenTable *table, uint64_t low, uint64_t high, bool *fresh, GError **error);
