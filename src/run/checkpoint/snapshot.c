/* snapshot.c: the contents of a checkpoint at one moment of a run, and writing them to a folder. */
#include "base/file.h"
#include "base/json_line.h"
#include "format/safetensors.h"
#include "run/checkpoint/format.h"

#include <errno.h>
#include <glib/gstdio.h>
#include <string.h>

struct Snapshot {
    Comm *ranks;
    json_t *root;    /* state.json without "files" */
    GArray *tensors; /* StoredTensor, from stored_tensors */
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
    snapshot->ranks = checkpoint->ranks ? checkpoint->ranks : comm_self();
    snapshot->tensors =
        stored_tensors(checkpoint->params, checkpoint->optimizer, checkpoint->fp8, comm_rank(snapshot->ranks));
    snapshot->root = json_pack("{s:i, s:o}", "format", CHECKPOINT_FORMAT, "model", model_json(checkpoint->model));
    if (checkpoint->state)
        json_object_set_new(snapshot->root, "state", state_to_json(checkpoint->state));
    if (checkpoint->roles)
        json_object_set_new(snapshot->root, "tokens", token_roles_json(checkpoint->roles));
    if (checkpoint->options)
        json_object_set(snapshot->root, "options", checkpoint->options);
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
        if (stored->part.shape[0] == 0) /* another rank saves it */
            continue;
        float *values = g_new(float, (gsize)(stored->part.shape[0] * stored->part.shape[1]));
        stored_read(stored, 0, stored->part.shape[0], values);
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

static int64_t rows_at_a_time(const StoredTensor *stored)
{
    return MAX(1, STORED_PART_BYTES / (stored->part.shape[1] * (int64_t)sizeof(float)));
}

static void fetch_stored(const void *stored, int64_t first, int64_t n, void *out)
{
    stored_read(stored, first, n, out);
}

/* File name of this rank's parameters or, with `states`, of its optimizer and FP8 states. g_free. */
static char *file_name(const Snapshot *snapshot, bool states)
{
    return g_strdup_printf("%s-%05d-of-%05d.safetensors", states ? "optimizer" : "weights",
                           comm_rank(snapshot->ranks) + 1, comm_size(snapshot->ranks));
}

/* Writes this rank's part of the parameters or, with `states`, of the optimizer and FP8 states as a file, and records
 * its size, checksum and boxes in `files`. Writes no file if this rank has no such tensor. */
static bool write_file(const Snapshot *snapshot, bool states, const char *folder, json_t *files, GError **error)
{
    g_autofree char *name = file_name(snapshot, states), *path = g_build_filename(folder, name, NULL);
    g_autoptr(SafeWriter) writer = safetensors_writer_new();
    json_auto_t *boxes = json_object();
    bool done = true;
    for (guint i = 0; i < snapshot->tensors->len; i++) {
        const StoredTensor *stored = &g_array_index(snapshot->tensors, StoredTensor, i);
        const Box *part = &stored->part;
        int rank = stored->cols ? 2 : 1;
        if (states != (stored->params == NULL) || part->shape[0] == 0)
            continue;
        safetensors_writer_add_later(writer, stored->name, "F32", rank, part->shape, rows_at_a_time(stored),
                                     fetch_stored, g_memdup2(stored, sizeof *stored));
        json_object_set_new(
            boxes, stored->name,
            json_pack("{s:o, s:o}", "start", extent_json(rank, part->start), "shape", extent_json(rank, part->shape)));
    }
    if (json_object_size(boxes) > 0 && (done = safetensors_writer_write(writer, path, error))) {
        char hex[17];
        int64_t bytes;
        checkpoint_hex(safetensors_writer_hash(writer, &bytes), hex);
        json_object_set_new(files, name,
                            json_pack("{s:I, s:s, s:O}", "bytes", (json_int_t)bytes, "xxh3", hex, "boxes", boxes));
    }
    return done;
}

static bool write_state(const char *folder, const Snapshot *snapshot, json_t *files, GError **error)
{
    g_autofree char *path = g_build_filename(folder, "state.json", NULL);
    json_auto_t *root = json_copy(snapshot->root);
    json_object_set(root, "files", files);
    checkpoint_seal(root);
    return json_write_file(path, root, JSON_INDENT(1) | JSON_SORT_KEYS, "", error);
}

/* Adds the entries of the other ranks to `files`. Fails if a rank is lost: its parts would be missing. */
static bool share_files(Comm *ranks, json_t *files, GError **error)
{
    g_autofree char *text = json_dumps(files, JSON_COMPACT);
    size_t room;
    g_autofree char *all = comm_gather(ranks, text, strlen(text) + 1, &room);
    if (!comm_check(ranks, error))
        return false;
    for (int r = 0; r < comm_size(ranks); r++) {
        json_auto_t *theirs = r == comm_rank(ranks) ? NULL : json_loads(all + (size_t)r * room, 0, NULL);
        if (theirs)
            json_object_update(files, theirs);
    }
    return true;
}

/* All ranks write their files, then rank 0 writes state.json, which names all of them. */
static bool write_folder(const char *folder, const Snapshot *snapshot, GError **error)
{
    Comm *ranks = snapshot->ranks;
    json_auto_t *files = json_object();
    bool done = write_file(snapshot, false, folder, files, error) && write_file(snapshot, true, folder, files, error);
    if (!comm_agree(ranks, done, error) || !share_files(ranks, files, error))
        return false;
    return comm_rank(ranks) > 0 || (write_state(folder, snapshot, files, error) && io_sync_directory(folder, error));
}

/* As io_make_folder_beside, but the folder above the parent must exist: a run that was moved is not made again. */
static char *make_beside(const char *folder, GError **error)
{
    g_autofree char *parent = g_path_get_dirname(folder);
    if (g_mkdir(parent, 0777) != 0 && errno != EEXIST) {
        fail_errno(error, "creating folder", parent);
        return NULL;
    }
    return io_make_folder_beside(folder, error);
}

/* Rank 0 creates a temporary folder beside the final one and sends its name to the other ranks. g_free. */
static char *make_folder(Comm *ranks, const char *folder, GError **error)
{
    char own[4096] = "";
    g_autofree char *fresh = comm_rank(ranks) == 0 ? make_beside(folder, error) : NULL;
    if (!comm_agree(ranks, fresh || comm_rank(ranks) > 0, error))
        return NULL;
    if (comm_size(ranks) == 1)
        return g_steal_pointer(&fresh);
    g_strlcpy(own, fresh ? fresh : "", sizeof own);
    g_autofree char *all = g_malloc0(sizeof own * (size_t)comm_size(ranks));
    comm_share(ranks, all, own, sizeof own);
    return comm_check(ranks, error) ? g_strdup(all) : NULL;
}

bool snapshot_write(const Snapshot *snapshot, const char *folder, GError **error)
{
    Comm *ranks = snapshot->ranks;
    g_autofree char *fresh = make_folder(ranks, folder, error);
    if (fresh == NULL)
        return false;
    bool first = comm_rank(ranks) == 0, done = write_folder(fresh, snapshot, error);
    done = done && (!first || io_swap_in(fresh, folder, error));
    if (first && !done)
        io_remove_tree(fresh, NULL);
    return comm_agree(ranks, done, error);
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
