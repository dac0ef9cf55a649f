/* cleaning.h: the options of `loam prepare` that select documents to leave out, and the report of what was left out. */
#pragma once

#include "cli/cli.h"
#include "data/prepare/prepare.h"

typedef struct CleaningFlags {
    gboolean clean, repeats;
    gint64 max_line, max_mean, ngram;
    double min_letters, share;
    char *licence_field, *licences, **exclude, **exclude_fields;
} CleaningFlags;
extern CleaningFlags cleaning_flags;

#define CLEANING_ENTRIES                                                                                               \
    CLI_SWITCH(                                                                                                        \
        "clean", cleaning_flags.clean,                                                                                 \
        "leave out generated and minified files: by the next three rules, and by comments in their first lines"),      \
        CLI_VALUE("max-line", cleaning_flags.max_line, "CHARACTERS",                                                   \
                  "leave out documents with a line longer than this (default with --clean: 1000)"),                    \
        CLI_VALUE("max-mean-line", cleaning_flags.max_mean, "CHARACTERS",                                              \
                  "leave out documents whose mean line length is larger than this (default with --clean: 100)"),       \
        CLI_VALUE(                                                                                                     \
            "min-letters", cleaning_flags.min_letters, "SHARE",                                                        \
            "leave out documents with a smaller share of letters and digits than this (default with --clean: 0.25)"),  \
        CLI_SWITCH("near-duplicates", cleaning_flags.repeats,                                                          \
                   "leave out near duplicates: documents that share about 90% with an earlier one"),                   \
        CLI_VALUE("licence-field", cleaning_flags.licence_field, "NAME",                                               \
                  "JSON field with the licence, or a list of licences; a document is kept if all of them are in "      \
                  "--licences"),                                                                                       \
        CLI_VALUE("licences", cleaning_flags.licences, "MIT,Apache-2.0", "licences to keep"),                          \
        CLI_ENTRY("exclude", G_OPTION_ARG_FILENAME_ARRAY, cleaning_flags.exclude, "PATH",                              \
                  "evaluation set: leave out documents that contain one of its documents; may be repeated"),           \
        CLI_VALUE(                                                                                                     \
            "exclude-field", cleaning_flags.exclude_fields, "NAME",                                                    \
            "JSON field of --exclude with the text (default: text); repeat it to join several fields with newlines"),  \
        CLI_VALUE("exclude-ngram", cleaning_flags.ngram, "N", "length of the compared n-grams in words (default 13)"), \
        CLI_VALUE(                                                                                                     \
            "exclude-share", cleaning_flags.share, "SHARE",                                                            \
            "leave out a document that contains this share of the n-grams of an evaluation document (default 0.5)")

/* Whether the user gave one of the options. */
bool cleaning_is_given(void);
/* Checks the flags. If there is a rule, fills `rules` and sets options->rules to it. Free with cleaning_clear. */
bool cleaning_options(CleaningRules *rules, PrepareOptions *options, GError **error);
void cleaning_clear(CleaningRules *rules);
/* Prints how many documents were left out, by reason, and the number of evaluation documents. */
void print_dropped(const PrepareStats *stats, const PrepareOptions *options);
/* Number of documents left out, by reason: {"generated": 3, …}. json_decref. */
json_t *dropped_json(const PrepareStats *stats);
