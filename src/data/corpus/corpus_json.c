/* corpus_json.c: documents of JSON lines. */
#include "base/foreign.h"
#include "data/corpus/corpus_reading.h"

#include <string.h>

static bool fail_no_field(Corpus *corpus, const char *field, GError **error)
{
    g_autoptr(GString) names = g_string_new(NULL);
    const char *name;
    json_t *value;
    json_object_foreach(corpus->object, name, value) if (json_is_string(value) && names->len < 200)
        g_string_append_printf(names, "%s\"%s\"", names->len ? ", " : "", name);
    if (names->len == 0)
        return fail_user(error, "%s: no field \"%s\" in the object, nor any other text", corpus->where->str, field);
    return fail_user(error, "%s: no field \"%s\" in the object; choose one with %s: %s", corpus->where->str, field,
                     corpus->options.field_option ? corpus->options.field_option : "--field", names->str);
}

static const char *json_type_name(const json_t *value)
{
    static const char *const names[] = { "an object", "an array", "a string", "a number",
                                         "a number",  "true",     "false",    "null" };
    return names[json_typeof(value)];
}

/* Appends a text, with U+FFFD in place of NUL, which JSON may hold and tokenizers do not accept. */
static void append_without_nuls(Corpus *corpus, const char *text, size_t bytes)
{
    for (const char *end = text + bytes, *nul; text < end; text = nul + 1) {
        nul = memchr(text, 0, (size_t)(end - text));
        g_string_append_len(corpus->document, text, (nul ? nul : end) - text);
        if (!nul)
            return;
        g_string_append(corpus->document, "\xEF\xBF\xBD");
        corpus->counts.nuls++;
    }
}

/* Appends a text to the document, with LF for CRLF. */
static void append_text(Corpus *corpus, const char *text, size_t bytes)
{
    GString *document = corpus->document;
    size_t first = document->len;
    append_without_nuls(corpus, text, bytes);
    size_t length = first + corpus_drop_returns(document->str + first, document->len - first);
    corpus->crlf |= length < document->len;
    g_string_truncate(document, length);
}

/* Gets the document's text from the fields of the JSON object: a single field is not copied, several are joined in
 * corpus->document. */
static bool take_fields(Corpus *corpus, GError **error)
{
    g_string_truncate(corpus->document, 0);
    g_array_set_size(corpus->field_ends, 0);
    for (char **field = corpus->options.fields; *field; field++) {
        const json_t *text = json_object_get(corpus->object, *field);
        if (!text)
            return fail_no_field(corpus, *field, error);
        if (!json_is_string(text))
            return fail_user(error, "%s: field \"%s\" is %s, not a string", corpus->where->str, *field,
                             json_type_name(text));
        corpus->text = json_string_value(text);
        corpus->text_bytes = json_string_length(text);
        if (corpus->options.fields[1] == NULL && !memchr(corpus->text, 0, corpus->text_bytes) &&
            !memchr(corpus->text, '\r', corpus->text_bytes))
            return true;
        if (field != corpus->options.fields)
            g_string_append_c(corpus->document, '\n');
        append_text(corpus, corpus->text, corpus->text_bytes);
        g_array_append_val(corpus->field_ends, corpus->document->len);
    }
    corpus_take_document(corpus);
    return true;
}

/* For a line that begins a list: how the objects of a file that is one list become lines. */
static const char *list_advice(const GString *line)
{
    return line->str[strspn(line->str, " \t")] == '[' ? "; one list of objects becomes lines by: python3 -c 'import "
                                                        "json, sys; [print(json.dumps(row)) for row "
                                                        "in json.load(sys.stdin)]' <FILE >NEW.jsonl"
                                                      : "";
}

static bool parse_object(Corpus *corpus, GError **error)
{
    /* Integers are read as reals, because unrelated fields may contain integers beyond 64 bits. */
    const size_t flags = JSON_ALLOW_NUL | JSON_DECODE_INT_AS_REAL | JSON_DECODE_ANY;
    json_error_t reason;
    json_decref(corpus->object);
    corpus->object = json_loadb(corpus->line->str, corpus->line->len, flags, &reason);
    const char *bad = corpus->object ? NULL : corpus_find_bad_byte(corpus->line);
    if (bad)
        return foreign_fail_byte(corpus->where->str, *bad, error);
    if (!corpus->object)
        return fail_user(error, "%s: not JSON, one object a line: %s (column %d)%s", corpus->where->str, reason.text,
                         reason.column, list_advice(corpus->line));
    if (!json_is_object(corpus->object))
        return fail_user(error, "%s: %s where a line should hold one object%s", corpus->where->str,
                         json_type_name(corpus->object), list_advice(corpus->line));
    return take_fields(corpus, error);
}

Found corpus_next_object(Corpus *corpus, GError **error)
{
    Found found;
    do
        found = corpus_read_line(corpus, error);
    while (found == FOUND_DOCUMENT && corpus_is_blank(corpus->line));
    if (found != FOUND_DOCUMENT)
        return found;
    corpus_set_where(corpus);
    corpus->crlf = false; /* CRLF between objects is not part of any text */
    return parse_object(corpus, error) ? FOUND_DOCUMENT : FOUND_ERROR;
}

/* Whether a line whose end is not known starts like an object: with a brace and a quote. */
static bool starts_like_object(const char *line, size_t bytes)
{
    size_t at = 1;
    while (at < bytes && (line[at] == ' ' || line[at] == '\t'))
        at++;
    return at < bytes && line[0] == '{' && line[at] == '"';
}

bool corpus_starts_with_object(const Corpus *corpus, const char *field)
{
    const char *line = corpus->chunk + corpus->begin;
    size_t bytes = corpus->end - corpus->begin;
    const char *line_end = bytes ? memchr(line, '\n', bytes) : NULL;
    if (!line_end)
        return starts_like_object(line, bytes);
    json_t *object = json_loadb(line, (size_t)(line_end - line), JSON_ALLOW_NUL | JSON_DECODE_INT_AS_REAL, NULL);
    bool found = json_is_object(object) && (!field || json_object_get(object, field));
    json_decref(object);
    return found;
}
