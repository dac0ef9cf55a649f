/* help.h: what every verb says of itself, as text for a terminal, a manual page, or words for a shell to complete. */
#pragma once

#include "base/options/options.h"
#include "cli/cli.h"

#include <stdio.h>

/* One verb, or one action of a verb of verbs. */
typedef struct HelpPage {
    const char *usage; /* "loam bench step CONFIG.yaml [--seconds S] …" */
    const char *about; /* paragraphs, an example last */
    const GOptionEntry *entries;
} HelpPage;

/* The verbs, in the order of `loam --help`. main.c. */
extern const SubVerb verbs[];
extern const size_t n_verbs;
void print_verbs(FILE *out);

/* Called for --help in place of printing, where pages are being gathered. */
typedef void (*HelpTaker)(const HelpPage *page, gpointer data);
bool help_gathering(void);
/* Hands the page to who gathers pages; false where nobody does. */
bool help_taken(const HelpPage *page);
/* Calls `taker` for every verb and action. */
void help_each(HelpTaker taker, gpointer data);
/* The words of a usage that name the verb: "loam bench step". g_free. */
char *help_name(const HelpPage *page);

/* Writes DIR/loam.1, a page a verb, and loam-config.5. */
bool help_write_man(const char *dir, const OptionTable *options, GError **error);
/* A script for a shell: "bash", "zsh" or "fish". g_free; NULL where there is none for this shell. */
char *help_completion(const char *shell, const OptionTable *options);
