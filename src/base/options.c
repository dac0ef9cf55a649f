#include "base/options.h"

#include "base/amount.h"
#include "base/check.h"
#include "base/error.h"
#include "base/option_list.h"
#include "base/text.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#define MOST_LISTED 8    /* options of a group that an error names one by one */
#define UNLIMITED   1e15 /* limits from here on are not worth a word */

/* Numbers whose default is the word "auto" keep 0 for it. */
static bool has_auto(const OptionRow *row)
{
    return (row->type == OPT_I64 || row->type == OPT_F64) && strcmp(row->standard, "auto") == 0;
}

static void *field_of(const OptionTable *table, const void *config, const OptionRow *row)
{
    for (int g = 0; g < table->n_groups; g++) {
        const OptionGroup *group = &table->groups[g];
        if (row >= group->rows && row < group->rows + group->n_rows)
            return (char *)(uintptr_t)config + group->offset + row->offset;
    }
    CHECK(false, "option %s is not of this table", row->name);
}

/* Every row of the table, in order. */
static GPtrArray *all_rows(const OptionTable *table)
{
    GPtrArray *rows = g_ptr_array_new();
    for (int g = 0; g < table->n_groups; g++)
        for (int r = 0; r < table->groups[g].n_rows; r++)
            g_ptr_array_add(rows, (gpointer)&table->groups[g].rows[r]);
    return rows;
}

static const OptionRow *row_at(const GPtrArray *rows, guint i)
{
    return g_ptr_array_index(rows, i);
}

const OptionRow *options_find(const OptionTable *table, const char *name)
{
    for (int g = 0; g < table->n_groups; g++)
        for (int r = 0; r < table->groups[g].n_rows; r++)
            if (strcmp(table->groups[g].rows[r].name, name) == 0)
                return &table->groups[g].rows[r];
    return NULL;
}

/* "between 0 and 10", or NULL where there are no limits. */
static char *range_text(const OptionRow *row)
{
    bool number = row->type == OPT_I64 || row->type == OPT_F64 || row->type == OPT_AMOUNT;
    bool low = row->min > -UNLIMITED, high = row->max < UNLIMITED;
    if (!number || row->min == row->max || (!low && !high))
        return NULL;
    g_autofree char *min = text_number(row->min), *max = text_number(row->max);
    const char *or_auto = has_auto(row) ? ", or auto" : "";
    if (low && high)
        return g_strdup_printf("between %s and %s%s", min, max, or_auto);
    return low ? g_strdup_printf("at least %s%s", min, or_auto) : g_strdup_printf("at most %s%s", max, or_auto);
}

static bool check_range(const OptionRow *row, double value, const char *text, GError **error)
{
    if (row->min == row->max || (value >= row->min && value <= row->max))
        return true;
    if (value < row->min ? row->min <= -UNLIMITED : row->max >= UNLIMITED)
        return fail_user(error, "%s: %s is too far from 0", row->name, text);
    g_autofree char *range = range_text(row);
    return fail_user(error, "%s: %s is out of range, it must be %s", row->name, text, range);
}

static bool parse_bool(bool *out, const OptionRow *row, const char *text, GError **error)
{
    static const char *const yes[] = { "yes", "on", "1", "y", NULL }, *const no[] = { "no", "off", "0", "n", NULL };
    g_autofree char *lower = g_ascii_strdown(text, -1);
    bool is_true = strcmp(lower, "true") == 0, is_false = strcmp(lower, "false") == 0;
    if (strcmp(text, "true") == 0 || strcmp(text, "false") == 0) {
        *out = is_true;
        return true;
    }
    const char *meant = "true or false";
    if (is_true || g_strv_contains(yes, lower))
        meant = "true";
    else if (is_false || g_strv_contains(no, lower))
        meant = "false";
    return fail_user(error, "%s: \"%s\" is not accepted, write %s", row->name, text, meant);
}

static bool parse_i64(int64_t *out, const OptionRow *row, const char *text, GError **error)
{
    if (has_auto(row) && strcmp(text, "auto") == 0) {
        *out = 0;
        return true;
    }
    char *end;
    errno = 0;
    gint64 value = g_ascii_strtoll(text, &end, 10);
    bool ok = *text && !g_ascii_isspace(*text) && *end == '\0' && errno == 0;
    if (!ok) { /* 64k, 1.5M */
        const char *p = text + (*text == '-');
        double number;
        ok = amount_scan_number(&number, &p) && *p == '\0' && number == floor(number) && number <= 0x1p53;
        value = ok ? (*text == '-' ? -1 : 1) * (gint64)number : 0;
    }
    if (!ok)
        return fail_user(error, "%s: \"%s\" is not a whole number; write one like 8 or 64k%s", row->name, text,
                         has_auto(row) ? ", or auto" : "");
    *out = value;
    return check_range(row, (double)value, text, error);
}

static bool parse_f64(double *out, const OptionRow *row, const char *text, GError **error)
{
    if (has_auto(row) && strcmp(text, "auto") == 0) {
        *out = 0;
        return true;
    }
    char *end;
    double value = g_ascii_strtod(text, &end);
    if (*text == '\0' || text[strspn(text, "0123456789+-.eE")] || *end || !isfinite(value))
        return fail_user(error, "%s: \"%s\" is not a number; write one like 0.1 or 1e-3%s", row->name, text,
                         has_auto(row) ? ", or auto" : "");
    *out = value;
    return check_range(row, value, text, error);
}

static bool parse_enum(int *out, const OptionRow *row, const char *text, GError **error)
{
    for (int i = 0; row->choices[i]; i++) {
        if (strcmp(row->choices[i], text) == 0) {
            *out = i;
            return true;
        }
    }
    if (row->choices[1] == NULL)
        return fail_user(error, "%s: \"%s\" is not there yet, only %s is", row->name, text, row->choices[0]);
    g_autofree char *choices = g_strjoinv(", ", (char **)(uintptr_t)row->choices);
    const char *nearest = text_nearest(text, row->choices);
    return fail_user(error, "%s: \"%s\" is not one of %s%s%s%s", row->name, text, choices,
                     nearest ? "; did you mean " : "", nearest ? nearest : "", nearest ? "?" : "");
}

static bool parse_amount(Amount *out, const OptionRow *row, const char *text, GError **error)
{
    if (!amount_parse(out, text, error))
        return fail_context(error, "%s", row->name);
    return check_range(row, out->value, text, error);
}

static bool set_string(char **out, const OptionRow *row, const char *text, GError **error)
{
    if (!g_utf8_validate(text, -1, NULL))
        return fail_user(error, "%s: the text is not UTF-8", row->name);
    g_free(*out);
    *out = g_strdup(text);
    return true;
}

/* The spaces around items go: one list, one text. */
static bool set_list(char **out, const OptionRow *row, const char *text, GError **error)
{
    g_auto(GStrv) items = g_strsplit(text, ",", -1);
    for (char **item = items; *item; item++)
        g_strstrip(*item);
    g_autofree char *joined = g_strjoinv(",", items);
    return set_string(out, row, joined, error);
}

/* Parses into `field`, which keeps its value on error. */
static bool set_field(void *field, const OptionRow *row, const char *text, GError **error)
{
    switch (row->type) {
    case OPT_BOOL:
        return parse_bool(field, row, text, error);
    case OPT_I64:
        return parse_i64(field, row, text, error);
    case OPT_F64:
        return parse_f64(field, row, text, error);
    case OPT_STRING:
        return set_string(field, row, text, error);
    case OPT_ENUM:
        return parse_enum(field, row, text, error);
    case OPT_AMOUNT:
        return parse_amount(field, row, text, error);
    case OPT_LIST:
        return set_list(field, row, text, error);
    }
    CHECK(false, "option %s of type %d", row->name, (int)row->type);
}

void options_set_defaults(const OptionTable *table, void *config)
{
    g_autoptr(GPtrArray) rows = all_rows(table);
    for (guint i = 0; i < rows->len; i++) {
        const OptionRow *row = row_at(rows, i);
        g_autoptr(GError) error = NULL;
        bool ok = set_field(field_of(table, config, row), row, row->standard, &error);
        CHECK(ok, "the default of %s: %s", row->name, error->message);
    }
}

static const char *key_of(const char *name)
{
    const char *dot = strchr(name, '.');
    return dot ? dot + 1 : name;
}

static size_t group_length(const char *name)
{
    return strcspn(name, ".");
}

static bool same_group(const char *a, const char *b)
{
    return group_length(a) == group_length(b) && strncmp(a, b, group_length(a)) == 0;
}

/* An option of the same key in another group, else the nearest key of the same group, else the nearest whole name;
 * NULL if nothing is close. */
static char *nearest_name(const GPtrArray *rows, const char *name)
{
    g_autoptr(GPtrArray) keys = g_ptr_array_new(), names = g_ptr_array_new();
    for (guint i = 0; i < rows->len; i++) {
        const OptionRow *row = row_at(rows, i);
        if (strcmp(key_of(row->name), key_of(name)) == 0)
            return g_strdup(row->name);
        if (same_group(row->name, name))
            g_ptr_array_add(keys, (gpointer)key_of(row->name));
        g_ptr_array_add(names, (gpointer)row->name);
    }
    bool group_exists = keys->len > 0;
    g_ptr_array_add(keys, NULL);
    g_ptr_array_add(names, NULL);
    if (!group_exists)
        return g_strdup(text_nearest(name, (const char *const *)names->pdata));
    const char *key = text_nearest(key_of(name), (const char *const *)keys->pdata);
    return key ? g_strdup_printf("%.*s.%s", (int)group_length(name), name, key) : NULL;
}

/* Whether no row before this one belongs to its group. */
static bool opens_group(const GPtrArray *rows, guint i)
{
    for (guint before = 0; before < i; before++)
        if (same_group(row_at(rows, before)->name, row_at(rows, i)->name))
            return false;
    return true;
}

/* The keys of the group that `name` speaks of, of many the three nearest; or all groups if there is no such group. */
static char *what_exists(const GPtrArray *rows, const char *name)
{
    g_autoptr(GPtrArray) keys = g_ptr_array_new(), groups = g_ptr_array_new_with_free_func(g_free);
    for (guint i = 0; i < rows->len; i++) {
        const OptionRow *row = row_at(rows, i);
        if (same_group(row->name, name))
            g_ptr_array_add(keys, (gpointer)key_of(row->name));
        if (opens_group(rows, i))
            g_ptr_array_add(groups, g_strndup(row->name, group_length(row->name)));
    }
    bool many = keys->len > MOST_LISTED, none = keys->len == 0;
    g_ptr_array_add(keys, NULL);
    g_ptr_array_add(groups, NULL);
    g_autofree char *list = many ? text_nearest_few(key_of(name), (const char *const *)keys->pdata)
                                 : g_strjoinv(", ", (char **)(none ? groups : keys)->pdata);
    if (none)
        return g_strdup_printf("the groups are %s", list);
    return g_strdup_printf("%.*s has %s%s", (int)group_length(name), name, list,
                           many ? " and more; `loam plan --options` lists them all" : "");
}

static bool fail_unknown(const OptionTable *table, const char *name, GError **error)
{
    g_autoptr(GPtrArray) rows = all_rows(table);
    g_autofree char *nearest = nearest_name(rows, name);
    if (nearest)
        return fail_user(error, "unknown option %s, did you mean %s?", name, nearest);
    g_autofree char *exists = what_exists(rows, name);
    return fail_user(error, "unknown option %s; %s", name, exists);
}

/* "run.yaml:12: message", or "message (command line)". */
static bool fail_with_origin(const char *origin, GError **error)
{
    if (error == NULL || strchr(origin, ':'))
        return fail_context(error, "%s", origin);
    char *message = g_strdup_printf("%s (%s)", (*error)->message, origin);
    g_free((*error)->message);
    (*error)->message = message;
    return false;
}

bool options_apply(const OptionTable *table, void *config, const GPtrArray *settings, GError **error)
{
    for (guint i = 0; i < settings->len; i++) {
        const OptionSetting *setting = g_ptr_array_index(settings, i);
        const OptionRow *row = options_find(table, setting->name);
        if (row == NULL) {
            fail_unknown(table, setting->name, error);
            return fail_with_origin(setting->origin, error);
        }
        g_autofree char *joined = setting->items ? option_list_join(row, setting->items, error) : NULL;
        const char *text = setting->items ? joined : setting->value;
        if (!text || !set_field(field_of(table, config, row), row, text, error))
            return fail_with_origin(setting->origin, error);
    }
    return true;
}

void options_clear(const OptionTable *table, void *config)
{
    g_autoptr(GPtrArray) rows = all_rows(table);
    for (guint i = 0; i < rows->len; i++) {
        const OptionRow *row = row_at(rows, i);
        if (row->type != OPT_STRING && row->type != OPT_LIST)
            continue;
        char **text = field_of(table, config, row);
        g_clear_pointer(text, g_free);
    }
}

char *options_plain_value(const OptionTable *table, const void *config, const OptionRow *row)
{
    const void *field = field_of(table, config, row);
    switch (row->type) {
    case OPT_BOOL:
        return g_strdup(*(const bool *)field ? "true" : "false");
    case OPT_I64: {
        int64_t value = *(const int64_t *)field;
        return value == 0 && has_auto(row) ? g_strdup("auto") : g_strdup_printf("%" G_GINT64_FORMAT, value);
    }
    case OPT_F64: {
        double value = *(const double *)field;
        return value == 0 && has_auto(row) ? g_strdup("auto") : text_number(value);
    }
    case OPT_LIST:
    case OPT_STRING: {
        const char *text = *(char *const *)field;
        return g_strdup(text ? text : "");
    }
    case OPT_ENUM:
        return g_strdup(row->choices[*(const int *)field]);
    case OPT_AMOUNT:
        return amount_format(*(const Amount *)field);
    }
    CHECK(false, "option %s of type %d", row->name, (int)row->type);
}

/* Whether YAML reads the text back as it is, without quotes; rather too seldom than too often. */
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

/* YAML refuses control characters even in quotes, and folds line breaks, of which Unicode has more than ASCII. */
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
    char *text = options_plain_value(table, config, row);
    if ((row->type != OPT_STRING && row->type != OPT_LIST) || is_plain(text))
        return text;
    char *yaml = quoted(text);
    g_free(text);
    return yaml;
}

/* Calls `write` for every row, those of a group (the name up to its dot) together, with `opens` at its first. */
static void each_by_group(const OptionTable *table, void (*write)(const OptionRow *row, bool opens, gpointer data),
                          gpointer data)
{
    g_autoptr(GPtrArray) rows = all_rows(table);
    for (guint first = 0; first < rows->len; first++)
        for (guint i = first; i < rows->len && opens_group(rows, first); i++)
            if (same_group(row_at(rows, i)->name, row_at(rows, first)->name))
                write(row_at(rows, i), i == first, data);
}

typedef struct Writer {
    const OptionTable *table;
    const void *config;
    GString *text;
} Writer;

static void write_yaml_row(const OptionRow *row, bool opens, gpointer data)
{
    Writer *writer = data;
    g_autofree char *value = options_value(writer->table, writer->config, row);
    if (opens)
        g_string_append_printf(writer->text, "%.*s:\n", (int)group_length(row->name), row->name);
    g_string_append_printf(writer->text, "  %s: %s\n", key_of(row->name), value);
}

char *options_to_yaml(const OptionTable *table, const void *config)
{
    Writer writer = { table, config, g_string_new(NULL) };
    each_by_group(table, write_yaml_row, &writer);
    return g_string_free(writer.text, FALSE);
}

static char *accepted_text(const OptionRow *row)
{
    static const char *const kinds[] = {
        [OPT_BOOL] = "true, false", [OPT_I64] = "whole number", [OPT_F64] = "number",
        [OPT_STRING] = "text",      [OPT_AMOUNT] = "amount",
    };
    if (row->type == OPT_ENUM)
        return g_strjoinv(", ", (char **)(uintptr_t)row->choices);
    if (row->type == OPT_LIST) {
        g_autofree char *keys = option_list_keys(row);
        return g_strdup_printf("text, or list of maps: %s", keys);
    }
    g_autofree char *range = range_text(row);
    return g_strjoin(range ? " " : "", kinds[row->type], range ? range : "", NULL);
}

typedef struct Reference {
    const char *const *by_model;
    GString *text;
} Reference;

static char *default_text(const OptionRow *row, const char *const *by_model)
{
    if (g_strv_contains(by_model, row->name))
        return g_strdup("[by model](defaults.md)");
    return g_strdup_printf("`%s`", *row->standard ? row->standard : "\"\"");
}

static void write_markdown_row(const OptionRow *row, bool opens, gpointer data)
{
    static const char *const resume[] = { [OPT_IDENTITY] = "refuses", [OPT_TUNABLE] = "logged", [OPT_FREE] = "free" };
    const Reference *reference = data;
    GString *text = reference->text;
    if (opens)
        g_string_append_printf(text,
                               "%s## %.*s\n\n| option | default | accepts | on resume | meaning |\n"
                               "|---|---|---|---|---|\n",
                               text->len ? "\n" : "", (int)group_length(row->name), row->name);
    g_autofree char *accepted = accepted_text(row), *standard = default_text(row, reference->by_model);
    GString *line = g_string_new(NULL);
    g_string_append_printf(line, "`%s`\x1f%s\x1f%s\x1f%s\x1f%s", row->name, standard, accepted, resume[row->class],
                           row->help);
    g_string_replace(line, "|", "\\|", 0);
    g_string_replace(line, "\x1f", " | ", 0);
    g_string_append_printf(text, "| %s |\n", line->str);
    g_string_free(line, TRUE);
}

char *options_to_markdown(const OptionTable *table, const char *const *by_model)
{
    Reference reference = { by_model, g_string_new(NULL) };
    each_by_group(table, write_markdown_row, &reference);
    return g_string_free(reference.text, FALSE);
}

GPtrArray *options_differences(const OptionTable *table, const void *a, const void *b, OptionClass class)
{
    g_autoptr(GPtrArray) rows = all_rows(table);
    GPtrArray *different = g_ptr_array_new();
    for (guint i = 0; i < rows->len; i++) {
        const OptionRow *row = row_at(rows, i);
        g_autofree char *in_a = options_value(table, a, row), *in_b = options_value(table, b, row);
        if (row->class == class && strcmp(in_a, in_b) != 0)
            g_ptr_array_add(different, (gpointer)row);
    }
    return different;
}
