/* batch.c: samples per step (BatchSchedule), which train.batch_rampup or train.batch_schedule change during a run. */
#include "run/config/config.h"

#include <inttypes.h>
#include <string.h>

#define MOST_INCREMENTS 1000000
#define MOST_SAMPLES    1000000000000 /* largest number of samples per step; the limit of train.batch too */
#define FAR             1000000000000000000

/* ---- reading ---- */

/* One number of an option's text, with its unit: "250B tokens". */
typedef struct Item {
    double value;
    AmountUnit unit;
    bool has_unit;
} Item;

/* Reads numbers with optional units, separated by spaces, commas or colons. Returns their number; -1 if the text has
 * anything else in it, or more than `most` numbers. */
static int read_items(const char *text, Item *items, int most)
{
    static const char separators[] = " ,:";
    int n = 0;
    for (const char *p = text + strspn(text, separators); *p; p += strspn(p, separators), n++) {
        if (n == most || !amount_scan_number(&items[n].value, &p))
            return -1;
        p += strspn(p, " ");
        size_t letters = strspn(p, "abcdefghijklmnopqrstuvwxyz");
        g_autofree char *word = g_strndup(p, letters), *amount = g_strconcat("1 ", word, NULL);
        Amount one = { 0 };
        if ((letters > 0 && !amount_parse(&one, amount, NULL)) || items[n].value != floor(items[n].value) ||
            items[n].value > (double)FAR)
            return -1;
        items[n].unit = one.unit;
        items[n].has_unit = letters > 0;
        p += letters;
    }
    return n;
}

/* The item as a batch in samples; a number without a unit counts samples. 0 if the item is not a valid batch. */
static int64_t batch_of(const Config *config, Item item)
{
    double samples = item.unit == UNIT_TOKENS ? floor(item.value / (double)config->data.input_length) : item.value;
    bool fits = !item.has_unit || item.unit == UNIT_SAMPLES || item.unit == UNIT_TOKENS;
    return fits && samples <= MOST_SAMPLES ? (int64_t)samples : 0;
}

static bool read_ramp(const Config *config, BatchSchedule *batches, GError **error)
{
    const char *text = config->train.batch_rampup;
    Item items[3];
    if (read_items(text, items, 3) != 3 || batch_of(config, items[0]) < 1 || batch_of(config, items[1]) < 1 ||
        (items[2].has_unit && items[2].unit != UNIT_SAMPLES && items[2].unit != UNIT_TOKENS) || items[2].value < 1)
        return fail_user(error,
                         "train.batch_rampup: \"%s\": write the first batch, the increment and the samples over which "
                         "it grows to train.batch, such as \"16 16 5M samples\"",
                         text);
    const int64_t start = batch_of(config, items[0]), increment = batch_of(config, items[1]);
    const int64_t way = batches->largest - start;
    if (way < 0 || way % increment != 0 || way / increment > MOST_INCREMENTS)
        return fail_user(error,
                         "train.batch_rampup: from %" PRId64 " samples in steps of %" PRId64
                         " the batch does not reach the %" PRId64 " of train.batch",
                         start, increment, batches->largest);
    if (way == 0)
        return true;
    batches->smallest = batches->start = start;
    batches->increment = increment;
    batches->ramp = items[2].unit == UNIT_TOKENS ? (int64_t)ceil(items[2].value / (double)config->data.input_length)
                                                 : (int64_t)items[2].value;
    return true;
}

/* Reads train.batch_schedule, such as "0:768 250B:1536" (from 0 tokens a batch of 768, from 250 billion one of 1536). A
 * threshold without a unit counts tokens, as in Megatron-LM. */
static bool read_stages(const Config *config, BatchSchedule *batches, bool count_tokens, GError **error)
{
    const char *text = config->train.batch_schedule;
    Item items[2 * BATCH_STAGES];
    const int n = read_items(text, items, 2 * BATCH_STAGES);
    bool good = n >= 2 && n % 2 == 0 && items[0].value == 0;
    batches->largest = 0;
    batches->smallest = INT64_MAX;
    for (int i = 0; good && i < n / 2; i++) {
        const Item from = items[2 * i];
        const bool tokens = !from.has_unit || from.unit == UNIT_TOKENS;
        BatchStage *stage = &batches->stages[i];
        *stage = (BatchStage){ .from = (int64_t)from.value, .samples = batch_of(config, items[2 * i + 1]) };
        if (tokens && !count_tokens)
            stage->from /= config->data.input_length;
        batches->in_tokens = i == 1 ? tokens && count_tokens : batches->in_tokens;
        good = stage->samples >= 1 && (tokens || from.unit == UNIT_SAMPLES) &&
               (i < 2 || batches->in_tokens == (tokens && count_tokens)) && (i == 0 || stage->from > stage[-1].from);
        batches->largest = MAX(batches->largest, stage->samples);
        batches->smallest = MIN(batches->smallest, stage->samples);
    }
    batches->n = n / 2;
    return good || fail_user(error,
                             "train.batch_schedule: \"%s\": write up to %d pairs FROM:BATCH with growing FROM, all in "
                             "tokens or all in samples, such as \"0:768 250B tokens:1536\"; the first FROM is 0",
                             text, BATCH_STAGES);
}

bool config_batch_schedule(const Config *config, bool count_tokens, BatchSchedule *batches, GError **error)
{
    const TrainConfig *train = &config->train;
    const bool ramps = train->batch_rampup && *train->batch_rampup,
               stages = train->batch_schedule && *train->batch_schedule;
    double samples = train->batch.value;
    if (train->batch.unit == UNIT_TOKENS)
        samples /= (double)config->data.input_length;
    *batches = (BatchSchedule){ .largest = MAX(1, (int64_t)samples), .input_length = config->data.input_length };
    batches->smallest = batches->largest;
    if (ramps && stages)
        return fail_user(error, "train.batch_rampup and train.batch_schedule exclude each other: set one of them");
    return (!ramps || read_ramp(config, batches, error)) &&
           (!stages || read_stages(config, batches, count_tokens, error));
}

/* ---- the batch of a step ---- */

bool batch_varies(const BatchSchedule *batches)
{
    return batches->smallest < batches->largest;
}

int64_t batch_listed(const BatchSchedule *batches, int64_t i)
{
    const int64_t ramped = batches->start + batches->increment * (i - 1);
    if (i == 0)
        return batches->largest;
    if (batches->ramp > 0)
        return ramped < batches->largest ? ramped : 0;
    return i <= batches->n ? batches->stages[i - 1].samples : 0;
}

/* Increments after `samples` samples, as in Megatron-LM: floor(samples / (ramp / n)) of n; ramp / n may be real. */
static int64_t increments_at(const BatchSchedule *batches, int64_t samples)
{
    const int64_t n = (batches->largest - batches->start) / batches->increment;
    return (int64_t)((double)samples / ((double)batches->ramp / (double)n));
}

int64_t batch_at(const BatchSchedule *batches, int64_t samples, int64_t tokens)
{
    const int64_t now = batches->in_tokens ? tokens : samples;
    int64_t batch = batches->largest;
    if (batches->ramp > 0 && samples <= batches->ramp)
        batch = MIN(batch, batches->start + batches->increment * increments_at(batches, samples));
    for (int i = 0; i < batches->n && now >= batches->stages[i].from; i++)
        batch = batches->stages[i].samples;
    return batch;
}

bool batch_check_ranks(const BatchSchedule *batches, int64_t samples, int64_t tokens, int64_t data, GError **error)
{
    const int64_t least = batches->n > 0 ? batches->smallest : batch_at(batches, samples, tokens);
    const char *option = batches->n > 0            ? "train.batch_schedule"
                         : batches->ramp == 0      ? "train.batch"
                         : data > batches->largest ? "train.batch"
                                                   : "train.batch_rampup";
    return least >= data || fail_user(error,
                                      "%" PRId64 " data-parallel ranks for a batch of %" PRId64
                                      " samples: some would have none; start at most %" PRId64 ", or set %s",
                                      data, least, least, option);
}

/* Samples after which stage i begins; a start in tokens is divided by input_length tokens per sample and rounded up. */
static int64_t stage_start(const BatchSchedule *batches, int i)
{
    const int64_t from = batches->stages[i].from, length = batches->in_tokens ? batches->input_length : 1;
    return from / length + (from % length > 0);
}

/* The first number of samples above `samples` at which the batch may change. */
static int64_t next_change(const BatchSchedule *batches, int64_t samples)
{
    const int64_t n = batches->ramp > 0 ? (batches->largest - batches->start) / batches->increment : 0,
                  grown = n > 0 ? increments_at(batches, samples) : 0;
    if (samples <= batches->ramp && grown < n) {
        int64_t next = MAX(samples + 1, (int64_t)((double)batches->ramp / (double)n * (double)(grown + 1)));
        while (next <= batches->ramp && increments_at(batches, next) <= grown)
            next++;
        return next;
    }
    for (int i = 0; i < batches->n; i++)
        if (stage_start(batches, i) > samples)
            return stage_start(batches, i);
    return FAR;
}

int64_t batch_lasts(const BatchSchedule *batches, int64_t samples, int64_t tokens)
{
    const int64_t batch = batch_at(batches, samples, tokens), next = next_change(batches, samples);
    int64_t way = next < FAR ? next - samples : INT64_MAX;
    if (batches->in_tokens) {
        int i = 0;
        while (i < batches->n && batches->stages[i].from <= tokens)
            i++;
        way = i < batches->n ? (batches->stages[i].from - tokens - 1) / batches->input_length + 1 : INT64_MAX;
    }
    return way < INT64_MAX ? (way - 1) / batch + 1 : INT64_MAX;
}

int64_t batch_after(const BatchSchedule *batches, int64_t samples)
{
    return batch_at(batches, samples, samples < FAR / batches->input_length ? samples * batches->input_length : FAR);
}

/* Advances *samples step by step to at least `samples_end`, by at most `most` steps. Returns the number of steps. */
static int64_t walk(const BatchSchedule *batches, int64_t *samples, int64_t samples_end, int64_t most)
{
    int64_t steps = 0;
    samples_end = MIN(samples_end, FAR);
    while (*samples < samples_end && steps < most) {
        const int64_t batch = batch_after(batches, *samples),
                      way = MIN(next_change(batches, *samples), samples_end) - *samples;
        const int64_t n = MIN(way / batch + (way % batch > 0), most - steps);
        *samples += n * batch;
        steps += n;
    }
    return steps;
}

int64_t batch_steps(const BatchSchedule *batches, int64_t first, int64_t end, bool whole)
{
    const int64_t steps = walk(batches, &first, end, INT64_MAX);
    return steps - (whole && steps > 0 && first > end);
}

int64_t batch_samples(const BatchSchedule *batches, int64_t first, int64_t steps)
{
    walk(batches, &first, FAR, steps);
    return first;
}

int64_t batch_last_change(const BatchSchedule *batches)
{
    int64_t samples = 0, steps = 0;
    for (int64_t next; (next = next_change(batches, samples)) < FAR;)
        steps += walk(batches, &samples, next, INT64_MAX);
    return steps;
}
