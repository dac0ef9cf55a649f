/* programs.h: the options of `loam prepare --ast`, and its report. */
#pragma once

#include "cli/cli.h"
#include "data/prepare/prepare.h"

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
    CLI_SWITCH(                                                                                                        \
        "ast", program_flags.ast,                                                                                      \
        "parse programs, divide them into segments along their syntax trees, and store the trees in PREFIX.tree"),     \
        CLI_VALUE("language-field", program_flags.language_field, "NAME",                                              \
                  "ast: JSON field with the language or a file name (default: language, lang or path)"),               \
        CLI_VALUE("segment", program_flags.segment, "N",                                                               \
                  "ast: maximum tokens of a segment: data.input_length - 1 (default 1023)"),                           \
        CLI_VALUE("segment-rule", program_flags.rule, "least|greedy",                                                  \
                  "ast: break as few nodes of the tree as possible (least, default), or fill every segment (greedy)"), \
        CLI_SWITCH(                                                                                                    \
            "by-language", program_flags.by_language,                                                                  \
            "ast: write one dataset per language, such as PREFIX_python, and their weights in PREFIX_weights.json"),   \
        CLI_VALUE("language-temperature", program_flags.temperature, "T",                                              \
                  "by-language: the weight of a language is (number of segments) ^ (1 / T) (default 1)"),              \
        CLI_VALUE("text-share", program_flags.text_share, "SHARE",                                                     \
                  "by-language: weight of text that is not a program (default: by its size)"),                         \
        CLI_VALUE("ast-format", program_flags.format, "loam|fairseq|ffrecord",                                         \
                  "ast: loam (default); or a folder PREFIX in AST-T5's formats: fairseq, or ffrecord to add files "    \
                  "for ndtypes/ffr"),                                                                                  \
        CLI_PATH("grammars", program_flags.grammars, "FOLDER",                                                         \
                 "ast: folder of grammars (default: those that loam grammars list shows)"),                            \
        CLI_VALUE("ast-max-bytes", program_flags.max_bytes, "N",                                                       \
                  "ast: treat longer programs as plain text (default 1000000)"),                                       \
        CLI_VALUE("ast-max-depth", program_flags.max_depth, "N",                                                       \
                  "ast: treat programs with a deeper tree as plain text (default 500)"),                               \
        CLI_VALUE("ast-max-seconds", program_flags.max_seconds, "S",                                                   \
                  "ast: treat programs that take more seconds to parse as plain text; 0 means no limit (default 60)"), \
        CLI_VALUE("ast-max-errors", program_flags.max_errors, "SHARE",                                                 \
                  "ast: treat programs as plain text if a larger share of their bytes does not parse (default 0.1)")

/* The name of an option above that the user gave; NULL means none. */
const char *program_option_given(void);
/* Checks the flags. With --ast, opens the grammars, fills `programs` and sets options->programs to it. */
bool program_options(ProgramOptions *programs, PrepareOptions *options, const Tokenizer *tok, GError **error);
/* counts: PrepareStats.programs. */
void print_programs(const ProgramCounts *counts, const ProgramOptions *options);
json_t *programs_json(const ProgramCounts *counts, const ProgramOptions *options);
