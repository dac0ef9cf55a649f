/* table.h: tables of texts, aligned by the characters of their cells: the first column to the left, the others to the
 * right. */
#pragma once

#include <glib.h>

typedef struct Table {
    GPtrArray *cells; /* char *, row by row; owned */
    int n_cols;
} Table;

Table table_new(int n_cols);
void table_add(Table *table, char *text); /* takes the text; a row is full after n_cols of them */
/* Prints to standard output and frees the table. */
void table_print(Table *table);
/* The same as a table of Markdown, whose first row is the heading. */
void table_print_markdown(Table *table);
