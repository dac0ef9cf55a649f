/* attention_single.c: attention forward of single queries, as decoding has them: each query is multiplied with the keys
 * of its head where they lie, without tiles, and the softmax needs no running maximum. */
#include "device/cpu/kernels/head.h"

#include "base/float16.h"

#include <math.h>

#define INLINE static inline __attribute__((always_inline))

/* Scratch memory of a thread. */
typedef struct Desk {
    float *scores; /* (max_k) */
    float *bias;   /* of a head, where the tensor is not f32 */
    float *query, *sum, *row; /* (size) */
} Desk;

static size_t desk_bytes(const AttnSpec *spec, int64_t size)
{
    return row_bytes(spec->max_k) + row_bytes(spec->max_q + spec->max_k) + 3 * row_bytes(size);
}

static Desk desk_at(char *memory, const AttnSpec *spec, int64_t size)
{
    float *bias = (float *)(void *)(memory + row_bytes(spec->max_k));
    char *rows = (char *)bias + row_bytes(spec->max_q + spec->max_k);
    return (Desk){ .scores = (float *)(void *)memory,
                   .bias = bias,
                   .query = (float *)(void *)rows,
                   .sum = (float *)(void *)(rows + row_bytes(size)),
                   .row = (float *)(void *)(rows + 2 * row_bytes(size)) };
}

/* Number i of a row in f32 or bf16. */
INLINE float number(const void *row, DType dtype, int64_t i)
{
    return dtype == DT_F32 ? ((const float *)row)[i] : bf16_to_f32(((const uint16_t *)row)[i]);
}

INLINE float product(const float *query, const void *key, DType dtype, int64_t size)
{
    float sum = 0;
#pragma omp simd reduction(+ : sum)
    for (int64_t c = 0; c < size; c++)
        sum += query[c] * number(key, dtype, c);
    return sum;
}

/* Row j of t in the dtype that the loops below read: f16 is widened. */
INLINE const void *row_at(float *buffer, Tensor t, int64_t j, int64_t size)
{
    return t.dtype == DT_F16 ? (const void *)row_read(buffer, t, j, 0, size) : row_address(t, j, 0);
}

/* scores[j] = scale q·k_j, for the keys of the range. */
INLINE void score_keys(const Desk *desk, const Head *head, Range keys, float scale, DType dtype)
{
    for (int64_t j = keys.begin; j < keys.end; j++)
        desk->scores[j] =
            scale * product(desk->query, row_at(desk->row, head->k, j, head->size), dtype, head->size);
}

/* desk->sum = Σ scores[j] v_j. */
INLINE void add_values(const Desk *desk, const Head *head, Range keys, DType dtype)
{
    int64_t size = head->size;
    float *sum = desk->sum;
    memset(sum, 0, (size_t)size * sizeof *sum);
    for (int64_t j = keys.begin; j < keys.end; j++) {
        const void *value = row_at(desk->row, head->v, j, size);
        float factor = desk->scores[j];
        SIMD for (int64_t c = 0; c < size; c++) sum[c] += factor * number(value, dtype, c);
    }
}

/* Adds bias[j], where there is one; returns the largest score. */
static float biased_max(float *scores, const float *bias, Range keys)
{
    float max = -INFINITY;
    for (int64_t j = keys.begin; bias && j < keys.end; j++)
        scores[j] += bias[j];
#pragma omp simd reduction(max : max)
    for (int64_t j = keys.begin; j < keys.end; j++)
        max = scores[j] > max ? scores[j] : max;
    return max;
}

/* Scores become e^(score - max); returns their sum. */
static float exponentials(float *scores, float max, Range keys)
{
    float total = 0;
#pragma omp simd reduction(+ : total)
    for (int64_t j = keys.begin; j < keys.end; j++) {
        scores[j] = exp_f32(scores[j] - max);
        total += scores[j];
    }
    return total;
}

/* Row i of o (tq,size); returns its log-sum-exp. */
INLINE float query_fwd(Tensor o, const Desk *desk, const Head *head, int64_t i, DType dtype)
{
    Range keys = visible(head, i);
    if (keys.begin >= keys.end) {
        zero_rows(tensor_slice_rows(o, i, 1));
        return 0;
    }
    const float *query = row_read(desk->query, head->q, i, 0, head->size);
    if (query != desk->query)
        memcpy(desk->query, query, (size_t)head->size * sizeof *query);
    score_keys(desk, head, keys, head->spec->scale, dtype);
    float max = biased_max(desk->scores, head->bias ? head->bias - i : NULL, keys);
    float total = exponentials(desk->scores, max, keys);
    add_values(desk, head, keys, dtype);
    SIMD for (int64_t c = 0; c < head->size; c++) desk->sum[c] /= total;
    row_write(o, i, 0, head->size, desk->sum);
    return max + logf(total);
}

static void head_fwd(Tensor o, float *lse, const Desk *desk, const Head *head)
{
    for (int64_t i = 0; i < head->tq; i++)
        lse[i] = head->k.dtype == DT_BF16 ? query_fwd(o, desk, head, i, DT_BF16) : query_fwd(o, desk, head, i, DT_F32);
}

void cpu_attn_single_fwd(Device *dev, Tensor o, Tensor lse, Tensor q, Tensor k, Tensor v, Tensor bias,
                         const AttnSpec *spec)
{
    static const Dropout none = { 0 };
    int64_t size = q.d[1] / spec->heads, tasks = (int64_t)spec->n_seq * spec->heads;
    size_t bytes = desk_bytes(spec, size);
    char *workspace = cpu_workspace(dev, (size_t)dev->threads * bytes);
    zero_uncovered(o, spec->cu_q.device, spec->n_seq);
    KERNEL(fill)(dev, lse, 0);
#pragma omp parallel for num_threads(team(dev, tasks * spec->max_q * spec->max_k * 4)) schedule(static)
    for (int64_t task = 0; task < tasks; task++) {
        Desk desk = desk_at(workspace + (size_t)omp_get_thread_num() * bytes, spec, size);
        Head head = head_of(spec, &none, (int32_t)(task / spec->heads), (int32_t)(task % spec->heads), q, k, v, bias,
                            desk.bias);
        head_fwd(head_rows(o, head.q_first, head.tq, head.index, size), row_of(lse, head.index) + head.q_first, &desk,
                 &head);
    }
}
