/* adafactor.cu: Adafactor's four operations, each for all tensors of a group. */
#include "device/cuda/kernels/columns.h"
#include "device/cuda/kernels/total.h"

namespace
{

/* more: 1 - β2, StepScalars.new_part. */
__device__ inline float moved(float moment, double more, float to)
{
    return (float)(1 - more) * moment + (float)more * to;
}

/* Factored: moves row towards the means of g² + eps1, and sums g² over each column. */
struct RowMoments {
    typedef float Sum;
    enum { ROW_SUMS = 1, COLUMN_SUMS = 1 };
    struct Held {
        float x[VEC];
    };
    View g, row;
    int64_t cols;
    AdafactorSpec spec;
    const StepScalars *scalars;

    __device__ Held hold(int64_t r, int64_t col, int n) const
    {
        Held held;
        load(held.x, g, r, col, n);
        return held;
    }

    __device__ void first(const Held &held, float *sums, float (*columns)[VEC]) const
    {
        float clip = scalars->clip;
        UNROLL for (int i = 0; i < VEC; i++)
        {
            float x = held.x[i] * clip;
            sums[0] += x * x;
            columns[0][i] += x * x;
        }
    }

    __device__ void second(const Held &, int64_t r, int64_t col, int, const float *sums) const
    {
        if (col == 0)
            move_row(r, sums[0]);
    }

    __device__ void move_row(int64_t r, float sum) const
    {
        float mean = sum / (float)cols + (float)spec.eps1;
        store_one(row, 0, r, moved(load_one(row, 0, r), scalars->new_part, mean));
    }
};

struct Sum {
    View x;
    __device__ double operator()(int64_t row, int64_t col, int n) const
    {
        float a[VEC];
        double sum = 0;
        load(a, x, row, col, n);
        UNROLL for (int i = 0; i < VEC; i++) sum += (double)a[i];
        return sum;
    }
};

/* v = β2 v + (1 - β2)(g² + eps1). */
struct FullMoments {
    View v, g;
    AdafactorSpec spec;
    const StepScalars *scalars;

    enum { BLOCKS = 3 };
    struct Factors {
        double more;
        float clip;
    };

    __device__ Factors factors(void) const
    {
        return { scalars->new_part, scalars->clip };
    }

    __device__ void operator()(const Factors &f, int64_t row, int64_t col, int n) const
    {
        float x[VEC], moment[VEC];
        load(x, g, row, col, n);
        load(moment, v, row, col, n);
        UNROLL for (int i = 0; i < VEC; i++) moment[i] =
            moved(moment[i], f.more, x[i] * f.clip * (x[i] * f.clip) + (float)spec.eps1);
        store(v, row, col, n, moment);
    }
};

/* col = β2 col + (1 - β2)(sums / rows + eps1). */
struct ColumnMoments {
    View col;
    const double *sums;
    AdafactorSpec spec;
    const StepScalars *scalars;

    enum { BLOCKS = 3 };
    struct Factors {
        double more;
    };

    __device__ Factors factors(void) const
    {
        return { scalars->new_part };
    }

    __device__ void operator()(const Factors &f, int64_t, int64_t at, int n) const
    {
        float moment[VEC];
        load(moment, col, 0, at, n);
        UNROLL for (int i = 0; i < VEC; i++) if (i < n) moment[i] =
            moved(moment[i], f.more, (float)(sums[at + i] / (double)spec.rows) + (float)spec.eps1);
        store(col, 0, at, n, moment);
    }
};

/* u = g / √v, or factored g / √(row · col / mean of row). */
struct Direction {
    View g, v, row, col;
    const double *row_sum;
    float rows; /* f32: a GPU may have few units for f64, and this is computed for every vector */
    const StepScalars *scalars;

    __device__ void operator()(float (&u)[VEC], int64_t r, int64_t c, int n) const
    {
        float moment[VEC], factor = scalars->clip;
        load(u, g, r, c, n);
        if (v.p) {
            load(moment, v, r, c, n);
        } else {
            factor *= sqrtf((float)*row_sum / rows) / sqrtf(load_one(row, 0, r));
            load(moment, col, 0, c, n);
        }
        UNROLL for (int i = 0; i < VEC; i++) u[i] = i < n ? u[i] * factor / sqrtf(moment[i]) : 0;
    }
};

Direction direction(const Update &u)
{
    return { view(u.g), view(u.v), view(u.row), view(u.col), (const double *)u.row_sum.p, (float)u.adafactor.rows,
             u.scalars };
}

struct Size {
    Direction direction;
    __device__ double operator()(int64_t row, int64_t col, int n) const
    {
        float u[VEC];
        double sum = 0;
        direction(u, row, col, n);
        UNROLL for (int i = 0; i < VEC; i++) sum += (double)u[i] * (double)u[i];
        return sum;
    }
};

/* w = keep w - s, s = step u, or the momentum of step u. */
struct Step {
    Direction direction;
    View w, rounded, m;
    const double *squares, *size;
    AdafactorSpec spec;

    enum { BLOCKS = 2 };
    struct Factors {
        float keep, step;
    };

    __device__ Factors factors(void) const
    {
        double count = (double)spec.count, alpha = direction.scalars->lr, clip = 1;
        if (spec.scale_parameter)
            alpha *= fmax(spec.eps2, sqrt(*squares / count));
        if (spec.clip_threshold > 0)
            clip = fmax(1.0, sqrt(*size / count) / spec.clip_threshold);
        return { (float)(1 - spec.weight_decay * (spec.decay_by_lr ? alpha : 1)), (float)(spec.rate * alpha / clip) };
    }

    __device__ void operator()(const Factors &f, int64_t row, int64_t col, int n) const
    {
        float u[VEC], weights[VEC], momentum[VEC];
        const float beta1 = (float)spec.beta1, new1 = (float)(1 - spec.beta1);
        direction(u, row, col, n);
        load(weights, w, row, col, n);
        if (m.p)
            load(momentum, m, row, col, n);
        UNROLL for (int i = 0; i < VEC; i++)
        {
            float s = f.step * u[i];
            if (m.p)
                momentum[i] = s = beta1 * momentum[i] + new1 * s;
            weights[i] = f.keep * weights[i] - s;
        }
        if (m.p)
            store(m, row, col, n, momentum);
        store(w, row, col, n, weights);
        if (rounded.p)
            store(rounded, row, col, n, weights);
    }
};

/* The moments of rows of a factored tensor, and partial sums (parts, cols) of its columns in scratch memory. */
struct RowJob {
    RowMoments moments;
    int64_t at; /* index of its partial sums in scratch memory, in numbers */
};

template <int VECS>
__global__ void __launch_bounds__(MOST_ROW_THREADS, 2)
    rows_kernel(const __grid_constant__ Jobs<RowJob> jobs, float *scratch)
{
    begin_kernel();
    int j = jobs.find(blockIdx.x);
    const RowJob job = jobs.of[j];
    unsigned first = jobs.first[j];
    columns_part<RowMoments, VECS>(job.moments, jobs.rows[j], jobs.cols[j], scratch + job.at, 0, blockIdx.x - first,
                                   jobs.first[j + 1] - first);
}

struct FoldJob {
    FoldInto into;
    int64_t at;
    int parts;
};

__global__ void __launch_bounds__(WARP *ROW_GROUPS)
    folds_kernel(const __grid_constant__ Jobs<FoldJob> jobs, const float *scratch)
{
    begin_kernel();
    int j = jobs.find(blockIdx.x);
    const FoldJob job = jobs.of[j];
    fold_part(scratch + job.at, job.parts, jobs.cols[j], job.into, blockIdx.x - jobs.first[j]);
}

/* Factored tensors whose rows one block can hold. */
struct Factored {
    int n;
    const Update *of[MOST_JOBS];
    ColumnShape shapes[MOST_JOBS];
    int64_t at[MOST_JOBS], end; /* index of their partial sums */
};

RowMoments row_moments(const Update &u)
{
    return { view(u.g), view(u.row), cols_of(u.g), u.adafactor, u.scalars };
}

void add_factored(Factored *all, const Update *u)
{
    ColumnShape shape = column_shape(rows_of(u->g), cols_of(u->g), true);
    all->of[all->n] = u;
    all->shapes[all->n] = shape;
    all->at[all->n++] = all->end;
    all->end += shape.shape.blocks_y * cols_of(u->g);
}

void launch_rows(Gpu *gpu, const ColumnShape &shape, const Jobs<RowJob> &jobs, float *scratch)
{
    Shape grid = { jobs.blocks(), 1, shape.shape.threads_x, shape.shape.threads_y };
    if (shape.vectors == 1)
        launch(gpu, grid, rows_kernel<1>, jobs, scratch);
    else if (shape.vectors == 2)
        launch(gpu, grid, rows_kernel<2>, jobs, scratch);
    else
        launch(gpu, grid, rows_kernel<MOST_VECS>, jobs, scratch);
}

/* A launch for all tensors whose rows need blocks of the same threads. */
void run_rows(Gpu *gpu, const Factored &all, float *scratch)
{
    bool done[MOST_JOBS] = {};
    for (int first = 0; first < all.n; first++) {
        const ColumnShape &shape = all.shapes[first];
        Jobs<RowJob> jobs = no_jobs<RowJob>();
        for (int i = first; i < all.n; i++) {
            const ColumnShape &other = all.shapes[i];
            const Update &u = *all.of[i];
            if (done[i] || other.vectors != shape.vectors || other.shape.threads_x != shape.shape.threads_x ||
                other.shape.threads_y != shape.shape.threads_y)
                continue;
            done[i] = true;
            jobs.add({ row_moments(u), all.at[i] }, rows_of(u.g), cols_of(u.g), other.shape.blocks_y);
        }
        if (jobs.n > 0)
            launch_rows(gpu, shape, jobs, scratch);
    }
}

void run_factored(Device *dev, const Factored &all)
{
    Gpu *gpu = gpu_of(dev);
    float *scratch = (float *)gpu_scratch(gpu, (size_t)all.end * sizeof(float));
    Jobs<FoldJob> folds = no_jobs<FoldJob>();
    run_rows(gpu, all, scratch);
    for (int i = 0; i < all.n; i++) {
        const Update &u = *all.of[i];
        folds.add({ fold_into(u.col_sums, 1), all.at[i], (int)all.shapes[i].shape.blocks_y }, 1, cols_of(u.g),
                  ceil_div(cols_of(u.g), WARP));
    }
    if (folds.n > 0)
        launch(gpu, { folds.blocks(), 1, WARP, ROW_GROUPS }, folds_kernel, folds, (const float *)scratch);
}

void run_moments(Device *dev, const Update *updates, int n)
{
    Jobs<FullMoments> full = no_jobs<FullMoments>();
    Jobs<Total<Sum>> sums = no_jobs<Total<Sum>>();
    Factored factored = {};
    for (const Update *u = updates; u < updates + n; u++) {
        int64_t rows = rows_of(u->g), cols = cols_of(u->g);
        if (rows == 0 || cols == 0)
            continue;
        if (!u->row.rank) {
            Tensor t[] = { u->v, u->g };
            flatten(t);
            jobs_add(&full, t[0], FullMoments{ view(t[0]), view(t[1]), u->adafactor, u->scalars });
            continue;
        }
        if (cols > MOST_ROW)
            fold(gpu_of(dev), columns(gpu_of(dev), row_moments(*u), rows, cols), 0, fold_into(u->col_sums, 1));
        else
            add_factored(&factored, u);
        totals_add(&sums, u->row, Sum{ view(u->row) }, (double *)u->row_sum.p, 1);
    }
    jobs_run(dev, full);
    run_factored(dev, factored);
    totals_run(dev, sums);
}

void run_columns(Device *dev, const Update *updates, int n)
{
    Jobs<ColumnMoments> jobs = no_jobs<ColumnMoments>();
    for (const Update *u = updates; u < updates + n; u++)
        jobs_add(&jobs, u->col, ColumnMoments{ view(u->col), (const double *)u->col_sums.p, u->adafactor, u->scalars });
    jobs_run(dev, jobs);
}

void run_size(Device *dev, const Update *updates, int n)
{
    Jobs<Total<Size>> jobs = no_jobs<Total<Size>>();
    for (const Update *u = updates; u < updates + n; u++)
        totals_add(&jobs, u->g, Size{ direction(*u) }, (double *)u->size.p, 1);
    totals_run(dev, jobs);
}

void run_update(Device *dev, const Update *updates, int n)
{
    Jobs<Step> jobs = no_jobs<Step>();
    for (const Update *u = updates; u < updates + n; u++)
        jobs_add(&jobs, u->w,
                 Step{ direction(*u), view(u->w), view(u->rounded), view(u->m), (const double *)u->squares.p,
                       (const double *)u->size.p, u->adafactor });
    jobs_run(dev, jobs);
}

/* The part that the four operations have in common. */
Update update_of(Tensor row, Tensor row_sum, Tensor v, Tensor g, const AdafactorSpec *spec, const StepScalars *scalars)
{
    Update update = {};
    update.row = row, update.row_sum = row_sum, update.v = v, update.g = g;
    update.adafactor = *spec;
    update.scalars = scalars;
    return update;
}

} // namespace

void gpu_adafactor_moments(Device *dev, Tensor row, Tensor col_sums, Tensor row_sum, Tensor v, Tensor g,
                           const AdafactorSpec *spec, const StepScalars *scalars)
{
    Update update = update_of(row, row_sum, v, g, spec, scalars);
    update.col_sums = col_sums;
    group_add(dev, GROUP_MOMENTS, run_moments, update);
}

void gpu_adafactor_columns(Device *dev, Tensor col, Tensor col_sums, const AdafactorSpec *spec,
                           const StepScalars *scalars)
{
    Update update = update_of(NO_TENSOR, NO_TENSOR, NO_TENSOR, NO_TENSOR, spec, scalars);
    update.col = col, update.col_sums = col_sums;
    group_add(dev, GROUP_COLUMNS, run_columns, update);
}

void gpu_adafactor_size(Device *dev, Tensor size, Tensor row, Tensor col, Tensor row_sum, Tensor v, Tensor g,
                        const AdafactorSpec *spec, const StepScalars *scalars)
{
    Update update = update_of(row, row_sum, v, g, spec, scalars);
    update.col = col, update.size = size;
    group_add(dev, GROUP_SIZE, run_size, update);
}

void gpu_adafactor(Device *dev, Tensor w, Tensor rounded, Tensor m, Tensor row, Tensor col, Tensor row_sum, Tensor v,
                   Tensor g, Tensor squares, Tensor size, const AdafactorSpec *spec, const StepScalars *scalars)
{
    Update update = update_of(row, row_sum, v, g, spec, scalars);
    update.w = w, update.rounded = rounded, update.m = m, update.col = col;
    update.squares = squares, update.size = size;
    group_add(dev, GROUP_ADAFACTOR, run_update, update);
}
