/* grammar.h: the fields of an open grammar, for the files of text/syntax. */
#pragma once

#include "text/syntax/syntax.h"

#include <tree_sitter/api.h>

struct Grammar {
    char *name, *version;
    char **endings; /* NULL-terminated list of the words of loam_grammar: "py", "?h" (see grammars_rival), "=ALIAS" */
    void *library;  /* handle of dlopen */
    const TSLanguage *language;
};
