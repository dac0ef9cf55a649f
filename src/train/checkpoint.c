#include "train/checkpoint_format.h"

#include "base/file.h"
#include "format/safetensors.h"

#include <jansson.h>
#include <string.h>

#define WEIGHTS_FILE   "weights-00001-of-00001.safetensors"
#define OPTIMIZER_FILE "optimizer-00001-of-00001.safetensors"

const StateField checkpoint_counters[] = {
    { "attempts", offsetof(TrainState, attempts) },
    { "updates", offsetof(TrainState, updates) },
    { "samples", offsetof(TrainState, samples) },
    { "tokens", offsetof(TrainState, tokens) },
    { "target_tokens", offsetof(TrainState, target_tokens) },
    { "window_steps", offsetof(TrainState, window_steps) },
    { "best_step", offsetof(TrainState, best_step) },
    { "evaluated", offsetof(TrainState, evaluated) },
    { "data", offsetof(TrainState, data) },
    { NULL, 0 },
};
const StateField checkpoint_reals[] = {
    { "window_loss", offsetof(TrainState, window.loss) },
    { "window_nll", offsetof(TrainState, window.nll) },
    { "window_correct", offsetof(TrainState, window.correct) },
    { "window_weight", offsetof(TrainState, window.weight) },
    { "window_label_nll", offsetof(TrainState, window.label_nll) },
    { "window_label_correct", offsetof(TrainState, window.label_correct) },
    { "window_label_weight", offsetof(TrainState, window.label_weight) },
    { "best_loss", offsetof(TrainState, best_loss) },
    { NULL, 0 },
};

const LaterField checkpoint_later[] = {
    { "best_data", offsetof(TrainState, best_data), 0 },
    { "evaluation_left", offsetof(TrainState, evaluation_left), 0 },
    { "tokens_by_capacity", offsetof(TrainState, tokens_by_capacity), 1 },
    { NULL, 0, 0 },
};

static json_t *shape_json(int rank, const int64_t *shape)
{
    json_t *array = json_array();
    for (int i = 0; i < rank; i++)
        json_array_append_new(array, json_integer(shape[i]));
    return array;
}

typedef struct Shard {
    SafeWriter *writer;
    json_t *boxes; /* name -> {start, shape} */
} Shard;

static Shard shard_new(void)
{
    return (Shard){ safetensors_writer_new(), json_object() };
}

StoredTensor checkpoint_param(ParamStore *params, int index)
{
    const ParamSpec *spec = params_spec(params, index);
    return (
        StoredTensor){ .params = params, .index = index, .name = spec->name, .rows = spec->rows, .cols = spec->cols };
}

StoredTensor checkpoint_optimizer_state(Optimizer *optimizer, int index)
{
    OptimState state = optimizer_state(optimizer, index);
    return (StoredTensor){
        .optimizer = optimizer, .index = index, .name = state.name, .rows = state.rows, .cols = state.cols
    };
}

void stored_read(const StoredTensor *stored, float *out)
{
    if (stored->optimizer)
        optimizer_read(stored->optimizer, stored->index, NULL, DT_F32, out);
    else
        params_read(stored->params, stored->index, NULL, DT_F32, out);
}

void stored_write(const StoredTensor *stored, const Box *box, const float *from)
{
    if (stored->optimizer)
        optimizer_write(stored->optimizer, stored->index, box, DT_F32, from);
    else
        params_write(stored->params, stored->index, box, DT_F32, from);
}

static void fetch(const void *context, void *out)
{
    stored_read(context, out);
}

static void shard_add(Shard *shard, StoredTensor stored)
{
    static const int64_t origin[2] = { 0, 0 };
    const int64_t shape[2] = { stored.rows, stored.cols };
    int rank = stored.cols ? 2 : 1;
    safetensors_writer_add_later(shard->writer, stored.name, "F32", rank, shape, fetch,
                                 g_memdup2(&stored, sizeof stored));
    json_object_set_new(shard->boxes, stored.name,
                        json_pack("{s:o, s:o}", "start", shape_json(rank, origin), "shape", shape_json(rank, shape)));
}

/* Writes the shard and records its size, checksum and boxes in `files`. */
static bool shard_write(Shard *shard, const char *folder, const char *name, json_t *files, GError **error)
{
    g_autofree char *path = g_build_filename(folder, name, NULL);
    char hex[17];
    int64_t bytes = 0;
    bool done = safetensors_writer_write(shard->writer, path, error) && checkpoint_hash_file(path, hex, &bytes, error);
    if (done)
        json_object_set_new(
            files, name, json_pack("{s:I, s:s, s:O}", "bytes", (json_int_t)bytes, "xxh3", hex, "boxes", shard->boxes));
    safetensors_writer_free(shard->writer);
    json_decref(shard->boxes);
    return done;
}

OptionTable checkpoint_model_table(OptionGroup *group)
{
    *group = (OptionGroup){ model_options, n_model_options, 0 };
    return (OptionTable){ group, 1, sizeof(ModelConfig) };
}

static json_t *model_json(const ModelConfig *config)
{
    OptionGroup group;
    OptionTable table = checkpoint_model_table(&group);
    json_t *object = json_object();
    for (int i = 0; i < n_model_options; i++) {
        g_autofree char *value = options_plain_value(&table, config, &model_options[i]);
        json_object_set_new(object, model_options[i].name, json_string(value));
    }
    return object;
}

static json_t *state_json(const TrainState *state)
{
    json_t *object = json_object();
    for (const StateField *field = checkpoint_counters; field->name; field++)
        json_object_set_new(object, field->name, json_integer(G_STRUCT_MEMBER(int64_t, state, field->offset)));
    for (const LaterField *field = checkpoint_later; field->name; field++)
        json_object_set_new(object, field->name, json_integer(G_STRUCT_MEMBER(int64_t, state, field->offset)));
    for (const StateField *field = checkpoint_reals; field->name; field++)
        json_object_set_new(object, field->name, json_real(G_STRUCT_MEMBER(double, state, field->offset)));
    return object;
}

static bool write_json(const char *folder, json_t *root, GError **error)
{
    g_autofree char *path = g_build_filename(folder, "state.json", NULL);
    char *text = json_dumps(root, JSON_INDENT(1) | JSON_SORT_KEYS);
    bool done = io_write_file(path, text, strlen(text), error);
    free(text);
    return done;
}

static bool write_weights(const Checkpoint *checkpoint, const char *folder, json_t *files, GError **error)
{
    Shard shard = shard_new();
    for (int i = 0; i < params_count(checkpoint->params); i++)
        shard_add(&shard, checkpoint_param(checkpoint->params, i));
    return shard_write(&shard, folder, WEIGHTS_FILE, files, error);
}

static bool write_optimizer(const Checkpoint *checkpoint, const char *folder, json_t *files, GError **error)
{
    Shard shard = shard_new();
    for (int i = 0; i < optimizer_state_count(checkpoint->optimizer); i++)
        shard_add(&shard, checkpoint_optimizer_state(checkpoint->optimizer, i));
    return shard_write(&shard, folder, OPTIMIZER_FILE, files, error);
}

static bool write_folder(const char *folder, const Checkpoint *checkpoint, GError **error)
{
    json_t *files = json_object();
    bool done = write_weights(checkpoint, folder, files, error) &&
                (checkpoint->optimizer == NULL || write_optimizer(checkpoint, folder, files, error));
    json_t *root = json_pack("{s:i, s:o, s:o}", "format", CHECKPOINT_FORMAT, "model", model_json(checkpoint->model),
                             "files", files);
    if (checkpoint->state)
        json_object_set_new(root, "state", state_json(checkpoint->state));
    if (checkpoint->roles)
        json_object_set_new(root, "tokens", token_roles_json(checkpoint->roles));
    if (checkpoint->tokenizer_hash)
        json_object_set_new(root, "tokenizer", json_string(checkpoint->tokenizer_hash));
    checkpoint_seal(root);
    done = done && write_json(folder, root, error) && io_sync_directory(folder, error);
    json_decref(root);
    return done;
}

bool checkpoint_save(const char *folder, const Checkpoint *checkpoint, GError **error)
{
    g_autofree char *fresh = io_make_folder_beside(folder, error);
    if (fresh == NULL)
        return false;
    if (write_folder(fresh, checkpoint, error) && io_swap_in(fresh, folder, error))
        return true;
    io_remove_tree(fresh, NULL);
    return false;
}

bool checkpoint_save_weights(const char *folder, Model *model, GError **error)
{
    Checkpoint checkpoint = { .model = model_config(model),
                              .params = model_params(model),
                              .roles = model_roles(model) };
    return checkpoint_save(folder, &checkpoint, error);
}
