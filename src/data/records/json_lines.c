/* json_lines.c: JSON lines, of which each is a record. */
#include "base/foreign.h"
#include "base/json_line.h"
#include "data/records/reader.h"

#include <string.h>

/* ---- values, of labelled data ---- */

/* Bytes of the string at the start of the text, with its quotes. */
static size_t string_bytes(const char *text)
{
    size_t n = 1;
    while (text[n] && text[n] != '"')
        n += text[n] == '\\' && text[n + 1] ? 2 : 1;
    return n + (text[n] == '"');
}

/* The text with quotes around Python's numbers that jansson refuses: integers over 64 bits, NaN, Infinity; with
 * `misses`, NaN becomes null: pandas writes it for a cell that is missing. g_free. */
static char *quote_numbers(const char *text, bool misses)
{
    GString *out = g_string_sized_new(strlen(text) + 64);
    for (size_t n; *text; text += n) {
        const size_t digits = strspn(text, "+-.0123456789eENafInity");
        n = *text == '"' ? string_bytes(text) : MAX(digits, 1);
        if (misses && digits == 3 && strncmp(text, "NaN", digits) == 0)
            g_string_append(out, "null");
        else if (digits > 18 || (digits > 0 && (*text == 'N' || memchr(text, 'I', digits))))
            g_string_append_printf(out, "\"%.*s\"", (int)digits, text);
        else
            g_string_append_len(out, text, (gssize)n);
    }
    return g_string_free(out, false);
}

/* The four hexadecimal digits of the escape \u at the start of the text; -1 means that it has none. */
static int escaped_unit(const char *text)
{
    int unit = 0;
    if (text[0] != '\\' || text[1] != 'u')
        return -1;
    for (int i = 2; i < 6; i++) {
        const int digit = g_ascii_xdigit_value(text[i]);
        if (digit < 0)
            return -1;
        unit = unit * 16 + digit;
    }
    return unit;
}

/* The JSON text with "\ufffd" for escapes of NUL and of half a surrogate pair, which no text can hold. g_free. */
static char *replace_escapes(const char *text)
{
    GString *out = g_string_sized_new(strlen(text));
    while (*text) {
        const int unit = escaped_unit(text), next = unit >= 0xd800 && unit < 0xdc00 ? escaped_unit(text + 6) : -1;
        const bool pair = next >= 0xdc00 && next < 0xe000, bad = !pair && (unit == 0 || (unit & 0xf800) == 0xd800);
        const size_t n = pair ? 12 : unit >= 0 ? 6 : text[0] == '\\' && text[1] ? 2 : 1;
        g_string_append_len(out, bad ? "\\ufffd" : text, (gssize)n);
        text += n;
    }
    return g_string_free(out, false);
}

static json_t *parse_line(RecordReader *reader, const char *line, json_error_t *reason)
{
    json_t *root = json_loads(line, JSON_REJECT_DUPLICATES, reason);
    reader->replaced = false;
    if (root)
        return root;
    g_autofree char *text = quote_numbers(line, !reader->source.any_text);
    root = json_loads(text, JSON_REJECT_DUPLICATES, NULL);
    if (root || !reader->source.any_text)
        return root;
    g_autofree char *other = replace_escapes(text);
    root = json_loads(other, JSON_REJECT_DUPLICATES, NULL);
    reader->replaced = root != NULL;
    return root;
}

static Found next_values(RecordReader *reader, GError **error)
{
    json_error_t reason;
    const Found found = reader_next_row(reader, error);
    if (found != FOUND_RECORD)
        return found;
    const char *line = reader->lines[0]->line->str;
    json_t *root = parse_line(reader, line, &reason);
    if (root)
        return reader_take_root(reader, root, error);
    if (*line == '[' && json_error_code(&reason) != json_error_null_character)
        fail_user(error, "not JSON: %s; one list of all records is read with task.format=json task.rows=[]",
                  reason.text);
    else
        json_fail(&reason, error);
    fail_context(error, "%s: column %d", reader->where->str, reason.column);
    return FOUND_ERROR;
}

/* ---- texts, of a corpus ---- */

/* For a line that begins a list: how the objects of a file that is one list become lines. */
static const char *list_advice(const GString *line)
{
    return line->str[strspn(line->str, " \t")] == '[' ? "; one list of objects becomes lines by: python3 -c 'import "
                                                        "json, sys; [print(json.dumps(row)) for row "
                                                        "in json.load(sys.stdin)]' <FILE >NEW.jsonl"
                                                      : "";
}

/* Reads the object of the current line; NULL with an error. */
static json_t *parse_object(RecordReader *reader, GError **error)
{
    /* Integers are read as reals, because unrelated fields may contain integers beyond 64 bits. */
    const size_t flags = JSON_ALLOW_NUL | JSON_DECODE_INT_AS_REAL | JSON_DECODE_ANY;
    const GString *line = reader->lines[0]->line;
    json_error_t reason;
    json_t *object = json_loadb(line->str, line->len, flags, &reason);
    const char *bad = object ? NULL : lines_find_bad_byte(line);
    if (json_is_object(object))
        return object;
    if (bad)
        foreign_fail_byte(reader->where->str, *bad, error);
    else if (!object)
        fail_user(error, "%s: not JSON, one object a line: %s (column %d)%s", reader->where->str, reason.text,
                  reason.column, list_advice(line));
    else
        fail_user(error, "%s: %s where a line should hold one object%s", reader->where->str, record_type_name(object),
                  list_advice(line));
    json_decref(object);
    return NULL;
}

static Found next_texts(RecordReader *reader, GError **error)
{
    Found found;
    do
        found = lines_next(reader->lines[0], error);
    while (found == FOUND_RECORD && lines_is_blank(reader->lines[0]->line));
    if (found == FOUND_RECORD || found == FOUND_TOO_LONG)
        reader_set_where(reader);
    if (found == FOUND_TOO_LONG)
        lines_fail_too_long(reader->lines[0], reader->where->str, "a line", reader->source.longer, "", error);
    json_t *object = found == FOUND_RECORD ? parse_object(reader, error) : NULL;
    return object ? reader_take_root(reader, object, error) : found == FOUND_END ? FOUND_END : FOUND_ERROR;
}

static Found next_line(RecordReader *reader, GError **error)
{
    return reader->source.texts ? next_texts(reader, error) : next_values(reader, error);
}

/* ---- the first line ---- */

/* Whether a line whose end is not known starts like an object: with a brace and a quote. */
static bool starts_like_object(const char *line, size_t bytes)
{
    size_t at = 1;
    while (at < bytes && (line[at] == ' ' || line[at] == '\t'))
        at++;
    return at < bytes && line[0] == '{' && line[at] == '"';
}

/* Whether the first line of the file is a JSON object that has `field` (NULL means any object), or starts like an
 * object and is longer than the bytes that were read. */
static bool starts_with_object(const Lines *lines, const char *field)
{
    const char *line = lines->bytes + lines->begin;
    size_t bytes = lines->end - lines->begin;
    const char *line_end = bytes ? memchr(line, '\n', bytes) : NULL;
    if (!line_end)
        return starts_like_object(line, bytes);
    json_auto_t *object = json_loadb(line, (size_t)(line_end - line), JSON_ALLOW_NUL | JSON_DECODE_INT_AS_REAL, NULL);
    return json_is_object(object) && (!field || json_object_get(object, field));
}

static bool open_lines(RecordReader *reader, GError **error)
{
    const RecordSource *source = &reader->source;
    if (!reader_open_lines(reader, error))
        return false;
    if (source->otherwise && !starts_with_object(reader->lines[0], source->first_field))
        reader->format = source->otherwise;
    return true;
}

const RecordKind jsonl_records = { .suffixes = { ".jsonl", ".ndjson" },
                                   .corpus_suffixes = { ".jsonl", ".ndjson", ".json" },
                                   .traits = { .values = true },
                                   RECORD_READ(RETURNS_DROPPED, open_lines, next_line),
                                   .keeps_line = true };
