/* end.c: how a process of a run ends: complete, stopped, or with an error. */
#include "run/heartbeat.h"
#include "train/trainer.h"

void end_note_finished(const Trainer *t)
{
    const bool beyond = t->length.steps >= 0 && t->length.steps < t->state.steps;
    g_autofree char *asked =
        beyond ? g_strdup_printf(", more than the %" PRId64 " of train.length", t->length.steps) : g_strdup("");
    log_info("nothing left to do at step %" PRId64 "%s%s; a %s goes on from there", t->state.steps, asked,
             t->changes->len > 0 ? ": the changes above are ignored, the run keeps its configuration" : "",
             trainer_out_of_patience(t) ? "larger train.patience"
             : trainer_stops_here(t)    ? "later train.stop_at"
                                        : "longer train.length");
}

/* The event of a run that ends by itself; that of train.patience is written by the evaluation. */
void end_note(const Trainer *t)
{
    const bool stops = trainer_stops_here(t);
    const char *name = stops ? "train.stop_at" : "train.length";
    if (t->state.steps == t->start.steps || trainer_out_of_patience(t))
        return;
    g_autofree char *value = options_plain_value(config_options(), &t->config, options_find(config_options(), name)),
                    *what = stops
                                ? g_strdup_printf("stopped at step %" PRId64 " (train.stop_at=%s); a later "
                                                  "train.stop_at, or none, goes on from there",
                                                  t->state.steps, value)
                                : g_strdup_printf("ended at step %" PRId64 " (train.length=%s)", t->state.steps, value);
    if (stops)
        log_info("%s", what);
    services_event(t, what);
}

/* Writes into the log where each rank stands, a line for those that stand alike. */
static void log_places(const char *dir, double now)
{
    g_autofree char *places = heartbeat_places(dir, now);
    g_auto(GStrv) lines = g_strsplit(places ? places : "", "\n", -1);
    for (char **line = lines; *line; line++)
        log_info("  %s", *line);
}

/* Adds to the message where the rank that did not answer was last seen: its host, step and phase. One rank logs where
 * the others stand. */
static void name_lost(const Trainer *t, GError *problem)
{
    Heartbeat beat;
    const int lost = mesh_lost(&t->mesh);
    const double now = (double)g_get_real_time() / 1e6;
    if (comm_rank(t->mesh.world) == (lost == 0))
        log_places(t->config.run.dir, now);
    if (!heartbeat_read(t->config.run.dir, lost, &beat))
        return;
    g_autofree char *place = heartbeat_describe(&beat, heartbeat_present(t->config.run.dir, &beat, now));
    char *message = g_strdup_printf("%s; last seen: %s", problem->message, place);
    g_free(problem->message);
    problem->message = message;
}

/* After a request to stop: saves a checkpoint and replaces *error by an error that says so. If an evaluation is due,
 * the checkpoint records it for the next process. */
static void save_stopped(Trainer *t, GError **error)
{
    t->state.evaluation_left = trainer_evaluation_due(t, trainer_finished(t));
    g_clear_error(error);
    const StopRule rule = (StopRule)(t->due / DUE_RULE);
    g_autofree char *what = stop_rule_describe(&t->config, rule);
    if (saving_save(t, true, error))
        g_set_error(error, LOAM_ERROR, LOAM_ERROR_STOPPED,
                    "stopped %s at step %" PRId64 ", checkpoint saved; the same command goes on from there%s", what,
                    t->state.steps, rule == STOP_FILE ? ", once this file is removed" : "");
}

void end_early(Trainer *t, GError **problem)
{
    const int rank = comm_rank(t->mesh.world);
    if (g_error_matches(*problem, LOAM_ERROR, LOAM_ERROR_STOPPED))
        save_stopped(t, problem);
    else if (!t->together)
        ranks_abort(t, *problem);
    if (mesh_lost(&t->mesh) == 0 && rank == 1)
        log_set_rank(0, true); /* if rank 0 was lost, this rank prints the error */
    if (mesh_lost(&t->mesh) >= 0)
        name_lost(t, *problem);
    log_file_only("%s", (*problem)->message); /* main prints it to standard error */
    const bool failed = !g_error_matches(*problem, LOAM_ERROR, LOAM_ERROR_STOPPED);
    services_tell(t, &(LogRecord){ METRIC_EVENT, t->state.steps, .event = { (*problem)->message, .failed = failed } });
}
