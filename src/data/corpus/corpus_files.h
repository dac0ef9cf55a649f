/* corpus_files.h: the files that a list of paths names, and how each is read. */
#pragma once

#include "base/error.h"

#include <stdint.h>

typedef enum CorpusKind {
    CORPUS_TEXT,       /* empty lines end documents */
    CORPUS_JSON,       /* one JSON object a line */
    CORPUS_WHOLE_FILE, /* one document */
    CORPUS_TABLE       /* rows and columns, no text */
} CorpusKind;

typedef struct CorpusFile {
    char *path;
    CorpusKind kind;
    bool probe; /* found in a folder, so its contents decide: a file with an unknown suffix is ignored unless it is
                   text; a .json is one document unless its first line is an object */
    uint64_t bytes;
} CorpusFile;

/* Lists files, and the files in folders in byte order of their names. Hidden names are left out, and folders that
 * contain themselves by a link. Elements are CorpusFile *, freed with the array; NULL on an error. */
GPtrArray *corpus_files_list(char *const *paths, int n_paths, GError **error);
