/* heldout_sets.h: the held-out datasets that data.valid names. */
#pragma once

#include "data/loader.h"

typedef struct HeldoutSet {
    char *name; /* NULL where the option gives none */
    char *prefix;
    Loader *loader;
} HeldoutSet;

/* Opens PREFIX, or NAME:PREFIX,NAME:PREFIX …, in their order: HeldoutSet *, owned by the array, which is empty where
 * the option is, unless data.split keeps a part of data.train to validate on. Names are letters, digits, - and _, and
 * differ. */
GPtrArray *heldout_sets_open(const DataConfig *config, const Tokenizer *tok, uint64_t seed, GError **error);
/* loader_start_decoder of each. */
void heldout_sets_start_decoder(const GPtrArray *sets, int32_t id);
