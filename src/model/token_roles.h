/* token_roles.h: which token ids start and end what a model writes, and how it was meant to generate. Facts of a model,
 * as its weights are: read from config.json and generation_config.json, kept in checkpoints, written on export. */
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

/* Ids are -1 where they are not known. */
typedef struct TokenRoles {
    int32_t decoder_start;    /* what the decoder of a T5 reads first, in training and in generation */
    int32_t generation_start; /* what it reads first in generation alone, where that differs; else -1 */
    int32_t pad;
    int32_t bos;        /* what a GPT begins with where the prompt is empty */
    TokenList eos;      /* each of them ends an answer */
    json_t *generation; /* other settings of generation_config.json, by its keys; owned, NULL: none */
} TokenRoles;

TokenRoles token_roles_none(void);
void token_roles_clear(TokenRoles *roles);
/* to, which was initialized, becomes equal to from. */
void token_roles_copy(TokenRoles *to, const TokenRoles *from);
/* Fills what is not known from the tokenizer (NULL: there is none): a decoder starts with the padding, or 0; a GPT
 * begins with the token that ended the text before. */
void token_roles_complete(TokenRoles *roles, const Tokenizer *tok);
/* Adds an id to those that end an answer, unless it is -1 or among them. */
void token_roles_add_eos(TokenRoles *roles, int32_t id);

/* As an object of state.json. */
json_t *token_roles_json(const TokenRoles *roles);
/* roles was initialized. An id that the vocabulary does not have is an error. */
bool token_roles_parse(TokenRoles *roles, const json_t *object, int64_t vocab, GError **error);
