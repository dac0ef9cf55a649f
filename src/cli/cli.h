/* cli.h: shared by the verbs: parsing of the command line, help, and lines of output. A verb is one row of
 * verbs.inc and one file cli/NAME.c, or a folder cli/NAME/ of several files. */
#pragma once

#include "base/error.h"
#include "base/json_line.h"

#include <glib.h>
#include <stdio.h>

/* Runs a verb; argv[0] is its name. False with *error, whose code is the exit status, or without after --help. */
typedef bool (*VerbFn)(int argc, char **argv, GError **error);

/* A verb, or an action of a verb that has several: `loam bench ops`. */
typedef struct SubVerb {
    const char *name;
    VerbFn run;
    const char *does; /* a few words for the list of verbs */
} SubVerb;
/* All verbs, in the order of `loam --help`; the name of the last entry is NULL. */
extern const SubVerb cli_verbs[];
const SubVerb *cli_find_verb(const char *name); /* NULL if absent */
const char *cli_nearest_verb(const char *name); /* the most similar verb; NULL if none is similar */
/* Sets the error for a verb that does not exist, which suggests the most similar verb. Returns false. */
bool cli_fail_unknown_verb(const char *name, GError **error);
/* Prints the list of verbs, as `loam --help` does. */
void cli_print_verbs(FILE *out);

#define VERB(name, does) bool verb_##name(int argc, char **argv, GError **error);
#include "cli/verbs.inc"
#undef VERB

/* Parses the long options in `entries` (GLib's table; --name VALUE or --name=VALUE) and removes them from argv; argv[0]
 * and all other arguments stay. usage: "loam prepare --tokenizer TOK --out PREFIX PATH…"; about: what the verb does,
 * and an example, one screen long. An unknown option is an error that suggests the most similar option. With --help it
 * prints the help to standard output and returns false without an error. */
bool cli_parse(int *argc, char ***argv, const GOptionEntry *entries, const char *usage, const char *about,
               GError **error);

/* Entries of an option table. CLI_VALUE: --NAME VALUE, parsed by the type of `variable`; CLI_PATH: --NAME with a path;
 * CLI_SWITCH: --NAME without a value, sets a gboolean. value: the placeholder in the help. */
#define CLI_VALUE(name, variable, value, help) CLI_ENTRY(name, CLI_TYPE(variable), variable, value, help)
#define CLI_PATH(name, variable, value, help)  CLI_ENTRY(name, G_OPTION_ARG_FILENAME, variable, value, help)
#define CLI_SWITCH(name, variable, help)       CLI_ENTRY(name, G_OPTION_ARG_NONE, variable, NULL, help)
/* clang-format off */
#define CLI_ENTRY(name, type, variable, value, help) { name, 0, 0, type, &(variable), help, value }
#define CLI_TYPE(variable)                                                                                             \
    _Generic((variable), int: G_OPTION_ARG_INT, int64_t: G_OPTION_ARG_INT64, double: G_OPTION_ARG_DOUBLE,              \
             char *: G_OPTION_ARG_STRING, const char *: G_OPTION_ARG_STRING, char **: G_OPTION_ARG_STRING_ARRAY)
/* clang-format on */

/* Fails if --out, the path prefix of a dataset, is empty or a folder: "data/", "." or "..". */
bool cli_check_prefix(const char *out, GError **error);
/* Fails if the name of the file that --OPTION gives says another type than the one that is written: a .png for an SVG.
 * path NULL means that the option is not given; suffix: of files of this type, such as ".svg". */
bool cli_check_suffix(const char *option, const char *path, const char *suffix, GError **error);
/* Fails if the file `path`, by which a result is known that others may use, exists, unless `replace`: the value of the
 * option --replace. what: the result that a person knows, such as the path prefix of a dataset. */
bool cli_check_replaced(const char *what, const char *path, bool replace, GError **error);
/* As cli_check_replaced, for the dataset PREFIX. */
bool cli_check_dataset(const char *prefix, bool replace, GError **error);
/* Fails if the value of --NAME is outside of least … most. */
bool cli_check_count(const char *name, int64_t value, int64_t least, int64_t most, GError **error);
/* Reads the value of --on-error, "stop" or "skip"; NULL means to stop. */
bool cli_parse_on_error(bool *skips, const char *given, GError **error);
#define CLI_ON_ERROR(to, what)                                                                                         \
    CLI_VALUE("on-error", to, "stop|skip", "stop at " what " that cannot be read (default), or skip it")
#define CLI_INPUT_FORMAT(to)                                                                                           \
    CLI_VALUE("input-format", to, RECORD_CORPUS_FORMAT_NAMES,                                                          \
              "read every file in this format (docs/prepare.md); default: by its name")
#define CLI_DELIMITER(to)                                                                                              \
    CLI_VALUE("delimiter", to, "C",                                                                                    \
              "tables: the character between cells, one of , ; | and \\t (default: a comma in .csv, a tab in .tsv)")
#define CLI_MODEL(to) CLI_PATH("model", to, "MODEL", "the model")
#define CLI_TOKENIZER(to)                                                                                              \
    CLI_PATH("tokenizer", to, "FILE", "tokenizer file or folder, needed if there is none beside the model")
#define CLI_DEVICE(to)                                                                                                 \
    CLI_VALUE("device", to, "cpu|cuda|cuda:N|auto", "device (default cpu); auto: a GPU if one can be used")
#define CLI_PRECISION(to)                                                                                              \
    CLI_VALUE("precision", to, "f32|bf16|fp16|auto",                                                                   \
              "precision (default: that of training; f32 if the model is not from a run)")
#define CLI_BLANKS(to)                                                                                                 \
    CLI_VALUE("blanks", to, "corpus|transformers",                                                                     \
              "text beside <extra_id_0> or [MASK]: corpus (default), as if a word were in its place, or "              \
              "transformers, each text between them by itself")
#define CLI_REPLACE(to) CLI_SWITCH("replace", to, "replace what an earlier command wrote there")

/* A copy of the text in which a line feed is the two characters \n, and a carriage return \r. g_free. */
char *one_line(const char *text);
/* A copy of the text with U+FFFD for invalid UTF-8; *replaced becomes true if it has a U+FFFD, else stays. g_free. */
char *valid_text(const char *text, bool *replaced);

/* Runs the action argv[1] of `verb`. With --help prints the actions ("loam bench WHAT …") and `example` instead. */
bool cli_run_sub_verb(const SubVerb *sub_verbs, size_t n, const char *verb, const char *example, int argc, char **argv,
                      GError **error);

/* The help of one verb, or of one action of a verb. */
typedef struct HelpPage {
    const char *name;  /* "bench step" */
    const char *usage; /* "loam bench step CONFIG.yaml [--seconds S] …" */
    const char *about; /* paragraphs, the last one an example */
    const GOptionEntry *entries;
} HelpPage;
typedef void (*HelpTaker)(const HelpPage *page, gpointer data);
/* Calls `taker` with the help page of every verb and action, in the order of the table. */
void cli_each_page(HelpTaker taker, gpointer data);
