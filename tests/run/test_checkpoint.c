#include "base/check.h"
#include "base/file.h"
#include "base/float16.h"
#include "format/safetensors.h"
#include "param/store.h"
#include "reference/reference.h"
#include "run/checkpoint/format.h"
#include "run/run_dir.h"
#include "run/tiny_model.h"

#include <errno.h>
#include <glib/gstdio.h>
#include <jansson.h>
#include <string.h>

typedef struct Fixture {
    char *dir, *folder;
    Device *dev;
    ModelConfig config;
    Model *model;
    Optimizer *optimizer;
    TrainState state;
} Fixture;

static const ModelConfig tiny = TINY_MODEL(.n_dec = 1, .ffn = 16);
static const OptimConfig adamw = { .name = OPTIM_ADAMW, .beta1 = -1, .beta2 = -1, .eps = -1 };
static const Precision mixed_precision = { DT_BF16, DT_BF16, DT_F32, .master = DT_F32, .state = DT_F32 };

static void set_up(Fixture *f, gconstpointer data)
{
    (void)data;
    GError *error = NULL;
    f->dir = g_dir_make_tmp("loam-checkpoint-XXXXXX", NULL);
    f->folder = g_build_filename(f->dir, "checkpoints", "step-00000005", NULL);
    f->dev = device_open_cpu(1, precision_uniform(DT_F32));
    f->config = tiny;
    f->model = model_open(f->dev, &f->config, true, &error);
    g_assert_no_error(error);
    params_init(model_params(f->model), 3);
    f->optimizer = optimizer_open(model_params(f->model), &adamw, &error);
    g_assert_no_error(error);
    f->state = (TrainState){
        .steps = 5,
        .updates = 4,
        .samples = 40,
        .tokens = 123456789012,
        .target_tokens = 77,
        .window = { { { 0.1, 1.0 / 3, 2, 3, 0 }, { 0.7, 0, 1, 4, 0 }, { 0.9, 0.8, 2, 3.5, 5 } } },
        .window_steps = 2,
        .window_updates = { 2, 1024, 16, 1, 3.75 },
        .best_value = 1.0 / 7,
        .best_step = 4,
        .best_data = 8765432109876543210,
        .evaluated = 5,
        .evaluation_left = 1,
        .data = 1234567890123456789,
        .run = 987654321098765,
        .loss_scale = { 65536, 5, 3, 2, 1, 2 },
        .stale = 6,
        .plateau = 3,
        .drops = 2,
        .update_samples = 32,
        .skipped = 1,
        .skipped_samples = 8,
        .spike_step = 3,
        .window_skipped = 4,
        .window_nan = 1,
        .spike_losses = 2,
        .spike_recent = { 2.5, 1.0 / 7 },
        .trained_s = 7200.5,
        .lr = 0.003,
    };
}

static void tear_down(Fixture *f, gconstpointer data)
{
    (void)data;
    io_fail_at(0, 0);
    optimizer_close(f->optimizer);
    model_close(f->model);
    device_close(f->dev);
    io_remove_tree(f->dir, NULL);
    g_free(f->folder);
    g_free(f->dir);
}

static Checkpoint whole(Fixture *f)
{
    return (Checkpoint){ .model = model_config(f->model),
                         .params = model_params(f->model),
                         .optimizer = f->optimizer,
                         .state = &f->state,
                         .tokenizer_hash = "0123456789abcdef" };
}

static void fill_state(Fixture *f, float value)
{
    for (int i = 0; i < optimizer_state_count(f->optimizer); i++) {
        OptimState state = optimizer_state(f->optimizer, i);
        int64_t count = state.rows * MAX(state.cols, 1);
        g_autofree float *values = g_new(float, (gsize)count);
        for (int64_t j = 0; j < count; j++)
            values[j] = value + (float)i;
        optimizer_write(f->optimizer, i, NULL, DT_F32, values);
    }
}

static void save_then_load_gives_the_same_state(Fixture *f, gconstpointer data)
{
    (void)data;
    GError *error = NULL;
    Checkpoint checkpoint = whole(f);
    fill_state(f, 0.5f);
    checkpoint_save(f->folder, &checkpoint, &error);
    g_assert_no_error(error);
    Tensor w = params_find(model_params(f->model), "shared")->w;
    g_autofree float *before = g_memdup2(w.p, (gsize)tensor_count(w) * sizeof(float));
    TrainState state = f->state;
    params_init(model_params(f->model), 4);
    fill_state(f, 9);
    f->state = (TrainState){ 0 };
    g_assert_true(memcmp(before, w.p, 64) != 0);
    checkpoint_load(f->folder, &checkpoint, &error);
    g_assert_no_error(error);
    g_assert_true(memcmp(before, w.p, (gsize)tensor_count(w) * sizeof(float)) == 0);
    g_assert_true(memcmp(&state, &f->state, sizeof state) == 0);
    float first;
    int last = optimizer_state_count(f->optimizer) - 1;
    optimizer_read(f->optimizer, last, &(Box){ { 0, 0 }, { 1, 1 } }, DT_F32, &first);
    g_assert_cmpfloat(first, ==, 0.5f + (float)last);
}

/* Flips a bit of a file of the checkpoint: of the last value of its last tensor. */
static void damage(const char *folder, const char *file)
{
    g_autofree char *path = g_build_filename(folder, file, NULL), *text = NULL;
    gsize bytes;
    g_assert_true(g_file_get_contents(path, &text, &bytes, NULL));
    text[bytes - 1] ^= 4;
    g_assert_true(g_file_set_contents(path, text, (gssize)bytes, NULL));
}

static void loading_checks_every_file_without_a_verification_before(Fixture *f, gconstpointer data)
{
    (void)data;
    GError *error = NULL;
    Checkpoint checkpoint = whole(f);
    checkpoint_save(f->folder, &checkpoint, &error);
    g_assert_no_error(error);
    damage(f->folder, "weights-00001-of-00001.safetensors");
    g_assert_false(checkpoint_load(f->folder, &checkpoint, &error));
    g_assert_nonnull(strstr(error->message, "damaged: checksum"));
    g_assert_error(error, CHECKPOINT_DAMAGED, LOAM_ERROR_USER);
    g_clear_error(&error);
}

/* An older checkpoint would not fit either. */
static void a_tensor_of_another_shape_is_no_damage(Fixture *f, gconstpointer data)
{
    (void)data;
    GError *error = NULL;
    Checkpoint checkpoint = whole(f);
    checkpoint_save(f->folder, &checkpoint, &error);
    g_assert_no_error(error);
    ModelConfig wider = tiny;
    wider.width = 16;
    Model *other = model_open(f->dev, &wider, false, &error);
    g_assert_no_error(error);
    const Checkpoint into = { .model = &wider, .params = model_params(other) };
    g_assert_false(checkpoint_load(f->folder, &into, &error));
    g_assert_nonnull(strstr(error->message, "incomplete"));
    g_assert_error(error, LOAM_ERROR, LOAM_ERROR_USER);
    g_clear_error(&error);
    model_close(other);
}

static GBytes *file_bytes(const char *folder, const char *name)
{
    g_autofree char *path = g_build_filename(folder, name, NULL);
    char *text;
    gsize bytes;
    g_assert_true(g_file_get_contents(path, &text, &bytes, NULL));
    return g_bytes_new_take(text, bytes);
}

static void *write_snapshot(void *data)
{
    void **arguments = data;
    return GINT_TO_POINTER(snapshot_write(arguments[0], arguments[1], NULL));
}

static void expect_same_file(Fixture *f, const char *folder, const char *name)
{
    g_autoptr(GBytes) before = file_bytes(f->folder, name), after = file_bytes(folder, name);
    g_assert_true(g_bytes_equal(before, after));
}

/* Another thread writes it after everything that it was taken from has changed, and was freed. */
static void a_detached_snapshot_belongs_to_its_writer(Fixture *f, gconstpointer data)
{
    (void)data;
    static const char *const files[] = { "weights-00001-of-00001.safetensors", "optimizer-00001-of-00001.safetensors",
                                         "state.json" };
    GError *error = NULL;
    g_autofree char *later = g_build_filename(f->dir, "checkpoints", "later", NULL);
    TokenRoles roles = token_roles_none();
    Checkpoint checkpoint = whole(f);
    roles.pad = 7;
    checkpoint.roles = &roles;
    fill_state(f, 0.5f);
    checkpoint_save(f->folder, &checkpoint, &error);
    g_assert_no_error(error);
    Snapshot *snapshot = snapshot_take(&checkpoint);
    snapshot_detach(snapshot);
    params_init(model_params(f->model), 4);
    fill_state(f, 9);
    f->state = (TrainState){ 0 };
    roles.pad = 8;
    optimizer_close(f->optimizer);
    model_close(f->model);
    void *arguments[] = { snapshot, later };
    g_assert_true(GPOINTER_TO_INT(g_thread_join(g_thread_new("writer", write_snapshot, arguments))));
    snapshot_free(snapshot);
    for (size_t i = 0; i < G_N_ELEMENTS(files); i++)
        expect_same_file(f, later, files[i]);
    token_roles_clear(&roles);
    f->model = model_open(f->dev, &f->config, true, NULL);
    f->optimizer = optimizer_open(model_params(f->model), &adamw, NULL);
}

static void shape_and_tokenizer_are_read_back(Fixture *f, gconstpointer data)
{
    (void)data;
    GError *error = NULL;
    Checkpoint checkpoint = whole(f);
    checkpoint_save(f->folder, &checkpoint, &error);
    g_assert_no_error(error);
    ModelConfig config = { 0 };
    g_autofree char *hash = NULL;
    checkpoint_config(f->folder, &config, &hash, &error);
    g_assert_no_error(error);
    g_assert_cmpstr(hash, ==, "0123456789abcdef");
    g_assert_cmpint(config.ffn, ==, 16);
    g_assert_cmpint(config.activation, ==, ACT_GELU_TANH);
    g_assert_true(config.gated);
    g_assert_cmpfloat(config.norm_eps, ==, 1e-6);
    model_config_clear(&config);
}

/* The roles of a checkpoint that has none stay as they were. */
static void roles_of_tokens_are_read_back(Fixture *f, gconstpointer data)
{
    (void)data;
    GError *error = NULL;
    TokenRoles roles = { .decoder_start = 3, .generation_start = -1, .pad = 2, .bos = -1, .eos = { 2, { 1, 5 } } };
    Checkpoint checkpoint = whole(f);
    roles.generation = json_pack("{s:f}", "temperature", 0.6);
    checkpoint.roles = &roles;
    checkpoint_save(f->folder, &checkpoint, &error);
    g_assert_no_error(error);
    TokenRoles read = token_roles_none();
    checkpoint.roles = &read;
    g_assert_true(checkpoint_load(f->folder, &checkpoint, &error));
    g_assert_cmpint(read.decoder_start, ==, 3);
    g_assert_cmpint(read.pad, ==, 2);
    g_assert_cmpint(read.eos.n, ==, 2);
    g_assert_true(token_list_has(&read.eos, 1) && token_list_has(&read.eos, 5));
    g_assert_true(json_equal(read.generation, roles.generation));
    checkpoint.roles = NULL;
    checkpoint_save(f->folder, &checkpoint, &error);
    g_assert_no_error(error);
    token_roles_clear(&read);
    checkpoint.roles = &read;
    g_assert_true(checkpoint_load(f->folder, &checkpoint, &error));
    g_assert_cmpint(read.decoder_start, ==, -1);
    token_roles_clear(&roles);
}

/* Each call of io_*() fails in turn: the checkpoint that was saved before is still there, whole, and loads. */
static void a_failing_disk_keeps_the_checkpoint_before(Fixture *f, gconstpointer data)
{
    (void)data;
    GError *error = NULL;
    Checkpoint checkpoint = whole(f);
    g_autofree char *next = g_build_filename(f->dir, "checkpoints", "step-00000006", NULL);
    checkpoint_save(f->folder, &checkpoint, &error);
    g_assert_no_error(error);
    io_fail_at(1000000, ENOSPC);
    checkpoint_save(next, &checkpoint, &error);
    g_assert_no_error(error);
    int calls = io_calls();
    g_assert_cmpint(calls, >, 10);
    int reported = 0;
    for (int n = 1; n <= calls; n++) {
        io_remove_tree(next, NULL);
        io_fail_at(n, ENOSPC);
        bool saved = checkpoint_save(next, &checkpoint, &error);
        io_fail_at(0, 0);
        reported += !saved;
        g_assert_true(saved == (error == NULL));
        g_clear_error(&error);
        g_assert_true(checkpoint_verify(f->folder, NULL));
        g_assert_true(!g_file_test(next, G_FILE_TEST_EXISTS) || checkpoint_verify(next, NULL));
        g_assert_true(checkpoint_load(f->folder, &checkpoint, &error));
    }
    g_assert_cmpint(reported, >, calls / 2);
}

/* The same for a checkpoint that is written again under its own name: it is there, whole, wherever the disk fails. */
static void a_failing_disk_keeps_the_checkpoint_that_is_replaced(Fixture *f, gconstpointer data)
{
    (void)data;
    GError *error = NULL;
    Checkpoint checkpoint = whole(f);
    g_assert_true(checkpoint_save(f->folder, &checkpoint, NULL));
    io_fail_at(1000000, ENOSPC);
    g_assert_true(checkpoint_save(f->folder, &checkpoint, NULL));
    int calls = io_calls();
    for (int n = 1; n <= calls; n++) {
        io_fail_at(n, ENOSPC);
        bool saved = checkpoint_save(f->folder, &checkpoint, &error);
        io_fail_at(0, 0);
        g_assert_true(saved == (error == NULL));
        g_clear_error(&error);
        g_assert_true(checkpoint_verify(f->folder, NULL));
    }
}

static bool verify(const char *folder, void *unused, GError **error)
{
    (void)unused;
    return checkpoint_verify(folder, error);
}

static int64_t newest(Fixture *f)
{
    GError *error = NULL;
    int64_t step = -2;
    run_open_newest(f->dir, verify, NULL, &step, &error);
    g_assert_no_error(error);
    return step;
}

static void damage_is_found_and_the_one_before_used(Fixture *f, gconstpointer data)
{
    (void)data;
    static const char *const files[] = { "weights-00001-of-00001.safetensors", "optimizer-00001-of-00001.safetensors",
                                         "state.json" };
    GError *error = NULL;
    Checkpoint checkpoint = whole(f);
    g_autofree char *older = g_build_filename(f->dir, "checkpoints", "step-00000003", NULL);
    f->state.steps = 3;
    checkpoint_save(older, &checkpoint, &error);
    f->state.steps = 5;
    for (size_t i = 0; i < G_N_ELEMENTS(files); i++) {
        checkpoint_save(f->folder, &checkpoint, &error);
        g_assert_no_error(error);
        g_assert_cmpint(newest(f), ==, 5);
        g_autofree char *path = g_build_filename(f->folder, files[i], NULL), *text = NULL;
        gsize bytes;
        g_file_get_contents(path, &text, &bytes, NULL);
        text[i == 2 ? 0 : bytes / 2] ^= 4; /* one flipped bit */
        g_file_set_contents(path, text, (gssize)bytes, NULL);
        g_assert_false(checkpoint_verify(f->folder, &error));
        g_assert_error(error, CHECKPOINT_DAMAGED, LOAM_ERROR_USER);
        g_assert_nonnull(strstr(error->message, "damaged"));
        g_clear_error(&error);
        g_assert_cmpint(newest(f), ==, 3);
    }
}

/* A number of state.json that was altered by hand or by the disk. */
static void state_json_is_sealed(Fixture *f, gconstpointer data)
{
    (void)data;
    GError *error = NULL;
    Checkpoint checkpoint = whole(f);
    checkpoint_save(f->folder, &checkpoint, &error);
    g_assert_no_error(error);
    g_autofree char *path = g_build_filename(f->folder, "state.json", NULL), *text = NULL;
    g_file_get_contents(path, &text, NULL, NULL);
    char *updates = strstr(text, "\"updates\": 4");
    g_assert_nonnull(updates);
    updates[strlen("\"updates\": ")] = '5';
    g_file_set_contents(path, text, -1, NULL);
    g_assert_false(checkpoint_verify(f->folder, &error));
    g_assert_nonnull(strstr(error->message, "checksum"));
    g_clear_error(&error);
    int64_t step;
    g_assert_false(
        run_open_newest(f->dir, verify, NULL, &step, &error)); /* there is no other: never start over in silence */
    g_assert_nonnull(strstr(error->message, "is valid"));
    g_clear_error(&error);
}

static json_t *load_state_json(const char *folder)
{
    g_autofree char *path = g_build_filename(folder, "state.json", NULL);
    return json_load_file(path, 0, NULL);
}

/* Writes state.json with another value for one number of the progress, or without it (value NULL), sealed again. whole:
 * as the checkpoint has it. */
static void set_number(const char *folder, const json_t *whole, const char *name, json_t *value)
{
    g_autofree char *path = g_build_filename(folder, "state.json", NULL);
    json_t *root = json_deep_copy(whole), *state = json_object_get(root, "state");
    g_assert_cmpint(value ? json_object_set_new(state, name, value) : json_object_del(state, name), ==, 0);
    checkpoint_seal(root);
    g_assert_cmpint(json_dump_file(root, path, JSON_INDENT(1) | JSON_SORT_KEYS), ==, 0);
    json_decref(root);
}

/* Each number in turn, as in a checkpoint of a version that did not have it. */
static void a_number_that_a_checkpoint_lacks_gets_its_default(Fixture *f, gconstpointer data)
{
    (void)data;
    Checkpoint checkpoint = whole(f);
    const TrainState saved = f->state;
    g_assert_true(checkpoint_save(f->folder, &checkpoint, NULL));
    json_t *state_json = load_state_json(f->folder);
    for (const StateField *field = state_fields; field->name; field++) {
        g_autoptr(GError) error = NULL;
        TrainState read, wanted = saved;
        set_number(f->folder, state_json, field->name, NULL);
        memset(&read, 0xff, sizeof read);
        checkpoint.state = &read;
        bool loaded = checkpoint_load(f->folder, &checkpoint, &error);
        g_assert_true(loaded == !field->required);
        if (field->required) {
            g_assert_nonnull(strstr(error->message, field->name));
            continue;
        }
        if (field->type == STATE_REAL)
            G_STRUCT_MEMBER(double, &wanted, field->offset) = field->absent;
        else
            G_STRUCT_MEMBER(int64_t, &wanted, field->offset) = (int64_t)field->absent;
        g_assert_true(memcmp(&read, &wanted, sizeof read) == 0);
    }
    json_decref(state_json);
}

/* Values that no run has: each is refused by name. */
static void a_number_of_another_type_or_out_of_range_is_refused(Fixture *f, gconstpointer data)
{
    (void)data;
    Checkpoint checkpoint = whole(f);
    g_assert_true(checkpoint_save(f->folder, &checkpoint, NULL));
    json_t *state_json = load_state_json(f->folder);
    for (const StateField *field = state_fields; field->name; field++) {
        json_t *wrong[] = { json_string("3"), json_null(), json_integer(-2) };
        for (size_t i = 0; i < G_N_ELEMENTS(wrong); i++) {
            g_autoptr(GError) error = NULL;
            set_number(f->folder, state_json, field->name, wrong[i]);
            bool loaded = checkpoint_load(f->folder, &checkpoint, &error);
            g_assert_true(loaded == (i == 2 && field->type != STATE_COUNT));
            g_assert_true(loaded || strstr(error->message, field->name));
        }
    }
    json_decref(state_json);
}

/* Runs that began before tokens were counted keep their rule. */
static void tokens_of_an_early_run_are_counted_by_capacity(Fixture *f, gconstpointer data)
{
    (void)data;
    Checkpoint checkpoint = whole(f);
    g_assert_true(checkpoint_save(f->folder, &checkpoint, NULL));
    json_t *state_json = load_state_json(f->folder);
    set_number(f->folder, state_json, "tokens_by_capacity", NULL);
    json_decref(state_json);
    g_assert_true(checkpoint_load(f->folder, &checkpoint, NULL));
    g_assert_cmpint(f->state.tokens_by_capacity, ==, 1);
}

/* A sealed state.json that tells no model: written by another program. */
static void a_checkpoint_tells_its_vocabulary(Fixture *f, gconstpointer data)
{
    (void)data;
    GError *error = NULL;
    Checkpoint checkpoint = whole(f);
    ModelConfig config = { 0 };
    checkpoint_save(f->folder, &checkpoint, &error);
    g_assert_no_error(error);
    g_autofree char *path = g_build_filename(f->folder, "state.json", NULL);
    json_t *root = json_load_file(path, 0, NULL);
    json_object_del(root, "model");
    checkpoint_seal(root);
    json_dump_file(root, path, 0);
    json_decref(root);
    g_assert_false(checkpoint_config(f->folder, &config, NULL, &error));
    g_assert_nonnull(strstr(error->message, "state.json: no model.vocab in it"));
    g_clear_error(&error);
    model_config_clear(&config);
}

static void checkpoints_above_are_set_aside(Fixture *f, gconstpointer data)
{
    (void)data;
    Checkpoint checkpoint = { .model = model_config(f->model), .params = model_params(f->model) };
    for (int64_t step = 1; step <= 3; step++) {
        g_autofree char *folder = run_checkpoint_path(f->dir, step);
        g_assert_true(checkpoint_save(folder, &checkpoint, NULL));
    }
    g_assert_true(run_set_aside(f->dir, 1, NULL));
    g_autoptr(GArray) left = run_checkpoints(f->dir);
    g_assert_cmpuint(left->len, ==, 1);
    g_autofree char *aside = g_build_filename(f->dir, "checkpoints", "damaged-step-00000003", NULL);
    g_assert_true(checkpoint_verify(aside, NULL));
}

static void retention_keeps_the_newest_the_multiples_and_the_best(Fixture *f, gconstpointer data)
{
    (void)data;
    static const int64_t steps[] = { 100, 150, 200, 250, 300, 350 };
    Checkpoint checkpoint = { .model = model_config(f->model), .params = model_params(f->model) };
    for (size_t i = 0; i < G_N_ELEMENTS(steps); i++) {
        g_autofree char *folder = run_checkpoint_path(f->dir, steps[i]);
        g_assert_true(checkpoint_save(folder, &checkpoint, NULL));
    }
    g_assert_true(run_retain(f->dir, &(RunKeep){ 2, 200, 0, { 150, -1, -1, -1, -1, -1, -1, -1 } }, NULL));
    g_autoptr(GArray) kept = run_checkpoints(f->dir);
    static const int64_t wanted[] = { 350, 300, 200, 150 };
    g_assert_cmpuint(kept->len, ==, G_N_ELEMENTS(wanted));
    g_assert_true(memcmp(kept->data, wanted, sizeof wanted) == 0);
}

/* Files hold the f32 masters whatever a run computes in: the same bytes from f32, from bf16, and back. */
static void precision_leaves_no_trace(Fixture *f, gconstpointer data)
{
    (void)data;
    g_autofree char *later = g_build_filename(f->dir, "checkpoints", "later", NULL);
    Checkpoint checkpoint = whole(f);
    fill_state(f, 0.1f);
    g_assert_true(checkpoint_save(f->folder, &checkpoint, NULL));
    Device *dev = device_open_mixed(mixed_precision);
    Model *model = model_open(dev, &f->config, true, NULL);
    Optimizer *optimizer = optimizer_open(model_params(model), &adamw, NULL);
    Checkpoint mixed = checkpoint;
    mixed.params = model_params(model);
    mixed.optimizer = optimizer;
    g_assert_true(checkpoint_load(f->folder, &mixed, NULL));
    const Param *param = params_find(mixed.params, "shared");
    g_assert_cmpint(param->w.dtype, ==, DT_BF16);
    g_assert_cmpint(((uint16_t *)param->w.p)[3], ==, bf16_from_f32(((float *)param->master.p)[3]));
    g_assert_true(checkpoint_save(later, &mixed, NULL));
    expect_same_file(f, later, "weights-00001-of-00001.safetensors");
    expect_same_file(f, later, "optimizer-00001-of-00001.safetensors");
    expect_same_file(f, later, "state.json");
    optimizer_close(optimizer);
    model_close(model);
    device_close(dev);
}

/* The same of frozen matrices. */
static void frozen_weights_are_saved_as_they_were(Fixture *f, gconstpointer data)
{
    (void)data;
    static const char *const frozen[] = { "shared", "encoder.*", NULL };
    g_autofree char *later = g_build_filename(f->dir, "checkpoints", "later", NULL);
    Checkpoint checkpoint = whole(f);
    fill_state(f, 0.1f);
    g_assert_true(checkpoint_save(f->folder, &checkpoint, NULL));
    Device *dev = device_open_mixed(mixed_precision);
    Model *model = model_open_stages(dev, &f->config, stage_whole(&f->config), true, frozen, NULL, NULL, NULL);
    const Checkpoint mixed = { .model = checkpoint.model, .params = model_params(model), .state = checkpoint.state };
    g_assert_true(checkpoint_load(f->folder, &mixed, NULL));
    g_assert_true(checkpoint_save(later, &mixed, NULL));
    expect_same_file(f, later, "weights-00001-of-00001.safetensors");
    model_close(model);
    device_close(dev);
}

#define TEST(name) g_test_add("/checkpoint/" #name, Fixture, NULL, set_up, name, tear_down)

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    TEST(save_then_load_gives_the_same_state);
    TEST(precision_leaves_no_trace);
    TEST(frozen_weights_are_saved_as_they_were);
    TEST(loading_checks_every_file_without_a_verification_before);
    TEST(a_tensor_of_another_shape_is_no_damage);
    TEST(a_detached_snapshot_belongs_to_its_writer);
    TEST(shape_and_tokenizer_are_read_back);
    TEST(roles_of_tokens_are_read_back);
    TEST(a_failing_disk_keeps_the_checkpoint_before);
    TEST(a_failing_disk_keeps_the_checkpoint_that_is_replaced);
    TEST(damage_is_found_and_the_one_before_used);
    TEST(state_json_is_sealed);
    TEST(a_number_that_a_checkpoint_lacks_gets_its_default);
    TEST(a_number_of_another_type_or_out_of_range_is_refused);
    TEST(tokens_of_an_early_run_are_counted_by_capacity);
    TEST(a_checkpoint_tells_its_vocabulary);
    TEST(checkpoints_above_are_set_aside);
    TEST(retention_keeps_the_newest_the_multiples_and_the_best);
    return g_test_run();
}
