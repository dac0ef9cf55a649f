#include "cli/answers_file.h"

#include "base/file.h"
#include "base/log.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <xxhash.h>

#define CHUNK (INT64_C(1) << 20) /* elements of a parameter that are hashed at once */

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
    FILE *stored; /* NULL: all stored answers are read, and `out` is open */
    char *line;   /* of `stored` */
    size_t capacity;
    int64_t done, whole; /* stored answers read so far; bytes of them */
    IoFile *out;
};

AnswersFile *answers_file_open(const char *answers, uint64_t model, const char *source, GError **error)
{
    if (g_file_test(answers, G_FILE_TEST_EXISTS) && !g_file_test(answers, G_FILE_TEST_IS_REGULAR)) {
        fail_user(error, "%s is no regular file, which --out reads again and goes on with", answers);
        return NULL;
    }
    AnswersFile *file = g_new(AnswersFile, 1);
    *file = (AnswersFile){ .path = answers, .source = source, .model = model, .stored = fopen(answers, "r") };
    if (file->stored || (errno == ENOENT && (file->out = io_append(answers, error))))
        return file;
    if (error && *error == NULL)
        fail_errno(error, "cannot read", answers);
    g_free(file);
    return NULL;
}

static bool fail_foreign(const AnswersFile *file, GError **error)
{
    return fail_user(error,
                     "%s:%" PRId64 " is not this model's answer to line %" PRId64 " of %s: give another --out, or "
                     "remove the file",
                     file->path, file->done + 1, file->done + 1, file->source);
}

/* Whether a file that ends within its line may have been cut off by a crash: it has answers before the line, or the
 * line begins as an answer does. Anything else is left as it is. */
static bool is_torn_answer(const AnswersFile *file)
{
    static const char *const starts[] = { "{\"line\":", "{\"id\":", "{\"input\":", "{\"task_id\":" };
    bool begins = file->done > 0 && file->line[0] == '{';
    for (size_t i = 0; i < G_N_ELEMENTS(starts); i++)
        begins |= strncmp(file->line, starts[i], MIN(strlen(file->line), strlen(starts[i]))) == 0;
    return begins;
}

/* Cuts off an incomplete answer, and goes on behind the stored ones. */
static bool end_stored(AnswersFile *file, bool torn, GError **error)
{
    bool good = !ferror(file->stored) || fail_errno(error, "cannot read", file->path);
    fclose(file->stored);
    file->stored = NULL;
    if (good && torn && truncate(file->path, (off_t)file->whole) != 0)
        good = fail_errno(error, "cannot cut", file->path);
    if (good && file->done > 0)
        log_info("%s has %" PRId64 " answers: going on after them", file->path, file->done);
    return good && (file->out = io_append(file->path, error)) != NULL;
}

bool answers_file_next(AnswersFile *file, const char *input, size_t bytes, json_t **answer, GError **error)
{
    *answer = NULL;
    if (file->stored == NULL)
        return true;
    ssize_t n = getline(&file->line, &file->capacity, file->stored);
    bool torn = n > 0 && file->line[n - 1] != '\n'; /* cut off, so the last one */
    if (torn && !is_torn_answer(file))
        return fail_foreign(file, error);
    if (n < 0 || torn)
        return end_stored(file, torn, error);
    g_autofree char *wanted = answer_owner(file->model, input, bytes);
    json_t *object = json_loadb(file->line, (size_t)n, 0, NULL);
    if (g_strcmp0(wanted, json_string_value(json_object_get(object, "of"))) != 0) {
        json_decref(object);
        return fail_foreign(file, error);
    }
    file->done++;
    file->whole += n;
    *answer = object;
    return true;
}

bool answers_file_add(AnswersFile *file, json_t *answer, const char *input, size_t bytes, GError **error)
{
    g_autofree char *of = answer_owner(file->model, input, bytes);
    json_object_set_new(answer, "of", json_string(of));
    char *line = json_dumps(answer, JSON_COMPACT);
    json_decref(answer);
    bool good = io_write(file->out, line, strlen(line), error) && io_write(file->out, "\n", 1, error) &&
                io_flush(file->out, error);
    free(line);
    return good;
}

int64_t answers_file_stored(const AnswersFile *file)
{
    return file->done;
}

bool answers_file_close(AnswersFile *file, bool good, GError **error)
{
    if (good && file->stored)
        good = getline(&file->line, &file->capacity, file->stored) < 0 || fail_foreign(file, error);
    if (file->stored)
        fclose(file->stored);
    if (file->out && good)
        good = io_close(file->out, true, error);
    else if (file->out)
        io_abort(file->out);
    free(file->line);
    g_free(file);
    return good;
}
