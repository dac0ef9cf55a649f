/* resume.c: puts a run into the state of its newest undamaged checkpoint. */
#include "base/file.h"
#include "base/text.h"
#include "run/best.h"
#include "run/compute_device.h"
#include "run/metric_lines.h"
#include "run/model_path.h"
#include "train/trainer.h"

#include <string.h>
#include <xxhash.h>

#define MOST_LOGGED_S 1e11 /* more seconds are no time that a run has trained */

/* Warns if the model of train.init was trained with another tokenizer, in which the same ids stand for other pieces. */
static void compare_tokenizers(const Trainer *t, const char *theirs)
{
    g_autoptr(Tokenizer) tok = theirs ? tokenizer_open(theirs, NULL) : NULL;
    if (tok && g_strcmp0(tokenizer_hash(tok), tokenizer_hash(t->tok)) != 0)
        log_warning("tokenizer.path %s is another tokenizer than %s, which train.init was trained with: the same ids "
                    "mean other pieces",
                    t->config.tokenizer.path, theirs);
}

/* Sets the state of the loss scaler if the run trains in fp16 for the first time, or at a fixed scale. */
static void start_loss_scale(Trainer *t)
{
    double scale = t->state.loss_scale.scale;
    bool goes_on = isfinite(scale) && scale > 0 && t->loss_scale.fixed == 0;
    if (t->config.train.precision == PRECISION_FP16 && !goes_on)
        t->state.loss_scale = loss_scale_start(&t->loss_scale);
}

/* The weights of train.init, which are copied from that model unless it has the same parameters. */
static bool copy_init(Trainer *t, char **tokenizer, GError **error)
{
    const char *init = t->config.train.init;
    bool loaded;
    if (!model_load_path(t->model, init, &loaded, tokenizer, error) || loaded)
        return loaded || fail_context(error, "train.init");
    /* The other model is loaded in f32, so that no weight is rounded twice. */
    g_autoptr(Device) dev = device_open_cpu(t->dev->threads, precision_uniform(DT_F32));
    g_autoptr(Model) source = model_open_path(init, dev, false, tokenizer, error);
    if (source == NULL)
        return fail_context(error, "train.init");
    bool same = model_copy_weights(t->model, source, error);
    token_roles_copy(model_roles(t->model), model_roles(source));
    return same || fail_context(error, "train.init %s", init);
}

/* TrainState.run of a run that begins. */
static int64_t hash_run(const Trainer *t)
{
    json_auto_t *options = config_record(&t->config);
    g_autofree char *text = json_dumps(options, JSON_COMPACT | JSON_SORT_KEYS);
    const char *tokenizer = tokenizer_hash(t->tok);
    const uint64_t source = XXH3_64bits_withSeed(tokenizer, strlen(tokenizer), (uint64_t)t->state.data);
    return (int64_t)XXH3_64bits_withSeed(text, strlen(text), source);
}

/* Random weights, or with train.init those of another model of the same shape. */
static bool init_model(Trainer *t, GError **error)
{
    const Config *config = &t->config;
    g_autofree char *tokenizer = NULL;
    t->state = (TrainState){ .best_step = -1,
                             .evaluated = -1,
                             .data = loader_fingerprint(t->train),
                             .tokens_by_capacity = config->data.compat == COMPAT_MEGATRON };
    t->state.run = hash_run(t);
    start_loss_scale(t);
    params_init(model_params(t->model), (uint64_t)config->run.seed);
    if (*config->train.init == '\0')
        return true;
    t->state.init = (int64_t)trainer_hash_init(t);
    const bool copied = copy_init(t, &tokenizer, error);
    compare_tokenizers(t, tokenizer);
    return copied;
}

/* Fails if the checkpoint was trained with another tokenizer or on another dataset. */
static bool check_sources(const Trainer *t, const char *folder, GError **error)
{
    g_autofree char *hash = NULL;
    g_auto(ModelConfig) saved = { 0 };
    bool read = checkpoint_config(folder, &saved, &hash, error);
    if (read && g_strcmp0(hash, tokenizer_hash(t->tok)) != 0)
        return fail_user(error, "%s was trained with another tokenizer (hash %s) than %s (hash %s)", folder, hash,
                         t->config.tokenizer.path, tokenizer_hash(t->tok));
    if (read && t->state.data != loader_fingerprint(t->train))
        return fail_user(error,
                         "%s was trained on other data than %s holds now: it is another dataset, or was made again; "
                         "restore the previous one, or choose another run.dir (train.init keeps the weights)",
                         folder, t->task.unchecked ? t->config.task.data : t->config.data.train);
    return read;
}

/* Fails if the run directory also has a checkpoint of another run, which a second process may have saved there. Which
 * of the two to keep is for the user to say. */
static bool check_others(const Trainer *t, int64_t step, GError **error)
{
    const char *dir = t->config.run.dir;
    g_autoptr(GArray) steps = run_checkpoints(dir);
    for (guint i = 0; i < steps->len; i++) {
        TrainState other;
        const int64_t at = g_array_index(steps, int64_t, i);
        g_autofree char *folder = run_checkpoint_path(dir, at);
        if (at == step || !checkpoint_state(folder, &other, NULL))
            continue;
        if (at < step && other.steps != at)
            log_warning("%s is ignored: it holds the checkpoint of step %" PRId64, folder, other.steps);
        if (other.run != 0 && t->state.run != 0 && other.run != t->state.run)
            return fail_user(error,
                             "%s holds checkpoints of two runs, with other options or other data at their start: those "
                             "of steps %" PRId64 " and %" PRId64 "; move those of one run away",
                             dir, step, at);
    }
    return true;
}

Checkpoint trainer_checkpoint(const Trainer *t, Comm *ranks, TrainState *state)
{
    return (Checkpoint){ .model = model_config(t->model),
                         .ranks = ranks,
                         .params = model_params(t->model),
                         .optimizer = t->optimizer,
                         .fp8 = model_fp8(t->model),
                         .state = state,
                         .roles = model_roles(t->model) };
}

/* Fails on all ranks if one of them does not see a checkpoint that rank 0 sees: its host lacks the folder. */
static bool all_see(Trainer *t, const char *folder, GError **error)
{
    const bool seen = io_exists(folder, "state.json"), first = ranks_agree(t, seen);
    const bool good = seen || !first ||
                      fail_machine(error,
                                   "rank %d on %s does not see %s, which rank 0 sees: all hosts need the whole run "
                                   "directory, with its folder checkpoints",
                                   comm_rank(t->mesh.world), g_get_host_name(), folder);
    return comm_agree(t->mesh.world, good, error);
}

static bool load_own(Trainer *t, const char *folder, GError **error)
{
    const Checkpoint own = trainer_checkpoint(t, t->mesh.world, &t->state);
    return all_see(t, folder, error) && checkpoint_load(folder, &own, error);
}

/* On rank 0: tells the other ranks the checkpoint's step (load_told), then loads the checkpoint together with them. */
static bool load_trainer(const char *folder, void *trainer, GError **error)
{
    Trainer *t = trainer;
    g_autofree char *name = g_path_get_basename(folder);
    ranks_agree(t, g_ascii_strtoll(name + strlen("step-"), NULL, 10));
    return load_own(t, folder, error);
}

/* On the other ranks: loads each checkpoint that rank 0 names (load). Rank 0 sends a negative step when the last one
 * was valid or when no checkpoint is left. */
static bool load_told(Trainer *t, int64_t *step, GError **error)
{
    *step = -1;
    for (;;) {
        g_autoptr(GError) problem = NULL;
        int64_t next = ranks_agree(t, 0);
        if (!comm_check(t->mesh.world, error))
            return false;
        if (next < 0)
            return true;
        g_autofree char *folder = run_checkpoint_path(t->config.run.dir, next);
        *step = load_own(t, folder, &problem) ? next : -1;
    }
}

/* Moves what a former run wrote to a folder whose checkpoints were moved away, such as its curves, into
 * RUN/before-1 (before-2, …): the run starts over, and would remove it. */
static bool keep_curves(const char *dir, GError **error)
{
    g_autofree const char **written = services_written();
    g_autofree char *aside = NULL;
    bool any = false;
    for (int n = 1; aside == NULL || g_file_test(aside, G_FILE_TEST_EXISTS); n++) {
        g_free(aside);
        aside = g_strdup_printf("%s/before-%d", dir, n);
    }
    for (const char **name = written; *name; name++) {
        g_autofree char *from = g_build_filename(dir, *name, NULL), *to = g_build_filename(aside, *name, NULL);
        if (!g_file_test(from, G_FILE_TEST_EXISTS))
            continue;
        if (!io_make_directories(aside, error) || !io_rename(from, to, error))
            return false;
        any = true;
    }
    if (any)
        log_warning("%s has no folder checkpoints and starts over; what the run before wrote is in %s", dir, aside);
    return true;
}

/* Whether the best checkpoint is missing: it was pruned before a rollback, or deleted. */
static bool has_lost_best(const Trainer *t)
{
    g_autofree char *best = run_checkpoint_path(t->config.run.dir, t->state.best_step);
    return t->state.best_step >= 0 && !g_file_test(best, G_FILE_TEST_IS_DIR);
}

/* Makes the best existing checkpoint the best. train.patience counts from there, or from the missing one if that was
 * later: a run that it has not ended goes on. */
static void find_other_best(Trainer *t)
{
    TrainState *state = &t->state;
    const char *by = t->config.train.best;
    const RunBest best = run_find_best(t->config.run.dir, state, strcmp(by, "loss") == 0 ? NULL : by);
    t->start.lost_best = state->best_step;
    state->best_step = best.step;
    state->best_value = best.value;
    if (!trainer_out_of_patience(t))
        state->stale = MIN(state->stale, best.stale);
}

/* Rank 0 looks for the newest undamaged checkpoint and makes it the latest one of the run. *step: -1 means none. */
static bool open_newest(Trainer *t, int64_t *step, GError **error)
{
    const char *dir = t->config.run.dir;
    if (!run_open_newest(dir, load_trainer, t, step, error))
        return false;
    if (*step < 0)
        return io_exists(dir, "checkpoints") || keep_curves(dir, error);
    g_autofree char *folder = run_checkpoint_path(dir, *step);
    if (!check_sources(t, folder, error) || !check_others(t, *step, error) || !run_set_aside(dir, *step, error))
        return false;
    run_link(dir, "latest", *step);
    t->start.best_lost = has_lost_best(t);
    if (t->start.best_lost)
        find_other_best(t);
    else if (t->state.best_step >= 0)
        run_link(dir, "best", t->state.best_step);
    return true;
}

/* Gives the other ranks what find_other_best has found on rank 0. */
static void share_best(Trainer *t)
{
    TrainState *state = &t->state;
    int64_t value;
    memcpy(&value, &state->best_value, sizeof value);
    t->start.best_lost = ranks_agree(t, t->start.best_lost);
    if (!t->start.best_lost)
        return;
    t->start.lost_best = ranks_agree(t, t->start.lost_best);
    state->best_step = ranks_agree(t, state->best_step);
    state->stale = ranks_agree(t, state->stale);
    value = ranks_agree(t, value);
    memcpy(&state->best_value, &value, sizeof value);
}

/* Seconds that the run had logged at this step (wall_s); 0 if its metrics.jsonl does not tell them. */
static double logged_s(const char *dir, int64_t step)
{
    MetricReader reader;
    double seconds = 0;
    if (!metric_reader_open(&reader, dir, NULL))
        return 0;
    while (metric_reader_next(&reader))
        if (reader.record.step >= 0 && reader.record.step <= step)
            seconds = fmax(seconds, metric_number(reader.record.json, "wall_s")); /* NAN counts as none */
    metric_reader_close(&reader, NULL);
    return isfinite(seconds) && seconds < MOST_LOGGED_S ? seconds : 0;
}

/* Takes the seconds of training from metrics.jsonl if the run counts them and its checkpoint lacks them. */
static void find_trained_s(Trainer *t)
{
    TrainState *state = &t->state;
    if (!config_counts_time(&t->config) || state->trained_s > 0 || state->steps == 0)
        return;
    const bool first = comm_rank(t->mesh.world) == 0;
    const double logged = first ? logged_s(t->config.run.dir, state->steps) : 0;
    state->trained_s = (double)ranks_agree(t, (int64_t)(1e6 * logged)) / 1e6;
    g_autofree char *seconds = text_duration(round(state->trained_s));
    log_info("the checkpoint does not hold the time that the run has trained; it counts as %s%s", seconds,
             state->trained_s > 0 ? ", by metrics.jsonl" : "");
}

bool trainer_resume(Trainer *t, GError **error)
{
    bool first = comm_rank(t->mesh.world) == 0;
    int64_t step = -1;
    const bool good = first ? open_newest(t, &step, error) : load_told(t, &step, error);
    if (first)
        ranks_agree(t, -1);
    if (!comm_agree(t->mesh.world, good, error))
        return false;
    t->task.unchecked = false;
    if (step < 0)
        return init_model(t, error);
    share_best(t);
    g_autofree char *folder = run_checkpoint_path(t->config.run.dir, step);
    if (t->state.update_samples < 0) /* a checkpoint of an earlier version lacks this counter */
        t->state.update_samples = t->state.samples;
    if (t->state.run == 0)
        t->state.run = hash_run(t);
    t->start.resumed = true;
    start_loss_scale(t);
    log_info("going on from %s", folder);
    find_trained_s(t);
    return true;
}
