/* json_parts.h: builds the parts of a tokenizer.json. Each function returns a new reference. */
#pragma once

#include "text/added_tokens.h"

#include <jansson.h>

/* An entry of "added_tokens". */
json_t *json_added_token(const AddedToken *token);
json_t *json_added_tokens(const GArray *tokens); /* the whole array */

/* The special tokens that a TemplateProcessing post-processor puts around a text and around each of two texts. */
typedef struct JsonTemplate {
    const char *begin, *end; /* pieces; NULL means none */
    int begin_id, end_id;
    bool typed; /* in a pair, the second text and its end have token type 1 instead of 0 */
} JsonTemplate;
json_t *json_template(const JsonTemplate *around);

/* The whole document. Takes references; any may be NULL, which is written as null. */
json_t *json_tokenizer(json_t *added, json_t *normalizer, json_t *pre_tokenizer, json_t *post_processor,
                       json_t *decoder, json_t *model);
