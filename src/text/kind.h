/* kind.h: a kind of tokenizer as a table of functions. A new kind is a row of the table in kinds.c. */
#pragma once

#include "text/tokenizer_json.h"

#include <stdint.h>

/* What `open` and `open_json` report about a model. */
typedef struct TokenizerFacts {
    const char *name;       /* "sentencepiece-unigram" */
    int size;               /* ids of the model are 0 to size - 1 */
    int pad, eos, unk, bos; /* ids; -1 means the model has no such token */
    bool adds_sentinels;    /* if the model has no sentinels, add <extra_id_0..99> above the last id, as T5 does */
    GArray *added; /* added tokens (AddedToken) of the model itself; their strings belong to the model. NULL means none.
                      Ignored for a model read from a tokenizer.json, whose list of added tokens is used instead */
    const char *pattern; /* set by the caller, for tiktoken only: name of the pre-tokenizer pattern (gpt2, cl100k,
                            o200k); NULL means the pattern of the published file with this number of ranks */
    const char *layout;  /* set by the caller, for tiktoken only: as in tokenizer_open_ranks */
    uint64_t settings; /* hash of the settings of a tokenizer_config.json beside the file that change how text is split;
                          0 means that there are none */
} TokenizerFacts;

typedef struct TokenizerKind {
    const char *file_name; /* the file in a folder of such a tokenizer; NULL, with `open` NULL, means that this kind is
                              only read from tokenizer.json */
    /* Reads a model from the bytes of its file; `path` is for finding files beside it. The model is thread-safe. */
    void *(*open)(const char *path, const char *data, size_t bytes, TokenizerFacts *facts, GError **error);
    void (*close)(void *model);
    int (*id)(const void *model, const char *piece); /* -1 if there is no such piece */
    const char *(*piece)(const void *model, int id); /* 0 <= id < facts.size */
    /* Appends the ids (int32_t) of UTF-8 text that holds no added tokens. starts_text is true if `text` is the
     * beginning of what the user gave, false after an added token: some kinds put a space before the first word only.
     */
    bool (*encode)(const void *model, const char *text, size_t bytes, bool starts_text, GArray *ids, GError **error);
    /* Appends the text of n ids; 0 <= id < facts.size. */
    bool (*decode)(const void *model, const int32_t *ids, int64_t n, GString *text, GError **error);
    /* Reads a model from a tokenizer.json whose model.type is json_type. Both NULL means that this kind cannot be read
     * from a tokenizer.json. */
    const char *json_type;
    void *(*open_json)(const TokenizerJson *json, TokenizerFacts *facts, GError **error);
    /* Name of a second file, which may be missing, in the same folder as file_name (merges.txt); NULL means none. */
    const char *second_file;
    /* The normalizer: returns UTF-8 text as it is before pre-tokenization; free with g_free. Applying it twice must
     * change nothing more. NULL means that text is not normalized. */
    char *(*normalize)(const void *model, const char *text, size_t bytes);
    /* Builds the tokenizer.json of a model (json_decref) that was opened from the file with the bytes `data`. The
     * pointer is NULL for a kind that cannot be exported as tokenizer.json, or is only read from one. */
    json_t *(*to_json)(const void *model, const char *data, size_t bytes, GError **error);
    TokenEndsFn ends; /* finds where in a text its ids end; NULL means that this kind cannot do it */
} TokenizerKind;

/* The table of all kinds (kinds.c). A file whose name is no kind's file_name is read as tokenizer_kinds[0],
 * SentencePiece. */
#define N_TOKENIZER_KINDS 7
extern const TokenizerKind *const tokenizer_kinds[N_TOKENIZER_KINDS];
