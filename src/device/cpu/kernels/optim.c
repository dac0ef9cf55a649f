/* optim.c: the optimizers' updates, in as few passes over memory as their formulas allow. */
#include "device/cpu/kernels/fold.h"
#include "device/cpu/kernels/rows.h"

enum { CHUNK = 512 };

/* Root mean square of a tensor of `count` elements, of which `squares` (1) is the sum of squares. */
static double rms(Tensor squares, int64_t count)
{
    return sqrt(*(const double *)squares.p / (double)max_i64(count, 1));
}

typedef struct AdamwStep {
    float clip, beta1, new1, beta2, new2, keep, step, denominator_scale,
        eps; /* new1, new2: 1 - beta1 and 1 - beta2, computed in double and rounded to f32 */
} AdamwStep;

/* m̂/(√v̂ + eps) as m/(√v·denominator_scale + eps), its bias correction in `step`. */
static inline void adamw_numbers(float *w, float *m, float *v, const float *g, int64_t n, AdamwStep s)
{
    SIMD for (int64_t i = 0; i < n; i++)
    {
        float d = g[i] * s.clip;
        m[i] = s.beta1 * m[i] + s.new1 * d;
        v[i] = s.beta2 * v[i] + s.new2 * d * d;
        w[i] = w[i] * s.keep - s.step * m[i] / (sqrtf(v[i]) * s.denominator_scale + s.eps);
    }
}

static void adamw_run(float *w, float *m, float *v, const float *g, int64_t n, AdamwStep s)
{
    int64_t i = 0;
    for (; i + LINE <= n; i += LINE) {
        fetch_written(w + i);
        fetch_written(m + i);
        fetch_written(v + i);
        fetch(g + i);
        adamw_numbers(w + i, m + i, v + i, g + i, LINE, s);
    }
    adamw_numbers(w + i, m + i, v + i, g + i, n - i, s);
}

/* Without RMS scaling: torch's AdamW. With it bias corrections apply to the step, not to eps (nanoT5's AdamWScale). */
void KERNEL(adamw)(Device *dev, Tensor w, Tensor rounded, Tensor m, Tensor v, Tensor g, Tensor squares,
                   const AdamwSpec *spec, const StepScalars *scalars)
{
    double lr = (double)scalars->lr, step = spec->rate * lr / (1 - scalars->beta1_t),
           correction2 = sqrt(1 - scalars->beta2_t);
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
    Runs runs = runs_of((const Tensor[]){ w, m, v, g, tensor_present(rounded) ? rounded : w }, 5);
#pragma omp parallel num_threads(team(dev, runs.work))
    {
        Range mine = share(runs.n, 1);
        for (int64_t i = mine.begin; i < mine.end; i++)
            for (int64_t at = 0; at < run_length(runs, i); at += CHUNK) {
                int64_t row = run_row(runs, i), first = run_first(runs, i) + at;
                int64_t n = min_i64(CHUNK, run_length(runs, i) - at);
                ALIGNED float buffer[CHUNK];
                const float *gradient = row_read(buffer, g, row, first, n);
                float *weights = row_of(w, row) + first;
                adamw_run(weights, row_of(m, row) + first, row_of(v, row) + first, gradient, n, s);
                if (tensor_present(rounded))
                    row_write_far(rounded, row, first, n, weights);
            }
        row_written_far();
    }
}

/* Adafactor reads g in three passes: for the moments; for the size of u = g / √(second moment), which is not stored;
 * for the update, which computes u again. u(i, c) = g · row_factor[i] · col_factor[c] where factored, else g / √v. */
typedef struct Update {
    Tensor w, rounded, v, m, g;
    const float *row_factor, *col_factor; /* NULL if not factored */
    float clip, beta2, new2, eps1; /* new1, new2: 1 - beta1 and 1 - beta2, computed in double and rounded to f32 */
    float keep, step, beta1, new1; /* w = keep·w − step·u, momentum over step·u */
} Update;

static Update update_begin(Tensor g, Tensor v, const AdafactorSpec *spec, const StepScalars *scalars)
{
    return (Update){ .v = v,
                     .g = g,
                     .clip = scalars->clip,
                     .beta2 = (float)(1 - scalars->new_part),
                     .new2 = (float)scalars->new_part,
                     .eps1 = (float)spec->eps1 };
}

/* row_mean[i] = mean over columns of (clip·g)² for the calling thread's rows; the fold takes their column sums. */
static void square_rows(const Update *a, float *row_mean, float *buffer, Fold fold)
{
    Range rows = share(a->g.d[0], 1);
    float *part = fold_begin(fold);
    for (int64_t i = rows.begin; i < rows.end; i++) {
        const float *g = row_read(buffer, a->g, i, 0, fold.n);
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

/* Moves row towards the means of g² + eps1; adds the new row's sum to row_sum, the columns' Σ g² to col_sums. */
static void row_moments(Device *dev, const Update *a, Tensor row, Tensor col_sums, double *row_sum)
{
    int64_t n_rows = a->g.d[0], n_cols = a->g.d[1];
    int size = team(dev, tensor_count(a->g));
    size_t fold_end = fold_bytes(n_cols, size), buffers_end = fold_end + (size_t)size * row_bytes(n_cols);
    Fold fold = { cpu_workspace(dev, buffers_end + row_bytes(n_rows)), n_cols };
    float *r = row.p, *row_mean = (float *)(fold.memory + buffers_end);
    double *columns = col_sums.p, total = 0;
#pragma omp parallel num_threads(size)
    square_rows(a, row_mean, (float *)(fold.memory + fold_end + (size_t)omp_get_thread_num() * row_bytes(n_cols)),
                fold);
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
    for (int64_t i = 0; i < tensor_rows(a->g); i++)
        for (int64_t first = 0; first < tensor_cols(a->g); first += CHUNK) {
            ALIGNED float buffer[CHUNK];
            float *v = row_of(a->v, i) + first;
            int64_t n = min_i64(CHUNK, tensor_cols(a->g) - first);
            const float *g = row_read(buffer, a->g, i, first, n);
            SIMD for (int64_t c = 0; c < n; c++) v[c] = beta2 * v[c] + new2 * (g[c] * clip * (g[c] * clip) + eps1);
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

/* Computes the row and column factors of u, if it is factored, in the workspace, after one f64 per thread. */
static double *factors(Device *dev, Update *a, Tensor row, Tensor col, Tensor row_sum, const AdafactorSpec *spec)
{
    int64_t n_rows = tensor_count(row), n_cols = tensor_count(col);
    size_t bytes = align64((size_t)dev->threads * sizeof(double));
    char *workspace = cpu_workspace(dev, bytes + row_bytes(n_rows) + row_bytes(n_cols));
    float *row_factor = (float *)(workspace + bytes), *col_factor = (float *)(workspace + bytes + row_bytes(n_rows));
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

/* Computes u of row i for columns [first, first + n). */
static void update_of(float *u, const Update *a, int64_t i, int64_t first, int64_t n)
{
    const float *g = row_read(u, a->g, i, first, n);
    if (a->row_factor) {
        const float *col = a->col_factor + first;
        float factor = a->row_factor[i] * a->clip;
        int64_t at = 0;
        for (; at + LINE <= n; at += LINE) {
            fetch(g + at);
            SIMD for (int64_t c = at; c < at + LINE; c++) u[c] = g[c] * factor * col[c];
        }
        SIMD for (int64_t c = at; c < n; c++) u[c] = g[c] * factor * col[c];
        return;
    }
    const float *v = row_of(a->v, i) + first;
    SIMD for (int64_t c = 0; c < n; c++) u[c] = g[c] * a->clip / sqrtf(v[c]);
}

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
                ALIGNED float u[CHUNK];
                float part = 0;
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

/* w becomes keep·w − step·u, for n numbers, or the same with the momentum m of step·u in place of step·u. */
static void take_step(float *w, float *m, const float *u, int64_t n, const Update *a)
{
    for (int64_t c = 0; c < n; c += LINE)
        fetch_written(w + c);
    if (m == NULL) {
        SIMD for (int64_t c = 0; c < n; c++) w[c] = w[c] * a->keep - a->step * u[c];
        return;
    }
    SIMD for (int64_t c = 0; c < n; c++)
    {
        m[c] = a->beta1 * m[c] + a->new1 * a->step * u[c];
        w[c] = w[c] * a->keep - m[c];
    }
}

static void apply_update(Device *dev, const Update *a)
{
    int64_t cols = tensor_cols(a->g);
#pragma omp parallel num_threads(team(dev, tensor_count(a->g)))
    {
        Range rows = share(tensor_rows(a->g), 1);
        for (int64_t i = rows.begin; i < rows.end; i++)
            for (int64_t first = 0; first < cols; first += CHUNK) {
                ALIGNED float u[CHUNK];
                float *w = row_of(a->w, i) + first;
                int64_t n = min_i64(CHUNK, cols - first);
                update_of(u, a, i, first, n);
                take_step(w, a->beta1 > 0 ? row_of(a->m, i) + first : NULL, u, n, a);
                if (tensor_present(a->rounded))
                    row_write_far(a->rounded, i, first, n, w);
            }
        row_written_far();
    }
}

void KERNEL(adafactor_size)(Device *dev, Tensor size, Tensor row, Tensor col, Tensor row_sum, Tensor v, Tensor g,
                            const AdafactorSpec *spec, const StepScalars *scalars)
{
    Update a = update_begin(g, v, spec, scalars);
    double *partial = factors(dev, &a, row, col, row_sum, spec);
    *(double *)size.p += update_sumsq(dev, &a, partial);
}

void KERNEL(adafactor)(Device *dev, Tensor w, Tensor rounded, Tensor m, Tensor row, Tensor col, Tensor row_sum,
                       Tensor v, Tensor g, Tensor squares, Tensor size, const AdafactorSpec *spec,
                       const StepScalars *scalars)
{
    Update a = update_begin(g, v, spec, scalars);
    int64_t count = spec->count;
    double alpha = (double)scalars->lr, clip = 1;
    if (spec->scale_parameter)
        alpha *= fmax(spec->eps2, rms(squares, count));
    if (spec->clip_threshold > 0)
        clip = fmax(1, rms(size, count) / spec->clip_threshold);
    factors(dev, &a, row, col, row_sum, spec);
    a.w = w;
    a.rounded = rounded;
    a.m = m;
    a.beta1 = (float)spec->beta1;
    a.new1 = (float)(1 - spec->beta1);
    a.keep = (float)(1 - spec->weight_decay * (spec->decay_by_lr ? alpha : 1));
    a.step = (float)(spec->rate * alpha / clip);
    apply_update(dev, &a);
}
