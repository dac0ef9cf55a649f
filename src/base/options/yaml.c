/* options/yaml.c: reads settings from YAML and writes a configuration as YAML. */
#include "base/check.h"
#include "base/error.h"
#include "base/file.h"
#include "base/options/row.h"

#include <string.h>
#include <yaml.h>

#define MAX_FILE_BYTES ((size_t)1 << 20)
#define MAX_EXTENDS    16

/* One file being read. */
typedef struct Reader {
    yaml_parser_t parser;
    yaml_event_t event; /* the last one; its texts are valid until next_event */
    const char *path;
    const char *text; /* of the file */
    size_t bytes;
    GPtrArray *settings;      /* OptionSetting * of this file only */
    GHashTable *lines;        /* name of an option or group -> number of the line that sets it (GINT_TO_POINTER) */
    char *extends;            /* path after `extends:`; NULL means there is none */
    unsigned long extends_at; /* number of its line */
} Reader;

/* ---- reading ---- */

/* The line of the last event. */
static unsigned long line_of(const Reader *reader)
{
    return reader->event.start_mark.line + 1;
}

/* Fails with "PATH:LINE: NAME: WHY"; without "NAME: " if name is NULL. */
static void *refuse(const Reader *reader, const char *name, const char *why, GError **error)
{
    return fail_user(error, "%s:%lu: %s%s%s", reader->path, line_of(reader), name ? name : "", name ? ": " : "", why);
}

/* Refuses anchors and tags at the start of a map or list. */
static bool check_unmarked(const Reader *reader, const char *name, GError **error)
{
    const yaml_event_t *event = &reader->event;
    bool map = event->type == YAML_MAPPING_START_EVENT;
    bool marked = map ? event->data.mapping_start.anchor || event->data.mapping_start.tag
                      : event->data.sequence_start.anchor || event->data.sequence_start.tag;
    return !marked || refuse(reader, name, "anchors (&name) and tags (!name) are not accepted", error);
}

/* Whether a tab is among the white space at the start of a line, which is counted from 0. */
static bool is_indented_by_tab(const Reader *reader, size_t line)
{
    const char *at = reader->text, *end = at + reader->bytes;
    for (; at && line > 0; line--) {
        const char *next = memchr(at, '\n', (size_t)(end - at));
        at = next ? next + 1 : NULL;
    }
    while (at && at < end && *at == ' ')
        at++;
    return at && at < end && *at == '\t';
}

static bool next_event(Reader *reader, GError **error)
{
    const yaml_parser_t *parser = &reader->parser;
    yaml_event_delete(&reader->event);
    if (yaml_parser_parse(&reader->parser, &reader->event))
        return true;
    const char *problem = parser->problem ? parser->problem : "unknown trouble";
    if (parser->error == YAML_MEMORY_ERROR)
        return fail_machine(error, "%s: no memory to parse it", reader->path);
    if (parser->error == YAML_READER_ERROR)
        return fail_user(error, "%s: not a text file in UTF-8: %s at byte %zu", reader->path, problem,
                         parser->problem_offset);
    if (is_indented_by_tab(reader, parser->problem_mark.line))
        return fail_user(error, "%s:%zu: the line is indented by a tab; YAML requires spaces", reader->path,
                         parser->problem_mark.line + 1);
    return fail_user(error, "%s:%zu: not YAML: %s", reader->path, parser->problem_mark.line + 1, problem);
}

/* The text of a scalar; NULL, with an error, for aliases, anchors, tags, lists and maps. */
static const char *scalar_text(const Reader *reader, const char *name, GError **error)
{
    const yaml_event_t *event = &reader->event;
    const char *why = NULL;
    if (event->type == YAML_ALIAS_EVENT)
        why = "an alias (*name) is not accepted here, write the value itself";
    else if (event->type == YAML_SEQUENCE_START_EVENT)
        why = "a list is not accepted here, write one value";
    else if (event->type != YAML_SCALAR_EVENT)
        why = "a map is not accepted here, write one value; a text that begins with { stands in quotes: \"{text}\"";
    else if (event->data.scalar.anchor)
        why = "an anchor (&name) is not accepted here, write only the value";
    else if (event->data.scalar.tag)
        why = "a tag (!name) is not accepted here, write only the value";
    else if (strlen((const char *)event->data.scalar.value) != event->data.scalar.length)
        why = "a NUL character is not accepted here";
    if (why == NULL)
        return (const char *)event->data.scalar.value;
    return refuse(reader, name, why, error);
}

/* Records the line that sets a name; an error if the file has set it before. */
static bool note_line(Reader *reader, const char *name, GError **error)
{
    gpointer before = g_hash_table_lookup(reader->lines, name);
    if (before)
        return fail_user(error, "%s:%lu: %s is set twice, first in line %d", reader->path, line_of(reader), name,
                         GPOINTER_TO_INT(before));
    g_hash_table_insert(reader->lines, g_strdup(name), GINT_TO_POINTER((int)line_of(reader)));
    return true;
}

static bool add_value(Reader *reader, const char *name, const char *value, GError **error)
{
    if (strcmp(name, "extends") == 0) {
        if (*value == '\0')
            return refuse(reader, name, "write the name of a YAML file", error);
        reader->extends = g_strdup(value);
        reader->extends_at = line_of(reader);
        return true;
    }
    g_autofree char *origin = g_strdup_printf("%s:%lu", reader->path, line_of(reader));
    option_settings_add(reader->settings, name, value, origin);
    return true;
}

/* Reads the keys and values of a map within a list, whose start is the last event. */
static bool read_item_map(Reader *reader, const char *name, GStrvBuilder *item, GError **error)
{
    g_autoptr(GHashTable) keys = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
    for (bool is_key = true; next_event(reader, error); is_key = !is_key) {
        if (reader->event.type == YAML_MAPPING_END_EVENT)
            return true;
        const char *text = scalar_text(reader, name, error);
        if (text == NULL)
            return false;
        if (is_key && !g_hash_table_add(keys, g_strdup(text)))
            return fail_user(error, "%s:%lu: %s: %s is set twice", reader->path, line_of(reader), name, text);
        g_strv_builder_add(item, text);
    }
    return false;
}

/* Reads one item of a list, whose first event is the last one. */
static bool read_item(Reader *reader, const char *name, GPtrArray *items, GError **error)
{
    g_autoptr(GStrvBuilder) item = g_strv_builder_new();
    if (reader->event.type == YAML_MAPPING_START_EVENT) {
        if (!check_unmarked(reader, name, error) || !read_item_map(reader, name, item, error))
            return false;
    } else {
        const char *text = scalar_text(reader, name, error);
        if (!text)
            return false;
        g_strv_builder_add_many(item, "", text, NULL);
    }
    g_ptr_array_add(items, g_strv_builder_end(item));
    return true;
}

/* Reads a list, whose start is the last event. */
static bool read_list(Reader *reader, const char *name, GError **error)
{
    if (!check_unmarked(reader, name, error) || !add_value(reader, name, "", error))
        return false;
    OptionSetting *setting = g_ptr_array_index(reader->settings, reader->settings->len - 1);
    setting->items = g_ptr_array_new_with_free_func((GDestroyNotify)g_strfreev);
    while (next_event(reader, error)) {
        if (reader->event.type == YAML_SEQUENCE_END_EVENT)
            return true;
        if (!read_item(reader, name, setting->items, error))
            return false;
    }
    return false;
}

static bool read_yaml_map(Reader *reader, const char *group, GError **error);

/* Whether the event is the empty value of "group:" with nothing after the colon. */
static bool is_empty_group(const yaml_event_t *event, const char *group)
{
    return group == NULL && event->type == YAML_SCALAR_EVENT && event->data.scalar.length == 0 &&
           event->data.scalar.style == YAML_PLAIN_SCALAR_STYLE;
}

static bool read_value(Reader *reader, const char *group, const char *name, GError **error)
{
    const bool is_option = strchr(name, '.') != NULL, extends = strcmp(name, "extends") == 0;
    if (!next_event(reader, error))
        return false;
    if (reader->event.type == YAML_MAPPING_START_EVENT && group == NULL && !extends)
        return check_unmarked(reader, name, error) && read_yaml_map(reader, name, error);
    if (reader->event.type == YAML_SEQUENCE_START_EVENT && is_option)
        return read_list(reader, name, error);
    if (is_empty_group(&reader->event, group) && !is_option && !extends)
        return true;
    const char *value = scalar_text(reader, name, error);
    return value && add_value(reader, name, value, error);
}

/* Reads the keys and values of a map, whose start is the last event. `group` is NULL at the top of the file. */
static bool read_yaml_map(Reader *reader, const char *group, GError **error)
{
    while (next_event(reader, error)) {
        if (reader->event.type == YAML_MAPPING_END_EVENT)
            return true;
        const char *key = scalar_text(reader, group, error);
        g_autofree char *name = key && group ? g_strconcat(group, ".", key, NULL) : g_strdup(key);
        if (!key || !note_line(reader, name, error) || !read_value(reader, group, name, error))
            return false;
    }
    return false;
}

static bool read_root(Reader *reader, GError **error)
{
    const yaml_event_t *event = &reader->event;
    if (event->type == YAML_MAPPING_START_EVENT)
        return check_unmarked(reader, NULL, error) && read_yaml_map(reader, NULL, error);
    if (event->type == YAML_SCALAR_EVENT && event->data.scalar.length == 0)
        return true; /* "---" and nothing else */
    return refuse(reader, NULL, "a configuration is a map: write \"group:\" and \"  key: value\" lines", error);
}

static bool read_yaml_document(Reader *reader, GError **error)
{
    bool seen = false;
    while (next_event(reader, error)) {
        const yaml_event_type_t type = reader->event.type;
        if (type == YAML_STREAM_END_EVENT)
            return true;
        if (type == YAML_STREAM_START_EVENT || type == YAML_DOCUMENT_END_EVENT)
            continue;
        if (type == YAML_DOCUMENT_START_EVENT && seen)
            return refuse(reader, NULL, "a second document is not accepted", error);
        if (type == YAML_DOCUMENT_START_EVENT)
            seen = true;
        else if (!read_root(reader, error))
            return false;
    }
    return false;
}

static bool read_yaml_file(GPtrArray *settings, const char *path, GPtrArray *chain, GError **error);

/* Reads the file that `extends` names; `chain` holds the canonical paths of the files that are being read. */
static bool read_extended(const Reader *reader, GPtrArray *settings, GPtrArray *chain, GError **error)
{
    g_autofree char *folder = g_path_get_dirname(reader->path);
    g_autofree char *path = g_path_is_absolute(reader->extends) || strcmp(folder, ".") == 0
                                ? g_strdup(reader->extends)
                                : g_build_filename(folder, reader->extends, NULL);
    g_autofree char *canonical = g_canonicalize_filename(path, NULL);
    if (g_ptr_array_find_with_equal_func(chain, canonical, g_str_equal, NULL))
        return fail_user(error, "%s:%lu: extends: %s is already being read, files extend each other in a circle",
                         reader->path, reader->extends_at, path);
    if (chain->len > MAX_EXTENDS)
        return fail_user(error, "%s:%lu: extends: more than %d files deep", reader->path, reader->extends_at,
                         MAX_EXTENDS);
    if (read_yaml_file(settings, path, chain, error))
        return true;
    if (!g_file_test(path, G_FILE_TEST_EXISTS))
        fail_context(error, "%s:%lu: extends", reader->path, reader->extends_at);
    return false;
}

static bool read_yaml_file(GPtrArray *settings, const char *path, GPtrArray *chain, GError **error)
{
    Reader reader = { .path = path };
    g_autofree char *text = io_read_file(path, MAX_FILE_BYTES, &reader.bytes, error);
    if (text == NULL)
        return false;
    g_ptr_array_add(chain, g_canonicalize_filename(path, NULL));
    reader.text = text;
    reader.settings = option_settings_new();
    reader.lines = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
    CHECK(yaml_parser_initialize(&reader.parser), "libyaml");
    yaml_parser_set_input_string(&reader.parser, (const unsigned char *)text, reader.bytes);
    bool ok = read_yaml_document(&reader, error);
    if (ok && reader.extends)
        ok = read_extended(&reader, settings, chain, error);
    if (ok)
        g_ptr_array_extend_and_steal(settings, g_steal_pointer(&reader.settings));
    else
        g_ptr_array_unref(reader.settings);
    yaml_event_delete(&reader.event);
    yaml_parser_delete(&reader.parser);
    g_hash_table_unref(reader.lines);
    g_free(reader.extends);
    return ok;
}

bool option_settings_read_yaml(GPtrArray *settings, const char *path, GError **error)
{
    g_autoptr(GPtrArray) chain = g_ptr_array_new_with_free_func(g_free);
    return read_yaml_file(settings, path, chain, error);
}

/* ---- writing ---- */

/* Whether the text can be written in YAML without quotes; false in doubt. */
static bool is_plain(const char *text)
{
    static const char safe[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_./";
    if (*text == '\0' || strchr(safe, *text) == NULL)
        return false;
    for (const char *p = text; *p; p++) {
        bool lone_space = *p == ' ' && p[1] != ' ' && p[1] != '\0';
        if (!lone_space && strchr(safe, *p) == NULL && strchr("+-=@,", *p) == NULL)
            return false;
    }
    return true;
}

/* Characters that YAML refuses even in quotes (control characters) or folds (line breaks, Unicode's too). */
static bool must_escape(gunichar c)
{
    return c < 0x20 || (c >= 0x7f && c < 0xa0) || c == 0x2028 || c == 0x2029 || c == 0xfeff || c == 0xfffe ||
           c == 0xffff;
}

static char *quoted(const char *text)
{
    GString *out = g_string_new("\"");
    for (const char *p = text; *p; p = g_utf8_next_char(p)) {
        gunichar c = g_utf8_get_char(p);
        if (c == '"' || c == '\\')
            g_string_append_printf(out, "\\%c", (int)c);
        else if (must_escape(c))
            g_string_append_printf(out, "\\u%04x", c);
        else
            g_string_append_unichar(out, c);
    }
    g_string_append_c(out, '"');
    return g_string_free(out, FALSE);
}

char *options_value(const OptionTable *table, const void *config, const OptionRow *row)
{
    g_autofree char *text = options_plain_value(table, config, row);
    const bool plain = (row->type != OPT_STRING && row->type != OPT_LIST) || is_plain(text);
    return plain ? g_steal_pointer(&text) : quoted(text);
}

char *options_to_yaml(const OptionTable *table, const void *config)
{
    GString *text = g_string_new(NULL);
    g_autoptr(GPtrArray) rows = option_rows(table);
    for (guint i = 0; i < rows->len; i++) {
        const OptionRow *row = rows->pdata[i];
        g_autofree char *value = options_value(table, config, row);
        if (option_opens_group(rows, i))
            g_string_append_printf(text, "%.*s:\n", (int)option_group_length(row->name), row->name);
        g_string_append_printf(text, "  %s: %s\n", option_key(row->name), value);
    }
    return g_string_free(text, FALSE);
}
