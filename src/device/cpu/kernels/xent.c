/* xent.c: cross-entropy and its gradient, a row of logits at a time. */
#include "device/cpu/kernels/rows.h"

enum {
    CHUNK = 1024
}; /* logits that are processed at a time; their terms are summed in f32, and these sums are added in double */

/* A row of logits of n classes. */
typedef struct Logits {
    Tensor t;
    int64_t row, n;
    float *terms; /* (n): e^(logit − max); the row itself where it is f32 */
} Logits;

/* Numbers [first, first + n) of the row, of which the buffer holds those that are not f32. */
static const float *read_chunk(const Logits *x, float *buffer, int64_t first, int64_t *n)
{
    *n = min_i64(CHUNK, x->n - first);
    return row_read(buffer, x->t, x->row, first, *n);
}

ONE_LOOP static float max_of(const float *x, int64_t n)
{
    float max = x[0];
#pragma omp simd reduction(max : max)
    for (int64_t j = 0; j < n; j++)
        max = x[j] > max ? x[j] : max;
    return max;
}

static float row_max(const Logits *x)
{
    float max = -INFINITY;
    for (int64_t first = 0, n; first < x->n; first += CHUNK) {
        ALIGNED float buffer[CHUNK];
        const float *in = read_chunk(x, buffer, first, &n);
        float most = max_of(in, n);
        max = first == 0 || most > max ? most : max;
    }
    return max;
}

static float logit(const Logits *x, int64_t j)
{
    float buffer;
    return *row_read(&buffer, x->t, x->row, j, 1);
}

/* Whether no class before the target has the same logit (ties go to the lowest class). */
static bool is_first(const Logits *x, int64_t target, float at_target)
{
    int64_t j = 0;
    while (j < target && logit(x, j) != at_target)
        j++;
    return j == target;
}

/* out = e^(in − max), whose sum is returned; out may be in. */
ONE_LOOP static float exp_terms(float *out, const float *in, int64_t n, float max)
{
    float sum = 0;
#pragma omp simd reduction(+ : sum)
    for (int64_t j = 0; j < n; j++) {
        float term = exp_f32(in[j] - max);
        out[j] = term;
        sum += term;
    }
    return sum;
}

/* Σ e^(logit − max); with `keep` the terms are kept. */
static double sum_exp(const Logits *x, float max, bool keep)
{
    double total = 0;
    for (int64_t first = 0, n; first < x->n; first += CHUNK) {
        ALIGNED float buffer[CHUNK], unread[CHUNK];
        const float *in = read_chunk(x, buffer, first, &n);
        total += (double)exp_terms(keep ? x->terms + first : unread, in, n, max);
    }
    return total;
}

ONE_LOOP static double sum_of(const float *x, int64_t n)
{
    double total = 0;
#pragma omp simd reduction(+ : total)
    for (int64_t j = 0; j < n; j++)
        total += (double)x[j];
    return total;
}

static double sum_plain(const Logits *x)
{
    double total = 0;
    for (int64_t first = 0, n; first < x->n; first += CHUNK) {
        ALIGNED float buffer[CHUNK];
        const float *in = read_chunk(x, buffer, first, &n);
        total += sum_of(in, n);
    }
    return total;
}

ONE_LOOP static void scale_terms(float *out, const float *terms, int64_t n, float factor, float base)
{
    SIMD for (int64_t j = 0; j < n; j++) out[j] = terms[j] * factor - base;
}

/* Replaces the row by factor · terms − base, and subtracts `less` at the target. */
static void write_gradient(const Logits *x, float factor, float base, int32_t target, float less)
{
    for (int64_t first = 0; first < x->n; first += CHUNK) {
        ALIGNED float buffer[CHUNK];
        int64_t n = min_i64(CHUNK, x->n - first);
        float *out = row_place(buffer, x->t, x->row, first);
        scale_terms(out, x->terms + first, n, factor, base);
        if (target >= first && target < first + n)
            out[target - first] -= less;
        row_write(x->t, x->row, first, n, out);
    }
}

/* What is known of a row's logits, or of those of some classes. */
typedef struct RowSums {
    float max, at_target; /* the largest logit; that of the target */
    double exp, plain;    /* Σ e^(logit − max); Σ logit, only with label smoothing */
    bool correct;         /* whether the target has the largest logit, and no class before it has it */
} RowSums;

/* The cross-entropy of a row over `classes` classes. With smoothing s the target distribution is 1 - s + s / classes at
 * the target and s / classes elsewhere. Returns log Z. */
static double row_stats(float *stats, const RowSums *sums, int64_t classes, float weight, const XentSpec *spec)
{
    double s = (double)spec->label_smoothing, off = s / (double)classes, at_target = (double)sums->at_target;
    double log_z = (double)sums->max + log(sums->exp);
    double plain = s == 0 ? 0 : sums->plain; /* a logit of -inf matters only with smoothing */
    double loss = log_z - (1 - s) * at_target - off * plain + (double)spec->z_loss * log_z * log_z;

    stats[XENT_LOSS] = (float)loss * weight;
    stats[XENT_NLL] = (float)(log_z - at_target) * weight;
    stats[XENT_CORRECT] = sums->correct ? weight : 0.0f;
    stats[XENT_WEIGHT] = weight;
    return log_z;
}

/* Replaces a row, whose terms are kept, by its gradient. target: index in the row; -1 means not in the row. */
static void row_gradient(const Logits *x, double exp_sum, double log_z, int64_t classes, int32_t target, float weight,
                         const XentSpec *spec)
{
    double s = (double)spec->label_smoothing, off = s / (double)classes;
    double scale = (double)weight * (double)spec->scale;
    float factor = (float)(scale * (1.0 + 2.0 * (double)spec->z_loss * log_z) / exp_sum);
    write_gradient(x, factor, (float)(scale * off), target, (float)(scale * (1 - s)));
}

/* The sums of a row that has the logits of all classes. */
static RowSums sum_row(const Logits *x, int32_t target, const XentSpec *spec)
{
    CHECK(target >= 0 && target < x->n, "target %d of row %lld among %lld classes", target, (long long)x->row,
          (long long)x->n);
    RowSums sums = { .max = row_max(x), .at_target = logit(x, target) };
    sums.correct = sums.at_target == sums.max && is_first(x, target, sums.max);
    sums.plain = spec->label_smoothing == 0 ? 0 : sum_plain(x);
    sums.exp = sum_exp(x, sums.max, spec->grad);
    return sums;
}

/* A row of weight 0: no loss and no gradient. */
static void row_of_zeros(float *stats, Tensor logits, int64_t row, bool grad)
{
    memset(stats, 0, XENT_STATS * sizeof *stats);
    if (grad)
        memset(row_address(logits, row, 0), 0, (size_t)logits.d[1] * dtype_bytes(logits.dtype));
}

void KERNEL(xent_part)(Device *dev, Tensor parts, Tensor logits, Tensor targets)
{
    int64_t n = logits.d[1];
    const int32_t *target = targets.p;
#pragma omp parallel for num_threads(team(dev, tensor_count(logits))) schedule(static)
    for (int64_t i = 0; i < logits.d[0]; i++) {
        Logits row = { logits, i, n, NULL };
        float *out = row_of(parts, i), max = row_max(&row);
        CHECK(target[i] >= -1 && target[i] < n, "target %d of row %lld among %lld classes", target[i], (long long)i,
              (long long)n);
        float at_target = target[i] < 0 ? 0 : logit(&row, target[i]);
        bool first = target[i] >= 0 && at_target == max && is_first(&row, target[i], max);
        out[XENT_PART_MAX] = max;
        out[XENT_PART_EXP] = max == -INFINITY ? 0 : (float)sum_exp(&row, max, false);
        out[XENT_PART_SUM] = (float)sum_plain(&row);
        out[XENT_PART_TARGET] = at_target;
        out[XENT_PART_FIRST] = first ? 1.0f : 0.0f;
    }
}

/* The sums of row `row` of n rows over all classes, from its parts. */
static RowSums join_parts(Tensor parts, int64_t row, int64_t n)
{
    RowSums sums = { .max = -INFINITY };
    bool found = false; /* a part with the largest logit came before */
    for (int64_t i = row; i < parts.d[0]; i += n) {
        float max = row_of(parts, i)[XENT_PART_MAX];
        sums.max = max > sums.max || isnan(max) ? max : sums.max;
    }
    for (int64_t i = row; i < parts.d[0]; i += n) {
        const float *part = row_of(parts, i);
        sums.exp +=
            part[XENT_PART_EXP] == 0 ? 0 : (double)part[XENT_PART_EXP] * exp((double)(part[XENT_PART_MAX] - sums.max));
        sums.plain += (double)part[XENT_PART_SUM];
        sums.at_target += part[XENT_PART_TARGET];
        sums.correct |= !found && part[XENT_PART_MAX] == sums.max && part[XENT_PART_FIRST] != 0;
        found |= part[XENT_PART_MAX] == sums.max;
    }
    return sums;
}

/* op_xent_join; op_xent if parts is NO_TENSOR. */
static void xent_rows(Device *dev, Tensor logits, Tensor stats, Tensor parts, Tensor targets, Tensor weights,
                      int64_t classes, const XentSpec *spec)
{
    const bool divided = tensor_present(parts);
    int64_t n = logits.d[1];
    const int32_t *target = targets.p;
    const float *weight = weights.p;
    char *buffers = cpu_workspace(dev, (size_t)dev->threads * row_bytes(n));
#pragma omp parallel for num_threads(team(dev, tensor_count(logits))) schedule(static)
    for (int64_t i = 0; i < logits.d[0]; i++) {
        float *buffer = (float *)(buffers + (size_t)omp_get_thread_num() * row_bytes(n)), *out = row_of(stats, i);
        if (weight[i] == 0.0f) {
            row_of_zeros(out, logits, i, spec->grad);
            continue;
        }
        Logits row = { logits, i, n, row_place(buffer, logits, i, 0) };
        RowSums sums = divided ? join_parts(parts, i, logits.d[0]) : sum_row(&row, target[i], spec);
        double log_z = row_stats(out, &sums, classes, weight[i], spec);
        if (spec->grad && divided)
            sum_exp(&row, sums.max, true);
        if (spec->grad)
            row_gradient(&row, sums.exp, log_z, classes, target[i], weight[i], spec);
    }
}

void KERNEL(xent)(Device *dev, Tensor logits, Tensor stats, Tensor targets, Tensor weights, const XentSpec *spec)
{
    xent_rows(dev, logits, stats, NO_TENSOR, targets, weights, logits.d[1], spec);
}

void KERNEL(xent_join)(Device *dev, Tensor logits, Tensor stats, Tensor parts, Tensor targets, Tensor weights,
                       int32_t classes, const XentSpec *spec)
{
    xent_rows(dev, logits, stats, parts, targets, weights, classes, spec);
}
