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

/* Counts the complete lines of an output file that an interrupted run left, and cuts off an incomplete last line. */
static bool count_done(const char *path, int64_t *lines, GError **error)
{
    FILE *file = fopen(path, "r");
    if (file == NULL)
        return errno == ENOENT || fail_errno(error, "cannot read", path);
    int64_t bytes = 0, whole = 0;
    for (int c; (c = getc(file)) != EOF;) {
        bytes++;
        if (c == '\n') {
            (*lines)++;
            whole = bytes;
        }
    }
    fclose(file);
    return whole == bytes || truncate(path, whole) == 0 || fail_errno(error, "cannot cut", path);
}

static bool score_line(Scorer *scorer, const PromptFormat format[2], const char *line, size_t n, int64_t number,
                       char **result, GError **error)
{
    json_error_t reason;
    json_auto_t *object = json_loadb(line, n, JSON_REJECT_DUPLICATES, &reason);
    g_autoptr(GArray) input = g_array_new(false, false, sizeof(int32_t));
    g_autoptr(GArray) target = g_array_new(false, false, sizeof(int32_t));
    Score score;
    if (object == NULL)
        return fail_user(error, "not JSON: %s", reason.text);
    if (!prompt_parse_json(&format[0], json_object_get(object, "input"), "input", input, error) ||
        !prompt_parse_json(&format[1], json_object_get(object, "target"), "target", target, error) ||
        !scorer_score(scorer, (int32_t *)(void *)input->data, input->len, (int32_t *)(void *)target->data, target->len,
                      &score, error))
        return false;
    if (!isfinite(score.logprob))
        return fail_user(error, "the model gives it a log-probability of %g: are its weights finite?", score.logprob);
    json_auto_t *answer = json_pack("{s:I, s:f, s:I, s:b}", "line", (json_int_t)number, "logprob", score.logprob,
                                    "tokens", (json_int_t)score.tokens, "greedy", score.greedy);
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

/* format[0] is for inputs, format[1] for targets. */
static bool score_lines(Scorer *scorer, const PromptFormat format[2], FILE *in, const char *path, int64_t done,
                        IoFile *out, GError **error)
{
    char *line = NULL;
    size_t capacity = 0;
    ssize_t n;
    bool good = true;
    for (int64_t number = 1; good && (n = getline(&line, &capacity, in)) >= 0; number++) {
        if (number <= done)
            continue;
        char *result = NULL;
        good = (score_line(scorer, format, line, (size_t)n, number, &result, error) ||
                fail_context(error, "%s:%" PRId64, path, number)) &&
               put_line(out, result, error);
        free(result);
    }
    free(line);
    return good && (!ferror(in) || fail_errno(error, "cannot read", path));
}

bool score_file(Model *model, const char *model_path, const Tokenizer *tok, const char *path, const char *out,
                GError **error)
{
    PromptFormat format[] = { prompt_format(model, model_path, tok), prompt_format(model, model_path, tok) };
    format[1].before = format[1].start = -1;
    format[1].after = tok ? tokenizer_eos(tok) : -1;
    int64_t done = 0;
    char *const read[] = { (char *)path };
    if (out && !io_check_apart(out, read, 1, error))
        return false;
    FILE *in = fopen(path, "r");
    if (in == NULL)
        return fail_errno(error, "cannot read", path);
    IoFile *file = NULL;
    bool good = out == NULL || (count_done(out, &done, error) && (file = io_append(out, error)) != NULL);
    if (done > 0)
        log_info("%s has %" PRId64 " lines: going on after them", out, done);
    if (good) {
        Scorer *scorer = scorer_open(model);
        good = score_lines(scorer, format, in, path, done, file, error);
        scorer_close(scorer);
    }
    if (file && good)
        good = io_close(file, true, error);
    else if (file)
        io_abort(file);
    fclose(in);
    return good;
}
