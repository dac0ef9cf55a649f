/* attention_mma_fwd.cu: attention forward on tensor cores, after FlashAttention-2 (Dao 2023): a block has a tile of
 * queries and goes over the tiles of keys to which they attend, with the running maximum and sum of the online softmax.
 * While a tile is computed, the next one is copied (cp.async). */
#include "device/cuda/kernels/attention_launch.h"
#include "device/cuda/kernels/attention_mma.h"

namespace
{

/* Sizes of the tiles, by head size: 16 M queries per warp, KEYS keys, and BUFFERS buffers of keys and values. BLOCKS
 * blocks fit a multiprocessor by their registers: on an H200, heads of 64 channels are fastest with many small blocks,
 * since the products of some then hide the softmax of others. */
template <int DIM_, int M_, int KEYS_, int BUFFERS_, int BLOCKS_> struct FwdSizes {
    enum { DIM = DIM_, M = M_, QUERIES = 16 * M_ * MMA_WARPS, KEYS = KEYS_, BUFFERS = BUFFERS_, N = KEYS_ / 8 };
    enum { BLOCKS = BLOCKS_ };
    struct Shared {
        Tile<QUERIES, DIM> q;
        Tile<KEYS, DIM> k[BUFFERS], v[BUFFERS];
        BiasStrip<QUERIES, KEYS> bias[2];
        uint32_t groups[2][QUERIES]; /* Seen.groups of the queries, with a layout */
    };
};

/* For each query of a lane: the largest score so far, and the lane's part of the sum of 2^(score - largest). */
template <int M> struct Running {
    float max[M][2], sum[M][2];
};

/* Converts scores to probabilities without the factor 1 / sum; scales older sums down when the maximum grows. */
template <int M, int N, int OUT>
__device__ inline void take_tile(float (&s)[M][N][4], float (&o)[M][OUT][4], Running<M> *running)
{
    EACH(m, M) EACH(h, 2)
    {
        float max = running->max[m][h], sum = 0;
        EACH(n, N) max = fmaxf(max, fmaxf(s[m][n][2 * h], s[m][n][2 * h + 1]));
        max = fmaxf(max, __shfl_xor_sync(ALL_LANES, max, 1));
        max = fmaxf(max, __shfl_xor_sync(ALL_LANES, max, 2));
        float base = max == -INFINITY ? 0 : max, shrink = exp2_fast(running->max[m][h] - base);
        EACH(n, N) EACH(e, 2) sum += s[m][n][2 * h + e] = exp2_fast(s[m][n][2 * h + e] - base);
        EACH(n, OUT) EACH(e, 2) o[m][n][2 * h + e] *= shrink;
        running->sum[m][h] = running->sum[m][h] * shrink + sum;
        running->max[m][h] = max;
    }
}

/* o = p v / sum, and lse; a query that attends to no key gets zeros. */
template <int DTYPE, int M, int OUT>
__device__ inline void finish(const float (&o)[M][OUT][4], const Running<M> &running, const Attn &attn,
                              const Pairs &pairs, int64_t i, int first_row, const FwdOutputs &to)
{
    float inverse[M][2], kept = attn.mask.sample ? attn.mask.kept : 1;
    EACH(m, M) EACH(h, 2)
    {
        float sum = running.sum[m][h];
        sum += __shfl_xor_sync(ALL_LANES, sum, 1);
        sum += __shfl_xor_sync(ALL_LANES, sum, 2);
        bool none = sum == 0;
        inverse[m][h] = none ? 0 : kept / sum;
        int64_t query = i + row_of(first_row, m, h);
        if (lane_number() % 4 == 0 && query < pairs.of.tq)
            to.lse[pairs.head * to.lse_ld + pairs.q0 + query] = none ? 0 : (running.max[m][h] + log2f(sum)) * LN_2;
    }
    store_rows<DTYPE>(to.o, o, inverse, pairs.q0 + i, pairs.q0 + pairs.of.tq, first_row, q_channel(attn, pairs),
                      attn.dim);
}

/* One block per tile of queries of each sequence (block x; tiles with the most keys first) and per head (block y). */
template <int DTYPE, class Sizes>
__global__ void __launch_bounds__(MMA_THREADS, Sizes::BLOCKS)
    attention_mma_fwd_kernel(const __grid_constant__ Attn attn, FwdOutputs to, int tiles)
{
    begin_kernel();
    enum { M = Sizes::M, N = Sizes::N, OUT = Sizes::DIM / 8 };
    auto *shared = block_shared_large<typename Sizes::Shared>();
    Pairs pairs = pairs_of(attn, (int)blockIdx.x / tiles, (int)blockIdx.y);
    int64_t i = (int64_t)(tiles - 1 - (int)blockIdx.x % tiles) * Sizes::QUERIES;
    int first_row = (int)threadIdx.x / WARP * 16 * M;
    if (i >= pairs.of.tq)
        return;
    float o[M][OUT][4] = {};
    Running<M> running;
    Left<M, Sizes::QUERIES, Sizes::DIM, Sizes::DIM <= 32> q = { shared->q, first_row, {} };
    KeyFetch<Sizes> fetch;
    EACH(m, M) EACH(h, 2) running.max[m][h] = -INFINITY, running.sum[m][h] = 0;
    KeySpan span = keys_of(attn, pairs, i, Sizes::QUERIES);
    int j = next_keys(attn, pairs, span, i, Sizes::QUERIES, span.begin / Sizes::KEYS * Sizes::KEYS, Sizes::KEYS);
    stage_rows<MMA_THREADS>(&shared->q, attn.q, pairs.q0 + i, pairs.q0 + pairs.of.tq, q_channel(attn, pairs),
                            (int)attn.dim);
    begin_keys<Sizes>(shared, &fetch, attn, pairs, span, i, j);
    q.hold();
    for (int turn = 0; j < span.end; turn ^= 1) {
        float s[M][N][4];
        uint32_t keep[M];
        int buffer = turn % Sizes::BUFFERS;
        int next = next_keys(attn, pairs, span, i, Sizes::QUERIES, j + Sizes::KEYS, Sizes::KEYS);
        await_keys<Sizes>(shared, &fetch, attn, pairs, span, i, next, turn);
        multiply_transposed<DTYPE>(s, q, shared->k[buffer]);
        await_products<0>(s);
        finish_scores<Sizes>(s, attn, pairs, span, i, j, first_row, shared->bias[turn], shared->groups[turn]);
        take_tile(s, o, &running);
        if (attn.mask.sample) {
            keep_of_queries<M, N>(keep, attn, pairs, i, first_row, j);
            EACH_SUM(M, N) s[m][n][2 * h + e] = is_kept(keep[m], n, h, e) ? s[m][n][2 * h + e] : 0;
        }
        multiply_add<DTYPE>(o, s, shared->v[buffer], 0);
        await_products<0>(o);
        finish_keys<Sizes>(shared, fetch, attn, pairs, span, i, next, turn);
        j = next;
    }
    finish<DTYPE>(o, running, attn, pairs, i, first_row, to);
}

template <int DTYPE, class Sizes> void run(Gpu *gpu, const Attn &attn, const FwdOutputs &to)
{
    int tiles = (int)ceil_div(attn.spec.max_q, Sizes::QUERIES);
    launch_large<typename Sizes::Shared>(
        gpu, { (unsigned)(attn.spec.n_seq * tiles), (unsigned)attn.spec.heads, MMA_THREADS, 1 },
        attention_mma_fwd_kernel<DTYPE, Sizes>, attn, to, tiles);
}

/* For heads of 33 to 64 channels on a GPU that shares little: two blocks fit a multiprocessor. */
typedef FwdSizes<64, 1, 64, 2, 2> LittleForward;
static_assert(fits_little<LittleForward>(), "other numbers of blocks fit by registers and by shared memory");

template <int DTYPE> void run_by_dim(Gpu *gpu, const Attn &attn, const FwdOutputs &to)
{
    const bool little = gpu_shares_little(gpu);
    (attn.dim <= 32              ? run<DTYPE, FwdSizes<32, 2, 64, 2, 2>>
     : attn.dim <= 64 && !little ? run<DTYPE, FwdSizes<64, 1, 64, 2, 4>>
     : attn.dim <= 64            ? run<DTYPE, LittleForward>
     : attn.dim <= 128           ? run<DTYPE, FwdSizes<128, 1, 32, 2, 2>>
                                 : run<DTYPE, FwdSizes<256, 1, 32, 1, 1>>)(gpu, attn, to);
}

} // namespace

void attention_mma_fwd(Gpu *gpu, const Attn &attn, const FwdOutputs &to)
{
    if (attn.q.dtype == DT_BF16)
        run_by_dim<DT_BF16>(gpu, attn, to);
    else
        run_by_dim<DT_F16>(gpu, attn, to);
}
