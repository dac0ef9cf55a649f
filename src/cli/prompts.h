/* prompts.h: the prompts of `loam generate`: lines of a file descriptor, as text, as ids or as JSON. */
#pragma once

#include "model/model.h"
#include "text/tokenizer.h"

#include <jansson.h>

#define MAX_PROMPT_TOKENS 32768 /* attention's work grows with the square: more take too long */

typedef struct Prompt {
    char *text;  /* the prompt as read */
    GArray *ids; /* int32_t, special tokens of the format included */
} Prompt;

typedef struct PromptFormat {
    const Tokenizer *tok; /* NULL means that prompts must be ids */
    int64_t vocab;
    TextFrame frame;   /* what stands around a text; token ids are taken as they are */
    int32_t start;     /* the one id of an empty prompt; -1 means that an empty prompt is an error */
    int32_t mask;      /* id of BERT's mask token, whose piece ("[MASK]") may stand in text; -1 means none */
    const char *field; /* field of JSON lines with the prompt, a string or ids; NULL means lines that are not JSON */
    bool any_length;   /* accepts more than MAX_PROMPT_TOKENS tokens: the caller truncates */
    bool as_ids;       /* text is token ids, separated by spaces */
    bool as_lines;     /* lines are taken as they are: a prompt is its text, without ids */
} PromptFormat;

/* The format for the model: its model_text_frame; of a decoder alone, bos of model_roles for an empty prompt. tok NULL
 * means ids. */
PromptFormat prompt_format(Model *model, const Tokenizer *tok);

typedef struct PromptReader PromptReader;

/* name: how errors call the descriptor; borrowed. */
PromptReader *prompts_open(int descriptor, const char *name, const PromptFormat *format);
void prompts_close(PromptReader *reader);
/* Waits for a line, then appends all prompts that have arrived, up to `most` (Prompt *, freed with the array); none at
 * the end of input. Returns false with *error set after a bad line, with the prompts before it appended. */
bool prompts_read(PromptReader *reader, guint most, GPtrArray *prompts, GError **error);
void prompt_free(void *prompt);

/* Appends the ids of a JSON value: a string, or an array of ids. name: how errors call the value. */
bool prompt_parse_json(const PromptFormat *format, const json_t *value, const char *name, GArray *ids, GError **error);
