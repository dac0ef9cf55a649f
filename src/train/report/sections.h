/* sections.h: the parts of a report that are tables. Each function appends one <section>, for all runs side by side. */
#pragma once

#include "train/report/run.h"

void section_summary(GString *page, const ReportRun *runs, int n);
void section_events(GString *page, const ReportRun *runs, int n);
void section_scores(GString *page, const ReportRun *runs, int n);
