#include "cli/prepare/cleaning.h"

#include "base/text.h"

#include <inttypes.h>

CleaningFlags cleaning_flags = { .max_line = -1, .max_mean = -1, .min_letters = -1, .ngram = 13, .share = 0.5 };

bool cleaning_is_given(void)
{
    const CleaningFlags *flags = &cleaning_flags;
    return flags->clean || flags->max_line >= 0 || flags->max_mean >= 0 || flags->min_letters >= 0 ||
           flags->licence_field || flags->licences || flags->exclude || flags->repeats;
}

static bool check_flags(const CleaningFlags *flags, GError **error)
{
    if (flags->max_line < -1 || flags->max_mean < -1 || flags->min_letters > 1)
        return fail_user(error,
                         "--max-line and --max-mean-line are numbers of characters, --min-letters a share up to 1");
    if (!flags->licence_field != !flags->licences)
        return fail_user(error,
                         "--licence-field and --licences belong together: the field, and the licences wanted in it");
    if (!flags->exclude && (flags->exclude_fields || flags->ngram != 13 || flags->share != 0.5))
        return fail_user(error, "--exclude-field, --exclude-ngram and --exclude-share are for --exclude");
    return (flags->ngram >= 2 && flags->ngram <= 1000 && flags->share > 0 && flags->share <= 1) ||
           fail_user(error, "--exclude-ngram wants 2 to 1000 words, --exclude-share a share above 0 and up to 1");
}

/* The value that the user gave to an option; without one, the value that --clean implies. */
static double value_or(double given, double clean)
{
    return given >= 0 ? given : cleaning_flags.clean ? clean : 0;
}

bool cleaning_options(CleaningRules *rules, PrepareOptions *options, GError **error)
{
    const CleaningFlags *flags = &cleaning_flags;
    if (!check_flags(flags, error))
        return false;
    *rules = (CleaningRules){ .generated = flags->clean,
                              .max_line = (int64_t)value_or((double)flags->max_line, 1000),
                              .max_mean = (int64_t)value_or((double)flags->max_mean, 100),
                              .min_letters = value_or(flags->min_letters, 0.25),
                              .repeats = flags->repeats,
                              .licence_field = flags->licence_field,
                              .licences = flags->licences ? text_list(flags->licences) : NULL };
    const OverlapOptions overlap = { .paths = flags->exclude,
                                     .fields = flags->exclude_fields,
                                     .delimiter = options->corpus.delimiter,
                                     .n = flags->ngram,
                                     .share = flags->share };
    if (flags->exclude && !(rules->overlap = overlap_open(&overlap, error)))
        return fail_context(error, "--exclude");
    if (rules->overlap && overlap_documents(rules->overlap) == 0)
        return fail_user(error, "--exclude: no document in %s", flags->exclude[0]);
    options->rules = cleaning_is_given() ? rules : NULL;
    return true;
}

void cleaning_clear(CleaningRules *rules)
{
    overlap_close((OverlapIndex *)rules->overlap);
    g_strfreev(rules->licences);
}

void print_dropped(const PrepareStats *stats, const PrepareOptions *options)
{
    for (int i = 0; i < DROPPED_REASONS; i++) {
        g_autofree char *count = text_grouped(stats->dropped[i]);
        if (stats->dropped[i] > 0)
            printf("documents dropped, since %s: %s\n", dropped_names[i].reason, count);
    }
    if (!options->rules || !options->rules->overlap)
        return;
    g_autofree char *count = text_grouped(overlap_documents(options->rules->overlap));
    printf("compared with %s documents of evaluation sets\n", count);
}

json_t *dropped_json(const PrepareStats *stats)
{
    json_t *dropped = json_object();
    for (int i = 0; i < DROPPED_REASONS; i++)
        if (stats->dropped[i] > 0)
            json_object_set_new(dropped, dropped_names[i].key, json_integer(stats->dropped[i]));
    return dropped;
}
