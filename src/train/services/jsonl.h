/* jsonl.h: metrics.jsonl, a line per record. */
#pragma once

#include "train/services/records.h"

typedef struct Jsonl Jsonl;

/* Opens DIR/metrics.jsonl for a run that continues after `step`. Removes lines of later steps and an incomplete last
 * line, so that every step is logged once. */
Jsonl *jsonl_open(const char *dir, int64_t step, GError **error);
void jsonl_write(Jsonl *jsonl, const LogRecord *record);
void jsonl_close(Jsonl *jsonl);
