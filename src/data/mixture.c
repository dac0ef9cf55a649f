#include "data/mixture.h"

#include "base/check.h"
#include "base/text.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#define MARK_EVERY   (1 << 16)
#define TENTHS       9         /* most decimal places with which weights are converted to integers exactly */
#define SMOOTH_PARTS (1 << 20) /* weights by temperature are multiples of 1 / SMOOTH_PARTS */

const char *const mixture_weights_names[] = { "shares", "epochs", "concat_weighted", NULL };

/* ---- the list ---- */

static bool add_part(Mixture *mixture, const char *part, bool alone, GError **error)
{
    const char *colon = alone ? NULL : strrchr(part, ':');
    char *end = NULL;
    double weight = colon ? g_ascii_strtod(colon + 1, &end) : 1;
    bool weighted = colon && end != colon + 1 && *end == '\0';
    if (mixture->n == 0)
        mixture->weighted = weighted;
    if (*part == '\0' || colon == part || !isfinite(weight) || (weighted && weight <= 0))
        return fail_user(error, "data.train: \"%s\" is not PREFIX:WEIGHT with a weight above 0", part);
    if (weighted != mixture->weighted)
        return fail_user(
            error,
            "data.train: \"%s\" has %s weight and \"%s\" has %s; either every dataset has a weight or none "
            "(PREFIX:WEIGHT)",
            mixture->paths[0], mixture->weighted ? "a" : "no", part, weighted ? "one" : "none");
    if (mixture->n == MIXTURE_MAX)
        return fail_user(error, "data.train: more than %d datasets", MIXTURE_MAX);
    mixture->paths[mixture->n] = weighted ? g_strndup(part, (gsize)(colon - part)) : g_strdup(part);
    mixture->given[mixture->n] = mixture->weights[mixture->n] = weighted ? weight : 1;
    mixture->n++;
    return true;
}

static int64_t greatest_divisor(int64_t a, int64_t b)
{
    while (b != 0) {
        int64_t rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

/* Sets the shares to weights * scale; false if one of these products is not an integer, up to rounding. */
static bool find_shares(Mixture *mixture, double scale)
{
    int64_t divisor = 0;
    mixture->period = 0;
    for (int k = 0; k < mixture->n; k++) {
        double scaled = mixture->weights[k] * scale, whole = rint(scaled);
        if (whole < 1 || whole > 0x1p53 || fabs(scaled - whole) > 0x1p-51 * whole)
            return false;
        mixture->shares[k] = (int64_t)whole;
        divisor = greatest_divisor((int64_t)whole, divisor);
    }
    for (int k = 0; k < mixture->n; k++)
        mixture->period += mixture->shares[k] /= divisor;
    return true;
}

static size_t counts_bytes(const Mixture *mixture)
{
    return (size_t)MAX(mixture->n, 1) * sizeof(int64_t);
}

/* Divides the weights by their sum, and sets the cache of mixture_at to index 0. */
static void start_mixture(Mixture *mixture)
{
    double scale = 1, total = 0;
    for (int places = 0; !find_shares(mixture, scale); places++, scale *= 10)
        if (places == TENTHS) {
            mixture->period = 0;
            break;
        }
    for (int k = 0; k < mixture->n; k++)
        total += mixture->weights[k];
    for (int k = 0; k < mixture->n; k++)
        mixture->weights[k] /= total;
    mixture->index = mixture->anchor = 0;
    memset(mixture->counts, 0, sizeof mixture->counts);
    g_clear_pointer(&mixture->marks, g_array_unref);
    mixture->marks = g_array_new(FALSE, FALSE, (guint)counts_bytes(mixture));
    g_array_append_vals(mixture->marks, mixture->counts, 1);
}

Mixture *mixture_parse(const char *text, GError **error)
{
    Mixture *mixture = g_new0(Mixture, 1);
    g_autofree char *list = language_weights_is(text) ? language_weights_list(text, false, error) : g_strdup(text);
    if (!list) {
        mixture_free(mixture);
        return NULL;
    }
    g_auto(GStrv) parts = text_list(list);
    bool alone = parts[0] == NULL || parts[1] == NULL, good = true;
    for (char **part = parts; good && *part; part++)
        good = add_part(mixture, *part, alone, error);
    if (good)
        start_mixture(mixture);
    else
        g_clear_pointer(&mixture, mixture_free);
    return mixture;
}

void mixture_free(Mixture *mixture)
{
    for (int k = 0; k < mixture->n; k++)
        g_free(mixture->paths[k]);
    g_clear_pointer(&mixture->marks, g_array_unref);
    g_free(mixture);
}

/* ---- the weights ---- */

/* Sets the shares so that an epoch of the mixture has ceil(weight * packed) packed sequences of each dataset. */
static int64_t weigh_by_epochs(Mixture *mixture, const int64_t packed[])
{
    int64_t epoch = 0;
    for (int k = 0; k < mixture->n; k++) {
        mixture->weights[k] = ceil(mixture->given[k] * (double)packed[k]);
        epoch += (int64_t)mixture->weights[k];
    }
    return epoch;
}

/* ConcatWeightedDataset: with Z = min over datasets of packed / weight, an epoch has floor(weight * Z) of each. A
 * dataset that would get none gets one. */
static int64_t weigh_by_smallest(Mixture *mixture, const int64_t packed[])
{
    double z = INFINITY;
    int64_t epoch = 0;
    for (int k = 0; k < mixture->n; k++)
        z = MIN(z, (double)packed[k] / mixture->weights[k]);
    for (int k = 0; k < mixture->n; k++) {
        mixture->weights[k] = MAX(floor(mixture->weights[k] * z), 1);
        epoch += (int64_t)mixture->weights[k];
    }
    return epoch;
}

static bool smooths(const MixtureRule *rule)
{
    return rule->temperature > 0 && rule->temperature != 1;
}

/* T5's rule: weights proportional to min(size, cap)^(1 / temperature). */
static void weigh_by_size(Mixture *mixture, const MixtureRule *rule, const int64_t packed[], const int64_t tokens[])
{
    const int64_t *sizes = rule->cap.unit == UNIT_TOKENS && rule->cap.value > 0 ? tokens : packed;
    double total = 0;
    for (int k = 0; k < mixture->n; k++) {
        double size = (double)sizes[k];
        if (rule->cap.value > 0)
            size = MIN(size, rule->cap.value);
        mixture->weights[k] = smooths(rule) ? pow(size, 1 / rule->temperature) : size;
        total += mixture->weights[k];
    }
    for (int k = 0; smooths(rule) && k < mixture->n; k++)
        mixture->weights[k] = MAX(1, rint(mixture->weights[k] / total * SMOOTH_PARTS));
}

bool mixture_check(const Mixture *mixture, const MixtureRule *rule, GError **error)
{
    return !mixture->weighted || (!smooths(rule) && rule->cap.value == 0) ||
           fail_user(error, "data.mixture_temperature and data.mixture_cap are for datasets without weights; "
                            "data.train gives them");
}

int64_t mixture_weigh(Mixture *mixture, const MixtureRule *rule, const int64_t packed[], const int64_t tokens[])
{
    int64_t epoch = 0;
    for (int k = 0; k < mixture->n; k++)
        epoch += packed[k];
    if (!mixture->weighted)
        weigh_by_size(mixture, rule, packed, tokens);
    else if (rule->weights == MIXTURE_EPOCHS)
        epoch = weigh_by_epochs(mixture, packed);
    else if (rule->weights == MIXTURE_CONCAT_WEIGHTED)
        epoch = weigh_by_smallest(mixture, packed);
    start_mixture(mixture);
    return epoch;
}

/* ---- the order ---- */

/* Advances the state by one packed sequence and returns the dataset that provides it. */
static int step_mixture(Mixture *mixture)
{
    double taken = (double)MAX(mixture->index, 1), most = -INFINITY;
    int best = 0;
    for (int k = 0; k < mixture->n; k++) {
        double behind = mixture->weights[k] * taken - (double)mixture->counts[k];
        if (behind > most) {
            most = behind;
            best = k;
        }
    }
    mixture->index++;
    mixture->counts[best]++;
    if (mixture->index - mixture->anchor == (int64_t)mixture->marks->len * MARK_EVERY)
        g_array_append_vals(mixture->marks, mixture->counts, 1);
    return best;
}

/* The last index at or before i where every dataset has had exactly its share so far. Let d_k = weight_k * index -
 * counts_k; the sum of all d_k is 0. The dataset that is taken has the largest d_k: d_k >= 0 before and > -1 after it,
 * and none ever gets below. After whole periods all d_k are integers, so none is negative, and all are 0 as their sum
 * is. Rounding changes a d_k by less than i * (n + 8) * 2^-53, which must stay below the smallest weight. */
static int64_t anchor_before(const Mixture *mixture, int64_t i)
{
    double least = 1;
    if (mixture->period == 0)
        return 0;
    for (int k = 0; k < mixture->n; k++)
        least = MIN(least, mixture->weights[k]);
    return (double)i * (mixture->n + 8) * 0x1p-52 < least ? i - i % mixture->period : 0;
}

static void go_to_anchor(Mixture *mixture, int64_t anchor)
{
    for (int k = 0; k < mixture->n; k++)
        mixture->counts[k] = anchor > 0 ? anchor / mixture->period * mixture->shares[k] : 0;
    mixture->index = mixture->anchor = anchor;
    g_array_set_size(mixture->marks, 0);
    g_array_append_vals(mixture->marks, mixture->counts, 1);
}

/* Moves the state to the nearest index at or before i whose counts are known. */
static void approach(Mixture *mixture, int64_t i)
{
    if (i >= mixture->index && i - mixture->index <= MARK_EVERY)
        return;
    int64_t anchor = anchor_before(mixture, i);
    if (anchor != mixture->anchor)
        go_to_anchor(mixture, anchor);
    int64_t mark = MIN((i - anchor) / MARK_EVERY, (int64_t)mixture->marks->len - 1), at = anchor + mark * MARK_EVERY;
    if (i >= mixture->index && at <= mixture->index)
        return;
    mixture->index = at;
    memcpy(mixture->counts, mixture->marks->data + (size_t)mark * counts_bytes(mixture), counts_bytes(mixture));
}

int mixture_at(Mixture *mixture, int64_t i, int64_t *within)
{
    int chosen = 0;
    CHECK(i >= 0 && mixture->n > 0, "packed sequence %" PRId64 " of %d datasets", i, mixture->n);
    if (mixture->n == 1) {
        *within = i;
        return 0;
    }
    approach(mixture, i);
    while (mixture->index <= i)
        chosen = step_mixture(mixture);
    *within = mixture->counts[chosen] - 1;
    return chosen;
}
