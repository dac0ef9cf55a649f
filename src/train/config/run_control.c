/* run_control.c: reads and checks the options that say when a run saves and stops, and which samples it skips. */
#include "base/text.h"
#include "train/config/config.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

/* Reads one phase of train.save_phases: "UNTIL:EVERY", or "EVERY" for the last one. */
static bool read_phase(SavePhase *phase, const char *text, GError **error)
{
    g_auto(GStrv) parts = g_strsplit(text, ":", -1);
    const guint n = g_strv_length(parts);
    *phase = (SavePhase){ 0 };
    if (n < 1 || n > 2)
        return fail_user(error, "\"%s\" is not UNTIL:EVERY", text);
    return (n == 1 || amount_parse(&phase->until, parts[0], error)) && amount_parse(&phase->every, parts[n - 1], error);
}

/* Checks the units of one phase, and that only the last one has no end. */
static bool check_phase(const SavePhase *phase, bool last, GError **error)
{
    const bool open = phase->until.value == 0;
    if (phase->until.unit == UNIT_SECONDS || phase->until.unit == UNIT_PERCENT || phase->every.unit == UNIT_PERCENT)
        return fail_user(error, "phases end at steps, samples, tokens or epochs, and periods are of these or times");
    if (phase->every.value == 0)
        return fail_user(error, "a period of 0");
    return !open || last || fail_user(error, "only the last phase has no end");
}

bool config_save_phases(const Config *config, SavePhase phases[SAVE_PHASES], int *n, GError **error)
{
    const char *text = config->train.save_phases ? config->train.save_phases : "";
    g_auto(GStrv) items = g_strsplit(text, ",", -1);
    const guint length = *text ? g_strv_length(items) : 0;
    *n = 0;
    if (length > SAVE_PHASES)
        return fail_user(error, "train.save_phases: more than %d phases", SAVE_PHASES);
    for (guint i = 0; i < length; i++) {
        if (!read_phase(&phases[i], items[i], error) || !check_phase(&phases[i], i + 1 == length, error)) {
            fail_context(error, "train.save_phases");
            return false;
        }
        const bool ends = phases[i].until.value > 0;
        if (i > 0 && ends &&
            (phases[i].until.unit != phases[i - 1].until.unit || phases[i].until.value <= phases[i - 1].until.value))
            return fail_user(error, "train.save_phases: each phase ends after the one before it, in the same unit");
    }
    *n = (int)length;
    return true;
}

bool config_stop_date(const Config *config, double *unix_s, GError **error)
{
    const char *text = config->train.stop_date ? config->train.stop_date : "";
    *unix_s = 0;
    if (*text == '\0')
        return true;
    g_autofree char *dated = g_strdelimit(g_strdup(text), " ", 'T'),
                    *seconds =
                        strlen(dated) == strlen("2026-01-31T07:30") ? g_strconcat(dated, ":00", NULL) : g_strdup(dated);
    g_autoptr(GTimeZone) local = g_time_zone_new_local();
    g_autoptr(GDateTime) date = g_date_time_new_from_iso8601(seconds, local);
    if (date == NULL)
        return fail_user(error, "train.stop_date: \"%s\" is not a date; write one such as 2026-01-31 07:30", text);
    *unix_s = (double)g_date_time_to_unix(date);
    return true;
}

bool config_skip_ranges(const Config *config, SkipRange ranges[SKIP_RANGES], int *n, GError **error)
{
    const char *text = config->train.skip_samples ? config->train.skip_samples : "";
    g_auto(GStrv) items = g_strsplit(text, ",", -1);
    *n = 0;
    for (char **item = items; *item && *text; item++) {
        const char *p = *item;
        double first, end;
        if (*n == SKIP_RANGES || !amount_scan_number(&first, &p) || *p++ != '-' || !amount_scan_number(&end, &p) ||
            *p || first != floor(first) || end != floor(end) || first >= end || end > 0x1p53)
            return fail_user(error,
                             "train.skip_samples: \"%s\": write up to %d ranges FIRST-END of samples, without END "
                             "itself, such as 10698064-10700112",
                             *item, SKIP_RANGES);
        ranges[(*n)++] = (SkipRange){ (int64_t)first, (int64_t)end };
    }
    return true;
}

static bool is_count(Amount amount)
{
    return amount.unit != UNIT_SECONDS && amount.unit != UNIT_PERCENT;
}

bool config_check_run_control(const Config *config, GError **error)
{
    const TrainConfig *train = &config->train;
    SavePhase phases[SAVE_PHASES];
    SkipRange ranges[SKIP_RANGES];
    int n;
    double date;
    if (!is_count(train->stop_at) || !is_count(train->exit_every))
        return fail_user(error, "train.%s: write steps, samples, tokens or epochs; train.stop_after is a time",
                         is_count(train->stop_at) ? "exit_every" : "stop_at");
    if (config->hooks.timeout.value > 0 && config->hooks.timeout.unit != UNIT_SECONDS)
        return fail_user(error, "hooks.timeout: write a time such as 10m");
    if (train->stop_after.value > 0 && train->stop_after.unit != UNIT_SECONDS)
        return fail_user(error, "train.stop_after: write a time such as 19h50m; train.stop_at is a number of steps");
    return config_save_phases(config, phases, &n, error) && config_stop_date(config, &date, error) &&
           config_skip_ranges(config, ranges, &n, error);
}
