#include "format/parquet/column.h"

#include <string.h>

enum { LEVELS_RLE = 3, LEVELS_BIT_PACKED = 4 };

struct Column {
    const Metadata *file;
    guint leaf;
    const Node *node;
    PageQueue *pages;
    Page *page; /* NULL means none */
    guint group;
    bool at_end;    /* of the file */
    int32_t left;   /* entries of the page that have not been taken; the next one, too */
    bool has_entry; /* `entry` is the next one */
    Entry entry;
    Runs repetitions, definitions;
    Values values;
    Dictionary *dictionary;
    guint dictionary_group; /* the row group that it belongs to */
    GString *text;          /* Values.text */
};

Column *column_open(const Metadata *file, PagePool *pool, guint leaf)
{
    Column *column = g_new0(Column, 1);
    *column = (Column){ .file = file,
                        .leaf = leaf,
                        .node = metadata_leaf(file, leaf),
                        .pages = page_queue_open(pool, leaf),
                        .text = g_string_new(NULL) };
    return column;
}

void column_close(Column *column)
{
    if (!column)
        return;
    page_queue_close(column->pages);
    page_free(column->page);
    dictionary_free(column->dictionary);
    g_string_free(column->text, true);
    g_free(column);
}

static bool name_column(const Column *column, GError **error)
{
    g_autofree char *name = metadata_leaf_name(column->file, column->leaf);
    return fail_context(error, "%s: column \"%s\", row group %u", column->file->path, name, column->group + 1);
}

bool column_fail(const Column *column, GError **error, const char *what)
{
    fail_user(error, "a page is damaged: %s", what);
    return name_column(column, error);
}

/* ---- pages ---- */

static int bits_of(uint32_t most)
{
    return most > 0 ? (int)g_bit_storage(most) : 0;
}

/* Takes the levels of a page of version 1 from its bytes: their length comes first unless they are BIT_PACKED. */
static bool take_levels(const Page *page, int encoding, uint32_t most, const char **at, const char *end, Runs *levels,
                        GError **error)
{
    const size_t left = (size_t)(end - *at), packed = ((size_t)page->values * (size_t)bits_of(most) + 7) / 8;
    uint32_t n = (uint32_t)MIN(packed, UINT32_MAX);
    *levels = (Runs){ 0 };
    if (most == 0)
        return true;
    if (encoding != LEVELS_RLE && encoding != LEVELS_BIT_PACKED)
        return fail_user(error, "levels in encoding %d, which loam does not read", encoding);
    const size_t own = encoding == LEVELS_RLE ? sizeof n : 0;
    if (own > 0 && left >= own)
        memcpy(&n, *at, sizeof n);
    if (left < own || n > left - own)
        return fail_user(error, "a page is damaged: its levels are cut off");
    *levels = own > 0 ? runs_new(*at + own, n, bits_of(most)) : runs_new_packed(*at, n, bits_of(most));
    *at += own + n;
    return true;
}

/* Opens the levels of a page; *at becomes where its values begin. */
static bool open_levels(Column *column, const Page *page, const char **at, GError **error)
{
    const char *end = page->data + page->bytes;
    const uint32_t repetition = column->node->repetition_level, definition = column->node->definition_level;
    *at = page->data;
    if (page->kind == PAGE_DATA)
        return take_levels(page, page->repetition_encoding, repetition, at, end, &column->repetitions, error) &&
               take_levels(page, page->definition_encoding, definition, at, end, &column->definitions, error);
    column->repetitions = runs_new(*at, (size_t)page->repetition_bytes, bits_of(repetition));
    *at += page->repetition_bytes;
    column->definitions = runs_new(*at, (size_t)page->definition_bytes, bits_of(definition));
    *at += page->definition_bytes;
    return true;
}

static bool open_dictionary_page(Column *column, Page *page, GError **error)
{
    dictionary_free(column->dictionary);
    column->dictionary =
        dictionary_new(&column->node->type, g_steal_pointer(&page->data), (size_t)page->bytes, (uint32_t)page->values);
    column->dictionary_group = page->group;
    return column->dictionary ||
           fail_user(error, "a page is damaged: its dictionary is cut off, or has more than 16 million values");
}

static bool open_page(Column *column, Page *page, GError **error)
{
    const char *at;
    if (page->kind == PAGE_DICTIONARY)
        return open_dictionary_page(column, page, error);
    const Dictionary *dictionary = column->dictionary_group == page->group ? column->dictionary : NULL;
    column->left = page->values;
    return open_levels(column, page, &at, error) &&
           values_open(&column->values, &column->node->type, page->encoding, dictionary, at,
                       (size_t)(page->data + page->bytes - at), page->values, column->text, error);
}

/* Goes to the next page that has entries, or to the end of the file. */
static bool next_page(Column *column, GError **error)
{
    GError *problem = NULL;
    while (column->left == 0 && !column->at_end && !problem) {
        g_clear_pointer(&column->page, page_free);
        column->page = page_queue_next(column->pages, &column->group, &problem);
        column->at_end = !column->page;
        if (column->page)
            open_page(column, column->page, &problem);
    }
    return !problem || (fail_with(error, problem), name_column(column, error));
}

/* ---- entries ---- */

bool column_peek(Column *column, guint group, Entry *entry, bool *found, GError **error)
{
    const Node *node = column->node;
    if (!next_page(column, error))
        return false;
    *found = column->left > 0 && column->group == group;
    if (!*found)
        return true;
    Entry *next = &column->entry;
    if (!column->has_entry)
        if (!runs_next(&column->repetitions, &next->repetition) ||
            !runs_next(&column->definitions, &next->definition) || next->repetition > node->repetition_level ||
            next->definition > node->definition_level)
            return column_fail(column, error, "its levels are cut off, or too high");
    column->has_entry = true;
    *entry = *next;
    return true;
}

bool column_take(Column *column, Value *value, GError **error)
{
    column->has_entry = false;
    column->left--;
    if (column->entry.definition < column->node->definition_level || values_next(&column->values, value))
        return true;
    return column_fail(column, error, "its values are cut off, or an index or a length is out of range");
}
