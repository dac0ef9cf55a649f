/* dataset_check.h: a look at every token of a dataset. */
#pragma once

#include "data/dataset.h"

typedef struct DatasetCheck {
    int64_t tokens;
    int32_t least, largest; /* id; one that no i32 holds counts as -1 */
    int64_t bad;            /* ids below 0 or not below the vocabulary; what follows is of the first one */
    int32_t id;
    int64_t sequence, document, token; /* from 0: the document of the whole set, the token of its document */
} DatasetCheck;

/* vocab 0: not known, only ids below 0 are bad. Fails where the tokens cannot be read. */
bool dataset_check(const Dataset *data, int64_t vocab, DatasetCheck *check, GError **error);
