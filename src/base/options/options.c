/* options/options.c: the rows of a table, and configurations by them. */
#include "base/amount.h"
#include "base/check.h"
#include "base/error.h"
#include "base/options/row.h"
#include "base/text.h"

#include <string.h>

const char *option_key(const char *name)
{
    const char *dot = strchr(name, '.');
    return dot ? dot + 1 : name;
}

size_t option_group_length(const char *name)
{
    return strcspn(name, ".");
}

bool option_same_group(const char *a, const char *b)
{
    return option_group_length(a) == option_group_length(b) && strncmp(a, b, option_group_length(a)) == 0;
}

GPtrArray *option_rows(const OptionTable *table)
{
    GPtrArray *rows = g_ptr_array_new();
    for (int g = 0; g < table->n_groups; g++)
        for (int r = 0; r < table->groups[g].n_rows; r++) {
            const OptionRow *row = &table->groups[g].rows[r];
            guint after = rows->len; /* index after the last row of the same group */
            while (after > 0 && !option_same_group(((const OptionRow *)rows->pdata[after - 1])->name, row->name))
                after--;
            g_ptr_array_insert(rows, after > 0 ? (gint)after : -1, (gpointer)row);
        }
    return rows;
}

bool option_opens_group(const GPtrArray *rows, guint i)
{
    const OptionRow *row = rows->pdata[i], *before = i > 0 ? rows->pdata[i - 1] : NULL;
    return !before || !option_same_group(before->name, row->name);
}

void *option_field(const OptionTable *table, const void *config, const OptionRow *row)
{
    for (int g = 0; g < table->n_groups; g++) {
        const OptionGroup *group = &table->groups[g];
        if (group->n_rows > 0 && row >= group->rows && row < group->rows + group->n_rows)
            return (char *)(uintptr_t)config + group->offset + row->offset;
    }
    CHECK(false, "option %s is not of this table", row->name);
}

const OptionRow *options_at(const OptionTable *table, int i)
{
    const OptionGroup *group = table->groups, *end = group + table->n_groups;
    for (; group < end && i >= group->n_rows; group++)
        i -= group->n_rows;
    return group < end ? &group->rows[i] : NULL;
}

const OptionRow *options_find(const OptionTable *table, const char *name)
{
    const OptionRow *row = NULL;
    for (int i = 0; (row = options_at(table, i)) && strcmp(row->name, name) != 0;)
        i++;
    return row;
}

void options_set_defaults(const OptionTable *table, void *config)
{
    g_autoptr(GPtrArray) rows = option_rows(table);
    for (guint i = 0; i < rows->len; i++) {
        const OptionRow *row = rows->pdata[i];
        g_autoptr(GError) error = NULL;
        bool ok = option_value_parse(option_field(table, config, row), row, row->default_value, &error);
        CHECK(ok, "the default of %s: %s", row->name, error->message);
    }
}

/* Whether a row's `foreign` is the name, and the value has one of the endings that it lists. */
static bool is_foreign(const OptionForeignName *row, const char *name, const char *value)
{
    g_auto(GStrv) parts = g_strsplit(row->foreign, "=", 2);
    if (g_ascii_strcasecmp(parts[0], name) != 0)
        return false;
    g_auto(GStrv) endings = g_strsplit(parts[1] ? parts[1] : "", " ", -1);
    bool fits = *endings == NULL;
    for (char **ending = endings; *ending && value; ending++)
        fits |= g_str_has_suffix(value, *ending);
    return fits;
}

/* An example with the given value in place of its number; NULL if the value is not a number. */
static char *fill_example(const char *example, const char *value)
{
    const char *open = strchr(example, '{'), *close = open ? strchr(open, '}') : NULL, *rest = value;
    if (!close)
        return g_strdup(example);
    const bool share = memchr(open, '*', (size_t)(close - open)) != NULL;
    double number;
    g_autofree char *own = g_strndup(open + 1, strcspn(open + 1, "*}"));
    if (value && (!amount_scan_number(&number, &rest) || *rest))
        return NULL;
    g_autofree char *scaled = value && share ? text_number(100 * number) : g_strdup(value ? value : own);
    return g_strdup_printf("%.*s%s%s", (int)(open - example), example, scaled, close + 1);
}

char *options_find_foreign(const OptionTable *table, const char *name, const char *value)
{
    g_autofree char *key = g_strdup(option_key(name + strspn(name, "-")));
    g_strdelimit(key, "-.", '_');
    const OptionForeignName *row = table->foreign_names;
    while (row && row->foreign && !is_foreign(row, key, value))
        row++;
    if (!row || !row->foreign)
        return NULL;
    g_autofree char *example = row->example ? fill_example(row->example, value) : NULL;
    if (row->name == NULL)
        return example ? g_steal_pointer(&example) : fill_example(row->example, NULL);
    return example ? g_strdup_printf("%s='%s'", row->name, example) : g_strdup(row->name);
}

/* Adds the origin to an error: "run.yaml:12: MESSAGE", or "MESSAGE (command line)". */
static bool fail_with_origin(const char *origin, GError **error)
{
    if (error == NULL || strchr(origin, ':'))
        return fail_context(error, "%s", origin);
    char *message = g_strdup_printf("%s (%s)", (*error)->message, origin);
    g_free((*error)->message);
    (*error)->message = message;
    return false;
}

#define MOST_LISTED 8 /* options of a group that an error names one by one */

/* The key of `keys` that differs by one letter, but for short keys; NULL if there is none. */
static const char *mistyped(const char *key, const GPtrArray *keys)
{
    for (guint i = 0; strlen(key) > 3 && i < keys->len; i++)
        if (text_distance(key, keys->pdata[i]) == 1)
            return keys->pdata[i];
    return NULL;
}

/* A user's error that names the option that was probably meant: one of the group whose key differs by one letter, else
 * one of the same key in another group, else the one that other programs call so, else the nearest key of the group,
 * else the nearest name; or else the three nearest keys, or all keys, or all groups. Returns false. */
static bool fail_unknown_option(const OptionTable *table, const char *name, const char *value, GError **error)
{
    g_autoptr(GPtrArray) rows = option_rows(table), keys = g_ptr_array_new(), names = g_ptr_array_new(),
                         groups = g_ptr_array_new_with_free_func(g_free);
    int group = (int)option_group_length(name);
    const char *elsewhere = NULL;
    for (guint i = 0; i < rows->len; i++) {
        const OptionRow *row = rows->pdata[i];
        if (g_ascii_strcasecmp(row->name, name) == 0)
            return fail_user(error, "unknown option %s, did you mean %s?", name, row->name);
        if (elsewhere == NULL && strcmp(option_key(row->name), option_key(name)) == 0)
            elsewhere = row->name;
        if (option_same_group(row->name, name))
            g_ptr_array_add(keys, (gpointer)option_key(row->name));
        if (option_opens_group(rows, i))
            g_ptr_array_add(groups, g_strndup(row->name, option_group_length(row->name)));
        g_ptr_array_add(names, (gpointer)row->name);
    }
    const char *typo = mistyped(option_key(name), keys);
    if (typo)
        return fail_user(error, "unknown option %s, did you mean %.*s.%s?", name, group, name, typo);
    if (elsewhere)
        return fail_user(error, "unknown option %s, did you mean %s?", name, elsewhere);
    g_autofree char *foreign = options_find_foreign(table, name, value);
    if (foreign)
        return fail_user(error, "unknown option %s, did you mean %s?", name, foreign);
    bool many = keys->len > MOST_LISTED, none = keys->len == 0;
    g_ptr_array_add(keys, NULL);
    g_ptr_array_add(groups, NULL);
    g_ptr_array_add(names, NULL);
    const char *nearest = none ? text_nearest(name, (const char *const *)names->pdata)
                               : text_nearest(option_key(name), (const char *const *)keys->pdata);
    if (nearest)
        return fail_user(error, "unknown option %s, did you mean %.*s%s%s?", name, none ? 0 : group, name,
                         none ? "" : ".", nearest);
    g_autofree char *list = many ? text_nearest_few(option_key(name), (const char *const *)keys->pdata)
                                 : g_strjoinv(", ", (char **)(none ? groups : keys)->pdata);
    if (none)
        return fail_user(error, "unknown option %s; the groups are %s", name, list);
    g_autofree char *more = g_strdup_printf(" and more; `loam help %.*s` lists them", group, name);
    return fail_user(error, "unknown option %s; %.*s has %s%s", name, group, name, list, many ? more : "");
}

bool options_apply(const OptionTable *table, void *config, const GPtrArray *settings, GError **error)
{
    for (guint i = 0; i < settings->len; i++) {
        const OptionSetting *setting = g_ptr_array_index(settings, i);
        const OptionRow *row = options_find(table, setting->name);
        if (row == NULL) {
            fail_unknown_option(table, setting->name, setting->value, error);
            return fail_with_origin(setting->origin, error);
        }
        g_autofree char *joined = setting->items ? option_list_join(row, setting->items, error) : NULL;
        const char *text = setting->items ? joined : setting->value;
        if (!text || !option_value_parse(option_field(table, config, row), row, text, error))
            return fail_with_origin(setting->origin, error);
    }
    return true;
}

void options_clear(const OptionTable *table, void *config)
{
    g_autoptr(GPtrArray) rows = option_rows(table);
    for (guint i = 0; i < rows->len; i++) {
        const OptionRow *row = rows->pdata[i];
        if (row->type != OPT_STRING && row->type != OPT_LIST)
            continue;
        char **text = option_field(table, config, row);
        g_clear_pointer(text, g_free);
    }
}

void options_copy_value(const OptionTable *table, void *to, const void *from, const OptionRow *row)
{
    static const size_t bytes[] = {
        [OPT_BOOL] = sizeof(bool),     [OPT_I64] = sizeof(int64_t), [OPT_F64] = sizeof(double),
        [OPT_STRING] = sizeof(char *), [OPT_ENUM] = sizeof(int),    [OPT_AMOUNT] = sizeof(Amount),
        [OPT_LIST] = sizeof(char *)
    };
    memcpy(option_field(table, to, row), option_field(table, from, row), bytes[row->type]);
}

char *options_plain_value(const OptionTable *table, const void *config, const OptionRow *row)
{
    return option_value_format(option_field(table, config, row), row);
}

GPtrArray *options_differences(const OptionTable *table, const void *a, const void *b, unsigned classes)
{
    g_autoptr(GPtrArray) rows = option_rows(table);
    GPtrArray *different = g_ptr_array_new();
    for (guint i = 0; i < rows->len; i++) {
        const OptionRow *row = rows->pdata[i];
        g_autofree char *in_a = options_plain_value(table, a, row), *in_b = options_plain_value(table, b, row);
        if ((row->class & classes) && strcmp(in_a, in_b) != 0)
            g_ptr_array_add(different, (gpointer)row);
    }
    return different;
}
