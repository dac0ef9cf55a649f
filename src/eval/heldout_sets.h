/* heldout_sets.h: the held-out datasets of data.valid. */
#pragma once

#include "data/loader.h"

typedef struct HeldoutSet {
    char *name;        /* NULL means that data.valid gives none */
    char *path_prefix; /* of the dataset's files */
    Loader *loader;
} HeldoutSet;

/* Opens the datasets of data.valid, PREFIX or NAME:PREFIX,NAME:PREFIX …, in this order: HeldoutSet *, owned by the
 * array. Where data.valid is empty, opens the validation part of data.train if data.split names one, else nothing.
 * Names consist of letters, digits, - and _, and are unique. */
GPtrArray *heldout_sets_open(const DataConfig *config, const Tokenizer *tok, uint64_t seed, GError **error);
/* Calls loader_start_decoder for each set. */
void heldout_sets_start_decoder(const GPtrArray *sets, int32_t id);
