/* Any bytes as a pickle: an error, or values that all refer to values of the pickle and to its bytes. */
#include "base/check.h"
#include "format/pickle.h"

#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

static void check_value(const PickleValue *value)
{
    char first = value->bytes ? value->text[0] : 0, last = value->bytes ? value->text[value->bytes - 1] : 0;
    CHECK(first == first + 0 && last == last + 0, "%zu bytes", value->bytes);
    for (guint i = 0; i < pickle_items(value); i++)
        CHECK(pickle_item(value, i)->type <= PICKLE_PERSISTENT, "item %u", i);
    CHECK(value->type != PICKLE_DICT || pickle_items(value) % 2 == 0, "a key without a value");
    CHECK(value->type != PICKLE_OBJECT || (value->callable && value->arguments), "a call without arguments");
    CHECK(value->type != PICKLE_PERSISTENT || value->arguments, "a reference to nothing");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    size_t used;
    g_autoptr(GError) error = NULL;
    g_autofree char *copy = g_memdup2(data, bytes); /* so that a byte beyond it is found */
    g_autoptr(Pickle) pickle = pickle_read(bytes ? copy : "", bytes, &used, &error);
    CHECK((pickle == NULL) == (error != NULL) && used <= bytes, "an error or a pickle, not both");
    for (guint i = 0; pickle && i < pickle->values->len; i++)
        check_value(pickle->values->pdata[i]);
    CHECK(pickle == NULL || pickle->root, "a root");
    return 0;
}
