/* grammar.h: the fields of an open grammar, for the files of text/syntax. */
#pragma once

#include "text/syntax/syntax.h"

#include <tree_sitter/api.h>

struct Grammar {
    char *name, *version;
    char **endings; /* NULL-terminated list of the words after NAME and VERSION in loam_grammar (syntax.h): "py", "?h",
                       "=ALIAS" */
    void *library;  /* handle of dlopen */
    const TSLanguage *language;
};
