/* ndtypes.h: AST-T5's side files, which hold the syntax tree of each document of a dataset.
 * - FOLDER/dict_ndtype.txt lists the symbols of the side files, as a dictionary of fairseq.
 * - A dataset FOLDER/LANG/SPLIT.{bin,idx} has side files FOLDER/LANG/ndtypes/SPLIT.{bin,idx}. A document of the side
 * files lists the events of a traversal of the tree: a node begins or a node ends. Each event is the ids of three
 * symbols; the id of </s> follows the last event.
 * - The three symbols of an event are "p000012" (the event happens before token 12), "(" or ")" (a node begins or ends)
 * and "_LANG_TYPE" (language and type of the node).
 * - FOLDER/LANG/ndtypes/ffr/SPLIT.ffr has the same events as a file of FFRecord: one record per document, with one u32
 * per event, which is position << 18 | parenthesis << 14 | type. So an id is below 2^14, and the id of a parenthesis
 * below 2^4. */
#pragma once

#include "data/trees/trees.h"

#define NDTYPE_EOS        2 /* the id of </s> */
#define NDTYPE_IDS        (1 << 14)
#define NDTYPE_MARKS      (1 << 4) /* the ids of "(" and ")" are below this number */
#define NDTYPE_DICTIONARY "dict_ndtype.txt"

typedef struct NdtypeEvent {
    uint32_t position, mark, type; /* ids in the dictionary of the event's three symbols; mark: the id of "(" or ")" */
} NdtypeEvent;

/* An event as the u32 of an FFRecord file, and back. */
static inline uint32_t ndtype_pack(NdtypeEvent event)
{
    return event.position << 18 | event.mark << 14 | event.type;
}

static inline NdtypeEvent ndtype_unpack(uint32_t packed)
{
    return (NdtypeEvent){ packed >> 18, packed >> 14 & (NDTYPE_MARKS - 1), packed & (NDTYPE_IDS - 1) };
}

/* The path FOLDER/LANG/ndtypes/SPLIT for the path prefix FOLDER/LANG/SPLIT. Free with g_free. */
char *ndtypes_prefix(const char *prefix);
/* FOLDER/LANG/ndtypes/ffr/SPLIT.ffr. Free with g_free. */
char *ndtypes_ffrecord(const char *prefix);

typedef struct Ndtypes Ndtypes; /* read-only; thread-safe */
/* Opens the side files of the dataset with this path prefix. If the folder has a dictionary but no side files for LANG,
 * the dataset is text without trees. */
Ndtypes *ndtypes_open(const char *prefix, GError **error);
void ndtypes_close(Ndtypes *ndtypes);
int64_t ndtypes_documents(const Ndtypes *ndtypes); /* -1 means text without trees, of any number of documents */
int64_t ndtypes_bytes(const Ndtypes *ndtypes);     /* size of the side files in bytes */
/* ndtypes_read, ndtypes_language and ndtypes_type do what trees_read, trees_language and trees_type (trees.h) do. As in
 * AST-T5, a ")" without "(" is ignored, and a node without ")" ends at the last event. Nodes that cover no token are
 * left out. */
bool ndtypes_read(const Ndtypes *ndtypes, int64_t document, int64_t n_tokens, int *language, GArray *nodes,
                  GError **error);
const char *ndtypes_language(const Ndtypes *ndtypes, int language);
const char *ndtypes_type(const Ndtypes *ndtypes, int type);

/* ---- ffrecord.c: reads and writes files of FFRecord (.ffr), a format for records of bytes. In this order a file has,
 * little-endian: u32 CRC-32 of the next three fields; i64 number of records n; n × u32 CRC-32 of each record; n × i64
 * offset of each record in the file; the records. The last record ends at the end of the file ---- */

typedef struct FFRecord FFRecord; /* read-only; thread-safe */
/* Opens a file. It is an error if the CRC-32 of the header is wrong, or if an offset does not fit the file's size. */
FFRecord *ffrecord_open(const char *path, GError **error);
void ffrecord_close(FFRecord *file);
int64_t ffrecord_count(const FFRecord *file); /* number of records */
int64_t ffrecord_bytes(const FFRecord *file); /* size of the file */
/* Sets `out` to the bytes of record number `record`. It is an error if the record's CRC-32 is wrong. */
bool ffrecord_read(const FFRecord *file, int64_t record, GByteArray *out, GError **error);

/* Callback of ffrecord_write: sets `out` to the bytes of record number `record`. */
typedef bool (*FFRecordFn)(void *context, int64_t record, GByteArray *out, GError **error);
/* Writes a file of n records. `give` is called twice for each record: for its CRC-32 and length, and to write it. */
bool ffrecord_write(const char *path, int64_t n, FFRecordFn give, void *context, GError **error);
