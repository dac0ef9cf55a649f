#include "eval/generate.h"
#include "base/log.h"
#include "cli/cli.h"
#include "train/open.h"

#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define USAGE "loam generate --model MODEL [--max-tokens N] [--fill] [--ids] [--json] < LINES"

static const char about[] =
    "Answers every line of standard input with one line: greedy decoding (the likeliest token each time). For T5 a "
    "line holds\n"
    "blanks <extra_id_0>, <extra_id_1> …, and the answer says what belongs in each; --fill prints the whole line with "
    "its\n"
    "blanks filled instead. MODEL is a run directory, a checkpoint or a Hugging Face folder.\n\n"
    "  echo \"The <extra_id_0> walks in <extra_id_1> park\" | loam generate --model runs/a\n";

static char *model_path, *tokenizer_file;
static int64_t max_tokens = 64;
static gboolean fill, as_ids, as_json;
static const GOptionEntry entries[] = {
    { "model", 0, 0, G_OPTION_ARG_FILENAME, &model_path, "the model", "MODEL" },
    { "tokenizer", 0, 0, G_OPTION_ARG_FILENAME, &tokenizer_file, "tokenizer, where the model has none with it",
      "FILE" },
    { "max-tokens", 0, 0, G_OPTION_ARG_INT64, &max_tokens, "longest answer in tokens (default 64)", "N" },
    { "fill", 0, 0, G_OPTION_ARG_NONE, &fill, "print the line with its blanks filled", NULL },
    { "ids", 0, 0, G_OPTION_ARG_NONE, &as_ids, "prompts are token ids, separated by spaces", NULL },
    { "json", 0, 0, G_OPTION_ARG_NONE, &as_json, "one JSON object a line: prompt, text, ids, logprob", NULL },
    { 0 },
};

static bool parse_ids(const char *line, int64_t vocab, GArray *ids, GError **error)
{
    g_auto(GStrv) words = g_strsplit_set(line, " \t", -1);
    for (char **word = words; *word; word++) {
        if (**word == '\0')
            continue;
        char *end;
        int64_t id = g_ascii_strtoll(*word, &end, 10);
        if (*end || id < 0 || id >= vocab)
            return fail_user(error, "\"%s\" is not a token id; ids are 0 to %" PRId64, *word, vocab - 1);
        int32_t value = (int32_t)id;
        g_array_append_val(ids, value);
    }
    return true;
}

static bool read_prompt(const char *line, const Tokenizer *tok, int64_t vocab, GArray *ids, GError **error)
{
    if (as_ids)
        return parse_ids(line, vocab, ids, error);
    int32_t eos = tokenizer_eos(tok);
    if (!tokenizer_encode(tok, line, strlen(line), true, ids, error))
        return false;
    g_array_append_val(ids, eos);
    return true;
}

static void print_json(const char *prompt, const char *text, const Generation *generation)
{
    json_t *ids = json_array();
    for (guint i = 0; i < generation->ids->len; i++)
        json_array_append_new(ids, json_integer(g_array_index(generation->ids, int32_t, i)));
    json_t *object = json_pack("{s:s, s:s, s:o, s:f, s:b}", "prompt", prompt, "text", text, "ids", ids, "logprob",
                               generation->logprob, "finished", generation->finished);
    char *line = json_dumps(object, JSON_COMPACT);
    puts(line);
    free(line);
    json_decref(object);
}

static bool answer(Model *model, const Tokenizer *tok, const char *line, GError **error)
{
    g_autoptr(GArray) ids = g_array_new(false, false, sizeof(int32_t));
    if (!read_prompt(line, tok, model_config(model)->vocab, ids, error))
        return false;
    if (ids->len == 0)
        return fail_user(error, "an empty prompt");
    const int32_t *inputs = (const int32_t *)(void *)ids->data;
    Generation generation;
    bool done = generate_greedy(model, inputs, ids->len, max_tokens, tokenizer_eos(tok), &generation, error);
    if (done) {
        const int32_t *out = (const int32_t *)(void *)generation.ids->data;
        g_autofree char *text = fill ? generate_fill(tok, inputs, ids->len, generation.ids, error)
                                     : tokenizer_decode(tok, out, generation.ids->len, error);
        done = text != NULL;
        if (done && as_json)
            print_json(line, text, &generation);
        else if (done)
            puts(text);
        fflush(stdout);
    }
    generation_clear(&generation);
    return done;
}

static bool answer_lines(Model *model, const Tokenizer *tok, GError **error)
{
    size_t capacity = 0;
    ssize_t n;
    int64_t number = 0;
    bool done = true;
    char *buffer = NULL;
    while (done && (n = getline(&buffer, &capacity, stdin)) >= 0) {
        number++;
        buffer[strcspn(buffer, "\r\n")] = '\0';
        done = answer(model, tok, buffer, error) || fail_context(error, "standard input, line %" PRId64, number);
    }
    free(buffer);
    return done;
}

static bool generate(Device *dev, GError **error)
{
    g_autofree char *found = NULL;
    Model *model = model_open_path(model_path, dev, false, &found, error);
    if (model == NULL)
        return false;
    const char *path = tokenizer_file ? tokenizer_file : found;
    Tokenizer *tok = NULL;
    bool done = path ? (tok = tokenizer_open(path, error)) != NULL
                     : fail_user(error, "%s has no tokenizer with it; give --tokenizer FILE", model_path);
    done = done && answer_lines(model, tok, error);
    g_clear_pointer(&tok, tokenizer_close);
    model_close(model);
    return done;
}

bool verb_generate(int argc, char **argv, GError **error)
{
    if (!cli_parse(&argc, &argv, entries, USAGE, about, error))
        return false;
    if (model_path == NULL)
        return fail_user(error, "--model is missing; usage: " USAGE);
    if (max_tokens < 1 || max_tokens > 1 << 20)
        return fail_user(error, "--max-tokens %" PRId64 " is out of range, it must be between 1 and %d", max_tokens,
                         1 << 20);
    Device *dev = device_open_cpu(0);
    bool done = generate(dev, error);
    device_close(dev);
    return done;
}
