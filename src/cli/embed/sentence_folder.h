/* cli/embed/sentence_folder.h: what a folder of sentence-transformers declares: how hidden states become a vector. */
#pragma once

#include "eval/embedder.h"

#include <jansson.h>

typedef struct SentenceFolder {
    Pooling pooling;
    bool normalize;
    int64_t max_tokens; /* max_seq_length; 0 means that there is none */
} SentenceFolder;

/* Reads TokenRoles.sentence. It is a user's error if it has a module that loam does not have. */
bool sentence_folder_read(const json_t *files, SentenceFolder *folder, GError **error);
