#include "base/check.h"
#include "base/error.h"
#include "base/file.h"
#include "base/options.h"

#include <string.h>
#include <yaml.h>

#define MAX_FILE_BYTES ((size_t)1 << 20)
#define MAX_EXTENDS    16

/* One file being read. */
typedef struct Reader {
    yaml_parser_t parser;
    const char *path;
    GPtrArray *settings;      /* of this file alone */
    GHashTable *lines;        /* option or group -> line (GINT_TO_POINTER) where it was set */
    char *extends;            /* NULL, or the file whose settings come first */
    unsigned long extends_at; /* its line */
} Reader;

static void setting_free(gpointer element)
{
    OptionSetting *setting = element;
    g_free(setting->name);
    g_free(setting->value);
    g_free(setting->origin);
    g_clear_pointer(&setting->items, g_ptr_array_unref);
    g_free(setting);
}

GPtrArray *option_settings_new(void)
{
    return g_ptr_array_new_with_free_func(setting_free);
}

void option_settings_add(GPtrArray *settings, const char *name, const char *value, const char *origin)
{
    OptionSetting *setting = g_new(OptionSetting, 1);
    *setting = (OptionSetting){ .name = g_strdup(name), .value = g_strdup(value), .origin = g_strdup(origin) };
    g_ptr_array_add(settings, setting);
}

bool option_settings_parse(GPtrArray *settings, const char *assignment, GError **error)
{
    const char *equals = strchr(assignment, '=');
    if (equals == NULL || equals == assignment)
        return fail_user(error, "\"%s\" is not an override; write group.key=value", assignment);
    g_autofree char *name = g_strndup(assignment, (gsize)(equals - assignment));
    option_settings_add(settings, name, equals + 1, "command line");
    return true;
}

const char *option_settings_find(const GPtrArray *settings, const char *name)
{
    for (guint i = settings->len; i > 0; i--) {
        const OptionSetting *setting = g_ptr_array_index(settings, i - 1);
        if (strcmp(setting->name, name) == 0)
            return setting->value;
    }
    return NULL;
}

static unsigned long line_of(const yaml_event_t *event)
{
    return event->start_mark.line + 1;
}

/* "PATH:LINE: " before the message, which speaks of NAME if it is not NULL. */
static bool refuse(const Reader *reader, const yaml_event_t *event, const char *name, const char *why, GError **error)
{
    return fail_user(error, "%s:%lu: %s%s%s", reader->path, line_of(event), name ? name : "", name ? ": " : "", why);
}

static bool next_event(Reader *reader, yaml_event_t *event, GError **error)
{
    if (yaml_parser_parse(&reader->parser, event))
        return true;
    const yaml_parser_t *parser = &reader->parser;
    const char *problem = parser->problem ? parser->problem : "unknown trouble";
    if (parser->error == YAML_MEMORY_ERROR)
        return fail_machine(error, "%s: no memory to parse it", reader->path);
    if (parser->error == YAML_READER_ERROR)
        return fail_user(error, "%s: not a text file in UTF-8: %s at byte %zu", reader->path, problem,
                         parser->problem_offset);
    return fail_user(error, "%s:%zu: not YAML: %s", reader->path, parser->problem_mark.line + 1, problem);
}

/* The text of a scalar; what is left out of YAML here is refused by name. Returns NULL on error. */
static const char *scalar_text(const Reader *reader, const yaml_event_t *event, const char *name, GError **error)
{
    const char *why = NULL;
    if (event->type == YAML_ALIAS_EVENT)
        why = "an alias (*name) is not accepted here, write the value itself";
    else if (event->type == YAML_SEQUENCE_START_EVENT)
        why = "a list is not accepted here, write one value";
    else if (event->type != YAML_SCALAR_EVENT)
        why = "a map is not accepted here, write one value";
    else if (event->data.scalar.anchor)
        why = "an anchor (&name) is not accepted here, write the value alone";
    else if (event->data.scalar.tag)
        why = "a tag (!name) is not accepted here, write the value alone";
    else if (strlen((const char *)event->data.scalar.value) != event->data.scalar.length)
        why = "a NUL character is not accepted here";
    if (why == NULL)
        return (const char *)event->data.scalar.value;
    refuse(reader, event, name, why, error);
    return NULL;
}

/* Notes that a name is set here; a second time is refused. */
static bool note_line(Reader *reader, const yaml_event_t *event, const char *name, GError **error)
{
    gpointer before = g_hash_table_lookup(reader->lines, name);
    if (before)
        return fail_user(error, "%s:%lu: %s is set twice, first in line %d", reader->path, line_of(event), name,
                         GPOINTER_TO_INT(before));
    g_hash_table_insert(reader->lines, g_strdup(name), GINT_TO_POINTER((int)line_of(event)));
    return true;
}

static bool add_value(Reader *reader, const yaml_event_t *event, const char *name, const char *value, GError **error)
{
    if (strcmp(name, "extends") == 0) {
        if (*value == '\0')
            return refuse(reader, event, name, "write the name of a YAML file", error);
        reader->extends = g_strdup(value);
        reader->extends_at = line_of(event);
        return true;
    }
    g_autofree char *origin = g_strdup_printf("%s:%lu", reader->path, line_of(event));
    option_settings_add(reader->settings, name, value, origin);
    return true;
}

static void free_item(gpointer item)
{
    g_strfreev(item);
}

/* The pairs of a map within a list, whose start has been read. */
static bool read_item_map(Reader *reader, const char *name, GStrvBuilder *item, GError **error)
{
    g_autoptr(GHashTable) keys = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
    for (bool is_key = true;; is_key = !is_key) {
        yaml_event_t event;
        if (!next_event(reader, &event, error))
            return false;
        bool ends = event.type == YAML_MAPPING_END_EVENT;
        const char *text = ends ? NULL : scalar_text(reader, &event, name, error);
        bool ok = ends || text;
        if (text && is_key && !g_hash_table_add(keys, g_strdup(text)))
            ok = fail_user(error, "%s:%lu: %s: %s is set twice", reader->path, line_of(&event), name, text);
        if (text && ok)
            g_strv_builder_add(item, text);
        yaml_event_delete(&event);
        if (ends || !ok)
            return ok;
    }
}

/* One item, whose first event this is. */
static bool read_item(Reader *reader, const char *name, const yaml_event_t *event, GPtrArray *items, GError **error)
{
    g_autoptr(GStrvBuilder) item = g_strv_builder_new();
    if (event->type == YAML_MAPPING_START_EVENT) {
        if (event->data.mapping_start.anchor || event->data.mapping_start.tag)
            return refuse(reader, event, name, "anchors (&name) and tags (!name) are not accepted", error);
        if (!read_item_map(reader, name, item, error))
            return false;
    } else {
        const char *text = scalar_text(reader, event, name, error);
        if (!text)
            return false;
        g_strv_builder_add_many(item, "", text, NULL);
    }
    g_ptr_array_add(items, g_strv_builder_end(item));
    return true;
}

/* A list whose start has been read, up to its end. */
static bool read_list(Reader *reader, const yaml_event_t *start, const char *name, GError **error)
{
    g_autoptr(GPtrArray) items = g_ptr_array_new_with_free_func(free_item);
    if (start->data.sequence_start.anchor || start->data.sequence_start.tag)
        return refuse(reader, start, name, "anchors (&name) and tags (!name) are not accepted", error);
    for (;;) {
        yaml_event_t event;
        if (!next_event(reader, &event, error))
            return false;
        bool ends = event.type == YAML_SEQUENCE_END_EVENT;
        bool ok = ends || read_item(reader, name, &event, items, error);
        yaml_event_delete(&event);
        if (!ok)
            return false;
        if (ends)
            break;
    }
    if (!add_value(reader, start, name, "", error))
        return false;
    OptionSetting *setting = g_ptr_array_index(reader->settings, reader->settings->len - 1);
    setting->items = g_steal_pointer(&items);
    return true;
}

static bool read_map(Reader *reader, const char *group, GError **error);

/* Whether this is `group:` with nothing behind it. */
static bool is_empty_group(const yaml_event_t *event, const char *group)
{
    return group == NULL && event->type == YAML_SCALAR_EVENT && event->data.scalar.length == 0 &&
           event->data.scalar.style == YAML_PLAIN_SCALAR_STYLE;
}

static bool read_value(Reader *reader, const char *group, const char *name, GError **error)
{
    yaml_event_t event;
    if (!next_event(reader, &event, error))
        return false;
    bool ok = true;
    if (event.type == YAML_MAPPING_START_EVENT && group == NULL && strcmp(name, "extends") != 0) {
        if (event.data.mapping_start.anchor || event.data.mapping_start.tag)
            ok = refuse(reader, &event, name, "anchors (&name) and tags (!name) are not accepted", error);
        else
            ok = read_map(reader, name, error);
    } else if (event.type == YAML_SEQUENCE_START_EVENT && strchr(name, '.')) {
        ok = read_list(reader, &event, name, error);
    } else if (!is_empty_group(&event, group) || strchr(name, '.') || strcmp(name, "extends") == 0) {
        const char *value = scalar_text(reader, &event, name, error);
        ok = value && add_value(reader, &event, name, value, error);
    }
    yaml_event_delete(&event);
    return ok;
}

/* The pairs of a map whose start has been read, up to its end. `group` is NULL for the whole file. */
static bool read_map(Reader *reader, const char *group, GError **error)
{
    for (;;) {
        yaml_event_t event;
        if (!next_event(reader, &event, error))
            return false;
        if (event.type == YAML_MAPPING_END_EVENT) {
            yaml_event_delete(&event);
            return true;
        }
        const char *key = scalar_text(reader, &event, group, error);
        g_autofree char *name = key && group ? g_strconcat(group, ".", key, NULL) : g_strdup(key);
        bool ok = key && note_line(reader, &event, name, error);
        yaml_event_delete(&event);
        if (!ok || !read_value(reader, group, name, error))
            return false;
    }
}

static bool read_root(Reader *reader, const yaml_event_t *event, GError **error)
{
    if (event->type == YAML_MAPPING_START_EVENT)
        return event->data.mapping_start.anchor || event->data.mapping_start.tag
                   ? refuse(reader, event, NULL, "anchors (&name) and tags (!name) are not accepted", error)
                   : read_map(reader, NULL, error);
    if (event->type == YAML_SCALAR_EVENT && event->data.scalar.length == 0)
        return true; /* "---" and nothing else */
    return refuse(reader, event, NULL, "a configuration is a map: write \"group:\" and \"  key: value\" lines", error);
}

static bool read_document(Reader *reader, GError **error)
{
    bool seen = false;
    for (;;) {
        yaml_event_t event;
        if (!next_event(reader, &event, error))
            return false;
        yaml_event_type_t type = event.type;
        bool ok = true;
        if (type == YAML_DOCUMENT_START_EVENT) {
            ok = !seen || refuse(reader, &event, NULL, "a second document is not accepted", error);
            seen = true;
        } else if (type != YAML_STREAM_START_EVENT && type != YAML_DOCUMENT_END_EVENT &&
                   type != YAML_STREAM_END_EVENT) {
            ok = read_root(reader, &event, error);
        }
        yaml_event_delete(&event);
        if (!ok || type == YAML_STREAM_END_EVENT)
            return ok;
    }
}

static bool read_file(GPtrArray *settings, const char *path, GPtrArray *chain, GError **error);

/* Reads the extended file's settings; `chain` are the canonical paths of the files being read. */
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
    if (read_file(settings, path, chain, error))
        return true;
    if (!g_file_test(path, G_FILE_TEST_EXISTS))
        fail_context(error, "%s:%lu: extends", reader->path, reader->extends_at);
    return false;
}

static bool read_text(GPtrArray *settings, const char *text, size_t bytes, const char *path, GPtrArray *chain,
                      GError **error)
{
    Reader reader = { .path = path, .settings = option_settings_new() };
    reader.lines = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
    CHECK(yaml_parser_initialize(&reader.parser), "libyaml");
    yaml_parser_set_input_string(&reader.parser, (const unsigned char *)text, bytes);
    bool ok = read_document(&reader, error);
    if (ok && reader.extends)
        ok = read_extended(&reader, settings, chain, error);
    if (ok)
        g_ptr_array_extend_and_steal(settings, g_steal_pointer(&reader.settings));
    else
        g_ptr_array_unref(reader.settings);
    yaml_parser_delete(&reader.parser);
    g_hash_table_unref(reader.lines);
    g_free(reader.extends);
    return ok;
}

static bool read_file(GPtrArray *settings, const char *path, GPtrArray *chain, GError **error)
{
    size_t bytes;
    g_autofree char *text = io_read_file(path, MAX_FILE_BYTES, &bytes, error);
    if (text == NULL)
        return false;
    g_ptr_array_add(chain, g_canonicalize_filename(path, NULL));
    return read_text(settings, text, bytes, path, chain, error);
}

bool option_settings_read_yaml(GPtrArray *settings, const char *path, GError **error)
{
    g_autoptr(GPtrArray) chain = g_ptr_array_new_with_free_func(g_free);
    return read_file(settings, path, chain, error);
}

bool option_settings_read_yaml_text(GPtrArray *settings, const char *text, size_t bytes, const char *path,
                                    GError **error)
{
    g_autoptr(GPtrArray) chain = g_ptr_array_new_with_free_func(g_free);
    g_ptr_array_add(chain, g_canonicalize_filename(path, NULL));
    return read_text(settings, text, bytes, path, chain, error);
}
