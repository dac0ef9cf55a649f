/* schema.h: the tree of columns. */
#pragma once

#include "format/parquet/metadata.h"
#include "format/parquet/thrift.h"

/* Reads the list of nodes in this field of the footer; nodes, leaves: those of Metadata. */
bool schema_read(Thrift *in, const ThriftField *field, GArray *nodes, GArray *leaves, GError **error);
