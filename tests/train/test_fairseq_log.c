/* The line of AST-T5's README, and the file of a run that goes on. */
#include "train/services/services.h"

#include "data/data_test.h"

#include <math.h>
#include <string.h>

/* The line that a log writes of a record after so many updates and tokens; g_free. */
static char *line_of(const TrainRecord *record, int updates, int64_t tokens)
{
    char *folder = folder_new(), *text = NULL;
    FairseqLog *log = fairseq_log_open(folder, 0, false, NULL);
    for (int i = 0; i < updates; i++)
        fairseq_log_step(log, i == 0 ? tokens : 0);
    fairseq_log_line(log, record);
    fairseq_log_close(log);
    g_autofree char *path = g_build_filename(folder, "train_inner.jsonl", NULL);
    g_assert_true(g_file_get_contents(path, &text, NULL, NULL));
    folder_remove(folder);
    return text;
}

static void the_line_is_that_of_ast_t5_s_readme(void)
{
    const double weight = 2333124, nats = weight * M_LN2;
    TrainState state = {
        .updates = 200,
        .window_steps = 10,
        .window_updates = { .updates = 1000, .tokens = 925887300, .samples = 1288940, .clipped = 495, .norms = 2000.3 }
    };
    state.window.head[HEAD_TOKENS] =
        (HeadSums){ .loss = 15.6860 * nats, .nll = log2(52720.5) * nats, .correct = 70132.68, .weight = weight };
    const TrainRecord record = { .state = &state,
                                 .clips = true,
                                 .epochs = 0.0031,
                                 .lr = 4e-6,
                                 .loss_scale = 32,
                                 .elapsed_s = 103,
                                 .waited_s = 0.7 };
    g_autofree char *text = line_of(&record, 213, 197443831);
    /* There gb_free, "26.2", stands before wall: memory of a GPU. */
    static const char line[] =
        "{\"epoch\": 1, \"update\": 0.003, \"loss\": \"15.686\", \"nll_loss\": \"15.686\", \"total\": \"233312\", "
        "\"n_correct\": \"7013.27\", \"ppl\": \"52720.5\", \"accuracy\": \"3.006\", \"wps\": \"1.91693e+06\", "
        "\"ups\": \"2.07\", \"wpb\": \"925887\", \"bsz\": \"1288.9\", \"num_updates\": \"200\", \"lr\": \"4e-06\", "
        "\"gnorm\": \"2\", \"clip\": \"49.5\", \"loss_scale\": \"32\", \"train_wall\": \"102\", \"wall\": \"";
    g_autofree char *start = g_strndup(text, strlen(line)); /* the time follows */
    g_assert_cmpstr(start, ==, line);
}

static void fields_that_do_not_apply_are_left_out(void)
{
    TrainState state = { .window_steps = 1, .window_updates = { .updates = 1, .samples = 8, .norms = 1e-9 } };
    state.window.head[HEAD_TOKENS] = (HeadSums){ .weight = 1 };
    const TrainRecord record = { .state = &state, .epochs = 2, .lr = 0.0002, .elapsed_s = 1, .waited_s = 1 };
    g_autofree char *text = line_of(&record, 1, 0);
    g_assert_true(g_str_has_prefix(text, "{\"epoch\": 2, \"update\": 2.0, \"loss\": \"0\""));
    g_assert_nonnull(strstr(text, "\"bsz\": \"8\", \"num_updates\": \"0\", \"lr\": \"0.0002\", \"gnorm\": \"0\", "
                                  "\"train_wall\": \"0\", \"wall\": \""));
}

static void numbers_that_are_not_finite_are_words(void)
{
    TrainState state = { .window_steps = 1, .window_updates = { .updates = 1, .norms = INFINITY } };
    state.window.head[HEAD_TOKENS] = (HeadSums){ .loss = NAN, .nll = 2000 * M_LN2, .weight = 1 };
    const TrainRecord record = { .state = &state, .elapsed_s = 1 };
    g_autofree char *text = line_of(&record, 1, 0);
    g_assert_nonnull(strstr(text, "\"loss\": \"nan\", \"nll_loss\": \"2000\", "));
    g_assert_nonnull(strstr(text, "\"ppl\": \"inf\", "));
    g_assert_nonnull(strstr(text, "\"gnorm\": \"inf\", "));
}

static void means_are_of_the_window(void)
{
    char *folder = folder_new();
    g_autoptr(GError) error = NULL;
    FairseqLog *log = fairseq_log_open(folder, 0, false, &error);
    g_assert_no_error(error);
    TrainState state = {
        .updates = 7,
        .window_steps = 2,
        .window_updates = { .updates = 2, .tokens = 160, .samples = 16, .clipped = 1, .norms = 5 },
    };
    HeadSums *head = &state.window.head[HEAD_TOKENS];
    *head = (HeadSums){ .loss = 400 * M_LN2, .nll = 200 * M_LN2, .correct = 25, .weight = 100 };
    const TrainRecord record = {
        .state = &state, .clips = true, .begins = true, .elapsed_s = 4, .waited_s = 1, .epochs = 1.5, .lr = 1e-3
    };
    fairseq_log_step(log, 100);
    fairseq_log_step(log, 60);
    fairseq_log_line(log, &record);
    state.window_updates = (UpdateSums){ 0 };
    fairseq_log_line(log, &record); /* no update since */
    fairseq_log_step(log, 100);
    state.updates = 8;
    state.window_steps = 4; /* three of them by an earlier process; and the main head's rows have weights of their
                               classes */
    state.window_updates = (UpdateSums){ .updates = 4, .tokens = 440, .samples = 32, .norms = 6 };
    head->rows = 50;
    fairseq_log_line(log, &record);
    fairseq_log_close(log);
    g_autofree char *path = g_build_filename(folder, "train_inner.jsonl", NULL), *text = NULL;
    g_assert_true(g_file_get_contents(path, &text, NULL, NULL));
    static const char first[] =
        "{\"epoch\": 2, \"update\": 1.5, \"loss\": \"4\", \"nll_loss\": \"2\", \"total\": \"50\", \"n_correct\": "
        "\"12.5\", "
        "\"ppl\": \"4\", \"accuracy\": \"25\", \"wps\": \"40\", \"ups\": \"0.5\", \"wpb\": \"80\", \"bsz\": \"8\", "
        "\"num_updates\": \"7\", \"lr\": \"0.001\", \"gnorm\": \"2.5\", \"clip\": \"50\", \"train_wall\": \"3\", ";
    g_assert_true(g_str_has_prefix(text, first));
    g_assert_nonnull(strstr(text, "\"num_updates\": \"8\""));
    g_assert_nonnull(strstr(text, "\"wps\": \"25\", \"ups\": \"0.25\", \"wpb\": \"110\", \"bsz\": \"8\""));
    g_assert_nonnull(strstr(text, "\"gnorm\": \"1.5\", \"clip\": \"0\""));
    g_assert_nonnull(strstr(text, "\"total\": \"25\", \"n_correct\": \"6.25\", \"ppl\": \"4\", \"accuracy\": \"50\""));
    g_auto(GStrv) lines = g_strsplit(text, "\n", -1);
    g_assert_cmpuint(g_strv_length(lines), ==, 3);

    /* A run that goes on after 7 updates makes the line of the eighth again; a torn last line goes. */
    g_autofree char *torn = g_strconcat(text, "{\"epoch\": 2, \"num_upd", NULL), *left = NULL;
    g_assert_true(g_file_set_contents(path, torn, -1, NULL));
    log = fairseq_log_open(folder, 7, false, &error);
    g_assert_no_error(error);
    fairseq_log_close(log);
    g_assert_true(g_file_get_contents(path, &left, NULL, NULL));
    g_assert_cmpuint(strlen(left), ==, strlen(lines[0]) + 1);
    folder_remove(folder);
}

static void an_evaluation_has_fairseq_s_names(void)
{
    const LossSums sums = { .head[HEAD_TOKENS] = {
                                .loss = 300 * M_LN2, .nll = 300 * M_LN2, .correct = 25, .weight = 100 } };
    const ValidRecord record = { .step = 9,
                                 .sums = &sums,
                                 .seconds = 2,
                                 .samples = 16,
                                 .batches = 4,
                                 .updates = 7,
                                 .epochs = 1.5,
                                 .best = 2.5 * M_LN2 };
    ValidRecord second = record;
    second.index = 1;
    second.best = NAN;
    g_autofree char *line = fairseq_valid_line(&record), *other = fairseq_valid_line(&second);
    g_assert_cmpstr(line, ==,
                    "{\"epoch\": 2, \"valid_loss\": \"3\", \"valid_nll_loss\": \"3\", \"valid_ppl\": \"8\", "
                    "\"valid_accuracy\": \"25\", \"valid_wps\": \"50\", \"valid_wpb\": \"25\", \"valid_bsz\": \"4\", "
                    "\"valid_num_updates\": \"7\", \"valid_best_loss\": \"2.5\"}");
    g_assert_true(g_str_has_prefix(other, "{\"epoch\": 2, \"valid1_loss\": \"3\","));
    g_assert_true(g_str_has_suffix(other, "\"valid1_num_updates\": \"7\"}"));
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
#define CASE(name) g_test_add_func("/fairseq_log/" #name, name)
    CASE(the_line_is_that_of_ast_t5_s_readme);
    CASE(fields_that_do_not_apply_are_left_out);
    CASE(numbers_that_are_not_finite_are_words);
    CASE(means_are_of_the_window);
    CASE(an_evaluation_has_fairseq_s_names);
    return g_test_run();
}
