#include "train/services/services.h"

#include "base/file.h"
#include "data/data_test.h"
#include "format/events.h"

#include <errno.h>
#include <jansson.h>
#include <math.h>
#include <signal.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>

/* Both files of a run's metrics. */
typedef struct Metrics {
    Jsonl *lines;
    TensorBoard *board;
} Metrics;

static void metrics_close(Metrics *metrics)
{
    if (metrics == NULL)
        return;
    g_clear_pointer(&metrics->lines, jsonl_close);
    g_clear_pointer(&metrics->board, tensorboard_close);
    g_free(metrics);
}

static Metrics *metrics_open(const char *folder, int64_t step, GError **error)
{
    Metrics *metrics = g_new0(Metrics, 1);
    const RunPoint at = { step, step };
    if ((metrics->lines = jsonl_open(folder, step, error)) &&
        (metrics->board = tensorboard_open(folder, at, &(LogConfig){ 0 }, error)))
        return metrics;
    metrics_close(metrics);
    return NULL;
}

static void metrics_write(Metrics *metrics, const LogRecord *record)
{
    jsonl_write(metrics->lines, record);
    tensorboard_write(metrics->board, record);
}

static void metrics_event(Metrics *metrics, int64_t step, const char *what)
{
    metrics_write(metrics, &(LogRecord){ METRIC_EVENT, step, .event = { .what = what } });
}

static void metrics_train(Metrics *metrics, const TrainRecord *record)
{
    metrics_write(metrics, &(LogRecord){ METRIC_TRAIN, record->state->steps, .train = record });
}

static void metrics_valid(Metrics *metrics, const ValidRecord *record)
{
    metrics_write(metrics, &(LogRecord){ METRIC_VALID, record->step, .valid = record });
}

static char *contents(const char *folder)
{
    g_autofree char *path = g_build_filename(folder, "metrics.jsonl", NULL);
    char *text = NULL;
    g_assert_true(g_file_get_contents(path, &text, NULL, NULL));
    return text;
}

#define LINE(step) "{\"kind\":\"train\",\"step\":" #step ",\"loss\":1.5}\n"

/* What the file holds, the step that the run goes on from, and what must be left. */
static const struct {
    const char *held;
    int64_t step;
    const char *left;
} cuts[] = {
    { LINE(1) LINE(2) LINE(3), 2, LINE(1) LINE(2) },
    { LINE(1) LINE(2), 7, LINE(1) LINE(2) },
    { LINE(1) LINE(2) "{\"kind\":\"tr", 7, LINE(1) LINE(2) },    /* torn by a kill */
    { LINE(1) "{\"kind\":\"train\",\"step\":2}", 7, LINE(1) },   /* whole, but its end is not sure */
    { LINE(1) "garbage\n" LINE(2) LINE(9), 7, LINE(1) LINE(2) }, /* damaged in the middle */
    { LINE(1) LINE(2), 0, "" },
};

static void a_resumed_run_cuts_back_its_lines(void)
{
    for (size_t i = 0; i < G_N_ELEMENTS(cuts); i++) {
        char *folder = folder_new();
        g_autoptr(GError) error = NULL;
        g_free(file_write_text(folder, "metrics.jsonl", cuts[i].held));
        Metrics *metrics = metrics_open(folder, cuts[i].step, &error);
        g_assert_no_error(error);
        g_autofree char *text = contents(folder);
        g_assert_cmpstr(text, ==, cuts[i].left);
        metrics_event(metrics, 8, "something");
        metrics_close(metrics);
        g_autofree char *more = contents(folder);
        g_assert_true(g_str_has_prefix(more, cuts[i].left));
        g_assert_nonnull(strstr(more, "{\"kind\":\"event\",\"step\":8,\"what\":\"something\",\"time\":"));
        folder_remove(folder);
    }
}

/* Lines that another program has written again, such as pandas: a resumed run keeps them. */
static void lines_of_other_programs_are_kept(void)
{
    static const char held[] = "{\"kind\":\"train\",\"step\":1.0,\"loss\":NaN}\r\n" LINE(2);
    char *folder = folder_new();
    g_free(file_write_text(folder, "metrics.jsonl", held));
    metrics_close(metrics_open(folder, 2, NULL));
    g_autofree char *text = contents(folder);
    g_assert_cmpstr(text, ==, held);
    folder_remove(folder);
}

/* Lines are kept in place or in a new file, whose writing may fail at any moment: then the old file is whole, and
 * nothing lies beside it. */
static void a_failed_cut_leaves_the_file_as_it_was(void)
{
    static const char held[] = LINE(1) "garbage\n" LINE(2) LINE(9), left[] = LINE(1) LINE(2);
    for (int n = 1, failed = true; failed; n++) {
        char *folder = folder_new();
        g_free(file_write_text(folder, "metrics.jsonl", held));
        io_fail_at(n, ENOSPC);
        Metrics *metrics = metrics_open(folder, 2, NULL);
        io_fail_at(0, 0);
        failed = metrics == NULL;
        g_autofree char *text = contents(folder);
        g_assert_true(strcmp(text, left) == 0 || (failed && strcmp(text, held) == 0));
        g_autoptr(GDir) dir = g_dir_open(folder, 0, NULL);
        for (const char *name; (name = g_dir_read_name(dir));)
            g_assert_true(strcmp(name, "metrics.jsonl") == 0 || strcmp(name, "tb") == 0);
        metrics_close(metrics);
        folder_remove(folder);
    }
}

/* JSON has no NaN: a line with one must still be JSON. */
static void a_number_that_is_none_becomes_null(void)
{
    char *folder = folder_new();
    Metrics *metrics = metrics_open(folder, 0, NULL);
    const TrainState state = { .steps = 3,
                               .updates = 3,
                               .window.head[HEAD_TOKENS] = { .loss = 6, .nll = 5, .correct = 1, .weight = 2 },
                               .window_steps = 1 };
    const TrainRecord record = { .state = &state, .lr = 0.5, .grad_norm = NAN, .data_wait = 0.25, .left_s = -1 };
    metrics_train(metrics, &record);
    metrics_close(metrics);
    g_autofree char *text = contents(folder);
    g_assert_nonnull(strstr(text, "\"grad_norm\":null"));
    g_assert_nonnull(strstr(text, "\"loss\":3.0,"));
    g_assert_nonnull(strstr(text, "\"nll\":2.5,"));
    g_assert_nonnull(strstr(text, "\"lr\":0.5,"));
    g_assert_nonnull(strstr(text, "\"data_wait\":0.25,"));
    folder_remove(folder);
}

/* A set without a name is "valid", as it always was. */
static void held_out_sets_are_told_apart(void)
{
    char *folder = folder_new();
    Metrics *metrics = metrics_open(folder, 0, NULL);
    const LossSums sums = { .head[HEAD_TOKENS] = { .loss = 6, .nll = 6, .correct = 1, .weight = 3 } };
    metrics_valid(metrics, &(ValidRecord){ .step = 5, .name = NULL, .sums = &sums, .seconds = 1 });
    metrics_valid(metrics, &(ValidRecord){ .step = 5, .name = "code", .sums = &sums, .seconds = 1 });
    metrics_close(metrics);
    g_autofree char *text = contents(folder);
    g_assert_nonnull(strstr(text, "\"step\":5,\"name\":\"valid\",\"target_tokens\":3,\"loss\":2.0,"));
    g_assert_nonnull(strstr(text, "\"step\":5,\"name\":\"code\",\"target_tokens\":3,\"loss\":2.0,"));
    folder_remove(folder);
}

/* The loss is that of tokens and labels together, told apart beside it; without labels neither is named. */
static void losses_of_tokens_and_labels_are_told_apart(void)
{
    char *folder = folder_new();
    Metrics *metrics = metrics_open(folder, 0, NULL);
    const HeadSums labels = { .loss = 2, .nll = 2, .correct = 3, .weight = 4 };
    const TrainState state = {
        .steps = 3,
        .window.head = { [HEAD_TOKENS] = { .loss = 6, .nll = 5, .correct = 1, .weight = 2 }, [HEAD_LABELS] = labels }
    };
    const LossSums held_out = {
        .head = { [HEAD_TOKENS] = { .loss = 5, .nll = 5, .correct = 1, .weight = 2 }, [HEAD_LABELS] = labels }
    };
    const TrainRecord record = { .state = &state, .lr = 0.5, .grad_norm = 1, .left_s = -1 };
    const LossSums bare = { .head[HEAD_TOKENS] = { .loss = 6, .nll = 6, .correct = 1, .weight = 3 } };
    metrics_train(metrics, &record);
    metrics_valid(metrics, &(ValidRecord){ .step = 3, .name = NULL, .sums = &held_out, .seconds = 1 });
    metrics_valid(metrics, &(ValidRecord){ .step = 4, .name = NULL, .sums = &bare, .seconds = 1 });
    metrics_close(metrics);
    g_autofree char *text = contents(folder);
    g_auto(GStrv) lines = g_strsplit(text, "\n", -1);
    g_assert_nonnull(strstr(lines[0], "\"loss\":3.5,\"nll\":2.5,\"accuracy\":0.5,"));
    g_assert_nonnull(strstr(lines[0], "\"loss_mlm\":3.0,\"loss_label\":0.5,\"accuracy_label\":0.75"));
    g_assert_nonnull(strstr(lines[1], "\"loss\":3.0,"));
    g_assert_nonnull(strstr(lines[1], "\"loss_mlm\":2.5,\"loss_label\":0.5,\"accuracy_label\":0.75"));
    g_assert_null(strstr(lines[2], "label"));
    g_assert_null(strstr(lines[2], "mlm"));
    folder_remove(folder);
}

static off_t size_of(const char *path)
{
    struct stat info;
    g_assert_cmpint(stat(path, &info), ==, 0);
    return info.st_size;
}

/* The only event file of the run's folder. */
static char *events_path(const char *folder)
{
    g_autofree char *tb = g_build_filename(folder, "tb", NULL);
    g_autoptr(GDir) dir = g_dir_open(tb, 0, NULL);
    return g_build_filename(tb, g_dir_read_name(dir), NULL);
}

static void limit_files(rlim_t bytes)
{
    struct rlimit limit;
    signal(SIGXFSZ, SIG_IGN);
    g_assert_cmpint(getrlimit(RLIMIT_FSIZE, &limit), ==, 0);
    limit.rlim_cur = MIN(bytes, limit.rlim_max);
    g_assert_cmpint(setrlimit(RLIMIT_FSIZE, &limit), ==, 0);
}

static void write_step(Metrics *metrics, int64_t step)
{
    const TrainState state = { .steps = step,
                               .window.head[HEAD_TOKENS] = { .loss = 6, .nll = 5, .weight = 2 },
                               .window_steps = 1 };
    const TrainRecord record = { .state = &state, .lr = 0.5, .grad_norm = 1, .left_s = -1 };
    metrics_train(metrics, &record);
}

/* A disk that is full for a while cuts a record short, in one file and then in the other: what is written before and
 * after can be read, to the end. */
static void a_disk_that_was_full_tears_no_record(void)
{
    char *folder = folder_new();
    Metrics *metrics = metrics_open(folder, 0, NULL);
    g_autofree char *events = events_path(folder), *lines = g_build_filename(folder, "metrics.jsonl", NULL);
    g_autofree char *tb = g_path_get_dirname(events);
    for (int64_t step = 1; step <= 5; step++) {
        if (step % 2 == 0)
            limit_files((rlim_t)size_of(step == 2 ? lines : events) + 10);
        write_step(metrics, step);
        limit_files(RLIM_INFINITY);
    }
    metrics_close(metrics);
    g_autofree char *text = contents(folder);
    g_auto(GStrv) rows = g_strsplit(text, "\n", -1);
    g_assert_cmpuint(g_strv_length(rows), ==, 4 + 1); /* step 4 fits: its file is the smaller one */
    for (guint i = 0; i < 4; i++) {
        static const int steps[] = { 1, 3, 4, 5 };
        json_t *row = json_loads(rows[i], 0, NULL);
        g_assert_cmpint(json_integer_value(json_object_get(row, "step")), ==, steps[i]);
        json_decref(row);
    }
    off_t before = size_of(events);
    g_assert_true(events_cut(tb, 5, 5, NULL));
    g_assert_cmpint(size_of(events), ==, before); /* every record is whole */
    g_assert_true(events_cut(tb, 4, 4, NULL));
    g_assert_cmpint(size_of(events), <, before); /* also those after the disk was full */
    folder_remove(folder);
}

/* What earlier processes spent counts, up to the line that is kept. */
static void the_time_of_a_run_goes_on(void)
{
    char *folder = folder_new();
    g_free(file_write_text(folder, "metrics.jsonl",
                           "{\"kind\":\"train\",\"step\":1,\"wall_s\":100.5}\n"
                           "{\"kind\":\"train\",\"step\":2,\"wall_s\":900.5}\n"));
    Metrics *metrics = metrics_open(folder, 1, NULL);
    metrics_event(metrics, 1, "here");
    metrics_close(metrics);
    g_autofree char *text = contents(folder);
    json_t *row = json_loads(strchr(text, '\n') + 1, 0, NULL);
    double wall = json_number_value(json_object_get(row, "wall_s"));
    g_assert_cmpfloat(wall, >=, 100.5);
    g_assert_cmpfloat(wall, <, 800);
    g_assert_cmpint(json_integer_value(json_object_get(row, "time")), >, 1700000000);
    json_decref(row);
    folder_remove(folder);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/metrics/a_resumed_run_cuts_back_its_lines", a_resumed_run_cuts_back_its_lines);
    g_test_add_func("/metrics/lines_of_other_programs_are_kept", lines_of_other_programs_are_kept);
    g_test_add_func("/metrics/a_failed_cut_leaves_the_file_as_it_was", a_failed_cut_leaves_the_file_as_it_was);
    g_test_add_func("/metrics/a_number_that_is_none_becomes_null", a_number_that_is_none_becomes_null);
    g_test_add_func("/metrics/held_out_sets_are_told_apart", held_out_sets_are_told_apart);
    g_test_add_func("/metrics/losses_of_tokens_and_labels_are_told_apart", losses_of_tokens_and_labels_are_told_apart);
    g_test_add_func("/metrics/a_disk_that_was_full_tears_no_record", a_disk_that_was_full_tears_no_record);
    g_test_add_func("/metrics/the_time_of_a_run_goes_on", the_time_of_a_run_goes_on);
    return g_test_run();
}
