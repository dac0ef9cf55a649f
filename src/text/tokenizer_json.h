/* tokenizer_json.h: reads tokenizer.json, the file format of Hugging Face's tokenizers library, and checks the parts
 * that every kind of tokenizer needs. */
#pragma once

#include "text/added_tokens.h"

#include <jansson.h>

typedef struct TokenizerJson {
    json_t *root;       /* the document; it owns all objects and strings of this struct */
    const char *type;   /* model.type: "BPE", "WordPiece", "Unigram"; inferred for old files, which do not have it */
    json_t *model;      /* an object */
    json_t *normalizer; /* this and the next three are NULL if the file has null or no such key */
    json_t *pre_tokenizer;
    json_t *post_processor;
    json_t *decoder;
    GPtrArray *pieces; /* const char *, indexed by id, including added tokens; NULL if no piece has the id */
    GArray *added;     /* AddedToken */
} TokenizerJson;

/* Parses a tokenizer.json. jansson cannot read NUL in object keys, so "\u0000" is read as U+FFFF, a code point that
 * occurs in no text. */
TokenizerJson *tokenizer_json_open(const char *data, size_t bytes, GError **error);
void tokenizer_json_close(TokenizerJson *json);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(TokenizerJson, tokenizer_json_close)

size_t tokenizer_json_merges(const TokenizerJson *json); /* the number of merges of a BPE model */
/* The two pieces of merge i: "a b" in old files, ["a", "b"] in new ones. g_free both. */
bool tokenizer_json_merge(const TokenizerJson *json, size_t i, char **left, char **right, GError **error);

/* The string at a key of an object; "" if there is none. */
const char *tokenizer_json_text(const json_t *object, const char *key);
/* The pieces of an object {"piece": id, …}, indexed by id; NULL if no piece has the id. The strings belong to the
 * object. */
GPtrArray *tokenizer_json_vocab(json_t *vocab, GError **error);
/* Sets the flags of an added token from its JSON object, but not its content and id. */
void added_token_read(const json_t *object, AddedToken *token);
/* Parses a JSON object, with U+FFFF for "\u0000"; free with json_decref. */
json_t *tokenizer_json_parse(const char *data, size_t bytes, GError **error);
/* tokenizer_json_parse for tokenizer_config.json, whose model_max_length may be 10^30: integers beyond 2^53 are read as
 * reals. */
json_t *tokenizer_json_parse_settings(const char *data, size_t bytes, GError **error);
/* Reads the file FOLDER/NAME with tokenizer_json_parse_settings into *root, which stays NULL if there is no such file.
 */
bool tokenizer_json_read(const char *folder, const char *name, json_t **root, GError **error);
