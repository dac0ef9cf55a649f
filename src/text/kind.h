/* kind.h: a kind of tokenizer, such as byte-level BPE, as a table of functions, which is an entry of kinds.c. */
#pragma once

#include "text/frame.h"
#include "text/tokenizer_json.h"

/* To what a space beside a blank belongs (AddedToken.blank). */
typedef enum BlankSpace {
    BLANK_BEFORE, /* pieces begin with their space: the space before a blank belongs to the blank */
    BLANK_AFTER,  /* pieces end with their space: the space after a blank belongs to the blank */
    BLANK_SPLITS, /* white space is in no piece: both are left out */
    BLANK_TEXT,   /* a space is a piece as any other: both are encoded */
} BlankSpace;

/* Properties of a model that TokenizerKind.open and .open_json report. */
typedef struct TokenizerFacts {
    const char *name;       /* "sentencepiece-unigram" */
    int size;               /* ids of the model are 0 to size - 1 */
    int pad, eos, unk, bos; /* ids of special tokens; -1 means that the model has no such token */
    bool adds_sentinels; /* true: if the model has no sentinels, the tokenizer gets <extra_id_0> to <extra_id_99> above
                            the last id, as T5's has */
    GArray *added; /* added tokens (AddedToken) of the model itself, which owns their strings; NULL means none. Not used
                      for a model that is read from a tokenizer.json: the added tokens of that file are used instead */
    BlankSpace blank_space;
    bool joins_blanks;     /* the tokenizer.json has the step of its normalizer that exports have for blanks
                            * (tokenizer_json.h)
                            */
    const char *pattern;   /* set by the caller, for tiktoken only: as in tokenizer_open_ranks */
    const char *layout;    /* set by the caller, for tiktoken only: as in tokenizer_open_ranks */
    TokenizerClass class_; /* set by the caller: the class of transformers that the folder names */
    uint64_t settings;    /* hash of those settings in the tokenizer_config.json beside the file that change how text is
                             split; 0 means that there are none */
    TextFrame json_frame; /* special tokens that the tokenizer.json of to_json puts around a text; empty means none */
    bool json_typed;      /* there, the second text of a pair has token type 1 */
} TokenizerFacts;
#define TOKENIZER_FACTS(name_, size_, pad_, eos_, unk_, bos_)                                                          \
    .name = (name_), .size = (size_), .pad = (pad_), .eos = (eos_), .unk = (unk_), .bos = (bos_)

/* The functions of one kind of tokenizer. `model` is what `open` or `open_json` returned: the vocabulary and whatever
 * else this kind reads from its file. */
typedef struct TokenizerKind {
    const char *file_name; /* name of the file in a folder of such a tokenizer; NULL, with `open` NULL, means that this
                              kind is only read from a tokenizer.json */
    /* Reads a model from the content of its file; `path` is used to find files beside it. The model is thread-safe. */
    void *(*open)(const char *path, const char *data, size_t bytes, TokenizerFacts *facts, GError **error);
    void (*close)(void *model);
    int (*id)(const void *model, const char *piece); /* id of a piece; -1 if there is no such piece */
    const char *(*piece)(const void *model, int id); /* the piece with an id, 0 <= id < facts.size */
    /* Appends the ids (int32_t) of UTF-8 text that holds no added tokens. */
    bool (*encode)(const void *model, const char *text, size_t bytes, TextEdges edges, GArray *ids, GError **error);
    /* Appends the text of n ids; 0 <= id < facts.size. Beside a blank it keeps the space that its pieces have there. */
    bool (*decode)(const void *model, const int32_t *ids, int64_t n, TextEdges edges, GString *text, GError **error);
    /* json_type: the model.type of the tokenizer.json files that open_json reads. Both are NULL for a kind that cannot
     * be read from a tokenizer.json. */
    const char *json_type;
    void *(*open_json)(const TokenizerJson *json, TokenizerFacts *facts, GError **error);
    /* Name of a second file, which may be missing, in the same folder as file_name (merges.txt); NULL means none. */
    const char *second_file;
    NormalizeFn normalize; /* NULL means that text is not normalized */
    /* Builds the tokenizer.json, without TokenizerFacts.json_frame, of a model that was read from a file with the
     * content `data`; free with json_decref. NULL for a kind that cannot be exported so or is only read from one. */
    json_t *(*to_json)(const void *model, const char *data, size_t bytes, GError **error);
    TokenEndsFn ends; /* finds where in a text its ids end; NULL means that this kind cannot do it */
} TokenizerKind;

/* The functions that every kind has; those of a kind that is read from a file of its own, or from a tokenizer.json. */
#define TOKENIZER_KIND(close_, id_, piece_, encode_, decode_)                                                          \
    .close = (close_), .id = (id_), .piece = (piece_), .encode = (encode_), .decode = (decode_)
#define TOKENIZER_OF_FILE(name, open_)      .file_name = (name), .open = (open_)
#define TOKENIZER_OF_JSON(type, open_json_) .json_type = (type), .open_json = (open_json_)

/* All kinds (kinds.c), NULL-terminated. A file that is no .json and no .tiktoken, and whose name is not the file_name
 * of a kind, is read as tokenizer_kinds[0], SentencePiece. */
extern const TokenizerKind *const tokenizer_kinds[];

/* ---- bytes.c: ByT5's tokenizer. Ids 0, 1 and 2 are pad, eos and unk; byte b has the id b + 3; the last 125 ids are
 * sentinels ---- */

#define BYTES_PATH "bytes" /* the path that means ByT5's tokenizer (tokenizer_open) */
#define BYTES_FILE "{\"tokenizer_class\": \"ByT5Tokenizer\"}\n" /* content of its tokenizer_config.json */

extern const TokenizerKind kind_bytes;

/* ---- fairseq_words.c: a tokenizer whose pieces are the words of a dict.txt of fairseq: text is split at white space,
 * and a word that is not in the dictionary becomes <unk> ---- */

extern const TokenizerKind kind_fairseq_words;

/* Returns the next word of a line and moves *at, the position in the line, past it; NULL at the end of the line. Words
 * are split as by Python's str.split and NUL-terminated in place. */
char *fairseq_next_word(char **at);
