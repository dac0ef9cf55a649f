/* corpus_files.h: the files that a list of paths names, and how each is read. */
#pragma once

#include "data/records/records.h"

typedef struct CorpusFile {
    char *path;
    RecordFormat format;    /* not RECORD_AUTO */
    RecordFormat otherwise; /* RecordSource.otherwise */
    bool in_folder;         /* it was found in a folder, not named */
    bool table;             /* a table that is not read (.parquet, …; in a folder also .csv) */
    bool nameless;          /* a file without suffix: JSON lines if the first line is an object */
    bool probe; /* the file was found in a folder, so its content decides: a file with an unknown suffix is ignored
                   unless it is text; a .json is one document unless its first line is a JSON object */
    uint64_t bytes;
} CorpusFile;

/* Lists the files of `paths`; files of folders are in byte order of their names. Hidden files and folders are left out,
 * and so is a link to a folder that contains the link. format: that of all files; RECORD_AUTO means that each has its
 * own. Returns an array of CorpusFile *, which are freed with the array. */
GPtrArray *corpus_files_list(char *const *paths, int n_paths, RecordFormat format, GError **error);
