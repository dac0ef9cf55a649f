/* snapshot.c: a copy of a run's state in host memory, and writing it as a checkpoint. */
#include "base/file.h"
#include "format/safetensors.h"
#include "train/checkpoint/format.h"
#include "train/checkpoint/stored.h"

#include <string.h>

#define WEIGHTS_FILE   "weights-00001-of-00001.safetensors"
#define OPTIMIZER_FILE "optimizer-00001-of-00001.safetensors"

struct Snapshot {
    json_t *root;    /* state.json without "files" */
    GArray *tensors; /* StoredTensor: the parameters, then the optimizer's states if there is an optimizer */
};

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
    snapshot->tensors = stored_tensors(checkpoint->params, checkpoint->optimizer, checkpoint->fp8);
    snapshot->root = json_pack("{s:i, s:o}", "format", CHECKPOINT_FORMAT, "model", model_json(checkpoint->model));
    if (checkpoint->state)
        json_object_set_new(snapshot->root, "state", state_to_json(checkpoint->state));
    if (checkpoint->roles)
        json_object_set_new(snapshot->root, "tokens", token_roles_json(checkpoint->roles));
    if (checkpoint->tokenizer_hash)
        json_object_set_new(snapshot->root, "tokenizer", json_string(checkpoint->tokenizer_hash));
    return snapshot;
}

void snapshot_free(Snapshot *snapshot)
{
    json_decref(snapshot->root);
    g_array_unref(snapshot->tensors);
    g_free(snapshot);
}

void snapshot_detach(Snapshot *snapshot)
{
    for (guint i = 0; i < snapshot->tensors->len; i++) {
        StoredTensor *stored = &g_array_index(snapshot->tensors, StoredTensor, i);
        float *values = g_new(float, (gsize)stored_count(stored));
        stored_read(stored, values);
        stored->values = values;
    }
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

/* Writes the parameters, or the states of optimizer and FP8, as a file, and records its size, checksum and boxes in
 * `files`. */
static bool write_file(const Snapshot *snapshot, bool states, const char *folder, const char *name, json_t *files,
                       GError **error)
{
    static const int64_t origin[2] = { 0, 0 };
    g_autofree char *path = g_build_filename(folder, name, NULL);
    SafeWriter *writer = safetensors_writer_new();
    json_t *boxes = json_object();
    char hex[17];
    for (guint i = 0; i < snapshot->tensors->len; i++) {
        const StoredTensor *stored = &g_array_index(snapshot->tensors, StoredTensor, i);
        const int64_t shape[2] = { stored->rows, stored->cols };
        int rank = stored->cols ? 2 : 1;
        if (states != (stored->params == NULL))
            continue;
        safetensors_writer_add_later(writer, stored->name, "F32", rank, shape, fetch,
                                     g_memdup2(stored, sizeof *stored));
        json_object_set_new(
            boxes, stored->name,
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
    json_auto_t *root = json_copy(snapshot->root);
    json_object_set(root, "files", files);
    checkpoint_seal(root);
    char *text = json_dumps(root, JSON_INDENT(1) | JSON_SORT_KEYS);
    bool done = io_write_file(path, text, strlen(text), error);
    free(text);
    return done;
}

static bool write_folder(const char *folder, const Snapshot *snapshot, GError **error)
{
    const GArray *tensors = snapshot->tensors;
    bool states = tensors->len > 0 && !g_array_index(tensors, StoredTensor, tensors->len - 1).params;
    json_auto_t *files = json_object();
    return write_file(snapshot, false, folder, WEIGHTS_FILE, files, error) &&
           (!states || write_file(snapshot, true, folder, OPTIMIZER_FILE, files, error)) &&
           write_state(folder, snapshot, files, error) && io_sync_directory(folder, error);
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
