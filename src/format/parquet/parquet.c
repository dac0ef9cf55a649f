#include "format/parquet/parquet.h"

#include "format/parquet/column.h"
#include "format/parquet/json.h"

/* A few bytes of a file may stand for any number of values: the memory that a row may take, and that of each value. */
#define MOST_ROW_BYTES ((size_t)2 << 30)
#define VALUE_BYTES    1024

struct Parquet {
    Metadata *metadata;
    PagePool *pool;
    Column **columns; /* by leaf; NULL means that the leaf is not wanted */
    GArray *wanted;   /* of guint: nodes of the wanted columns */
    ParquetTexts texts;
    int64_t row, rows;  /* of the file */
    guint group;        /* row group of the next row */
    int64_t group_rows; /* rows of it that have been read */
    size_t row_bytes;   /* memory of the row that is being read */
    GError *bad;        /* what is wrong with the row that is being read, whose pages are valid; NULL means nothing */
};

Parquet *parquet_open(const char *path, const ParquetTexts *texts, GError **error)
{
    Metadata *metadata = metadata_open(path, error);
    if (!metadata)
        return NULL;
    Parquet *file = g_new0(Parquet, 1);
    *file = (Parquet){ .metadata = metadata,
                       .pool = page_pool_new(metadata),
                       .columns = g_new0(Column *, metadata->leaves->len + 1),
                       .wanted = g_array_new(false, false, sizeof(guint)),
                       .texts = *texts };
    for (guint i = 0; i < metadata->groups->len; i++)
        file->rows += g_array_index(metadata->groups, RowGroup, i).rows;
    return file;
}

void parquet_close(Parquet *file)
{
    if (!file)
        return;
    page_pool_close(file->pool);
    for (guint i = 0; i < file->metadata->leaves->len; i++)
        column_close(file->columns[i]);
    g_free(file->columns);
    g_array_unref(file->wanted);
    g_clear_error(&file->bad);
    metadata_close(file->metadata);
    g_free(file);
}

/* The node of a column, counted from 0: a child of the root. */
static guint node_of_column(const Parquet *file, guint column)
{
    guint node = 1;
    while (column-- > 0)
        node = metadata_node(file->metadata, node)->next;
    return node;
}

GStrv parquet_columns(const Parquet *file)
{
    g_autoptr(GStrvBuilder) names = g_strv_builder_new();
    for (guint i = 1; i < file->metadata->nodes->len; i = metadata_node(file->metadata, i)->next)
        g_strv_builder_add(names, metadata_node(file->metadata, i)->name);
    return g_strv_builder_end(names);
}

void parquet_want(Parquet *file, guint column)
{
    const guint index = node_of_column(file, column);
    const Node *node = metadata_node(file->metadata, index);
    if (node->first_leaf < node->end_leaf && file->columns[node->first_leaf])
        return;
    g_array_append_val(file->wanted, index);
    for (guint leaf = node->first_leaf; leaf < node->end_leaf; leaf++)
        file->columns[leaf] = column_open(file->metadata, file->pool, leaf);
}

int64_t parquet_rows(const Parquet *file)
{
    return file->rows;
}

int64_t parquet_row(const Parquet *file)
{
    return file->row;
}

/* ---- the value of a node: "record assembly" of Melnik et al., Dremel (2010) ---- */

/* Peeks at the next entry of a leaf, which must be there. */
static bool peek(Parquet *file, guint leaf, Entry *entry, GError **error)
{
    bool found;
    Column *column = file->columns[leaf];
    if (!column_peek(column, file->group, entry, &found, error))
        return false;
    return found || column_fail(column, error, "the row group has fewer rows than it should have");
}

/* Takes the next entry of a leaf, which must be there; the value is 0 if the entry is null. */
static bool take(Parquet *file, guint leaf, Entry *entry, Value *value, GError **error)
{
    *value = (Value){ 0 };
    if (!peek(file, leaf, entry, error) || !column_take(file->columns[leaf], value, error))
        return false;
    file->row_bytes += VALUE_BYTES + value->bytes;
    return file->row_bytes <= MOST_ROW_BYTES ||
           column_fail(file->columns[leaf], error, "a row has more than two million values, or 2 GiB of text");
}

static json_t *read_leaf(Parquet *file, const Node *node, GError **error)
{
    Value value;
    Entry entry;
    g_autoptr(GError) problem = NULL;
    Column *column = file->columns[node->first_leaf];
    if (!take(file, node->first_leaf, &entry, &value, error))
        return NULL;
    if (entry.definition < node->definition_level) {
        column_fail(column, error, "its levels contradict those of another column");
        return NULL;
    }
    json_t *json = json_of_value(&node->type, &value, &file->texts, &problem);
    if (!json && !file->bad)
        file->bad = g_error_new(LOAM_ERROR, LOAM_ERROR_USER, "column \"%s\": %s", node->name, problem->message);
    return json ? json : json_null();
}

/* Takes one entry of each leaf below a node, which is null there, or an empty list. */
static bool pass_over(Parquet *file, const Node *node, GError **error)
{
    Value value;
    Entry entry;
    for (guint leaf = node->first_leaf; leaf < node->end_leaf; leaf++) {
        if (!take(file, leaf, &entry, &value, error))
            return false;
        if (entry.definition >= node->definition_level)
            return column_fail(file->columns[leaf], error, "its levels contradict those of another column");
    }
    return true;
}

static json_t *read_node(Parquet *file, guint index, GError **error);

static json_t *read_struct(Parquet *file, guint index, GError **error)
{
    const Node *node = metadata_node(file->metadata, index);
    json_t *object = json_object();
    for (guint i = index + 1; object && i < node->next; i = metadata_node(file->metadata, i)->next) {
        json_t *value = read_node(file, i, error);
        if (!value)
            g_clear_pointer(&object, json_decref);
        else
            json_object_set_new_nocheck(object, metadata_node(file->metadata, i)->name, value);
    }
    return object;
}

/* An object of the pairs of a map, whose keys are written as texts. */
static json_t *read_map(Parquet *file, guint index, GError **error)
{
    const char *const names[] = { metadata_node(file->metadata, index + 2)->name,
                                  metadata_node(file->metadata, metadata_node(file->metadata, index + 2)->next)->name };
    json_auto_t *pairs = read_node(file, index + 1, error);
    json_t *object = pairs ? json_object() : NULL, *pair;
    size_t i;
    json_array_foreach(pairs, i, pair)
    {
        const json_t *key = json_object_get(pair, names[0]);
        char *text = json_is_string(key) ? NULL : json_dumps(key, JSON_ENCODE_ANY | JSON_REAL_PRECISION(17));
        json_object_set_nocheck(object, text ? text : json_string_value(key), json_object_get(pair, names[1]));
        free(text);
    }
    return object;
}

/* The value of a node that is not null. */
static json_t *read_one(Parquet *file, guint index, GError **error)
{
    const Node *node = metadata_node(file->metadata, index);
    switch (node->shape) {
    case SHAPE_LEAF:
        return read_leaf(file, node, error);
    case SHAPE_CHILD:
        return read_node(file, index + 1, error);
    case SHAPE_MAP:
        return read_map(file, index, error);
    default:
        return read_struct(file, index, error);
    }
}

/* Whether a repeated node has another value: all its leaves have an entry of its level. */
static bool repeats(Parquet *file, const Node *node, bool *again, GError **error)
{
    for (guint leaf = node->first_leaf; leaf < node->end_leaf; leaf++) {
        Entry entry;
        bool found;
        if (!column_peek(file->columns[leaf], file->group, &entry, &found, error))
            return false;
        const bool own = found && entry.repetition >= node->repetition_level;
        if (own && entry.repetition > node->repetition_level)
            return column_fail(file->columns[leaf], error, "its levels do not add up");
        if (leaf > node->first_leaf && own != *again)
            return column_fail(file->columns[leaf], error, "its levels contradict those of another column");
        *again = own;
    }
    return true;
}

static json_t *read_list(Parquet *file, guint index, GError **error)
{
    const Node *node = metadata_node(file->metadata, index);
    json_t *list = json_array();
    for (bool again = true; again;) {
        json_t *value = read_one(file, index, error);
        if (value)
            json_array_append_new(list, value);
        if (!value || !repeats(file, node, &again, error)) {
            json_decref(list);
            return NULL;
        }
    }
    return list;
}

/* The value of a node in the next entries of its leaves. */
static json_t *read_node(Parquet *file, guint index, GError **error)
{
    const Node *node = metadata_node(file->metadata, index);
    Entry entry = { 0 };
    if (node->first_leaf < node->end_leaf && !peek(file, node->first_leaf, &entry, error))
        return NULL;
    if (entry.definition < node->definition_level && node->repetition != REQUIRED) {
        if (!pass_over(file, node, error))
            return NULL;
        return node->repetition == REPEATED ? json_array() : json_null();
    }
    return node->repetition == REPEATED ? read_list(file, index, error) : read_one(file, index, error);
}

/* ---- rows ---- */

/* Whether each leaf of a column is at the begin of a row, or, with `end`, at the end of the row group. */
static bool check_begin(Parquet *file, const Node *node, bool end, GError **error)
{
    for (guint leaf = node->first_leaf; leaf < node->end_leaf; leaf++) {
        Entry entry;
        bool found;
        if (!column_peek(file->columns[leaf], file->group, &entry, &found, error))
            return false;
        if (found && (end || entry.repetition != 0))
            return column_fail(file->columns[leaf], error,
                               end ? "the row group has more rows than it should have" : "its levels do not add up");
    }
    return true;
}

static bool check_columns(Parquet *file, bool end, GError **error)
{
    for (guint i = 0; i < file->wanted->len; i++)
        if (!check_begin(file, metadata_node(file->metadata, g_array_index(file->wanted, guint, i)), end, error))
            return false;
    return true;
}

/* Goes to the row group of the next row; *more becomes false at the end of the file. */
static bool enter_group(Parquet *file, bool *more, GError **error)
{
    const GArray *groups = file->metadata->groups;
    for (*more = true; file->group < groups->len; file->group++, file->group_rows = 0) {
        if (file->group_rows < g_array_index(groups, RowGroup, file->group).rows)
            return true;
        if (!check_columns(file, true, error))
            return false;
    }
    *more = false;
    return true;
}

bool parquet_next(Parquet *file, json_t *row, bool *goes_on, GError **error)
{
    bool more;
    *goes_on = false;
    file->row_bytes = 0;
    if (!enter_group(file, &more, error) || !more || !check_columns(file, false, error))
        return false;
    for (guint i = 0; i < file->wanted->len; i++) {
        const guint index = g_array_index(file->wanted, guint, i);
        json_t *value = read_node(file, index, error);
        if (!value)
            return false;
        json_object_set_new_nocheck(row, metadata_node(file->metadata, index)->name, value);
    }
    file->row++;
    file->group_rows++;
    *goes_on = true;
    return !file->bad || fail_with(error, g_steal_pointer(&file->bad));
}
