/* labels: any-processor */
/* What the reader of metrics.jsonl gives, and what it leaves out. */
#include "run/metric_lines.h"

#include "base/json_line.h"

#include "data/data_test.h"
#include "run/history.h"

#include <math.h>
#include <string.h>

/* Lines that another program has written again: pandas, Python's json, an editor of Windows. */
static void lines_of_other_programs_are_records(void)
{
    static const struct {
        const char *line;
        int64_t step; /* -2: no record */
    } lines[] = {
        { "{\"kind\": \"train\", \"step\": 7, \"loss\": NaN, \"what\": \"a \\\"NaN\"}\r\n", 7 },
        { "{\"kind\":\"train\",\"step\":7.0,\"loss\":-Infinity,\"lr\":Infinity,\"tokens\":null}", 7 },
        { "\xEF\xBB\xBF{\"step\":7}\n", 7 },
        { "{\"step\":7.5}", -1 },
        { "{\"step\":-3}", -1 },
        { "{\"step\":1e300}", -1 },
        { "{\"step\":NaN}", -1 },
        { "{\"loss\":Nan}", -2 },
        { "{\"loss\":Infinit", -2 },
        { "{\"loss\":\"NaN", -2 },
        { "NaN", -2 },
        { "[1]", -2 },
        { "", -2 },
    };
    for (size_t i = 0; i < G_N_ELEMENTS(lines); i++) {
        json_t *record = metric_record(lines[i].line, strlen(lines[i].line));
        g_assert_cmpint(record ? metric_step(record) : -2, ==, lines[i].step);
        g_assert_true(isnan(metric_number(record, "loss")));
        if (i == 0)
            g_assert_cmpstr(json_text(record, "what"), ==, "a \"NaN");
        json_decref(record);
    }
}

#define LINE(step) "{\"kind\":\"train\",\"step\":" #step ",\"loss\":1.5,\"tokens\":" #step "0}\n"

static char *folder_of(const char *text, size_t bytes)
{
    char *folder = folder_new();
    g_autofree char *path = g_build_filename(folder, "metrics.jsonl", NULL);
    g_assert_true(g_file_set_contents(path, text, (gssize)bytes, NULL));
    return folder;
}

/* The steps of the training records, "1 2", and the number of skipped lines, "1 2 | 3". g_free. */
static char *steps_of(const char *folder, bool of_end)
{
    MetricReader reader;
    GString *steps = g_string_new(NULL);
    g_assert_true(of_end ? metric_reader_open_end(&reader, folder) : metric_reader_open(&reader, folder, NULL));
    while (metric_reader_next(&reader))
        if (reader.record.kind == METRIC_TRAIN)
            g_string_append_printf(steps, "%d ", (int)reader.record.step);
    g_string_append_printf(steps, "| %d", (int)reader.skipped);
    g_assert_true(metric_reader_close(&reader, NULL));
    return g_string_free(steps, FALSE);
}

/* What the file holds, and what the reader of all of it and the reader of its end give. */
static void damaged_lines_are_left_out(void)
{
#define HELD(text) text, sizeof text - 1
    static const struct {
        const char *held;
        size_t bytes;
        const char *all, *end;
    } files[] = {
        { HELD(""), "| 0", "| 0" },
        { HELD(LINE(1) LINE(2)), "1 2 | 0", "1 2 | 0" },
        { HELD(LINE(1) LINE(2) LINE(2) LINE(3)), "1 2 2 3 | 0", "1 2 2 3 | 0" }, /* killed after step 2, and resumed */
        { HELD(LINE(1) "{\"kind\":\"tr"), "1 | 0", "1 | 1" },                    /* torn by a kill */
        { HELD(LINE(1) "{\"kind\":\"train\",\"step\":2}"), "1 | 0", "1 2 | 0" }, /* without its end */
        { HELD(LINE(1) "garbage\n[1]\n" LINE(2)), "1 2 | 2", "1 2 | 2" },
        { HELD(LINE(1) "\0\0" LINE(2) LINE(3)), "1 3 | 1", "1 2 3 | 2" }, /* a hole that a power cut left */
    };
    for (size_t i = 0; i < G_N_ELEMENTS(files); i++) {
        char *folder = folder_of(files[i].held, files[i].bytes);
        g_autofree char *all = steps_of(folder, false), *end = steps_of(folder, true);
        g_assert_cmpstr(all, ==, files[i].all);
        g_assert_cmpstr(end, ==, files[i].end);
        folder_remove(folder);
    }
}

/* A line of any length takes no more memory than others; the end of a long file begins with a whole line. */
static void long_lines_and_files_take_bounded_memory(void)
{
    g_autoptr(GString) text = g_string_new(LINE(1) "{\"kind\":\"sample\",\"step\":1,\"text\":\"");
    for (int i = 0; i < 300000; i++)
        g_string_append_c(text, 'x');
    g_string_append(text, "\"}\n" LINE(2));
    char *folder = folder_of(text->str, text->len);
    g_autofree char *all = steps_of(folder, false), *end = steps_of(folder, true);
    g_assert_cmpstr(all, ==, "1 2 | 1");
    g_assert_cmpstr(end, ==, "2 | 0");
    folder_remove(folder);
}

/* The first held-out set is the first one of an evaluation, whether or not its loss is a number there. */
static void the_first_set_stays_the_first(void)
{
    static const char held[] = LINE(1) "{\"kind\":\"valid\",\"step\":1,\"name\":\"a\",\"loss\":null}\n"
                                       "{\"kind\":\"valid\",\"step\":1,\"name\":\"b\",\"loss\":9}\n" LINE(
                                           2) "{\"kind\":\"valid\",\"step\":2,\"name\":\"a\",\"loss\":2}\n"
                                              "{\"kind\":\"valid\",\"step\":2,\"name\":\"b\",\"loss\":8}\n";
    char *folder = folder_of(held, strlen(held));
    History history;
    RunResult result;
    g_assert_true(history_read(&history, folder, NULL));
    g_assert_cmpuint(history.train->len, ==, 2);
    g_assert_cmpuint(history.valid->len, ==, 1);
    g_assert_cmpfloat(g_array_index(history.valid, HistoryPoint, 0).loss, ==, 2);
    g_assert_true(run_result_read(&result, folder, -1, NULL));
    g_assert_cmpint(result.step, ==, 2);
    g_assert_cmpfloat(metric_value(result.metrics, "loss"), ==, 2);
    run_result_clear(&result);
    history_clear(&history);
    folder_remove(folder);
}

#define START(step, sets)                                                                                              \
    "{\"kind\":\"event\",\"step\":" #step ",\"what\":\"goes on\",\"start\":{\"held_out\":[" sets "]}}\n"
#define SET(name, data)         "{\"name\":\"" name "\",\"data\":\"" data "\"}"
#define VALID(step, name, loss) "{\"kind\":\"valid\",\"step\":" #step ",\"name\":\"" name "\",\"loss\":" #loss "}\n"

/* What the reader says of each held-out record: its set and loss, with * if it is of the first set and ! if its data
 * were replaced. */
static char *sets_of(const char *text, bool of_end)
{
    char *folder = folder_of(text, strlen(text));
    MetricReader reader;
    GString *sets = g_string_new(NULL);
    g_assert_true(of_end ? metric_reader_open_end(&reader, folder) : metric_reader_open(&reader, folder, NULL));
    while (metric_reader_next(&reader))
        if (reader.record.kind == METRIC_VALID)
            g_string_append_printf(sets, "%s%s%s%.0f ", reader.record.first_set ? "*" : "",
                                   reader.record.replaced ? "!" : "", reader.record.set,
                                   metric_number(reader.record.json, "loss"));
    g_assert_true(metric_reader_close(&reader, NULL));
    folder_remove(folder);
    return g_string_free(sets, FALSE);
}

/* A set is known by its data, which the starts name, whatever it was called; in files without them by its name, and the
 * first one is that of the last evaluation. */
static void the_first_set_is_that_of_the_last_start(void)
{
    static const struct {
        const char *text, *sets;
    } files[] = {
        { VALID(1, "a", 1) VALID(1, "b", 2) LINE(2) VALID(2, "b", 3) VALID(2, "a", 4), "a1 *b2 *b3 a4 " },
        { VALID(1, "a", 1) LINE(2) VALID(2, "b", 3) LINE(3), "a1 *b3 " },
        { VALID(1, "a", 1) VALID(1, "b", 2) VALID(2, "b", 3) VALID(2, "a", 4), "a1 *b2 *b3 a4 " }, /* no line between */
        { START(0, SET("a", "1") "," SET("b", "2")) VALID(1, "a", 1) VALID(1, "b", 2)
              START(1, SET("b", "2") "," SET("a", "1")) VALID(2, "b", 3) VALID(2, "a", 4),
          "a1 *b2 *b3 a4 " },
        { START(0, SET("valid", "1")) VALID(1, "valid", 1) START(1, SET("a", "1") "," SET("b", "2")) VALID(2, "a", 2)
              VALID(2, "b", 3),
          "*a1 *a2 b3 " },
        { START(0, SET("valid", "1")) VALID(1, "valid", 1) START(1, SET("valid", "2")) VALID(2, "valid", 2),
          "!valid1 *valid2 " },
        { START(0, SET("a", "1") "," SET("b", "2")) VALID(1, "a", 1) VALID(1, "b", 2)
              START(1, SET("b", "1") "," SET("a", "2")),
          "*b1 a2 " }, /* the names changed places */
        { START(0, SET("a", "1") "," SET("b", "1")) VALID(1, "a", 1) VALID(1, "b", 1), "*a1 b1 " }, /* one set, twice */
    };
    for (size_t i = 0; i < G_N_ELEMENTS(files); i++)
        for (int of_end = 0; of_end < 2; of_end++) {
            g_autofree char *sets = sets_of(files[i].text, of_end);
            g_assert_cmpstr(sets, ==, files[i].sets);
        }
}

/* Steps may be evaluated one after another, without a line of training between them. */
static void each_evaluation_has_a_first_record(void)
{
    static const char text[] = VALID(1, "a", 1) VALID(1, "b", 2) VALID(2, "a", 3) VALID(2, "b", 4) VALID(3, "a", 5);
    static const bool leads[] = { true, false, true, false, true };
    char *folder = folder_of(text, strlen(text));
    MetricReader reader;
    g_assert_true(metric_reader_open(&reader, folder, NULL));
    for (size_t i = 0; i < G_N_ELEMENTS(leads); i++) {
        g_assert_true(metric_reader_next(&reader));
        g_assert_cmpint(reader.record.leads, ==, leads[i]);
    }
    g_assert_true(metric_reader_close(&reader, NULL));
    folder_remove(folder);
}

static void a_folder_without_the_file_is_no_run(void)
{
    MetricReader reader;
    char *folder = folder_new();
    g_autoptr(GError) error = NULL;
    g_assert_false(metric_reader_open(&reader, folder, &error));
    g_assert_nonnull(strstr(error->message, "is no run directory: it holds no metrics.jsonl"));
    g_assert_false(metric_reader_open_end(&reader, folder));
    folder_remove(folder);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/metric_lines/lines_of_other_programs_are_records", lines_of_other_programs_are_records);
    g_test_add_func("/metric_lines/damaged_lines_are_left_out", damaged_lines_are_left_out);
    g_test_add_func("/metric_lines/long_lines_and_files_take_bounded_memory", long_lines_and_files_take_bounded_memory);
    g_test_add_func("/metric_lines/the_first_set_stays_the_first", the_first_set_stays_the_first);
    g_test_add_func("/metric_lines/the_first_set_is_that_of_the_last_start", the_first_set_is_that_of_the_last_start);
    g_test_add_func("/metric_lines/each_evaluation_has_a_first_record", each_evaluation_has_a_first_record);
    g_test_add_func("/metric_lines/a_folder_without_the_file_is_no_run", a_folder_without_the_file_is_no_run);
    return g_test_run();
}
