#include "base/file.h"
#include "format/map.h"
#include "format/safetensors.h"
#include "train/checkpoint_format.h"

#include <inttypes.h>
#include <jansson.h>
#include <string.h>
#include <xxhash.h>

#define STATE_LIMIT ((size_t)64 << 20)

bool checkpoint_hash_file(const char *path, char hex[17], int64_t *bytes, GError **error)
{
    GMappedFile *file = map_file(path, error);
    if (file == NULL)
        return false;
    *bytes = (int64_t)g_mapped_file_get_length(file);
    uint64_t hash = *bytes ? XXH3_64bits(g_mapped_file_get_contents(file), (size_t)*bytes) : XXH3_64bits("", 0);
    g_mapped_file_unref(file);
    snprintf(hex, 17, "%016" PRIx64, hash);
    return true;
}

static char *checksum(json_t *root)
{
    char *text = json_dumps(root, JSON_COMPACT | JSON_SORT_KEYS);
    char *hex = g_strdup_printf("%016" PRIx64, (uint64_t)XXH3_64bits(text, strlen(text)));
    free(text);
    return hex;
}

void checkpoint_seal(json_t *root)
{
    json_object_del(root, "xxh3");
    g_autofree char *hex = checksum(root);
    json_object_set_new(root, "xxh3", json_string(hex));
}

/* Takes the seal off and compares. */
static bool unseal(json_t *root)
{
    g_autofree char *wanted = g_strdup(json_string_value(json_object_get(root, "xxh3")));
    json_object_del(root, "xxh3");
    g_autofree char *hex = checksum(root);
    return g_strcmp0(wanted, hex) == 0;
}

/* state.json as an object of a format that this program reads, or NULL. */
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
    bool sealed = unseal(root);
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

static bool verify_files(const char *folder, json_t *files, GError **error)
{
    const char *name;
    json_t *entry;
    json_object_foreach(files, name, entry)
    {
        if (strchr(name, '/'))
            return fail_user(error, "%s/state.json: \"%s\" is not a file name", folder, name);
        g_autofree char *path = g_build_filename(folder, name, NULL);
        const char *wanted = json_string_value(json_object_get(entry, "xxh3"));
        json_int_t size = json_integer_value(json_object_get(entry, "bytes"));
        char hex[17];
        int64_t bytes;
        if (!checkpoint_hash_file(path, hex, &bytes, error))
            return false;
        if (bytes != size)
            return fail_user(error, "%s: truncated: %" PRId64 " bytes of %lld", path, bytes, (long long)size);
        if (g_strcmp0(hex, wanted) != 0)
            return fail_user(error, "%s: damaged: checksum %s, state.json says %s", path, hex,
                             wanted ? wanted : "none");
    }
    return true;
}

bool checkpoint_verify(const char *folder, GError **error)
{
    json_t *root = read_json(folder, error);
    bool sound = root && verify_files(folder, json_object_get(root, "files"), error);
    json_decref(root);
    return sound;
}

/* ---- tensors: the boxes of every file are laid into the logical tensors ---- */

typedef struct Target {
    StoredTensor stored;
    int64_t filled; /* elements read so far */
} Target;

/* A box's start or shape: as many numbers as the tensor has dimensions, within its bounds. */
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

/* The box of an entry of the file: within the tensor, and of the shape that the file has. */
static bool box_fits(const SafeTensor *source, json_t *entry, const StoredTensor *stored, Box *box)
{
    int rank = stored->cols ? 2 : 1;
    *box = (Box){ .start = { 0, 0 }, .shape = { 0, 1 } };
    if (!read_extent(json_object_get(entry, "start"), stored, box->start) ||
        !read_extent(json_object_get(entry, "shape"), stored, box->shape) || source->rank != rank)
        return false;
    for (int i = 0; i < rank; i++)
        if (source->shape[i] != box->shape[i] || box->start[i] + box->shape[i] > (i ? stored->cols : stored->rows))
            return false;
    return true;
}

static bool read_box(const SafeTensor *source, json_t *entry, Target *target, GError **error)
{
    Box box;
    if (!box_fits(source, entry, &target->stored, &box))
        return fail_user(error, "%s: its box does not fit the model's tensor", source->name);
    int64_t count = box.shape[0] * box.shape[1];
    g_autofree float *values = g_new(float, (gsize)count);
    if (!safetensors_read_f32(source, 0, count, values, error))
        return false;
    stored_write(&target->stored, &box, values);
    target->filled += count;
    return true;
}

static bool read_shard(const char *path, json_t *boxes, GHashTable *targets, GError **error)
{
    SafeTensors *file = safetensors_open(path, error);
    if (file == NULL)
        return false;
    bool done = true;
    for (int i = 0; done && i < safetensors_count(file); i++) {
        const SafeTensor *source = safetensors_get(file, i);
        Target *target = g_hash_table_lookup(targets, source->name);
        done = target == NULL || read_box(source, json_object_get(boxes, source->name), target, error);
    }
    safetensors_close(file);
    return done || fail_context(error, "%s", path);
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
        add_target(targets, checkpoint_param(checkpoint->params, i));
    for (int i = 0; checkpoint->optimizer && i < optimizer_state_count(checkpoint->optimizer); i++)
        add_target(targets, checkpoint_optimizer_state(checkpoint->optimizer, i));
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

static bool read_state(const char *folder, json_t *object, TrainState *state, GError **error)
{
    for (const StateField *field = checkpoint_counters; field->name; field++) {
        json_t *value = json_object_get(object, field->name);
        if (!json_is_integer(value))
            return fail_user(error, "%s/state.json: no %s in it: it holds a model, not a run to go on with", folder,
                             field->name);
        G_STRUCT_MEMBER(int64_t, state, field->offset) = json_integer_value(value);
    }
    for (const LaterField *field = checkpoint_later; field->name; field++) {
        json_t *value = json_object_get(object, field->name);
        G_STRUCT_MEMBER(int64_t, state, field->offset) =
            json_is_integer(value) ? json_integer_value(value) : field->absent;
    }
    for (const StateField *field = checkpoint_reals; field->name; field++)
        G_STRUCT_MEMBER(double, state, field->offset) = json_number_value(json_object_get(object, field->name));
    return true;
}

/* A checkpoint without them is of a program that knew of none. */
static bool read_roles(const char *folder, const json_t *object, TokenRoles *roles, int64_t vocab, GError **error)
{
    return object == NULL || token_roles_parse(roles, object, vocab, error) ||
           fail_context(error, "%s/state.json", folder);
}

bool checkpoint_load(const char *folder, const Checkpoint *checkpoint, GError **error)
{
    json_t *root = read_json(folder, error);
    if (root == NULL)
        return false;
    GHashTable *targets = collect_targets(checkpoint);
    json_t *files = json_object_get(root, "files"), *entry;
    const char *name;
    bool done = checkpoint->verified || verify_files(folder, files, error);
    json_object_foreach(files, name, entry)
    {
        g_autofree char *path = g_build_filename(folder, name, NULL);
        done = done && read_shard(path, json_object_get(entry, "boxes"), targets, error);
    }
    done = done && all_filled(folder, targets, error);
    if (done && checkpoint->state)
        done = read_state(folder, json_object_get(root, "state"), checkpoint->state, error);
    if (done && checkpoint->roles)
        done = read_roles(folder, json_object_get(root, "tokens"), checkpoint->roles, checkpoint->model->vocab, error);
    g_hash_table_unref(targets);
    json_decref(root);
    return done;
}

bool checkpoint_config(const char *folder, ModelConfig *config, char **tokenizer_hash, GError **error)
{
    OptionGroup group;
    OptionTable table = checkpoint_model_table(&group);
    options_set_defaults(&table, config);
    json_t *root = read_json(folder, error);
    if (root == NULL)
        return false;
    g_autofree char *origin = g_build_filename(folder, "state.json", NULL);
    g_autoptr(GPtrArray) settings = option_settings_new();
    const char *name;
    json_t *value;
    json_object_foreach(json_object_get(root, "model"), name, value) if (json_is_string(value))
        option_settings_add(settings, name, json_string_value(value), origin);
    if (tokenizer_hash)
        *tokenizer_hash = g_strdup(json_string_value(json_object_get(root, "tokenizer")));
    json_decref(root);
    if (!options_apply(&table, config, settings, error) || !model_config_check(config, error))
        return false;
    return config->vocab > 0 || fail_user(error, "%s: no model.vocab in it", origin);
}

void checkpoint_clear_config(ModelConfig *config)
{
    OptionGroup group;
    OptionTable table = checkpoint_model_table(&group);
    options_clear(&table, config);
}
