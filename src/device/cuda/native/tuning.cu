/* tuning.cu: chooses among cuBLASLt's algorithms for a matrix product by timing them on the operands of a call that
 * only writes y. Of those that give the same bits as cuBLASLt's first choice, also if they add to y, the fastest is
 * kept. So the choice, which may differ from run to run, never changes a number. */
#include "device/cuda/native/gpu_native.h"

enum { CANDIDATES = 16, RUNS = 2 };
enum { MOST_TIMED = 256 }; /* products that are timed; batches of ever other lengths would have no end of them */
/* Least work, in multiply-adds, of a product that is timed: less takes some 3 µs. */
#define LEAST_WORK ((double)(1 << 24))
/* Least numbers of a y of 16 bits: another order of the sums changes the rounding of one in some 10,000. */
#define LEAST_ROUNDED ((int64_t)1 << 17)

/* Waits. The workspace of cuBLASLt, which is free between products, holds the partial sums. */
static Checksum checksum_of(Gpu *gpu, Tensor y)
{
    static_assert(CHECKSUM_BLOCKS * sizeof(Checksum) <= PRODUCT_BYTES, "no room for the partial sums");
    Checksum *partial = (Checksum *)gpu->workspace, seen[CHECKSUM_BLOCKS] = {}, all = {};
    const int parts = gpu_checksum(gpu, partial, y);
    gpu_answer(cudaMemcpyAsync(seen, partial, (size_t)parts * sizeof *seen, cudaMemcpyDeviceToHost, gpu->stream),
               "a checksum");
    gpu_answer(cudaStreamSynchronize(gpu->stream), "a checksum");
    for (const Checksum &part : seen) {
        all.sum += part.sum;
        all.filled += part.filled;
    }
    return all;
}

/* What is compared of two algorithms: a product that was written to y, and y after it was added SUMS times. */
struct Result {
    Checksum product, sum;
};
/* Once is not enough: y + y has the same bits whether alpha · a b was rounded before it was added or not. */
enum { SUMS = 2 };

static bool is_equal(const Checksum &a, const Checksum &b)
{
    return a.sum == b.sum && a.filled == b.filled;
}

/* Of the algorithm `how`, whose product y holds. Waits. False: it does not add to y. */
static bool result_of(Gpu *gpu, const Plan *plan, const Product &call, const cublasLtMatmulAlgo_t *how, Tensor y,
                      Result *result)
{
    result->product = checksum_of(gpu, y);
    for (int i = 0; i < SUMS; i++)
        if (lt_run(gpu, plan, call, how, 1) != CUBLAS_STATUS_SUCCESS)
            return false;
    result->sum = checksum_of(gpu, y);
    return true;
}

/* Milliseconds of RUNS products after one that is not timed; INFINITY: the algorithm is refused. */
static float time_of(Gpu *gpu, const Plan *plan, const Product &call, const cublasLtMatmulAlgo_t *how)
{
    cudaEvent_t begin, end;
    float time = INFINITY;
    if (lt_run(gpu, plan, call, how, 0) != CUBLAS_STATUS_SUCCESS)
        return time;
    gpu_answer(cudaEventCreateWithFlags(&begin, cudaEventDefault), "an event");
    gpu_answer(cudaEventCreateWithFlags(&end, cudaEventDefault), "an event");
    gpu_answer(cudaEventRecord(begin, gpu->stream), "an event");
    for (int i = 0; i < RUNS; i++)
        lt_run(gpu, plan, call, how, 0);
    gpu_answer(cudaEventRecord(end, gpu->stream), "an event");
    gpu_answer(cudaEventSynchronize(end), "an event");
    gpu_answer(cudaEventElapsedTime(&time, begin, end), "an event");
    gpu_answer(cudaEventDestroy(begin), "an event");
    gpu_answer(cudaEventDestroy(end), "an event");
    return time;
}

static bool is_tuning_wanted(void)
{
    static const char *const asked = getenv("LOAM_TIME_PRODUCTS");
    return asked == NULL || strcmp(asked, "0") != 0;
}

static bool is_worth_it(const PlanKey &key)
{
    return (double)key.m * (double)key.n * (double)key.k >= LEAST_WORK &&
           (key.y_dtype == DT_F32 || key.m * key.n >= LEAST_ROUNDED);
}

/* Whether the plan is to be timed in this call: its second, so that a shape which comes once costs nothing; or, when
 * the numbers of that did not do, the fourth, the eighth, … */
static bool is_due(const Plan *plan)
{
    return !plan->timed && plan->writes > 1 && (plan->writes & (plan->writes - 1)) == 0;
}

void tuning_choose(Gpu *gpu, Plan *plan, const Product &call, Tensor y)
{
    cublasLtMatmulHeuristicResult_t found[CANDIDATES];
    if (gpu->captures) /* timing waits */
        return;
    plan->writes++;
    if (!is_due(plan) || gpu->n_timed == MOST_TIMED || !is_tuning_wanted() || !is_worth_it(plan->key))
        return;
    float shortest = time_of(gpu, plan, call, &plan->how);
    Result first, other;
    if (shortest == INFINITY || !result_of(gpu, plan, call, &plan->how, y, &first))
        return;
    /* Where most numbers are 0, as with weights that begin at 0, or infinite, as gradients of f16 before their scale
     * has fallen, algorithms of other sums would look alike. */
    if (first.product.filled < (unsigned long long)(plan->key.m * plan->key.n) / 2)
        return;
    plan->timed = true;
    gpu->n_timed++;
    for (int i = 1, n = lt_find(gpu, plan, found, CANDIDATES); i < n; i++) {
        float time = found[i].state == CUBLAS_STATUS_SUCCESS ? time_of(gpu, plan, call, &found[i].algo) : INFINITY;
        if (time >= shortest || !result_of(gpu, plan, call, &found[i].algo, y, &other) ||
            !is_equal(first.product, other.product) || !is_equal(first.sum, other.sum))
            continue;
        shortest = time;
        plan->how = found[i].algo;
    }
}
