/* run_control.c: reads and checks the options that say when a run saves and stops, and which samples it skips. */
#include "base/log.h"
#include "base/text.h"
#include "run/config/config.h"
#include "run/energy/energy.h"

#include <inttypes.h>
#include <string.h>

/* Reads one phase of train.save_phases: "UNTIL:EVERY", or "EVERY" for the last one. */
static bool read_phase(SavePhase *phase, const char *text)
{
    g_auto(GStrv) parts = g_strsplit(text, ":", -1);
    const guint n = g_strv_length(parts);
    *phase = (SavePhase){ 0 };
    return n >= 1 && n <= 2 && (n == 1 || amount_parse(&phase->until, parts[0], NULL)) &&
           amount_parse(&phase->every, parts[n - 1], NULL);
}

/* What is wrong with a phase; NULL means nothing. before: the phase before it; NULL for the first one. */
static const char *phase_problem(const SavePhase *phase, const SavePhase *before, bool last)
{
    const Amount until = phase->until;
    if (until.unit == UNIT_SECONDS || until.unit == UNIT_PERCENT || phase->every.unit == UNIT_PERCENT)
        return "phases end at steps, samples, tokens or epochs, and periods are of these or times";
    if (phase->every.value == 0)
        return "a period of 0";
    if (until.value == 0)
        return last ? NULL : "only the last phase has no end";
    return before && (until.unit != before->until.unit || until.value <= before->until.value)
               ? "each phase ends after the one before it, in the same unit"
               : NULL;
}

bool config_save_phases(const Config *config, SavePhase phases[SAVE_PHASES], int *n, GError **error)
{
    const char *text = config->train.save_phases ? config->train.save_phases : "";
    g_auto(GStrv) items = text_list(text);
    const guint length = *text ? g_strv_length(items) : 0;
    *n = 0;
    if (length > SAVE_PHASES)
        return fail_user(error, "train.save_phases: more than %d phases", SAVE_PHASES);
    for (guint i = 0; i < length; i++) {
        const char *problem = read_phase(&phases[i], items[i])
                                  ? phase_problem(&phases[i], i > 0 ? &phases[i - 1] : NULL, i + 1 == length)
                                  : "not UNTIL:EVERY";
        if (problem)
            return fail_user(error,
                             "train.save_phases: \"%s\": %s; write phases such as 100:10,1000:18,1500: every 10 steps "
                             "until step 100, every 18 until step 1000, then every 1500",
                             items[i], problem);
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
    g_auto(GStrv) items = text_list(text);
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

int64_t config_skip_range(const SkipRange *ranges, int n, const BatchSchedule *batches, int64_t samples, int64_t tokens)
{
    const int64_t batch = batch_at(batches, samples, tokens);
    for (int i = 0; i < n; i++)
        if (samples < ranges[i].end && samples + batch > ranges[i].first)
            return ranges[i].end;
    return samples;
}

/* Warns of ranges of train.skip_samples that overlap: they are one range, which was perhaps not meant. */
static void advise_ranges(const Config *config)
{
    SkipRange ranges[SKIP_RANGES];
    int n;
    config_skip_ranges(config, ranges, &n, NULL);
    for (int i = 0; i < n; i++)
        for (int j = 0; j < i; j++)
            if (ranges[i].first < ranges[j].end && ranges[j].first < ranges[i].end) {
                log_warning("train.skip_samples: %" PRId64 "-%" PRId64 " and %" PRId64 "-%" PRId64
                            " overlap; what either of them names is left out",
                            ranges[j].first, ranges[j].end, ranges[i].first, ranges[i].end);
                return;
            }
}

static bool has_range(const SkipRange *ranges, int n, SkipRange range)
{
    bool found = false;
    for (int i = 0; i < n; i++)
        found |= ranges[i].first == range.first && ranges[i].end == range.end;
    return found;
}

void config_advise_skips(const Config *config, const char *former, int64_t samples)
{
    g_autofree char *was = g_strdup(former), *run = text_shell_word(config->run.dir);
    SkipRange ranges[SKIP_RANGES], before[SKIP_RANGES];
    int n, n_before;
    config_skip_ranges(config, ranges, &n, NULL);
    config_skip_ranges(&(Config){ .train.skip_samples = was }, before, &n_before, NULL);
    for (int i = 0; i < n; i++)
        if (ranges[i].first < samples && !has_range(before, n_before, ranges[i]))
            log_warning("train.skip_samples: samples %" PRId64 " to %" PRId64
                        " were read before, as the run goes on from sample %" PRId64
                        ": they stay learnt; `loam rollback %s --to STEP` goes back to a checkpoint before them",
                        ranges[i].first, MIN(ranges[i].end, samples) - 1, samples, run);
}

/* Warns if saves lie at few or none of the multiples of train.keep_every. */
static void advise_keep(const Config *config)
{
    const TrainConfig *train = &config->train;
    const Amount every = train->save_every;
    g_autofree char *period = amount_format(every);
    if (train->keep_every == 0 || *train->save_phases)
        return;
    if (every.value == 0 || every.unit == UNIT_SECONDS)
        log_warning("train.keep_every: with train.save_every=%s no save is due at multiples of %" PRId64
                    " steps, so few or none of the checkpoints stay; give train.save_every in steps",
                    period, train->keep_every);
    else if (every.unit == UNIT_STEPS && train->keep_every % (int64_t)every.value != 0)
        log_warning("train.keep_every is %" PRId64 " steps, no multiple of train.save_every, %s: of the checkpoints "
                    "that train.save_every makes only those at multiples of both stay",
                    train->keep_every, period);
}

/* Warns if nobody can make train.stop_file, because its folder is missing: a run that was moved names the former one.
 */
static void advise_stop_file(const char *file)
{
    g_autofree char *folder = g_path_get_dirname(file);
    if (*file && !g_file_test(folder, G_FILE_TEST_IS_DIR))
        log_warning("train.stop_file: there is no folder %s in which the file could be made; set another path", folder);
}

void config_advise_run_control(const Config *config)
{
    const char *country = config->log.country;
    double date;
    if (config->train.length.value == 0)
        log_warning("train.length is 0: the model is evaluated as it is, and nothing is trained or saved");
    advise_ranges(config);
    advise_keep(config);
    advise_stop_file(config->train.stop_file);
    config_stop_date(config, &date, NULL);
    if (date > 0 && date <= (double)g_get_real_time() / G_USEC_PER_SEC)
        log_warning("train.stop_date: %s is past, so the run stops after each step that it makes; set a later date, or "
                    "train.stop_date= for none",
                    config->train.stop_date);
    if (config->log.emissions && *country && !country_is_known(country))
        log_warning("log.country: \"%s\" is no code of ISO 3166-1, three capital letters such as FRA; emissions.csv "
                    "gets it as it is",
                    country);
}

/* Checks that counts are no times and times no counts; a time of 0 needs no unit. */
static bool check_units(const Config *config, GError **error)
{
    const struct {
        const char *name;
        Amount value;
        bool time;
        const char *advice;
    } amounts[] = {
        { "train.stop_at", config->train.stop_at, false,
          "steps, samples, tokens or epochs; train.stop_after is a time" },
        { "train.exit_every", config->train.exit_every, false,
          "steps, samples, tokens or epochs; train.stop_after is a time" },
        { "train.stop_after", config->train.stop_after, true,
          "a time such as 19h50m; train.stop_at is a number of steps" },
        { "hooks.timeout", config->hooks.timeout, true, "a time such as 10m" },
        { "parallel.timeout", config->parallel.timeout, true, "a time such as 10m" },
    };
    for (size_t i = 0; i < G_N_ELEMENTS(amounts); i++) {
        const Amount value = amounts[i].value;
        const bool fits = amounts[i].time ? value.unit == UNIT_SECONDS || value.value == 0
                                          : value.unit != UNIT_SECONDS && value.unit != UNIT_PERCENT;
        g_autofree char *text = amount_format(value);
        if (!fits)
            return fail_user(error, "%s: \"%s\" does not fit; write %s", amounts[i].name, text, amounts[i].advice);
    }
    return true;
}

bool config_check_run_control(const Config *config, GError **error)
{
    SavePhase phases[SAVE_PHASES];
    SkipRange ranges[SKIP_RANGES];
    int n;
    double date;
    return check_units(config, error) && config_save_phases(config, phases, &n, error) &&
           config_stop_date(config, &date, error) && config_skip_ranges(config, ranges, &n, error);
}
