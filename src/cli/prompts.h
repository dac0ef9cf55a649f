/* prompts.h: the prompts of `loam generate`: lines of a file descriptor, as text, as ids or as JSON. */
#pragma once

#include "text/tokenizer.h"

#include <jansson.h>

typedef struct Prompt {
    char *text;  /* as it was given */
    GArray *ids; /* int32_t, EOS included where text was given */
} Prompt;

typedef struct PromptFormat {
    const Tokenizer *tok;
    int64_t vocab;
    const char *field; /* NULL, or lines are JSON objects and the prompt is this field: a string, or an array of ids */
    bool as_ids;       /* text is token ids, separated by spaces */
} PromptFormat;

typedef struct PromptReader PromptReader;

PromptReader *prompts_open(int descriptor, const PromptFormat *format);
void prompts_close(PromptReader *reader);
/* Waits for a line, then takes all that have arrived, up to `most`: prompts (Prompt *, freed with the array) is empty
 * at the end. False with *error set after a bad line; the prompts before it are there. */
bool prompts_read(PromptReader *reader, guint most, GPtrArray *prompts, GError **error);
void prompt_free(void *prompt);

/* Appends the ids of a JSON value: a string (its EOS after it), or an array of ids. `name` is what errors call it. */
bool prompt_parse_json(const PromptFormat *format, const json_t *value, const char *name, GArray *ids, GError **error);
