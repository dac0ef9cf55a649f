#include "train/metrics.h"

#include "data/data_test.h"

#include <math.h>

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
        g_assert_true(g_str_has_suffix(more, "{\"kind\":\"event\",\"step\":8,\"what\":\"something\"}\n"));
        folder_remove(folder);
    }
}

/* JSON has no NaN: a line with one must still be JSON. */
static void a_number_that_is_none_becomes_null(void)
{
    char *folder = folder_new();
    Metrics *metrics = metrics_open(folder, 0, NULL);
    const TrainState state = {
        .attempts = 3, .updates = 3, .window = { .loss = 6, .nll = 5, .correct = 1, .weight = 2 }, .window_steps = 1
    };
    const TrainRecord record = { .state = &state, .lr = 0.5, .grad_norm = NAN, .left_s = -1 };
    metrics_train(metrics, &record);
    metrics_close(metrics);
    g_autofree char *text = contents(folder);
    g_assert_nonnull(strstr(text, "\"grad_norm\":null"));
    g_assert_nonnull(strstr(text, "\"loss\":3.0,"));
    g_assert_nonnull(strstr(text, "\"nll\":2.5,"));
    g_assert_nonnull(strstr(text, "\"lr\":0.5,"));
    folder_remove(folder);
}

/* A set without a name is "valid", as it always was. */
static void held_out_sets_are_told_apart(void)
{
    char *folder = folder_new();
    Metrics *metrics = metrics_open(folder, 0, NULL);
    const LossSums sums = { .loss = 6, .nll = 6, .correct = 1, .weight = 3 };
    metrics_valid(metrics, 5, NULL, &sums, 1);
    metrics_valid(metrics, 5, "code", &sums, 1);
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
    const TrainState state = { .attempts = 3,
                               .window = { .loss = 6,
                                           .nll = 5,
                                           .correct = 1,
                                           .weight = 2,
                                           .label_nll = 2,
                                           .label_correct = 3,
                                           .label_weight = 4 } };
    const TrainRecord record = { .state = &state, .lr = 0.5, .grad_norm = 1, .left_s = -1 };
    const LossSums bare = { .loss = 6, .nll = 6, .correct = 1, .weight = 3 };
    metrics_train(metrics, &record);
    metrics_valid(metrics, 3, NULL, &state.window, 1);
    metrics_valid(metrics, 4, NULL, &bare, 1);
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

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/metrics/a_resumed_run_cuts_back_its_lines", a_resumed_run_cuts_back_its_lines);
    g_test_add_func("/metrics/a_number_that_is_none_becomes_null", a_number_that_is_none_becomes_null);
    g_test_add_func("/metrics/held_out_sets_are_told_apart", held_out_sets_are_told_apart);
    g_test_add_func("/metrics/losses_of_tokens_and_labels_are_told_apart", losses_of_tokens_and_labels_are_told_apart);
    return g_test_run();
}
