#include "data/trees/ndtypes.h"

#include "base/file.h"

#include <inttypes.h>
#include <string.h>
#include <zlib.h>

#define FRONT_BYTES ((size_t)12) /* the CRC and n */
#define ENTRY_BYTES ((size_t)12) /* bytes per record in the header: its CRC and its offset */

struct FFRecord {
    char *path;
    GMappedFile *map;
    const guint8 *bytes;
    size_t size;
    int64_t n;
};

static uint32_t crc_of(uint32_t crc, const void *data, size_t bytes)
{
    return (uint32_t)crc32_z(crc, data, bytes);
}

static uint32_t record_crc(const FFRecord *file, int64_t record)
{
    uint32_t crc;
    memcpy(&crc, file->bytes + FRONT_BYTES + 4 * (size_t)record, sizeof crc);
    return crc;
}

/* The byte at which a record starts; record n is the end of the file. */
static uint64_t record_offset(const FFRecord *file, int64_t record)
{
    uint64_t offset = file->size;
    if (record < file->n)
        memcpy(&offset, file->bytes + FRONT_BYTES + 4 * (size_t)file->n + 8 * (size_t)record, sizeof offset);
    return offset;
}

static bool check_header(FFRecord *file, GError **error)
{
    uint32_t crc;
    if (file->size < FRONT_BYTES)
        return fail_user(error, "%s: too short for a file of FFRecord", file->path);
    memcpy(&crc, file->bytes, sizeof crc);
    memcpy(&file->n, file->bytes + 4, sizeof file->n);
    if (file->n < 0 || (uint64_t)file->n > (file->size - FRONT_BYTES) / ENTRY_BYTES)
        return fail_user(error, "%s: %" PRId64 " records do not fit into %zu bytes: no file of FFRecord, or damaged",
                         file->path, file->n, file->size);
    size_t header = FRONT_BYTES + ENTRY_BYTES * (size_t)file->n;
    if (crc_of(0, file->bytes + 4, header - 4) != crc)
        return fail_user(error, "%s: its header does not have its checksum: damaged", file->path);
    uint64_t before = header;
    for (int64_t i = 0; i <= file->n; i++) {
        uint64_t offset = record_offset(file, i);
        if (offset < before || offset > file->size)
            return fail_user(error, "%s: record %" PRId64 " is outside of the file", file->path, i);
        before = offset;
    }
    return true;
}

FFRecord *ffrecord_open(const char *path, GError **error)
{
    GMappedFile *map = io_map_file(path, error);
    if (!map)
        return NULL;
    FFRecord *file = g_new0(FFRecord, 1);
    file->path = g_strdup(path);
    file->map = map;
    file->bytes = (const guint8 *)g_mapped_file_get_contents(map);
    file->size = g_mapped_file_get_length(map);
    if (!check_header(file, error))
        g_clear_pointer(&file, ffrecord_close);
    return file;
}

void ffrecord_close(FFRecord *file)
{
    if (!file)
        return;
    g_mapped_file_unref(file->map);
    g_free(file->path);
    g_free(file);
}

int64_t ffrecord_count(const FFRecord *file)
{
    return file->n;
}

int64_t ffrecord_bytes(const FFRecord *file)
{
    return (int64_t)file->size;
}

bool ffrecord_read(const FFRecord *file, int64_t record, GByteArray *out, GError **error)
{
    if (record < 0 || record >= file->n)
        return fail_user(error, "%s: record %" PRId64 " of %" PRId64, file->path, record, file->n);
    uint64_t begin = record_offset(file, record), bytes = record_offset(file, record + 1) - begin;
    if (bytes > G_MAXINT32 || crc_of(0, file->bytes + begin, bytes) != record_crc(file, record))
        return fail_user(error, "%s: record %" PRId64 " does not have its checksum: damaged", file->path, record);
    g_byte_array_set_size(out, 0);
    g_byte_array_append(out, file->bytes + begin, (guint)bytes);
    return true;
}

/* The CRCs and offsets of the records. */
static bool list_records(int64_t n, FFRecordFn give, void *context, uint32_t *crcs, int64_t *offsets, GError **error)
{
    g_autoptr(GByteArray) record = g_byte_array_new();
    int64_t at = (int64_t)(FRONT_BYTES + ENTRY_BYTES * (size_t)n);
    for (int64_t i = 0; i < n; i++) {
        if (!give(context, i, record, error))
            return false;
        crcs[i] = crc_of(0, record->data ? record->data : (const void *)"", record->len);
        offsets[i] = at;
        at += record->len;
    }
    return true;
}

static bool put_records(IoFile *file, int64_t n, FFRecordFn give, void *context, GError **error)
{
    g_autoptr(GByteArray) record = g_byte_array_new();
    for (int64_t i = 0; i < n; i++)
        if (!give(context, i, record, error) || !io_write(file, record->data, record->len, error))
            return false;
    return true;
}

bool ffrecord_write(const char *path, int64_t n, FFRecordFn give, void *context, GError **error)
{
    g_autofree uint32_t *crcs = g_new0(uint32_t, n + 1);
    g_autofree int64_t *offsets = g_new0(int64_t, n + 1);
    g_autofree char *part = g_strconcat(path, ".tmp", NULL);
    if (!list_records(n, give, context, crcs, offsets, error))
        return false;
    uint32_t crc = crc_of(0, &n, sizeof n);
    crc = crc_of(crc, crcs, (size_t)n * sizeof *crcs);
    crc = crc_of(crc, offsets, (size_t)n * sizeof *offsets);
    IoFile *file = io_create(part, error);
    if (!file)
        return false;
    bool good = io_write(file, &crc, sizeof crc, error) && io_write(file, &n, sizeof n, error) &&
                io_write(file, crcs, (size_t)n * sizeof *crcs, error) &&
                io_write(file, offsets, (size_t)n * sizeof *offsets, error) &&
                put_records(file, n, give, context, error);
    if (good)
        return io_publish(file, path, error);
    io_discard(file);
    return false;
}
