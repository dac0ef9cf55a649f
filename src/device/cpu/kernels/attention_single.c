/* attention_single.c: attention forward for few queries per sequence, as in decoding. Its time is that of reading keys
 * and values, so each row of them is read once, in place, for all heads, without tiles. */
#include "device/cpu/kernels/head.h"

#include "base/float16.h"

#define INLINE static inline __attribute__((always_inline))

enum { COMMON = 64 }; /* head size for which the loops are also compiled with a constant: that takes half the time */

/* n heads of a sequence, with scratch memory for one query. */
typedef struct Task {
    Head head; /* the first of these heads; in rows of q, k and v the other heads follow it */
    Tensor bias, lse, o;
    int64_t n, n_kv, share; /* n query heads, n_kv key heads, and `share` query heads per key head */
    float *scores;          /* (n,max_k) */
    float *query;           /* (n,size), used if q is not f32 */
    float *sums;            /* (n,size) */
    float *row;             /* buffer for a row of keys, values or biases that are not f32 */
} Task;

/* Number i of a row in f32 or bf16. */
INLINE float widened(const void *row, DType dtype, int64_t i)
{
    return dtype == DT_F32 ? ((const float *)row)[i] : bf16_to_f32(((const uint16_t *)row)[i]);
}

/* Row j of keys or values of all heads of the task, in f32 or bf16: f16 is widened. */
INLINE const void *row_at(const Task *t, Tensor keys, int64_t j)
{
    return keys.dtype == DT_F16 ? (const void *)row_read(t->row, keys, j, 0, t->n_kv * t->head.size)
                                : row_address(keys, j, 0);
}

INLINE float product(const float *query, const void *row, DType dtype, int64_t first, int64_t size)
{
    float sum = 0;
#pragma omp simd reduction(+ : sum)
    for (int64_t c = 0; c < size; c++)
        sum += query[c] * widened(row, dtype, first + c);
    return sum;
}

/* scores[h][j] = scale q_h·k_j. */
INLINE void score_keys(const Task *t, const float *query, Range keys, DType dtype, int64_t size)
{
    int64_t max_k = t->head.spec->max_k;
    float scale = t->head.spec->scale;
    for (int64_t j = keys.begin; j < keys.end; j++) {
        const void *row = row_at(t, t->head.k, j);
        for (int64_t h = 0, first = 0; h < t->n; first += size)
            for (int64_t end = h + t->share; h < end; h++)
                t->scores[h * max_k + j] = scale * product(query + h * size, row, dtype, first, size);
    }
}

/* sums[h] = Σ_j scores[h][j] v_j. */
INLINE void add_values(const Task *t, Range keys, DType dtype, int64_t size)
{
    int64_t max_k = t->head.spec->max_k;
    memset(t->sums, 0, (size_t)(t->n * size) * sizeof *t->sums);
    for (int64_t j = keys.begin; j < keys.end; j++) {
        const void *row = row_at(t, t->head.v, j);
        for (int64_t h = 0, first = 0; h < t->n; first += size)
            for (int64_t end = h + t->share; h < end; h++) {
                float factor = t->scores[h * max_k + j], *sum = t->sums + h * size;
                SIMD for (int64_t c = 0; c < size; c++) sum[c] += factor * widened(row, dtype, first + c);
            }
    }
}

/* Replaces scores by softmax(scores + bias) over the keys; returns the log-sum-exp. bias NULL means none. */
static float softmax(float *scores, const float *bias, Range keys)
{
    float max = -INFINITY, total = 0;
    for (int64_t j = keys.begin; bias && j < keys.end; j++)
        scores[j] += bias[j];
#pragma omp simd reduction(max : max)
    for (int64_t j = keys.begin; j < keys.end; j++)
        max = scores[j] > max ? scores[j] : max;
#pragma omp simd reduction(+ : total)
    for (int64_t j = keys.begin; j < keys.end; j++) {
        scores[j] = exp_f32(scores[j] - max);
        total += scores[j];
    }
    float factor = 1 / total;
    SIMD for (int64_t j = keys.begin; j < keys.end; j++) scores[j] *= factor;
    return total > 0 ? max + logf(total) : 0;
}

/* The bias of key 0 for query i in head h of the task; NULL means none. */
static const float *bias_of(const Task *t, int64_t h, int64_t i)
{
    if (!tensor_present(t->bias))
        return NULL;
    return row_read(t->row, t->bias, t->head.index + h, 0, t->bias.d[1]) + attn_bias_column(t->head.spec, t->head.tk) -
           i;
}

INLINE void query_fwd(const Task *t, int64_t i, DType dtype, int64_t size)
{
    int64_t width = t->n * size;
    Range keys = attn_keys(&t->head, i);
    if (keys.begin >= keys.end) {
        zero_rows(tensor_slice_rows(t->o, i, 1));
        return;
    }
    score_keys(t, row_read(t->query, t->head.q, i, 0, width), keys, dtype, size);
    for (int64_t h = 0; h < t->n; h++)
        row_of(t->lse, t->head.index + h)[t->head.q_first + i] =
            softmax(t->scores + h * t->head.spec->max_k, bias_of(t, h, i), keys);
    add_values(t, keys, dtype, size);
    row_write(t->o, i, 0, width, t->sums);
}

/* Scratch memory of a thread. */
static size_t scratch_bytes(const AttnSpec *spec, int64_t n, int64_t size)
{
    int64_t longest = max_i64(n * size, spec->max_q + spec->max_k);
    return row_bytes(n * spec->max_k) + 2 * row_bytes(n * size) + row_bytes(longest);
}

static void set_desk(Task *t, char *memory)
{
    int64_t size = t->head.size;
    t->scores = (float *)(void *)memory;
    t->query = (float *)(void *)(memory += row_bytes(t->n * t->head.spec->max_k));
    t->sums = (float *)(void *)(memory += row_bytes(t->n * size));
    t->row = (float *)(void *)(memory + row_bytes(t->n * size));
}

/* Number of heads of a task: all heads of a sequence, or fewer, so that every thread has work. */
static int64_t heads_together(const Device *dev, const AttnSpec *spec)
{
    int64_t all = attn_kv_heads(spec), n_seq = max_i64(spec->n_seq, 1);
    int64_t parts = min_i64((dev->threads + n_seq - 1) / n_seq, all);
    return (all + parts - 1) / parts * (spec->heads / all);
}

void cpu_attn_single_fwd(Device *dev, Tensor o, Tensor lse, Tensor q, Tensor k, Tensor v, Tensor bias,
                         const AttnSpec *spec)
{
    static const Dropout none = { 0 };
    int64_t size = q.d[1] / spec->heads, n = heads_together(dev, spec), parts = (spec->heads + n - 1) / n;
    size_t bytes = scratch_bytes(spec, n, size);
    char *workspace = cpu_workspace(dev, (size_t)dev->threads * bytes);
    int64_t work = (int64_t)spec->n_seq * spec->max_q * spec->max_k * q.d[1];
    zero_uncovered(o, spec->cu_q.device, spec->n_seq);
    KERNEL(fill)(dev, lse, 0);
#pragma omp parallel for num_threads(team(dev, work)) schedule(static)
    for (int64_t task = 0; task < spec->n_seq * parts; task++) {
        int64_t first = task % parts * n;
        Task t = { .head = head_of(spec, &none, (int32_t)(task / parts), (int32_t)first, q, k, v, NO_TENSOR, NULL),
                   .bias = bias,
                   .lse = lse,
                   .n = min_i64(n, spec->heads - first),
                   .share = spec->heads / attn_kv_heads(spec) };
        t.n_kv = t.n / t.share;
        t.o = tensor_slice_cols(tensor_slice_rows(o, t.head.q_first, t.head.tq), first * size, t.n * size);
        set_desk(&t, workspace + (size_t)omp_get_thread_num() * bytes);
        for (int64_t i = 0; i < t.head.tq; i++)
            if (k.dtype == DT_BF16 && size == COMMON)
                query_fwd(&t, i, DT_BF16, COMMON);
            else if (k.dtype == DT_BF16)
                query_fwd(&t, i, DT_BF16, size);
            else
                query_fwd(&t, i, DT_F32, size);
    }
}
