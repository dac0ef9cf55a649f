/* pickle.h: reads Python's pickles as data. Numbers, texts and plain containers become values; a class, a function or
 * an object becomes a placeholder with its name and arguments. Nothing is imported and nothing is called. */
#pragma once

#include "base/error.h"
#include "format/pickle_value.h"

typedef struct Pickle Pickle;
/* Reads one pickle of protocol 2 to 5, made of the opcodes that torch.save writes; `data` must outlive the result.
 * *used becomes the pickle's length in bytes: another pickle may follow. Values may refer to each other in cycles. */
Pickle *pickle_read(const char *data, size_t bytes, size_t *used, GError **error);
void pickle_free(Pickle *pickle);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Pickle, pickle_free)
/* The pickled object. */
const PickleValue *pickle_root(const Pickle *pickle);
/* Every value of the pickle, in the order of its opcodes. */
guint pickle_count(const Pickle *pickle);
const PickleValue *pickle_value(const Pickle *pickle, guint index);
