/* tree_file.c: writes and reads PREFIX.tree, a document at a time; trees in the side files of AST-T5 are those of
 * ndtypes.h. Records are read (pread), not mapped, so that a file that is cut or a disk that fails is an error. */
#include "base/file.h"
#include "data/trees/ndtypes.h"

#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <xxhash.h>

#define TREE_MAGIC          "LOAMTREE"
#define TREE_VERSION        1
#define MAX_LANGUAGES_BYTES ((size_t)64 << 20) /* largest size of the JSON text; for nine languages it has 40 kB */
#define CHUNK_BYTES         ((size_t)1 << 16)

/* The last bytes of the file. */
typedef struct TreeFooter {
    uint64_t n_documents;
    uint64_t languages; /* byte at which the JSON text starts; it ends at `offsets` */
    uint64_t offsets;   /* byte at which the n_documents + 1 offsets start */
    char magic[8];      /* TREE_MAGIC without a NUL */
} TreeFooter;

/* ---- writing ---- */

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

void tree_writer_close(TreeWriter *writer)
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
    writer->index = g_new(int, grammars->len);
    memset(writer->index, 0xff, grammars->len * sizeof *writer->index);
    writer->used = g_array_new(false, false, sizeof(int));
    writer->record = g_byte_array_new();
    writer->hash = XXH3_createState();
    XXH3_64bits_reset(writer->hash);
    if (!(writer->part = io_create(part, error)) || !(writer->offsets = io_create_scratch(folder, error)) ||
        !put_tree(writer, start, sizeof start, error))
        g_clear_pointer(&writer, tree_writer_close);
    return writer;
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
        const Grammar *grammar = writer->grammars->pdata[g_array_index(writer->used, int, i)];
        json_t *types = json_array();
        for (int type = 0; type < grammar->n_types; type++)
            json_array_append_new(types, json_string(grammar_type(grammar, type)));
        json_array_append_new(languages, json_pack("{s:s, s:s, s:o}", "name", grammar->name, "version",
                                                   grammar->version, "types", types));
    }
    json_auto_t *root = json_pack("{s:o}", "languages", languages);
    return json_dumps(root, JSON_COMPACT | JSON_PRESERVE_ORDER);
}

/* Appends the file of offsets. */
static bool put_offsets(TreeWriter *writer, uint64_t end, GError **error)
{
    g_autoptr(GMappedFile) map =
        io_write(writer->offsets, &end, sizeof end, error) ? io_map(writer->offsets, error) : NULL;
    return map && put_tree(writer, g_mapped_file_get_contents(map), g_mapped_file_get_length(map), error);
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
    return good;
}

/* ---- reading ---- */

typedef struct Language {
    char *name;
    GPtrArray *types; /* char * */
} Language;

struct Trees {
    char *path;
    int file;
    uint64_t bytes;
    TreeFooter footer;
    GPtrArray *languages; /* Language * */
    Ndtypes *ndtypes; /* the trees are in AST-T5's side files; the other fields are not used. NULL means PREFIX.tree */
};

static void language_free(void *opaque)
{
    Language *language = opaque;
    g_ptr_array_unref(language->types);
    g_free(language->name);
    g_free(language);
}

void trees_close(Trees *trees)
{
    if (!trees)
        return;
    if (trees->file >= 0)
        close(trees->file);
    ndtypes_close(trees->ndtypes);
    g_ptr_array_unref(trees->languages);
    g_free(trees->path);
    g_free(trees);
}

static bool read_at(const Trees *trees, uint64_t at, void *out, size_t bytes, GError **error)
{
    for (size_t done = 0; done < bytes;) {
        ssize_t n = pread(trees->file, (char *)out + done, bytes - done, (off_t)(at + done));
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return fail_errno(error, "cannot read", trees->path);
        if (n == 0)
            return fail_machine(error, "%s: it has become shorter since it was opened", trees->path);
        done += (size_t)n;
    }
    return true;
}

static bool fail_damaged(const Trees *trees, const char *what, GError **error)
{
    return fail_user(error, "%s: %s: damaged, or not a file of trees; loam prepare --ast makes it again", trees->path,
                     what);
}

/* ---- opening ---- */

static bool add_language(Trees *trees, const json_t *description)
{
    const char *name = json_string_value(json_object_get(description, "name"));
    const json_t *types = json_object_get(description, "types"), *type;
    size_t i;
    if (!name || !json_is_array(types) || json_array_size(types) > UINT16_MAX)
        return false;
    Language *language = g_new0(Language, 1);
    language->name = g_strdup(name);
    language->types = g_ptr_array_new_with_free_func(g_free);
    g_ptr_array_add(trees->languages, language);
    json_array_foreach(types, i, type)
    {
        if (!json_is_string(type))
            return false;
        g_ptr_array_add(language->types, g_strdup(json_string_value(type)));
    }
    return true;
}

static bool read_languages(Trees *trees, GError **error)
{
    size_t bytes = (size_t)(trees->footer.offsets - trees->footer.languages), i;
    json_t *description;
    if (bytes > MAX_LANGUAGES_BYTES)
        return fail_damaged(trees, "its list of languages is too long", error);
    g_autofree char *text = g_malloc(bytes + 1);
    if (!read_at(trees, trees->footer.languages, text, bytes, error))
        return false;
    json_auto_t *root = json_loadb(text, bytes, JSON_REJECT_DUPLICATES, NULL);
    const json_t *list = json_object_get(root, "languages");
    bool good = json_is_array(list);
    json_array_foreach(list, i, description) good = good && add_language(trees, description);
    return good || fail_damaged(trees, "its list of languages cannot be read", error);
}

static bool read_frame(Trees *trees, GError **error)
{
    char start[16];
    TreeFooter *footer = &trees->footer;
    uint64_t version, last;
    if (trees->bytes < sizeof start + sizeof *footer)
        return fail_damaged(trees, "it is too short", error);
    if (!read_at(trees, 0, start, sizeof start, error) ||
        !read_at(trees, trees->bytes - sizeof *footer, footer, sizeof *footer, error))
        return false;
    memcpy(&version, start + 8, sizeof version);
    if (memcmp(start, TREE_MAGIC, 8) != 0 || memcmp(footer->magic, TREE_MAGIC, 8) != 0)
        return fail_damaged(trees, "it does not start and end with " TREE_MAGIC, error);
    if (version != TREE_VERSION)
        return fail_user(error, "%s: version %" PRIu64 ", this program reads version %d", trees->path, version,
                         TREE_VERSION);
    uint64_t room = trees->bytes - sizeof *footer;
    if (footer->languages < sizeof start || footer->offsets < footer->languages || footer->offsets > room ||
        footer->n_documents >= room / 8 || (footer->n_documents + 1) * 8 != room - footer->offsets)
        return fail_damaged(trees, "its parts do not fit into it", error);
    if (!read_at(trees, room - 8, &last, sizeof last, error))
        return false;
    return last == footer->languages || fail_damaged(trees, "its last record does not end before its index", error);
}

Trees *trees_open(const char *prefix, GError **error)
{
    Trees *trees = g_new0(Trees, 1);
    size_t bytes = 0;
    trees->path = g_strconcat(prefix, ".tree", NULL);
    trees->languages = g_ptr_array_new_with_free_func(language_free);
    trees->file = io_open_regular(trees->path, &bytes, error);
    trees->bytes = bytes;
    if (trees->file < 0 || !read_frame(trees, error) || !read_languages(trees, error))
        g_clear_pointer(&trees, trees_close);
    return trees;
}

Trees *trees_open_ndtypes(const char *prefix, GError **error)
{
    Ndtypes *ndtypes = ndtypes_open(prefix, error);
    if (!ndtypes)
        return NULL;
    Trees *trees = g_new0(Trees, 1);
    trees->file = -1;
    trees->languages = g_ptr_array_new();
    trees->ndtypes = ndtypes;
    return trees;
}

int64_t trees_documents(const Trees *trees)
{
    if (trees->ndtypes)
        return ndtypes_documents(trees->ndtypes);
    return (int64_t)trees->footer.n_documents;
}

int64_t trees_bytes(const Trees *trees)
{
    if (trees->ndtypes)
        return ndtypes_bytes(trees->ndtypes);
    return (int64_t)trees->bytes;
}

const char *trees_language(const Trees *trees, int language)
{
    if (trees->ndtypes)
        return ndtypes_language(trees->ndtypes, language);
    return ((const Language *)trees->languages->pdata[language])->name;
}

const char *trees_type(const Trees *trees, int language, int type)
{
    if (trees->ndtypes)
        return ndtypes_type(trees->ndtypes, type);
    return ((const Language *)trees->languages->pdata[language])->types->pdata[type];
}

/* ---- a document ---- */

static bool take_tree_varint(const guint8 **at, const guint8 *end, uint64_t *value)
{
    *value = 0;
    for (int shift = 0; *at < end && shift < 63; shift += 7) {
        guint8 byte = *(*at)++;
        *value |= (uint64_t)(byte & 127) << shift;
        if (byte < 128)
            return true;
    }
    return false;
}

/* Reads the nodes; false if one is outside the tokens, overlaps another or has an unknown type. */
static bool take_nodes(const guint8 *at, const guint8 *end, uint64_t n, int64_t n_tokens, const Language *language,
                       GArray *nodes)
{
    g_autoptr(GArray) open = g_array_new(false, false, sizeof(int32_t)); /* ends of the nodes around */
    uint64_t begin = 0;
    for (uint64_t i = 0; i < n; i++) {
        uint64_t step, length, type;
        if (!take_tree_varint(&at, end, &step) || !take_tree_varint(&at, end, &length) ||
            !take_tree_varint(&at, end, &type))
            return false;
        uint64_t left = (uint64_t)n_tokens - begin;
        if (step > left || length == 0 || length > left - step || type >= language->types->len)
            return false;
        begin += step;
        const bool is_name = strcmp(language->types->pdata[type], "identifier") == 0;
        const TreeNode node = { (int32_t)begin, (int32_t)(begin + length), (uint16_t)type, is_name };
        while (open->len > 0 && g_array_index(open, int32_t, open->len - 1) <= node.begin)
            g_array_set_size(open, open->len - 1);
        if (open->len > 0 && g_array_index(open, int32_t, open->len - 1) < node.end)
            return false;
        g_array_append_val(open, node.end);
        g_array_append_val(nodes, node);
    }
    return at == end;
}

bool trees_read(const Trees *trees, int64_t document, int64_t n_tokens, int *language, GArray *nodes, GError **error)
{
    uint64_t range[2], index = 0, n = 0;
    if (trees->ndtypes)
        return ndtypes_read(trees->ndtypes, document, n_tokens, language, nodes, error);
    if (document < 0 || document >= trees_documents(trees) || n_tokens > INT32_MAX)
        return fail_damaged(trees, "a document is missing", error);
    if (!read_at(trees, trees->footer.offsets + 8 * (uint64_t)document, range, sizeof range, error))
        return false;
    if (range[0] < 16 || range[1] <= range[0] || range[1] > trees->footer.languages)
        return fail_damaged(trees, "an offset is out of range", error);
    size_t bytes = (size_t)(range[1] - range[0]);
    g_autofree guint8 *record = g_malloc(bytes);
    const guint8 *at = record, *end = record + bytes;
    if (!read_at(trees, range[0], record, bytes, error))
        return false;
    *language = -1;
    if (!take_tree_varint(&at, end, &index) || (index > 0 && !take_tree_varint(&at, end, &n)) ||
        index > trees->languages->len || n > bytes / 3)
        return fail_damaged(trees, "a record cannot be read", error);
    if (index == 0)
        return at == end || fail_damaged(trees, "a record cannot be read", error);
    *language = (int)index - 1;
    return take_nodes(at, end, n, n_tokens, trees->languages->pdata[index - 1], nodes) ||
           fail_damaged(trees, "a node is out of range", error);
}

bool trees_hash(const Trees *trees, char hash[17], GError **error)
{
    XXH3_state_t *state = XXH3_createState();
    g_autofree char *chunk = g_malloc(CHUNK_BYTES);
    bool good = true;
    XXH3_64bits_reset(state);
    for (uint64_t at = 0; good && at < trees->bytes; at += CHUNK_BYTES) {
        size_t n = (size_t)MIN(CHUNK_BYTES, trees->bytes - at);
        good = read_at(trees, at, chunk, n, error);
        if (good)
            XXH3_64bits_update(state, chunk, n);
    }
    g_snprintf(hash, 17, "%016" G_GINT64_MODIFIER "x", (guint64)XXH3_64bits_digest(state));
    XXH3_freeState(state);
    return good;
}
