/* corpus_files.h: which files a list of paths stands for, and how each is to be read. */
#pragma once

#include "base/error.h"

#include <stdint.h>

typedef enum CorpusKind {
    CORPUS_TEXT,       /* blank lines end documents */
    CORPUS_JSON,       /* one object a line */
    CORPUS_WHOLE_FILE, /* one document */
    CORPUS_TABLE       /* rows and columns: no text */
} CorpusKind;

typedef struct CorpusFile {
    char *path;
    CorpusKind kind;
    bool probe; /* found in a folder: with an unknown suffix passed over unless it is text; a .json is one document
                   unless its first line is an object */
    uint64_t bytes;
} CorpusFile;

/* Files and folders, these walked in byte order of the names; hidden names and folders that contain themselves by a
 * link are left out. Elements CorpusFile *, freed with the array; NULL on an error. */
GPtrArray *corpus_files_list(char *const *paths, int n_paths, GError **error);
