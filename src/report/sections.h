/* sections.h: the parts of a report that are tables. Each function appends one <section>, for all runs side by side. */
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
