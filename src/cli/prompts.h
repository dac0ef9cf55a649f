/* prompts.h: reads the prompts of `loam generate` from the lines of a file descriptor: texts, token ids or JSON. */
#pragma once

#include "model/model.h"

#define MAX_PROMPT_TOKENS 32768 /* limit: the time of attention grows with the square of the length */

typedef struct Prompt {
    char *text;   /* the prompt as read */
    GArray *ids;  /* int32_t: token ids, special tokens of the format included */
    bool framed;  /* whether it was a text, which these special tokens are around */
    int64_t line; /* its line of the input, counted from 1 */
} Prompt;

typedef struct PromptFormat {
    const Tokenizer *tok; /* NULL means that prompts must be ids */
    int64_t vocab;
    TextFrame frame;     /* special tokens around a text; not added to prompts that are token ids */
    int32_t start;       /* an empty prompt becomes this one id; -1 means that an empty prompt is an error */
    int32_t mask;        /* id of BERT's mask token, which a text contains as its piece ("[MASK]"); -1 means none */
    int32_t padding;     /* RoBERTa's padding token, from which loam counts positions otherwise; -1 means none */
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

/* Takes the prompts of one batch: Prompt *, freed with the array. */
typedef bool (*PromptsFn)(void *context, PromptReader *reader, GPtrArray *prompts, GError **error);
/* Reads prompts until the input ends: waits for a line, then passes all that are available, at most `most`, to `take`.
 * An invalid line is an error, after the prompts before it. name: of the input, for messages. */
bool prompts_each(int descriptor, const char *name, const PromptFormat *format, guint most, PromptsFn take,
                  void *context, GError **error);
/* lines_skip by PromptFormat.skip_errors; prompts_each tells the number of lines. */
bool prompts_skip(PromptReader *reader, GError **problem);

/* Appends the token ids of a JSON value, a string or an array of ids, to `ids`. name: its name for error messages. */
bool prompt_parse_json(const PromptFormat *format, const json_t *value, const char *name, GArray *ids, GError **error);
