#include "data/epoch_plan.h"

#include "base/check.h"

#include <glib.h>
#include <inttypes.h>

/* Lengths are rounded to this many levels of the capacity; a capacity below it has a level for every token. */
#define MAX_LEVELS  1023
#define LEVEL_WORDS ((MAX_LEVELS + 64) / 64)
#define NONE        UINT32_MAX

/* The samples of a block that are not packed yet. A cell holds those of one encoder level and one decoder level. */
typedef struct Shelf {
    PackLength capacity;
    int64_t enc_levels, dec_levels;             /* levels of the capacity */
    int64_t counts[MAX_LEVELS + 1];             /* number of samples of an encoder level */
    uint64_t bits[MAX_LEVELS + 1][LEVEL_WORDS]; /* per encoder level: decoder levels that have samples */
    uint32_t *heads;     /* (enc_levels + 1, dec_levels + 1) first sample of a cell within the block, or NONE */
    uint32_t *next;      /* (PACK_BLOCK) next sample of the same cell */
    PackLength *lengths; /* (PACK_BLOCK) of the samples */
} Shelf;

static int64_t level_up(int64_t length, int64_t capacity, int64_t levels)
{
    return capacity == levels ? length : (length * levels + capacity - 1) / capacity;
}

static int64_t level_down(int64_t length, int64_t capacity, int64_t levels)
{
    return capacity == levels ? length : length * levels / capacity;
}

static uint32_t *cell(Shelf *shelf, int64_t enc, int64_t dec)
{
    return &shelf->heads[enc * (shelf->dec_levels + 1) + dec];
}

static Shelf *shelf_new(PackLength capacity, int64_t n)
{
    Shelf *shelf = g_new0(Shelf, 1);
    shelf->capacity = capacity;
    shelf->enc_levels = MIN(capacity.enc, MAX_LEVELS);
    shelf->dec_levels = MIN(capacity.dec, MAX_LEVELS);
    int64_t cells = (shelf->enc_levels + 1) * (shelf->dec_levels + 1);
    shelf->heads = g_new(uint32_t, cells);
    for (int64_t i = 0; i < cells; i++)
        shelf->heads[i] = NONE;
    shelf->next = g_new(uint32_t, MIN(n, PACK_BLOCK));
    shelf->lengths = g_new(PackLength, MIN(n, PACK_BLOCK));
    return shelf;
}

static void shelf_free(Shelf *shelf)
{
    g_free(shelf->heads);
    g_free(shelf->next);
    g_free(shelf->lengths);
    g_free(shelf);
}

static void shelf_put(Shelf *shelf, uint32_t sample, PackLength length)
{
    CHECK(length.enc >= 0 && length.enc <= shelf->capacity.enc && length.dec >= 0 && length.dec <= shelf->capacity.dec,
          "a sample of %" PRId64 " and %" PRId64 " tokens in packed sequences of %" PRId64 " and %" PRId64, length.enc,
          length.dec, shelf->capacity.enc, shelf->capacity.dec);
    int64_t enc = level_up(length.enc, shelf->capacity.enc, shelf->enc_levels);
    int64_t dec = level_up(length.dec, shelf->capacity.dec, shelf->dec_levels);
    uint32_t *head = cell(shelf, enc, dec);
    shelf->lengths[sample] = length;
    shelf->next[sample] = *head;
    *head = sample;
    shelf->counts[enc]++;
    shelf->bits[enc][dec / 64] |= 1ull << dec % 64;
}

/* The highest decoder level up to `limit` that has samples of an encoder level, or -1. */
static int64_t highest(const Shelf *shelf, int64_t enc, int64_t limit)
{
    for (int64_t word = limit / 64; word >= 0; word--) {
        uint64_t bits = shelf->bits[enc][word];
        if (word == limit / 64 && limit % 64 < 63)
            bits &= (2ull << limit % 64) - 1;
        if (bits)
            return word * 64 + 63 - __builtin_clzll(bits);
    }
    return -1;
}

/* How well a sample fits the free tokens. Both are vectors (encoder, decoder) in fractions of the capacity;
 * the score is |sample|² cos^64 of the angle between them: size as the only criterion would fill one stream and leave
 * the other one empty. An empty packed sequence gets the largest sample, which is the hardest to fit. */
static double score(const Shelf *shelf, int64_t enc, int64_t dec, double enc_free, double dec_free)
{
    double x = (double)enc / (double)shelf->enc_levels, y = (double)dec / (double)shelf->dec_levels;
    double dot = x * enc_free + y * dec_free, square = x * x + y * y;
    double cos2 = dot * dot / (square * (enc_free * enc_free + dec_free * dec_free));
    double cos4 = cos2 * cos2, cos16 = cos4 * cos4 * cos4 * cos4, cos32 = cos16 * cos16;
    if (enc_free >= 1 && dec_free >= 1)
        return x + y;
    return square * cos32 * cos32;
}

/* The cell with the best score for the free tokens, both in levels; false if no sample fits. For each encoder level two
 * cells are considered: the longest targets that fit, and the longest in proportion to the free tokens. */
static bool find_cell(const Shelf *shelf, PackLength free, PackLength *best)
{
    double enc_free = (double)free.enc / (double)MAX(shelf->enc_levels, 1), best_score = -1;
    double dec_free = (double)free.dec / (double)MAX(shelf->dec_levels, 1);
    for (int64_t enc = free.enc; enc >= 0; enc--) {
        if (shelf->counts[enc] == 0)
            continue;
        int64_t dec = highest(shelf, enc, free.dec);
        if (dec >= 0 && (shelf->enc_levels == 0 || shelf->dec_levels == 0)) {
            *best = (PackLength){ enc, dec };
            return true;
        }
        for (int i = 0; i < 2 && dec >= 0; i++) {
            double here = score(shelf, enc, dec, enc_free, dec_free);
            if (here > best_score) {
                best_score = here;
                *best = (PackLength){ enc, dec };
            }
            dec = highest(shelf, enc, free.enc > 0 ? MIN(dec, enc * free.dec / free.enc) : 0);
        }
    }
    return best_score >= 0;
}

/* Removes the sample with the best score for the free tokens and returns it; NONE if no sample fits. */
static uint32_t shelf_take(Shelf *shelf, PackLength free)
{
    const PackLength levels = { level_down(free.enc, shelf->capacity.enc, shelf->enc_levels),
                                level_down(free.dec, shelf->capacity.dec, shelf->dec_levels) };
    PackLength best;
    if (!find_cell(shelf, levels, &best))
        return NONE;
    uint32_t *head = cell(shelf, best.enc, best.dec), sample = *head;
    *head = shelf->next[sample];
    shelf->counts[best.enc]--;
    if (*head == NONE)
        shelf->bits[best.enc][best.dec / 64] &= ~(1ull << best.dec % 64);
    return sample;
}

/* Packs one sequence of at most `most` samples; returns their number. `first`: the number of the block's first one. */
static int64_t fill_packed(Shelf *shelf, int64_t first, int64_t most, uint32_t *samples)
{
    PackLength free = shelf->capacity;
    int64_t n = 0;
    for (uint32_t sample; n < most && (sample = shelf_take(shelf, free)) != NONE; n++) {
        free.enc -= shelf->lengths[sample].enc;
        free.dec -= shelf->lengths[sample].dec;
        samples[n] = (uint32_t)(first + sample);
    }
    return n;
}

PackPlan *pack_plan(int64_t n_samples, PackLength capacity, PackLengthFn length, const void *context, int64_t most)
{
    CHECK(n_samples >= 0 && n_samples <= UINT32_MAX, "%" PRId64 " samples", n_samples);
    PackPlan *plan = g_new0(PackPlan, 1);
    Shelf *shelf = shelf_new(capacity, n_samples);
    plan->n_samples = n_samples;
    plan->samples = g_new(uint32_t, n_samples);
    plan->starts = g_new0(int64_t, n_samples + 1);
    for (int64_t first = 0; first < n_samples; first += PACK_BLOCK) {
        int64_t end = MIN(first + PACK_BLOCK, n_samples);
        for (int64_t i = end - 1; i >= first; i--) { /* backwards, so that the first sample of a cell comes out first */
            PackLength tokens = length(context, i);
            shelf_put(shelf, (uint32_t)(i - first), tokens);
            plan->used.enc += tokens.enc;
            plan->used.dec += tokens.dec;
        }
        for (int64_t at = first; at < end;) {
            int64_t n = fill_packed(shelf, first, most > 0 ? most : INT64_MAX, plan->samples + at);
            at += n;
            plan->starts[++plan->n_packed] = at;
            plan->max_samples = MAX(plan->max_samples, n);
        }
    }
    plan->starts = g_renew(int64_t, plan->starts, plan->n_packed + 1);
    plan->all = (PackLength){ plan->n_packed * capacity.enc, plan->n_packed * capacity.dec };
    shelf_free(shelf);
    return plan;
}

void pack_free(PackPlan *plan)
{
    if (!plan)
        return;
    g_free(plan->starts);
    g_free(plan->samples);
    g_free(plan);
}
