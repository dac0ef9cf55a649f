/* Any text as the batches, phases of saves, date and skipped samples of a configuration: an error, or values that keep
 * their promises, and steps that add up. The first byte chooses the option. */
#include "base/check.h"
#include "run/config/config.h"

#include <string.h>

#define FAR 1000000000000000000

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

static void check_batches(const BatchSchedule *batches, int64_t at)
{
    const int64_t batch = batch_at(batches, at, at), steps = batch_steps(batches, 0, at, false);
    CHECK(batches->smallest >= 1 && batch >= batches->smallest && batch <= batches->largest, "batch %lld",
          (long long)batch);
    CHECK(batch_samples(batches, 0, steps) >= at && (steps == 0 || batch_samples(batches, 0, steps - 1) < at),
          "%lld steps", (long long)steps);
    CHECK(batch_last_change(batches) >= 0 && batch_steps(batches, at, FAR, true) >= 0, "steps");
}

static void check_ranges(const Config *config)
{
    SkipRange ranges[SKIP_RANGES];
    int n;
    if (config_skip_ranges(config, ranges, &n, NULL))
        for (int i = 0; i < n; i++)
            CHECK(ranges[i].first >= 0 && ranges[i].first < ranges[i].end, "range %d", i);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    g_autofree char *text = g_strndup((const char *)data + (bytes > 0), bytes > 0 ? bytes - 1 : 0);
    Config config = { .data.input_length = 512, .train.batch = { 1024, UNIT_SAMPLES } };
    char **const texts[] = { &config.train.batch_rampup, &config.train.batch_schedule, &config.train.save_phases,
                             &config.train.stop_date, &config.train.skip_samples };
    SavePhase phases[SAVE_PHASES];
    BatchSchedule batches;
    g_autoptr(GError) error = NULL;
    double date;
    int n;
    if (bytes == 0)
        return 0;
    *texts[data[0] % G_N_ELEMENTS(texts)] = text;
    const bool good = config_batch_schedule(&config, data[0] & 0x40, &batches, &error);
    CHECK(good == (error == NULL), "an error or batches, not both");
    for (int64_t at = 0; good && at < FAR / 64; at = 7 * at + 1000)
        check_batches(&batches, at);
    if (config_save_phases(&config, phases, &n, NULL))
        CHECK(n >= 0 && n <= SAVE_PHASES, "%d phases", n);
    config_stop_date(&config, &date, NULL);
    check_ranges(&config);
    return 0;
}
