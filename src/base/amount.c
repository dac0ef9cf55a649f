#include "base/amount.h"

#include "base/error.h"
#include "base/text.h"

#include <math.h>
#include <string.h>

#define DIGITS       "0123456789"
#define MAX_EXACT    0x1p53
#define LONGEST_TEXT 64

static const char multiples[] = "kMBT"; /* 10^3, 10^6, 10^9, 10^12 */

/* By AmountUnit, up to UNIT_EPOCHS. The singular lacks the s. */
static const char *const unit_words[] = { "steps", "samples", "examples", "tokens", "epochs", NULL };

bool amount_scan_number(double *out, const char **text)
{
    const char *p = *text;
    size_t whole = strspn(p, DIGITS);
    p += whole;
    size_t decimals = *p == '.' ? strspn(p + 1, DIGITS) : 0;
    if (*p == '.')
        p += 1 + decimals;
    if (whole + decimals == 0)
        return false;
    g_autofree char *number = g_strndup(*text, (gsize)(p - *text));
    long exponent = 0;
    const char *multiple = *p ? strchr(multiples, *p) : NULL;
    if (multiple) {
        exponent = 3 * (multiple - multiples + 1);
        p++;
    } else if (*p == 'e' || *p == 'E') {
        size_t sign = p[1] == '+' || p[1] == '-';
        size_t digits = strspn(p + 1 + sign, DIGITS);
        if (digits > 4 || (digits == 0 && sign > 0))
            return false;
        exponent = digits > 0 ? strtol(p + 1, NULL, 10) : 0;
        p += digits > 0 ? 1 + sign + digits : 0; /* otherwise it begins a unit, "3epochs" */
    }
    /* Multiplying would round: 1.1 * 1e6 is not 1.1e6. */
    g_autofree char *scientific = g_strdup_printf("%se%ld", number, exponent);
    *out = g_ascii_strtod(scientific, NULL);
    *text = p;
    return isfinite(*out);
}

static bool not_an_amount(const char *text, GError **error)
{
    return fail_user(error,
                     "\"%s\" is not an amount; write one like 10k steps, 5M samples, 260B tokens, 3 epochs or "
                     "19h50m",
                     text);
}

/* Reads days, hours, minutes and seconds, in this order, each at most once. */
static bool parse_time(Amount *out, const char *text, GError **error)
{
    static const char letters[] = "dhms";
    static const double seconds[] = { 86400, 3600, 60, 1 };
    *out = (Amount){ .unit = UNIT_SECONDS };
    const char *p = text, *expected = letters;
    while (*p) {
        double number;
        if (!amount_scan_number(&number, &p) || *p == '\0')
            return not_an_amount(text, error);
        const char *letter = strchr(expected, *p);
        if (letter == NULL)
            return not_an_amount(text, error);
        out->value += number * seconds[letter - letters];
        expected = letter + 1;
        p++;
    }
    return true;
}

static bool parse_unit(AmountUnit *out, const char *word, const char *text, GError **error)
{
    if (*word == '\0') {
        *out = UNIT_STEPS;
        return true;
    }
    for (int unit = 0; unit_words[unit]; unit++) {
        size_t length = strlen(unit_words[unit]);
        if (strncmp(word, unit_words[unit], MAX(strlen(word), length - 1)) == 0) {
            *out = (AmountUnit)unit;
            return true;
        }
    }
    if (strchr("KmbtgG", *word) && (word[1] == ' ' || word[1] == '\0'))
        return fail_user(error,
                         "\"%s\": \"%c\" is not a multiple; k, M, B and T are thousand, million, billion and "
                         "trillion",
                         text, *word);
    const char *nearest = text_nearest(word, unit_words);
    if (nearest)
        return fail_user(error, "\"%s\": unknown unit \"%s\", did you mean %s?", text, word, nearest);
    return fail_user(error,
                     "\"%s\": unknown unit \"%s\"; units are steps, samples, tokens, epochs, or a time like "
                     "19h50m",
                     text, word);
}

/* Whether the text ends in a digit and d, h, m or s. */
static bool looks_like_time(const char *text)
{
    size_t length = strlen(text);
    return length >= 2 && strchr("dhms", text[length - 1]) && strchr(DIGITS ".", text[length - 2]);
}

bool amount_parse(Amount *out, const char *text, GError **error)
{
    if (strlen(text) > LONGEST_TEXT)
        return not_an_amount("…", error);
    g_autofree char *trimmed = g_strstrip(g_strdup(text));
    Amount amount = { 0 };
    if (looks_like_time(trimmed)) {
        if (!parse_time(&amount, trimmed, error))
            return false;
    } else {
        const char *p = trimmed;
        if (!amount_scan_number(&amount.value, &p))
            return not_an_amount(text, error);
        p += strspn(p, " ");
        if (strcmp(p, "%") == 0)
            amount.unit = UNIT_PERCENT;
        else if (!parse_unit(&amount.unit, p, text, error))
            return false;
        if (amount.unit < UNIT_EPOCHS && amount.value != floor(amount.value))
            return fail_user(error, "\"%s\": %s must be a whole number", text, unit_words[amount.unit]);
    }
    if (!(amount.value <= MAX_EXACT))
        return fail_user(error, "\"%s\" is too much; amounts end at 9007T", text);
    *out = amount;
    return true;
}

/* The shortest of "64000", "64k", "0.064M", …; g_free. */
static char *format_whole(double value)
{
    char *best = g_strdup_printf("%.0f", value);
    g_autofree char *digits = g_strdup(best);
    size_t length = strlen(digits);
    for (size_t i = 0; multiples[i] && 3 * (i + 1) < length; i++) {
        size_t whole = length - 3 * (i + 1), end = length;
        while (end > whole && digits[end - 1] == '0')
            end--;
        char *text = g_strdup_printf("%.*s%s%.*s%c", (int)whole, digits, end > whole ? "." : "", (int)(end - whole),
                                     digits + whole, multiples[i]);
        if (strlen(text) < strlen(best)) {
            g_free(best);
            best = text;
        } else {
            g_free(text);
        }
    }
    return best;
}

static char *format_time(double seconds)
{
    if (seconds != floor(seconds) || seconds == 0) {
        g_autofree char *number = text_number(seconds);
        return g_strconcat(number, "s", NULL);
    }
    gint64 s = (gint64)seconds;
    GString *text = g_string_new(NULL);
    if (s >= 3600)
        g_string_append_printf(text, "%" G_GINT64_FORMAT "h", s / 3600);
    if (s / 60 % 60 > 0)
        g_string_append_printf(text, "%dm", (int)(s / 60 % 60));
    if (s % 60 > 0)
        g_string_append_printf(text, "%ds", (int)(s % 60));
    return g_string_free(text, FALSE);
}

char *amount_format(Amount amount)
{
    if (amount.unit == UNIT_SECONDS)
        return format_time(amount.value);
    g_autofree char *number =
        amount.value == floor(amount.value) ? format_whole(amount.value) : text_number(amount.value);
    if (amount.unit == UNIT_PERCENT)
        return g_strconcat(number, "%", NULL);
    const char *word = unit_words[amount.unit];
    int letters = (int)strlen(word) - (amount.value == 1);
    return g_strdup_printf("%s %.*s", number, letters, word);
}
