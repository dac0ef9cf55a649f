/* attention_fwd.cu: attention forward: a query tile goes over key tiles with the online softmax's running maximum. */
#include "device/cuda/kernels/attention_launch.h"
#include "device/cuda/kernels/attention_outside.h"
#include "device/cuda/kernels/attention_tiles.h"
#include "device/cuda/kernels/kernels.h"

namespace
{

/* For each query of a thread: the largest score so far, and the sum of exp(score - largest). */
struct Running {
    float max[ROWS], sum[ROWS];
};

/* Converts scores to weights of values, in shared memory; sets the factors that scale earlier tiles' sums down. */
__device__ inline void take_tile(float (&shrink)[ROWS], Running *running, const float (&scores)[ROWS][COLS],
                                 const Attn &attn, const Pairs &pairs, int64_t i, int64_t j, AttnShared *shared)
{
    UNROLL for (int r = 0; r < ROWS; r++)
    {
        float max = running->max[r], sum = 0, factors[COLS];
        UNROLL for (int c = 0; c < COLS; c++) max = fmaxf(max, scores[r][c]);
        UNROLL for (int distance = LANES / 2; distance > 0; distance /= 2) max =
            fmaxf(max, __shfl_xor_sync(ALL_LANES, max, distance));
        mask_attention(factors, attn, pairs, i + first_row() + r, j + first_col());
        UNROLL for (int c = 0; c < COLS; c++)
        {
            float p = scores[r][c] == -INFINITY ? 0 : expf(scores[r][c] - max);
            sum += p;
            shared->pairs[first_row() + r][first_col() + c] = p * factors[c];
        }
        UNROLL for (int distance = LANES / 2; distance > 0; distance /= 2) sum +=
            __shfl_xor_sync(ALL_LANES, sum, distance);
        shrink[r] = running->max[r] == -INFINITY ? 0 : expf(running->max[r] - max);
        running->sum[r] = running->sum[r] * shrink[r] + sum;
        running->max[r] = max;
    }
}

/* One block per tile of queries of each sequence (block x) and per head (block y). */
template <int CHUNKS>
__global__ void __launch_bounds__(ATTN_THREADS)
    attention_fwd_kernel(const __grid_constant__ Attn attn, FwdOutputs to, int tiles)
{
    begin_kernel();
    AttnShared *shared = block_shared<AttnShared>();
    Pairs pairs = pairs_of(attn, (int)blockIdx.x / tiles, (int)blockIdx.y);
    int64_t i = (int64_t)(blockIdx.x % tiles) * ATTN_TILE;
    if (i >= pairs.of.tq)
        return;
    float sums[CHUNKS][ROWS][OWN] = {}, inverse[ROWS];
    Running running;
    UNROLL for (int r = 0; r < ROWS; r++)
    {
        running.max[r] = -INFINITY;
        running.sum[r] = 0;
    }
    for (int64_t j = 0; j < pairs.of.tk; j += ATTN_TILE) {
        float scores[ROWS][COLS], shrink[ROWS];
        if (!tile_wanted(attn, pairs, i, ATTN_TILE, j, ATTN_TILE))
            continue;
        tile_scores(scores, attn, pairs, i, j, shared);
        take_tile(shrink, &running, scores, attn, pairs, i, j, shared);
        UNROLL for (int chunk = 0; chunk < CHUNKS; chunk++) UNROLL for (int r = 0; r < ROWS; r++)
            UNROLL for (int c = 0; c < OWN; c++) sums[chunk][r][c] *= shrink[r];
        tile_accumulate<CHUNKS, false>(sums, shared, attn.v, pairs.k0, j, pairs.of.tk, k_channel(attn, pairs),
                                       attn.dim);
    }
    UNROLL for (int r = 0; r < ROWS; r++)
    {
        bool none = running.sum[r] == 0;
        inverse[r] = none ? 0 : 1 / running.sum[r];
        if (threadIdx.x % LANES == 0 && i + first_row() + r < pairs.of.tq)
            to.lse[pairs.head * to.lse_ld + pairs.q0 + i + first_row() + r] =
                none ? 0 : running.max[r] + logf(running.sum[r]);
    }
    tile_store(sums, to.o, pairs.q0 + i, pairs.q0 + pairs.of.tq, q_channel(attn, pairs), attn.dim, inverse);
}

template <int CHUNKS> struct Forward {
    static constexpr auto run = attention_fwd_kernel<CHUNKS>;
};

/* Attention forward on CUDA cores. */
void plain_fwd(Gpu *gpu, const Attn &attn, const FwdOutputs &to)
{
    int tiles = (int)ceil_div(attn.spec.max_q, ATTN_TILE);
    Shape shape = { (unsigned)(attn.spec.n_seq * tiles), (unsigned)attn.spec.heads, ATTN_THREADS, 1 };
    launch_by_dim<Forward>(gpu, shape, attn, to, tiles);
}

} // namespace

void gpu_attn_fwd(Device *dev, Tensor o, Tensor lse, Tensor q, Tensor k, Tensor v, Tensor bias, const AttnSpec *spec,
                  const Dropout *drop)
{
    Attn attn = attn_of(q, k, v, bias, spec, drop);
    FwdOutputs to = { view(o), (float *)lse.p, lse.ld };
    bool few = spec->max_q <= DECODE_QUERIES && attn.mask.sample == NULL && attn.table.p == NULL;
    clear_outside(dev, o, spec->cu_q, spec->n_seq, false);
    clear_outside(dev, lse, spec->cu_q, spec->n_seq, true);
    if (spec->n_seq > 0 && few)
        attention_decode(gpu_of(dev), attn, to, rows_of(q));
    else if (spec->n_seq > 0)
        (attn_on_tensor_cores(attn, view(NO_TENSOR)) ? attention_mma_fwd : plain_fwd)(gpu_of(dev), attn, to);
}
