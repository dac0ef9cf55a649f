#include "train/services/sink.h"

#include "base/log.h"

void sink_note(Sink *sink, GError *problem)
{
    if (problem && !sink->failing)
        log_warning("%s: %s; what cannot be written is left out", sink->name, problem->message);
    if (!problem && sink->failing)
        log_warning("%s is written again; the lines that were left out are missing", sink->name);
    sink->failing = problem != NULL;
    g_clear_error(&problem);
}
