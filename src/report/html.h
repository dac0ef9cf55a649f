/* html.h: appends escaped text, headings, tables and JSON to the page of a report. All text from a run's folder is
 * escaped here. The page is XML as well as HTML. */
#pragma once

#include <glib.h>

/* The files page.css and page.js beside this one (cmake/floors.cmake). */
extern const char report_page_css[], report_page_js[];

void html_text(GString *page, const char *text);
/* Appends a printf text, escaped. */
void html_printf(GString *page, const char *format, ...) G_GNUC_PRINTF(2, 3);
void html_heading(GString *page, const char *text); /* <h3> */

/* A table: cells (char *, g_free), row by row, `columns` per row; the first row is the head. */
typedef struct HtmlTable {
    GPtrArray *cells;
    guint columns;
} HtmlTable;
HtmlTable html_table_new(guint columns);
void html_table_add(HtmlTable *table, char *cell); /* takes ownership of the cell; NULL is an empty one */
/* Appends the table with this CSS class and frees it; page NULL means only to free it. */
void html_table_end(HtmlTable *table, GString *page, const char *class);
/* Appends the table as a list of the first column's names with the second one's values, without the head; frees it. */
void html_tiles_end(HtmlTable *table, GString *page);
