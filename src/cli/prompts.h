/* prompts.h: the prompts of `loam generate`: lines of a file descriptor, as text, as ids or as JSON. */
#pragma once

#include "model/model.h"
#include "text/tokenizer.h"

#include <jansson.h>

#define MAX_PROMPT_TOKENS 32768 /* an encoder's work grows with the square: more would not end */

typedef struct Prompt {
    char *text;  /* as it was given */
    GArray *ids; /* int32_t, with what the format puts around text */
} Prompt;

typedef struct PromptFormat {
    const Tokenizer *tok; /* NULL: prompts are ids, and text is an error */
    int64_t vocab;
    int32_t before, after; /* ids put around text; -1: none */
    int32_t start;         /* what a prompt without tokens is; -1: an error */
    int32_t mask;          /* what hides a word of a BERT's text, which may hold its piece; -1: none */
    const char *field; /* NULL, or lines are JSON objects and the prompt is this field: a string, or an array of ids */
    bool any_length;   /* more than MAX_PROMPT_TOKENS too: the reader of prompts cuts them */
    bool as_ids;       /* text is token ids, separated by spaces */
} PromptFormat;

/* What a model of this family reads: EOS after a T5's text, [CLS] and [SEP] around a BERT's, a GPT's as it is, or bos
 * of model_roles where it is empty. Where the tokenizer lies beside the weights, in the folder model_path, what its
 * files put around a text; without one, ids.
 */
PromptFormat prompt_format(Model *model, const char *model_path, const Tokenizer *tok);

typedef struct PromptReader PromptReader;

/* `name` of the descriptor, for errors: the caller's. */
PromptReader *prompts_open(int descriptor, const char *name, const PromptFormat *format);
void prompts_close(PromptReader *reader);
/* Waits for a line, then takes all that have arrived, up to `most`: prompts (Prompt *, freed with the array) is empty
 * at the end. False with *error set after a bad line; the prompts before it are there. */
bool prompts_read(PromptReader *reader, guint most, GPtrArray *prompts, GError **error);
void prompt_free(void *prompt);

/* Appends the ids of a JSON value: a string, or an array of ids. `name` is what errors call it. */
bool prompt_parse_json(const PromptFormat *format, const json_t *value, const char *name, GArray *ids, GError **error);
