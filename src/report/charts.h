/* charts.h: the curves of a report: one picture for each quantity, with a line for each run. */
#pragma once

#include "report/report.h"
#include "report/run.h"

/* Appends a <figure> for each quantity that a run has, and to `data` the JSON that the page's script reads. The page
 * says which quantities no run has. */
void charts_write(GString *page, GString *data, const ReportRun *runs, int n, SeriesAxis axis);
/* The axis that AXIS_AUTO means: steps, or tokens if the runs read unequally many tokens per step. */
SeriesAxis charts_axis(const ReportRun *runs, int n);
