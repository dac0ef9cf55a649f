/* table.h: prints tables of aligned columns, the first to the left, others to the right; widths count characters. */
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
