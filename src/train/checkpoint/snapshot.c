/* snapshot.c: a copy of a run's state in host memory, and writing it as a checkpoint. */
#include "base/file.h"
#include "format/safetensors.h"
#include "train/checkpoint/format.h"
#include "train/checkpoint/stored.h"

#include <string.h>

#define WEIGHTS_FILE   "weights-00001-of-00001.safetensors"
#define OPTIMIZER_FILE "optimizer-00001-of-00001.safetensors"

/* A tensor of the snapshot. */
typedef struct Source {
    char *name;
    StoredTensor stored; /* of a snapshot that is not detached */
    float *values;       /* of a detached snapshot, owned; NULL means: read `stored` when it is written */
} Source;

struct Snapshot {
    json_t *root;                /* state.json without "files" */
    GArray *weights, *optimizer; /* Source; the optimizer's is empty where the checkpoint has none */
};

static void source_clear(void *item)
{
    g_free(((Source *)item)->name);
    g_free(((Source *)item)->values);
}

static GArray *sources_new(void)
{
    GArray *sources = g_array_new(false, false, sizeof(Source));
    g_array_set_clear_func(sources, source_clear);
    return sources;
}

static void add_source(GArray *sources, StoredTensor stored)
{
    const Source source = { .name = g_strdup(stored.name), .stored = stored };
    g_array_append_val(sources, source);
}

static json_t *model_json(const ModelConfig *config)
{
    json_t *object = json_object();
    for (int i = 0; i < n_model_options; i++) {
        g_autofree char *value = options_plain_value(&model_table, config, &model_options[i]);
        json_object_set_new(object, model_options[i].name, json_string(value));
    }
    return object;
}

Snapshot *snapshot_take(const Checkpoint *checkpoint)
{
    Snapshot *snapshot = g_new(Snapshot, 1);
    *snapshot = (Snapshot){ .weights = sources_new(), .optimizer = sources_new() };
    snapshot->root = json_pack("{s:i, s:o}", "format", CHECKPOINT_FORMAT, "model", model_json(checkpoint->model));
    if (checkpoint->state)
        json_object_set_new(snapshot->root, "state", state_to_json(checkpoint->state));
    if (checkpoint->roles)
        json_object_set_new(snapshot->root, "tokens", token_roles_json(checkpoint->roles));
    if (checkpoint->tokenizer_hash)
        json_object_set_new(snapshot->root, "tokenizer", json_string(checkpoint->tokenizer_hash));
    for (int i = 0; i < params_count(checkpoint->params); i++)
        add_source(snapshot->weights, stored_param(checkpoint->params, i));
    for (int i = 0; checkpoint->optimizer && i < optimizer_state_count(checkpoint->optimizer); i++)
        add_source(snapshot->optimizer, stored_optimizer_state(checkpoint->optimizer, i));
    return snapshot;
}

void snapshot_free(Snapshot *snapshot)
{
    json_decref(snapshot->root);
    g_array_unref(snapshot->weights);
    g_array_unref(snapshot->optimizer);
    g_free(snapshot);
}

static void detach(GArray *sources)
{
    for (guint i = 0; i < sources->len; i++) {
        Source *source = &g_array_index(sources, Source, i);
        source->values = g_new(float, (gsize)(source->stored.rows * MAX(source->stored.cols, 1)));
        stored_read(&source->stored, source->values);
    }
}

void snapshot_detach(Snapshot *snapshot)
{
    detach(snapshot->weights);
    detach(snapshot->optimizer);
}

/* ---- writing ---- */

static json_t *extent_json(int rank, const int64_t *numbers)
{
    json_t *array = json_array();
    for (int i = 0; i < rank; i++)
        json_array_append_new(array, json_integer(numbers[i]));
    return array;
}

static void fetch(const void *stored, void *out)
{
    stored_read(stored, out);
}

/* Writes one file and records its size, checksum and boxes in `files`. */
static bool write_file(const GArray *sources, const char *folder, const char *name, json_t *files, GError **error)
{
    static const int64_t origin[2] = { 0, 0 };
    g_autofree char *path = g_build_filename(folder, name, NULL);
    SafeWriter *writer = safetensors_writer_new();
    json_t *boxes = json_object();
    char hex[17];
    for (guint i = 0; i < sources->len; i++) {
        const Source *source = &g_array_index(sources, Source, i);
        const StoredTensor *stored = &source->stored;
        const int64_t shape[2] = { stored->rows, stored->cols };
        int rank = stored->cols ? 2 : 1;
        if (source->values)
            safetensors_writer_add(writer, source->name, "F32", rank, shape, source->values);
        else
            safetensors_writer_add_later(writer, source->name, "F32", rank, shape, fetch,
                                         g_memdup2(stored, sizeof *stored));
        json_object_set_new(
            boxes, source->name,
            json_pack("{s:o, s:o}", "start", extent_json(rank, origin), "shape", extent_json(rank, shape)));
    }
    bool done = safetensors_writer_write(writer, path, error);
    int64_t bytes;
    checkpoint_hex(safetensors_writer_hash(writer, &bytes), hex);
    json_object_set_new(files, name,
                        json_pack("{s:I, s:s, s:o}", "bytes", (json_int_t)bytes, "xxh3", hex, "boxes", boxes));
    safetensors_writer_free(writer);
    return done;
}

static bool write_state(const char *folder, const Snapshot *snapshot, json_t *files, GError **error)
{
    g_autofree char *path = g_build_filename(folder, "state.json", NULL);
    json_t *root = json_copy(snapshot->root);
    json_object_set(root, "files", files);
    checkpoint_seal(root);
    char *text = json_dumps(root, JSON_INDENT(1) | JSON_SORT_KEYS);
    bool done = io_write_file(path, text, strlen(text), error);
    free(text);
    json_decref(root);
    return done;
}

static bool write_folder(const char *folder, const Snapshot *snapshot, GError **error)
{
    json_t *files = json_object();
    bool done =
        write_file(snapshot->weights, folder, WEIGHTS_FILE, files, error) &&
        (snapshot->optimizer->len == 0 || write_file(snapshot->optimizer, folder, OPTIMIZER_FILE, files, error)) &&
        write_state(folder, snapshot, files, error) && io_sync_directory(folder, error);
    json_decref(files);
    return done;
}

bool snapshot_write(const Snapshot *snapshot, const char *folder, GError **error)
{
    g_autofree char *fresh = io_make_folder_beside(folder, error);
    if (fresh == NULL)
        return false;
    if (write_folder(fresh, snapshot, error) && io_swap_in(fresh, folder, error))
        return true;
    io_remove_tree(fresh, NULL);
    return false;
}

bool checkpoint_save(const char *folder, const Checkpoint *checkpoint, GError **error)
{
    Snapshot *snapshot = snapshot_take(checkpoint);
    bool done = snapshot_write(snapshot, folder, error);
    snapshot_free(snapshot);
    return done;
}

bool checkpoint_save_weights(const char *folder, Model *model, GError **error)
{
    Checkpoint checkpoint = { .model = model_config(model),
                              .params = model_params(model),
                              .roles = model_roles(model) };
    return checkpoint_save(folder, &checkpoint, error);
}
