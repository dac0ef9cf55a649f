/* prompts.h: reads the prompts of `loam generate` from the lines of a file descriptor: texts, token ids or JSON. */
#pragma once

#include "model/model.h"
#include "text/tokenizer.h"

#include <jansson.h>

#define MAX_PROMPT_TOKENS 32768 /* limit: the time of attention grows with the square of the length */

typedef struct Prompt {
    char *text;   /* the prompt as read */
    GArray *ids;  /* int32_t: token ids, special tokens of the format included */
    int64_t line; /* its line of the input, counted from 1 */
} Prompt;

typedef struct PromptFormat {
    const Tokenizer *tok; /* NULL means that prompts must be ids */
    int64_t vocab;
    TextFrame frame;     /* special tokens around a text; not added to prompts that are token ids */
    int32_t start;       /* an empty prompt becomes this one id; -1 means that an empty prompt is an error */
    int32_t mask;        /* id of BERT's mask token, which a text contains as its piece ("[MASK]"); -1 means none */
    const char *field;   /* lines are JSON objects with the prompt in this field, as a string or an array of ids; NULL
                            means not JSON */
    int64_t most_tokens; /* a longer prompt is an error; 0 means that the caller truncates */
    bool as_ids;         /* lines are token ids separated by spaces */
    bool as_lines;       /* do not tokenize: Prompt.ids stays empty */
    bool skip_errors;    /* invalid lines are left out, not errors */
} PromptFormat;

/* The default format for a model: at most MAX_PROMPT_TOKENS tokens, or as many as the model has positions, if these are
 * fewer; special tokens by model_text_frame; in a decoder-only model, an empty prompt becomes
 * TokenRoles.bos. tok NULL means that prompts must be ids. */
PromptFormat prompt_format(Model *model, const Tokenizer *tok);

/* Whether an invalid line is left out, as --on-error skip wants it: *problem, if it is a user's error, is then freed
 * and set to NULL, and *skipped counted. The first ten are named in warnings; lines_tell_skipped logs their number. */
bool lines_skip(bool skips, int64_t *skipped, GError **problem);
void lines_tell_skipped(int64_t skipped);

typedef struct PromptReader PromptReader;

/* name: name of the input for messages; borrowed. */
PromptReader *prompts_open(int descriptor, const char *name, const PromptFormat *format);
void prompts_close(PromptReader *reader);
/* lines_skip by PromptFormat.skip_errors; prompts_close tells the number of lines. */
bool prompts_skip(PromptReader *reader, GError **problem);
/* Waits for a line, then appends all prompts that are available, at most `most`, to `prompts` (Prompt *, freed with the
 * array). Appends none at the end of input. After an invalid line it fails, with the prompts before that line appended.
 * */
bool prompts_read(PromptReader *reader, guint most, GPtrArray *prompts, GError **error);
void prompt_free(void *prompt);

/* Appends the token ids of a JSON value, a string or an array of ids, to `ids`. name: name of the value for error
 * messages. */
bool prompt_parse_json(const PromptFormat *format, const json_t *value, const char *name, GArray *ids, GError **error);
