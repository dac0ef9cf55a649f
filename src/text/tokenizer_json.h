/* tokenizer_json.h: reads tokenizer.json, the file format of Hugging Face's tokenizers library, and checks the parts
 * that every kind of tokenizer needs; and builds its parts. */
#pragma once

#include "base/json_line.h"
#include "text/added_tokens.h"
#include "text/roles.h"

/* ---- tokenizer_class.c: classes of transformers that make a normalizer and a pre_tokenizer of their own from
 * tokenizer_config.json, instead of those that the tokenizer's file has ---- */

typedef enum ClassText {
    CLASS_AS_FILE,    /* the file says how text is split */
    CLASS_BYTE_LEVEL, /* GPT2Tokenizer, RobertaTokenizer: words by GPT-2's pattern; no normalizer */
    CLASS_METASPACE,  /* LlamaTokenizer: spaces become U+2581; no normalizer, no words */
    CLASS_BERT,       /* BertTokenizer: a WordPiece with BertNormalizer and BertPreTokenizer */
} ClassText;

typedef struct TokenizerClass {
    ClassText text;
    const char *name;  /* the class; NULL for CLASS_AS_FILE */
    bool prefix_space; /* a space is put before a text that does not start with one */
    bool first_only;   /* CLASS_METASPACE: only at the beginning of a text, not after each special token */
    bool lowercase;    /* CLASS_BERT: this and the next two are options of BertNormalizer */
    bool strip_accents, chinese_chars;
    bool cased_by_key; /* CLASS_BERT: tokenizer_config.json has do_lower_case, which is true without the key */
    const char *const *special_tokens; /* for each TokenRole, the piece that has it if no file names one, or NULL; NULL
                                          means that the class has no such pieces */
} TokenizerClass;

/* The class that transformers takes for a folder with these tokenizer_config.json and config.json, each of which may be
 * NULL: their tokenizer_class, or the class of config.json's model_type. */
TokenizerClass tokenizer_class_of(const json_t *settings, const json_t *config);
/* Replaces "normalizer" and "pre_tokenizer" of a BPE's or WordPiece's tokenizer.json by those of the class. True if
 * they changed. */
bool tokenizer_class_apply(const TokenizerClass *class_, json_t *root);
/* A hash of the fields; never 0. */
uint64_t tokenizer_class_hash(const TokenizerClass *class_);
/* Whether a tokenizer.json has a pre_tokenizer of type ByteLevel, alone or in a Sequence. */
bool tokenizer_class_is_byte_level(const json_t *root);

/* ---- the file (tokenizer_json.c) ---- */

#define TOKENIZER_MAX_FILE                                                                                             \
    ((size_t)256 << 20) /* largest number of bytes of a tokenizer's file; a model of 250,000 pieces has about 5 MB */
#define TOKENIZER_JSON_CHARS                                                                                           \
    "BPE of characters" /* TokenizerJson.type of a BPE whose pre_tokenizer is not ByteLevel                            \
                         */

typedef struct TokenizerJson {
    json_t *root;       /* the whole document; it owns all objects and strings of this struct */
    const char *type;   /* model.type: "BPE", "WordPiece" or "Unigram"; inferred for old files, which lack it */
    json_t *model;      /* the object "model" */
    json_t *normalizer; /* normalizer, pre_tokenizer, post_processor, decoder: NULL if null or not in the file */
    json_t *pre_tokenizer;
    json_t *post_processor;
    json_t *decoder;
    GPtrArray *pieces; /* const char *: pieces and added tokens, indexed by id; NULL if no piece has the id */
    GArray *added;     /* AddedToken */
    bool replaced;     /* the class has another normalizer or pre_tokenizer than the file */
} TokenizerJson;

/* Parses the content of a tokenizer.json, with the normalizer and pre_tokenizer of the class. "\u0000" is read as
 * U+FFFF, a code point that occurs in no text, since jansson cannot read a NUL in object keys. */
TokenizerJson *tokenizer_json_open(const char *data, size_t bytes, const TokenizerClass *class_, GError **error);
void tokenizer_json_close(TokenizerJson *json);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(TokenizerJson, tokenizer_json_close)

size_t tokenizer_json_merges(const TokenizerJson *json); /* number of merges of a BPE model */
/* Sets *left and *right to the pieces of merge i: "a b" in old files, ["a", "b"] in new ones. Free both with g_free. */
bool tokenizer_json_merge(const TokenizerJson *json, size_t i, char **left, char **right, GError **error);

/* The pieces of {"piece": id, …}, indexed by id; NULL if no piece has the id. The strings belong to `vocab`. */
GPtrArray *tokenizer_json_vocab(json_t *vocab, GError **error);
/* Sets the flags of an added token, but not its content and id, from its JSON object. */
void added_token_read(const json_t *object, AddedToken *token);
/* Parses a JSON object, in which "\u0000" is read as U+FFFF; free with json_decref. */
json_t *tokenizer_json_parse(const char *data, size_t bytes, GError **error);
/* As tokenizer_json_parse, for a tokenizer_config.json: integers beyond 2^53 are read as floating-point numbers, since
 * model_max_length may be 10^30. */
json_t *tokenizer_json_parse_settings(const char *data, size_t bytes, GError **error);
/* Sets *root to the content of the file FOLDER/NAME, read by tokenizer_json_parse_settings. If there is no such file,
 * *root stays NULL, which is no error. */
bool tokenizer_json_read(const char *folder, const char *name, json_t **root, GError **error);

/* The steps of a normalizer or pre_tokenizer: those of a Sequence, whose `list` they are, or the part alone; none for
 * NULL. Returns a new reference to an array. */
json_t *tokenizer_json_steps(json_t *part, const char *list);

/* ---- building: each function returns a new reference ---- */

/* One entry of the array "added_tokens". */
json_t *json_added_token(const AddedToken *token);
json_t *json_added_tokens(const GArray *tokens); /* the array "added_tokens" of these AddedToken */

json_t *json_vocab(const GPtrArray *pieces); /* {"piece": id, …} of pieces indexed by id; "" is none */

/* The whole tokenizer.json, made of its parts, whose references it takes over. A part that is NULL becomes null. */
json_t *json_tokenizer(json_t *added, json_t *normalizer, json_t *pre_tokenizer, json_t *post_processor,
                       json_t *decoder, json_t *model);

/* ---- blanks: sentinels and the mask, beside which text is encoded as in a corpus. They are added tokens that are
 * special and `normalized`, so that the normalizer sees the whole text; its last step, of type Replace, removes the
 * space that belongs to a blank ---- */

/* Makes `names` blanks of a tokenizer.json and appends that step. space: how normalized text spells a space; after: the
 * space after a blank belongs to it, not the one before it. Does nothing if none of the names is an added token. */
void json_join_blanks(json_t *root, GHashTable *names, const char *space, bool after);
/* Whether the normalizer of this tokenizer.json ends with the step that json_join_blanks appends. */
bool json_joins_blanks(const json_t *root, const char *space, bool after);

/* ---- tokenizer_settings.c: reads Hugging Face's settings files in the folder of a tokenizer: tokenizer_config.json
 * and, in older folders, special_tokens_map.json and added_tokens.json ---- */

typedef struct TokenizerSettings {
    json_t *root;  /* tokenizer_config.json; root, map and old are NULL if their file is missing */
    json_t *map;   /* special_tokens_map.json */
    json_t *old;   /* added_tokens.json */
    GArray *added; /* AddedToken: added tokens of these files; their strings belong to root, map and old */
    const char *roles[TOKEN_ROLES]; /* the piece that has each role; NULL means that no file names one */
} TokenizerSettings;

/* Reads the settings files of a folder, if there are any. Call tokenizer_settings_clear also after a failure. */
bool tokenizer_settings_read(const char *folder, TokenizerSettings *config, GError **error);
void tokenizer_settings_clear(TokenizerSettings *config);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(TokenizerSettings, tokenizer_settings_clear)

/* The value that special_tokens_map.json, or else tokenizer_config.json, has for a role: a piece, or an object with its
 * flags; NULL means none. */
const json_t *tokenizer_settings_flags(const TokenizerSettings *config, TokenRole role);

/* Sets `lstrip` of the mask, a piece of a vocab.json and one of the tokens `added`, to what the files give an object at
 * mask_token; a plain string there has no flags. */
void tokenizer_settings_mask(const TokenizerSettings *config, GArray *added);

/* Builds the value of "added_tokens_decoder" in tokenizer_config.json for these added tokens (AddedToken): {"id":
 * {"content": …, …}}. Returns a new reference. */
json_t *tokenizer_settings_decoder(const GArray *added);
