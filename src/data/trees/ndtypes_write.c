#include "data/trees/ndtypes.h"

#include "base/file.h"
#include "data/trees/ffrecord.h"
#include "format/fairseq_dict.h"
#include "format/indexed.h"

#include <inttypes.h>
#include <string.h>

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

/* ---- the dictionary ---- */

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
    int n = grammar_types(grammar);
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
    for (int i = 0; i < grammars_count(grammars); i++)
        add_grammar(dict, grammars_at(grammars, i));
    dict->origin = FAIRSEQ_SPECIALS + dict->symbols->len;
    int64_t n = dict->origin + most_tokens + 1;
    for (int64_t position = 0; n <= NDTYPE_IDS && position <= most_tokens; position++)
        add_symbol(dict, g_strdup_printf("p%06" PRId64, position));
    if (n <= NDTYPE_IDS)
        return dict;
    ndtype_dict_free(dict);
    fail_user(error,
              "%" PRId64 " node types and positions are too many for AST-T5's 14 bits (%d): install fewer grammars, or "
              "shorten --segment",
              n, NDTYPE_IDS);
    return NULL;
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
    FairseqDict *file = fairseq_dict_new();
    for (guint i = 0; i < dict->symbols->len; i++)
        fairseq_dict_add(file, dict->symbols->pdata[i], g_array_index(dict->counts, int64_t, i));
    bool done = fairseq_dict_write(file, path, error);
    fairseq_dict_free(file);
    return done;
}

/* ---- the files ---- */

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

void ndtype_writer_abort(NdtypeWriter *writer)
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
    Indexed *set = io_make_directories(folder, error) ? indexed_open(own, error) : NULL;
    bool done = set && ffrecord_write(path, indexed_documents(set), pack_document, set, error);
    indexed_close(set);
    return done;
}

bool ndtype_writer_finish(NdtypeWriter *writer, GError **error)
{
    bool good = indexed_writer_finish(g_steal_pointer(&writer->files), error) &&
                (!writer->packed || write_packed(writer->prefix, error));
    ndtype_writer_abort(writer);
    return good;
}
