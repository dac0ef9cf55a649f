/* read.c: reads and verifies a checkpoint. */
#include "base/file.h"
#include "base/log.h"
#include "format/safetensors.h"
#include "run/checkpoint/format.h"

#include <string.h>
#include <xxhash.h>

#define STATE_LIMIT ((size_t)64 << 20)

GQuark checkpoint_damaged_quark(void)
{
    return g_quark_from_static_string("loam-checkpoint-damaged");
}

/* Changes an error's domain to CHECKPOINT_DAMAGED, unless it is the machine's error. Returns false. */
static bool fail_damaged(GError **error)
{
    if (error && g_error_matches(*error, LOAM_ERROR, LOAM_ERROR_USER))
        (*error)->domain = CHECKPOINT_DAMAGED;
    return false;
}

/* Reads state.json, verifies and removes its checksum. NULL with an error if it is damaged or of an unknown version. */
static json_t *read_json(const char *folder, GError **error)
{
    g_autofree char *path = g_build_filename(folder, "state.json", NULL);
    size_t bytes;
    g_autofree char *text = io_refused(path, error) ? NULL : io_read_regular(path, STATE_LIMIT, &bytes, error);
    if (text == NULL)
        return NULL;
    json_error_t problem;
    json_t *root = json_loadb(text, bytes, JSON_REJECT_DUPLICATES, &problem);
    if (root == NULL)
        return fail_user(error, "%s:%d: damaged: %s", path, problem.line, problem.text);
    json_int_t format = json_integer_value(json_object_get(root, "format"));
    bool sealed = checkpoint_unseal(root);
    if (sealed && format == CHECKPOINT_FORMAT && json_is_object(json_object_get(root, "files")))
        return root;
    if (!sealed)
        fail_user(error, "%s: damaged: its checksum does not match its content", path);
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
    size_t n, hashed;   /* length of the file in bytes; bytes hashed so far */
    XXH3_state_t *hash; /* NULL means that another rank checks the file */
} HashedFile;

/* Hashes all bytes before `end` that are not hashed yet. */
static void hash_up_to(HashedFile *file, size_t end)
{
    if (end > file->hashed)
        XXH3_64bits_update(file->hash, file->bytes + file->hashed, end - file->hashed);
    file->hashed = MAX(file->hashed, end);
}

/* "part of rank 2: " for the file of one of several ranks, as its name tells, else "". For messages. */
static char *whose_part(const char *path)
{
    int number, of;
    const char *name = strrchr(path, '/');
    const char *at = strchr(name ? name : path, '-');
    bool several = at && sscanf(at, "-%d-of-%d.", &number, &of) == 2 && of > 1;
    return several ? g_strdup_printf("part of rank %d: ", number - 1) : g_strdup("");
}

/* Hashes the rest of the file and compares size and checksum with its entry in state.json. */
static bool check_file(HashedFile *file, const json_t *entry, GError **error)
{
    char hex[17];
    const char *wanted = json_string_value(json_object_get(entry, "xxh3"));
    json_int_t size = json_integer_value(json_object_get(entry, "bytes"));
    g_autofree char *whose = whose_part(file->path);
    hash_up_to(file, file->n);
    checkpoint_hex(XXH3_64bits_digest(file->hash), hex);
    if ((json_int_t)file->n != size)
        return fail_user(error, "%s%s: truncated: %zu bytes of %lld", whose, file->path, file->n, (long long)size);
    return g_strcmp0(hex, wanted) == 0 || fail_user(error, "%s%s: damaged: checksum %s, state.json says %s", whose,
                                                    file->path, hex, wanted ? wanted : "none");
}

/* ---- tensors: the boxes of all files together fill each parameter ---- */

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

/* Finds which elements of the box, counted row by row, the tensor of the file holds: [*first, *first + *n). A tensor in
 * the shape of the box holds all of them; with an entry "flat": [first, n] it is a vector of n of them. */
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

/* Reduces the range [*first, *first + *n) of a box's elements, whole rows, to those that the target holds (held). */
static void keep_held(const StoredTensor *target, const Box *box, int64_t *first, int64_t *n)
{
    const Box *held = &target->held;
    int64_t cols = box->shape[1], begin = held->start[0] - box->start[0], end = begin + held->shape[0];
    if (held->start[1] >= box->start[1] + cols || held->start[1] + held->shape[1] <= box->start[1])
        end = begin;
    begin = CLAMP(begin * cols, *first, *first + *n);
    end = CLAMP(end * cols, begin, *first + *n);
    *first = begin;
    *n = end - begin;
}

static bool read_box(const FileTensor *source, json_t *entry, StoredTensor *target, GError **error)
{
    Box box, parts[3];
    int64_t first, n;
    if (!box_fits(entry, target, &box) || !range_fits(source, entry, &box, target->cols ? 2 : 1, &first, &n))
        return fail_user(error, "%s: its box does not fit the model's tensor", source->name);
    int64_t file_first = first;
    target->filled += n;
    keep_held(target, &box, &first, &n);
    if (n == 0)
        return true;
    int64_t most = MIN(n, STORED_PART_BYTES / (int64_t)sizeof(float));
    g_autofree float *values = g_new(float, (gsize)most);
    for (int64_t end = first + n; first < end; first += most) {
        int64_t here = MIN(most, end - first);
        if (!file_tensor_read_f32(source, first - file_first, here, values, error))
            return false;
        const float *at = values;
        for (int i = 0, n_parts = box_split(&box, first, here, parts); i < n_parts; i++) {
            stored_write(target, &parts[i], at);
            at += parts[i].shape[0] * parts[i].shape[1];
        }
    }
    return true;
}

static bool read_tensors(HashedFile *file, json_t *boxes, GHashTable *targets, GError **error)
{
    GError *problem = NULL;
    TensorFile *tensors = safetensors_open_mapped(file->map, &problem);
    for (int i = 0; tensors && !problem && i < tensor_file_count(tensors);
         i++) { /* tensors are read in the order of the file, so that its bytes can be hashed in order */
        const FileTensor *source = tensor_file_get(tensors, i);
        StoredTensor *target = g_hash_table_lookup(targets, source->name);
        if (file->hash)
            hash_up_to(file, (size_t)((const char *)source->data - file->bytes) + source->bytes);
        if (target)
            read_box(source, json_object_get(boxes, source->name), target, &problem);
    }
    tensor_file_close(tensors);
    if (problem)
        g_propagate_prefixed_error(error, problem, "%s: ", file->path);
    return problem == NULL;
}

/* Reads one file of the checkpoint into `targets` (NULL means that nothing is loaded). checks: compare the checksum,
 * otherwise only the size. A wrong checksum is reported instead of any other error, because it explains the others. */
static bool read_checkpoint_file(const char *folder, const char *name, json_t *entry, GHashTable *targets, bool checks,
                                 GError **error)
{
    if (strchr(name, '/')) {
        fail_user(error, "%s/state.json: \"%s\" is not a file name", folder, name);
        return fail_damaged(error);
    }
    g_autofree char *path = g_build_filename(folder, name, NULL);
    g_autoptr(GMappedFile) map = io_refused(path, error) ? NULL : io_map_file(path, error);
    g_autofree char *whose = whose_part(path);
    if (map == NULL && *whose && error)
        g_prefix_error(error, "%s", whose);
    if (map == NULL)
        return fail_damaged(error);
    HashedFile file = { .path = path,
                        .map = map,
                        .bytes = g_mapped_file_get_contents(map),
                        .n = g_mapped_file_get_length(map),
                        .hash = checks || g_mapped_file_get_length(map) == 0 ? XXH3_createState() : NULL };
    g_autoptr(GError) problem = NULL;
    if (!file.hash && (json_int_t)file.n != json_integer_value(json_object_get(entry, "bytes")))
        file.hash = XXH3_createState(); /* its size is wrong, which check_file reports */
    if (file.hash)
        XXH3_64bits_reset(file.hash);
    bool loaded = targets == NULL || read_tensors(&file, json_object_get(entry, "boxes"), targets, &problem);
    bool sound = file.hash == NULL || check_file(&file, entry, error) || fail_damaged(error);
    XXH3_freeState(file.hash);
    if (sound && !loaded)
        g_propagate_error(error, g_steal_pointer(&problem));
    return sound && loaded;
}

/* Reads all files. Each of n ranks verifies the checksum of every n-th file. */
static bool read_files(const char *folder, json_t *root, GHashTable *targets, Comm *ranks, GError **error)
{
    const char *name;
    json_t *entry;
    bool done = true;
    int number = 0;
    json_object_foreach(json_object_get(root, "files"), name, entry)
    {
        bool checks = number++ % comm_size(ranks) == comm_rank(ranks);
        done = done && read_checkpoint_file(folder, name, entry, targets, checks, error);
    }
    return done;
}

/* The tensors by their names; NULL if there are none. */
static GHashTable *table_of_tensors(GArray *tensors)
{
    GHashTable *table = tensors->len > 0 ? g_hash_table_new(g_str_hash, g_str_equal) : NULL;
    for (guint i = 0; i < tensors->len; i++) {
        StoredTensor *stored = &g_array_index(tensors, StoredTensor, i);
        g_hash_table_insert(table, stored->name, stored);
    }
    return table;
}

static bool all_filled(const char *folder, const GArray *tensors, GError **error)
{
    bool begins = false; /* the run uses FP8, but the checkpoint was trained without it */
    for (guint i = 0; i < tensors->len; i++) {
        const StoredTensor *stored = &g_array_index(tensors, StoredTensor, i);
        bool fresh = stored->fp8 && stored->filled == 0;
        if (!fresh && stored->filled != stored_count(stored))
            return fail_user(error, "%s: %s is missing or incomplete", folder, stored->name);
        begins |= fresh;
    }
    if (begins)
        log_info("%s has no FP8 scales: they begin at 1", folder);
    return true;
}

static bool load_checkpoint(const char *folder, const Checkpoint *checkpoint, Comm *ranks, GError **error)
{
    json_auto_t *root = read_json(folder, error);
    if (root == NULL)
        return fail_damaged(error);
    g_autoptr(GArray) tensors =
        stored_tensors(checkpoint->params, checkpoint->optimizer, checkpoint->fp8, comm_rank(ranks));
    g_autoptr(GHashTable) targets = table_of_tensors(tensors);
    if (!read_files(folder, root, targets, ranks, error) || !all_filled(folder, tensors, error))
        return false;
    const json_t *state = json_object_get(root, "state"), *roles = json_object_get(root, "tokens");
    bool done = (checkpoint->state == NULL || state_from_json(state, checkpoint->state, error)) &&
                (checkpoint->roles == NULL || roles == NULL ||
                 token_roles_parse(checkpoint->roles, roles, checkpoint->model->vocab, error));
    return done || fail_context(error, "%s/state.json", folder);
}

bool checkpoint_load(const char *folder, const Checkpoint *checkpoint, GError **error)
{
    Comm *ranks = checkpoint->ranks ? checkpoint->ranks : comm_self();
    bool done = load_checkpoint(folder, checkpoint, ranks, error);
    return comm_agree(ranks, done, error);
}

bool checkpoint_state(const char *folder, TrainState *state, GError **error)
{
    json_auto_t *root = read_json(folder, error);
    return root ? state_from_json(json_object_get(root, "state"), state, error) : fail_damaged(error);
}

json_t *checkpoint_options(const char *folder, GError **error)
{
    json_auto_t *root = read_json(folder, error);
    if (root == NULL) {
        fail_damaged(error);
        return NULL;
    }
    json_t *options = json_object_get(root, "options");
    options = json_is_object(options) ? options : json_object_get(root, "model");
    return json_is_object(options) ? json_incref(options) : json_object();
}

bool checkpoint_verify(const char *folder, GError **error)
{
    return checkpoint_load(folder, &(Checkpoint){ 0 }, error);
}

bool checkpoint_config(const char *folder, ModelConfig *config, char **tokenizer_hash, GError **error)
{
    model_config_clear(config);
    options_set_defaults(&model_table, config);
    json_auto_t *root = read_json(folder, error);
    if (root == NULL)
        return fail_damaged(error);
    g_autofree char *origin = g_build_filename(folder, "state.json", NULL);
    g_autoptr(GPtrArray) settings = option_settings_new();
    const char *name;
    json_t *value;
    json_object_foreach(json_object_get(root, "model"), name, value) if (json_is_string(value))
        option_settings_add(settings, name, json_string_value(value), origin);
    if (tokenizer_hash)
        *tokenizer_hash = g_strdup(json_string_value(json_object_get(root, "tokenizer")));
    option_settings_rename(settings, &model_table);
    if (!options_apply(&model_table, config, settings, error) || !model_config_check(config, error))
        return false;
    return config->vocab > 0 || fail_user(error, "%s: no model.vocab in it", origin);
}
