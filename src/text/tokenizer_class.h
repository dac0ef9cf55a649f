/* tokenizer_class.h: classes of transformers that make a normalizer and a pre_tokenizer of their own from
 * tokenizer_config.json, instead of those that the tokenizer's file has. */
#pragma once

#include "text/roles.h"

#include <glib.h>
#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

typedef enum ClassText {
    CLASS_AS_FILE,    /* the file says how text is split */
    CLASS_BYTE_LEVEL, /* GPT2Tokenizer, RobertaTokenizer: words by GPT-2's pattern; no normalizer */
    CLASS_METASPACE,  /* LlamaTokenizer: spaces become U+2581; no normalizer, no words */
} ClassText;

typedef struct TokenizerClass {
    ClassText text;
    const char *name;  /* the class; NULL for CLASS_AS_FILE */
    bool prefix_space; /* a space is put before a text that does not start with one */
    bool first_only;   /* CLASS_METASPACE: only at the beginning of a text, not after each special token */
    const char *const *special_tokens; /* for each TokenRole, the piece that has it if no file names one, or NULL; NULL
                                          means that the class has no such pieces */
} TokenizerClass;

/* The class that transformers takes for a folder with these tokenizer_config.json and config.json, each of which may be
 * NULL: their tokenizer_class, or the class of config.json's model_type. */
TokenizerClass tokenizer_class_of(const json_t *settings, const json_t *config);
/* Replaces "normalizer" and "pre_tokenizer" of a tokenizer.json whose model is a BPE by those of the class. Returns
 * whether this changed them. */
bool tokenizer_class_apply(const TokenizerClass *class_, json_t *root);
/* A hash of the fields; never 0. */
uint64_t tokenizer_class_hash(const TokenizerClass *class_);
/* Whether a tokenizer.json has a pre_tokenizer of type ByteLevel, alone or in a Sequence. */
bool tokenizer_class_is_byte_level(const json_t *root);
