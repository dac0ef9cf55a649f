/* top.c: the largest logits of each row, and the logarithm of the sum that its softmax divides by. */
#include "device/cpu/kernels/rows.h"

enum { CHUNK = 256 }; /* numbers that are compared, or summed in f32, at a time */

static float largest_of(const float *x, int64_t n)
{
    float max = -INFINITY;
#pragma omp simd reduction(max : max)
    for (int64_t j = 0; j < n; j++)
        max = x[j] > max ? x[j] : max;
    return max;
}

/* log Σ exp(x). */
static double log_sum_of(const float *x, int64_t n)
{
    float max = largest_of(x, n);
    double total = 0;
    for (int64_t first = 0; first < n; first += CHUNK) {
        float sum = 0;
#pragma omp simd reduction(+ : sum)
        for (int64_t j = first; j < min_i64(first + CHUNK, n); j++)
            sum += exp_f32(x[j] - max);
        total += (double)sum;
    }
    return (double)max + log(total);
}

/* Inserts x into the n largest numbers so far, in descending order; if there are already k, the last one is dropped. */
static void insert(float *values, int32_t *ids, int64_t n, int64_t k, float x, int32_t id)
{
    int64_t at = n < k ? n : k - 1;
    for (; at > 0 && values[at - 1] < x; at--) {
        values[at] = values[at - 1];
        ids[at] = ids[at - 1];
    }
    values[at] = x;
    ids[at] = id;
}

/* Chunks without a number above the smallest of the k are skipped. */
static void top_of(float *values, int32_t *ids, int64_t k, const float *x, int64_t n)
{
    for (int64_t j = 0; j < k; j++)
        insert(values, ids, j, k, x[j], (int32_t)j);
    for (int64_t first = k; first < n; first += CHUNK) {
        int64_t end = min_i64(first + CHUNK, n);
        if (!(largest_of(x + first, end - first) > values[k - 1]))
            continue;
        for (int64_t j = first; j < end; j++)
            if (x[j] > values[k - 1])
                insert(values, ids, k, k, x[j], (int32_t)j);
    }
}

void KERNEL(top)(Device *dev, Tensor values, Tensor ids, Tensor log_sum, Tensor x)
{
    int64_t n = x.d[1];
    double *log_sums = log_sum.p;
    char *buffers = cpu_workspace(dev, (size_t)dev->threads * row_bytes(n));
#pragma omp parallel for num_threads(team(dev, tensor_count(x))) schedule(static)
    for (int64_t i = 0; i < x.d[0]; i++) {
        float *buffer = (float *)(void *)(buffers + (size_t)omp_get_thread_num() * row_bytes(n));
        const float *row = row_read(buffer, x, i, 0, n);
        log_sums[i] = log_sum_of(row, n);
        top_of(row_of(values, i), (int32_t *)ids.p + i * ids.ld, values.d[1], row, n);
    }
}
