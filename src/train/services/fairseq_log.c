#include "base/file.h"
#include "base/text.h"
#include "train/services/service.h"

#include <stdlib.h>
#include <string.h>

#define FILE_NAME "train_inner.jsonl"

struct FairseqLog {
    char *path; /* NULL means no file */
    IoFile *file;
    bool printed;
    double opened;
    int64_t updates, tokens; /* of this process since the last line: number of updates, and of their tokens */
    bool failing;
};

/* ---- the line ---- */

enum { EXACT = -1, LEFT_OUT = -2 }; /* as number of decimal places: no rounding; the line lacks the field */

/* Rounds a number to decimal places as Python's round does: correctly from its binary value, and ties to even. */
static double rounded_places(double value, int places)
{
    char text[400];
    if (places == EXACT || !isfinite(value))
        return value;
    g_snprintf(text, sizeof text, "%.*f", places, value);
    return g_ascii_strtod(text, NULL);
}

/* The epoch, from 1, of a step after which `epochs` epochs are complete: 2 for the last step of epoch 2. */
static int64_t epoch_of(double epochs)
{
    return MAX((int64_t)ceil(epochs - 1e-9), 1);
}

typedef struct FairseqField {
    const char *name;
    double value;
    int places;
} FairseqField;

/* Appends n fields with numbers in the format of Python's "{:g}", also "inf" and "nan". prefix: of their names. */
static void put_fields(GString *line, const char *prefix, const FairseqField *fields, size_t n)
{
    for (const FairseqField *field = fields; field < fields + n; field++)
        if (field->places != LEFT_OUT)
            g_string_append_printf(line, ", \"%s%s\": \"%g\"", prefix, field->name,
                                   rounded_places(field->value, field->places));
}

/* "valid" for the first held-out set, "valid1" for the second. g_free. */
static char *subset(const ValidRecord *record)
{
    return record->index > 0 ? g_strdup_printf("valid%d", record->index) : g_strdup("valid");
}

char *fairseq_valid_line(const ValidRecord *record)
{
    const LossSums *sums = record->sums;
    const HeadSums *head = &sums->head[loss_sums_main(sums)];
    const double batches = (double)MAX(record->batches, 1), nll = head->nll / head->weight / M_LN2;
    FairseqField fields[] = { { "loss", head->loss / head->weight / M_LN2, 3 },
                              { "nll_loss", nll, 3 },
                              { "ppl", exp2(nll), 2 },
                              { "accuracy", 100 * record_accuracy(sums), 3 },
                              { "wps", record->seconds > 0 ? head->weight / record->seconds : 0, 1 },
                              { "wpb", head->weight / batches, 1 },
                              { "bsz", (double)record->samples / batches, 1 },
                              { "num_updates", (double)record->updates, EXACT },
                              { "best_loss", record->best / M_LN2, 3 } };
    GString *line = g_string_new(NULL);
    for (size_t i = 0; i < G_N_ELEMENTS(fields); i++)
        fields[i].places = isfinite(fields[i].value) ? fields[i].places : LEFT_OUT;
    g_autofree char *set = subset(record), *prefix = g_strconcat(set, "_", NULL);
    g_string_append_printf(line, "{\"epoch\": %" PRId64, epoch_of(record->epochs));
    put_fields(line, prefix, fields, G_N_ELEMENTS(fields));
    g_string_append_c(line, '}');
    return g_string_free(line, false);
}

/* ---- the file ---- */

static int64_t read_updates(const char *line, size_t bytes, G_GNUC_UNUSED void *unused)
{
    json_auto_t *object = json_loadb(line, bytes, 0, NULL);
    const char *text = json_string_value(json_object_get(object, "num_updates"));
    double updates = text ? g_ascii_strtod(text, NULL) : -1;
    return updates >= 0 && updates < 1e15 ? (int64_t)updates : -1;
}

FairseqLog *fairseq_log_open(const char *dir, int64_t updates, bool printed, GError **error)
{
    g_autofree char *path = dir ? g_build_filename(dir, FILE_NAME, NULL) : NULL;
    int64_t damaged;
    IoFile *file = path && log_cut(path, updates, read_updates, NULL, &damaged, error) ? io_append(path, error) : NULL;
    if (path && !file)
        return NULL;
    FairseqLog *log = g_new(FairseqLog, 1);
    *log = (FairseqLog){ .path = g_steal_pointer(&path), .file = file, .printed = printed, .opened = clock_seconds() };
    return log;
}

void fairseq_log_close(FairseqLog *log)
{
    if (log->file)
        io_close(log->file, true, NULL);
    g_free(log->path);
    g_free(log);
}

void fairseq_log_step(FairseqLog *log, int64_t tokens)
{
    log->updates++;
    log->tokens += tokens;
}

/* Prints an object as fairseq's logger does. name: "train_inner", "valid". */
static void print_object(const char *name, const char *object)
{
    g_autofree char *time = record_now();
    log_info("%s | INFO | %s | %s", time, name, object);
}

/* Appends text to the file. If the disk is full, lines are lost and training goes on. */
static void write_text(FairseqLog *log, const char *text)
{
    if (!log->file)
        return;
    g_autoptr(GError) problem = NULL;
    g_autofree char *line = g_strconcat(text, "\n", NULL), *again = io_append_again(log->file);
    if (again)
        log_warning("%s", again);
    bool good = io_write(log->file, line, strlen(line), &problem) && io_flush(log->file, &problem);
    if (!good && !log->failing)
        log_warning("%s: %s; what cannot be written is left out", log->path, problem->message);
    log->failing = !good;
}

void fairseq_log_line(FairseqLog *log, const TrainRecord *record)
{
    const TrainState *state = record->state;
    const UpdateSums *of = &state->window_updates;
    if (state->window_steps == 0 || of->updates == 0)
        return;
    const HeadId main = loss_sums_main(&state->window);
    const HeadSums *head = &state->window.head[main];
    const double n = (double)of->updates, all = (double)state->window_steps, nll = head->nll / head->weight / M_LN2;
    const FairseqField fields[] = { { "loss", head->loss / head->weight / M_LN2, 3 }, /* bits per target token */
                                    { "nll_loss", nll, 3 },
                                    { "total", head->weight / all, EXACT },
                                    { "n_correct", head->correct / all, EXACT },
                                    { "ppl", exp2(nll), 2 },
                                    { "accuracy", 100 * loss_sums_accuracy(&state->window, main), 3 },
                                    { "wps", (double)log->tokens / record->elapsed_s, 1 },
                                    { "ups", (double)log->updates / record->elapsed_s, 2 },
                                    { "wpb", (double)of->tokens / n, 1 },
                                    { "bsz", (double)of->samples / n, 1 },
                                    { "num_updates", (double)state->updates, EXACT },
                                    { "lr", record->lr, EXACT },
                                    { "gnorm", of->norms / n, 3 },
                                    { "clip", 100 * (double)of->clipped / n, record->clips ? 1 : LEFT_OUT },
                                    { "loss_scale", record->loss_scale, record->loss_scale > 0 ? 4 : LEFT_OUT },
                                    { "train_wall", record->elapsed_s - record->waited_s, 0 },
                                    { "wall", clock_seconds() - log->opened, 0 } };
    g_autoptr(GString) line = g_string_new(NULL);
    g_autofree char *update = text_number(rounded_places(record->epochs, 3));
    g_string_append_printf(line, "{\"epoch\": %" PRId64 ", \"update\": %s%s", epoch_of(record->epochs), update,
                           strpbrk(update, ".e") ? "" : ".0");
    put_fields(line, "", fields, G_N_ELEMENTS(fields));
    g_string_append_c(line, '}');
    write_text(log, line->str);
    if (log->printed)
        print_object("train_inner", line->str);
    if (record->begins)
        log->updates = log->tokens = 0;
}

/* ---- the service ---- */

/* If the file cannot be continued, a warning says so. */
static void *fairseq_service_open(const Trainer *t, G_GNUC_UNUSED GError **error)
{
    g_autoptr(GError) problem = NULL;
    FairseqLog *log = NULL;
    const bool printed = t->config.log.format == LOG_FAIRSEQ, filed = t->config.train.fairseq_log;
    if (comm_rank(t->mesh.world) > 0 || trainer_had_ended(t))
        return NULL;
    if (filed)
        log = fairseq_log_open(t->config.run.dir, t->state.updates, printed, &problem);
    if (problem)
        log_warning("train.fairseq_log: %s; the run goes on without this file", problem->message);
    return printed && log == NULL ? fairseq_log_open(NULL, t->state.updates, true, NULL) : log;
}

static Verdict fairseq_service_after_step(void *own, const Trainer *t, G_GNUC_UNUSED GError **error)
{
    if (t->step.updated)
        fairseq_log_step(own, t->step.tokens);
    return VERDICT_GO_ON;
}

static void fairseq_service_told(void *own, const LogRecord *record)
{
    FairseqLog *log = own;
    if (record->kind == METRIC_TRAIN)
        fairseq_log_line(log, record->train);
    if (record->kind == METRIC_VALID && log->printed) {
        g_autofree char *set = subset(record->valid), *line = fairseq_valid_line(record->valid);
        print_object(set, line);
    }
}

const Service fairseq_log_service = { .written = FILE_NAME,
                                      .open = fairseq_service_open,
                                      .after_step = fairseq_service_after_step,
                                      .told = fairseq_service_told,
                                      .free = (GDestroyNotify)fairseq_log_close };
