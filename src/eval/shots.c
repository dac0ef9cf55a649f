#include "eval/shots.h"

#include "base/log.h"
#include "base/philox.h"

#include <inttypes.h>
#include <string.h>
#include <xxhash.h>

/* An example that may be drawn. */
typedef struct Shot {
    char *text;       /* input, gap (shots_gap) and target */
    gsize input_size; /* bytes of its input */
} Shot;

struct Shots {
    ShotOptions options;
    GArray *all; /* Shot */
    uint64_t hash;
    int64_t prompts, prompts_cut, left_out; /* number of prompts made, of prompts with fewer examples than asked for,
                                               and of examples that these lack */
};

static void clear_shot(void *shot)
{
    g_free(((Shot *)shot)->text);
}

const char *shots_gap(const char *input, const char *target)
{
    const gsize n = strlen(input);
    return g_ascii_isspace(*target) || (n > 0 && g_ascii_isspace(input[n - 1])) ? "" : " ";
}

static void add_shot(Shots *shots, const TaskExample *example)
{
    if (!example->known || example->excluded || example->targets->len == 0)
        return;
    const char *target = example->targets->pdata[0];
    const Shot shot = { .text = g_strconcat(example->input, shots_gap(example->input, target), target, NULL),
                        .input_size = strlen(example->input) };
    shots->hash = XXH3_64bits_withSeed(shot.text, strlen(shot.text) + 1, shots->hash);
    g_array_append_val(shots->all, shot);
}

Shots *shots_open(const Task *task, const TaskConfig *config, const TaskFile *file, const ShotOptions *options,
                  GError **error)
{
    g_autoptr(TaskReader) reader = task_reader_open(task, config, file, true, error);
    TaskExample example;
    Record record;
    GError *problem = NULL;
    if (!reader)
        return NULL;
    Shots *shots = g_new(Shots, 1);
    *shots = (Shots){ .options = *options, .all = g_array_new(false, false, sizeof(Shot)) };
    g_array_set_clear_func(shots->all, clear_shot);
    shots->hash = XXH3_64bits_withSeed(options->separator, strlen(options->separator),
                                       options->seed ^ (uint64_t)options->n << 32);
    while (task_reader_next(reader, &example, &record, &problem)) {
        add_shot(shots, &example);
        task_example_clear(&example);
    }
    if (task_reader_skipped(reader) > 0)
        log_warning("%s: %" PRId64 " rows were left out", file->path, task_reader_skipped(reader));
    if (!problem)
        return shots;
    shots_close(shots);
    return fail_with(error, problem);
}

void shots_close(Shots *shots)
{
    if (!shots)
        return;
    g_array_unref(shots->all);
    g_free(shots);
}

uint64_t shots_hash(const Shots *shots)
{
    return shots->hash;
}

/* ---- prompts ---- */

static bool is_of(const Shot *shot, const char *input, gsize size)
{
    return shot->input_size == size && memcmp(shot->text, input, size) == 0;
}

/* Draws the examples of a prompt: the first n of a permutation of all examples, except those with the same input. */
static bool draw_shots(const Shots *shots, const char *input, const Shot **drawn, GError **error)
{
    const gsize size = strlen(input);
    const uint64_t hash = XXH3_64bits_withSeed(input, size, shots->options.seed);
    const PhiloxKey key = { { (uint32_t)hash, (uint32_t)(hash >> 32) } };
    int64_t n = 0;
    for (guint i = 0; n < shots->options.n && i < shots->all->len; i++) {
        const guint64 at = philox_permute(key, 0, i, shots->all->len);
        const Shot *shot = &g_array_index(shots->all, Shot, at);
        if (!is_of(shot, input, size))
            drawn[n++] = shot;
    }
    return n == shots->options.n ||
           fail_user(error, "--shots %" PRId64 ": task.data has only %" PRId64 " labelled examples with another input",
                     shots->options.n, n);
}

static char *join_shots(const Shots *shots, const Shot *const *drawn, int64_t n, const char *input)
{
    GString *text = g_string_new(NULL);
    for (int64_t i = 0; i < n; i++)
        g_string_append_printf(text, "%s%s", drawn[i]->text, shots->options.separator);
    return g_string_free(g_string_append(text, input), false);
}

/* Number of tokens; -1 on error. */
static int64_t count_tokens(const TaskEncoder *encoder, const char *text, GError **error)
{
    g_autoptr(GArray) ids = g_array_new(false, false, sizeof(int32_t));
    return tokenizer_encode(encoder->tok, text, strlen(text), true, ids, error) ? (int64_t)ids->len : -1;
}

char *shots_prompt(Shots *shots, const TaskEncoder *encoder, const TaskExample *example, int64_t n_target,
                   GError **error)
{
    const int64_t room = task_input_room(encoder, n_target), all = shots->options.n;
    g_autofree const Shot **drawn = g_new(const Shot *, all);
    int64_t first = 0;
    if (!draw_shots(shots, example->input, drawn, error))
        return NULL;
    for (;; first++) {
        g_autofree char *text = join_shots(shots, drawn + first, all - first, example->input);
        const int64_t tokens = first == all ? 0 : count_tokens(encoder, text, error);
        if (tokens < 0)
            return NULL;
        if (tokens > room)
            continue;
        shots->prompts++;
        shots->prompts_cut += first > 0;
        shots->left_out += first;
        return g_steal_pointer(&text);
    }
}

void shots_report(const Shots *shots, const TaskEncoder *encoder, const char *what)
{
    if (shots->prompts_cut > 0)
        log_warning("%s: %" PRId64 " of %" PRId64 " prompts have fewer examples than --shots %" PRId64 ": %" PRId64
                    " were left out at their start, as a sequence has at most %" PRId64 " tokens",
                    what, shots->prompts_cut, shots->prompts, shots->options.n, shots->left_out, encoder->input_length);
}
