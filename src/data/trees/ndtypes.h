/* ndtypes.h: AST-T5's side files. FOLDER/dict_ndtype.txt is a dictionary of fairseq. A dataset
 * FOLDER/LANG/SPLIT.{bin,idx} has side files FOLDER/LANG/ndtypes/SPLIT.{bin,idx}: for each document the ids of three
 * symbols per event of a traversal of its tree, then the id of </s>. The symbols of an event are p000012: before which
 * token it happens; "(" or ")": a node begins or ends; _LANG_TYPE: the type of the node.
 * FOLDER/LANG/ndtypes/ffr/SPLIT.ffr has the same content in another format: one record of FFRecord per document, with
 * one u32 per event: position << 18 | parenthesis << 14 | type. So ids are below 2^14 (parentheses below 2^4). */
#pragma once

#include "data/trees/trees.h"

#define NDTYPE_EOS        2 /* the id of </s> */
#define NDTYPE_IDS        (1 << 14)
#define NDTYPE_MARKS      (1 << 4) /* the ids of "(" and ")" are below this number */
#define NDTYPE_DICTIONARY "dict_ndtype.txt"

typedef struct NdtypeEvent {
    uint32_t position, mark, type; /* ids in the dictionary of the three symbols; mark: "(" or ")" */
} NdtypeEvent;

static inline uint32_t ndtype_pack(NdtypeEvent event)
{
    return event.position << 18 | event.mark << 14 | event.type;
}

static inline NdtypeEvent ndtype_unpack(uint32_t packed)
{
    return (NdtypeEvent){ packed >> 18, packed >> 14 & (NDTYPE_MARKS - 1), packed & (NDTYPE_IDS - 1) };
}

/* The path FOLDER/LANG/ndtypes/SPLIT for the path prefix FOLDER/LANG/SPLIT. g_free. */
char *ndtypes_prefix(const char *prefix);
/* FOLDER/LANG/ndtypes/ffr/SPLIT.ffr. g_free. */
char *ndtypes_ffrecord(const char *prefix);
/* FOLDER/dict_ndtype.txt. g_free. */
char *ndtypes_dictionary(const char *prefix);

typedef struct Ndtypes Ndtypes; /* read-only; thread-safe */
/* Opens the side files. If the folder has a dictionary but no files for LANG, the dataset is text without trees. */
Ndtypes *ndtypes_open(const char *prefix, GError **error);
void ndtypes_close(Ndtypes *ndtypes);
int64_t ndtypes_documents(const Ndtypes *ndtypes); /* -1 means text without trees, of any number of documents */
int64_t ndtypes_bytes(const Ndtypes *ndtypes);     /* size of the files */
/* As trees_read, trees_language and trees_type (trees.h). As in AST-T5, ")" without "(" is ignored, and a node without
 * ")" ends at the last event. Nodes without a token are left out. */
bool ndtypes_read(const Ndtypes *ndtypes, int64_t document, int64_t n_tokens, int *language, GArray *nodes,
                  GError **error);
const char *ndtypes_language(const Ndtypes *ndtypes, int language);
const char *ndtypes_type(const Ndtypes *ndtypes, int type);
