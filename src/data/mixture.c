#include "data/mixture.h"

#include "base/check.h"

#include <math.h>
#include <string.h>

static bool add_part(Mixture *mixture, const char *part, bool alone, GError **error)
{
    const char *colon = strrchr(part, ':');
    char *end = NULL;
    double weight = colon ? g_ascii_strtod(colon + 1, &end) : 1;
    bool weighted = colon && end != colon + 1 && *end == '\0';
    if (!alone && (!weighted || colon == part || !isfinite(weight) || weight <= 0))
        return fail_user(error, "data.train: \"%s\" is not PREFIX:WEIGHT with a weight above 0", part);
    if (mixture->n == MIXTURE_MAX)
        return fail_user(error, "data.train: more than %d datasets", MIXTURE_MAX);
    mixture->paths[mixture->n] = alone ? g_strdup(part) : g_strndup(part, (gsize)(colon - part));
    mixture->weights[mixture->n++] = alone ? 1 : weight;
    return true;
}

Mixture *mixture_parse(const char *text, GError **error)
{
    Mixture *mixture = g_new0(Mixture, 1);
    g_auto(GStrv) parts = g_strsplit(text, ",", -1);
    bool alone = parts[0] == NULL || parts[1] == NULL, good = true;
    double total = 0;
    for (char **part = parts; good && *part; part++)
        good = add_part(mixture, g_strstrip(*part), alone, error);
    for (int k = 0; k < mixture->n; k++)
        total += mixture->weights[k];
    for (int k = 0; k < mixture->n; k++)
        mixture->weights[k] /= total;
    if (!good)
        g_clear_pointer(&mixture, mixture_free);
    return mixture;
}

void mixture_free(Mixture *mixture)
{
    for (int k = 0; k < mixture->n; k++)
        g_free(mixture->paths[k]);
    g_free(mixture);
}

static int step(Mixture *mixture)
{
    double rows = (double)MAX(mixture->index, 1), most = -INFINITY;
    int best = 0;
    for (int k = 0; k < mixture->n; k++) {
        double behind = mixture->weights[k] * rows - (double)mixture->counts[k];
        if (behind > most) {
            most = behind;
            best = k;
        }
    }
    mixture->index++;
    mixture->counts[best]++;
    return best;
}

/* Walks from where the last call stood, or from the beginning: nanoseconds a row. */
int mixture_at(Mixture *mixture, int64_t row, int64_t *within)
{
    int chosen = 0;
    CHECK(row >= 0 && mixture->n > 0, "row %ld of %d datasets", row, mixture->n);
    if (mixture->n == 1) {
        *within = row;
        return 0;
    }
    if (row < mixture->index) {
        mixture->index = 0;
        memset(mixture->counts, 0, sizeof mixture->counts);
    }
    while (mixture->index <= row)
        chosen = step(mixture);
    *within = mixture->counts[chosen] - 1;
    return chosen;
}
