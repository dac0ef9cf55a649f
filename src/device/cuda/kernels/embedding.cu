/* embedding.cu: the gradient of an embedding table. Tokens are sorted by their ids, so that the tokens of one id are a
 * run; a run is summed in the order of its tokens and added to the id's entry once. */
#include "device/cuda/kernels/each.h"
#include "device/cuda/kernels/kernels.h"
#include "device/cuda/kernels/sort.h"

namespace
{

/* A warp sums a chunk of columns over the tokens of a tile, run by run. Runs that extend over several tiles are stored
 * as partial sums: head: of the run with which the tile begins, if it began in an earlier tile; tail: of the run that
 * continues in the next tile. TOKENS_AHEAD tokens are on their way at once. */
enum { RUN_TILE = 32, CHUNK = WARP * VEC, WARPS = 4, TOKENS_AHEAD = 8 };

struct Runs {
    View dtable, dy;
    const int32_t *keys, *tokens;
    float *head, *tail; /* (tiles, cols) */
    int n;
    int64_t cols;
};

__device__ inline void add_to(const View &v, int64_t row, int64_t col, int n, const float (&sum)[VEC])
{
    float x[VEC];
    load(x, v, row, col, n);
    UNROLL for (int i = 0; i < VEC; i++) x[i] += sum[i];
    store(v, row, col, n, x);
}

__device__ inline bool goes_on(const Runs &runs, int i)
{
    return i > 0 && i < runs.n && runs.keys[i] == runs.keys[i - 1];
}

/* Stores the sum of the run [begin, end) of sorted tokens. */
__device__ inline void leave_run(const Runs &runs, int tile, int begin, int end, int64_t col, const float (&sum)[VEC])
{
    int n = vec_length(runs.cols, col);
    bool before = begin == tile * RUN_TILE && goes_on(runs, begin), after = goes_on(runs, end);
    if (!before && !after)
        return add_to(runs.dtable, runs.keys[begin], col, n, sum);
    float *to = (before ? runs.head : runs.tail) + (int64_t)tile * runs.cols + col;
    UNROLL for (int i = 0; i < VEC; i++) if (i < n) to[i] = sum[i];
}

__global__ void __launch_bounds__(WARP *WARPS) sum_runs(Runs runs)
{
    begin_kernel();
    int tile = (int)(blockIdx.x * WARPS + threadIdx.y), first = tile * RUN_TILE, begin = first;
    int64_t col = (int64_t)blockIdx.y * CHUNK + threadIdx.x * VEC;
    int last = first + RUN_TILE < runs.n ? first + RUN_TILE : runs.n;
    float sum[VEC] = {};
    if (first >= runs.n || col >= runs.cols)
        return;
    for (int next = first; next < last; next += TOKENS_AHEAD) {
        Bits ahead[TOKENS_AHEAD];
        UNROLL for (int k = 0; k < TOKENS_AHEAD; k++) if (next + k < last) ahead[k] =
            fetch(runs.dy, runs.tokens[next + k], col, vec_length(runs.cols, col));
        UNROLL for (int k = 0; k < TOKENS_AHEAD; k++) if (next + k < last)
        {
            float x[VEC];
            convert(x, ahead[k], runs.dy);
            if (next + k > begin && !goes_on(runs, next + k)) {
                leave_run(runs, tile, begin, next + k, col, sum);
                begin = next + k;
                UNROLL for (int j = 0; j < VEC; j++) sum[j] = 0;
            }
            UNROLL for (int j = 0; j < VEC; j++) sum[j] += x[j];
        }
    }
    leave_run(runs, tile, begin, last, col, sum);
}

/* For runs over several tiles: the warp of the tile in which a run begins adds the partial sums of all its tiles. */
__global__ void __launch_bounds__(WARP *WARPS) join_runs(Runs runs)
{
    begin_kernel();
    int tile = (int)(blockIdx.x * WARPS + threadIdx.y), end = (tile + 1) * RUN_TILE;
    int64_t col = (int64_t)blockIdx.y * CHUNK + threadIdx.x * VEC;
    if (col >= runs.cols || !goes_on(runs, end))
        return;
    int32_t key = runs.keys[end];
    int begin = tile * RUN_TILE;
    if (runs.keys[begin] == key && goes_on(runs, begin))
        return; /* it began in an earlier tile */
    int n = vec_length(runs.cols, col);
    float sum[VEC];
    const float *tail = runs.tail + (int64_t)tile * runs.cols + col;
    UNROLL for (int i = 0; i < VEC; i++) sum[i] = i < n ? tail[i] : 0;
    for (int t = tile + 1; t * RUN_TILE < runs.n && runs.keys[t * RUN_TILE] == key; t++) {
        const float *head = runs.head + (int64_t)t * runs.cols + col;
        UNROLL for (int i = 0; i < VEC; i++) sum[i] += i < n ? head[i] : 0;
    }
    add_to(runs.dtable, key, col, n, sum);
}

} // namespace

void gpu_scatter_add(Device *dev, Tensor dtable, Tensor dy, Tensor ids, float beta)
{
    Gpu *gpu = gpu_of(dev);
    int64_t n = rows_of(dy), cols = cols_of(dy), tiles = ceil_div(n, RUN_TILE);
    CHECK(n < INT32_MAX / 2, "%lld tokens", (long long)n);
    if (beta == 0)
        gpu_fill(dev, dtable, 0);
    else if (beta != 1)
        gpu_scale(dev, dtable, dtable, beta);
    if (n == 0 || cols == 0)
        return;
    const size_t bytes = scratch_scatter_add(n, cols), partial = scratch_runs(n, cols), sort = bytes - 2 * partial;
    char *scratch = (char *)gpu_scratch(gpu, bytes);
    Sorted sorted = sort_ids(gpu, (const int32_t *)ids.p, (int)n, rows_of(dtable), scratch);
    Runs runs = { view(dtable),
                  view(dy),
                  sorted.keys,
                  sorted.tokens,
                  (float *)(scratch + sort),
                  (float *)(scratch + sort + partial),
                  (int)n,
                  cols };
    Shape shape = { (unsigned)ceil_div(tiles, WARPS), (unsigned)ceil_div(cols, CHUNK), WARP, WARPS };
    launch(gpu, shape, sum_runs, runs);
    launch(gpu, shape, join_runs, runs);
}
