#include "cli/eval/score.h"

#include "base/file.h"
#include "base/log.h"
#include "cli/prompts.h"
#include "eval/scorer.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <xxhash.h>

#define CHUNK (INT64_C(1) << 20) /* elements of a parameter that are hashed at once */

/* What is the same for all lines. */
typedef struct Scoring {
    PromptFormat format[2]; /* of inputs, of targets */
    uint64_t model;         /* hash of all that decides about the scores of a line */
    const char *path, *out; /* out: NULL means standard output */
    FILE *in;
    IoFile *file; /* of out */
} Scoring;

/* ---- whose answers they are ---- */

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

/* The weights as they are computed with, the options of the model, the tokenizer and the tokens around a text. */
static uint64_t hash_model(const LoadedModel *loaded, const PromptFormat format[2])
{
    ParamStore *params = model_params(loaded->model);
    const int32_t around[] = { format[0].before, format[0].after, format[0].start, format[1].after };
    const Precision *precision = &loaded->dev->precision;
    uint64_t hash = XXH3_64bits_withSeed(around, sizeof around, XXH3_64bits(precision, sizeof *precision));
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

/* What an answer says under "of": model and line as 16 hexadecimal digits. */
static char *owner(const Scoring *s, const char *line, size_t n)
{
    const size_t bytes = n > 0 && line[n - 1] == '\n' ? n - 1 : n;
    return g_strdup_printf("%016" PRIx64, (uint64_t)XXH3_64bits_withSeed(line, bytes, s->model));
}

static bool is_answer(const Scoring *s, const char *answer, size_t n, const char *line, ssize_t n_line)
{
    if (n_line < 0) /* more answers than lines */
        return false;
    g_autofree char *wanted = owner(s, line, (size_t)n_line);
    json_auto_t *object = json_loadb(answer, n, 0, NULL);
    return g_strcmp0(wanted, json_string_value(json_object_get(object, "of"))) == 0;
}

/* Goes through the answers that an interrupted run left and through their lines of the input, counts them, and sets
 * *whole to the bytes of the answers that are complete. */
static bool read_done(const Scoring *s, FILE *answers, int64_t *done, int64_t *whole, GError **error)
{
    static const char start[] = "{\"line\":";
    char *answer = NULL, *line = NULL;
    size_t answer_capacity = 0, line_capacity = 0;
    ssize_t n;
    bool good = true;
    while (good && (n = getline(&answer, &answer_capacity, answers)) >= 0) {
        if (answer[n - 1] != '\n') { /* cut off, so the last one */
            good = strncmp(answer, start, MIN((size_t)n, strlen(start))) == 0;
            break;
        }
        const ssize_t n_line = getline(&line, &line_capacity, s->in);
        good = is_answer(s, answer, (size_t)n, line, n_line);
        *done += good;
        *whole += n;
    }
    free(answer);
    free(line);
    return good || fail_user(error,
                             "%s:%" PRId64 " is not this model's answer to line %" PRId64 " of %s: give another "
                             "--out, or remove the file",
                             s->out, *done + 1, *done + 1, s->path);
}

/* Counts the answers that an output file has, leaves s->in after their lines and cuts off an incomplete answer. */
static bool skip_done(const Scoring *s, int64_t *done, GError **error)
{
    FILE *answers = fopen(s->out, "r");
    if (answers == NULL)
        return errno == ENOENT || fail_errno(error, "cannot read", s->out);
    int64_t whole = 0;
    bool good = read_done(s, answers, done, &whole, error);
    good = good && (!ferror(answers) || fail_errno(error, "cannot read", s->out));
    const bool torn = good && ftello(answers) > whole;
    fclose(answers);
    return good && (!torn || truncate(s->out, whole) == 0 || fail_errno(error, "cannot cut", s->out));
}

/* ---- scores ---- */

static bool score_line(const Scoring *s, Scorer *scorer, const char *line, size_t n, int64_t number, char **result,
                       GError **error)
{
    json_error_t reason;
    json_auto_t *object = json_loadb(line, n, JSON_REJECT_DUPLICATES, &reason);
    g_autoptr(GArray) input = g_array_new(false, false, sizeof(int32_t));
    g_autoptr(GArray) target = g_array_new(false, false, sizeof(int32_t));
    Score score;
    if (object == NULL)
        return fail_user(error, "not JSON: %s", reason.text);
    if (!prompt_parse_json(&s->format[0], json_object_get(object, "input"), "input", input, error) ||
        !prompt_parse_json(&s->format[1], json_object_get(object, "target"), "target", target, error) ||
        !scorer_score(scorer, (int32_t *)(void *)input->data, input->len, (int32_t *)(void *)target->data, target->len,
                      &score, error))
        return false;
    if (!isfinite(score.logprob))
        return fail_user(error, "the model gives it a log-probability of %g: are its weights finite?", score.logprob);
    g_autofree char *of = owner(s, line, n);
    json_auto_t *answer = json_pack("{s:I, s:f, s:I, s:b, s:s}", "line", (json_int_t)number, "logprob", score.logprob,
                                    "tokens", (json_int_t)score.tokens, "greedy", score.greedy, "of", of);
    *result = json_dumps(answer, JSON_COMPACT);
    return true;
}

static bool put_line(IoFile *out, const char *line, GError **error)
{
    if (out)
        return io_write(out, line, strlen(line), error) && io_write(out, "\n", 1, error) && io_flush(out, error);
    puts(line);
    return true;
}

/* Scores the lines that s->in still has; `done` are before them. */
static bool score_lines(const Scoring *s, Scorer *scorer, int64_t done, GError **error)
{
    char *line = NULL;
    size_t capacity = 0;
    ssize_t n;
    bool good = true;
    for (int64_t number = done + 1; good && (n = getline(&line, &capacity, s->in)) >= 0; number++) {
        char *result = NULL;
        good = (score_line(s, scorer, line, (size_t)n, number, &result, error) ||
                fail_context(error, "%s:%" PRId64, s->path, number)) &&
               put_line(s->file, result, error);
        free(result);
    }
    free(line);
    return good && (!ferror(s->in) || fail_errno(error, "cannot read", s->path));
}

bool score_file(const LoadedModel *loaded, const char *model_path, const char *path, const char *out, GError **error)
{
    Model *model = loaded->model;
    const PromptFormat format = prompt_format(model, model_path, loaded->tok);
    Scoring s = { .format = { format, format }, .path = path, .out = out };
    s.format[1].before = s.format[1].start = -1;
    s.format[1].after = loaded->tok ? tokenizer_eos(loaded->tok) : -1;
    int64_t done = 0;
    char *const read[] = { (char *)path };
    if (out && !io_check_apart(out, read, 1, error))
        return false;
    s.in = fopen(path, "r");
    if (s.in == NULL)
        return fail_errno(error, "cannot read", path);
    s.model = hash_model(loaded, s.format);
    bool good = out == NULL || (skip_done(&s, &done, error) && (s.file = io_append(out, error)) != NULL);
    if (good && done > 0)
        log_info("%s has %" PRId64 " lines: going on after them", out, done);
    if (good) {
        Scorer *scorer = scorer_open(model);
        good = score_lines(&s, scorer, done, error);
        scorer_close(scorer);
    }
    if (s.file && good)
        good = io_close(s.file, true, error);
    else if (s.file)
        io_abort(s.file);
    fclose(s.in);
    return good;
}
