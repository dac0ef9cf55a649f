/* Any bytes as the metrics.jsonl, and the train_inner.jsonl, of a run that is resumed: what is left are whole lines,
 * and a second resume leaves them alone; and as those of a run whose scores are collected. The first byte is the step.
 */
#include "fuzz_folder.h"
#include "run/history.h"
#include "run/run_status.h"
#include "train/services/services.h"

#include <string.h>

static char *resume(int64_t step, size_t *bytes)
{
    g_autoptr(GError) error = NULL;
    g_autofree char *path = g_build_filename(fuzz_folder(), "metrics.jsonl", NULL);
    char *left = NULL;
    Jsonl *jsonl = jsonl_open(fuzz_folder(), step, &error);
    CHECK(jsonl, "%s", error->message);
    jsonl_close(jsonl);
    CHECK(g_file_get_contents(path, &left, bytes, NULL), "%s", path);
    return left;
}

static void check_fairseq_log(const uint8_t *data, size_t bytes, int64_t updates)
{
    g_autofree char *path = g_build_filename(fuzz_folder(), "train_inner.jsonl", NULL);
    char *left[2] = { NULL };
    size_t n[2];
    fuzz_put("train_inner.jsonl", data, bytes);
    for (int i = 0; i < 2; i++) {
        g_autoptr(GError) error = NULL;
        FairseqLog *log = fairseq_log_open(fuzz_folder(), updates, false, &error);
        CHECK((log == NULL) == (error != NULL) && (log || i == 0), "an error or a log, not both");
        if (!log)
            return; /* a pointer of Git LFS */
        fairseq_log_close(log);
        CHECK(g_file_get_contents(path, &left[i], &n[i], NULL), "%s", path);
    }
    CHECK(n[0] <= bytes && n[0] == n[1] && memcmp(left[0], left[1], n[0]) == 0, "%zu bytes, then %zu", n[0], n[1]);
    CHECK(n[0] == 0 || left[0][n[0] - 1] == '\n', "a torn line");
    g_free(left[0]);
    g_free(left[1]);
}

/* The metrics of a step are those of that step alone. */
static void collect(int64_t step)
{
    RunResult result;
    GError *error = NULL;
    bool read = run_result_read(&result, fuzz_folder(), step, &error);
    CHECK(read, "%s", error->message);
    CHECK(result.step == step || (result.step == -1 && result.metrics->len == 0), "step %lld", (long long)result.step);
    g_free(run_result_describe(&result, "accuracy"));
    run_result_clear(&result);
}

/* `loam status` of a run with these metrics: text for a terminal, without control characters. */
static void describe_status(void)
{
    RunStatus status;
    run_status_read(&status, fuzz_folder(), RUN_SILENT_S, RUN_STALLED_S);
    g_autofree char *text = run_status_describe(&status, "run");
    CHECK(status.n_losses <= RUN_RECENT && strchr(text, '\033') == NULL, "%s", text);
    run_status_clear(&status);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    if (bytes == 0)
        return 0;
    size_t once_bytes, twice_bytes;
    fuzz_put("metrics.jsonl", data + 1, bytes - 1);
    collect(data[0]);
    describe_status();
    g_autofree char *once = resume(data[0], &once_bytes), *twice = resume(data[0], &twice_bytes);
    CHECK(once_bytes < bytes && once_bytes == twice_bytes && memcmp(once, twice, once_bytes) == 0,
          "%zu bytes, then %zu, then %zu", bytes - 1, once_bytes, twice_bytes);
    CHECK(once_bytes == 0 || once[once_bytes - 1] == '\n', "a torn line");
    check_fairseq_log(data + 1, bytes - 1, data[0]);
    return 0;
}
