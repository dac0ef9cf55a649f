#include "format/pickle_value.h"

#include <string.h>

const PickleValue *pickle_find(const PickleValue *dict, const char *key)
{
    for (guint i = dict->type == PICKLE_DICT ? pickle_items(dict) / 2 : 0; i-- > 0;)
        if (pickle_is(pickle_item(dict, 2 * i), PICKLE_TEXT, key))
            return pickle_item(dict, 2 * i + 1);
    return NULL;
}

bool pickle_is(const PickleValue *value, PickleType type, const char *text)
{
    return value && value->type == type && value->bytes == strlen(text) && memcmp(value->text, text, value->bytes) == 0;
}
