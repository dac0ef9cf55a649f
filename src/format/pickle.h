/* pickle.h: reads Python's pickles without executing them. Numbers, texts and plain containers become values; a class,
 * a function or an object becomes a placeholder with its name and arguments. */
#pragma once

#include "base/error.h"
#include "format/pickle_value.h"

typedef struct Pickle Pickle;
/* Reads one pickle of protocol 2 to 5 that consists of opcodes that torch.save writes; `data` must outlive the result.
 * *used becomes the length of the pickle in bytes, since another pickle may follow it. Values may refer to each other
 * in cycles. */
Pickle *pickle_read(const char *data, size_t bytes, size_t *used, GError **error);
void pickle_free(Pickle *pickle);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Pickle, pickle_free)
/* The value of the object that was pickled. */
const PickleValue *pickle_root(const Pickle *pickle);
/* All values of the pickle, in the order of the opcodes that make them: their number, and value number `index`. */
guint pickle_count(const Pickle *pickle);
const PickleValue *pickle_value(const Pickle *pickle, guint index);
