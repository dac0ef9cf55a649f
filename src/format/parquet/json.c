#include "format/parquet/json.h"

#include "base/float16.h"
#include "base/text.h"

#include <math.h>
#include <string.h>

#define DAY_SECONDS  86400
#define MOST_DECIMAL 128     /* bytes */
#define JULIAN_1970  2440588 /* the day 1970-01-01 of INT96 */

/* ---- times ---- */

/* Rounds down. */
static int64_t divide(int64_t a, int64_t b)
{
    return a / b - (a % b < 0);
}

/* What is left of a, at least 0. */
static int64_t remainder_of(int64_t a, int64_t b)
{
    return a % b + (a % b < 0 ? b : 0);
}

/* Appends the date of a day since 1970 in the proleptic Gregorian calendar; H. Hinnant, "chrono-Compatible Low-Level
 * Date Algorithms": years begin in March, and 400 of them have 146,097 days. */
static void append_date(GString *text, int64_t days)
{
    const int64_t since_0 = days + 719468, era = divide(since_0, 146097), day_of_era = remainder_of(since_0, 146097);
    const int64_t year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36524 - day_of_era / 146096) / 365;
    const int64_t day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    const int64_t month = (5 * day_of_year + 2) / 153, day = day_of_year - (153 * month + 2) / 5 + 1;
    const int64_t year = year_of_era + era * 400 + (month >= 10);
    g_string_append_printf(text, "%04" G_GINT64_FORMAT "-%02d-%02d", year, (int)(month < 10 ? month + 3 : month - 9),
                           (int)day);
}

/* Appends the time of a day, with six digits of a fraction unless it is 0, or nine if six are too few, as Python's
 * isoformat does. */
static void append_time(GString *text, int64_t seconds, int64_t nanoseconds, bool utc)
{
    g_string_append_printf(text, "%02d:%02d:%02d", (int)(seconds / 3600), (int)(seconds / 60 % 60),
                           (int)(seconds % 60));
    if (nanoseconds % 1000)
        g_string_append_printf(text, ".%09d", (int)nanoseconds);
    else if (nanoseconds)
        g_string_append_printf(text, ".%06d", (int)(nanoseconds / 1000));
    if (utc)
        g_string_append(text, "+00:00");
}

static int64_t power_of_10(int digits)
{
    int64_t power = 1;
    while (digits-- > 0)
        power *= 10;
    return power;
}

static json_t *json_of_text(GString *text)
{
    json_t *json = json_stringn_nocheck(text->str, text->len);
    g_string_free(text, true);
    return json;
}

static json_t *date(int64_t days)
{
    GString *text = g_string_new(NULL);
    append_date(text, days);
    return json_of_text(text);
}

static json_t *timestamp(int64_t seconds, int64_t nanoseconds, bool utc)
{
    GString *text = g_string_new(NULL);
    append_date(text, divide(seconds, DAY_SECONDS));
    g_string_append_c(text, 'T');
    append_time(text, remainder_of(seconds, DAY_SECONDS), nanoseconds, utc);
    return json_of_text(text);
}

/* A number of units of which a second has 10^digits. */
static json_t *time_of(const LeafType *type, int64_t units)
{
    const int64_t in_second = power_of_10(type->digits), seconds = divide(units, in_second);
    const int64_t nanoseconds = remainder_of(units, in_second) * power_of_10(9 - type->digits);
    if (type->meaning == MEANS_TIMESTAMP)
        return timestamp(seconds, nanoseconds, type->utc);
    if (seconds < 0 || seconds >= DAY_SECONDS)
        return json_integer(units); /* no time of a day */
    GString *text = g_string_new(NULL);
    append_time(text, seconds, nanoseconds, false);
    return json_of_text(text);
}

/* A timestamp of Impala and Spark: nanoseconds of a day, and the day. */
static json_t *timestamp_96(const char *bytes)
{
    int64_t nanoseconds;
    int32_t day;
    memcpy(&nanoseconds, bytes, sizeof nanoseconds);
    memcpy(&day, bytes + sizeof nanoseconds, sizeof day);
    const int64_t seconds = divide(nanoseconds, 1000000000);
    return timestamp(((int64_t)day - JULIAN_1970) * DAY_SECONDS + seconds, remainder_of(nanoseconds, 1000000000),
                     false);
}

/* ---- other numbers ---- */

/* NaN is null, as in JSON lines of pandas, and infinity a text. */
static json_t *real(double number)
{
    if (isinf(number))
        return json_string(number < 0 ? "-Infinity" : "Infinity");
    return isnan(number) ? json_null() : json_real(number);
}

/* An integer that JSON has no room for here is its digits. */
static json_t *unsigned_integer(uint64_t number)
{
    g_autofree char *digits = g_strdup_printf("%" G_GUINT64_FORMAT, number);
    return number <= INT64_MAX ? json_integer((json_int_t)number) : json_string(digits);
}

/* Appends the digits of a number of big-endian bytes, by long division; they are destroyed. */
static void append_digits(GString *text, uint8_t *bytes, size_t n)
{
    const gsize begin = text->len;
    do {
        uint32_t rest = 0;
        for (size_t i = 0; i < n; i++) {
            rest = rest << 8 | bytes[i];
            bytes[i] = (uint8_t)(rest / 10);
            rest %= 10;
        }
        g_string_append_c(text, (char)('0' + rest));
        while (n > 0 && bytes[0] == 0) {
            bytes++;
            n--;
        }
    } while (n > 0);
    g_string_append_c(text, '\0');
    g_strreverse(text->str + begin);
    g_string_truncate(text, text->len - 1);
}

/* A number of big-endian bytes, in two's complement, with a point before its last `digits` digits. */
static json_t *decimal(const char *bytes, size_t n, int digits)
{
    GString *text = g_string_new(NULL);
    g_autofree uint8_t *magnitude = g_memdup2(bytes, n);
    const bool negative = n > 0 && magnitude[0] & 0x80;
    for (size_t i = n, carry = 1; negative && i-- > 0; carry &= magnitude[i] == 0)
        magnitude[i] = (uint8_t)(~magnitude[i] + carry);
    append_digits(text, magnitude, n);
    while (text->len <= (gsize)digits)
        g_string_prepend_c(text, '0');
    if (digits > 0)
        g_string_insert_c(text, (gssize)text->len - digits, '.');
    if (negative)
        g_string_prepend_c(text, '-');
    return json_of_text(text);
}

static json_t *decimal_of(const LeafType *type, const Value *value, GError **error)
{
    const uint64_t integer = GUINT64_TO_BE((uint64_t)value->integer);
    if (type->physical == PHYSICAL_INT32 || type->physical == PHYSICAL_INT64)
        return decimal((const char *)&integer, sizeof integer, type->digits);
    if (value->bytes > MOST_DECIMAL)
        return fail_user(error, "a decimal number of more than %d bytes", MOST_DECIMAL);
    return decimal(value->text, value->bytes, type->digits);
}

static json_t *integer_of(const LeafType *type, int64_t integer)
{
    switch (type->meaning) {
    case MEANS_DATE:
        return date(integer);
    case MEANS_TIME:
    case MEANS_TIMESTAMP:
        return time_of(type, integer);
    case MEANS_UNSIGNED:
        return unsigned_integer(type->physical == PHYSICAL_INT32 ? (uint32_t)integer : (uint64_t)integer);
    default:
        return json_integer(integer);
    }
}

/* ---- texts ---- */

static json_t *uuid(const char *bytes)
{
    GString *text = g_string_new(NULL);
    for (int i = 0; i < 16; i++)
        g_string_append_printf(text, "%s%02x", i == 4 || i == 6 || i == 8 || i == 10 ? "-" : "", (uint8_t)bytes[i]);
    return json_of_text(text);
}

/* The first byte of the text that is no UTF-8, or, without `nuls`, is a NUL; NULL if there is none. */
static const char *find_bad(const char *text, size_t n, bool nuls)
{
    const char *end = text + n, *bad;
    while (!g_utf8_validate(text, end - text, &bad)) {
        if (*bad || !nuls)
            return bad;
        text = bad + 1;
    }
    return NULL;
}

static json_t *text_of(const Value *value, const ParquetTexts *texts, GError **error)
{
    g_autofree char *most = value->bytes > texts->most_bytes ? text_bytes(texts->most_bytes) : NULL;
    if (most)
        return fail_user(error, "a text longer than %s%s", most, texts->longer);
    const char *bad = value->bytes > 0 ? find_bad(value->text, value->bytes, texts->nuls) : NULL;
    if (bad && *bad == 0)
        return fail_user(error, "a NUL in a text");
    if (bad)
        return fail_user(error, "bytes that are not UTF-8 (0x%02x)", (uint8_t)*bad);
    return json_stringn_nocheck(value->text, value->bytes);
}

json_t *json_of_value(const LeafType *type, const Value *value, const ParquetTexts *texts, GError **error)
{
    uint16_t half;
    if (type->meaning == MEANS_DECIMAL)
        return decimal_of(type, value, error);
    switch (type->physical) {
    case PHYSICAL_BOOLEAN:
        return json_boolean(value->integer);
    case PHYSICAL_INT32:
    case PHYSICAL_INT64:
        return integer_of(type, value->integer);
    case PHYSICAL_FLOAT:
    case PHYSICAL_DOUBLE:
        return real(value->real);
    case PHYSICAL_INT96:
        return timestamp_96(value->text);
    default:
        if (type->meaning == MEANS_UUID)
            return uuid(value->text);
        if (type->meaning != MEANS_FLOAT16)
            return text_of(value, texts, error);
        memcpy(&half, value->text, sizeof half);
        return real((double)f16_to_f32(half));
    }
}
