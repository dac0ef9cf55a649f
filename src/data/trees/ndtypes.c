/* ndtypes.c: writes and reads AST-T5's side files. */
#include "data/trees/ndtypes.h"

#include "base/file.h"
#include "base/log.h"
#include "format/fairseq_dict.h"
#include "format/indexed.h"

#include <inttypes.h>
#include <string.h>

#define MAX_IDS 65536 /* largest number of entries of the dictionary: node types have 16-bit numbers */

/* ---- paths ---- */

char *ndtypes_prefix(const char *prefix)
{
    g_autofree char *folder = g_path_get_dirname(prefix), *name = g_path_get_basename(prefix);
    return g_build_filename(folder, "ndtypes", name, NULL);
}

char *ndtypes_ffrecord(const char *prefix)
{
    g_autofree char *folder = g_path_get_dirname(prefix), *name = g_path_get_basename(prefix);
    g_autofree char *file = g_strconcat(name, ".ffr", NULL);
    return g_build_filename(folder, "ndtypes", "ffr", file, NULL);
}

static char *dictionary_path(const char *prefix)
{
    g_autofree char *folder = g_path_get_dirname(prefix), *above = g_path_get_dirname(folder);
    return g_build_filename(above, NDTYPE_DICTIONARY, NULL);
}

bool trees_has_ndtypes(const char *prefix)
{
    g_autofree char *path = dictionary_path(prefix);
    return g_file_test(path, G_FILE_TEST_EXISTS);
}

bool trees_remove(const char *prefix, GError **error)
{
    g_autofree char *tree = g_strconcat(prefix, ".tree", NULL), *side = ndtypes_prefix(prefix),
                    *index = g_strconcat(side, ".idx", NULL), *ids = g_strconcat(side, ".bin", NULL),
                    *packed = ndtypes_ffrecord(prefix);
    return io_remove_file(tree, error) &&
           (!trees_has_ndtypes(prefix) ||
            (io_remove_file(index, error) && io_remove_file(ids, error) && io_remove_file(packed, error)));
}

struct NdtypeDict {
    GPtrArray *symbols; /* char *: from id FAIRSEQ_SPECIALS on */
    GArray *counts;     /* int64_t */
    GPtrArray *types;   /* (grammars) uint32_t *: id of each node type */
    uint32_t open, closed, origin;
};

struct NdtypeWriter {
    char *prefix;
    NdtypeDict *dict;
    IndexedWriter *files;
    bool packed;   /* write ndtypes/ffr too */
    GArray *ids;   /* int32_t: of one document */
    GArray *stack; /* int32_t: index of the open nodes */
};

/* ---- the dictionary that is written ---- */

static uint32_t add_symbol(NdtypeDict *dict, char *name)
{
    const int64_t none = 0;
    g_ptr_array_add(dict->symbols, name);
    g_array_append_val(dict->counts, none);
    return FAIRSEQ_SPECIALS + dict->symbols->len - 1;
}

char *ndtype_language(const char *grammar)
{
    g_auto(GStrv) words = g_strsplit(grammar, "_", -1);
    return g_strjoinv("", words);
}

/* Adds _LANG_TYPE for the named types of a grammar; several of its types may have one name. */
static void add_grammar(NdtypeDict *dict, const Grammar *grammar)
{
    int n = grammar->n_types;
    uint32_t *ids = g_new0(uint32_t, n);
    g_autofree char *language = ndtype_language(grammar->name);
    g_autoptr(GHashTable) known = g_hash_table_new(g_str_hash, g_str_equal);
    for (int type = 0; type < n; type++) {
        const char *name = grammar_type(grammar, type);
        if (!grammar_type_is_named(grammar, type))
            continue;
        ids[type] = GPOINTER_TO_UINT(g_hash_table_lookup(known, name));
        if (ids[type] == 0)
            ids[type] = add_symbol(dict, g_strdup_printf("_%s_%s", language, name));
        g_hash_table_insert(known, (char *)name, GUINT_TO_POINTER(ids[type]));
    }
    g_ptr_array_add(dict->types, ids);
}

NdtypeDict *ndtype_dict_new(const Grammars *grammars, int64_t most_tokens, GError **error)
{
    NdtypeDict *dict = g_new0(NdtypeDict, 1);
    dict->symbols = g_ptr_array_new_with_free_func(g_free);
    dict->counts = g_array_new(FALSE, FALSE, sizeof(int64_t));
    dict->types = g_ptr_array_new_with_free_func(g_free);
    dict->open = add_symbol(dict, g_strdup("("));
    dict->closed = add_symbol(dict, g_strdup(")"));
    for (int i = 0; i < (int)grammars->len; i++)
        add_grammar(dict, grammars->pdata[i]);
    dict->origin = FAIRSEQ_SPECIALS + dict->symbols->len;
    int64_t n = dict->origin + most_tokens + 1;
    for (int64_t position = 0; n <= NDTYPE_IDS && position <= most_tokens; position++)
        add_symbol(dict, g_strdup_printf("p%06" PRId64, position));
    if (n <= NDTYPE_IDS)
        return dict;
    ndtype_dict_free(dict);
    return fail_user(error,
                     "%" PRId64
                     " node types and positions are too many for AST-T5's 14 bits (%d): install fewer grammars, or "
                     "shorten --segment",
                     n, NDTYPE_IDS);
}

void ndtype_dict_free(NdtypeDict *dict)
{
    if (!dict)
        return;
    g_ptr_array_unref(dict->symbols);
    g_array_unref(dict->counts);
    g_ptr_array_unref(dict->types);
    g_free(dict);
}

bool ndtype_dict_write(const NdtypeDict *dict, const char *folder, GError **error)
{
    g_autofree char *path = g_build_filename(folder, NDTYPE_DICTIONARY, NULL);
    g_autoptr(FairseqDict) file = fairseq_dict_new();
    for (guint i = 0; i < dict->symbols->len; i++)
        fairseq_dict_add(file, dict->symbols->pdata[i], g_array_index(dict->counts, int64_t, i));
    return fairseq_dict_write(file, path, error);
}

/* ---- the files that are written ---- */

NdtypeWriter *ndtype_writer_open(const char *prefix, NdtypeDict *dict, bool packed, GError **error)
{
    g_autofree char *own = ndtypes_prefix(prefix), *folder = g_path_get_dirname(own);
    if (!io_make_directories(folder, error))
        return NULL;
    IndexedWriter *files =
        indexed_writer_open(own, INDEXED_FAIRSEQ, (int64_t)dict->symbols->len + FAIRSEQ_SPECIALS, error);
    if (!files)
        return NULL;
    NdtypeWriter *writer = g_new(NdtypeWriter, 1);
    *writer = (NdtypeWriter){ .prefix = g_strdup(prefix), .dict = dict, .files = files, .packed = packed };
    writer->ids = g_array_new(FALSE, FALSE, sizeof(int32_t));
    writer->stack = g_array_new(FALSE, FALSE, sizeof(int32_t));
    return writer;
}

void ndtype_writer_close(NdtypeWriter *writer)
{
    if (!writer)
        return;
    indexed_writer_close(writer->files);
    g_array_unref(writer->ids);
    g_array_unref(writer->stack);
    g_free(writer->prefix);
    g_free(writer);
}

static void put_event(NdtypeWriter *writer, int32_t position, uint32_t mark, uint32_t type)
{
    const int32_t ids[] = { (int32_t)writer->dict->origin + position, (int32_t)mark, (int32_t)type };
    for (size_t i = 0; i < G_N_ELEMENTS(ids); i++)
        g_array_index(writer->dict->counts, int64_t, ids[i] - FAIRSEQ_SPECIALS)++;
    g_array_append_vals(writer->ids, ids, G_N_ELEMENTS(ids));
}

/* Ends the open nodes that end at or before a token. */
static void close_nodes(NdtypeWriter *writer, const TreeNode *nodes, const uint32_t *types, int32_t before)
{
    while (writer->stack->len > 0) {
        const TreeNode *node = &nodes[g_array_index(writer->stack, int32_t, writer->stack->len - 1)];
        if (node->end > before)
            return;
        put_event(writer, node->end, writer->dict->closed, types[node->type]);
        g_array_set_size(writer->stack, writer->stack->len - 1);
    }
}

bool ndtype_writer_add(NdtypeWriter *writer, int language, const TreeNode *nodes, int64_t n, GError **error)
{
    const uint32_t *types = language >= 0 ? writer->dict->types->pdata[language] : NULL;
    const int32_t eos = NDTYPE_EOS;
    g_array_set_size(writer->ids, 0);
    for (int32_t i = 0; types && i < n; i++) {
        close_nodes(writer, nodes, types, nodes[i].begin);
        put_event(writer, nodes[i].begin, writer->dict->open, types[nodes[i].type]);
        g_array_append_val(writer->stack, i);
    }
    if (types)
        close_nodes(writer, nodes, types, INT32_MAX);
    g_array_append_val(writer->ids, eos);
    return indexed_writer_add(writer->files, (const int32_t *)(void *)writer->ids->data, writer->ids->len, error) &&
           indexed_writer_end_document(writer->files, error);
}

/* A record of ndtypes/ffr from the document of ndtypes/SPLIT.bin. */
static bool pack_document(void *context, int64_t document, GByteArray *out, GError **error)
{
    const Indexed *set = context;
    int64_t n = indexed_length(set, document) - 1; /* without </s> */
    g_autofree int32_t *ids = g_new(int32_t, n + 1);
    g_byte_array_set_size(out, 0);
    if (!indexed_read(set, document, 0, n, ids, error))
        return false;
    for (int64_t i = 0; i < n; i += 3) {
        uint32_t packed = ndtype_pack((NdtypeEvent){ (uint32_t)ids[i], (uint32_t)ids[i + 1], (uint32_t)ids[i + 2] });
        g_byte_array_append(out, (const guint8 *)&packed, sizeof packed);
    }
    return true;
}

static bool write_packed(const char *prefix, GError **error)
{
    g_autofree char *path = ndtypes_ffrecord(prefix), *folder = g_path_get_dirname(path), *own = ndtypes_prefix(prefix);
    g_autoptr(Indexed) set = io_make_directories(folder, error) ? indexed_open(own, error) : NULL;
    return set && ffrecord_write(path, indexed_documents(set), pack_document, set, error);
}

bool ndtype_writer_finish(NdtypeWriter *writer, GError **error)
{
    return indexed_writer_finish(g_steal_pointer(&writer->files), error) &&
           (!writer->packed || write_packed(writer->prefix, error));
}

/* ---- reading ---- */

struct Ndtypes {
    char *path;
    FairseqDict *dict;
    GPtrArray *languages;  /* char * */
    int *language_of;      /* (ids) of a symbol _LANG_TYPE; -1 for other symbols */
    uint32_t open, closed; /* ids of the parentheses */
    uint32_t origin;       /* id of p000000 */
    int64_t n_positions;   /* symbols p000000, p000001, … that follow each other */
    Indexed *indexed;      /* one of these; both NULL means text without trees */
    FFRecord *packed;
};

void ndtypes_close(Ndtypes *ndtypes)
{
    if (!ndtypes)
        return;
    indexed_close(ndtypes->indexed);
    ffrecord_close(ndtypes->packed);
    fairseq_dict_free(ndtypes->dict);
    g_ptr_array_unref(ndtypes->languages);
    g_free(ndtypes->language_of);
    g_free(ndtypes->path);
    g_free(ndtypes);
}

static const char *symbol(const Ndtypes *ndtypes, int id)
{
    return id < FAIRSEQ_SPECIALS ? "" : ndtypes->dict->symbols->pdata[id - FAIRSEQ_SPECIALS];
}

/* The length of "_LANG_" at the start of a symbol; 0 for other symbols. */
static size_t language_bytes(const char *name)
{
    const char *end = *name == '_' ? strchr(name + 1, '_') : NULL;
    return end && end > name + 1 && end[1] ? (size_t)(end - name) + 1 : 0;
}

static int find_language(Ndtypes *ndtypes, const char *name, size_t bytes)
{
    for (guint i = 0; i < ndtypes->languages->len; i++)
        if (strncmp(ndtypes->languages->pdata[i], name, bytes) == 0 && !((char *)ndtypes->languages->pdata[i])[bytes])
            return (int)i;
    g_ptr_array_add(ndtypes->languages, g_strndup(name, bytes));
    return (int)ndtypes->languages->len - 1;
}

static bool read_dictionary(Ndtypes *ndtypes, const char *path, GError **error)
{
    ndtypes->dict = fairseq_dict_read(path, error);
    if (!ndtypes->dict)
        return false;
    int64_t n = fairseq_dict_size(ndtypes->dict);
    if (n > MAX_IDS)
        return fail_user(error, "%s: %" PRId64 " symbols: at most %d", path, n, MAX_IDS);
    g_autoptr(GHashTable) ids = fairseq_dict_ids(ndtypes->dict);
    const char *wanted[] = { "(", ")", "p000000" };
    uint32_t *found[] = { &ndtypes->open, &ndtypes->closed, &ndtypes->origin };
    const char *missing = NULL;
    for (size_t i = 0; i < G_N_ELEMENTS(wanted); i++) {
        *found[i] = GPOINTER_TO_UINT(g_hash_table_lookup(ids, wanted[i]));
        missing = *found[i] == 0 ? wanted[i] : missing;
    }
    if (missing)
        return fail_user(error, "%s: no symbol %s: not a dictionary of node types", path, missing);
    ndtypes->language_of = g_new(int, n);
    for (int id = 0; id < n; id++) {
        size_t bytes = language_bytes(symbol(ndtypes, id));
        ndtypes->language_of[id] = bytes > 0 ? find_language(ndtypes, symbol(ndtypes, id) + 1, bytes - 2) : -1;
    }
    for (int64_t id = ndtypes->origin; id < n; id++, ndtypes->n_positions++) {
        g_autofree char *name = g_strdup_printf("p%06" PRId64, ndtypes->n_positions);
        if (strcmp(symbol(ndtypes, (int)id), name) != 0)
            break;
    }
    return true;
}

/* Warns that a dataset of programs has no trees. A dataset in a folder called "text" needs none. */
static void warn_without_trees(const char *prefix, const char *index)
{
    g_autofree char *folder = g_path_get_dirname(prefix), *language = g_path_get_basename(folder);
    if (strcmp(language, "text") != 0)
        log_warning("%s is missing: %s has no syntax trees, and is read as text", index, prefix);
}

static bool open_ndtypes_files(Ndtypes *ndtypes, const char *prefix, GError **error)
{
    g_autofree char *own = ndtypes_prefix(prefix), *index = g_strconcat(own, ".idx", NULL),
                    *binary = g_strconcat(own, ".bin", NULL), *packed = ndtypes_ffrecord(prefix);
    bool has_packed = g_file_test(packed, G_FILE_TEST_EXISTS),
         has_either = g_file_test(index, G_FILE_TEST_EXISTS) || g_file_test(binary, G_FILE_TEST_EXISTS);
    if (g_file_test(index, G_FILE_TEST_EXISTS) || (has_either && !has_packed)) {
        ndtypes->path = g_strdup(own);
        return (ndtypes->indexed = indexed_open(own, error)) != NULL;
    }
    ndtypes->path = g_strdup(packed);
    if (!has_packed)
        warn_without_trees(prefix, index);
    return !has_packed || (ndtypes->packed = ffrecord_open(packed, error)) != NULL;
}

Ndtypes *ndtypes_open(const char *prefix, GError **error)
{
    g_autofree char *dictionary = dictionary_path(prefix);
    Ndtypes *ndtypes = g_new0(Ndtypes, 1);
    ndtypes->languages = g_ptr_array_new_with_free_func(g_free);
    if (!read_dictionary(ndtypes, dictionary, error) || !open_ndtypes_files(ndtypes, prefix, error))
        g_clear_pointer(&ndtypes, ndtypes_close);
    return ndtypes;
}

int64_t ndtypes_documents(const Ndtypes *ndtypes)
{
    return ndtypes->indexed  ? indexed_documents(ndtypes->indexed)
           : ndtypes->packed ? ffrecord_count(ndtypes->packed)
                             : -1;
}

int64_t ndtypes_bytes(const Ndtypes *ndtypes)
{
    if (ndtypes->packed)
        return ffrecord_bytes(ndtypes->packed);
    return ndtypes->indexed
               ? indexed_tokens(ndtypes->indexed) * (indexed_dtype(ndtypes->indexed) == INDEXED_U16 ? 2 : 4)
               : 0;
}

/* ---- a document that is read ---- */

static bool fail_event(const Ndtypes *ndtypes, int64_t document, int64_t event, const char *what, GError **error)
{
    return fail_user(error, "%s: document %" PRId64 ", event %" PRId64 ": %s", ndtypes->path, document, event, what);
}

/* Fills `events` (NdtypeEvent). */
static bool read_indexed(const Ndtypes *ndtypes, int64_t document, GArray *events, GError **error)
{
    int64_t n = indexed_length(ndtypes->indexed, document);
    g_autofree int32_t *ids = g_new(int32_t, n + 1);
    if (!indexed_read(ndtypes->indexed, document, 0, n, ids, error))
        return false;
    n -= n > 0 && ids[n - 1] == NDTYPE_EOS;
    if (n % 3 != 0)
        return fail_event(ndtypes, document, n / 3, "no three ids", error);
    for (int64_t i = 0; i < n; i += 3) {
        const NdtypeEvent event = { (uint32_t)ids[i], (uint32_t)ids[i + 1], (uint32_t)ids[i + 2] };
        g_array_append_val(events, event);
    }
    return true;
}

static bool read_packed(const Ndtypes *ndtypes, int64_t document, GArray *events, GError **error)
{
    g_autoptr(GByteArray) bytes = g_byte_array_new();
    if (!ffrecord_read(ndtypes->packed, document, bytes, error))
        return false;
    if (bytes->len % 4 != 0)
        return fail_event(ndtypes, document, bytes->len / 4, "no four bytes", error);
    for (guint i = 0; i < bytes->len; i += 4) {
        uint32_t packed;
        memcpy(&packed, bytes->data + i, sizeof packed);
        const NdtypeEvent event = ndtype_unpack(packed);
        g_array_append_val(events, event);
    }
    return true;
}

/* Nodes in the order in which they begin, with those that are still open. */
typedef struct Building {
    const Ndtypes *ndtypes;
    int64_t document, n_tokens;
    int32_t at; /* where the last event happened */
    GArray *nodes;
    GArray *open; /* guint: indices of nodes */
} Building;

static bool take_event(Building *building, int64_t i, const NdtypeEvent *event, int *language, GError **error)
{
    const Ndtypes *own = building->ndtypes;
    int64_t position = (int64_t)event->position - own->origin;
    if (event->position < own->origin || position >= own->n_positions || position > building->n_tokens ||
        position < building->at)
        return fail_event(own, building->document, i, "its position is outside of the tokens or before the last",
                          error);
    building->at = (int32_t)position;
    if (event->mark == own->closed) {
        if (building->open->len == 0)
            return true;
        guint last = g_array_index(building->open, guint, building->open->len - 1);
        g_array_index(building->nodes, TreeNode, last).end = (int32_t)position;
        g_array_set_size(building->open, building->open->len - 1);
        return true;
    }
    if (event->mark != own->open)
        return fail_event(own, building->document, i, "neither ( nor )", error);
    if (event->type >= fairseq_dict_size(own->dict) || own->language_of[event->type] < 0)
        return fail_event(own, building->document, i, "its type is none of the dictionary", error);
    const char *name = ndtypes_type(own, (int)event->type);
    const TreeNode node = { (int32_t)position, -1, (uint16_t)event->type, strcmp(name, "identifier") == 0 };
    *language = *language < 0 ? own->language_of[event->type] : *language;
    g_array_append_val(building->open, building->nodes->len);
    g_array_append_val(building->nodes, node);
    return true;
}

/* Ends the open nodes, and moves those with a token to the front of their array. */
static void finish_nodes(Building *building, guint first)
{
    guint kept = first;
    for (guint i = first; i < building->nodes->len; i++) {
        TreeNode node = g_array_index(building->nodes, TreeNode, i);
        node.end = node.end < 0 ? building->at : node.end;
        if (node.end > node.begin)
            g_array_index(building->nodes, TreeNode, kept++) = node;
    }
    g_array_set_size(building->nodes, kept);
}

bool ndtypes_read(const Ndtypes *ndtypes, int64_t document, int64_t n_tokens, int *language, GArray *nodes,
                  GError **error)
{
    *language = -1;
    if (ndtypes_documents(ndtypes) < 0)
        return true;
    if (document < 0 || document >= ndtypes_documents(ndtypes))
        return fail_user(error, "%s has no document %" PRId64 ": it belongs to another dataset", ndtypes->path,
                         document);
    g_autoptr(GArray) events = g_array_new(FALSE, FALSE, sizeof(NdtypeEvent)),
                      open = g_array_new(FALSE, FALSE, sizeof(guint));
    if (!(ndtypes->indexed ? read_indexed(ndtypes, document, events, error)
                           : read_packed(ndtypes, document, events, error)))
        return false;
    Building building = { ndtypes, document, n_tokens, 0, nodes, open };
    guint first = nodes->len;
    for (guint i = 0; i < events->len; i++)
        if (!take_event(&building, i, &g_array_index(events, NdtypeEvent, i), language, error))
            return false;
    finish_nodes(&building, first);
    return true;
}

const char *ndtypes_language(const Ndtypes *ndtypes, int language)
{
    return ndtypes->languages->pdata[language];
}

const char *ndtypes_type(const Ndtypes *ndtypes, int type)
{
    const char *name = symbol(ndtypes, type);
    return name + language_bytes(name);
}
