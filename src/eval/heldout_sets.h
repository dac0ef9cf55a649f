/* heldout_sets.h: the held-out datasets that data.valid names. */
#pragma once

#include "data/loader.h"

typedef struct HeldoutSet {
    char *name; /* NULL where the option gives none */
    char *prefix;
    Loader *loader;
} HeldoutSet;

/* Opens PREFIX, or NAME:PREFIX,NAME:PREFIX …, in their order, as an array that owns its HeldoutSet *. An empty
 * option gives an empty array, or the part of data.train that data.split holds out. Names are letters, digits, - and _,
 * and differ. */
GPtrArray *heldout_sets_open(const DataConfig *config, const Tokenizer *tok, uint64_t seed, GError **error);
/* Calls loader_start_decoder with the loader of each set. */
void heldout_sets_start_decoder(const GPtrArray *sets, int32_t id);
