#include "base/options/table.h"

#include "base/check.h"

#include <string.h>

GPtrArray *option_rows(const OptionTable *table)
{
    GPtrArray *rows = g_ptr_array_new();
    for (int g = 0; g < table->n_groups; g++)
        for (int r = 0; r < table->groups[g].n_rows; r++)
            g_ptr_array_add(rows, (gpointer)&table->groups[g].rows[r]);
    return rows;
}

const OptionRow *option_row_at(const GPtrArray *rows, guint i)
{
    return g_ptr_array_index(rows, i);
}

void *option_field(const OptionTable *table, const void *config, const OptionRow *row)
{
    for (int g = 0; g < table->n_groups; g++) {
        const OptionGroup *group = &table->groups[g];
        if (row >= group->rows && row < group->rows + group->n_rows)
            return (char *)(uintptr_t)config + group->offset + row->offset;
    }
    CHECK(false, "option %s is not of this table", row->name);
}

const char *option_key(const char *name)
{
    const char *dot = strchr(name, '.');
    return dot ? dot + 1 : name;
}

size_t option_group_length(const char *name)
{
    return strcspn(name, ".");
}

bool option_same_group(const char *a, const char *b)
{
    return option_group_length(a) == option_group_length(b) && strncmp(a, b, option_group_length(a)) == 0;
}

bool option_opens_group(const GPtrArray *rows, guint i)
{
    for (guint before = 0; before < i; before++)
        if (option_same_group(option_row_at(rows, before)->name, option_row_at(rows, i)->name))
            return false;
    return true;
}

void options_by_group(const OptionTable *table, void (*visit)(const OptionRow *row, bool opens, gpointer data),
                      gpointer data)
{
    g_autoptr(GPtrArray) rows = option_rows(table);
    for (guint first = 0; first < rows->len; first++)
        for (guint i = first; i < rows->len && option_opens_group(rows, first); i++)
            if (option_same_group(option_row_at(rows, i)->name, option_row_at(rows, first)->name))
                visit(option_row_at(rows, i), i == first, data);
}
