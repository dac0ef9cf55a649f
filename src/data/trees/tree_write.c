/* tree_write.c: writes PREFIX.tree. */
#include "data/trees/ndtypes.h"
#include "data/trees/tree_file.h"

#include "base/file.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

bool trees_remove(const char *prefix, GError **error)
{
    g_autofree char *tree = g_strconcat(prefix, ".tree", NULL), *side = ndtypes_prefix(prefix),
                    *index = g_strconcat(side, ".idx", NULL), *ids = g_strconcat(side, ".bin", NULL),
                    *packed = ndtypes_ffrecord(prefix);
    return io_remove_file(tree, error) &&
           (!trees_has_ndtypes(prefix) ||
            (io_remove_file(index, error) && io_remove_file(ids, error) && io_remove_file(packed, error)));
}

struct TreeWriter {
    char *path;             /* PREFIX.tree */
    IoFile *part, *offsets; /* offsets: a file without a name. NULL means not open */
    const Grammars *grammars;
    int *index;   /* (grammars) index of the language in the file; -1 means not yet used */
    GArray *used; /* int: the grammars in the order of their indices */
    GByteArray *record;
    XXH3_state_t *hash;
    uint64_t at, n_documents; /* bytes of PREFIX.tree so far */
};

void tree_writer_abort(TreeWriter *writer)
{
    if (!writer)
        return;
    io_discard(writer->part);
    io_abort(writer->offsets);
    g_byte_array_unref(writer->record);
    g_array_unref(writer->used);
    XXH3_freeState(writer->hash);
    g_free(writer->index);
    g_free(writer->path);
    g_free(writer);
}

static bool put_tree(TreeWriter *writer, const void *data, size_t bytes, GError **error)
{
    XXH3_64bits_update(writer->hash, data, bytes);
    writer->at += bytes;
    return io_write(writer->part, data, bytes, error);
}

TreeWriter *tree_writer_open(const char *prefix, const Grammars *grammars, GError **error)
{
    static const char start[16] = TREE_MAGIC "\1"; /* and the version as u64 */
    TreeWriter *writer = g_new0(TreeWriter, 1);
    g_autofree char *part = g_strconcat(prefix, ".tree.tmp", NULL), *folder = g_path_get_dirname(prefix);
    writer->path = g_strconcat(prefix, ".tree", NULL);
    writer->grammars = grammars;
    writer->index = g_new(int, grammars_count(grammars));
    memset(writer->index, 0xff, (size_t)grammars_count(grammars) * sizeof *writer->index);
    writer->used = g_array_new(false, false, sizeof(int));
    writer->record = g_byte_array_new();
    writer->hash = XXH3_createState();
    XXH3_64bits_reset(writer->hash);
    if ((writer->part = io_create(part, error)) && (writer->offsets = io_create_scratch(folder, error)) &&
        put_tree(writer, start, sizeof start, error))
        return writer;
    tree_writer_abort(writer);
    return NULL;
}

static void put_varint(GByteArray *record, uint64_t value)
{
    guint8 bytes[10];
    guint n = 0;
    for (; value >= 128; value >>= 7)
        bytes[n++] = (guint8)(value | 128);
    bytes[n++] = (guint8)value;
    g_byte_array_append(record, bytes, n);
}

static uint64_t language_index(TreeWriter *writer, int language)
{
    if (writer->index[language] < 0) {
        writer->index[language] = (int)writer->used->len;
        g_array_append_val(writer->used, language);
    }
    return (uint64_t)writer->index[language];
}

bool tree_writer_add(TreeWriter *writer, int language, const TreeNode *nodes, int64_t n, GError **error)
{
    int32_t begin = 0;
    g_byte_array_set_size(writer->record, 0);
    put_varint(writer->record, language < 0 ? 0 : 1 + language_index(writer, language));
    if (language >= 0)
        put_varint(writer->record, (uint64_t)n);
    for (int64_t i = 0; i < n; i++) {
        put_varint(writer->record, (uint64_t)(nodes[i].begin - begin));
        put_varint(writer->record, (uint64_t)(nodes[i].end - nodes[i].begin));
        put_varint(writer->record, nodes[i].type);
        begin = nodes[i].begin;
    }
    writer->n_documents++;
    return io_write(writer->offsets, &writer->at, sizeof writer->at, error) &&
           put_tree(writer, writer->record->data, writer->record->len, error);
}

/* {"languages": [{"name": "python", "version": "0.23.6", "types": ["end", "identifier", …]}]} */
static char *describe_languages(const TreeWriter *writer)
{
    json_t *languages = json_array();
    for (guint i = 0; i < writer->used->len; i++) {
        const Grammar *grammar = grammars_at(writer->grammars, g_array_index(writer->used, int, i));
        json_t *types = json_array();
        for (int type = 0; type < grammar_types(grammar); type++)
            json_array_append_new(types, json_string(grammar_type(grammar, type)));
        json_array_append_new(languages, json_pack("{s:s, s:s, s:o}", "name", grammar->name, "version",
                                                   grammar->version, "types", types));
    }
    json_t *root = json_pack("{s:o}", "languages", languages);
    char *text = json_dumps(root, JSON_COMPACT | JSON_PRESERVE_ORDER);
    json_decref(root);
    return text;
}

/* Appends the file of offsets. */
static bool put_offsets(TreeWriter *writer, uint64_t end, GError **error)
{
    GMappedFile *map = io_write(writer->offsets, &end, sizeof end, error) ? io_map(writer->offsets, error) : NULL;
    if (!map)
        return false;
    bool good = put_tree(writer, g_mapped_file_get_contents(map), g_mapped_file_get_length(map), error);
    g_mapped_file_unref(map);
    return good;
}

bool tree_writer_finish(TreeWriter *writer, int64_t *bytes, char hash[17], GError **error)
{
    TreeFooter footer = { .n_documents = writer->n_documents, .languages = writer->at };
    memcpy(footer.magic, TREE_MAGIC, sizeof footer.magic);
    char *text = describe_languages(writer);
    bool good = put_tree(writer, text, strlen(text), error);
    free(text);
    footer.offsets = writer->at;
    good = good && put_offsets(writer, footer.languages, error) && put_tree(writer, &footer, sizeof footer, error) &&
           io_publish(g_steal_pointer(&writer->part), writer->path, error);
    *bytes = (int64_t)writer->at;
    g_snprintf(hash, 17, "%016" G_GINT64_MODIFIER "x", (guint64)XXH3_64bits_digest(writer->hash));
    tree_writer_abort(writer);
    return good;
}
