#include "base/table.h"

#include "base/text.h"

#include <stdio.h>

Table table_new(int n_cols)
{
    return (Table){ .cells = g_ptr_array_new_with_free_func(g_free), .n_cols = n_cols };
}

void table_add(Table *table, char *text)
{
    g_ptr_array_add(table->cells, text_printable(text));
    g_free(text);
}

/* Characters of the widest cell of each column; g_free. */
static glong *widths(const Table *table)
{
    glong *width = g_new0(glong, (gsize)table->n_cols);
    for (guint i = 0; i < table->cells->len; i++) {
        glong *column = &width[(int)i % table->n_cols];
        *column = MAX(*column, g_utf8_strlen(table->cells->pdata[i], -1));
    }
    return width;
}

/* Prints one row; before, between and after are printed around its cells. */
static void print_row(const Table *table, int row, const glong *width, const char *before, const char *between,
                      const char *after)
{
    for (int column = 0; column < table->n_cols; column++) {
        const char *text = table->cells->pdata[row * table->n_cols + column];
        int pad = (int)(width[column] - g_utf8_strlen(text, -1));
        fputs(column == 0 ? before : between, stdout);
        if (column == 0)
            printf("%s%*s", text, pad, "");
        else
            printf("%*s%s", pad, "", text);
    }
    puts(after);
}

void table_print(Table *table)
{
    g_autofree glong *width = widths(table);
    for (int row = 0; row < (int)table->cells->len / table->n_cols; row++)
        print_row(table, row, width, "", "  ", "");
    g_ptr_array_unref(table->cells);
}

void table_print_markdown(Table *table)
{
    g_autofree glong *width = widths(table);
    for (int row = 0; row < (int)table->cells->len / table->n_cols; row++) {
        print_row(table, row, width, "| ", " | ", " |");
        for (int column = 0; row == 0 && column < table->n_cols; column++)
            printf("%s", column == 0 ? "|---|" : "--:|");
        if (row == 0)
            putchar('\n');
    }
    g_ptr_array_unref(table->cells);
}
