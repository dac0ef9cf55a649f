#include "cli/answers_file.h"

#include "base/file.h"
#include "base/log.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>

#define CHUNK (INT64_C(1) << 20) /* number of elements of a parameter that are hashed at once */

/* ---- the model ---- */

static void hash_text(uint64_t *hash, const char *text)
{
    *hash = XXH3_64bits_withSeed(text, strlen(text), *hash);
}

static void hash_param(uint64_t *hash, ParamStore *params, int index, float *chunk)
{
    const ParamSpec *spec = params_spec(params, index);
    const int64_t cols = MAX(spec->cols, 1), step = MAX(CHUNK / cols, 1);
    hash_text(hash, spec->name);
    for (int64_t row = 0; row < spec->rows; row += step) {
        const Box box = { .start = { row, 0 }, .shape = { MIN(step, spec->rows - row), cols } };
        params_read(params, index, &box, DT_F32, chunk);
        *hash = XXH3_64bits_withSeed(chunk, (size_t)(box.shape[0] * cols) * sizeof *chunk, *hash);
    }
}

static int64_t widest(ParamStore *params)
{
    int64_t most = CHUNK;
    for (int i = 0; i < params_count(params); i++)
        most = MAX(most, params_spec(params, i)->cols);
    return most;
}

uint64_t model_hash(const LoadedModel *loaded, const char *settings)
{
    ParamStore *params = model_params(loaded->model);
    const Precision *precision = &loaded->dev->precision;
    uint64_t hash = XXH3_64bits(precision, sizeof *precision);
    hash_text(&hash, settings);
    hash_text(&hash, loaded->tok ? tokenizer_hash(loaded->tok) : "");
    for (int i = 0; i < n_model_options; i++) {
        g_autofree char *value = options_plain_value(&model_table, model_config(loaded->model), &model_options[i]);
        if (strcmp(model_options[i].name, "model.architecture") != 0) /* no answer depends on this name */
            hash_text(&hash, value);
    }
    g_autofree float *chunk = g_new(float, (size_t)widest(params));
    for (int i = 0; i < params_count(params); i++)
        hash_param(&hash, params, i, chunk);
    return hash;
}

char *answer_owner(uint64_t model, const char *input, size_t bytes)
{
    return g_strdup_printf("%016" PRIx64, (uint64_t)XXH3_64bits_withSeed(input, bytes, model));
}

/* ---- the file ---- */

struct AnswersFile {
    const char *path, *source;
    uint64_t model;
    FILE *stored; /* holds a lock on the file while it is open; NULL means a device or a FIFO, which keeps no answers */
    char *line;   /* the line of `stored` that was read last */
    size_t capacity;
    int64_t done, whole; /* number of stored answers read so far, and their total bytes */
    IoFile *out;         /* new answers are appended here; NULL until all stored answers have been read */
};

static bool fail_foreign(const AnswersFile *file, GError **error)
{
    return fail_user(error,
                     "%s:%" PRId64 " is not this model's answer to line %" PRId64 " of %s: give another --out, or "
                     "remove the file",
                     file->path, file->done + 1, file->done + 1, file->source);
}

static bool is_special(const char *path)
{
    struct stat info;
    return stat(path, &info) == 0 && !S_ISREG(info.st_mode) && !S_ISDIR(info.st_mode);
}

/* Fails unless the file is empty or starts as a line of answers does: a file of another kind is never changed. */
static bool check_answers_start(const AnswersFile *file, GError **error)
{
    static const char *const starts[] = { "{\"line\":", "{\"id\":\"", "{\"input\":\"", "{\"task_id\":" };
    char first[16];
    const size_t n = fread(first, 1, sizeof first, file->stored);
    bool good = n == 0;
    if (ferror(file->stored))
        return fail_errno(error, "cannot read", file->path);
    rewind(file->stored);
    for (size_t i = 0; i < G_N_ELEMENTS(starts); i++)
        good |= strncmp(first, starts[i], MIN(n, strlen(starts[i]))) == 0;
    return good || fail_foreign(file, error);
}

/* Opens and locks the stored answers; on a file system that does not support locks, without a lock. */
static bool open_stored(AnswersFile *file, GError **error)
{
    int fd = open(file->path, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
    if (fd < 0)
        return fail_errno(error, "cannot open", file->path);
    const bool taken = flock(fd, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK;
    file->stored = fdopen(fd, "r");
    if (taken)
        return fail_user(error, "another process writes answers to %s: wait for it, or give another --out", file->path);
    return check_answers_start(file, error);
}

AnswersFile *answers_file_open(const char *answers, uint64_t model, const char *source, GError **error)
{
    AnswersFile *file = g_new(AnswersFile, 1);
    *file = (AnswersFile){ .path = answers, .source = source, .model = model };
    if (is_special(answers) ? (file->out = io_append(answers, error)) != NULL : open_stored(file, error))
        return file;
    answers_file_close(file, false, NULL);
    return NULL;
}

/* Called when no stored answer is left. torn: the last line is incomplete and removed. New answers are then added. */
static bool end_stored(AnswersFile *file, bool torn, GError **error)
{
    if (ferror(file->stored))
        return fail_errno(error, "cannot read", file->path);
    if (torn && truncate(file->path, (off_t)file->whole) != 0)
        return fail_errno(error, "cannot cut", file->path);
    if (file->done > 0)
        log_info("%s has %" PRId64 " answers: going on after them", file->path, file->done);
    return (file->out = io_append(file->path, error)) != NULL;
}

/* A last line without a newline was cut off by a crash and is removed, unless it is a complete JSON object that belongs
 * to another model or input, which is an error. */
bool answers_file_next(AnswersFile *file, const char *input, size_t bytes, json_t **answer, GError **error)
{
    *answer = NULL;
    if (file->out)
        return true;
    const ssize_t n = getline(&file->line, &file->capacity, file->stored);
    if (n < 0)
        return end_stored(file, false, error);
    const bool torn = file->line[n - 1] != '\n';
    g_autofree char *wanted = answer_owner(file->model, input, bytes);
    json_t *object = json_loadb(file->line, (size_t)n, 0, NULL);
    const bool ours = g_strcmp0(wanted, json_string_value(json_object_get(object, "of"))) == 0;
    if (ours && !torn) {
        file->done++;
        file->whole += n;
        *answer = object;
        return true;
    }
    const bool foreign = object ? !ours : !torn;
    json_decref(object);
    return foreign ? fail_foreign(file, error) : end_stored(file, true, error);
}

bool answers_file_add(AnswersFile *file, json_t *answer, const char *input, size_t bytes, GError **error)
{
    g_autofree char *of = answer_owner(file->model, input, bytes);
    json_object_set_new(answer, "of", json_string(of));
    g_autofree char *line = json_dumps(answer, JSON_COMPACT);
    json_decref(answer);
    return io_write(file->out, line, strlen(line), error) && io_write(file->out, "\n", 1, error) &&
           io_flush(file->out, error);
}

int64_t answers_file_stored(const AnswersFile *file)
{
    return file->done;
}

bool answers_file_close(AnswersFile *file, bool good, GError **error)
{
    if (good && !file->out && getline(&file->line, &file->capacity, file->stored) >= 0)
        good =
            fail_user(error, "%s has more answers than the %" PRId64 " of %s: give another --out, or remove the file",
                      file->path, file->done, file->source);
    if (file->out && good)
        good = io_close(file->out, !is_special(file->path), error);
    else
        io_abort(file->out);
    if (file->stored)
        fclose(file->stored);
    free(file->line);
    g_free(file);
    return good;
}
