/* safetensors_write.c: writes safetensors files. */
#include "format/safetensors.h"

#include "base/check.h"
#include "base/file.h"
#include "base/json_line.h"

#include <math.h>
#include <string.h>
#include <xxhash.h>

typedef struct Declared {
    FileTensor tensor; /* with an owned name */
    const FileDType *dtype;
    bool rounded;    /* the data are f32 and stored as another dtype */
    SafeFetch fetch; /* NULL means that tensor.data holds the values */
    int64_t rows;    /* most rows of a call of fetch */
    void *context;   /* owned */
} Declared;

#define CHUNK 4096 /* elements rounded at a time */

struct SafeWriter {
    GArray *declared;          /* Declared */
    GTree *metadata;           /* sorted by key, so that the order of calls does not matter */
    const FileDType *store_as; /* of F32 tensors; NULL means F32 */
    XXH3_state_t *hash;        /* checksum of the file that is written */
    int64_t bytes;             /* written so far */
};

static const FileTensor *tensor_at(const SafeWriter *writer, guint i)
{
    return &g_array_index(writer->declared, Declared, i).tensor;
}

static void declared_clear(void *item)
{
    g_free((char *)((Declared *)item)->tensor.name);
    g_free(((Declared *)item)->context);
}

static int compare_text(const void *a, const void *b, G_GNUC_UNUSED void *unused)
{
    return strcmp(a, b);
}

SafeWriter *safetensors_writer_new(void)
{
    SafeWriter *writer = g_new0(SafeWriter, 1);
    writer->declared = g_array_new(FALSE, TRUE, sizeof(Declared));
    g_array_set_clear_func(writer->declared, declared_clear);
    writer->metadata = g_tree_new_full(compare_text, NULL, g_free, g_free);
    writer->hash = XXH3_createState();
    XXH3_64bits_reset(writer->hash); /* Its digest may be asked for when no file could be made. */
    return writer;
}

void safetensors_writer_free(SafeWriter *writer)
{
    if (writer == NULL)
        return;
    g_array_unref(writer->declared);
    g_tree_unref(writer->metadata);
    XXH3_freeState(writer->hash);
    g_free(writer);
}

void safetensors_writer_metadata(SafeWriter *writer, const char *key, const char *value)
{
    g_tree_replace(writer->metadata, g_strdup(key), g_strdup(value));
}

void safetensors_writer_store_as(SafeWriter *writer, const char *dtype)
{
    writer->store_as = file_dtype(dtype);
    CHECK(writer->store_as && writer->store_as->from_f32, "nothing is stored as %s", dtype);
}

void safetensors_writer_add(SafeWriter *writer, const char *name, const char *dtype, int rank, const int64_t *shape,
                            const void *data)
{
    Declared new = { .tensor = { .name = g_strdup(name), .rank = rank, .data = data }, .dtype = file_dtype(dtype) };
    CHECK(new.dtype != NULL, "%s: unknown dtype %s", name, dtype);
    CHECK(rank >= 0 && rank <= FILE_TENSOR_MAX_RANK, "%s: rank %d", name, rank);
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

void safetensors_writer_add_later(SafeWriter *writer, const char *name, const char *dtype, int rank,
                                  const int64_t *shape, int64_t rows, SafeFetch fetch, void *context)
{
    CHECK(rank > 0 && rows > 0, "%s: rank %d, %lld rows at a time", name, rank, (long long)rows);
    safetensors_writer_add(writer, name, dtype, rank, shape, NULL);
    Declared *declared = &g_array_index(writer->declared, Declared, writer->declared->len - 1);
    declared->fetch = fetch;
    declared->rows = rows;
    declared->context = context;
}

/* By descending entry of the dtype table, hence descending alignment, then by name. */
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

/* The header of a file of tensors [first, last). */
static json_t *header_json(const SafeWriter *writer, guint first, guint last)
{
    json_t *header = json_object();
    if (g_tree_nnodes(writer->metadata) > 0) {
        json_t *metadata = json_object();
        g_tree_foreach(writer->metadata, add_metadata, metadata);
        json_object_set_new(header, "__metadata__", metadata);
    }
    size_t at = 0;
    for (guint i = first; i < last; i++) {
        const FileTensor *tensor = tensor_at(writer, i);
        json_t *shape = json_array();
        for (int d = 0; d < tensor->rank; d++)
            json_array_append_new(shape, json_integer(tensor->shape[d]));
        json_t *entry = json_pack("{s:s, s:o, s:[I, I]}", "dtype", tensor->dtype, "shape", shape, "data_offsets",
                                  (json_int_t)at, (json_int_t)(at + tensor->bytes));
        CHECK(entry != NULL && json_object_set_new(header, tensor->name, entry) == 0, "%s is not UTF-8", tensor->name);
        at += tensor->bytes;
    }
    return header;
}

/* Writes the length, the JSON, and spaces up to a multiple of 8 bytes. */
static GString *header_text(const SafeWriter *writer, guint first, guint last)
{
    json_auto_t *header = header_json(writer, first, last);
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

/* Sets the stored type of F32 tensors, and sorts all tensors. */
static void settle_types(SafeWriter *writer)
{
    for (guint i = 0; writer->store_as && i < writer->declared->len; i++) {
        Declared *declared = &g_array_index(writer->declared, Declared, i);
        if (strcmp(declared->dtype->name, "F32") != 0)
            continue;
        declared->tensor.bytes = declared->tensor.bytes / 4 * (size_t)writer->store_as->bits / 8;
        declared->dtype = writer->store_as;
        declared->tensor.dtype = writer->store_as->name;
        declared->rounded = true;
    }
    if (writer->declared->len > 0)
        qsort(writer->declared->data, writer->declared->len, sizeof(Declared), by_alignment);
}

/* Refuses finite numbers that the stored type rounds to infinity. */
static bool fits_declared(const float *values, int64_t n, const Declared *declared, GError **error)
{
    const bool f16 = strcmp(declared->dtype->name, "F16") == 0;
    const float limit = f16 ? 65520 : 0x1.FFp127F; /* halfway between the largest number and the next power of 2 */
    for (int64_t i = 0; i < n; i++)
        if (isfinite(values[i]) && fabsf(values[i]) >= limit)
            return fail_user(error, "tensor %s holds %g, beyond %s: store it as %s", declared->tensor.name,
                             (double)values[i], f16 ? "f16's 65504" : "bf16's 3.3895e38",
                             f16 && fabsf(values[i]) < 0x1.FFp127F ? "bf16 or f32" : "f32");
    return true;
}

/* Appends to the file and to its checksum. */
static bool put_summed(SafeWriter *writer, IoFile *file, const void *data, size_t bytes, GError **error)
{
    if (bytes > 0)
        XXH3_64bits_update(writer->hash, data, bytes);
    writer->bytes += (int64_t)bytes;
    return io_write(file, data, bytes, error);
}

uint64_t safetensors_writer_hash(const SafeWriter *writer, int64_t *bytes)
{
    *bytes = writer->bytes;
    return XXH3_64bits_digest(writer->hash);
}

static bool write_rounded(SafeWriter *writer, IoFile *file, const Declared *declared, const float *values, int64_t n,
                          GError **error)
{
    size_t width = (size_t)declared->dtype->bits / 8;
    uint16_t chunk[CHUNK];
    CHECK(width == sizeof *chunk, "%s", declared->dtype->name);
    for (int64_t at = 0; at < n; at += CHUNK) {
        int64_t m = MIN(CHUNK, n - at);
        if (!fits_declared(values + at, m, declared, error))
            return false;
        declared->dtype->from_f32(chunk, values + at, m);
        if (!put_summed(writer, file, chunk, (size_t)m * width, error))
            return false;
    }
    return true;
}

/* Writes elements of a tensor; `bytes` counts them in the tensor's dtype. */
static bool write_elements(SafeWriter *writer, IoFile *file, const Declared *declared, const void *data, size_t bytes,
                           GError **error)
{
    return declared->rounded ? write_rounded(writer, file, declared, data,
                                             (int64_t)(bytes * 8 / (size_t)declared->dtype->bits), error)
                             : put_summed(writer, file, data, bytes, error);
}

static bool write_tensor(SafeWriter *writer, IoFile *file, const Declared *declared, GError **error)
{
    const FileTensor *tensor = &declared->tensor;
    if (declared->fetch == NULL)
        return write_elements(writer, file, declared, tensor->data, tensor->bytes, error);
    int64_t all = tensor->shape[0], most = MIN(all, declared->rows);
    size_t row = all ? tensor->bytes / (size_t)all : 0; /* bytes as written */
    size_t widened = declared->rounded ? row * 8 / (size_t)declared->dtype->bits * sizeof(float) : row;
    g_autofree void *rows = g_malloc((size_t)most * widened);
    for (int64_t first = 0; first < all; first += most) {
        int64_t n = MIN(most, all - first);
        declared->fetch(declared->context, first, n, rows);
        if (!write_elements(writer, file, declared, rows, (size_t)n * row, error))
            return false;
    }
    return true;
}

static bool write_file(SafeWriter *writer, guint first, guint last, const char *path, GError **error)
{
    IoFile *file = io_create(path, error);
    if (file == NULL)
        return false;
    XXH3_64bits_reset(writer->hash);
    writer->bytes = 0;
    GString *header = header_text(writer, first, last);
    bool ok = put_summed(writer, file, header->str, header->len, error);
    g_string_free(header, TRUE);
    for (guint i = first; ok && i < last; i++)
        ok = write_tensor(writer, file, &g_array_index(writer->declared, Declared, i), error);
    if (!ok) {
        io_abort(file);
        return false;
    }
    return io_close(file, true, error);
}

bool safetensors_writer_write(SafeWriter *writer, const char *path, GError **error)
{
    settle_types(writer);
    return write_file(writer, 0, writer->declared->len, path, error);
}

/* The first tensor of each shard, then the number of tensors. A shard has as many as fit, at least one. */
static GArray *cut_shards(const SafeWriter *writer, int64_t shard_bytes)
{
    GArray *cuts = g_array_new(FALSE, FALSE, sizeof(guint));
    int64_t bytes = 0;
    guint end = writer->declared->len;
    for (guint i = 0; i < end; i++) {
        int64_t more = (int64_t)tensor_at(writer, i)->bytes;
        if (i == 0 || (shard_bytes > 0 && more > shard_bytes - bytes)) {
            g_array_append_val(cuts, i);
            bytes = 0;
        }
        bytes += more;
    }
    g_array_append_val(cuts, end);
    return cuts;
}

static bool write_index(json_t *weight_map, int64_t total_bytes, const char *folder, GError **error)
{
    g_autofree char *path = g_build_filename(folder, "model.safetensors.index.json", NULL);
    json_auto_t *root =
        json_pack("{s:{s:I}, s:O}", "metadata", "total_size", (json_int_t)total_bytes, "weight_map", weight_map);
    return json_write_file(path, root, JSON_INDENT(2) | JSON_SORT_KEYS, "\n", error);
}

bool safetensors_writer_write_folder(SafeWriter *writer, const char *folder, int64_t shard_bytes, GError **error)
{
    settle_types(writer);
    g_autoptr(GArray) cuts = cut_shards(writer, shard_bytes);
    json_auto_t *weight_map = json_object();
    guint n = cuts->len - 1;
    int64_t total_bytes = 0;
    bool ok = true;
    if (n <= 1) {
        g_autofree char *path = g_build_filename(folder, "model.safetensors", NULL);
        return write_file(writer, 0, writer->declared->len, path, error);
    }
    for (guint shard = 0; ok && shard < n; shard++) {
        guint first = g_array_index(cuts, guint, shard), last = g_array_index(cuts, guint, shard + 1);
        g_autofree char *name = g_strdup_printf("model-%05u-of-%05u.safetensors", shard + 1, n);
        g_autofree char *path = g_build_filename(folder, name, NULL);
        ok = write_file(writer, first, last, path, error);
        for (guint i = first; i < last; i++) {
            json_object_set_new(weight_map, tensor_at(writer, i)->name, json_string(name));
            total_bytes += (int64_t)tensor_at(writer, i)->bytes;
        }
    }
    return ok && write_index(weight_map, total_bytes, folder, error);
}
