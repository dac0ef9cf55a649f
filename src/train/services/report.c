/* report.c: train.report: a page about the run, written after its evaluations and saves, and at its end. */
#include "report/report.h"

#include "train/services/service.h"

#define REPORT_SHARE 0.01 /* of the time, for writing reports */

typedef struct Report {
    bool wanted;  /* something that a report tells of was recorded since the last one */
    bool failed;  /* the last attempt failed */
    double after; /* clock_seconds() from which on the next report may be written */
} Report;

static void *report_service_open(const Trainer *t, G_GNUC_UNUSED GError **error)
{
    return comm_rank(t->mesh.world) == 0 && t->config.train.report && !trainer_had_ended(t) ? g_new0(Report, 1) : NULL;
}

static void report_service_told(void *own, const LogRecord *record)
{
    Report *report = own;
    report->wanted |= record->kind == METRIC_VALID || record->kind == METRIC_SAVE;
}

/* A failure is a warning. */
static void write_report(Report *report, const Trainer *t)
{
    g_autoptr(GError) problem = NULL;
    const double start = clock_seconds();
    char *dir = t->config.run.dir;
    g_autofree char *path = g_build_filename(dir, "report.html", NULL);
    if (!report_write(path, &dir, 1, AXIS_AUTO, &problem) && !report->failed)
        log_warning("the report is not written, and training goes on: %s", problem->message);
    report->failed = problem != NULL;
    report->wanted = false;
    report->after = start + (clock_seconds() - start) / REPORT_SHARE;
}

static void report_service_before_step(void *own, const Trainer *t)
{
    Report *report = own;
    if (report->wanted && clock_seconds() >= report->after)
        write_report(report, t);
}

/* The last report says how the run ended. It goes into no folder that took the place of the run's. */
static void report_service_close(void *own, const Trainer *t, G_GNUC_UNUSED const GError *problem)
{
    if (run_check_here(t->config.run.dir, &t->hold->folder, &t->hold->lock, NULL))
        write_report(own, t);
    g_free(own);
}

const Service report_service = { .pauses = PAUSES_RUN,
                                 .open = report_service_open,
                                 .told = report_service_told,
                                 .before_step = report_service_before_step,
                                 .close = report_service_close };
