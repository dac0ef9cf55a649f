/* json.h: values of a leaf as JSON. */
#pragma once

#include "format/parquet/parquet.h"
#include "format/parquet/values.h"

/* The value as JSON lines would have it (parquet.h says how). NULL if it is bytes that are no UTF-8, or no good
 * text; the error does not say where. */
json_t *json_of_value(const LeafType *type, const Value *value, const ParquetTexts *texts, GError **error);
