/* trace.c: --trace: the trace of one step, the second one of this process, because the first one is slower (it touches
 * memory and starts threads), or the first if there is only one. */
#include "plan/trace.h"

#include "train/services/service.h"

typedef struct Trace {
    Profile events;
    TraceRanks ranks;
    bool records, done;
} Trace;

static void *trace_open(const Trainer *t, G_GNUC_UNUSED GError **error)
{
    return t->start.trace ? g_new0(Trace, 1) : NULL;
}

static void end_recording(Trace *trace, const Trainer *t)
{
    t->dev->profile = NULL;
    trace_ranks_clear(&trace->ranks);
    profile_clear(&trace->events);
    trace->records = false;
    trace->done = true;
}

static void trace_close(void *own, const Trainer *t, G_GNUC_UNUSED const GError *problem)
{
    Trace *trace = own;
    if (trace->records)
        end_recording(trace, t);
    g_free(trace);
}

static void trace_before_step(void *own, const Trainer *t)
{
    Trace *trace = own;
    const int64_t first = t->start.steps, traced = t->length.steps - first == 1 ? first : first + 1;
    if (trace->done || t->state.steps != traced)
        return;
    trace->records = true;
    trace->events = (Profile){ .keeps_events = true };
    trace_ranks_begin(&trace->ranks, &t->mesh);
    t->dev->profile = &trace->events;
    profile_begin(t->dev, "step", (int)t->state.steps + 1);
}

/* Rank 0 writes the trace. If it cannot, such as on a full disk, the run does not end. */
static void write_trace(const Trace *trace, const Trainer *t)
{
    g_autoptr(GError) problem = NULL;
    const int64_t step = t->state.steps;
    if (comm_rank(t->mesh.world) > 0)
        return;
    g_autofree char *hidden = comm_size(t->mesh.world) > 1
                                  ? g_strdup_printf("; %.0f %% of the communication lies beside computation",
                                                    100 * trace_ranks_hidden(&trace->ranks))
                                  : g_strdup("");
    if (trace_write(t->start.trace, &trace->events, &trace->ranks, &problem)) {
        log_info("step %" PRId64 "  its trace is in %s%s", step, t->start.trace, hidden);
        return;
    }
    log_warning("step %" PRId64 ": its trace is not written, and training goes on: %s", step, problem->message);
    services_event(t, problem->message);
}

static Verdict trace_after_step(void *own, const Trainer *t, GError **error)
{
    Trace *trace = own;
    if (!trace->records)
        return VERDICT_GO_ON;
    profile_end(t->dev);
    t->dev->profile = NULL;
    const bool whole = trace_ranks_end(&trace->ranks, error);
    if (whole)
        write_trace(trace, t);
    end_recording(trace, t);
    return whole ? VERDICT_GO_ON : VERDICT_FAIL;
}

static Verdict trace_at_end(void *own, const Trainer *t, G_GNUC_UNUSED GError **error)
{
    const Trace *trace = own;
    if (!trace->done)
        log_warning("--trace: %s is not written: %s", t->start.trace,
                    t->state.steps == t->start.steps ? "no step is left to trace"
                                                     : "it is of the second step, and there was only one");
    return VERDICT_GO_ON;
}

const Service trace_service = { .open = trace_open,
                                .before_step = trace_before_step,
                                .after_step = trace_after_step,
                                .at_end = trace_at_end,
                                .close = trace_close };
