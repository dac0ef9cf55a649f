/* special_tokens.h: a model's special tokens: ids that start and end generated text, and tokens around its inputs. */
#pragma once

#include "model/config/config.h"
#include "text/tokenizer.h"

#include <jansson.h>

/* The tokens that are added before and after each text that a model reads, in pre-training on pairs, tasks, prompts,
 * few-shot prompts and exported tokenizers. "Frame" means these tokens:
 * - a decoder-only model has the part of the tokenizer's frame before a text (<s> of a Llama), and nothing after the
 *   text, since generation continues there;
 * - an encoder has the tokenizer's frame or, if that does not both begin and end a text, [CLS] A [SEP] by the
 *   tokenizer's roles; pairs are <s> A </s></s> B </s> if the roles are RoBERTa's and the model has no token types;
 * - a T5 has the tokenizer's frame if that ends a text with EOS, else A </s>. If it has a decoder, targets have the
 *   same tokens around them. */
TextFrame model_text_frame(const ModelConfig *config, const Tokenizer *tok);

#define TOKEN_LIST_MOST 32 /* most ids of a list */

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

/* The ids that start and end generated text, and what else a model's folder says of its use. Read from config.json,
 * generation_config.json and modules.json, stored in checkpoints and written by exports. -1 means unknown. */
typedef struct TokenRoles {
    int32_t decoder_start;    /* T5: the decoder's first input token */
    int32_t generation_start; /* T5: the decoder's first input token in generation; -1 means decoder_start */
    int32_t pad;              /* padding */
    int32_t bos;              /* GPT: the first token if the prompt is empty */
    int32_t n_ids;      /* ids of the tokenizer: the vocabulary's later ones only pad it and have no probability; 0
                           means all. Not stored */
    TokenList eos;      /* generation stops after any of these tokens */
    json_t *generation; /* the other keys of generation_config.json; owned; NULL means none */
    json_t *sentence;   /* contents of sentence-transformers' "modules.json" and the files it names; owned; or NULL */
} TokenRoles;

/* Roles of which all are unknown and eos is empty. */
TokenRoles token_roles_none(void);
void token_roles_clear(TokenRoles *roles);
/* *to, which must be initialized, becomes a deep copy of *from. */
void token_roles_copy(TokenRoles *to, const TokenRoles *from);
/* Fills unknown ids from the tokenizer, which may be NULL. An unknown decoder_start becomes AST-T5's <sen000> (which
 * also ends targets) if the tokenizer has it, otherwise the padding token, or 0. An unknown bos becomes the first id of
 * eos, which separates documents in training. */
void token_roles_complete(TokenRoles *roles, const Tokenizer *tok);
/* Adds an id to roles->eos, unless the id is -1 or already in the list. */
void token_roles_add_eos(TokenRoles *roles, int32_t id);

/* The roles as a JSON object for state.json; token_roles_parse reads it. json_decref. */
json_t *token_roles_json(const TokenRoles *roles);
/* Replaces *roles, which must be initialized, by the roles in a JSON object. It is an error if an id is not below
 * `vocab`. */
bool token_roles_parse(TokenRoles *roles, const json_t *object, int64_t vocab, GError **error);
