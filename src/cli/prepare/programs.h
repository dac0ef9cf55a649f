/* programs.h: the options of `loam prepare --ast`, and its report. */
#pragma once

#include "cli/cli.h"
#include "data/prepare/prepare.h"

#include <jansson.h>

typedef struct ProgramFlags {
    gboolean ast;
    char *grammars, *rule, *language_field, *format;
    gboolean by_language;
    double temperature, text_share;
    gint64 segment, max_bytes, max_depth;
    double max_seconds, max_errors;
} ProgramFlags;
extern ProgramFlags program_flags;

#define PROGRAM_ENTRIES                                                                                                \
    CLI_SWITCH("ast", program_flags.ast,                                                                               \
               "parse programs, and cut them into segments along their syntax trees, which go into PREFIX.tree"),      \
        CLI_VALUE("language-field", program_flags.language_field,                                                      \
                  "ast: field of JSON objects with the language or a file name (language, lang or path)", "NAME"),     \
        CLI_VALUE("segment", program_flags.segment,                                                                    \
                  "ast: tokens of a segment at most; one less than data.input_length (1023)", "N"),                    \
        CLI_VALUE("segment-rule", program_flags.rule,                                                                  \
                  "ast: break as few nodes of the tree as possible, or fill every segment (least)", "least|greedy"),   \
        CLI_SWITCH("by-language", program_flags.by_language,                                                           \
                   "ast: a dataset for each language, PREFIX_python, and their shares, PREFIX_weights.json"),          \
        CLI_VALUE("language-temperature", program_flags.temperature, "by-language: shares are segments ^ (1 / T) (1)", \
                  "T"),                                                                                                \
        CLI_VALUE("text-share", program_flags.text_share, "by-language: share of what is no program (by size)",        \
                  "SHARE"),                                                                                            \
        CLI_VALUE("ast-format", program_flags.format,                                                                  \
                  "ast: loam, or AST-T5's: fairseq, or ffrecord for ndtypes/ffr too; PREFIX is a folder then (loam)",  \
                  "NAME"),                                                                                             \
        CLI_PATH("grammars", program_flags.grammars, "ast: folder of grammars (those that loam grammars list shows)",  \
                 "FOLDER"),                                                                                            \
        CLI_VALUE("ast-max-bytes", program_flags.max_bytes, "ast: longer programs are text (1000000)", "N"),           \
        CLI_VALUE("ast-max-depth", program_flags.max_depth, "ast: programs with a deeper tree are text (500)", "N"),   \
        CLI_VALUE("ast-max-seconds", program_flags.max_seconds,                                                        \
                  "ast: programs that take longer to parse are text; 0 means no limit (60)", "S"),                     \
        CLI_VALUE("ast-max-errors", program_flags.max_errors,                                                          \
                  "ast: programs of which a larger share of the bytes does not parse are text (0.1)", "SHARE")

/* The name of an option above that was given a value of its own; NULL means none. */
const char *program_option_given(void);
/* Checks the flags and, with --ast, opens the grammars and makes options->programs point to `programs`. */
bool program_options(ProgramOptions *programs, PrepareOptions *options, const Tokenizer *tok, GError **error);
/* counts: PrepareStats.programs. */
void print_programs(const ProgramCounts *counts, const ProgramOptions *options);
json_t *programs_json(const ProgramCounts *counts, const ProgramOptions *options);
