/* json_parts.h: the parts of a tokenizer.json as Hugging Face's tokenizers write them. Each is a new reference. */
#pragma once

#include "text/added_tokens.h"

#include <jansson.h>

/* An entry of added_tokens. */
json_t *json_added_token(const AddedToken *token);
/* A post-processor that puts special tokens around a text and a pair of texts; NULL or a negative id: none there. The
 * end of the pair's second text has type 1 if `typed`. */
typedef struct JsonTemplate {
    const char *begin, *end;
    int begin_id, end_id;
    bool typed;
} JsonTemplate;
json_t *json_template(const JsonTemplate *around);
/* The whole document around these parts; any may be NULL (null). */
json_t *json_tokenizer(json_t *added, json_t *normalizer, json_t *pre_tokenizer, json_t *post_processor,
                       json_t *decoder, json_t *model);
