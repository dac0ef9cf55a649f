/* sections.h: the parts of a report: its curves, and tables; and what they are written with: escaped text, headings and
 * tables. All text from a run's folder is escaped by these. The page is XML as well as HTML. */
#pragma once

#include "report/run.h"

/* The files page.css and page.js beside this one (cmake/floors.cmake). */
extern const char report_page_css[], report_page_js[];

void html_text(GString *page, const char *text);
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

/* A table with a column for each run, whose head names the runs. */
HtmlTable report_table(const char *first, const ReportRun *runs, int n);

/* section_…: appends the content of a part, for all runs side by side. */
void section_summary(GString *page, const ReportRun *runs, int n);
void section_events(GString *page, const ReportRun *runs, int n);
void section_scores(GString *page, const ReportRun *runs, int n);
void section_samples(GString *page, const ReportRun *runs, int n);
void section_plan(GString *page, const ReportRun *runs, int n);
void section_options(GString *page, const ReportRun *runs, int n);
void section_machine(GString *page, const ReportRun *runs, int n);

/* Appends a <figure> for each quantity that a run has, and to `data` the JSON that the page's script reads. The page
 * says which quantities no run has. */
void charts_write(GString *page, GString *data, const ReportRun *runs, int n, SeriesAxis axis);
/* The axis that AXIS_AUTO means: steps, or tokens if the runs read unequally many tokens per step. */
SeriesAxis charts_axis(const ReportRun *runs, int n);
