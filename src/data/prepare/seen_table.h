/* seen_table.h: which texts were seen, by a 128-bit hash. The table is a mapped temporary file, so that the kernel can
 * page it out: memory stays bounded however many documents there are. The file has no name; nothing is left behind. */
#pragma once

#include "base/error.h"

#include <stdint.h>

typedef struct SeenTable SeenTable;

SeenTable *seen_table_open(const char *folder, GError **error);
void seen_table_close(SeenTable *table);
/* *fresh: the hash was not in the table before. */
bool seen_table_add(SeenTable *table, uint64_t low, uint64_t high, bool *fresh, GError **error);
