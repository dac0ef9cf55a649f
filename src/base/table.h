/* table.h: prints tables of texts with aligned columns, the first one to the left, the others to the right. Widths
 * count characters, not bytes. */
#pragma once

#include <glib.h>

typedef struct Table {
    GPtrArray *cells; /* char *, row by row; owned */
    int n_cols;
} Table;

Table table_new(int n_cols);
void table_add(Table *table, char *text); /* appends a cell and takes ownership of the text; n_cols cells form a row */
/* Prints to standard output and frees the table. */
void table_print(Table *table);
/* Prints a Markdown table whose first row is the heading, and frees the table. */
void table_print_markdown(Table *table);
