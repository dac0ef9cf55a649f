/* options/value.c: the value of one option as text, as a YAML list and in memory. */
#include "base/options/row.h"

#include "base/amount.h"
#include "base/check.h"
#include "base/error.h"
#include "base/text.h"

#include <errno.h>
#include <math.h>
#include <string.h>

const char *const option_auto[] = { "auto", NULL };
const char *const option_steps[] = { "steps", NULL };
const char *const option_files[] = { NULL };

#define UNLIMITED 1e15 /* limits from here on are not named in messages */

static bool is_number(const OptionRow *row)
{
    return row->type == OPT_I64 || row->type == OPT_F64 || row->type == OPT_AMOUNT;
}

/* Whether a number may be "auto", which is kept as 0. */
static bool has_auto(const OptionRow *row)
{
    return is_number(row) && (row->choices == option_auto || strcmp(row->default_value, "auto") == 0);
}

char *option_range_text(const OptionRow *row)
{
    bool low = row->min > -UNLIMITED, high = row->max < UNLIMITED;
    if (!is_number(row) || row->min == row->max || (!low && !high))
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
    g_autofree char *range = option_range_text(row);
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

/* Reads "8", "64k" or "1.5M". */
static bool read_whole(const char *text, int64_t *value)
{
    char *end;
    errno = 0;
    *value = g_ascii_strtoll(text, &end, 10);
    if (*text && !g_ascii_isspace(*text) && *end == '\0' && errno == 0)
        return true;
    const char *p = text + (*text == '-');
    double number;
    const bool whole = amount_scan_number(&number, &p) && *p == '\0' && number == floor(number) && number <= 0x1p53;
    *value = whole ? (*text == '-' ? -1 : 1) * (int64_t)number : 0;
    return whole;
}

static bool parse_i64(int64_t *out, const OptionRow *row, const char *text, GError **error)
{
    int64_t value;
    g_autofree char *count = g_strdup(text);
    if (row->choices == option_steps && g_str_has_suffix(count, *option_steps)) {
        count[strlen(count) - strlen(*option_steps)] = '\0';
        g_strchomp(count);
    }
    if (!read_whole(count, &value))
        return fail_user(error, "%s: \"%s\" is not a whole number; write one like 8 or 64k%s", row->name, text,
                         has_auto(row) ? ", or auto" : "");
    if (!check_range(row, (double)value, text, error))
        return false;
    *out = value;
    return true;
}

static bool parse_f64(double *out, const OptionRow *row, const char *text, GError **error)
{
    char *end;
    double value = g_ascii_strtod(text, &end);
    if (*text == '\0' || text[strspn(text, "0123456789+-.eE")] || *end || !isfinite(value))
        return fail_user(error, "%s: \"%s\" is not a number; write one like 0.1 or 1e-3%s", row->name, text,
                         has_auto(row) ? ", or auto" : "");
    if (!check_range(row, value, text, error))
        return false;
    *out = value;
    return true;
}

static bool parse_enum(int *out, const OptionRow *row, const char *text, GError **error)
{
    for (int i = 0; row->choices[i]; i++) {
        if (strcmp(row->choices[i], text) == 0) {
            *out = i;
            return true;
        }
    }
    g_autofree char *choices = g_strjoinv(", ", (char **)(uintptr_t)row->choices);
    const char *nearest = text_nearest(text, row->choices);
    return fail_user(error, "%s: \"%s\" is not one of %s%s%s%s", row->name, text, choices,
                     nearest ? "; did you mean " : "", nearest ? nearest : "", nearest ? "?" : "");
}

static bool parse_amount(Amount *out, const OptionRow *row, const char *text, GError **error)
{
    Amount value;
    if (!amount_parse(&value, text, error))
        return fail_context(error, "%s", row->name);
    if (!check_range(row, value.value, text, error))
        return false;
    *out = value;
    return true;
}

static bool set_string(char **out, const OptionRow *row, const char *text, GError **error)
{
    if (!g_utf8_validate(text, -1, NULL))
        return fail_user(error, "%s: the text is not UTF-8", row->name);
    g_free(*out);
    *out = g_strdup(text);
    return true;
}

/* White space around items is removed, so that equal lists are equal texts. */
static bool set_list(char **out, const OptionRow *row, const char *text, GError **error)
{
    g_auto(GStrv) items = text_list(text);
    g_autofree char *joined = text_list_join((const char *const *)items);
    return set_string(out, row, joined, error);
}

bool option_value_parse(void *field, const OptionRow *row, const char *text, GError **error)
{
    if (has_auto(row) && strcmp(text, "auto") == 0) {
        memset(field, 0, sizeof(int64_t)); /* of a double too, also that of an amount */
        return true;
    }
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

char *option_value_format(const void *field, const OptionRow *row)
{
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
    case OPT_AMOUNT: {
        Amount amount = *(const Amount *)field;
        return amount.value == 0 && has_auto(row) ? g_strdup("auto") : amount_format(amount);
    }
    }
    CHECK(false, "option %s of type %d", row->name, (int)row->type);
}

/* ---- values from YAML lists ---- */

/* Whether `key` is this entry of OptionRow.choices, which may end with a question mark. */
static bool is_key(const char *choice, const char *key)
{
    size_t n = strcspn(choice, "?");
    return strncmp(choice, key, n) == 0 && key[n] == '\0';
}

char *option_list_keys(const OptionRow *row)
{
    g_autofree char *keys = g_strjoinv(", ", (char **)(uintptr_t)row->choices);
    g_auto(GStrv) parts = g_strsplit(keys, "?", -1);
    return g_strjoinv("", parts);
}

static const char *item_value(char *const *item, const char *choice)
{
    for (; *item; item += 2)
        if (is_key(choice, item[0]))
            return item[1];
    return NULL;
}

/* Appends the values of an item in the order of the row's keys. */
static bool pick_values(const OptionRow *row, char *const *item, GPtrArray *values, GError **error)
{
    g_autofree char *keys = option_list_keys(row);
    for (const char *const *key = row->choices; *key; key++) {
        const char *value = item_value(item, *key);
        bool left_out = value == NULL && g_str_has_suffix(*key, "?");
        if (!left_out && (value == NULL || *value == '\0'))
            return fail_user(error, "no %.*s; an item has %s", (int)strcspn(*key, "?"), *key, keys);
        if (value)
            g_ptr_array_add(values, (gpointer)value);
    }
    return g_strv_length((char **)(uintptr_t)item) == 2 * values->len ||
           fail_user(error, "an unknown key; an item has %s", keys);
}

/* An item of a list without keys; NULL on error. */
static char *plain_item(char *const *item, GError **error)
{
    if (item[0] && *item[0] == '\0')
        return g_strdup(item[1]);
    return fail_user(error, "one value is wanted, not a map");
}

/* NULL on error. */
static char *join_item(const OptionRow *row, char *const *item, GError **error)
{
    g_autoptr(GPtrArray) values = g_ptr_array_new();
    bool bare = item[0] && *item[0] == '\0';
    if (bare)
        g_ptr_array_add(values, item[1]);
    else if (!pick_values(row, item, values, error))
        return NULL;
    g_ptr_array_add(values, NULL);
    char *text = g_strjoinv(":", (char **)values->pdata);
    if (strchr(text, ',') == NULL)
        return text;
    fail_user(error, "a comma ends an item, so none can be in it");
    g_free(text);
    return NULL;
}

char *option_list_join(const OptionRow *row, const GPtrArray *items, GError **error)
{
    g_autoptr(GPtrArray) texts = g_ptr_array_new_with_free_func(g_free);
    const bool files = row->choices == option_files;
    if (row->type != OPT_LIST && !files)
        return fail_user(error, "%s: a list is not accepted here, write one value", row->name);
    for (guint i = 0; i < items->len; i++) {
        char *text =
            row->choices && !files ? join_item(row, items->pdata[i], error) : plain_item(items->pdata[i], error);
        if (!text)
            return fail_context(error, "%s: item %u", row->name, i + 1);
        g_ptr_array_add(texts, text);
    }
    if (files && texts->len == 1)
        return g_strdup(texts->pdata[0]);
    g_ptr_array_add(texts, NULL);
    return text_list_join((const char *const *)texts->pdata);
}
