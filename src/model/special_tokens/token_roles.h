/* token_roles.h: the token ids that start and end generated text, and a model's default settings of generation. They
 * are read from config.json and generation_config.json, kept in checkpoints, and written on export. */
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

/* An id of -1 means unknown. */
typedef struct TokenRoles {
    int32_t decoder_start;    /* T5: the decoder's first input token */
    int32_t generation_start; /* T5: the decoder's first input token in generation; -1 means decoder_start */
    int32_t pad;
    int32_t bos;        /* GPT: the first token where the prompt is empty */
    TokenList eos;      /* generation stops after any of these */
    json_t *generation; /* the other keys of generation_config.json; owned; NULL means none */
} TokenRoles;

TokenRoles token_roles_none(void);
void token_roles_clear(TokenRoles *roles);
/* *to, which must be initialized, becomes a deep copy of *from. */
void token_roles_copy(TokenRoles *to, const TokenRoles *from);
/* Fills unknown ids from the tokenizer, which may be NULL. decoder_start becomes AST-T5's
 * <sen000> (which ends targets too), otherwise the padding token, or 0; bos becomes
 * the first of eos, which stood between documents in training. */
void token_roles_complete(TokenRoles *roles, const Tokenizer *tok);
/* Adds an id to roles->eos, unless it is -1 or is there already. */
void token_roles_add_eos(TokenRoles *roles, int32_t id);

/* The object of state.json that token_roles_parse reads. */
json_t *token_roles_json(const TokenRoles *roles);
/* Replaces *roles, which must be initialized. Ids must be below `vocab`. */
bool token_roles_parse(TokenRoles *roles, const json_t *object, int64_t vocab, GError **error);
