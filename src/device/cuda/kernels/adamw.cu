/* adamw.cu: AdamW. Numbers that change in every step are read from memory of the device (StepScalars). */
#include "device/cuda/kernels/jobs.h"

namespace
{

struct AdamW {
    View w, rounded, m, v, g;
    const double *squares;
    AdamwSpec spec;
    const StepScalars *scalars;

    enum { BLOCKS = 3 };
    struct Factors {
        float clip, keep, step, denominator;
    };

    /* The factors of this update, computed in f64 as on the cpu. */
    __device__ Factors factors(void) const
    {
        double lr = scalars->lr, step = spec.rate * lr / (1 - scalars->beta1_t),
               correction2 = sqrt(1 - scalars->beta2_t);
        if (spec.scale_by_rms)
            step *= correction2 * fmax(1e-3, sqrt(*squares / (double)spec.count));
        return { scalars->clip, (float)(1 - lr * spec.weight_decay), (float)step,
                 spec.scale_by_rms ? 1.0f : (float)(1 / correction2) };
    }

    __device__ void operator()(const Factors &f, int64_t row, int64_t col, int n) const
    {
        float weights[VEC], first[VEC], second[VEC], gradient[VEC];
        const float beta1 = (float)spec.beta1, new1 = (float)(1 - spec.beta1), beta2 = (float)spec.beta2;
        const float new2 = (float)(1 - spec.beta2), eps = (float)spec.eps;
        load(weights, w, row, col, n);
        load(first, m, row, col, n);
        load(second, v, row, col, n);
        load(gradient, g, row, col, n);
        UNROLL for (int i = 0; i < VEC; i++)
        {
            float x = gradient[i] * f.clip;
            first[i] = beta1 * first[i] + new1 * x;
            second[i] = beta2 * second[i] + new2 * (x * x);
            weights[i] = f.keep * weights[i] - f.step * first[i] / (sqrtf(second[i]) * f.denominator + eps);
        }
        store(m, row, col, n, first);
        store(v, row, col, n, second);
        store(w, row, col, n, weights);
        if (rounded.p)
            store(rounded, row, col, n, weights);
    }
};

void run_adamw(Device *dev, const Update *updates, int n)
{
    Jobs<AdamW> jobs = no_jobs<AdamW>();
    for (const Update *u = updates; u < updates + n; u++) {
        Tensor t[] = { u->w, u->rounded, u->m, u->v, u->g };
        flatten(t);
        jobs_add(&jobs, t[0],
                 AdamW{ view(t[0]), view(t[1]), view(t[2]), view(t[3]), view(t[4]), (const double *)u->squares.p,
                        u->adamw, u->scalars });
    }
    jobs_run(dev, jobs);
}

} // namespace

void gpu_adamw(Device *dev, Tensor w, Tensor rounded, Tensor m, Tensor v, Tensor g, Tensor squares,
               const AdamwSpec *spec, const StepScalars *scalars)
{
    Update update = {};
    update.w = w, update.rounded = rounded, update.m = m, update.v = v, update.g = g;
    update.squares = squares;
    update.adamw = *spec;
    update.scalars = scalars;
    group_add(dev, GROUP_ADAMW, run_adamw, update);
}
