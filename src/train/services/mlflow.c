#include "base/file.h"
#include "train/services/service.h"

#include <glib/gstdio.h>
#include <string.h>
#include <xxhash.h>

#define ID_FILE  "mlflow.txt"
#define ID_CHARS 32
#define MAX_META ((size_t)1 << 20)
#define DEEPEST  8    /* levels of folders of metrics */
#define LONGEST  6000 /* bytes of a parameter's value; MLflow's limit */

struct Mlflow {
    char *folder; /* of the run */
    char *experiment_id, *name;
    char id[ID_CHARS + 1];
    int64_t started; /* milliseconds since 1970 */
    Sink sink;
};

static int64_t now_ms(void)
{
    return g_get_real_time() / 1000;
}

static bool write_text(const char *folder, const char *name, const char *text, GError **error)
{
    g_autofree char *path = g_build_filename(folder, name, NULL), *parent = g_path_get_dirname(path);
    return io_make_directories(parent, error) && io_write_file(path, text, strlen(text), error);
}

/* Writes a small file without syncing it to the disk: every start of the run writes these files again. */
static bool write_small(const char *folder, const char *name, const char *text, GError **error)
{
    g_autofree char *path = g_build_filename(folder, name, NULL), *parent = g_path_get_dirname(path);
    IoFile *file = io_make_directories(parent, error) ? io_create(path, error) : NULL;
    if (!file)
        return false;
    if (io_write(file, text, strlen(text), error))
        return io_close(file, false, error);
    io_abort(file);
    return false;
}

/* A string of YAML in double quotes. g_free. */
static char *quoted(const char *text)
{
    g_autofree char *valid = g_utf8_make_valid(text, -1);
    GString *out = g_string_new("\"");
    for (const char *c = valid; *c; c++) {
        if (*c == '"' || *c == '\\')
            g_string_append_c(out, '\\');
        if ((guchar)*c < ' ')
            g_string_append_printf(out, "\\x%02x", (unsigned)(guchar)*c);
        else
            g_string_append_c(out, *c);
    }
    g_string_append_c(out, '"');
    return g_string_free(out, false);
}

static char *uri(const char *path)
{
    g_autofree char *whole = g_canonicalize_filename(path, NULL), *text = g_filename_to_uri(whole, NULL, NULL);
    return text ? g_steal_pointer(&text) : g_strdup("");
}

/* ---- the experiment ---- */

static bool is_experiment(const char *meta, const char *name)
{
    g_autofree char *plain = g_strdup_printf("name: %s", name), *single = g_strdup_printf("name: '%s'", name),
                    *in_quotes = quoted(name), *double_quotes = g_strdup_printf("name: %s", in_quotes);
    g_auto(GStrv) lines = g_strsplit(meta, "\n", -1);
    bool found = false, active = false;
    for (char **line = lines; *line; line++) {
        found = found || strcmp(*line, plain) == 0 || strcmp(*line, single) == 0 || strcmp(*line, double_quotes) == 0;
        active = active || strcmp(*line, "lifecycle_stage: active") == 0;
    }
    return found && active;
}

/* The id of the experiment, which is the name of its folder; NULL if the store has none of this name. g_free. */
static char *find_experiment(const char *root, const char *name)
{
    g_autoptr(GDir) dir = g_dir_open(root, 0, NULL);
    const char *id;
    while (dir && (id = g_dir_read_name(dir))) {
        g_autofree char *path = g_build_filename(root, id, "meta.yaml", NULL);
        g_autofree char *meta =
            g_file_test(path, G_FILE_TEST_IS_REGULAR) ? io_read_file(path, MAX_META, NULL, NULL) : NULL;
        if (meta && is_experiment(meta, name))
            return g_strdup(id);
    }
    return NULL;
}

/* Its id follows from the name, as one of 18 digits. */
static char *make_experiment(const char *root, const char *name, GError **error)
{
    const uint64_t hash = XXH3_64bits(name, strlen(name)) % 900000000000000000u + 100000000000000000u;
    g_autofree char *id = g_strdup_printf("%" PRIu64, hash), *folder = g_build_filename(root, id, NULL),
                    *place = uri(folder), *in_quotes = quoted(name), *location = quoted(place),
                    *meta = g_strdup_printf("artifact_location: %s\ncreation_time: %" PRId64
                                            "\nexperiment_id: '%s'\nlast_update_time: %" PRId64
                                            "\nlifecycle_stage: active\nname: %s\n",
                                            location, now_ms(), id, now_ms(), in_quotes);
    return write_text(folder, "meta.yaml", meta, error) ? g_steal_pointer(&id) : NULL;
}

/* ---- the run ---- */

/* DIR/mlflow.txt: "ID TIME", the run directory and the run's folder in the store; older versions had only the first. */
typedef struct Entry {
    char id[ID_CHARS + 1];
    int64_t started;    /* milliseconds since 1970 */
    char *dir, *folder; /* NULL means unknown */
} Entry;

static void entry_clear(Entry *entry)
{
    g_free(entry->dir);
    g_free(entry->folder);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Entry, entry_clear)

/* The path of a line "NAME URI"; NULL if the line has another form. g_free. */
static char *path_in(const char *line, const char *name)
{
    const size_t n = strlen(name);
    return line && strncmp(line, name, n) == 0 && line[n] == ' ' ? g_filename_from_uri(line + n + 1, NULL, NULL) : NULL;
}

/* False if there is no valid file; *entry is then empty. */
static bool entry_read(Entry *entry, const char *dir)
{
    *entry = (Entry){ 0 };
    g_autofree char *path = g_build_filename(dir, ID_FILE, NULL);
    g_autofree char *text = g_file_test(path, G_FILE_TEST_EXISTS) ? io_read_file(path, MAX_META, NULL, NULL) : NULL;
    if (!text || strspn(text, "0123456789abcdef") != ID_CHARS || text[ID_CHARS] != ' ')
        return false;
    const int64_t started = g_ascii_strtoll(text + ID_CHARS, NULL, 10);
    if (started <= 0)
        return false;
    g_auto(GStrv) lines = g_strsplit(text, "\n", 4);
    memcpy(entry->id, text, ID_CHARS);
    entry->started = started;
    entry->dir = path_in(lines[1], "run");
    entry->folder = lines[1] ? path_in(lines[2], "entry") : NULL;
    return true;
}

static bool entry_write(const Mlflow *mlflow, const char *dir, GError **error)
{
    g_autofree char *run = uri(dir), *folder = uri(mlflow->folder),
                    *text =
                        g_strdup_printf("%s %" PRId64 "\nrun %s\nentry %s\n", mlflow->id, mlflow->started, run, folder);
    return write_text(dir, ID_FILE, text, error);
}

/* Whether the file was copied with its run directory: the run that it was written for still exists elsewhere. */
static bool is_copy(const Entry *entry, const char *dir)
{
    g_auto(Entry) original = { 0 };
    GStatBuf here, there;
    if (!entry->dir || g_stat(dir, &here) != 0 || g_stat(entry->dir, &there) != 0 ||
        (here.st_dev == there.st_dev && here.st_ino == there.st_ino))
        return false;
    return entry_read(&original, entry->dir) && strcmp(original.id, entry->id) == 0;
}

static void make_id(Mlflow *mlflow)
{
    g_autofree char *uuid = g_uuid_string_random();
    g_auto(GStrv) parts = g_strsplit(uuid, "-", -1);
    g_autofree char *id = g_strjoinv("", parts);
    g_strlcpy(mlflow->id, id, sizeof mlflow->id);
    mlflow->started = now_ms();
}

/* Moves the run's folder here if it lies in another experiment of the store. */
static bool move_here(const Mlflow *mlflow, const char *root, GError **error)
{
    g_autoptr(GDir) experiments = g_dir_open(root, 0, NULL);
    const char *name;
    if (g_file_test(mlflow->folder, G_FILE_TEST_IS_DIR))
        return true;
    while (experiments && (name = g_dir_read_name(experiments))) {
        g_autofree char *folder = g_build_filename(root, name, mlflow->id, NULL);
        if (g_file_test(folder, G_FILE_TEST_IS_DIR))
            return io_rename(folder, mlflow->folder, error);
    }
    return true;
}

/* Whether a path is that of the folder of a run in a store. */
static bool is_entry(const char *folder, const char *id)
{
    g_autofree char *base = folder ? g_path_get_basename(folder) : NULL;
    return base && strcmp(base, id) == 0 && g_file_test(folder, G_FILE_TEST_IS_DIR);
}

/* Finds the run's folder in the store, or begins a new one: for a run that had none, and for a copy of a run, which
 * begins with the metrics of its original. */
static bool find_entry(Mlflow *mlflow, const char *root, const char *dir, GError **error)
{
    g_auto(Entry) entry = { 0 };
    const bool known = entry_read(&entry, dir), copy = known && is_copy(&entry, dir);
    if (known && !copy) {
        g_strlcpy(mlflow->id, entry.id, sizeof mlflow->id);
        mlflow->started = entry.started;
    } else {
        make_id(mlflow);
    }
    mlflow->folder = g_build_filename(root, mlflow->experiment_id, mlflow->id, NULL);
    bool good = move_here(mlflow, root, error);
    if (good && copy && is_entry(entry.folder, entry.id)) {
        g_autofree char *from = g_build_filename(entry.folder, "metrics", NULL),
                        *to = g_build_filename(mlflow->folder, "metrics", NULL);
        good = io_copy_tree(from, to, error);
    }
    return good && entry_write(mlflow, dir, error);
}

static bool write_meta(const Mlflow *mlflow, MlflowStatus status, GError **error)
{
    g_autofree char *artifacts = g_build_filename(mlflow->folder, "artifacts", NULL), *place = uri(artifacts),
                    *location = quoted(place), *name = quoted(mlflow->name), *user = quoted(g_get_user_name()),
                    *end = status == MLFLOW_RUNNING ? g_strdup("null") : g_strdup_printf("%" PRId64, now_ms()),
                    *meta =
                        g_strdup_printf("artifact_uri: %s\nend_time: %s\nentry_point_name: ''\nexperiment_id: '%s'\n"
                                        "lifecycle_stage: active\nrun_id: %s\nrun_name: %s\nrun_uuid: %s\n"
                                        "source_name: ''\nsource_type: 4\nsource_version: ''\nstart_time: %" PRId64
                                        "\nstatus: %d\ntags: []\nuser_id: %s\n",
                                        location, end, mlflow->experiment_id, mlflow->id, name, mlflow->id,
                                        mlflow->started, (int)status, user);
    return write_text(mlflow->folder, "meta.yaml", meta, error);
}

/* ---- metrics ---- */

/* The step of a line "TIME VALUE STEP"; -1 if the line has another form. */
static int64_t mlflow_step(const char *line, size_t bytes, G_GNUC_UNUSED void *unused)
{
    char *end;
    g_autofree char *text = g_strndup(line, bytes - 1); /* without its end */
    g_auto(GStrv) fields = g_strsplit(text, " ", 4);
    if (g_strv_length(fields) < 3)
        return -1;
    const int64_t step = g_ascii_strtoll(fields[2], &end, 10);
    return end > fields[2] && *end == '\0' && step >= 0 ? step : -1;
}

/* All metrics of a folder and the folders in it, which the slashes in their names make. */
static bool cut_metrics(const char *folder, int64_t last, int depth, GError **error)
{
    io_remove_temporaries(folder);
    g_autoptr(GDir) dir = depth < DEEPEST ? g_dir_open(folder, 0, NULL) : NULL;
    const char *name;
    int64_t damaged;
    while (dir && (name = g_dir_read_name(dir))) {
        g_autofree char *path = g_build_filename(folder, name, NULL);
        const bool inner = g_file_test(path, G_FILE_TEST_IS_DIR);
        if (inner ? !cut_metrics(path, last, depth + 1, error)
                  : !log_cut(path, last, mlflow_step, NULL, &damaged, error))
            return false;
    }
    return true;
}

bool mlflow_metric(Mlflow *mlflow, const char *name, int64_t step, double value, GError **error)
{
    g_autofree char *path = g_build_filename(mlflow->folder, "metrics", name, NULL), *parent = g_path_get_dirname(path);
    char number[G_ASCII_DTOSTR_BUF_SIZE];
    g_autofree char *line =
        g_strdup_printf("%" PRId64 " %s %" PRId64 "\n", now_ms(), g_ascii_dtostr(number, sizeof number, value), step);
    IoFile *file = io_make_directories(parent, error) ? io_append(path, error) : NULL;
    if (!file)
        return false;
    if (io_write(file, line, strlen(line), error))
        return io_close(file, false, error);
    io_abort(file);
    return false;
}

bool mlflow_param(Mlflow *mlflow, const char *name, const char *value, GError **error)
{
    g_autofree char *path = g_build_filename("params", name, NULL), *valid = g_utf8_make_valid(value, -1),
                    *shown = g_strndup(valid, LONGEST), *text = g_utf8_make_valid(shown, -1);
    return write_small(mlflow->folder, path, text, error);
}

/* ---- opening and closing ---- */

static bool open_run(Mlflow *mlflow, const char *root, const char *experiment, const char *dir, int64_t step,
                     GError **error)
{
    if (!(mlflow->experiment_id = find_experiment(root, experiment)) &&
        !(mlflow->experiment_id = make_experiment(root, experiment, error)))
        return false;
    if (!find_entry(mlflow, root, dir, error))
        return false;
    g_autofree char *metrics = g_build_filename(mlflow->folder, "metrics", NULL),
                    *artifacts = g_build_filename(mlflow->folder, "artifacts", NULL);
    static const char *const folders[] = { "", "params", "tags" };
    for (size_t i = 0; i < G_N_ELEMENTS(folders); i++) {
        g_autofree char *folder = g_build_filename(mlflow->folder, folders[i], NULL);
        io_remove_temporaries(folder);
    }
    return cut_metrics(metrics, step, 0, error) && io_make_directories(metrics, error) &&
           io_make_directories(artifacts, error) &&
           write_small(mlflow->folder, "tags/mlflow.runName", mlflow->name, error) &&
           write_small(mlflow->folder, "tags/mlflow.source.name", "loam", error) &&
           write_small(mlflow->folder, "tags/mlflow.source.type", "LOCAL", error) &&
           write_small(mlflow->folder, "tags/mlflow.user", g_get_user_name(), error) &&
           write_meta(mlflow, MLFLOW_RUNNING, error);
}

static void free_store(Mlflow *mlflow)
{
    g_free(mlflow->folder);
    g_free(mlflow->experiment_id);
    g_free(mlflow->name);
    g_free(mlflow);
}

Mlflow *mlflow_open(const char *root, const char *experiment, const char *dir, int64_t step, GError **error)
{
    Mlflow *mlflow = g_new0(Mlflow, 1);
    mlflow->sink.name = "log.mlflow";
    g_autofree char *base = g_path_get_basename(dir);
    mlflow->name = g_utf8_make_valid(base, -1);
    if (open_run(mlflow, root, experiment, dir, step, error))
        return mlflow;
    free_store(mlflow);
    return NULL;
}

void mlflow_close(Mlflow *mlflow, MlflowStatus status)
{
    g_autoptr(GError) problem = NULL;
    if (!write_meta(mlflow, status, &problem))
        log_warning("log.mlflow: %s", problem->message);
    free_store(mlflow);
}

/* ---- rollback ---- */

static const char *const kept_folders[] = { "metrics", "params" };

/* Removes the files of a folder and of the folders in it that `kept` has not. */
static bool remove_others(const char *folder, const char *kept, int depth, GError **error)
{
    g_autoptr(GDir) dir = depth < DEEPEST ? g_dir_open(folder, 0, NULL) : NULL;
    const char *name;
    bool good = true;
    while (good && dir && (name = g_dir_read_name(dir))) {
        g_autofree char *path = g_build_filename(folder, name, NULL), *other = g_build_filename(kept, name, NULL);
        if (g_file_test(path, G_FILE_TEST_IS_DIR))
            good = remove_others(path, other, depth + 1, error);
        else if (!g_file_test(other, G_FILE_TEST_EXISTS))
            good = io_remove_file(path, error);
    }
    return good;
}

bool mlflow_copy(const char *dir, const char *copy, bool back, GError **error)
{
    g_auto(Entry) entry = { 0 };
    bool good = true;
    if (entry_read(&entry, dir) && is_entry(entry.folder, entry.id))
        for (size_t i = 0; good && i < G_N_ELEMENTS(kept_folders); i++) {
            g_autofree char *folder = g_build_filename(entry.folder, kept_folders[i], NULL),
                            *kept = g_build_filename(copy, kept_folders[i], NULL);
            good = back ? io_copy_tree(kept, folder, error) && remove_others(folder, kept, 0, error)
                        : io_copy_tree(folder, kept, error);
        }
    return good;
}

/* ---- the service ---- */

static void write_options(Mlflow *mlflow, const Config *config)
{
    const OptionRow *row;
    for (int i = 0; !mlflow->sink.failing && (row = options_at(config_options(), i)); i++) {
        GError *problem = NULL;
        g_autofree char *value = options_plain_value(config_options(), config, row);
        mlflow_param(mlflow, row->name, value, &problem);
        sink_note(&mlflow->sink, problem);
    }
}

/* Whether the store has another state than FINISHED for the run, which was killed or stopped when it last trained. */
static bool is_unfinished(const char *dir)
{
    Entry entry;
    const bool own = entry_read(&entry, dir) && entry.folder && !is_copy(&entry, dir);
    g_autofree char *path = own ? g_build_filename(entry.folder, "meta.yaml", NULL) : NULL,
                    *meta = path ? io_read_file(path, MAX_META, NULL, NULL) : NULL;
    entry_clear(&entry);
    return meta && !strstr(meta, "\nstatus: 3\n");
}

/* A store that cannot be written does not keep the run from training. A command that leaves a run of the store no step
 * and no evaluation to do changes only its state. */
static void *mlflow_service_open(const Trainer *t, G_GNUC_UNUSED GError **error)
{
    g_autoptr(GError) problem = NULL;
    const LogConfig *config = &t->config.log;
    const bool ended = trainer_had_ended(t);
    if (comm_rank(t->mesh.world) > 0 || !*config->mlflow || (ended && !is_unfinished(t->config.run.dir)))
        return NULL;
    Mlflow *mlflow =
        mlflow_open(config->mlflow, config->mlflow_experiment, t->config.run.dir, service_resumed(t).step, &problem);
    if (mlflow == NULL) {
        log_warning("log.mlflow: %s; the run goes on, and writes nothing there until its next start", problem->message);
        return NULL;
    }
    if (!ended)
        write_options(mlflow, &t->config);
    return mlflow;
}

static void mlflow_service_told(void *own, const LogRecord *record)
{
    Mlflow *mlflow = own;
    GError *problem = NULL;
    g_auto(Fields) fields = fields_of(record);
    for (guint i = 0; !problem && i < fields.list->len; i++) {
        const Field *field = &g_array_index(fields.list, Field, i);
        if (field->group == NULL || !isfinite(field->value))
            continue;
        g_autofree char *name = g_strdup_printf("%s/%s", field->group, field->name);
        mlflow_metric(mlflow, name, record->step, field->value, &problem);
    }
    if (fields.list->len > 0)
        sink_note(&mlflow->sink, problem);
}

static void mlflow_service_close(void *own, G_GNUC_UNUSED const Trainer *t, const GError *problem)
{
    mlflow_close(own, problem == NULL                                            ? MLFLOW_FINISHED
                      : g_error_matches(problem, LOAM_ERROR, LOAM_ERROR_STOPPED) ? MLFLOW_KILLED
                                                                                 : MLFLOW_FAILED);
}

const Service mlflow_service = {
    .written = ID_FILE, .open = mlflow_service_open, .told = mlflow_service_told, .close = mlflow_service_close
};
