#include "run/model_path.h"

#include "base/file.h"
#include "base/hub.h"
#include "base/log.h"
#include "model/hf/hf.h"
#include "model/lora/lora.h"
#include "model/params/params.h"
#include "run/best.h"
#include "run/compute_device.h"
#include "run/config/config.h"
#include "run/run_dir.h"

#include <inttypes.h>
#include <string.h>

#define MOST_TRIES 10 /* to open a checkpoint that a link names, in a run that moves the link */

/* The checkpoints that RUN@NAME accepts, for an error message: "is none", or "are latest, 12000, 11000". g_free. */
static char *list_named(const char *dir)
{
    static const char *const links[] = { "latest", "best" };
    g_autoptr(GString) known = g_string_new(NULL);
    for (size_t i = 0; i < G_N_ELEMENTS(links); i++) {
        g_autofree char *folder = run_linked_path(dir, links[i]);
        if (io_exists(folder, "state.json"))
            g_string_append_printf(known, "%s%s", known->len ? ", " : "", links[i]);
    }
    g_autoptr(GArray) steps = run_checkpoints(dir);
    for (guint i = 0; i < steps->len && i < 8; i++) {
        int64_t step = g_array_index(steps, int64_t, i);
        g_autofree char *folder = run_checkpoint_path(dir, step);
        if (io_exists(folder, "state.json"))
            g_string_append_printf(known, "%s%" PRId64, known->len ? ", " : "", step);
    }
    return known->len ? g_strconcat("are ", known->str, NULL) : g_strdup("is none");
}

/* The folder of the checkpoint that RUN@best or RUN@12000 names; `which` is the part after "@". NULL on error. */
static char *find_named(const char *dir, const char *which, GError **error)
{
    char *end;
    int64_t step = g_ascii_strtoll(which, &end, 10);
    g_autofree char *folder = *which && *end == '\0' ? run_checkpoint_path(dir, step)
                              : strcmp(which, "latest") == 0 || strcmp(which, "best") == 0
                                  ? run_linked_path(dir, which)
                                  : g_build_filename(dir, "checkpoints", which, NULL);
    if (io_exists(folder, "state.json"))
        return g_steal_pointer(&folder);
    if (io_refused(folder, error))
        return NULL;
    if (!io_exists(dir, "checkpoints"))
        return fail_user(error, "%s: no such run", dir);
    g_autofree char *known = list_named(dir), *why = strcmp(which, "best") == 0 ? run_describe_no_best(dir) : NULL;
    if (why)
        return fail_user(error, "%s: %s; of its checkpoints there %s", dir, why, known);
    return fail_user(error, "%s has no checkpoint \"%s\"; there %s", dir, which, known);
}

static bool fail_no_checkpoint(const char *path, GError **error)
{
    if (io_refused(path, error))
        return false;
    if (!g_file_test(path, G_FILE_TEST_EXISTS))
        return hub_fail_absent(path, "run, checkpoint or Hugging Face folder", error);
    if (hf_is_folder(path))
        return fail_user(
            error, "%s is a Hugging Face folder, no run and no checkpoint; loam inspect model lists what it holds",
            path);
    const bool file = !g_file_test(path, G_FILE_TEST_IS_DIR);
    return fail_user(error,
                     "%s is neither a run directory (checkpoints/) nor a checkpoint (state.json) nor a Hugging "
                     "Face folder (config.json)%s",
                     path,
                     file ? "; loam import --from fairseq, or --from t5x, makes a checkpoint of such a file" : "");
}

/* The checkpoint folder that PATH names. NULL without an error means a run, whose newest checkpoint is wanted. */
static char *find_folder(const char *path, GError **error)
{
    const char *at = strrchr(path, '@');
    if (at && !g_file_test(path, G_FILE_TEST_EXISTS)) {
        g_autofree char *dir = g_strndup(path, (size_t)(at - path));
        return find_named(dir, at + 1, error);
    }
    if (io_exists(path, "state.json"))
        return g_strdup(path);
    if (run_means_best(path))
        return run_linked_path(path, "best");
    run_warn_of_lost_best(path);
    if (!io_exists(path, "checkpoints"))
        fail_no_checkpoint(path, error);
    return NULL;
}

/* Opens the checkpoint in `folder`; again if this is a link, and the run has pointed it at another one meanwhile. */
static bool open_named(const char *folder, RunOpenFn open, void *context, GError **error)
{
    for (int i = 0;; i++) {
        g_autofree char *before = g_file_read_link(folder, NULL);
        g_autoptr(GError) problem = NULL;
        if (open(folder, context, &problem))
            return true;
        g_autofree char *after = g_file_read_link(folder, NULL);
        if (i == MOST_TRIES || g_strcmp0(before, after) == 0)
            return fail_with(error, g_steal_pointer(&problem));
    }
}

char *checkpoint_open(const char *path, RunOpenFn open, void *context, GError **error)
{
    int64_t step;
    GError *problem = NULL;
    g_autofree char *folder = find_folder(path, &problem);
    if (problem)
        return fail_with(error, problem);
    if (folder)
        return open_named(folder, open, context, error) ? g_steal_pointer(&folder) : NULL;
    if (!run_open_newest(path, open, context, &step, error))
        return NULL;
    if (step >= 0)
        return run_checkpoint_path(path, step);
    return fail_user(error, "%s: the run has no valid checkpoint yet", path);
}

/* The path RUN for a folder RUN/checkpoints/step-00001000; does not check that it is a run directory. g_free. */
static char *run_above(const char *folder)
{
    g_autofree char *resolved = g_canonicalize_filename(folder, NULL);
    g_autofree char *above = g_path_get_dirname(resolved);
    return g_path_get_dirname(above);
}

/* The tokenizer in the checkpoint's folder (an imported model), or in the run directory; NULL if there is none. opened:
 * as of tokenizer_find. */
static char *find_tokenizer(const char *folder, Tokenizer **opened)
{
    g_autofree char *run = run_above(folder);
    char *own = tokenizer_find(folder, opened, NULL);
    return own ? own : tokenizer_find(run, opened, NULL);
}

/* Arguments and result of open_checkpoint. */
typedef struct OpenModel {
    Device *dev;
    bool gradients;
    Model *model;
    char *tokenizer_hash; /* hash of the tokenizer that the model was trained with; NULL means unknown */
    Tokenizer *tok;       /* the tokenizer beside it, if it was opened already, else NULL */
} OpenModel;

static bool open_checkpoint(const char *folder, void *context, GError **error)
{
    OpenModel *open = context;
    ModelConfig config = { 0 };
    open->model = NULL;
    g_clear_pointer(&open->tokenizer_hash, g_free);
    if (checkpoint_config(folder, &config, &open->tokenizer_hash, error))
        open->model = model_open(open->dev, &config, open->gradients, error);
    model_config_clear(&config);
    if (open->model == NULL)
        return false;
    const Checkpoint checkpoint = { .model = model_config(open->model),
                                    .params = model_params(open->model),
                                    .roles = model_roles(open->model) };
    bool loaded = checkpoint_load(folder, &checkpoint, error);
    if (!loaded)
        g_clear_pointer(&open->model, model_close);
    return loaded;
}

static void tell_best(const char *path)
{
    if (run_means_best(path))
        log_info("%s: its best checkpoint, step %" PRId64 "; %s@latest is step %" PRId64, path,
                 run_linked(path, "best"), path, run_linked(path, "latest"));
}

static Model *open_path(const char *path, OpenModel *open, char **tokenizer_path, GError **error)
{
    if (hf_is_folder(path)) {
        if (tokenizer_path)
            *tokenizer_path = hf_find_tokenizer(path, &open->tok);
        Model *model = hf_import(open->dev, path, open->gradients, error);
        if (model && tokenizer_path && !*tokenizer_path)
            hf_warn_missing_tokenizer(path);
        return model;
    }
    g_autofree char *folder = checkpoint_open(path, open_checkpoint, open, error);
    if (folder)
        tell_best(path);
    if (folder && tokenizer_path)
        *tokenizer_path = find_tokenizer(folder, &open->tok);
    return open->model;
}

Model *model_open_path(const char *path, Device *dev, bool gradients, char **tokenizer_path, GError **error)
{
    OpenModel open = { .dev = dev, .gradients = gradients };
    Model *model = open_path(path, &open, tokenizer_path, error);
    g_free(open.tokenizer_hash);
    tokenizer_close(open.tok);
    return model;
}

/* Compares the tokenizer's hash with that of the tokenizer that the model was trained with. given: the user named this
 * tokenizer, so a difference is a warning instead of an error. */
static bool check_hash(const LoadedModel *loaded, const char *trained, bool given, GError **error)
{
    const char *hash = tokenizer_hash(loaded->tok);
    if (trained == NULL || strcmp(trained, hash) == 0)
        return true;
    if (!given)
        return fail_user(
            error,
            "%s (hash %s) is not the tokenizer that the model was trained with (hash %s); put that one in its place",
            tokenizer_path(loaded->tok), hash, trained);
    log_warning("%s (hash %s) is not the tokenizer that the model was trained with (hash %s)",
                tokenizer_path(loaded->tok), hash, trained);
    return true;
}

/* Whether a checkpoint lies in a folder named checkpoints, as those of a run do. */
static bool is_of_run(const char *folder)
{
    g_autofree char *resolved = g_canonicalize_filename(folder, NULL), *above = g_path_get_dirname(resolved),
                    *name = g_path_get_basename(above);
    return strcmp(name, "checkpoints") == 0;
}

bool model_find_run(char **run, const char *path, GError **error)
{
    const char *at = strrchr(path, '@');
    const bool named = at && !g_file_test(path, G_FILE_TEST_EXISTS),
               checkpoint = !named && io_exists(path, "state.json");
    g_autofree char *dir = named ? g_strndup(path, (size_t)(at - path)) : checkpoint ? run_above(path) : g_strdup(path);
    const bool own = checkpoint ? is_of_run(path) : io_exists(dir, "checkpoints");
    *run = own && run_has_config(dir) ? g_strdup(dir) : NULL;
    if (*run || checkpoint || hf_is_folder(path) || run_has_config(dir) || !run_is_remnant(dir))
        return true;
    g_free(run_find(dir, error)); /* fails, and says what is missing there */
    return false;
}

/* An id without an embedding could not be read. */
static bool check_rows(const LoadedModel *loaded, const char *path, GError **error)
{
    const int64_t rows = model_config(loaded->model)->vocab;
    return rows >= tokenizer_size(loaded->tok) ||
           fail_user(error, "%s has %" PRId64 " embedding rows, the tokenizer %s has %d ids", path, rows,
                     tokenizer_path(loaded->tok), tokenizer_size(loaded->tok));
}

void model_tell_padding(Model *model, const Tokenizer *tok, const char *path)
{
    const ModelConfig *config = model_config(model);
    const int64_t n_ids = tokenizer_size(tok);
    if (config->n_dec > 0 && n_ids < config->vocab &&
        json_object_get(model_roles(model)->generation, "suppress_tokens") == NULL)
        log_info("%s: the tokenizer has %" PRId64 " of the model's %" PRId64 " ids; the others have no probability",
                 path, n_ids, config->vocab);
}

static bool choose_precision(const LoadedModelSource *source, Precision *precision, GError **error)
{
    g_autofree char *run = NULL;
    if (source->precision_name)
        return precision_of_name(source->precision_name, source->device, precision, error);
    *precision = source->precision ? *source->precision : precision_uniform(DT_F32);
    return source->precision ||
           (model_find_run(&run, source->path, error) && (run == NULL || precision_of_run(run, precision, error)));
}

bool loaded_model_open(LoadedModel *loaded, const LoadedModelSource *source, GError **error)
{
    g_autofree char *found = NULL;
    Precision precision;
    *loaded = (LoadedModel){ 0 };
    if (!choose_precision(source, &precision, error))
        return false;
    loaded->dev = compute_device_open(source->device, source->threads, precision, error);
    if (loaded->dev == NULL)
        return false;
    OpenModel open = { .dev = loaded->dev };
    loaded->model = open_path(source->path, &open, source->tokenizer ? NULL : &found, error);
    g_autofree char *trained = open.tokenizer_hash;
    g_autoptr(Tokenizer) beside = open.tok;
    if (loaded->model == NULL)
        return false;
    const char *path = source->tokenizer ? source->tokenizer : found ? found : source->otherwise;
    if (path == NULL || *path == '\0')
        return source->advice == NULL ||
               fail_user(error, "%s has no tokenizer with it; %s", source->path, source->advice);
    loaded->tok = beside ? g_steal_pointer(&beside) : tokenizer_open(path, error);
    if (loaded->tok)
        tokenizer_fit(loaded->tok, model_config(loaded->model)->vocab);
    if (loaded->tok && hf_is_folder(source->path))
        model_tell_padding(loaded->model, loaded->tok, source->path);
    if (loaded->tok && source->blanks && *source->blanks && !tokenizer_set_blanks(loaded->tok, source->blanks, error))
        return false;
    return loaded->tok && check_rows(loaded, source->path, error) &&
           check_hash(loaded, trained, source->tokenizer != NULL, error);
}

void loaded_model_close(LoadedModel *loaded)
{
    g_clear_pointer(&loaded->tok, tokenizer_close);
    g_clear_pointer(&loaded->model, model_close);
    g_clear_pointer(&loaded->dev, device_close);
}

static bool read_folder_config(const char *folder, void *config, GError **error)
{
    return checkpoint_config(folder, config, NULL, error);
}

bool model_shape_path(const char *path, ModelConfig *config, char **tokenizer_path, GError **error)
{
    if (hf_is_folder(path)) {
        *tokenizer_path = hf_find_tokenizer(path, NULL);
        return hf_shape(path, config, error);
    }
    g_autofree char *folder = checkpoint_open(path, read_folder_config, config, error);
    if (folder == NULL)
        return false;
    *tokenizer_path = find_tokenizer(folder, NULL);
    return true;
}

/* Options in which two models may differ and still exchange weights: they determine no weights, or only weights of
 * heads, which model_copy_weights skips if they do not match. */
static const char *const free_options[] = {
    "model.preset",        "model.vocab_multiple", "model.head_transform", "model.head_bias",        "model.pooler",
    "model.sentence_head", "model.classifier",     "model.labels",         "model.classifier_dense", NULL,
};

/* Options of the initial weights. */
static bool is_initial(const char *option)
{
    return g_str_has_prefix(option, "model.init");
}

/* Whether an option may differ between two models that exchange weights. A classifier has no projection to the
 * vocabulary, so model.tie_embeddings means nothing to it. */
static bool may_differ(const char *option, const ModelConfig *to, const ModelConfig *from)
{
    const bool classifies = to->classifier != LABELS_NONE || from->classifier != LABELS_NONE;
    return g_strv_contains(free_options, option) || is_initial(option) || g_str_has_prefix(option, "lora.") ||
           (classifies && strcmp(option, "model.tie_embeddings") == 0);
}

char *model_shape_differences(const ModelConfig *to, const ModelConfig *from)
{
    g_autoptr(GPtrArray) rows = options_differences(&model_table, to, from, OPT_IDENTITY);
    g_autoptr(GString) text = g_string_new(NULL);
    for (guint i = 0; i < rows->len; i++) {
        const OptionRow *row = rows->pdata[i];
        g_autofree char *ours = options_value(&model_table, to, row), *its = options_value(&model_table, from, row);
        if (!may_differ(row->name, to, from))
            g_string_append_printf(text, "%sits %s is %s, this model's is %s", text->len ? "; " : "", row->name, its,
                                   ours);
    }
    return text->len ? g_string_free(g_steal_pointer(&text), false) : NULL;
}

static bool is_head(const ParamSpec *spec)
{
    return spec->bucket == BUCKET_LM_HEAD || spec->bucket == BUCKET_POOLER;
}

/* Whether there is a parameter of this name and shape; a classifier with another number of classes differs in shape. */
static bool has_alike(ParamStore *params, const ParamSpec *spec)
{
    int index = params_index(params, spec->name);
    const ParamSpec *its = index < 0 ? NULL : params_spec(params, index);
    return its && its->rows == spec->rows && its->cols == spec->cols;
}

/* Whether this is a parameter of the classifier itself, not of the pooler that it reads. */
static bool is_classifier(const ParamSpec *spec)
{
    return spec->bucket == BUCKET_POOLER &&
           (g_str_has_prefix(spec->name, "classifier") || g_str_has_prefix(spec->name, "span"));
}

/* Whether model `b` has this head parameter with the same meaning; classifiers must be of the same kind (LabelKind). */
static bool means_alike(Model *a, Model *b, const ParamSpec *spec)
{
    return has_alike(model_params(b), spec) &&
           !(is_classifier(spec) && model_config(a)->classifier != model_config(b)->classifier);
}

/* Names of the head parameters of `a` that `b` lacks: "pooler, pooler.bias"; NULL means none. g_free. */
static char *heads_beyond(Model *a, Model *b)
{
    g_autoptr(GString) names = g_string_new(NULL);
    for (int i = 0; i < params_count(model_params(a)); i++) {
        const ParamSpec *spec = params_spec(model_params(a), i);
        if (is_head(spec) && !means_alike(a, b, spec))
            g_string_append_printf(names, "%s%s", names->len ? ", " : "", spec->name);
    }
    return names->len ? g_string_free(g_steal_pointer(&names), false) : NULL;
}

/* Whether the adapters of both models have the same parameters and the same meaning. */
static bool same_adapters(const LoraConfig *a, const LoraConfig *b)
{
    double difference = a->alpha - b->alpha;
    return a->rank == b->rank && (a->rank == 0 || (fabs(difference) == 0 && strcmp(a->targets, b->targets) == 0));
}

/* Copies the parameters; `from` has no adapters, or those of `to`. */
static bool copy_weights(Model *to, Model *from, GError **error)
{
    g_autofree char *differences = model_shape_differences(model_config(to), model_config(from));
    if (differences)
        return fail_user(error, "%s", differences);
    const int kind = model_config(to)->classifier, its_kind = model_config(from)->classifier;
    const char *labels = model_config(to)->labels, *its_labels = model_config(from)->labels;
    if (kind == its_kind && !labels_check_renamed(its_labels, labels, error))
        return false;
    ParamStore *params = model_params(to), *sources = model_params(from);
    for (int i = 0; i < params_count(params); i++) {
        const ParamSpec *spec = params_spec(params, i);
        int source = params_index(sources, spec->name);
        if ((is_head(spec) && !means_alike(to, from, spec)) ||
            (lora_is_adapter(spec->name) && !has_alike(sources, spec)))
            continue;
        if (source < 0)
            return fail_user(error, "it has no %s", spec->name);
        const ParamSpec *its = params_spec(sources, source);
        if (its->rows != spec->rows || its->cols != spec->cols)
            return fail_user(error, "its %s is %" PRId64 " x %" PRId64 ", this model's is %" PRId64 " x %" PRId64,
                             spec->name, its->rows, its->cols, spec->rows, spec->cols);
        params_copy(params, i, sources, source);
    }
    g_autofree char *fresh = heads_beyond(to, from), *left = heads_beyond(from, to);
    if (fresh && kind != its_kind && its_kind != LABELS_NONE)
        log_warning("the weights are of a classifier of another kind (%s, this one is %s); initialised randomly: %s",
                    label_kind_names[its_kind], label_kind_names[kind], fresh);
    else if (fresh)
        log_warning("not among the loaded weights, so initialised randomly: %s", fresh);
    if (left && !(fresh && strcmp(fresh, left) == 0))
        log_warning("among the loaded weights, but not in this model, so ignored: %s", left);
    if (kind == its_kind)
        labels_tell_renamed(its_labels, labels);
    return true;
}

bool model_copy_weights(Model *to, Model *from, GError **error)
{
    const LoraConfig *theirs = &model_config(from)->lora;
    if (theirs->rank == 0 || same_adapters(&model_config(to)->lora, theirs))
        return copy_weights(to, from, error);
    g_autoptr(Model) merged = lora_merged(from, error);
    return merged && copy_weights(to, merged, error);
}

/* ---- without a copy ---- */

/* Options in which two models with the same parameters may differ. */
static const char *const makers[] = {
    "model.preset",
    "model.vocab_multiple",
    NULL,
};

/* Whether both models have the same parameters with the same meaning. */
static bool same_parameters(const ModelConfig *a, const ModelConfig *b)
{
    g_autoptr(GPtrArray) rows = options_differences(&model_table, a, b, OPT_IDENTITY);
    bool same = same_adapters(&a->lora, &b->lora);
    for (guint i = 0; same && i < rows->len; i++) {
        const OptionRow *row = rows->pdata[i];
        same = g_strv_contains(makers, row->name) || is_initial(row->name) || g_str_has_prefix(row->name, "lora.");
    }
    return same;
}

typedef struct LoadInto {
    Model *to;
    bool same; /* whether the checkpoint has the parameters of `to` */
} LoadInto;

static bool load_into(const char *folder, void *context, GError **error)
{
    LoadInto *load = context;
    g_auto(ModelConfig) config = { 0 };
    if (!checkpoint_config(folder, &config, NULL, error))
        return false;
    load->same = same_parameters(model_config(load->to), &config);
    const Checkpoint checkpoint = { .model = model_config(load->to),
                                    .params = model_params(load->to),
                                    .roles = model_roles(load->to) };
    return !load->same || checkpoint_load(folder, &checkpoint, error);
}

bool model_load_path(Model *to, const char *path, bool *loaded, char **tokenizer_path, GError **error)
{
    LoadInto load = { .to = to };
    *loaded = false;
    if (hf_is_folder(path)) {
        const bool read = hf_load(to, path, same_parameters, loaded, error);
        *tokenizer_path = *loaded ? hf_find_tokenizer(path, NULL) : NULL;
        if (*loaded && !*tokenizer_path)
            hf_warn_missing_tokenizer(path);
        return read;
    }
    g_autofree char *folder = checkpoint_open(path, load_into, &load, error);
    *loaded = folder && load.same;
    if (*loaded) {
        tell_best(path);
        *tokenizer_path = find_tokenizer(folder, NULL);
    }
    return folder != NULL;
}
