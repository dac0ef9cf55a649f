#include "format/parquet/metadata.h"

#include "base/file.h"
#include "format/parquet/schema.h"
#include "format/parquet/thrift.h"

#include <string.h>
#include <unistd.h>

#define MAGIC           "PAR1"
#define MOST_FOOTER     ((uint32_t)1 << 28)
#define FOOTER_END      8 /* its length and the magic */
#define MOST_GROUP_ROWS ((int64_t)1 << 40)

bool metadata_read(const Metadata *file, uint64_t at, void *out, size_t n, GError **error)
{
    if (at > file->footer_begin || n > file->footer_begin - at)
        return fail_user(error, "its pages lie outside of the file: the file is damaged or was cut");
    for (size_t done = 0; done < n;) {
        const ssize_t got = pread(file->fd, (char *)out + done, n - done, (off_t)(at + done));
        if (got < 0)
            return fail_errno(error, "reading", file->path);
        if (got == 0)
            return fail_user(error, "the file has become shorter while it was read");
        done += (size_t)got;
    }
    return true;
}

/* ---- row groups ---- */

static bool take_group(Metadata *file, Thrift *in)
{
    RowGroup group = { .at = in->at, .rows = -1 };
    for (ThriftField field = { 0 }; thrift_next(in, &field);)
        if (field.id == 3)
            group.rows = thrift_integer(in, &field);
        else
            thrift_skip(in, &field);
    g_array_append_val(file->groups, group);
    return !in->bad && group.rows >= 0 && group.rows <= MOST_GROUP_ROWS;
}

static bool take_groups(Metadata *file, Thrift *in, const ThriftField *field, GError **error)
{
    for (ThriftList list = thrift_structs(in, field); thrift_item(in, &list);)
        if (!take_group(file, in))
            return fail_user(error, "row group %u has no valid number of rows", file->groups->len);
    return true;
}

/* What is wanted of the metadata of a chunk. */
typedef struct ChunkFields {
    bool elsewhere, encrypted, known;
    int type, codec;
    int64_t values, data_at, dictionary_at;
} ChunkFields;

static void take_chunk_metadata(Thrift *in, ChunkFields *chunk)
{
    for (ThriftField field = { 0 }; thrift_next(in, &field);)
        switch (field.id) {
        case 1:
            chunk->type = thrift_int32(in, &field);
            break;
        case 4:
            chunk->codec = thrift_int32(in, &field);
            break;
        case 5:
            chunk->values = thrift_integer(in, &field);
            break;
        case 9:
            chunk->data_at = thrift_integer(in, &field);
            chunk->known = true;
            break;
        case 11:
            chunk->dictionary_at = thrift_integer(in, &field);
            break;
        default:
            thrift_skip(in, &field);
        }
}

static void take_chunk(Thrift *in, ChunkFields *chunk)
{
    for (ThriftField field = { 0 }; thrift_next(in, &field);) {
        chunk->elsewhere |= field.id == 1;
        chunk->encrypted |= field.id == 8 || field.id == 9;
        if (field.id == 3 && thrift_struct(in, &field))
            take_chunk_metadata(in, chunk);
        else
            thrift_skip(in, &field);
    }
}

/* Goes to the chunk of a leaf; false if the row group has none. */
static bool find_chunk(Thrift *in, guint leaf)
{
    for (ThriftField field = { 0 }; thrift_next(in, &field);) {
        if (field.id != 1) {
            thrift_skip(in, &field);
            continue;
        }
        ThriftList list = thrift_structs(in, &field);
        for (guint i = 0; i < leaf && thrift_item(in, &list); i++)
            thrift_skip_struct(in);
        return thrift_item(in, &list);
    }
    return false;
}

bool metadata_chunk(const Metadata *file, guint group, guint leaf, Chunk *chunk, GError **error)
{
    Thrift in = { .at = g_array_index(file->groups, RowGroup, group).at, .end = file->footer_end };
    ChunkFields fields = { .type = -1, .codec = -1, .values = -1 };
    if (!find_chunk(&in, leaf))
        return fail_user(error, "the row group lacks the column");
    take_chunk(&in, &fields);
    if (fields.encrypted)
        return fail_user(error, "it is encrypted, which loam does not read");
    if (fields.elsewhere)
        return fail_user(error, "its data are in another file: name that one");
    const bool dictionary = fields.dictionary_at > 0 && fields.dictionary_at < fields.data_at;
    *chunk = (Chunk){ .codec = fields.codec,
                      .values = fields.values,
                      .begin = (uint64_t)(dictionary ? fields.dictionary_at : fields.data_at) };
    if (in.bad || !fields.known || fields.values < 0 || fields.data_at < 0 ||
        fields.type != (int)metadata_leaf(file, leaf)->type.physical)
        return fail_user(error, "the metadata of its pages are damaged");
    return true;
}

/* ---- the footer ---- */

static bool parse(Metadata *file, GError **error)
{
    Thrift in = { .at = file->footer, .end = file->footer_end };
    for (ThriftField field = { 0 }; thrift_next(&in, &field);) {
        bool good = true;
        if (field.id == 2)
            good = schema_read(&in, &field, file->nodes, file->leaves, error);
        else if (field.id == 4)
            good = take_groups(file, &in, &field, error);
        else
            thrift_skip(&in, &field);
        if (!good)
            return false;
    }
    if (in.bad || file->nodes->len == 0)
        return fail_user(error, "its metadata are damaged");
    return true;
}

static bool read_footer(Metadata *file, GError **error)
{
    char start[4], end[FOOTER_END];
    uint32_t n;
    file->footer_begin = file->bytes;
    if (file->bytes < sizeof start + FOOTER_END)
        return fail_user(error, "%zu bytes are no Parquet file", (size_t)file->bytes);
    if (!metadata_read(file, 0, start, sizeof start, error) ||
        !metadata_read(file, file->bytes - FOOTER_END, end, FOOTER_END, error))
        return false;
    if (memcmp(end + 4, "PARE", 4) == 0)
        return fail_user(error, "it is encrypted, which loam does not read");
    if (memcmp(start, MAGIC, 4) != 0)
        return fail_user(error, "no Parquet file: it does not begin with " MAGIC);
    if (memcmp(end + 4, MAGIC, 4) != 0)
        return fail_user(error, "the end of the Parquet file is missing: it does not end with " MAGIC);
    memcpy(&n, end, sizeof n); /* little-endian, as are all processors that loam is for */
    if (n > MOST_FOOTER || n > file->bytes - FOOTER_END - 4)
        return fail_user(error, "its metadata would have %u bytes: the end of the file is damaged", n);
    const uint64_t begin = file->bytes - FOOTER_END - n;
    file->footer = g_malloc((gsize)n + 1);
    file->footer_end = file->footer + n;
    const bool good = metadata_read(file, begin, file->footer, n, error);
    file->footer_begin = begin;
    return good && parse(file, error);
}

static void clear_node(void *node)
{
    g_free(((Node *)node)->name);
}

Metadata *metadata_open(const char *path, GError **error)
{
    size_t bytes = 0;
    const int fd = io_open_regular(path, &bytes, error);
    if (fd < 0)
        return NULL;
    Metadata *file = g_new0(Metadata, 1);
    *file = (Metadata){ .path = g_strdup(path),
                        .fd = fd,
                        .bytes = bytes,
                        .nodes = g_array_new(false, true, sizeof(Node)),
                        .leaves = g_array_new(false, false, sizeof(guint)),
                        .groups = g_array_new(false, false, sizeof(RowGroup)) };
    g_array_set_clear_func(file->nodes, clear_node);
    if (!read_footer(file, error)) {
        fail_context(error, "%s", path);
        g_clear_pointer(&file, metadata_close);
    }
    return file;
}

void metadata_close(Metadata *file)
{
    if (!file)
        return;
    close(file->fd);
    g_array_unref(file->nodes);
    g_array_unref(file->leaves);
    g_array_unref(file->groups);
    g_free(file->footer);
    g_free(file->path);
    g_free(file);
}

const Node *metadata_node(const Metadata *file, guint node)
{
    return &g_array_index(file->nodes, Node, node);
}

const Node *metadata_leaf(const Metadata *file, guint leaf)
{
    return metadata_node(file, g_array_index(file->leaves, guint, leaf));
}

char *metadata_leaf_name(const Metadata *file, guint leaf)
{
    const guint wanted = g_array_index(file->leaves, guint, leaf);
    GString *name = g_string_new(NULL);
    for (guint i = 1; i <= wanted; i++) {
        const Node *node = metadata_node(file, i);
        if (node->next <= wanted) {
            i = node->next - 1; /* the leaf is not below it */
            continue;
        }
        g_string_append_printf(name, "%s%s", name->len ? "." : "", node->name);
    }
    return g_string_free(name, false);
}
