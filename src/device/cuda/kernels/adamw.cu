/* adamw.cu: AdamW, a launch an update. What changes from step to step is read from memory of the device. */
#include "device/cuda/kernels/each.h"
#include "device/cuda/kernels/kernels.h"

namespace
{

struct Factors {
    float clip, keep, step, denominator;
};

struct AdamW {
    View w, rounded, m, v, g;
    const double *squares;
    AdamwSpec spec;
    const StepScalars *scalars;

    /* The factors of this update, from f64, as the cpu's. */
    __device__ Factors factors(void) const
    {
        double t = (double)scalars->update, lr = scalars->lr;
        double correction1 = 1 - pow(spec.beta1, t), correction2 = sqrt(1 - pow(spec.beta2, t)),
               step = lr / correction1;
        if (spec.scale_by_rms)
            step *= correction2 * fmax(1e-3, sqrt(*squares / (double)spec.count));
        return { scalars->clip, (float)(1 - lr * spec.weight_decay), (float)step,
                 spec.scale_by_rms ? 1.0f : (float)(1 / correction2) };
    }

    __device__ void update(const Factors &f, int64_t row, int64_t col, int n) const
    {
        float weights[LOT], first[LOT], second[LOT], gradient[LOT];
        const float beta1 = (float)spec.beta1, new1 = (float)(1 - spec.beta1), beta2 = (float)spec.beta2;
        const float new2 = (float)(1 - spec.beta2), eps = (float)spec.eps;
        load(weights, w, row, col, n);
        load(first, m, row, col, n);
        load(second, v, row, col, n);
        load(gradient, g, row, col, n);
        UNROLL for (int i = 0; i < LOT; i++)
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

__global__ void adamw_kernel(AdamW adamw, int64_t rows, int64_t cols)
{
    Factors *shared = block_shared<Factors>();
    if (threadIdx.x == 0 && threadIdx.y == 0)
        *shared = adamw.factors();
    __syncthreads();
    Factors f = *shared;
    int64_t col = ((int64_t)blockIdx.x * blockDim.x + threadIdx.x) * LOT, step = (int64_t)gridDim.y * blockDim.y;
    if (col >= cols)
        return;
    for (int64_t row = (int64_t)blockIdx.y * blockDim.y + threadIdx.y; row < rows; row += step)
        adamw.update(f, row, col, lot(cols, col));
}

} // namespace

void gpu_adamw(Device *dev, Tensor w, Tensor rounded, Tensor m, Tensor v, Tensor g, Tensor squares,
               const AdamwSpec *spec, const StepScalars *scalars)
{
    AdamW adamw = { view(w), view(rounded), view(m), view(v), view(g), (const double *)squares.p, *spec, scalars };
    if (rows_of(w) > 0 && cols_of(w) > 0)
        launch(gpu_of(dev), each_shape(rows_of(w), cols_of(w)), adamw_kernel, adamw, rows_of(w), cols_of(w));
}
