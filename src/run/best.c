#include "run/best.h"

#include "base/log.h"
#include "base/options/options.h"
#include "base/text.h"
#include "run/metric_lines.h"
#include "run/run_dir.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

int64_t run_lost_best(const char *dir)
{
    TrainState state;
    g_autofree char *link = g_build_filename(dir, "checkpoints", "best", NULL);
    g_autoptr(GArray) steps = run_checkpoints(dir);
    int64_t step = -1;
    if (g_file_test(link, G_FILE_TEST_IS_SYMLINK)) {
        step = run_linked(dir, "best");
    } else if (steps->len > 0) {
        g_autofree char *newest = run_checkpoint_path(dir, g_array_index(steps, int64_t, 0));
        step = checkpoint_state(newest, &state, NULL) ? state.best_step : -1;
    }
    g_autofree char *folder = run_checkpoint_path(dir, step);
    const bool there = g_file_test(folder, G_FILE_TEST_EXISTS) || g_file_test(link, G_FILE_TEST_EXISTS);
    /* A run that saves replaces the link before it removes the former checkpoint. */
    const bool moved = g_file_test(link, G_FILE_TEST_IS_SYMLINK) && run_linked(dir, "best") != step;
    return step >= 0 && !there && !moved ? step : -1;
}

char *run_best_metric(const char *dir)
{
    g_autofree char *path = g_build_filename(dir, "config.yaml", NULL);
    g_autoptr(GPtrArray) settings = option_settings_new();
    const char *best =
        option_settings_read_yaml(settings, path, NULL) ? option_settings_find(settings, "train.best") : NULL;
    return best == NULL || strcmp(best, "loss") == 0 ? NULL : g_strdup(best);
}

/* A checkpoint that was evaluated on the samples that decide. */
typedef struct Candidate {
    int64_t step;
    double value; /* NAN means not known yet */
    bool own;     /* the checkpoint itself records the value: it was the best one when it was saved */
} Candidate;

/* The candidates, newest first. */
static GArray *find_candidates(const char *dir, const TrainState *state)
{
    GArray *candidates = g_array_new(FALSE, FALSE, sizeof(Candidate));
    g_autoptr(GArray) steps = run_checkpoints(dir);
    for (guint i = 0; i < steps->len; i++) {
        TrainState own;
        const int64_t step = g_array_index(steps, int64_t, i);
        g_autofree char *folder = run_checkpoint_path(dir, step);
        if (step > state->steps || !checkpoint_state(folder, &own, NULL) || own.steps != step ||
            own.evaluated != step || own.best_data != state->best_data)
            continue;
        const bool best = own.best_step == step;
        const Candidate candidate = { step, best ? own.best_value : (double)NAN, best };
        if (best || step > 0) /* at step 0 the metric of an untrained model is none */
            g_array_append_val(candidates, candidate);
    }
    return candidates;
}

/* The value of a score by its whole name, "f1_macro.f1", or by one of its parts. */
static double value_of_score(const json_t *json, const char *name)
{
    g_autofree char *first = g_strconcat(name, ".", NULL), *last = g_strconcat(".", name, NULL);
    const char *key;
    json_t *value;
    if (!isnan(metric_number(json, name)))
        return metric_number(json, name);
    json_object_foreach((json_t *)(uintptr_t)json, key, value)
    {
        if (json_is_number(value) && (g_str_has_prefix(key, first) || g_str_has_suffix(key, last)))
            return json_number_value(value);
    }
    return NAN;
}

/* The value of a metric in a record of an evaluation: the loss of the set that was the first one then (metric NULL), or
 * a score, which train.best names with its set or without. NAN means that the record lacks it. */
static double value_of_record(const MetricRecord *record, const char *metric)
{
    if (metric == NULL)
        return record->kind == METRIC_VALID && record->leads ? metric_number(record->json, "loss") : (double)NAN;
    if (record->kind != METRIC_SCORE)
        return NAN;
    const size_t n = strlen(record->set);
    const bool named = n > 0 && g_str_has_prefix(metric, record->set) && metric[n] == '.';
    return value_of_score(record->json, named ? metric + n + 1 : metric);
}

static void take_value(GArray *candidates, int64_t step, double value)
{
    for (guint i = 0; i < candidates->len; i++) {
        Candidate *candidate = &g_array_index(candidates, Candidate, i);
        if (candidate->step == step && !candidate->own && isfinite(value))
            candidate->value = value;
    }
}

/* Fills in the values that metrics.jsonl has. Returns the steps of all evaluations there. */
static GArray *read_values(const char *dir, GArray *candidates, const char *metric)
{
    MetricReader reader;
    GArray *steps = g_array_new(FALSE, FALSE, sizeof(int64_t));
    if (!metric_reader_open(&reader, dir, NULL))
        return steps;
    while (metric_reader_next(&reader)) {
        const MetricRecord *record = &reader.record;
        const int64_t last = steps->len > 0 ? g_array_index(steps, int64_t, steps->len - 1) : -1;
        take_value(candidates, record->step, value_of_record(record, metric));
        if (record->kind == METRIC_VALID && record->step > last)
            g_array_append_val(steps, record->step);
    }
    metric_reader_close(&reader, NULL);
    return steps;
}

RunBest run_find_best(const char *dir, const TrainState *state, const char *metric)
{
    RunBest best = { .step = -1 };
    g_autoptr(GArray) candidates = find_candidates(dir, state);
    g_autoptr(GArray) evaluated = read_values(dir, candidates, metric);
    for (guint i = 0; i < candidates->len; i++) { /* of equal ones the earliest, as in training */
        const Candidate *one = &g_array_index(candidates, Candidate, i);
        if (!isnan(one->value) && (best.step < 0 || (metric ? one->value >= best.value : one->value <= best.value))) {
            best.step = one->step;
            best.value = one->value;
        }
    }
    for (guint i = 0; best.step >= 0 && i < evaluated->len; i++) {
        const int64_t step = g_array_index(evaluated, int64_t, i);
        best.stale += step > best.step && step <= state->steps;
    }
    return best;
}

char *run_describe_best(const RunBest *best, int64_t lost)
{
    return best->step < 0
               ? g_strdup_printf("the best checkpoint so far, step %" PRId64 ", is missing, and no other has a value "
                                 "of its evaluation: there is no best one until the next evaluation",
                                 lost)
               : g_strdup_printf("the best checkpoint so far, step %" PRId64 ", is missing: of those that exist step "
                                 "%" PRId64 " is the best",
                                 lost, best->step);
}

char *run_describe_undefined(const TrainState *state, const char *metric)
{
    g_autofree char *evaluations = text_counted(state->stale, "evaluation");
    return state->best_step >= 0 || state->stale == 0
               ? NULL
               : g_strdup_printf("there is no best checkpoint: the last %s gave no finite %s (train.best)", evaluations,
                                 metric ? metric : "loss");
}

char *run_describe_no_best(const char *dir)
{
    TrainState state;
    g_autofree char *newest = run_linked_path(dir, "latest"), *metric = run_best_metric(dir);
    return checkpoint_state(newest, &state, NULL) ? run_describe_undefined(&state, metric) : NULL;
}

void run_warn_of_lost_best(const char *dir)
{
    const int64_t lost = run_wants_best(dir) ? run_lost_best(dir) : -1;
    if (lost >= 0)
        log_warning("%s: its best checkpoint, step %" PRId64 ", is missing: %s means the newest one, step %" PRId64,
                    dir, lost, dir, run_linked(dir, "latest"));
}
