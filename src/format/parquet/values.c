#include "format/parquet/values.h"

#include <string.h>

/* By their numbers in the format. */
enum {
    PLAIN = 0,
    PLAIN_DICTIONARY = 2,
    RLE = 3,
    DELTA_BINARY_PACKED = 5,
    DELTA_LENGTH_BYTE_ARRAY = 6,
    DELTA_BYTE_ARRAY = 7,
    RLE_DICTIONARY = 8,
    BYTE_STREAM_SPLIT = 9
};

#define MOST_TEXT       ((size_t)1 << 30) /* bytes of a text that is put together */
#define MOST_DICTIONARY (1 << 24)         /* values */

/* ---- plain values ---- */

/* The value of a type with a width. */
static Value value_of(const LeafType *type, const char *bytes)
{
    Value value = { .text = bytes, .bytes = (size_t)type->width };
    int32_t small;
    float single;
    switch (type->physical) {
    case PHYSICAL_INT32:
        memcpy(&small, bytes, sizeof small);
        value.integer = small;
        break;
    case PHYSICAL_INT64:
        memcpy(&value.integer, bytes, sizeof value.integer);
        break;
    case PHYSICAL_FLOAT:
        memcpy(&single, bytes, sizeof single);
        value.real = (double)single;
        break;
    case PHYSICAL_DOUBLE:
        memcpy(&value.real, bytes, sizeof value.real);
        break;
    default:
        break;
    }
    return value;
}

/* The next n bytes as the value. */
static bool take_bytes(const char **at, const char *end, uint64_t n, Value *value)
{
    if (n > (uint64_t)(end - *at))
        return false;
    *value = (Value){ .text = *at, .bytes = (size_t)n };
    *at += n;
    return true;
}

/* The next plain value of any type but PHYSICAL_BOOLEAN. */
static bool take_plain(const LeafType *type, const char **at, const char *end, Value *value)
{
    uint32_t n = (uint32_t)type->width;
    if (type->physical == PHYSICAL_BYTES) {
        if (end - *at < (ptrdiff_t)sizeof n)
            return false;
        memcpy(&n, *at, sizeof n);
        *at += sizeof n;
    }
    if (!take_bytes(at, end, n, value))
        return false;
    if (type->physical != PHYSICAL_BYTES)
        *value = value_of(type, value->text);
    return true;
}

static bool take_boolean(Values *values, Value *value)
{
    const uint64_t byte = values->index / 8;
    if (byte >= (uint64_t)(values->end - values->at))
        return false;
    *value = (Value){ .integer = (uint8_t)values->at[byte] >> (values->index % 8) & 1 };
    values->index++;
    return true;
}

/* ---- dictionaries ---- */

Dictionary *dictionary_new(const LeafType *type, char *data, size_t bytes, uint32_t n)
{
    Dictionary *dictionary = g_new0(Dictionary, 1);
    const char *at = data, *end = data + bytes;
    const size_t least = type->physical == PHYSICAL_BYTES ? sizeof(uint32_t) : (size_t)type->width;
    dictionary->data = data;
    bool good = type->physical != PHYSICAL_BOOLEAN && n <= bytes / least && n <= MOST_DICTIONARY;
    dictionary->values = g_new(Value, good ? n : 0);
    for (; good && dictionary->n < n; dictionary->n += good)
        good = take_plain(type, &at, end, &dictionary->values[dictionary->n]);
    if (!good)
        g_clear_pointer(&dictionary, dictionary_free);
    return dictionary;
}

void dictionary_free(Dictionary *dictionary)
{
    if (!dictionary)
        return;
    g_free(dictionary->values);
    g_free(dictionary->data);
    g_free(dictionary);
}

/* ---- the other encodings ---- */

static bool take_delta(Values *values, Value *value)
{
    int64_t integer;
    if (!delta_next(&values->delta, &integer))
        return false;
    *value = (Value){ .integer = values->type->physical == PHYSICAL_INT32 ? (int32_t)(uint32_t)integer : integer };
    return true;
}

static bool take_counted(Values *values, Value *value)
{
    int64_t n;
    return delta_next(&values->delta, &n) && n >= 0 && take_bytes(&values->at, values->end, (uint64_t)n, value);
}

/* The next value of a type with a width, or text, from its bytes. */
static bool give_text(const Values *values, Value *value)
{
    if (values->type->physical != PHYSICAL_BYTES && values->text->len != (size_t)values->type->width)
        return false;
    *value = (Value){ .text = values->text->str, .bytes = values->text->len };
    if (values->type->physical != PHYSICAL_BYTES)
        *value = value_of(values->type, values->text->str);
    return true;
}

/* A text that begins as the one before it. */
static bool take_suffix(Values *values, Value *value)
{
    int64_t prefix;
    Value suffix;
    if (!delta_next(&values->prefixes, &prefix) || prefix < 0 || (uint64_t)prefix > values->text->len ||
        !take_counted(values, &suffix) || suffix.bytes > MOST_TEXT - (size_t)prefix)
        return false;
    g_string_truncate(values->text, (gsize)prefix);
    g_string_append_len(values->text, suffix.text, (gssize)suffix.bytes);
    return give_text(values, value);
}

/* Byte k of value i is byte i of stream k. */
static bool take_split(Values *values, Value *value)
{
    if (values->index == values->n)
        return false;
    g_string_truncate(values->text, 0);
    for (int32_t k = 0; k < values->type->width; k++)
        g_string_append_c(values->text, values->at[(uint64_t)k * values->n + values->index]);
    values->index++;
    return give_text(values, value);
}

static bool take_index(Values *values, Value *value)
{
    uint32_t index;
    if (!runs_next(&values->runs, &index) || index >= values->dictionary->n)
        return false;
    *value = values->dictionary->values[index];
    return true;
}

static bool take_run(Values *values, Value *value)
{
    uint32_t bit;
    const bool found = runs_next(&values->runs, &bit);
    *value = (Value){ .integer = bit };
    return found;
}

bool values_next(Values *values, Value *value)
{
    switch (values->encoding) {
    case PLAIN:
        return values->type->physical == PHYSICAL_BOOLEAN ? take_boolean(values, value)
                                                          : take_plain(values->type, &values->at, values->end, value);
    case RLE:
        return take_run(values, value);
    case DELTA_BINARY_PACKED:
        return take_delta(values, value);
    case DELTA_LENGTH_BYTE_ARRAY:
        return take_counted(values, value);
    case DELTA_BYTE_ARRAY:
        return take_suffix(values, value);
    case BYTE_STREAM_SPLIT:
        return take_split(values, value);
    default:
        return take_index(values, value);
    }
}

/* ---- opening ---- */

/* Opens the lengths at values->at, and goes behind them. */
static bool open_lengths(Values *values, Delta *lengths, int64_t most)
{
    if (!delta_open(lengths, values->at, (size_t)(values->end - values->at), most))
        return false;
    const char *end = delta_end(*lengths);
    values->at = end;
    return end != NULL;
}

static bool open_dictionary(Values *values, int64_t most)
{
    const size_t n = (size_t)(values->end - values->at);
    if (n == 0) /* only nulls */
        return most >= 0;
    const int width = (uint8_t)*values->at;
    values->runs = runs_new(values->at + 1, n - 1, MIN(width, 32));
    return width <= 32;
}

/* Booleans, whose bytes come after their number. */
static bool open_booleans(Values *values)
{
    uint32_t n;
    const size_t bytes = (size_t)(values->end - values->at);
    if (bytes < sizeof n)
        return bytes == 0;
    memcpy(&n, values->at, sizeof n);
    values->runs = runs_new(values->at + sizeof n, MIN(n, bytes - sizeof n), 1);
    return true;
}

/* Whether values of this type can have the encoding. */
static bool fits(const LeafType *type, int encoding)
{
    const bool integer = type->physical == PHYSICAL_INT32 || type->physical == PHYSICAL_INT64;
    const bool text = type->physical == PHYSICAL_BYTES || type->physical == PHYSICAL_FIXED;
    switch (encoding) {
    case RLE:
        return type->physical == PHYSICAL_BOOLEAN;
    case DELTA_BINARY_PACKED:
        return integer;
    case DELTA_LENGTH_BYTE_ARRAY:
        return type->physical == PHYSICAL_BYTES;
    case DELTA_BYTE_ARRAY:
        return text;
    case BYTE_STREAM_SPLIT:
        return type->width > 0;
    default:
        return true;
    }
}

static bool open_encoding(Values *values, int64_t most, GError **error)
{
    const uint64_t n = (uint64_t)(values->end - values->at);
    bool good = true;
    switch (values->encoding) {
    case PLAIN:
        return true;
    case PLAIN_DICTIONARY:
    case RLE_DICTIONARY:
        if (!values->dictionary)
            return fail_user(error, "a page is damaged: its dictionary is missing");
        good = open_dictionary(values, most);
        break;
    case RLE:
        good = open_booleans(values);
        break;
    case DELTA_BINARY_PACKED:
        good = n == 0 || delta_open(&values->delta, values->at, (size_t)n, most);
        break;
    case DELTA_LENGTH_BYTE_ARRAY:
        good = n == 0 || open_lengths(values, &values->delta, most);
        break;
    case DELTA_BYTE_ARRAY:
        good = n == 0 || (open_lengths(values, &values->prefixes, most) && open_lengths(values, &values->delta, most));
        break;
    case BYTE_STREAM_SPLIT:
        values->n = n / (uint64_t)values->type->width;
        break;
    default:
        return fail_user(error,
                         "encoding %d, which loam does not read, but PLAIN, RLE, dictionaries, DELTA_* and "
                         "BYTE_STREAM_SPLIT",
                         values->encoding);
    }
    return good || fail_user(error, "a page is damaged: its values (encoding %d) are malformed", values->encoding);
}

bool values_open(Values *values, const LeafType *type, int encoding, const Dictionary *dictionary, const char *bytes,
                 size_t n, int64_t most, GString *text, GError **error)
{
    *values = (Values){
        .type = type, .encoding = encoding, .at = bytes, .end = bytes + n, .dictionary = dictionary, .text = text
    };
    g_string_truncate(text, 0);
    if (!fits(type, encoding))
        return fail_user(error, "a page is damaged: encoding %d is not one of its type", encoding);
    return open_encoding(values, most, error);
}
