/* ffrecord.h: files of FFRecord (.ffr): u32 CRC-32 of the next three, i64 number of records n, u32 CRC-32 of each
 * record, i64 offsets of the records, and the records; little-endian. The last record ends with the file. */
#pragma once

#include "base/error.h"

#include <stdint.h>

typedef struct FFRecord FFRecord; /* read-only; thread-safe */
/* Checks the CRC of the header, and every offset against the file's size. */
FFRecord *ffrecord_open(const char *path, GError **error);
void ffrecord_close(FFRecord *file);
int64_t ffrecord_count(const FFRecord *file);
int64_t ffrecord_bytes(const FFRecord *file); /* size of the file */
/* Replaces `out` by the bytes of a record, and checks its CRC. */
bool ffrecord_read(const FFRecord *file, int64_t record, GByteArray *out, GError **error);

/* Called for a record: replaces `out` by its bytes. */
typedef bool (*FFRecordFn)(void *context, int64_t record, GByteArray *out, GError **error);
/* Writes n records; `give` is called twice for each. */
bool ffrecord_write(const char *path, int64_t n, FFRecordFn give, void *context, GError **error);
