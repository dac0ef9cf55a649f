#include "train/services/services.h"

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

const char **services_written(bool folders)
{
    const char **names = g_new0(const char *, G_N_ELEMENTS(seats));
    for (size_t i = 0, n = 0; seats[i].row; i++) {
        const char *name = folders ? seats[i].row->folder : seats[i].row->file;
        if (name)
            names[n++] = name;
    }
    return names;
}
