/* ffrecord.h: reads and writes files of FFRecord (.ffr), a format for records of bytes. In this order a file has,
 * little-endian: u32 CRC-32 of the next three fields; i64 number of records n; n × u32 CRC-32 of each record; n × i64
 * offset of each record in the file; the records. The last record ends at the end of the file. */
#pragma once

#include "base/error.h"

#include <stdint.h>

typedef struct FFRecord FFRecord; /* read-only; thread-safe */
/* Opens a file. It is an error if the CRC-32 of the header is wrong, or if an offset does not fit the file's size. */
FFRecord *ffrecord_open(const char *path, GError **error);
void ffrecord_close(FFRecord *file);
int64_t ffrecord_count(const FFRecord *file); /* number of records */
int64_t ffrecord_bytes(const FFRecord *file); /* size of the file */
/* Sets `out` to the bytes of record number `record`. It is an error if the record's CRC-32 is wrong. */
bool ffrecord_read(const FFRecord *file, int64_t record, GByteArray *out, GError **error);

/* Callback of ffrecord_write: sets `out` to the bytes of record number `record`. */
typedef bool (*FFRecordFn)(void *context, int64_t record, GByteArray *out, GError **error);
/* Writes a file of n records. `give` is called twice for each record: for its CRC-32 and length, and to write it. */
bool ffrecord_write(const char *path, int64_t n, FFRecordFn give, void *context, GError **error);
