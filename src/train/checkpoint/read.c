/* read.c: reads and verifies a checkpoint. */
#include "base/file.h"
#include "format/map.h"
#include "format/safetensors.h"
#include "train/checkpoint/format.h"
#include "train/checkpoint/stored.h"

#include <inttypes.h>
#include <jansson.h>
#include <string.h>
#include <xxhash.h>

#define STATE_LIMIT ((size_t)64 << 20)

/* Returns false, and sets *damaged (may be NULL) where the error is not the machine's. */
static bool fail_damaged(bool *damaged, GError *const *error)
{
    if (damaged)
        *damaged = error == NULL || !g_error_matches(*error, LOAM_ERROR, LOAM_ERROR_MACHINE);
    return false;
}

/* state.json without its checksum; NULL where it is damaged or of a format that this program does not read. */
static json_t *read_json(const char *folder, GError **error)
{
    g_autofree char *path = g_build_filename(folder, "state.json", NULL);
    size_t bytes;
    g_autofree char *text = io_read_file(path, STATE_LIMIT, &bytes, error);
    if (text == NULL)
        return NULL;
    json_error_t problem;
    json_t *root = json_loadb(text, bytes, JSON_REJECT_DUPLICATES, &problem);
    if (root == NULL) {
        fail_user(error, "%s:%d: damaged: %s", path, problem.line, problem.text);
        return NULL;
    }
    json_int_t format = json_integer_value(json_object_get(root, "format"));
    bool sealed = checkpoint_unseal(root);
    if (sealed && format == CHECKPOINT_FORMAT && json_is_object(json_object_get(root, "files")))
        return root;
    if (!sealed)
        fail_user(error, "%s: damaged: its checksum does not fit its content", path);
    else
        fail_user(error, "%s: checkpoint format %lld; this loam reads format %d", path, (long long)format,
                  CHECKPOINT_FORMAT);
    json_decref(root);
    return NULL;
}

/* ---- files: the checksum is computed while a file is read ---- */

/* A mapped file whose bytes are hashed in their order. */
typedef struct HashedFile {
    const char *path, *bytes;
    GMappedFile *map;
    size_t n, hashed; /* bytes; bytes that the checksum covers so far */
    XXH3_state_t *hash;
} HashedFile;

/* Hashes all bytes before `end` that are not hashed yet. */
static void hash_up_to(HashedFile *file, size_t end)
{
    if (end > file->hashed)
        XXH3_64bits_update(file->hash, file->bytes + file->hashed, end - file->hashed);
    file->hashed = MAX(file->hashed, end);
}

/* Hashes the rest of the file and compares size and checksum with its entry in state.json. */
static bool check_file(HashedFile *file, const json_t *entry, GError **error)
{
    char hex[17];
    const char *wanted = json_string_value(json_object_get(entry, "xxh3"));
    json_int_t size = json_integer_value(json_object_get(entry, "bytes"));
    hash_up_to(file, file->n);
    checkpoint_hex(XXH3_64bits_digest(file->hash), hex);
    if ((json_int_t)file->n != size)
        return fail_user(error, "%s: truncated: %zu bytes of %lld", file->path, file->n, (long long)size);
    return g_strcmp0(hex, wanted) == 0 ||
           fail_user(error, "%s: damaged: checksum %s, state.json says %s", file->path, hex, wanted ? wanted : "none");
}

/* ---- tensors: the boxes of all files together fill each parameter ---- */

typedef struct Target {
    StoredTensor stored;
    int64_t filled; /* elements read so far */
} Target;

/* Reads a box's start or shape: one number for each dimension of the tensor, within its bounds. */
static bool read_extent(json_t *array, const StoredTensor *stored, int64_t out[2])
{
    const int64_t bounds[2] = { stored->rows, stored->cols };
    if (json_array_size(array) != (stored->cols ? 2 : 1))
        return false;
    for (size_t i = 0; i < json_array_size(array); i++) {
        out[i] = json_integer_value(json_array_get(array, i));
        if (out[i] < 0 || out[i] > bounds[i])
            return false;
    }
    return true;
}

/* Reads the box of an entry of state.json; false unless it lies within the parameter. */
static bool box_fits(json_t *entry, const StoredTensor *stored, Box *box)
{
    *box = (Box){ .start = { 0, 0 }, .shape = { 0, 1 } };
    return read_extent(json_object_get(entry, "start"), stored, box->start) &&
           read_extent(json_object_get(entry, "shape"), stored, box->shape) &&
           box->start[0] + box->shape[0] <= stored->rows &&
           (stored->cols == 0 || box->start[1] + box->shape[1] <= stored->cols);
}

/* The elements [*first, *first + *n) of the box, row after row, that the tensor of the file holds: all of them, in the
 * shape of the box; or those of "flat": [first, n], as a vector. */
static bool range_fits(const FileTensor *source, json_t *entry, const Box *box, int rank, int64_t *first, int64_t *n)
{
    json_t *flat = json_object_get(entry, "flat");
    int64_t count = box->shape[0] * box->shape[1];
    *first = flat ? json_integer_value(json_array_get(flat, 0)) : 0;
    *n = flat ? json_integer_value(json_array_get(flat, 1)) : count;
    if (flat)
        return *first >= 0 && *n >= 0 && *first <= count && *n <= count - *first && source->rank == 1 &&
               source->shape[0] == *n;
    for (int i = 0; i < rank; i++)
        if (source->shape[i] != box->shape[i])
            return false;
    return source->rank == rank;
}

static bool read_box(const FileTensor *source, json_t *entry, Target *target, GError **error)
{
    Box box, parts[3];
    int64_t first, n;
    if (!box_fits(entry, &target->stored, &box) ||
        !range_fits(source, entry, &box, target->stored.cols ? 2 : 1, &first, &n))
        return fail_user(error, "%s: its box does not fit the model's tensor", source->name);
    g_autofree float *values = g_new(float, (gsize)n);
    if (!file_tensor_read_f32(source, 0, n, values, error))
        return false;
    const float *at = values;
    for (int i = 0, n_parts = box_split(&box, first, n, parts); i < n_parts; i++) {
        stored_write(&target->stored, &parts[i], at);
        at += parts[i].shape[0] * parts[i].shape[1];
    }
    target->filled += n;
    return true;
}

/* Copies the tensors of a file to their targets. */
static bool read_tensors(HashedFile *file, json_t *boxes, GHashTable *targets, GError **error)
{
    GError *problem = NULL;
    TensorFile *tensors = safetensors_open_mapped(file->map, &problem);
    for (int i = 0; tensors && !problem && i < tensor_file_count(tensors); i++) { /* in the order of the file */
        const FileTensor *source = tensor_file_get(tensors, i);
        Target *target = g_hash_table_lookup(targets, source->name);
        hash_up_to(file, (size_t)((const char *)source->data - file->bytes) + source->bytes);
        if (target)
            read_box(source, json_object_get(boxes, source->name), target, &problem);
    }
    tensor_file_close(tensors);
    if (problem)
        g_propagate_prefixed_error(error, problem, "%s: ", file->path);
    return problem == NULL;
}

/* Reads one file of the checkpoint. targets NULL means: check it, and load nothing. A wrong checksum is the reason of
 * any other error, so it is the one that is reported. */
static bool read_file(const char *folder, const char *name, json_t *entry, GHashTable *targets, bool *damaged,
                      GError **error)
{
    if (strchr(name, '/')) {
        fail_user(error, "%s/state.json: \"%s\" is not a file name", folder, name);
        return fail_damaged(damaged, error);
    }
    g_autofree char *path = g_build_filename(folder, name, NULL);
    GMappedFile *map = map_file(path, error);
    if (map == NULL)
        return fail_damaged(damaged, error);
    HashedFile file = { .path = path,
                        .map = map,
                        .bytes = g_mapped_file_get_contents(map),
                        .n = g_mapped_file_get_length(map),
                        .hash = XXH3_createState() };
    g_autoptr(GError) problem = NULL;
    XXH3_64bits_reset(file.hash);
    bool loaded = targets == NULL || read_tensors(&file, json_object_get(entry, "boxes"), targets, &problem);
    bool sound = check_file(&file, entry, error) || fail_damaged(damaged, error);
    XXH3_freeState(file.hash);
    g_mapped_file_unref(map);
    if (sound && !loaded)
        g_propagate_error(error, g_steal_pointer(&problem));
    return sound && loaded;
}

static bool read_files(const char *folder, json_t *root, GHashTable *targets, bool *damaged, GError **error)
{
    const char *name;
    json_t *entry;
    bool done = true;
    json_object_foreach(json_object_get(root, "files"), name, entry) done =
        done && read_file(folder, name, entry, targets, damaged, error);
    return done;
}

bool checkpoint_verify(const char *folder, bool *damaged, GError **error)
{
    json_t *root = read_json(folder, error);
    bool sound = root ? read_files(folder, root, NULL, damaged, error) : fail_damaged(damaged, error);
    json_decref(root);
    return sound;
}

static void add_target(GHashTable *targets, StoredTensor stored)
{
    Target *target = g_new0(Target, 1);
    *target = (Target){ .stored = stored };
    g_hash_table_insert(targets, g_strdup(stored.name), target);
}

static GHashTable *collect_targets(const Checkpoint *checkpoint)
{
    GHashTable *targets = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free);
    for (int i = 0; checkpoint->params && i < params_count(checkpoint->params); i++)
        add_target(targets, stored_param(checkpoint->params, i));
    for (int i = 0; checkpoint->optimizer && i < optimizer_state_count(checkpoint->optimizer); i++)
        add_target(targets, stored_optimizer_state(checkpoint->optimizer, i));
    return targets;
}

static bool all_filled(const char *folder, GHashTable *targets, GError **error)
{
    GHashTableIter iter;
    gpointer name, value;
    g_hash_table_iter_init(&iter, targets);
    while (g_hash_table_iter_next(&iter, &name, &value)) {
        const Target *target = value;
        if (target->filled != target->stored.rows * MAX(target->stored.cols, 1))
            return fail_user(error, "%s: %s is not in it, or not whole", folder, (const char *)name);
    }
    return true;
}

static bool read_state(const char *folder, const json_t *object, TrainState *state, GError **error)
{
    return state_from_json(object, state, error) || fail_context(error, "%s/state.json", folder);
}

/* No error where the checkpoint has no token roles. */
static bool read_roles(const char *folder, const json_t *object, TokenRoles *roles, int64_t vocab, GError **error)
{
    return object == NULL || token_roles_parse(roles, object, vocab, error) ||
           fail_context(error, "%s/state.json", folder);
}

bool checkpoint_load(const char *folder, const Checkpoint *checkpoint, bool *damaged, GError **error)
{
    json_t *root = read_json(folder, error);
    if (root == NULL)
        return fail_damaged(damaged, error);
    GHashTable *targets = collect_targets(checkpoint);
    bool done = read_files(folder, root, targets, damaged, error) && all_filled(folder, targets, error);
    if (done && checkpoint->state)
        done = read_state(folder, json_object_get(root, "state"), checkpoint->state, error);
    if (done && checkpoint->roles)
        done = read_roles(folder, json_object_get(root, "tokens"), checkpoint->roles, checkpoint->model->vocab, error);
    g_hash_table_unref(targets);
    json_decref(root);
    return done;
}

bool checkpoint_config(const char *folder, ModelConfig *config, char **tokenizer_hash, bool *damaged, GError **error)
{
    checkpoint_clear_config(config);
    options_set_defaults(&model_table, config);
    json_t *root = read_json(folder, error);
    if (root == NULL)
        return fail_damaged(damaged, error);
    g_autofree char *origin = g_build_filename(folder, "state.json", NULL);
    g_autoptr(GPtrArray) settings = option_settings_new();
    const char *name;
    json_t *value;
    json_object_foreach(json_object_get(root, "model"), name, value) if (json_is_string(value))
        option_settings_add(settings, name, json_string_value(value), origin);
    if (tokenizer_hash)
        *tokenizer_hash = g_strdup(json_string_value(json_object_get(root, "tokenizer")));
    json_decref(root);
    option_settings_rename(settings, &model_table);
    if (!options_apply(&model_table, config, settings, error) || !model_config_check(config, error))
        return false;
    return config->vocab > 0 || fail_user(error, "%s: no model.vocab in it", origin);
}

void checkpoint_clear_config(ModelConfig *config)
{
    options_clear(&model_table, config);
}
