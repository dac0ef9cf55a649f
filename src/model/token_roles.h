/* token_roles.h: the special tokens of a model (decoder start, padding, beginning and end of a text) and its generation
 * settings. They belong to the model as its weights do: read from config.json and generation_config.json, kept in
 * checkpoints, written on export. */
#pragma once

#include "base/error.h"
#include "text/tokenizer.h"

#include <jansson.h>

#define TOKEN_LIST_MOST 32

typedef struct TokenList {
    int32_t n, ids[TOKEN_LIST_MOST];
} TokenList;

static inline bool token_list_has(const TokenList *list, int32_t id)
{
    for (int32_t i = 0; i < list->n; i++)
        if (list->ids[i] == id)
            return true;
    return false;
}

/* An id of -1 means that it is not known. */
typedef struct TokenRoles {
    int32_t decoder_start;    /* first input of a T5's decoder, in training and in generation */
    int32_t generation_start; /* first input of a T5's decoder in generation alone; -1 means decoder_start */
    int32_t pad;
    int32_t bos;        /* first input of a GPT whose prompt is empty */
    TokenList eos;      /* generation ends after any of these */
    json_t *generation; /* the other settings of generation_config.json; owned; NULL means none */
} TokenRoles;

TokenRoles token_roles_none(void);
void token_roles_clear(TokenRoles *roles);
/* Copies `from` into `to`, which must have been initialized. */
void token_roles_copy(TokenRoles *to, const TokenRoles *from);
/* Fills in unknown ids: padding and end of text from the tokenizer (NULL means no tokenizer), decoder_start with the
 * padding or 0, bos with the first of eos. */
void token_roles_complete(TokenRoles *roles, const Tokenizer *tok);
/* Adds an id to `eos`, unless it is -1 or already there. */
void token_roles_add_eos(TokenRoles *roles, int32_t id);

/* The object "tokens" of state.json. */
json_t *token_roles_json(const TokenRoles *roles);
/* Reads that object into initialized roles. An id beyond the vocabulary is an error. */
bool token_roles_parse(TokenRoles *roles, const json_t *object, int64_t vocab, GError **error);
