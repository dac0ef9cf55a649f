#include "cli/prompts.h"

#include "base/foreign.h"
#include "base/json_line.h"
#include "base/log.h"
#include "base/text.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define CHUNK_BYTES    (64 << 10)
#define MAX_LINE_BYTES (16 << 20)
#define NAMED_LINES    10 /* lines left out that are named one by one */

struct PromptReader {
    int descriptor;
    const char *name; /* name of the input, for error messages */
    PromptFormat format;
    GString *buffer; /* bytes that were read and are not yet split into lines */
    bool end;
    int64_t number;  /* number of the last line, counted from 1 */
    int64_t skipped; /* lines that were left out */
};

PromptFormat prompt_format(Model *model, const Tokenizer *tok)
{
    const ModelConfig *config = model_config(model);
    const int64_t positions = model_config_bounds_length(config) ? config->max_positions : MAX_PROMPT_TOKENS;
    PromptFormat format = { .tok = tok,
                            .vocab = config->vocab,
                            .start = -1,
                            .mask = -1,
                            .padding = -1,
                            .most_tokens = MIN(positions, MAX_PROMPT_TOKENS) };
    if (model_config_architecture(config) == ARCHITECTURE_ROBERTA &&
        model_roles(model)->pad == (int32_t)config->position_offset - 1)
        format.padding = model_roles(model)->pad;
    if (config->n_enc == 0)
        format.start = model_roles(model)->bos;
    if (tok == NULL)
        return format;
    format.frame = model_text_frame(config, tok);
    if (config->n_dec == 0)
        format.mask = tokenizer_encoder_role(tok, ROLE_MASK);
    return format;
}

static void prompt_free(void *prompt)
{
    Prompt *p = prompt;
    g_free(p->text);
    g_array_unref(p->ids);
    g_free(p);
}

static bool add_id(GArray *ids, int64_t id, int64_t vocab, GError **error)
{
    if (id < 0 || id >= vocab)
        return fail_user(error, "\"%" PRId64 "\" is not a token id; ids are 0 to %" PRId64, id, vocab - 1);
    int32_t value = (int32_t)id;
    g_array_append_val(ids, value);
    return true;
}

static bool parse_ids(const char *line, int64_t vocab, GArray *ids, GError **error)
{
    g_auto(GStrv) words = g_strsplit_set(line, " \t", -1);
    for (char **word = words; *word; word++) {
        if (**word == '\0')
            continue;
        char *end;
        int64_t id = g_ascii_strtoll(*word, &end, 10);
        if (*end)
            return fail_user(error, "\"%s\" is not a token id; ids are 0 to %" PRId64, *word, vocab - 1);
        if (!add_id(ids, id, vocab, error))
            return false;
    }
    return true;
}

static bool parse_text(const PromptFormat *format, const char *text, GArray *ids, GError **error)
{
    if (format->as_ids)
        return parse_ids(text, format->vocab, ids, error);
    if (format->tok == NULL)
        return fail_user(error, "it is text, and the model has no tokenizer with it: give one, or token ids");
    frame_append(ids, &format->frame.before);
    if (!tokenizer_encode(format->tok, text, strlen(text), true, ids, error))
        return false;
    frame_append(ids, &format->frame.after);
    return true;
}

static bool parse_array(const PromptFormat *format, const json_t *array, GArray *ids, GError **error)
{
    for (size_t i = 0; i < json_array_size(array); i++) {
        const json_t *id = json_array_get(array, i);
        if (!json_is_integer(id))
            return fail_user(error, "item %zu of the array is not a token id", i);
        if (!add_id(ids, json_integer_value(id), format->vocab, error))
            return false;
    }
    return true;
}

/* Appends format->start to a prompt without tokens. */
static void start_empty(const PromptFormat *format, GArray *ids)
{
    if (ids->len == 0 && format->start >= 0)
        g_array_append_val(ids, format->start);
}

bool prompt_parse_json(const PromptFormat *format, const json_t *value, const char *name, GArray *ids, GError **error)
{
    if (!json_is_array(value) && !json_is_string(value))
        return fail_user(error, "no text and no array of ids in a field \"%s\"", name);
    bool read = json_is_array(value) ? parse_array(format, value, ids, error)
                                     : parse_text(format, json_string_value(value), ids, error);
    start_empty(format, ids);
    return read;
}

static bool parse_object(const PromptFormat *format, const char *line, Prompt *prompt, GError **error)
{
    json_error_t reason;
    json_auto_t *object = json_loads(line, JSON_REJECT_DUPLICATES, &reason);
    if (object == NULL)
        return json_fail(&reason, error);
    const json_t *value = json_object_get(object, format->field);
    g_autofree char *shown = value ? json_dumps(value, JSON_COMPACT | JSON_ENCODE_ANY) : NULL;
    prompt->text = json_is_string(value) ? g_strdup(json_string_value(value)) : g_strdup(shown);
    prompt->framed = json_is_string(value) && !format->as_ids;
    return prompt_parse_json(format, value, format->field, prompt->ids, error);
}

/* Warns once of a padding token in a text of RoBERTa. */
static void remark_padding(const PromptFormat *format, const GArray *ids)
{
    static bool said;
    for (guint i = 0; i < ids->len && !said; i++)
        if (format->padding >= 0 && g_array_index(ids, int32_t, i) == format->padding) {
            log_warning("a text has id %d, RoBERTa's padding: transformers gives it, and what follows, other positions",
                        format->padding);
            said = true;
        }
}

static bool parse_line(const PromptFormat *format, const char *line, Prompt *prompt, GError **error)
{
    if (format->as_lines) {
        prompt->text = g_strdup(line);
        return true;
    }
    if (format->field) {
        if (!parse_object(format, line, prompt, error))
            return false;
    } else {
        prompt->text = g_strdup(line);
        prompt->framed = !format->as_ids;
        if (!parse_text(format, line, prompt->ids, error))
            return false;
        start_empty(format, prompt->ids);
    }
    remark_padding(format, prompt->ids);
    if (format->most_tokens > 0 && prompt->ids->len > format->most_tokens)
        return fail_user(error, "%u tokens; a prompt has at most %" PRId64 "%s", prompt->ids->len, format->most_tokens,
                         format->most_tokens < MAX_PROMPT_TOKENS ? ", the positions of this model" : "");
    return prompt->ids->len > 0 ||
           fail_user(error, "an empty prompt, and it is unknown which token begins a text of this model");
}

/* Reads until the buffer holds a complete line, or the input ends. */
static bool fill_buffer(PromptReader *reader, GError **error)
{
    const GString *buffer = reader->buffer;
    while (!reader->end && memchr(buffer->str, '\n', buffer->len) == NULL) {
        char chunk[CHUNK_BYTES];
        ssize_t n = read(reader->descriptor, chunk, sizeof chunk);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return fail_errno(error, "cannot read", reader->name);
        reader->end = n == 0;
        g_string_append_len(reader->buffer, chunk, n);
        if (buffer->len > MAX_LINE_BYTES && memchr(buffer->str, '\n', buffer->len) == NULL)
            return fail_user(error, "%s, line %" PRId64 ": longer than %d MiB", reader->name, reader->number + 1,
                             MAX_LINE_BYTES >> 20);
    }
    return true;
}

/* Finds the next line of the buffer, which starts at *at, without its newline; skips a byte order mark at the start of
 * the input. False if no complete line is left. */
static bool next_prompt_line(const PromptReader *reader, size_t *at, const char **line, size_t *bytes)
{
    if (reader->number == 0)
        *at = text_mark_bytes(reader->buffer->str, reader->buffer->len);
    size_t left = reader->buffer->len - *at;
    const char *start = reader->buffer->str + *at, *end = memchr(start, '\n', left);
    if (end == NULL && (!reader->end || left == 0))
        return false;
    size_t length = end ? (size_t)(end - start) : left;
    *at += length + (end != NULL);
    *line = start;
    *bytes = length - (length > 0 && start[length - 1] == '\r');
    return true;
}

static bool take_prompt_line(const PromptFormat *format, const char *line, size_t bytes, Prompt *prompt, GError **error)
{
    if (memchr(line, 0, bytes))
        return foreign_fail_byte("the line", 0, error);
    g_autofree char *text = g_strndup(line, bytes);
    return parse_line(format, text, prompt, error);
}

bool lines_skip(bool skips, int64_t *skipped, GError **problem)
{
    if (!skips || (*problem)->code != LOAM_ERROR_USER)
        return false;
    if ((*skipped)++ < NAMED_LINES)
        log_warning("left out: %s", (*problem)->message);
    g_clear_error(problem);
    return true;
}

void lines_tell_skipped(int64_t skipped)
{
    if (skipped > 0)
        log_info("lines left out, since they could not be read: %" PRId64, skipped);
}

bool prompts_skip(PromptReader *reader, GError **problem)
{
    return lines_skip(reader->format.skip_errors, &reader->skipped, problem);
}

/* Appends the prompts of the complete lines in the buffer, at most `most`. */
static bool take_lines(PromptReader *reader, guint most, GPtrArray *prompts, GError **error)
{
    size_t at = 0;
    bool good = true;
    const char *line;
    size_t bytes;
    while (good && prompts->len < most && next_prompt_line(reader, &at, &line, &bytes)) {
        Prompt *prompt = g_new0(Prompt, 1);
        prompt->ids = g_array_new(false, false, sizeof(int32_t));
        prompt->line = ++reader->number;
        GError *problem = NULL;
        if (take_prompt_line(&reader->format, line, bytes, prompt, &problem)) {
            g_ptr_array_add(prompts, prompt);
            continue;
        }
        prompt_free(prompt);
        fail_context(&problem, "%s, line %" PRId64, reader->name, reader->number);
        good = prompts_skip(reader, &problem);
        if (!good)
            g_propagate_error(error, problem);
    }
    g_string_erase(reader->buffer, 0, (gssize)at);
    return good;
}

/* Waits for a line, then appends all prompts that are available, at most `most`. Appends none at the end of input.
 * After an invalid line it fails, with the prompts before that line appended. */
static bool read_prompts(PromptReader *reader, guint most, GPtrArray *prompts, GError **error)
{
    const GString *buffer = reader->buffer;
    bool good = true;
    while (good && prompts->len == 0 && !(reader->end && buffer->len == 0)) {
        if (!fill_buffer(reader, error) ||
            (reader->number == 0 && !foreign_check_start(reader->name, buffer->str, buffer->len, error)))
            return false;
        good = take_lines(reader, most, prompts, error);
    }
    return good;
}

bool prompts_each(int descriptor, const char *name, const PromptFormat *format, guint most, PromptsFn take,
                  void *context, GError **error)
{
    PromptReader reader = { .descriptor = descriptor, .name = name, .format = *format, .buffer = g_string_new(NULL) };
    bool more = true, good = true;
    if (isatty(descriptor))
        log_info("type a line and press Enter to get its answer; Ctrl-D ends");
    while (good && more) {
        g_autoptr(GPtrArray) prompts = g_ptr_array_new_with_free_func(prompt_free);
        GError *problem = NULL;
        const bool read = read_prompts(&reader, most, prompts, &problem);
        more = prompts->len > 0;
        good = !more || take(context, &reader, prompts, error);
        if (good && !read)
            g_propagate_error(error, g_steal_pointer(&problem));
        g_clear_error(&problem);
        good = good && read;
    }
    lines_tell_skipped(reader.skipped);
    g_string_free(reader.buffer, true);
    return good;
}
