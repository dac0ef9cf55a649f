/* optim.c: the optimizers' updates, in as few passes over memory as their formulas allow. */
#include "device/cpu/kernels/fold.h"

#include <math.h>

/* Root mean square of a tensor of `count` elements, of which `squares` (1) is the sum of squares. */
static double rms(Tensor squares, int64_t count)
{
    return sqrt(*(const double *)squares.p / (double)max_i64(count, 1));
}

typedef struct AdamwStep {
    float clip, beta1, new1, beta2, new2, keep, step, denominator_scale, eps; /* new: 1 - beta, exact to f32 */
} AdamwStep;

/* m̂/(√v̂ + eps) as m/(√v·denominator_scale + eps), its bias correction in `step`. */
static void adamw_run(float *w, float *m, float *v, const float *g, int64_t n, AdamwStep s)
{
    SIMD for (int64_t i = 0; i < n; i++)
    {
        float d = g[i] * s.clip;
        m[i] = s.beta1 * m[i] + s.new1 * d;
        v[i] = s.beta2 * v[i] + s.new2 * d * d;
        w[i] = w[i] * s.keep - s.step * m[i] / (sqrtf(v[i]) * s.denominator_scale + s.eps);
    }
}

/* Plain: torch's AdamW. With RMS scaling the bias corrections act on the step alone, not on eps (nanoT5's AdamWScale).
 */
void KERNEL(adamw)(Device *dev, Tensor w, Tensor m, Tensor v, Tensor g, Tensor squares, const AdamwSpec *spec,
                   const StepScalars *scalars)
{
    double t = (double)scalars->update, lr = (double)scalars->lr;
    double correction1 = 1 - pow(spec->beta1, t), correction2 = sqrt(1 - pow(spec->beta2, t)), step = lr / correction1;
    if (spec->scale_by_rms)
        step *= correction2 * fmax(1e-3, rms(squares, spec->count));
    AdamwStep s = { .clip = scalars->clip,
                    .beta1 = (float)spec->beta1,
                    .new1 = (float)(1 - spec->beta1),
                    .beta2 = (float)spec->beta2,
                    .new2 = (float)(1 - spec->beta2),
                    .keep = (float)(1 - lr * spec->weight_decay),
                    .step = (float)step,
                    .denominator_scale = spec->scale_by_rms ? 1.0f : (float)(1 / correction2),
                    .eps = (float)spec->eps };
    Runs runs = runs_of((const Tensor[]){ w, m, v, g }, 4);
#pragma omp parallel for num_threads(team(dev, runs.work)) schedule(static)
    for (int64_t i = 0; i < runs.n; i++)
        adamw_run(run_start(runs, w, i), run_start(runs, m, i), run_start(runs, v, i), run_start(runs, g, i),
                  run_length(runs, i), s);
}

/* The moments of Adafactor take a pass over g; so does the size of u = g / √(second moment), which is not stored but
 * computed again by the last pass. u(i, c) = g · row_factor[i] · col_factor[c] where factored, else g / √v. */
typedef struct Update {
    Tensor w, v, m, g;
    const float *row_factor, *col_factor; /* NULL: not factored */
    float clip, beta2, new2, eps1;        /* new: 1 - beta, exact to f32 */
    float keep, step, beta1, new1;        /* w = keep·w − step·u, momentum over step·u */
} Update;

static Update update_begin(Tensor g, Tensor v, const AdafactorSpec *spec, const StepScalars *scalars)
{
    double t = (double)(scalars->update + spec->step_offset);
    return (Update){ .v = v,
                     .g = g,
                     .clip = scalars->clip,
                     .beta2 = (float)(1 - pow(t, -spec->decay_rate)),
                     .new2 = (float)pow(t, -spec->decay_rate),
                     .eps1 = (float)spec->eps1 };
}

/* row_mean[i] = mean over columns of (clip·g)² for the calling thread's rows; the fold takes their column sums. */
static void square_rows(const Update *a, float *row_mean, Fold fold)
{
    Range rows = share(a->g.d[0], 1);
    float *part = fold_begin(fold);
    for (int64_t i = rows.begin; i < rows.end; i++) {
        const float *g = row_of(a->g, i);
        float sum = 0;
#pragma omp simd reduction(+ : sum)
        for (int64_t c = 0; c < fold.n; c++) {
            float square = g[c] * a->clip * (g[c] * a->clip);
            part[c] += square;
            sum += square;
        }
        row_mean[i] = sum / (float)fold.n;
        fold_row(fold, part, i, rows);
    }
}

/* Moves row towards the means of g² + eps1; adds the sum of the new row to row_sum and the columns' Σ g² to col_sums.
 */
static void row_moments(Device *dev, const Update *a, Tensor row, Tensor col_sums, double *row_sum)
{
    int64_t n_rows = a->g.d[0], n_cols = a->g.d[1];
    int size = team(dev, tensor_count(a->g));
    size_t bytes = fold_bytes(n_cols, size);
    Fold fold = { cpu_workspace(dev, bytes + (size_t)n_rows * sizeof(float)), n_cols };
    float *r = row.p, *row_mean = (float *)(fold.memory + bytes);
    double *columns = col_sums.p, total = 0;
#pragma omp parallel num_threads(size)
    square_rows(a, row_mean, fold);
    for (int64_t i = 0; i < n_rows; i++) {
        r[i] = a->beta2 * r[i] + a->new2 * (row_mean[i] + a->eps1);
        total += (double)r[i];
    }
    *row_sum += total;
    for (int64_t j = 0; j < n_cols; j++)
        columns[j] += fold_total(fold, j, size);
}

static void full_moments(Device *dev, const Update *a)
{
    float clip = a->clip, beta2 = a->beta2, new2 = a->new2, eps1 = a->eps1;
#pragma omp parallel for num_threads(team(dev, tensor_count(a->g))) schedule(static)
    for (int64_t i = 0; i < tensor_rows(a->g); i++) {
        float *v = row_of(a->v, i);
        const float *g = row_of(a->g, i);
        SIMD for (int64_t c = 0; c < tensor_cols(a->g); c++) v[c] =
            beta2 * v[c] + new2 * (g[c] * clip * (g[c] * clip) + eps1);
    }
}

void KERNEL(adafactor_moments)(Device *dev, Tensor row, Tensor col_sums, Tensor row_sum, Tensor v, Tensor g,
                               const AdafactorSpec *spec, const StepScalars *scalars)
{
    Update a = update_begin(g, v, spec, scalars);
    if (tensor_present(row))
        row_moments(dev, &a, row, col_sums, row_sum.p);
    else
        full_moments(dev, &a);
}

void KERNEL(adafactor_columns)(Device *dev, Tensor col, Tensor col_sums, const AdafactorSpec *spec,
                               const StepScalars *scalars)
{
    (void)dev;
    Update a = update_begin(NO_TENSOR, NO_TENSOR, spec, scalars);
    const double *sums = col_sums.p;
    float *c = col.p;
    for (int64_t j = 0; j < col.d[0]; j++)
        c[j] = a.beta2 * c[j] + a.new2 * ((float)(sums[j] / (double)spec->rows) + a.eps1);
}

/* The factors of u, where it is factored, in the workspace, which has one f64 for each thread before them. */
static double *factors(Device *dev, Update *a, Tensor row, Tensor col, Tensor row_sum, const AdafactorSpec *spec)
{
    int64_t n_rows = tensor_count(row), n_cols = tensor_count(col);
    size_t bytes = align64((size_t)dev->threads * sizeof(double)), row_bytes = align64((size_t)n_rows * sizeof(float));
    char *workspace = cpu_workspace(dev, bytes + row_bytes + (size_t)n_cols * sizeof(float));
    float *row_factor = (float *)(workspace + bytes), *col_factor = (float *)(workspace + bytes + row_bytes);
    const float *r = row.p, *c = col.p;
    double mean_row = tensor_present(row) ? *(const double *)row_sum.p / (double)spec->rows : 1;
    for (int64_t i = 0; i < n_rows; i++)
        row_factor[i] = (float)(1 / sqrt((double)r[i] / mean_row));
    for (int64_t j = 0; j < n_cols; j++)
        col_factor[j] = 1.0f / sqrtf(c[j]);
    a->row_factor = tensor_present(row) ? row_factor : NULL;
    a->col_factor = col_factor;
    return (double *)workspace;
}

/* u of row i, for columns [first, first + n). */
static void update_of(float *u, const Update *a, int64_t i, int64_t first, int64_t n)
{
    const float *g = row_of(a->g, i) + first;
    if (a->row_factor) {
        const float *col = a->col_factor + first;
        float factor = a->row_factor[i] * a->clip;
        SIMD for (int64_t c = 0; c < n; c++) u[c] = g[c] * factor * col[c];
        return;
    }
    const float *v = row_of(a->v, i) + first;
    SIMD for (int64_t c = 0; c < n; c++) u[c] = g[c] * a->clip / sqrtf(v[c]);
}

enum { CHUNK = 512 };

static double update_sumsq(Device *dev, const Update *a, double *partial)
{
    int64_t cols = tensor_cols(a->g);
    int size = team(dev, tensor_count(a->g));
    double total = 0;
#pragma omp parallel num_threads(size)
    {
        Range rows = share(tensor_rows(a->g), 1);
        double sum = 0;
        for (int64_t i = rows.begin; i < rows.end; i++)
            for (int64_t first = 0; first < cols; first += CHUNK) {
                float u[CHUNK], part = 0;
                int64_t n = min_i64(CHUNK, cols - first);
                update_of(u, a, i, first, n);
#pragma omp simd reduction(+ : part)
                for (int64_t c = 0; c < n; c++)
                    part += u[c] * u[c];
                sum += (double)part;
            }
        partial[omp_get_thread_num()] = sum;
    }
    for (int t = 0; t < size; t++)
        total += partial[t];
    return total;
}

static void apply_update(Device *dev, const Update *a)
{
    int64_t cols = tensor_cols(a->g);
#pragma omp parallel for num_threads(team(dev, tensor_count(a->g))) schedule(static)
    for (int64_t i = 0; i < tensor_rows(a->g); i++)
        for (int64_t first = 0; first < cols; first += CHUNK) {
            float u[CHUNK], *w = row_of(a->w, i) + first;
            int64_t n = min_i64(CHUNK, cols - first);
            update_of(u, a, i, first, n);
            if (a->beta1 > 0) {
                float *m = row_of(a->m, i) + first;
                SIMD for (int64_t c = 0; c < n; c++)
                {
                    m[c] = a->beta1 * m[c] + a->new1 * a->step * u[c];
                    w[c] = w[c] * a->keep - m[c];
                }
                continue;
            }
            SIMD for (int64_t c = 0; c < n; c++) w[c] = w[c] * a->keep - a->step * u[c];
        }
}

void KERNEL(adafactor_size)(Device *dev, Tensor size, Tensor row, Tensor col, Tensor row_sum, Tensor v, Tensor g,
                            const AdafactorSpec *spec, const StepScalars *scalars)
{
    Update a = update_begin(g, v, spec, scalars);
    double *partial = factors(dev, &a, row, col, row_sum, spec);
    *(double *)size.p += update_sumsq(dev, &a, partial);
}

void KERNEL(adafactor)(Device *dev, Tensor w, Tensor m, Tensor row, Tensor col, Tensor row_sum, Tensor v, Tensor g,
                       Tensor squares, Tensor size, const AdafactorSpec *spec, const StepScalars *scalars)
{
    Update a = update_begin(g, v, spec, scalars);
    int64_t count = spec->rows * spec->cols;
    double alpha = (double)scalars->lr, clip = 1;
    if (spec->scale_parameter)
        alpha *= fmax(spec->eps2, rms(squares, count));
    if (spec->clip_threshold > 0)
        clip = fmax(1, rms(size, count) / spec->clip_threshold);
    factors(dev, &a, row, col, row_sum, spec);
    a.w = w;
    a.m = m;
    a.beta1 = (float)spec->beta1;
    a.new1 = (float)(1 - spec->beta1);
    a.keep = (float)(1 - spec->weight_decay * (spec->decay_by_lr ? alpha : 1));
    a.step = (float)(alpha / clip);
    apply_update(dev, &a);
}
