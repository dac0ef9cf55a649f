#include "format/events.h"

#include "base/log.h"
#include "format/protobuf.h"

#include <string.h>
#include <unistd.h>

#define PREFIX          "events.out.tfevents."
#define MAX_FILE        ((size_t)1 << 31)
#define RECORD_OVERHEAD 16 /* bytes: length 8, its checksum 4, the payload's 4 */

/* ---- protobuf: the few fields of tensorflow.Event that scalars and texts need ---- */

static void put_varint(GByteArray *out, uint64_t value)
{
    do {
        guint8 byte = (guint8)((value & 127) | (value > 127 ? 128 : 0));
        g_byte_array_append(out, &byte, 1);
    } while (value >>= 7);
}

static void put_bytes(GByteArray *out, int field, const void *data, size_t bytes)
{
    put_varint(out, (uint64_t)field << 3 | 2);
    put_varint(out, bytes);
    g_byte_array_append(out, data, (guint)bytes);
}

static void put_fixed(GByteArray *out, int field, const void *data, guint bytes)
{
    put_varint(out, (uint64_t)field << 3 | (bytes == 8 ? 1 : 5));
    g_byte_array_append(out, data, bytes);
}

static void put_message(GByteArray *out, int field, const GByteArray *message)
{
    put_bytes(out, field, message->data, message->len);
}

static void put_number(GByteArray *out, int field, uint64_t value)
{
    put_varint(out, (uint64_t)field << 3);
    put_varint(out, value);
}

/* Event.wall_time (1) and .step (2). */
static GByteArray *event_new(int64_t step)
{
    GByteArray *event = g_byte_array_new();
    double now = (double)g_get_real_time() / 1e6;
    put_fixed(event, 1, &now, 8);
    put_number(event, 2, (uint64_t)step);
    return event;
}

/* The first field of a message with this number; false if there is none. */
static bool find_field(const char *at, size_t bytes, uint64_t number, ProtobufField *field)
{
    const char *end = at + bytes;
    while (protobuf_next(&at, end, field))
        if (field->number == number)
            return true;
    return false;
}

/* Whether the tag of the event's first value ends in EVENTS_BY_SAMPLES: Event.summary (5), .value (1), .tag (1). */
static bool is_by_samples(const char *event, size_t bytes)
{
    static const char ending[] = EVENTS_BY_SAMPLES;
    const size_t n = sizeof ending - 1;
    ProtobufField summary, value, tag;
    return find_field(event, bytes, 5, &summary) && summary.bytes &&
           find_field(summary.bytes, summary.n_bytes, 1, &value) && value.bytes &&
           find_field(value.bytes, value.n_bytes, 1, &tag) && tag.bytes && tag.n_bytes >= n &&
           memcmp(tag.bytes + tag.n_bytes - n, ending, n) == 0;
}

/* ---- records ---- */

/* CRC-32C, four bits at a time: the remainders of four bits, polynomial 0x82f63b78 (Castagnoli, reflected). */
static const uint32_t remainders[16] = { 0x00000000, 0x105ec76f, 0x20bd8ede, 0x30e349b1, 0x417b1dbc, 0x5125dad3,
                                         0x61c69362, 0x7198540d, 0x82f63b78, 0x92a8fc17, 0xa24bb5a6, 0xb21572c9,
                                         0xc38d26c4, 0xd3d3e1ab, 0xe330a81a, 0xf36e6f75 };

uint32_t crc32c(const void *data, size_t bytes)
{
    const unsigned char *at = data;
    uint32_t crc = 0xffffffff;
    for (size_t i = 0; i < bytes; i++) {
        crc ^= at[i];
        crc = crc >> 4 ^ remainders[crc & 15];
        crc = crc >> 4 ^ remainders[crc & 15];
    }
    return ~crc;
}

static uint32_t masked_crc(const void *data, size_t bytes)
{
    uint32_t crc = crc32c(data, bytes);
    return (crc >> 15 | crc << 17) + 0xa282ead8u;
}

/* Appends a record of the event, which is freed. After a failure everything since the last flush is lost. */
static bool write_record(IoFile *file, GByteArray *event, GError **error)
{
    uint64_t bytes = event->len;
    uint32_t length_crc = masked_crc(&bytes, sizeof bytes), crc = masked_crc(event->data, event->len);
    bool ok = io_write(file, &bytes, sizeof bytes, error) && io_write(file, &length_crc, sizeof length_crc, error) &&
              io_write(file, event->data, event->len, error) && io_write(file, &crc, sizeof crc, error);
    g_byte_array_unref(event);
    return ok;
}

/* Bytes of the payload of the record at `at`; -1 if the record is torn or corrupt. */
static int64_t payload_bytes(const guint8 *at, size_t left)
{
    uint64_t bytes;
    uint32_t length_crc, crc;
    if (left < RECORD_OVERHEAD)
        return -1;
    memcpy(&bytes, at, 8);
    memcpy(&length_crc, at + 8, 4);
    if (length_crc != masked_crc(&bytes, 8) || bytes > left - RECORD_OVERHEAD)
        return -1;
    memcpy(&crc, at + 12 + bytes, 4);
    return crc == masked_crc(at + 12, bytes) ? (int64_t)bytes : -1;
}

/* ---- writing ---- */

static char *new_path(const char *folder)
{
    for (int n = 0;; n++) {
        char *path = g_strdup_printf("%s/" PREFIX "%010" G_GINT64_FORMAT ".%s.%d.%d", folder,
                                     g_get_real_time() / G_USEC_PER_SEC, g_get_host_name(), (int)getpid(), n);
        if (!g_file_test(path, G_FILE_TEST_EXISTS))
            return path;
        g_free(path);
    }
}

static bool write_version(IoFile *file, GError **error)
{
    static const char version[] = "brain.Event:2";
    GByteArray *event = event_new(0);
    put_bytes(event, 3, version, sizeof version - 1);
    return write_record(file, event, error) && io_flush(file, error);
}

IoFile *events_open(const char *folder, GError **error)
{
    if (!io_make_directories(folder, error))
        return NULL;
    g_autofree char *path = new_path(folder);
    IoFile *file = io_append(path, error);
    if (file == NULL || write_version(file, error))
        return file;
    io_abort(file);
    return NULL;
}

char *events_again(IoFile *file, GError **error)
{
    char *again = io_append_again(file);
    if (again)
        write_version(file, error);
    return again;
}

/* An event whose summary has this one Summary.Value. */
static bool write_value(IoFile *file, int64_t step, const GByteArray *value, GError **error)
{
    g_autoptr(GByteArray) summary = g_byte_array_new();
    GByteArray *event = event_new(step);
    put_message(summary, 1, value); /* Summary.value */
    put_message(event, 5, summary); /* Event.summary */
    return write_record(file, event, error);
}

bool events_scalar(IoFile *file, const char *tag, int64_t step, double value, GError **error)
{
    float simple_value = (float)value;
    g_autoptr(GByteArray) scalar = g_byte_array_new();
    put_bytes(scalar, 1, tag, strlen(tag)); /* Summary.Value.tag, .simple_value */
    put_fixed(scalar, 2, &simple_value, 4);
    return write_value(file, step, scalar, error);
}

bool events_text(IoFile *file, const char *tag, int64_t step, const char *markdown, GError **error)
{
    static const char plugin[] = "text";
    enum { DT_STRING = 7, DATA_CLASS_TENSOR = 2 };
    g_autoptr(GByteArray) text = g_byte_array_new(), tensor = g_byte_array_new(), shape = g_byte_array_new(),
                          name = g_byte_array_new(), metadata = g_byte_array_new();
    put_bytes(name, 1, plugin, sizeof plugin - 1); /* SummaryMetadata.PluginData.plugin_name */
    put_message(metadata, 1, name);                /* SummaryMetadata.plugin_data */
    put_number(metadata, 4, DATA_CLASS_TENSOR);    /* SummaryMetadata.data_class */
    put_number(tensor, 1, DT_STRING);              /* TensorProto.dtype, .tensor_shape of no dimensions, .string_val */
    put_message(tensor, 2, shape);
    put_bytes(tensor, 8, markdown, strlen(markdown));
    put_bytes(text, 1, tag, strlen(tag)); /* Summary.Value.tag, .metadata, .tensor */
    put_message(text, 9, metadata);
    put_message(text, 8, tensor);
    return write_value(file, step, text, error);
}

void events_close(IoFile *file)
{
    g_autoptr(GError) error = NULL;
    if (!io_close(file, true, &error))
        log_warning("%s", error->message);
}

/* ---- cutting ---- */

static bool cut_file(const char *path, int64_t step, int64_t samples, GError **error)
{
    g_autoptr(GMappedFile) map = io_map_file(path, error);
    if (map == NULL)
        return false;
    const guint8 *file = (const guint8 *)g_mapped_file_get_contents(map);
    size_t bytes = g_mapped_file_get_length(map), at = 0;
    if (bytes > MAX_FILE)
        return fail_user(error, "%s: %zu bytes are too many for an event file of scalars", path, bytes);
    g_autoptr(GByteArray) kept = g_byte_array_new();
    int64_t payload;
    while (at < bytes && (payload = payload_bytes(file + at, bytes - at)) >= 0) {
        size_t record = (size_t)payload + RECORD_OVERHEAD;
        const char *event = (const char *)file + at + 12;
        ProtobufField own = { 0 }; /* Event.step; protobuf leaves a step of 0 out */
        const bool has_step = find_field(event, (size_t)payload, 2, &own);
        if ((has_step ? (int64_t)own.value : 0) <= (is_by_samples(event, (size_t)payload) ? samples : step))
            g_byte_array_append(kept, file + at, (guint)record);
        at += record;
    }
    if (at < bytes)
        log_warning("%s: the last %zu bytes are torn or damaged and are dropped", path, bytes - at);
    return kept->len == bytes || io_write_file(path, kept->data, kept->len, error);
}

bool events_cut(const char *folder, int64_t step, int64_t samples, GError **error)
{
    if (!g_file_test(folder, G_FILE_TEST_IS_DIR))
        return true;
    g_autoptr(GError) wrong = NULL;
    g_autoptr(GDir) dir = g_dir_open(folder, 0, &wrong);
    if (dir == NULL)
        return fail_machine(error, "%s", wrong->message);
    const char *name;
    while ((name = g_dir_read_name(dir))) {
        g_autofree char *path = g_build_filename(folder, name, NULL);
        bool unfinished = g_str_has_suffix(name, ".tmp"); /* left by an earlier cut that was interrupted */
        if (g_str_has_prefix(name, PREFIX) &&
            !(unfinished ? io_remove_file(path, error) : cut_file(path, step, samples, error)))
            return false;
    }
    return true;
}
