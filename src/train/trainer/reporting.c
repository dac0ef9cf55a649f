/* reporting.c: train.report: a page about the run, written while it trains. */
#include "base/clock.h"
#include "base/log.h"
#include "train/report/report.h"
#include "train/trainer/state.h"

#define REPORT_SHARE 0.01 /* of the time, for writing reports */

void trainer_write_report(Trainer *t, bool end)
{
    g_autoptr(GError) problem = NULL;
    const double start = clock_seconds();
    char *dir = t->config.run.dir;
    if (!t->reports || (!end && start < t->report_after))
        return;
    g_autofree char *path = g_build_filename(dir, "report.html", NULL);
    if (!report_write(path, &dir, 1, AXIS_AUTO, &problem) && !t->report_failed)
        log_warning("the report is not written, and training goes on: %s", problem->message);
    t->report_failed = problem != NULL;
    const double took = clock_seconds() - start;
    t->report_after = start + took / REPORT_SHARE;
    t->window_started += took; /* the reported training speed excludes reports */
    t->started += took;
}
