/* kind.h: what a kind of tokenizer provides. A new kind is one file and one row of the table in tokenizer.c. */
#pragma once

#include "text/tokenizer_json.h"

#include <stdint.h>

typedef struct TokenizerFacts {
    const char *name;       /* "sentencepiece-unigram" */
    int size;               /* pieces of the file itself */
    int pad, eos, unk, bos; /* -1 where there is none */
    bool adds_sentinels;    /* T5's lie above the pieces unless the file has them; without it, only those it has */
    GArray *added;          /* AddedToken, with contents of the model's; NULL: none. Of a tokenizer.json, its own */
    const char *pattern;    /* in: the name of what a rank file is split by, as asked for; NULL: what its size says */
    uint64_t settings;      /* hash of what files beside it say about how text is split; 0: nothing */
} TokenizerFacts;

typedef struct TokenizerKind {
    const char *file_name; /* what a folder of this kind holds; NULL: only a tokenizer.json, open is NULL too */
    /* The model behind a file's bytes; thread-safe once open. `path` is for what lies beside it. */
    void *(*open)(const char *path, const char *data, size_t bytes, TokenizerFacts *facts, GError **error);
    void (*close)(void *model);
    int (*id)(const void *model, const char *piece); /* -1 if there is no such piece */
    const char *(*piece)(const void *model, int id); /* 0 <= id < facts.size */
    /* Appends to ids (int32_t); text is UTF-8 without added tokens, those of facts and others. `first`: the whole text
     * begins here. */
    bool (*encode)(const void *model, const char *text, size_t bytes, bool first, GArray *ids, GError **error);
    /* Appends to text; 0 <= id < facts.size. */
    bool (*decode)(const void *model, const int32_t *ids, int64_t n, GString *text, GError **error);
    /* The same model from a tokenizer.json whose model.type is `json_type`; NULL, NULL where it has no such form. */
    const char *json_type;
    void *(*open_json)(const TokenizerJson *json, TokenizerFacts *facts, GError **error);
    /* Another file that open() reads, in the place of file_name in its path; it may be missing. NULL: none. */
    const char *beside;
    /* Text as it is before it is split; g_free. It may be normalized again. NULL: as it comes. */
    char *(*normalize)(const void *model, const char *text, size_t bytes);
    /* The model as a tokenizer.json, a new reference; data is its own file. NULL: it has no such form, or no other. */
    json_t *(*to_json)(const void *model, const char *data, size_t bytes, GError **error);
} TokenizerKind;
