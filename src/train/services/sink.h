/* sink.h: an output file of a run's logs. If writing fails, as on a full disk, training goes on; the log says when
 * writing starts to fail and when it works again. */
#pragma once

#include <glib.h>
#include <stdbool.h>

typedef struct Sink {
    const char *name;
    bool failing;
} Sink;

/* After each write. problem (freed here): its error; NULL means that it succeeded. */
void sink_note(Sink *sink, GError *problem);
