#include "cli/eval/eval.h"

#include "base/file.h"
#include "base/foreign.h"
#include "base/text.h"
#include "cli/answers_file.h"
#include "cli/cli.h"
#include "cli/prompts.h"
#include "eval/answers.h"
#include "eval/scorer.h"

#include <inttypes.h>
#include <math.h>

/* The state that is the same for all lines. */
typedef struct Scoring {
    const LoadedModel *loaded;
    PromptFormat format[2]; /* formats of inputs and of targets */
    const char *path;
    FILE *in;
    AnswersFile *out; /* NULL means standard output */
    uint64_t model;   /* hash of everything that determines the scores of a line, besides the line itself */
    bool skips;
    int64_t skipped;
    GArray *input, *target; /* int32_t: ids of a line */
} Scoring;

/* Hash of the model and of the special tokens that the formats add to a text. */
static uint64_t hash_model(const LoadedModel *loaded, const PromptFormat format[2])
{
    g_autofree char *around =
        g_strdup_printf("%d %d %d %d", format[0].frame.before.n ? format[0].frame.before.ids[0] : -1,
                        format[0].frame.after.n ? format[0].frame.after.ids[0] : -1, format[0].start,
                        format[1].frame.after.n ? format[1].frame.after.ids[0] : -1);
    return model_hash(loaded, around);
}

/* ---- scores ---- */

/* Sets the ids of a line. */
static bool read_scored_line(const Scoring *s, const char *line, size_t n, GError **error)
{
    json_error_t reason;
    json_auto_t *object = json_loadb(line, n, JSON_REJECT_DUPLICATES, &reason);
    g_array_set_size(s->input, 0);
    g_array_set_size(s->target, 0);
    return (object || json_fail(&reason, error)) &&
           prompt_parse_json(&s->format[0], json_object_get(object, "input"), "input", s->input, error) &&
           prompt_parse_json(&s->format[1], json_object_get(object, "target"), "target", s->target, error);
}

static json_t *score_line(const Scoring *s, Scorer *scorer, int64_t number, GError **error)
{
    Score score;
    bool good = scorer_score(scorer, (int32_t *)(void *)s->input->data, s->input->len,
                             (int32_t *)(void *)s->target->data, s->target->len, &score, error);
    if (good && !isfinite(score.logprob))
        good = fail_not_finite(s->loaded->model, "it a log-probability", score.logprob, error);
    return good ? json_pack("{s:I, s:f, s:I, s:b}", "line", (json_int_t)number, "logprob", score.logprob, "tokens",
                            (json_int_t)score.tokens, "greedy", score.greedy)
                : NULL;
}

/* Scores a line, unless the output file already has its score. */
static bool take_scored_line(Scoring *s, Scorer *scorer, const char *line, size_t n, int64_t number, GError **error)
{
    const size_t bytes = n - (n > 0 && line[n - 1] == '\n'); /* without its newline */
    json_t *answer = NULL;
    GError *problem = NULL;
    if (!read_scored_line(s, line, n, &problem)) {
        fail_context(&problem, "%s:%" PRId64, s->path, number);
        if (lines_skip(s->skips, &s->skipped, &problem))
            return true;
        return fail_with(error, problem);
    }
    if (s->out && !answers_file_next(s->out, line, bytes, &answer, error))
        return false;
    if (answer) {
        json_decref(answer);
        return true;
    }
    answer = score_line(s, scorer, number, error);
    if (answer == NULL)
        return fail_context(error, "%s:%" PRId64, s->path, number);
    if (s->out)
        return answers_file_add(s->out, answer, line, bytes, error);
    g_autofree char *of = answer_owner(s->model, line, bytes);
    json_object_set_new(answer, "of", json_string(of));
    return print_json_line(answer, error);
}

static bool score_lines(Scoring *s, Scorer *scorer, GError **error)
{
    g_autoptr(GString) line = g_string_new(NULL);
    const uint64_t size = io_size(fileno(s->in));
    for (int64_t number = 1;; number++) {
        if (!io_read_line(line, s->in, error))
            return fail_context(error, "%s:%" PRId64, s->path, number);
        if (line->len == 0)
            break;
        if (number == 1 && !foreign_check_start(s->path, line->str, line->len, error))
            return false;
        if (number == 1)
            g_string_erase(line, 0, (gssize)text_mark_bytes(line->str, line->len));
        if (!take_scored_line(s, scorer, line->str, line->len, number, error))
            return false;
    }
    return size == 0 || io_check_whole(s->path, (uint64_t)ftello(s->in), size, error);
}

bool score_file(const LoadedModel *loaded, const EvalOptions *options, GError **error)
{
    const char *path = options->score_path, *out = options->out;
    Model *model = loaded->model;
    const PromptFormat format = prompt_format(model, loaded->tok);
    Scoring s = { .loaded = loaded, .format = { format, format }, .path = path, .skips = options->skips };
    s.format[1].start = -1;
    /* In a decoder-only model the target continues the input, so no special tokens start it. */
    if (model_config(model)->n_enc == 0)
        s.format[1].frame = frame_of(-1, loaded->tok ? tokenizer_eos(loaded->tok) : -1, false);
    char *const read[] = { (char *)path };
    if (out && !io_check_apart(out, read, 1, error))
        return false;
    s.in = fopen(path, "r");
    if (s.in == NULL)
        return fail_errno(error, "cannot read", path);
    s.model = hash_model(loaded, s.format);
    bool good = out == NULL || (s.out = answers_file_open(out, s.model, path, error)) != NULL;
    if (good) {
        Scorer *scorer = scorer_open(model);
        s.input = g_array_new(false, false, sizeof(int32_t));
        s.target = g_array_new(false, false, sizeof(int32_t));
        good = score_lines(&s, scorer, error);
        g_array_unref(s.input);
        g_array_unref(s.target);
        lines_tell_skipped(s.skipped);
        scorer_close(scorer);
    }
    if (s.out)
        good = answers_file_close(s.out, good, error);
    fclose(s.in);
    return good;
}
