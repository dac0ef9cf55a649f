#include "format/safetensors.h"

#include "base/check.h"
#include "base/file.h"
#include "format/safetensors_dtype.h"

#include <jansson.h>
#include <string.h>

typedef json_t Json;
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Json, json_decref)

typedef struct Declared {
    SafeTensor tensor; /* its name is owned */
    const SafeDType *dtype;
} Declared;

struct SafeWriter {
    GArray *declared; /* Declared */
    GTree *metadata;  /* by key, so that the order of calls does not show */
};

static void declared_clear(void *item)
{
    g_free((char *)((Declared *)item)->tensor.name);
}

static int compare_text(const void *a, const void *b, void *unused)
{
    (void)unused;
    return strcmp(a, b);
}

SafeWriter *safetensors_writer_new(void)
{
    SafeWriter *writer = g_new0(SafeWriter, 1);
    writer->declared = g_array_new(FALSE, TRUE, sizeof(Declared));
    g_array_set_clear_func(writer->declared, declared_clear);
    writer->metadata = g_tree_new_full(compare_text, NULL, g_free, g_free);
    return writer;
}

void safetensors_writer_free(SafeWriter *writer)
{
    if (writer == NULL)
        return;
    g_array_unref(writer->declared);
    g_tree_unref(writer->metadata);
    g_free(writer);
}

void safetensors_writer_metadata(SafeWriter *writer, const char *key, const char *value)
{
    g_tree_replace(writer->metadata, g_strdup(key), g_strdup(value));
}

void safetensors_writer_add(SafeWriter *writer, const char *name, const char *dtype, int rank, const int64_t *shape,
                            const void *data)
{
    Declared new = { .tensor = { .name = g_strdup(name), .rank = rank, .data = data },
                     .dtype = safetensors_dtype(dtype) };
    CHECK(new.dtype != NULL, "%s: unknown dtype %s", name, dtype);
    CHECK(rank >= 0 && rank <= SAFETENSORS_MAX_RANK, "%s: rank %d", name, rank);
    CHECK(strcmp(name, "__metadata__") != 0, "a tensor cannot have the name %s", name);
    int64_t bits = new.dtype->bits;
    for (int i = 0; i < rank; i++) {
        CHECK(shape[i] >= 0 && !__builtin_mul_overflow(bits, shape[i], &bits), "%s: size %lld", name,
              (long long)shape[i]);
        new.tensor.shape[i] = shape[i];
    }
    CHECK(bits % 8 == 0, "%s: %lld bits", name, (long long)bits);
    new.tensor.dtype = new.dtype->name;
    new.tensor.bytes = (size_t)bits / 8;
    g_array_append_val(writer->declared, new);
}

/* By falling row of the dtype table (hence falling alignment), then name. */
static int by_alignment(const void *a, const void *b)
{
    const Declared *x = a, *y = b;
    if (x->dtype != y->dtype)
        return x->dtype > y->dtype ? -1 : 1;
    int order = strcmp(x->tensor.name, y->tensor.name);
    CHECK(order != 0 || x == y, "tensor %s is declared twice", x->tensor.name);
    return order;
}

static int add_metadata(void *key, void *value, void *object)
{
    json_object_set_new(object, key, json_string(value));
    return FALSE;
}

static Json *header_json(const SafeWriter *writer)
{
    Json *header = json_object();
    if (g_tree_nnodes(writer->metadata) > 0) {
        Json *metadata = json_object();
        g_tree_foreach(writer->metadata, add_metadata, metadata);
        json_object_set_new(header, "__metadata__", metadata);
    }
    size_t at = 0;
    for (guint i = 0; i < writer->declared->len; i++) {
        const SafeTensor *tensor = &g_array_index(writer->declared, Declared, i).tensor;
        Json *shape = json_array();
        for (int d = 0; d < tensor->rank; d++)
            json_array_append_new(shape, json_integer(tensor->shape[d]));
        Json *entry = json_pack("{s:s, s:o, s:[I, I]}", "dtype", tensor->dtype, "shape", shape, "data_offsets",
                                (json_int_t)at, (json_int_t)(at + tensor->bytes));
        CHECK(entry != NULL && json_object_set_new(header, tensor->name, entry) == 0, "%s is not UTF-8", tensor->name);
        at += tensor->bytes;
    }
    return header;
}

/* The length, the JSON, and spaces up to a multiple of 8. */
static GString *header_text(const SafeWriter *writer)
{
    g_autoptr(Json) header = header_json(writer);
    char *json = json_dumps(header, JSON_COMPACT);
    CHECK(json != NULL, "the header cannot be written as JSON");
    uint64_t n = (strlen(json) + 7) / 8 * 8;
    GString *text = g_string_sized_new(8 + n);
    g_string_append_len(text, (const char *)&n, sizeof n);
    g_string_append(text, json);
    free(json);
    while (text->len < 8 + n)
        g_string_append_c(text, ' ');
    return text;
}

bool safetensors_writer_write(SafeWriter *writer, const char *path, GError **error)
{
    if (writer->declared->len > 0)
        qsort(writer->declared->data, writer->declared->len, sizeof(Declared), by_alignment);
    IoFile *file = io_create(path, error);
    if (file == NULL)
        return false;
    GString *header = header_text(writer);
    bool ok = io_write(file, header->str, header->len, error);
    g_string_free(header, TRUE);
    for (guint i = 0; ok && i < writer->declared->len; i++) {
        const SafeTensor *tensor = &g_array_index(writer->declared, Declared, i).tensor;
        ok = io_write(file, tensor->data, tensor->bytes, error);
    }
    if (!ok) {
        io_abort(file);
        return false;
    }
    return io_close(file, true, error);
}
