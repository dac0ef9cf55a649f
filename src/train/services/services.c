#include "base/check.h"
#include "train/services/service.h"

/* The services of a run, in the order in which they are asked, told and closed. Two orders matter: a rule stands before
 * what it may prevent, and a log line is written before what is measured for it is judged. */
#define SERVICES(X)                                                                                                    \
    X(trace)                                                                                                           \
    X(skipped)                                                                                                         \
    X(replicas)                                                                                                        \
    X(spikes)                                                                                                          \
    X(saving)                                                                                                          \
    X(hooks)                                                                                                           \
    X(pulse)                                                                                                           \
    X(peak)                                                                                                            \
    X(norms)                                                                                                           \
    X(jsonl)                                                                                                           \
    X(tensorboard)                                                                                                     \
    X(mlflow)                                                                                                          \
    X(console)                                                                                                         \
    X(fairseq_log)                                                                                                     \
    X(log_lines)                                                                                                       \
    X(straggler)                                                                                                       \
    X(energy)                                                                                                          \
    X(warmup)                                                                                                          \
    X(stop_rules)                                                                                                      \
    X(scores)                                                                                                          \
    X(evaluation)                                                                                                      \
    X(report)

#define DECLARE(name) extern const Service name##_service;
SERVICES(DECLARE)

#define SEAT(name) { &name##_service, NULL },
static const Seat seats[] = { SERVICES(SEAT){ NULL, NULL } };

Services services_new(void)
{
    return (Services){ .seats = g_memdup2(seats, sizeof seats) };
}

const char **services_written(void)
{
    const char **names = g_new0(const char *, G_N_ELEMENTS(seats));
    for (size_t i = 0, n = 0; seats[i].row; i++)
        if (seats[i].row->written)
            names[n++] = seats[i].row->written;
    return names;
}

void *service_own(const Trainer *t, const Service *service)
{
    const Seat *s = t->services.seats;
    while (s->row && s->row != service)
        s++;
    return s->own;
}

RunPoint service_resumed(const Trainer *t)
{
    return t->start.resumed ? (RunPoint){ t->start.steps, t->start.samples } : (RunPoint){ -1, -1 };
}

bool services_open(Trainer *t, bool refusing, GError **error)
{
    for (Seat *s = t->services.seats; s->row; s++) {
        if (s->row->open && s->row->refuses == refusing) {
            s->own = s->row->open(t, error);
            if (!ranks_end_together(t, *error == NULL, error))
                return false;
        }
        if (s->own && s->row->own_counters)
            *(TrainState **)s->own = &t->state;
    }
    t->services.open = !refusing;
    return true;
}

void services_open_failed(Trainer *t)
{
    for (Seat *s = t->services.seats; s->row; s++)
        if (s->row->hears_failure && s->own == NULL)
            s->own = s->row->open(t, NULL);
}

/* Whether the service is there and has the function. */
#define HAS(seat, function) ((seat)->row->function && ((seat)->own || !(seat)->row->open))

void services_close(Trainer *t, const GError *problem)
{
    for (Seat *s = t->services.seats; s->row; s++) {
        if (HAS(s, close))
            s->row->close(s->own, t, problem);
        else if (s->own)
            (s->row->free ? s->row->free : g_free)(s->own);
        s->own = NULL;
    }
    g_clear_pointer(&t->services.seats, g_free);
}

unsigned services_due(const Trainer *t, const EveryCounts *counts)
{
    unsigned due = 0;
    for (const Seat *s = t->services.seats; s->row; s++)
        if (HAS(s, due))
            due |= s->row->due(s->own, t, counts);
    return due;
}

/* Takes the seconds since `start` out of the time that counts as training. */
static void pause_clock(Trainer *t, const Seat *s, double start)
{
    if (s->row->pauses == PAUSES_NOTHING)
        return;
    const double took = clock_seconds() - start;
    t->clock.paused_s += took;
    t->clock.started += s->row->pauses == PAUSES_RUN ? took : 0;
}

void services_before_step(Trainer *t)
{
    for (const Seat *s = t->services.seats; s->row; s++)
        if (HAS(s, before_step)) {
            const double start = clock_seconds();
            s->row->before_step(s->own, t);
            pause_clock(t, s, start);
        }
}

void services_before_update(const Trainer *t, StepRecord *step)
{
    for (const Seat *s = t->services.seats; s->row; s++)
        if (HAS(s, before_update))
            s->row->before_update(s->own, t, step);
}

void services_count(Trainer *t)
{
    for (const Seat *s = t->services.seats; s->row; s++)
        if (HAS(s, count))
            s->row->count(&t->state, t);
}

/* Raises *all to the verdict of a service. */
static void ask(Trainer *t, const Seat *s, Verdict (*function)(void *, const Trainer *, GError **), Verdict *all,
                GError **error)
{
    const double start = clock_seconds();
    const Verdict one = function(s->own, t, error);
    pause_clock(t, s, start);
    *all = MAX(*all, one);
}

Verdict services_start(Trainer *t, GError **error)
{
    Verdict all = VERDICT_GO_ON;
    for (const Seat *s = t->services.seats; s->row && all < VERDICT_REPEAT; s++)
        if (HAS(s, at_start))
            ask(t, s, s->row->at_start, &all, error);
    return all;
}

Verdict services_after_step(Trainer *t, GError **error)
{
    Verdict all = t->step.last ? VERDICT_END : VERDICT_GO_ON;
    for (const Seat *s = t->services.seats; s->row && all < VERDICT_REPEAT; s++)
        if (HAS(s, after_step))
            ask(t, s, s->row->after_step, &all, error);
    return all;
}

Verdict services_at_end(Trainer *t, GError **error)
{
    Verdict all = VERDICT_GO_ON;
    const Seat *s = t->services.seats;
    while (s->row)
        s++;
    while (s > t->services.seats && all < VERDICT_REPEAT) {
        s--;
        if (HAS(s, at_end))
            ask(t, s, s->row->at_end, &all, error);
    }
    return all;
}

void services_measure(const Trainer *t, TrainRecord *record)
{
    for (const Seat *s = t->services.seats; s->row; s++)
        if (HAS(s, measure))
            s->row->measure(s->own, t, record);
}

void services_tell(const Trainer *t, const LogRecord *record)
{
    for (const Seat *s = t->services.seats; s->row; s++)
        if (HAS(s, told))
            s->row->told(s->own, record);
}

void service_keep(KeptSteps *kept, int64_t step)
{
    CHECK(kept->n < kept->capacity, "more than %d checkpoints to keep", kept->capacity);
    kept->steps[kept->n++] = step;
}

void services_keep(const Trainer *t, KeptSteps *kept)
{
    for (const Seat *s = t->services.seats; s->row; s++)
        if (HAS(s, keep))
            s->row->keep(s->own, t, kept);
}

void services_event(const Trainer *t, const char *what)
{
    services_tell(t, &(LogRecord){ METRIC_EVENT, t->state.steps, .event = { .what = what } });
}
