#include "train/services/service.h"

#include "base/clock.h"

void service_free(void *own, const Trainer *t, const GError *problem)
{
    (void)t, (void)problem;
    g_free(own);
}

void *service_own(const Trainer *t, const Service *service)
{
    for (int i = 0; t->services.rows[i]; i++)
        if (t->services.rows[i] == service)
            return t->services.own[i];
    return NULL;
}

RunPoint service_resumed(const Trainer *t)
{
    return t->start.resumed ? (RunPoint){ t->start.steps, t->start.samples } : (RunPoint){ -1, -1 };
}

bool services_open(Trainer *t, bool refusing, GError **error)
{
    const Services *services = &t->services;
    for (int i = 0; services->rows[i]; i++) {
        const Service *row = services->rows[i];
        if (row->open && row->refuses == refusing &&
            !ranks_end_together(t, row->open(&services->own[i], t, error), error))
            return false;
    }
    t->services.open = !refusing;
    return true;
}

/* Whether the service in row i is there and has the function. */
#define HAS(t, i, function) ((t)->services.rows[i]->function && ((t)->services.own[i] || !(t)->services.rows[i]->open))

void services_close(Trainer *t, const GError *problem)
{
    for (int i = 0; t->services.rows[i]; i++)
        if (HAS(t, i, close)) {
            t->services.rows[i]->close(t->services.own[i], t, problem);
            t->services.own[i] = NULL;
        }
    g_clear_pointer(&t->services.own, g_free);
}

unsigned services_due(const Trainer *t, const EveryCounts *counts)
{
    unsigned due = 0;
    for (int i = 0; t->services.rows[i]; i++)
        if (HAS(t, i, due))
            due |= t->services.rows[i]->due(t->services.own[i], t, counts);
    return due;
}

/* Takes the seconds since `start` out of the time that counts as training. */
static void pause_clock(Trainer *t, const Service *row, double start)
{
    if (row->pauses == PAUSES_NOTHING)
        return;
    const double took = clock_seconds() - start;
    t->clock.paused_s += took;
    t->clock.started += row->pauses == PAUSES_RUN ? took : 0;
}

void services_before_step(Trainer *t)
{
    for (int i = 0; t->services.rows[i]; i++)
        if (HAS(t, i, before_step)) {
            const double start = clock_seconds();
            t->services.rows[i]->before_step(t->services.own[i], t);
            pause_clock(t, t->services.rows[i], start);
        }
}

void services_before_update(const Trainer *t, StepRecord *step)
{
    for (int i = 0; t->services.rows[i]; i++)
        if (HAS(t, i, before_update))
            t->services.rows[i]->before_update(t->services.own[i], t, step);
}

void services_count(const Trainer *t)
{
    for (int i = 0; t->services.rows[i]; i++)
        if (HAS(t, i, count))
            t->services.rows[i]->count(t->services.own[i], t, t->state);
}

Verdict services_start(Trainer *t, GError **error)
{
    Verdict all = VERDICT_GO_ON;
    for (int i = 0; t->services.rows[i] && all < VERDICT_REPEAT; i++)
        if (HAS(t, i, at_start)) {
            const double start = clock_seconds();
            const Verdict one = t->services.rows[i]->at_start(t->services.own[i], t, error);
            pause_clock(t, t->services.rows[i], start);
            all = MAX(all, one);
        }
    return all;
}

Verdict services_after_step(Trainer *t, GError **error)
{
    Verdict all = t->step.last ? VERDICT_END : VERDICT_GO_ON;
    for (int i = 0; t->services.rows[i] && all < VERDICT_REPEAT; i++)
        if (HAS(t, i, after_step)) {
            const double start = clock_seconds();
            const Verdict one = t->services.rows[i]->after_step(t->services.own[i], t, error);
            pause_clock(t, t->services.rows[i], start);
            all = MAX(all, one);
        }
    return all;
}

Verdict services_at_end(Trainer *t, GError **error)
{
    int i = 0;
    Verdict all = VERDICT_GO_ON;
    while (t->services.rows[i])
        i++;
    while (--i >= 0 && all < VERDICT_REPEAT)
        if (HAS(t, i, at_end))
            all = t->services.rows[i]->at_end(t->services.own[i], t, error);
    return all;
}

void services_measure(const Trainer *t, TrainRecord *record)
{
    for (int i = 0; t->services.rows[i]; i++)
        if (HAS(t, i, measure))
            t->services.rows[i]->measure(t->services.own[i], t, record);
}

void services_tell(const Trainer *t, const LogRecord *record)
{
    for (int i = 0; t->services.rows[i]; i++)
        if (HAS(t, i, told))
            t->services.rows[i]->told(t->services.own[i], t, record);
}

void services_keep(const Trainer *t, int64_t *steps, int *n)
{
    for (int i = 0; t->services.rows[i]; i++)
        if (HAS(t, i, keep))
            t->services.rows[i]->keep(t->services.own[i], t, steps, n);
}

void services_event(const Trainer *t, const char *what)
{
    services_tell(t, &(LogRecord){ RECORD_EVENT, t->state->attempts, .event = { .what = what } });
}

void services_failure(const Trainer *t, const GError *problem)
{
    const bool stopped = g_error_matches(problem, LOAM_ERROR, LOAM_ERROR_STOPPED);
    services_tell(
        t, &(LogRecord){ RECORD_EVENT, t->state->attempts, .event = { .what = problem->message, .failed = !stopped } });
}

void services_start_event(const Trainer *t, const char *what, json_t *start)
{
    services_tell(t, &(LogRecord){ RECORD_EVENT, t->state->attempts, .event = { .what = what, .start = start } });
}
