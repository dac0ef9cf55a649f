/* sections.h: the parts of a report: curves and tables. section_… appends one <section> for all runs side by side. */
#pragma once

#include "report/html.h"
#include "report/run.h"

/* A table with a column for each run, whose head names the runs. */
HtmlTable report_table(const char *first, const ReportRun *runs, int n);

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
