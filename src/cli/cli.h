/* cli.h: what the verbs share. A verb is one file cli/NAME.c and one row of the table in main.c. */
#pragma once

#include "base/error.h"

#include <glib.h>
#include <jansson.h>

/* argv[0] is the verb. Returns false with *error set (its code is the exit status), or with no error after --help. */
typedef bool (*VerbFn)(int argc, char **argv, GError **error);

bool verb_tokenizer(int argc, char **argv, GError **error);
bool verb_prepare(int argc, char **argv, GError **error);
bool verb_dataset(int argc, char **argv, GError **error);
bool verb_plan(int argc, char **argv, GError **error);
bool verb_train(int argc, char **argv, GError **error);
bool verb_eval(int argc, char **argv, GError **error);
bool verb_scores(int argc, char **argv, GError **error);
bool verb_generate(int argc, char **argv, GError **error);
bool verb_embed(int argc, char **argv, GError **error);
bool verb_import(int argc, char **argv, GError **error);
bool verb_export(int argc, char **argv, GError **error);
bool verb_compare(int argc, char **argv, GError **error);
bool verb_inspect(int argc, char **argv, GError **error);
bool verb_bench(int argc, char **argv, GError **error);
bool verb_help(int argc, char **argv, GError **error);
bool verb_env(int argc, char **argv, GError **error);

/* Parses the long options of `entries` (GLib's table; --name VALUE and --name=VALUE) out of argv, leaving argv[0] and
 * the rest. usage: "loam prepare --tokenizer TOK --out PREFIX PATH…"; about: what it does and an example, one screen.
 * An unknown option is an error that names the nearest one. After --help (printed to standard output) returns false
 * with no error. */
bool cli_parse(int *argc, char ***argv, const GOptionEntry *entries, const char *usage, const char *about,
               GError **error);

/* null where the value is not finite: JSON has no word for it. */
json_t *json_finite(double value);
/* The object as one line on standard output, and frees it. An error where a string in it is not UTF-8 (jansson then
 * makes no object at all: NULL will do). */
bool print_json_line(json_t *object, GError **error);

/* Text as one line: line ends in it become \n and \r. g_free. */
char *one_line(const char *text);
/* UTF-8, with U+FFFD in place of what is not; *replaced is set where there was any. g_free. */
char *valid_text(const char *text, bool *replaced);

/* A verb, or an action of a verb of verbs: `loam bench ops`. */
typedef struct SubVerb {
    const char *name;
    VerbFn run;
    const char *does;
} SubVerb;
/* Runs the action that argv[1] names; its help lists them ("loam bench WHAT …"), `example` ends it. */
bool cli_run_sub_verb(const SubVerb *sub_verbs, size_t n, const char *verb, const char *example, int argc, char **argv,
                      GError **error);
