/* cleaning.h: the options of `loam prepare` about documents to leave out, and their report. */
#pragma once

#include "cli/cli.h"
#include "data/prepare/prepare.h"

#include <jansson.h>

typedef struct CleaningFlags {
    gboolean clean, repeats;
    gint64 max_line, max_mean, ngram;
    double min_letters, share;
    char *licence_field, *licences, **exclude, **exclude_fields;
} CleaningFlags;
extern CleaningFlags cleaning_flags;

#define CLEANING_ENTRIES                                                                                               \
    CLI_SWITCH("clean", cleaning_flags.clean,                                                                          \
               "leave out generated and minified files, by the next three rules and by what their first lines say"),   \
        CLI_VALUE("max-line", cleaning_flags.max_line, "leave out documents with a longer line (clean: 1000)",         \
                  "CHARACTERS"),                                                                                       \
        CLI_VALUE("max-mean-line", cleaning_flags.max_mean, "or with longer lines on average (clean: 100)",            \
                  "CHARACTERS"),                                                                                       \
        CLI_VALUE("min-letters", cleaning_flags.min_letters,                                                           \
                  "or with a smaller share of letters and digits (clean: 0.25)", "SHARE"),                             \
        CLI_SWITCH("near-duplicates", cleaning_flags.repeats,                                                          \
                   "leave out documents of which about nine tenths repeat one before"),                                \
        CLI_VALUE("licence-field", cleaning_flags.licence_field,                                                       \
                  "of JSON objects: the licence, or a list; leave out others than --licences", "NAME"),                \
        CLI_VALUE("licences", cleaning_flags.licences, "the licences that are wanted", "MIT,Apache-2.0"),              \
        CLI_ENTRY("exclude", G_OPTION_ARG_FILENAME_ARRAY, cleaning_flags.exclude,                                      \
                  "an evaluation set: leave out documents that repeat one of it", "PATH"),                             \
        CLI_VALUE("exclude-field", cleaning_flags.exclude_fields,                                                      \
                  "of its JSON objects: what holds the text (text); several are joined by newlines", "NAME"),          \
        CLI_VALUE("exclude-ngram", cleaning_flags.ngram, "words of the n-grams that are compared (13)", "N"),          \
        CLI_VALUE("exclude-share", cleaning_flags.share,                                                               \
                  "share of the n-grams of an evaluation document that make a near duplicate (0.5)", "SHARE")

/* Whether one of the options was given. */
bool cleaning_is_given(void);
/* Checks the flags, and makes options->rules point to `rules`, which cleaning_clear frees, if there is a rule. */
bool cleaning_options(CleaningRules *rules, PrepareOptions *options, GError **error);
void cleaning_clear(CleaningRules *rules);
void print_dropped(const PrepareStats *stats, const PrepareOptions *options);
/* {"generated": 3, …}: the reasons that dropped a document. */
json_t *dropped_json(const PrepareStats *stats);
