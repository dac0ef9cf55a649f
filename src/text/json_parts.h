/* json_parts.h: builds the parts of a tokenizer.json. Each function returns a new reference. */
#pragma once

#include "text/added_tokens.h"

#include <jansson.h>

/* One entry of the array "added_tokens". */
json_t *json_added_token(const AddedToken *token);
json_t *json_added_tokens(const GArray *tokens); /* the array "added_tokens" of these AddedToken */

/* The whole tokenizer.json, made of its parts, whose references it takes over. A part that is NULL is written as
 * null. */
json_t *json_tokenizer(json_t *added, json_t *normalizer, json_t *pre_tokenizer, json_t *post_processor,
                       json_t *decoder, json_t *model);

/* ---- blanks: sentinels and the mask, beside which text is encoded as in a corpus. They are added tokens that are
 * special and `normalized`, so that the normalizer sees the whole text; its last step, of type Replace, removes the
 * space that belongs to a blank ---- */

/* Makes `names` blanks of a tokenizer.json and appends that step. space: how normalized text spells a space; after: the
 * space after a blank belongs to it, not the one before it. Does nothing if none of the names is an added token. */
void json_join_blanks(json_t *root, GHashTable *names, const char *space, bool after);
/* Whether `step` is the step that json_join_blanks appends to this tokenizer.json. */
bool json_joins_blanks(const json_t *root, const json_t *step, const char *space, bool after);
