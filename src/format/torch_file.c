#include "format/tensor_file.h"

#include "base/file.h"
#include "format/torch_storage.h"

#include <string.h>
#include <unistd.h>

#define MAX_DEPTH      64 /* greatest depth of values in values; deeper ones are left out, which also ends cycles */
#define MAX_VISITS     (1 << 20) /* values looked at; a value that is reached twice counts twice */
#define MAX_TENSORS    (1 << 17)
#define MAX_NAME_BYTES 512
#define MAX_TEXTS      (1 << 14) /* metadata; further ones are left out */
#define MAX_TEXT_BYTES 4096      /* longest text; longer ones are left out */

/* A walk over the values of a pickle that collects tensors and texts. */
typedef struct Walk {
    TensorFile *file;
    TorchStorages *storages;
    const Shard *shard;
    GHashTable *owned; /* GBytes that `file` keeps alive */
    GString *path;     /* path (keys) of the value being visited */
    int depth, n_visits, n_texts;
    size_t left; /* bytes that copies of tensors may still have: all copies together fit into the file */
} Walk;

/* ---- tensors ---- */

/* The arguments of the call that makes a tensor: storage, first element, shape, strides, …; NULL where the value is
 * none. A parameter is a call of which the tensor is an argument. */
static const PickleValue *tensor_arguments(const PickleValue *value)
{
    static const char *const calls[] = { "torch._utils._rebuild_tensor", "torch._utils._rebuild_tensor_v2",
                                         "torch._utils._rebuild_tensor_v3" };
    static const char *const wrappers[] = { "torch._utils._rebuild_parameter",
                                            "torch._utils._rebuild_parameter_with_state" };
    for (size_t i = 0; value && i < G_N_ELEMENTS(wrappers); i++)
        if (value->type == PICKLE_OBJECT && pickle_is(value->callable, PICKLE_NAME, wrappers[i]))
            value = pickle_item(value->arguments, 0);
    for (size_t i = 0; value && i < G_N_ELEMENTS(calls); i++)
        if (value->type == PICKLE_OBJECT && pickle_is(value->callable, PICKLE_NAME, calls[i]))
            return value->arguments;
    return NULL;
}

/* A lazily negated tensor: its storage has the elements with the other sign. The last argument of the call says so. */
static bool is_negated(const PickleValue *arguments)
{
    guint n = pickle_items(arguments);
    const PickleValue *negated = n > 6 ? pickle_find(pickle_item(arguments, n - 1), "neg") : NULL;
    return negated && negated->type == PICKLE_BOOL && negated->integer;
}

/* A tuple of up to FILE_TENSOR_MAX_RANK whole numbers from 0; returns how many; -1 if it is no such tuple. */
static int read_tuple(const PickleValue *tuple, int64_t *numbers)
{
    if (tuple == NULL || tuple->type != PICKLE_TUPLE || pickle_items(tuple) > FILE_TENSOR_MAX_RANK)
        return -1;
    for (guint i = 0; i < pickle_items(tuple); i++) {
        const PickleValue *item = pickle_item(tuple, i);
        if (item->type != PICKLE_INT || item->integer < 0)
            return -1;
        numbers[i] = item->integer;
    }
    return (int)pickle_items(tuple);
}

/* The elements of a tensor within its storage, strides in elements. */
typedef struct Layout {
    int64_t first, strides[FILE_TENSOR_MAX_RANK];
    int64_t n_elements;
    size_t size; /* bytes of an element */
    bool row_major;
} Layout;

/* Counts the elements, and checks that all of them are within a storage of `bytes` bytes. */
static bool measure_strides(Layout *layout, const FileTensor *tensor, size_t bytes, GError **error)
{
    int64_t last = layout->first, n = 1, n_bytes;
    bool fits = layout->first >= 0;
    layout->row_major = true;
    for (int i = tensor->rank; i-- > 0;) {
        int64_t reach;
        layout->row_major &= tensor->shape[i] == 1 || layout->strides[i] == n;
        fits = fits && !__builtin_mul_overflow(n, tensor->shape[i], &n) &&
               !__builtin_mul_overflow(MAX(tensor->shape[i] - 1, 0), layout->strides[i], &reach) &&
               !__builtin_add_overflow(last, reach, &last);
    }
    fits = fits && !__builtin_mul_overflow(n, (int64_t)layout->size, &n_bytes);
    if (!fits || (n > 0 && last >= (int64_t)(bytes / layout->size)))
        return fail_user(error, "tensor %s reaches beyond its storage", tensor->name);
    layout->n_elements = n;
    return true;
}

static void gather_elements(char *out, const char *storage, const Layout *layout, const FileTensor *tensor)
{
    int64_t index[FILE_TENSOR_MAX_RANK] = { 0 }, at = layout->first;
    for (int64_t n = 0; n < layout->n_elements; n++) {
        memcpy(out + (size_t)n * layout->size, storage + (size_t)at * layout->size, layout->size);
        for (int i = tensor->rank; i-- > 0;) {
            at += layout->strides[i];
            if (++index[i] < tensor->shape[i])
                break;
            at -= index[i] * layout->strides[i];
            index[i] = 0;
        }
    }
}

/* Points tensor->data at the elements: in the storage if they are in row-major order there, otherwise in a copy. */
static bool place_tensor(Walk *walk, FileTensor *tensor, const Layout *layout, GBytes *storage, GError **error)
{
    const char *data = g_bytes_get_data(storage, NULL);
    tensor->bytes = (size_t)layout->n_elements * layout->size;
    if (layout->row_major || layout->n_elements == 0) {
        if (g_hash_table_add(walk->owned, storage))
            tensor_file_own(walk->file, g_bytes_ref(storage));
        tensor->data = layout->n_elements ? data + (size_t)layout->first * layout->size : "";
        return true;
    }
    if (tensor->bytes > walk->left)
        return fail_user(error, "tensor %s has more elements than the file", tensor->name);
    walk->left -= tensor->bytes;
    char *copy = g_malloc(tensor->bytes);
    gather_elements(copy, data, layout, tensor);
    tensor_file_own(walk->file, g_bytes_new_take(copy, tensor->bytes));
    tensor->data = copy;
    return true;
}

static bool add_tensor(Walk *walk, const PickleValue *arguments, GError **error)
{
    FileTensor tensor = { .name = walk->path->str };
    Layout layout = { 0 };
    TorchStorage storage;
    const PickleValue *source = pickle_item(arguments, 0), *first = pickle_item(arguments, 1);
    const PickleValue *dtype = pickle_item(arguments, 6); /* of _rebuild_tensor_v3 */
    tensor.rank = read_tuple(pickle_item(arguments, 2), tensor.shape);
    if (source == NULL || source->type != PICKLE_PERSISTENT || first == NULL || first->type != PICKLE_INT ||
        tensor.rank < 0 || read_tuple(pickle_item(arguments, 3), layout.strides) != tensor.rank)
        return fail_user(error, "tensor %s is not of the form that torch.save writes", tensor.name);
    if (!shard_holds(walk->shard, tensor.name))
        return true;
    if (is_negated(arguments))
        return fail_user(error, "tensor %s has its elements negated in its storage", tensor.name);
    if (!torch_storage_find(walk->storages, source, &storage, error))
        return fail_context(error, "tensor %s", tensor.name);
    tensor.dtype = storage.dtype ? storage.dtype : torch_dtype(dtype);
    if (tensor.dtype == NULL)
        return true;
    layout.size = (size_t)file_dtype(tensor.dtype)->bits / 8;
    if (__builtin_add_overflow(storage.first, first->integer, &layout.first))
        layout.first = -1;
    if (!measure_strides(&layout, &tensor, g_bytes_get_size(storage.memory), error) ||
        !place_tensor(walk, &tensor, &layout, storage.memory, error))
        return false;
    if (tensor_file_count(walk->file) == MAX_TENSORS)
        return fail_user(error, "it has more than %d tensors", MAX_TENSORS);
    return tensor_file_add(walk->file, &tensor) || fail_user(error, "tensor %s occurs twice", tensor.name);
}

/* ---- the values around them ---- */

static void add_metadata(Walk *walk, const PickleValue *value)
{
    g_autofree char *text = NULL;
    if (value->type == PICKLE_BOOL)
        text = g_strdup(value->integer ? "true" : "false");
    else if (value->type == PICKLE_INT)
        text = g_strdup_printf("%" G_GINT64_FORMAT, value->integer);
    else if (value->type == PICKLE_REAL)
        text = g_strdup_printf("%.17g", value->real);
    else if (value->type == PICKLE_TEXT && value->bytes <= MAX_TEXT_BYTES)
        text = g_utf8_make_valid(value->text, (gssize)value->bytes);
    if (text && walk->n_texts++ < MAX_TEXTS)
        tensor_file_set_metadata(walk->file, walk->path->str, text);
}

static bool visit(Walk *walk, const PickleValue *value, GError **error);

/* Visits a value of a container, under the container's path and this key. */
static bool visit_at(Walk *walk, const char *key, size_t bytes, const PickleValue *value, GError **error)
{
    size_t before = walk->path->len;
    if (before + 1 + bytes > MAX_NAME_BYTES)
        return fail_user(error, "a name is longer than %d bytes", MAX_NAME_BYTES);
    if (!g_utf8_validate(key, (gssize)bytes, NULL))
        return fail_user(error, "%s: a key that is not UTF-8", walk->path->str);
    if (before > 0)
        g_string_append_c(walk->path, '/');
    g_string_append_len(walk->path, key, (gssize)bytes);
    if (!visit(walk, value, error))
        return false;
    g_string_truncate(walk->path, before);
    return true;
}

static bool visit_number(Walk *walk, int64_t number, const PickleValue *value, GError **error)
{
    char key[24];
    int bytes = g_snprintf(key, sizeof key, "%" G_GINT64_FORMAT, number);
    return visit_at(walk, key, (size_t)bytes, value, error);
}

/* Keys that are neither texts nor numbers are left out, with their values. */
static bool visit_pairs(Walk *walk, const PickleValue *dict, GError **error)
{
    bool ok = true;
    for (guint i = 0; ok && i + 1 < pickle_items(dict); i += 2) {
        const PickleValue *key = pickle_item(dict, i), *value = pickle_item(dict, i + 1);
        if (key->type == PICKLE_TEXT)
            ok = visit_at(walk, key->text, key->bytes, value, error);
        else if (key->type == PICKLE_INT)
            ok = visit_number(walk, key->integer, value, error);
    }
    return ok;
}

static bool visit_items(Walk *walk, const PickleValue *list, GError **error)
{
    bool ok = true;
    for (guint i = 0; ok && i < pickle_items(list); i++)
        ok = visit_number(walk, i, pickle_item(list, i), error);
    return ok;
}

static bool visit_container(Walk *walk, const PickleValue *value, GError **error)
{
    switch (value->type) {
    case PICKLE_DICT:
        return visit_pairs(walk, value, error);
    case PICKLE_LIST:
    case PICKLE_TUPLE:
        return visit_items(walk, value, error);
    case PICKLE_OBJECT: /* an object: its attributes and, for a subclass of dict, its items */
        return visit_pairs(walk, value, error) &&
               (value->state == NULL || value->state->type != PICKLE_DICT || visit_pairs(walk, value->state, error));
    default:
        return true;
    }
}

static bool visit(Walk *walk, const PickleValue *value, GError **error)
{
    if (++walk->n_visits > MAX_VISITS)
        return fail_user(error, "it has more than %d values", MAX_VISITS);
    const PickleValue *arguments = tensor_arguments(value);
    if (arguments)
        return add_tensor(walk, arguments, error);
    add_metadata(walk, value);
    if (walk->depth == MAX_DEPTH)
        return true;
    walk->depth++;
    bool ok = visit_container(walk, value, error);
    walk->depth--;
    return ok;
}

bool torch_read(TensorFile *file, GMappedFile *map, const Shard *shard, GError **error)
{
    g_autoptr(GBytes) bytes = g_mapped_file_get_bytes(map);
    g_autoptr(TorchStorages) storages = torch_storages_open(bytes, error);
    if (storages == NULL)
        return false;
    Walk walk = { .file = file,
                  .storages = storages,
                  .shard = shard,
                  .owned = g_hash_table_new(NULL, NULL),
                  .path = g_string_new(NULL),
                  .left = g_bytes_get_size(bytes) };
    bool done = visit(&walk, torch_storages_root(storages), error);
    g_hash_table_unref(walk.owned);
    g_string_free(walk.path, TRUE);
    return done;
}

TensorFile *torch_open(const char *path, GError **error)
{
    return tensor_file_open(path, torch_read, error);
}

/* The older form starts with a pickle of one number, which protocol 4 and newer put into a frame of 13 bytes. No
 * safetensors file starts so: its first 8 bytes, the length of its header, would be beyond the limit. */
bool torch_recognises(const char *path)
{
    static const char *const starts[] = { "PK\003\004", "\x80\x02\x8a\x0a", "\x80\x03\x8a\x0a", "\x80\x04\x95\x0d",
                                          "\x80\x05\x95\x0d" };
    size_t bytes;
    char start[4];
    int fd = io_open_regular(path, &bytes, NULL);
    ssize_t n = fd >= 0 ? pread(fd, start, sizeof start, 0) : -1;
    if (fd >= 0)
        close(fd);
    for (size_t i = 0; i < G_N_ELEMENTS(starts); i++)
        if (n >= (ssize_t)strlen(starts[i]) && memcmp(start, starts[i], strlen(starts[i])) == 0)
            return true;
    return false;
}
