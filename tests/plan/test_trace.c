#include "plan/trace.h"

#include "data/data_test.h"
#include "plan/step_timer.h"

#include <jansson.h>
#include <math.h>

/* Steps of 2 microbatches of a T5 of 2 + 1 blocks. */
static void open_timer(StepTimer *timer, Config *config)
{
    static const char *const settings[] = {
        "model.n_enc=2",         "model.n_dec=1",
        "model.width=32",        "model.ffn=64",
        "model.heads=2",         "model.head_dim=16",
        "model.vocab=96",        "data.input_length=32",
        "train.threads=1",       "train.micro_batch=2 samples",
        "train.batch=4 samples", "train.precision=f32",
    };
    g_autoptr(GError) error = NULL;
    g_autoptr(GPtrArray) given = option_settings_new();
    *config = (Config){ 0 };
    options_set_defaults(config_options(), config);
    for (size_t i = 0; i < G_N_ELEMENTS(settings); i++) {
        g_auto(GStrv) parts = g_strsplit(settings[i], "=", 2);
        option_settings_add(given, parts[0], parts[1], "test");
    }
    g_assert_true(options_apply(config_options(), config, given, &error));
    g_assert_true(step_timer_open(timer, config, &error));
    g_assert_no_error(error);
}

/* A traced step, as it is read from the file. */
static json_t *trace_of_step(StepTimer *timer)
{
    g_autoptr(GError) error = NULL;
    StepTimes times;
    Profile profile = { 0 };
    char *folder = folder_new();
    g_autofree char *path = g_build_filename(folder, "trace.json", NULL);
    step_timer_run(timer, 0, NULL, &times);
    step_timer_trace(timer, &profile);
    g_assert_true(trace_write(path, &profile, NULL, &error));
    profile_clear(&profile);
    json_t *trace = json_load_file(path, 0, NULL);
    g_assert_true(json_is_array(trace));
    folder_remove(folder);
    return trace;
}

static double number(json_t *event, const char *name)
{
    json_t *value = json_object_get(event, name);
    g_assert_true(json_is_number(value));
    return json_number_value(value);
}

static bool is(json_t *event, const char *key, const char *value)
{
    return strcmp(json_string_value(json_object_get(event, key)), value) == 0;
}

static int count_named(json_t *trace, const char *name)
{
    size_t i;
    json_t *event;
    int n = 0;
    json_array_foreach(trace, i, event) n += is(event, "name", name);
    return n;
}

static void a_step_has_its_phases_and_operations(void)
{
    static const struct {
        const char *name;
        int times;
    } expected[] = { { "step", 1 },
                     { "microbatch 0", 1 },
                     { "microbatch 1", 1 },
                     { "forward", 2 },
                     { "backward", 2 },
                     { "loss", 2 },
                     { "update", 1 },
                     { "encoder block 0", 4 },
                     { "encoder block 1", 4 },
                     { "decoder block 0", 4 },
                     { "attn_fwd", 2 * 4 },
                     { "attn_bwd", 2 * 4 } };
    StepTimer timer;
    Config config;
    open_timer(&timer, &config);
    json_t *trace = trace_of_step(&timer);
    for (size_t i = 0; i < G_N_ELEMENTS(expected); i++)
        g_assert_cmpint(count_named(trace, expected[i].name), ==, expected[i].times);
    g_assert_cmpint(count_named(trace, "gemm"), >, 2 * 3 * 9);
    json_t *first = json_array_get(trace, 0);
    g_assert_true(is(first, "name", "step") && is(first, "ph", "X") && is(first, "cat", "phase"));
    g_assert_cmpfloat(number(first, "ts"), ==, 0);
    json_decref(trace);
    step_timer_clear(&timer);
    config_clear(&config);
}

/* Every event lies within those that contain it, and what an event directly contains takes no longer than it: durations
 * of operations add up to that of the step, but for the time between them. FLOPs and bytes add up exactly. */
static void durations_and_work_add_up_to_the_step(void)
{
    enum { DEPTH = 8 };
    StepTimer timer;
    Config config;
    struct {
        double end, left, flops, bytes;
    } open[DEPTH] = { { .end = INFINITY, .left = INFINITY } };
    int depth = 0;
    size_t i;
    json_t *event;
    double operations = 0, least = 0.01; /* microseconds: digits of the file */
    open_timer(&timer, &config);
    json_t *trace = trace_of_step(&timer), *step = json_array_get(trace, 0);
    json_array_foreach(trace, i, event)
    {
        double start = number(event, "ts"), seconds = number(event, "dur");
        json_t *args = json_object_get(event, "args");
        while (start >= open[depth].end - least && depth > 0)
            g_assert_cmpfloat(open[depth--].left, >=, -least);
        g_assert_cmpfloat(start + seconds, <=, open[depth].end + least);
        open[depth].left -= seconds;
        if (is(event, "cat", "phase")) {
            g_assert_cmpint(++depth, <, DEPTH);
            open[depth].end = start + seconds;
            open[depth].left = seconds;
            continue;
        }
        operations += seconds;
        open[1].flops += number(args, "flops");
        open[1].bytes += number(args, "bytes");
        g_assert_nonnull(strstr(json_string_value(json_object_get(args, "shapes")), " f"));
    }
    g_assert_cmpfloat(operations, >, 0);
    g_assert_cmpfloat(operations, <=, number(step, "dur") + least);
    g_assert_cmpfloat(open[1].flops, ==, number(json_object_get(step, "args"), "flops"));
    g_assert_cmpfloat(open[1].bytes, ==, number(json_object_get(step, "args"), "bytes"));
    g_assert_cmpfloat(open[1].flops, >, 0);
    json_decref(trace);
    step_timer_clear(&timer);
    config_clear(&config);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/trace/a_step_has_its_phases_and_operations", a_step_has_its_phases_and_operations);
    g_test_add_func("/trace/durations_and_work_add_up_to_the_step", durations_and_work_add_up_to_the_step);
    return g_test_run();
}
