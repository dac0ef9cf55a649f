/* grammar.h: an open grammar, as the files of text/syntax see it. */
#pragma once

#include "text/syntax/syntax.h"

#include <tree_sitter/api.h>

struct Grammar {
    char *name, *version;
    char **endings; /* NULL-terminated; endings of another grammar start with '?', aliases with '=' */
    void *library;  /* handle of dlopen */
    const TSLanguage *language;
};
