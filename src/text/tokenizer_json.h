/* tokenizer_json.h: the tokenizer.json of Hugging Face, parsed and checked as far as every kind needs it. */
#pragma once

#include "text/added_tokens.h"

#include <jansson.h>

typedef struct TokenizerJson {
    json_t *root;       /* the document: it owns every string and object below */
    const char *type;   /* of the model: "BPE", "WordPiece", "Unigram"; inferred where old files do not say */
    json_t *model;      /* an object */
    json_t *normalizer; /* these four are NULL where they are null or absent */
    json_t *pre_tokenizer;
    json_t *post_processor;
    json_t *decoder;
    GPtrArray *pieces; /* const char *, by id, with the added tokens; NULL where no piece has the id */
    GArray *added;     /* AddedToken */
} TokenizerJson;

/* jansson has no keys with NUL, so the character \u0000 is read as U+FFFF, which no text holds. */
TokenizerJson *tokenizer_json_open(const char *data, size_t bytes, GError **error);
void tokenizer_json_close(TokenizerJson *json);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(TokenizerJson, tokenizer_json_close)

size_t tokenizer_json_merges(const TokenizerJson *json);
/* The i-th merge of a BPE model, "a b" in old files and ["a", "b"] in new ones; both parts to be freed with g_free. */
bool tokenizer_json_merge(const TokenizerJson *json, size_t i, char **left, char **right, GError **error);

/* The pieces of {"piece": id, …} by id; NULL where no piece has the id; the strings are the object's. */
GPtrArray *tokenizer_json_vocab(json_t *vocab, GError **error);
/* The flags of an added token from its object; content and id are left. */
void added_token_read(const json_t *object, AddedToken *token);
/* Parses a JSON object as tokenizer_json_open does; json_decref. */
json_t *tokenizer_json_parse(const char *data, size_t bytes, GError **error);
/* The same of a tokenizer_config.json, where a model_max_length of 10^30 stands for none: numbers are reals. */
json_t *tokenizer_json_parse_settings(const char *data, size_t bytes, GError **error);
