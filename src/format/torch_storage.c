#include "format/torch_storage.h"

#include "format/tensor_file.h"

#include <string.h>
#include <zip.h>

/* The older form begins with two pickles: 0x1950a86a20f9469cfc6c, here with its lowest byte first; and VERSION. */
static const char magic[] = "\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19";
#define VERSION 1001
#define UNTYPED "torch.storage.UntypedStorage" /* a storage class whose elements are bytes */

struct TorchStorages {
    GBytes *file;
    zip_t *zip;            /* NULL in the older form */
    char *folder;          /* folder of the zip's entries: "archive" */
    GBytes *pickle_memory; /* of the zip */
    Pickle *pickle;
    GHashTable *memory; /* key -> GBytes: in the older form every storage, of a zip the storages read so far */
    size_t left;        /* bytes that further entries of the zip may have: all entries together fit into the file */
};

/* A storage class or dtype of torch, and safetensors' name of its type. */
static const struct {
    const char *torch, *ours;
} types[] = {
    { "torch.FloatStorage", "F32" },     { "torch.float32", "F32" },
    { "torch.HalfStorage", "F16" },      { "torch.float16", "F16" },
    { "torch.BFloat16Storage", "BF16" }, { "torch.bfloat16", "BF16" },
    { "torch.DoubleStorage", "F64" },    { "torch.float64", "F64" },
    { "torch.LongStorage", "I64" },      { "torch.int64", "I64" },
    { "torch.IntStorage", "I32" },       { "torch.int32", "I32" },
    { "torch.ShortStorage", "I16" },     { "torch.int16", "I16" },
    { "torch.CharStorage", "I8" },       { "torch.int8", "I8" },
    { "torch.ByteStorage", "U8" },       { "torch.uint8", "U8" },
    { "torch.BoolStorage", "BOOL" },     { "torch.bool", "BOOL" },
    { "torch.uint16", "U16" },           { "torch.uint32", "U32" },
    { "torch.uint64", "U64" },
};

const char *torch_dtype(const PickleValue *name)
{
    for (size_t i = 0; i < G_N_ELEMENTS(types); i++)
        if (pickle_is(name, PICKLE_NAME, types[i].torch))
            return types[i].ours;
    return NULL;
}

void torch_storages_free(TorchStorages *storages)
{
    if (storages == NULL)
        return;
    pickle_free(storages->pickle);
    g_hash_table_unref(storages->memory);
    g_clear_pointer(&storages->pickle_memory, g_bytes_unref);
    if (storages->zip)
        zip_discard(storages->zip);
    g_bytes_unref(storages->file);
    g_free(storages->folder);
    g_free(storages);
}

const PickleValue *torch_storages_root(const TorchStorages *storages)
{
    return storages->pickle->root;
}

/* ("storage", class, key, device, elements[, view]); view: (key, first element, elements). */
typedef struct StorageId {
    const PickleValue *class, *key, *view;
} StorageId;

static bool read_id(const PickleValue *persistent, StorageId *id, GError **error)
{
    const PickleValue *tuple = persistent->arguments;
    id->class = pickle_item(tuple, 1);
    id->key = pickle_item(tuple, 2);
    id->view = pickle_item(tuple, 5);
    if (id->view && id->view->type != PICKLE_TUPLE)
        id->view = NULL;
    return (tuple->type == PICKLE_TUPLE && pickle_is(pickle_item(tuple, 0), PICKLE_TEXT, "storage") && id->class &&
            id->class->type == PICKLE_NAME && id->key && id->key->type == PICKLE_TEXT) ||
           fail_user(error, "a tensor has no storage of the form that torch.save writes");
}

/* ---- the older form: four pickles, the keys of all storages as a fifth, and the storages ---- */

/* The pickle at *at, which moves behind it. */
static bool read_next(TorchStorages *storages, size_t *at, Pickle **pickle, GError **error)
{
    size_t bytes, used;
    const char *data = g_bytes_get_data(storages->file, &bytes);
    *pickle = pickle_read(data + *at, bytes - *at, &used, error);
    *at += used;
    return *pickle != NULL;
}

/* The pickles before the object, which say of which version and byte order the file is. */
static bool check_preamble(TorchStorages *storages, size_t *at, GError **error)
{
    g_autoptr(Pickle) number = NULL, version = NULL, system = NULL;
    if (!read_next(storages, at, &number, error))
        return false;
    const PickleValue *root = number->root;
    if (root->type != PICKLE_BYTES || root->bytes != sizeof magic - 1 || memcmp(root->text, magic, root->bytes) != 0)
        return fail_user(error, "a pickle, but none that torch.save wrote");
    if (!read_next(storages, at, &version, error) || !read_next(storages, at, &system, error))
        return false;
    if (version->root->type != PICKLE_INT || version->root->integer != VERSION)
        return fail_user(error, "its version is not %d", VERSION);
    const PickleValue *little = pickle_find(system->root, "little_endian");
    return (little && little->type == PICKLE_BOOL && little->integer) ||
           fail_user(error, "it was not written on a little-endian machine");
}

/* Bytes of an element of each storage that the pickle refers to, by key; the texts of the keys are the table's. */
static GHashTable *element_sizes(const Pickle *pickle, GError **error)
{
    g_autoptr(GHashTable) sizes = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
    for (guint i = 0; i < pickle->values->len; i++) {
        StorageId id;
        const PickleValue *value = pickle->values->pdata[i];
        if (value->type != PICKLE_PERSISTENT)
            continue;
        if (!read_id(value, &id, error))
            return NULL;
        const char *dtype = torch_dtype(id.class);
        int size = dtype ? file_dtype(dtype)->bits / 8 : pickle_is(id.class, PICKLE_NAME, UNTYPED);
        g_hash_table_replace(sizes, g_strndup(id.key->text, id.key->bytes), GINT_TO_POINTER(size));
    }
    return g_steal_pointer(&sizes);
}

/* A count of elements, and they. */
static bool read_storage(TorchStorages *storages, size_t *at, const char *key, int size, GError **error)
{
    size_t bytes;
    const char *data = g_bytes_get_data(storages->file, &bytes);
    int64_t n;
    if (bytes - *at < sizeof n)
        return fail_user(error, "it ends before its storages do");
    memcpy(&n, data + *at, sizeof n);
    *at += sizeof n;
    size_t needed;
    if (n < 0 || __builtin_mul_overflow((size_t)n, (size_t)size, &needed) || needed > bytes - *at)
        return fail_user(error, "it ends before its storages do");
    g_hash_table_replace(storages->memory, g_strdup(key), g_bytes_new_from_bytes(storages->file, *at, needed));
    *at += needed;
    return true;
}

static bool read_storages(TorchStorages *storages, size_t at, GError **error)
{
    g_autoptr(Pickle) keys = NULL;
    g_autoptr(GHashTable) sizes = element_sizes(storages->pickle, error);
    if (sizes == NULL || !read_next(storages, &at, &keys, error))
        return false;
    for (guint i = 0; i < pickle_items(keys->root); i++) {
        const PickleValue *item = pickle_item(keys->root, i);
        if (item->type != PICKLE_TEXT)
            return fail_user(error, "the key of a storage is not a text");
        g_autofree char *key = g_strndup(item->text, item->bytes);
        int size = GPOINTER_TO_INT(g_hash_table_lookup(sizes, key));
        if (size == 0)
            return fail_user(error, "storage %s is of a class that cannot be read", key);
        if (!read_storage(storages, &at, key, size, error))
            return false;
    }
    return true;
}

static bool read_older(TorchStorages *storages, GError **error)
{
    size_t at = 0;
    return check_preamble(storages, &at, error) && read_next(storages, &at, &storages->pickle, error) &&
           read_storages(storages, at, error);
}

/* ---- the zip: FOLDER/data.pkl, and each storage as FOLDER/data/KEY, all stored uncompressed ---- */

static void *fail_zip(const char *name, const char *reason, GError **error)
{
    return fail_user(error, "entry %s of the zip: %s", name, reason);
}

/* A new GBytes of an entry; NULL with an error. */
static GBytes *read_entry(TorchStorages *storages, const char *name, GError **error)
{
    zip_stat_t status;
    const zip_uint64_t wanted = ZIP_STAT_SIZE | ZIP_STAT_COMP_METHOD;
    if (zip_stat(storages->zip, name, 0, &status) != 0 || (status.valid & wanted) != wanted)
        return fail_zip(name, zip_strerror(storages->zip), error);
    if (status.comp_method != ZIP_CM_STORE)
        return fail_zip(name, "it is compressed, which torch.save does not do", error);
    if (status.size > storages->left)
        return fail_zip(name, "it is larger than the file", error);
    storages->left -= status.size;
    zip_file_t *entry = zip_fopen(storages->zip, name, 0);
    g_autofree char *data = g_malloc(MAX(status.size, 1));
    /* Reading past the end makes libzip compare the checksum. */
    char after;
    bool whole =
        entry && zip_fread(entry, data, status.size) == (zip_int64_t)status.size && zip_fread(entry, &after, 1) == 0;
    if (!whole)
        fail_zip(name, entry ? zip_file_strerror(entry) : zip_strerror(storages->zip), error);
    if (entry)
        zip_fclose(entry);
    return whole ? g_bytes_new_take(g_steal_pointer(&data), status.size) : NULL;
}

#define PICKLE_NAME_IN_ZIP "/data.pkl"

static bool find_folder(TorchStorages *storages, GError **error)
{
    zip_int64_t n = zip_get_num_entries(storages->zip, 0);
    for (zip_int64_t i = 0; i < n && storages->folder == NULL; i++) {
        const char *name = zip_get_name(storages->zip, (zip_uint64_t)i, ZIP_FL_ENC_RAW);
        if (name && g_str_has_suffix(name, PICKLE_NAME_IN_ZIP))
            storages->folder = g_strndup(name, strlen(name) - strlen(PICKLE_NAME_IN_ZIP));
    }
    return storages->folder || fail_user(error, "a zip, but none that torch.save wrote: it has no data.pkl");
}

/* PyTorch 2.1 and newer write an entry `byteorder`. */
static bool check_byte_order(TorchStorages *storages, GError **error)
{
    g_autofree char *name = g_strconcat(storages->folder, "/byteorder", NULL);
    if (zip_name_locate(storages->zip, name, 0) < 0)
        return true;
    g_autoptr(GBytes) order = read_entry(storages, name, error);
    if (order == NULL)
        return false;
    g_autoptr(GBytes) little = g_bytes_new_static("little", strlen("little"));
    return g_bytes_equal(order, little) || fail_user(error, "it was not written on a little-endian machine");
}

static bool read_zip(TorchStorages *storages, GError **error)
{
    zip_error_t problem;
    zip_error_init(&problem);
    size_t bytes, used;
    const char *data = g_bytes_get_data(storages->file, &bytes);
    zip_source_t *source = zip_source_buffer_create(data, bytes, 0, &problem);
    storages->zip = source ? zip_open_from_source(source, ZIP_RDONLY, &problem) : NULL;
    if (storages->zip == NULL) {
        bool ends = zip_error_code_zip(&problem) != ZIP_ER_NOZIP; /* the table of its entries is at the end of a zip */
        fail_user(error, "its zip cannot be read: %s",
                  ends ? zip_error_strerror(&problem) : "its end is missing; it was cut, or is no file of torch.save");
        if (source)
            zip_source_free(source);
        zip_error_fini(&problem);
        return false;
    }
    if (!find_folder(storages, error) || !check_byte_order(storages, error))
        return false;
    g_autofree char *name = g_strconcat(storages->folder, PICKLE_NAME_IN_ZIP, NULL);
    storages->pickle_memory = read_entry(storages, name, error);
    if (storages->pickle_memory == NULL)
        return false;
    data = g_bytes_get_data(storages->pickle_memory, &bytes);
    storages->pickle = pickle_read(data, bytes, &used, error);
    return storages->pickle != NULL;
}

TorchStorages *torch_storages_open(GBytes *file, GError **error)
{
    size_t bytes;
    const char *data = g_bytes_get_data(file, &bytes);
    if (bytes == 0)
        return fail_user(error, "it is empty");
    g_autoptr(TorchStorages) storages = g_new0(TorchStorages, 1);
    storages->file = g_bytes_ref(file);
    storages->memory = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, (GDestroyNotify)g_bytes_unref);
    storages->left = bytes;
    return (data[0] == 'P' ? read_zip : read_older)(storages, error) ? g_steal_pointer(&storages) : NULL;
}

bool torch_storage_find(TorchStorages *storages, const PickleValue *persistent, TorchStorage *storage, GError **error)
{
    StorageId id;
    if (!read_id(persistent, &id, error))
        return false;
    const PickleValue *first = id.view ? pickle_item(id.view, 1) : NULL;
    *storage = (TorchStorage){ .dtype = torch_dtype(id.class) };
    if (first && first->type == PICKLE_INT)
        storage->first = first->integer;
    g_autofree char *key = g_strndup(id.key->text, id.key->bytes);
    storage->memory = g_hash_table_lookup(storages->memory, key);
    if (storage->memory)
        return true;
    if (storages->zip == NULL)
        return fail_user(error, "storage %s is missing", key);
    g_autofree char *name = g_strconcat(storages->folder, "/data/", key, NULL);
    storage->memory = read_entry(storages, name, error);
    if (storage->memory == NULL)
        return false;
    g_hash_table_insert(storages->memory, g_steal_pointer(&key), storage->memory);
    return true;
}
