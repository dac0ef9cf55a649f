#include "base/text.h"

#include <limits.h>
#include <math.h>
#include <string.h>

/* Whether a backslash takes the meaning from this character of a list. */
static bool is_of_list(char c)
{
    return c == ',' || c == '\\' || g_ascii_isspace(c);
}

char **text_list(const char *list)
{
    g_autoptr(GPtrArray) items = g_ptr_array_new();
    GString *item = list && *list ? g_string_new(NULL) : NULL;
    size_t kept = 0; /* bytes of the item without the white space at its end */
    for (const char *at = list; item; at++) {
        const bool escaped = *at == '\\' && is_of_list(at[1]);
        at += escaped;
        if (!escaped && (*at == ',' || *at == '\0')) {
            g_ptr_array_add(items, g_string_free(g_string_truncate(item, kept), false));
            item = *at ? g_string_new(NULL) : NULL;
            kept = 0;
            continue;
        }
        const bool visible = escaped || !g_ascii_isspace(*at);
        if (visible || kept > 0)
            g_string_append_c(item, *at);
        kept = visible ? item->len : kept;
    }
    g_ptr_array_add(items, NULL);
    return (char **)g_ptr_array_steal(items, NULL);
}

char *text_list_join(const char *const *items)
{
    GString *list = g_string_new(NULL);
    for (int i = 0; items[i]; i++) {
        if (i > 0)
            g_string_append_c(list, ',');
        for (const char *at = items[i]; *at; at++) {
            const bool outer = g_ascii_isspace(*at) && (at == items[i] || at[1] == '\0');
            if (*at == ',' || outer || (*at == '\\' && (is_of_list(at[1]) || at[1] == '\0')))
                g_string_append_c(list, '\\');
            g_string_append_c(list, *at);
        }
    }
    return g_string_free(list, false);
}

/* Optimal string alignment: insertion, deletion, replacement and swapping two neighbours cost 1 each. */
int text_distance(const char *a, const char *b)
{
    size_t n = strlen(a), m = strlen(b);
    g_autofree int *memory = g_new(int, 3 * (m + 1));
    int *before = memory, *above = before + m + 1, *row = above + m + 1; /* rows i - 2, i - 1 and i */
    for (size_t j = 0; j <= m; j++)
        row[j] = (int)j;
    for (size_t i = 1; i <= n; i++) {
        int *free_row = before;
        before = above;
        above = row;
        row = free_row;
        row[0] = (int)i;
        for (size_t j = 1; j <= m; j++) {
            row[j] = MIN(MIN(above[j], row[j - 1]) + 1, above[j - 1] + (a[i - 1] != b[j - 1]));
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
                row[j] = MIN(row[j], before[j - 2] + 1);
        }
    }
    return row[m];
}

/* Bytes; longer names are not typing errors, and the time of text_distance grows with the square of the length. */
#define MAX_NAME 64

static int common_prefix(const char *a, const char *b)
{
    int n = 0;
    while (a[n] && a[n] == b[n])
        n++;
    return n;
}

/* The distance; a third of it if one name is a prefix, of 3 letters or more, of the other. */
static int edits(const char *a, const char *b)
{
    int distance = text_distance(a, b), common = common_prefix(a, b);
    bool goes_on = common >= 3 && (a[common] == '\0' || b[common] == '\0');
    return goes_on ? (distance + 2) / 3 : distance;
}

/* The order of nearness: names that start alike count as nearer. */
static int unlikeness(const char *a, const char *b, int distance)
{
    return 2 * distance - common_prefix(a, b);
}

/* Whether two names differ in nothing but case and punctuation: "rouge_l" and "ROUGE-L". */
static bool same_letters(const char *a, const char *b)
{
    while (*a || *b)
        if (*a && !g_ascii_isalnum(*a))
            a++;
        else if (*b && !g_ascii_isalnum(*b))
            b++;
        else if (g_ascii_tolower(*a++) != g_ascii_tolower(*b++))
            return false;
    return true;
}

int text_compare(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

bool text_has_suffix(const char *text, const char *suffix)
{
    const size_t n = strlen(text), n_suffix = strlen(suffix);
    return n >= n_suffix && g_ascii_strcasecmp(text + n - n_suffix, suffix) == 0;
}

char *text_choice(const char *const *list)
{
    GString *choice = g_string_new(list[0]);
    for (size_t i = 1; list[0] && list[i]; i++)
        g_string_append_printf(choice, "%s%s", list[i + 1] ? ", " : " or ", list[i]);
    return g_string_free(choice, false);
}

const char *text_nearest(const char *name, const char *const *list)
{
    const char *nearest = NULL;
    if (strnlen(name, MAX_NAME + 1) > MAX_NAME)
        return NULL;
    int limit = (int)(strlen(name) + 1) / 2; /* distance < limit <=> distance < length / 2 */
    for (int least = INT_MAX; *list; list++) {
        if (same_letters(name, *list))
            return *list;
        int distance = edits(name, *list), unlike = unlikeness(name, *list, distance);
        if (distance < limit && unlike < least) {
            nearest = *list;
            least = unlike;
        }
    }
    return nearest;
}

char *text_nearest_few(const char *whole, const char *const *list)
{
    g_autofree char *name = g_strndup(whole, MAX_NAME);
    const char *few[4] = { NULL }; /* sorted, nearest first; entry 3 is dropped */
    int least[4];
    for (; *list; list++) {
        int at = 3, unlike = unlikeness(name, *list, edits(name, *list));
        for (; at > 0 && (!few[at - 1] || unlike < least[at - 1]); at--) {
            few[at] = few[at - 1];
            least[at] = least[at - 1];
        }
        few[at] = *list;
        least[at] = unlike;
    }
    few[3] = NULL;
    return g_strjoinv(", ", (char **)few);
}

char *text_count(double n)
{
    static const char *const units[] = { "", "k", "M", "B", "T" };
    guint unit = 0;
    while (fabs(n) >= 999.5 && unit + 1 < G_N_ELEMENTS(units)) { /* 999.5 would print as four digits */
        n /= 1000;
        unit++;
    }
    if (fabs(n) >= 999.5)
        return g_strdup_printf("%.0f%s", n, units[unit]);
    return g_strdup_printf("%.3g%s", n, units[unit]);
}

char *text_bytes(uint64_t bytes)
{
    static const char *const units[] = { "B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB" };
    double value = (double)bytes;
    guint unit = 0;
    while (value >= 1023.5 && unit + 1 < G_N_ELEMENTS(units)) {
        value /= 1024;
        unit++;
    }
    return g_strdup_printf("%.*f %s", unit == 0 || value >= 99.95 ? 0 : 1, value, units[unit]);
}

char *text_duration(double seconds)
{
    if (!(seconds >= 0 && seconds < 1e12))
        return g_strdup("unknown");
    if (seconds == 0)
        return g_strdup("0s");
    if (seconds < 0.9995e-3)
        return g_strdup_printf("%.3gus", seconds * 1e6);
    if (seconds < 0.9995)
        return g_strdup_printf("%.3gms", seconds * 1e3);
    if (seconds < 59.95)
        return g_strdup_printf("%.1fs", seconds);
    int64_t s = (int64_t)(seconds + 0.5), m = s / 60, h = m / 60;
    if (h == 0)
        return g_strdup_printf("%" G_GINT64_FORMAT "m%02ds", m, (int)(s % 60));
    if (h < 24)
        return g_strdup_printf("%" G_GINT64_FORMAT "h%02dm", h, (int)(m % 60));
    return g_strdup_printf("%" G_GINT64_FORMAT "d%02dh", h / 24, (int)(h % 24));
}

char *text_percent(double share)
{
    const double percent = 100 * share;
    if (isnan(share))
        return g_strdup("nan");
    const int decimals = percent > 0 && percent < 9.95 ? MIN(1 - (int)floor(log10(percent)), 15) : 0;
    GString *text = g_string_new(NULL);
    g_string_printf(text, "%.*f", decimals, percent);
    while (decimals > 0 && text->str[text->len - 1] == '0')
        g_string_truncate(text, text->len - 1);
    if (text->str[text->len - 1] == '.')
        g_string_truncate(text, text->len - 1);
    return g_string_free(g_string_append(text, " %"), false);
}

char *text_grouped(int64_t n)
{
    g_autofree char *digits = g_strdup_printf("%" G_GINT64_FORMAT, n);
    const char *p = digits;
    GString *text = g_string_new(NULL);
    if (*p == '-')
        g_string_append_c(text, *p++);
    for (size_t left = strlen(p); left > 0; left--, p++) {
        g_string_append_c(text, *p);
        if (left % 3 == 1 && left > 1)
            g_string_append_c(text, ',');
    }
    return g_string_free(text, FALSE);
}

char *text_counted(int64_t n, const char *noun)
{
    return g_strdup_printf("%" G_GINT64_FORMAT " %s%s", n, noun, n == 1 ? "" : "s");
}

char *text_number(double n)
{
    static const char *const formats[] = { "%.15g", "%.16g", "%.17g" };
    char text[G_ASCII_DTOSTR_BUF_SIZE];
    for (guint i = 0; i < G_N_ELEMENTS(formats); i++) {
        g_ascii_formatd(text, sizeof text, formats[i], n);
        if (g_ascii_strtod(text, NULL) == n)
            break;
    }
    return g_strdup(text);
}

char *text_printable(const char *text)
{
    GString *out = g_string_sized_new(strlen(text));
    for (const unsigned char *at = (const unsigned char *)text; *at; at++) {
        const bool c1 = at[0] == 0xc2 && at[1] >= 0x80 && at[1] < 0xa0; /* U+0080 to U+009F */
        if (c1)
            at++;
        if (c1 || *at < ' ' || *at == 0x7f)
            g_string_append_printf(out, "\\x%02x", *at);
        else
            g_string_append_c(out, (char)*at);
    }
    return g_string_free(out, false);
}

char *text_fixed(double n, int digits)
{
    if (isnan(n))
        return g_strdup("nan");
    char *text = g_strdup_printf("%.*f", digits, n);
    if (text[0] == '-' && text[strspn(text, "-0.")] == '\0') /* minus zero, or what is rounded to it */
        memmove(text, text + 1, strlen(text));
    return text;
}

char *text_shell_word(const char *word)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-+=./:,@%";
    return *word && word[strspn(word, plain)] == '\0' ? g_strdup(word) : g_shell_quote(word);
}

size_t text_mark_bytes(const char *text, size_t bytes)
{
    static const char mark[] = "\xef\xbb\xbf";
    const size_t n = strlen(mark);
    return bytes >= n && memcmp(text, mark, n) == 0 ? n : 0;
}

size_t text_common(const char *a, const char *b)
{
    size_t n = (size_t)common_prefix(a, b);
    while (n > 0 && ((a[n] & 0xc0) == 0x80 || (b[n] & 0xc0) == 0x80))
        n--;
    return n;
}

void text_append_wrapped(GString *out, const char *text, glong column, int indent, int width)
{
    g_auto(GStrv) words = g_strsplit_set(text, " \n", -1);
    for (char **word = words; *word; word++) {
        const glong length = g_utf8_strlen(*word, -1);
        const bool breaks = column == 0 || column + 1 + length > width;
        g_string_append_printf(out, "%s%*s%s", breaks && column > 0 ? "\n" : "", breaks ? indent : 1, "", *word);
        column = breaks ? indent + length : column + 1 + length;
    }
    g_string_append_c(out, '\n');
}

/* Number of the bytes at `at`, which begin no whole character, that are the start of one; at least 1. */
static size_t start_bytes(const char *at, size_t n)
{
    const uint8_t *p = (const uint8_t *)at, lead = p[0];
    const uint8_t low = lead == 0xe0   ? 0xa0
                        : lead == 0xf0 ? 0x90
                                       : 0x80,
                  high = lead == 0xed   ? 0x9f
                         : lead == 0xf4 ? 0x8f
                                        : 0xbf;
    const size_t whole = lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4;
    if (n < 2 || lead < 0xc2 || lead > 0xf4 || p[1] < low || p[1] > high)
        return 1;
    size_t i = 2;
    while (i < whole && i < n && (p[i] & 0xc0) == 0x80)
        i++;
    return i;
}

void text_append_valid(GString *to, const char *bytes, size_t n, const char *other)
{
    const char *end = bytes + n, *bad;
    while (!g_utf8_validate_len(bytes, (gsize)(end - bytes), &bad)) {
        const bool nul = *bad == 0; /* for GLib no text holds it */
        g_string_append_len(to, bytes, bad - bytes + nul);
        g_string_append(to, nul ? "" : other);
        bytes = bad + start_bytes(bad, (size_t)(end - bad));
    }
    g_string_append_len(to, bytes, end - bytes);
}
