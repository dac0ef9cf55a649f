#include "cli/print_score.h"

#include "base/log.h"
#include "base/text.h"
#include "cli/cli.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

/* Indexed by ScoreTakes: the end of the message about predictions that are invalid for a score. */
static const char *const invalid_names[] = { "too long or deep to be parsed, or their references are",
                                             "labels that no reference has", "no numbers, and count as -1",
                                             "no tags, and count as O", "none" };

static void print_lines(const ScoreKind *kind, const ScoreResult *result)
{
    for (int i = 0; i < result->n_values; i++) {
        const ScoreValue *value = &result->values[i];
        const char *name = i == 0 ? kind->name : "";
        const int over = MAX((int)strlen(name) - 13, 0); /* a long name uses some of the next column's width */
        g_autofree char *text = text_fixed(value->value, 4), *low = text_fixed(value->low, 4),
                        *high = text_fixed(value->high, 4);
        printf("%-13s %-*s %10s", name, 23 - over, value->name, text);
        if (!isnan(value->low))
            printf("   %s to %s", low, high);
        putchar('\n');
    }
    if (result->signature)
        printf("%-13s %s\n", "", result->signature);
}

static bool print_object(const ScoreKind *kind, const ScoreResult *result, GError **error)
{
    json_t *object = json_pack("{s:s, s:I, s:I}", "name", kind->name, "examples", (json_int_t)result->n_units,
                               "invalid", (json_int_t)result->n_invalid);
    for (int i = 0; i < result->n_values; i++)
        json_object_set_new(object, result->values[i].name, json_finite(result->values[i].value));
    if (result->intervals) {
        json_t *intervals = json_object();
        for (int i = 0; i < result->n_values; i++)
            json_object_set_new(
                intervals, result->values[i].name,
                json_pack("[o, o]", json_finite(result->values[i].low), json_finite(result->values[i].high)));
        json_object_set_new(object, "intervals", intervals);
    }
    if (result->signature)
        json_object_set_new(object, "signature", json_string(result->signature));
    return print_json_line(object, error);
}

bool print_score(const ScoreKind *kind, const ScoreResult *result, bool as_json, GError **error)
{
    bool good = true;
    if (as_json)
        good = print_object(kind, result, error);
    else
        print_lines(kind, result);
    if (result->n_invalid > 0)
        log_warning("%s: %" PRId64 " predictions are %s", kind->name, result->n_invalid, invalid_names[kind->takes]);
    return good;
}
