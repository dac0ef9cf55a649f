/* normalizer.h: the normalizer of a tokenizer.json: Precompiled, NFC, NFD, NFKC, NFKD, Lowercase, StripAccents,
 * Replace, Strip, Prepend, or a Sequence of them. */
#pragma once

#include "base/error.h"
#include "text/offset_map.h"

#include <jansson.h>

typedef struct Normalizer Normalizer; /* read-only once open */

/* part: the value of "normalizer"; NULL means that there is none, which changes no text. */
Normalizer *normalizer_open(json_t *part, GError **error);
void normalizer_close(Normalizer *plan);
bool normalizer_is_empty(const Normalizer *plan); /* NULL is empty, too */
bool normalizer_prefixes(const Normalizer *plan); /* whether it has a Prepend */
/* Normalizes UTF-8 text. *starts_text becomes false if a Strip removes white space at the start. False, with an error,
 * if a regular expression exceeds its limits. */
bool normalizer_apply(const Normalizer *plan, MappedText *text, bool *starts_text, GError **error);
