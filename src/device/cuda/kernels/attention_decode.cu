/* attention_decode.cu: attention forward for few queries per sequence, as in decoding with a key/value cache. The time
 * is that of reading keys and values, so a block reads each of its keys once for up to ROWS rows: the queries of a
 * sequence, or of a beam, times the query heads that share a key head. If sequences and heads are few, the keys of a
 * sequence are split over several blocks, and a second kernel combines their sums in order (flash-decoding). */
#include "device/cuda/kernels/attention_launch.h"

namespace
{

enum { DECODE_THREADS = 128, DECODE_WARPS = DECODE_THREADS / WARP, MOST_ROWS = 4 };

/* How the rows (query, head) and the keys of a sequence are divided among blocks. */
struct Sharing {
    int splits, row_groups; /* number of splits of the keys; groups of rows of a key head */
    int lanes;              /* number of lanes that hold the channels of a key, VEC each: a power of two */
    float *partial; /* (queries, heads, splits, dim + 2): sum of p v, largest score, sum of p; NULL: one split */
};

/* A thread's sums of one row: the largest score, the sum of p = exp(score - largest), and Σ p v of VEC channels. */
struct Part {
    float max, sum, value[VEC];
};

struct DecodeShared {
    float max[MOST_ROWS][DECODE_WARPS], sum[MOST_ROWS][DECODE_WARPS], value[MOST_ROWS][DECODE_WARPS][MOST_CHANNELS];
};

__device__ inline float shrink_of(float max, float new_max)
{
    return max == -INFINITY ? 0 : expf(max - new_max);
}

/* Combines `part` with the sums of another lane for the same row. */
__device__ inline void join(Part *part, int lanes)
{
    float other = __shfl_xor_sync(ALL_LANES, part->max, lanes), max = fmaxf(part->max, other);
    float own = shrink_of(part->max, max), others = shrink_of(other, max);
    part->sum = part->sum * own + __shfl_xor_sync(ALL_LANES, part->sum, lanes) * others;
    UNROLL for (int x = 0; x < VEC; x++) part->value[x] =
        part->value[x] * own + __shfl_xor_sync(ALL_LANES, part->value[x], lanes) * others;
    part->max = max;
}

/* Query and query head of row r of a key head. */
struct Row {
    int64_t query;
    int head;
};

__device__ inline Row row_at(const Attn &attn, int kv_head, int r)
{
    return { r / attn.group, kv_head * attn.group + r % attn.group };
}

/* The score of key j, whose inner product with the query is `product`; -inf if the query does not attend to it. */
__device__ inline float score_of(const Attn &attn, const Pairs &pairs, int64_t i, int64_t j, float product)
{
    int64_t begin, end;
    attn_visible(&attn.spec, pairs.of, i, &begin, &end);
    if (i >= pairs.of.tq || j < begin || j >= end ||
        (attn.layout.blocks && !in_layout(attn, pairs, i + pairs.of.tk - pairs.of.tq, j)))
        return -INFINITY;
    float score = product * attn.spec.scale;
    return attn.bias.p ? score + bias_of(attn, pairs, i, j) : score;
}

/* The keys of the block's split to which its rows may attend. */
__device__ inline void keys_of_split(const Attn &attn, const Pairs &pairs, int splits, int split, int64_t *begin,
                                     int64_t *end)
{
    int64_t first, last, unused;
    attn_visible(&attn.spec, pairs.of, 0, &first, &unused);
    attn_visible(&attn.spec, pairs.of, pairs.of.tq - 1, &unused, &last);
    int64_t share = ceil_div(last > first ? last - first : 0, splits);
    *begin = least(first + split * share, last);
    *end = least(*begin + share, last);
}

/* The thread's partial sums of each row: the groups of lanes take the keys of the split in turn. */
template <int ROWS>
__device__ inline void sum_keys(Part (&parts)[ROWS], const Attn &attn, Pairs pairs, int kv_head, int first,
                                const Sharing &sharing, int split)
{
    int64_t c = (int)threadIdx.x % sharing.lanes * VEC, channel = kv_head * attn.dim + c, begin, end;
    int n = c < attn.dim ? vec_length(attn.dim, c) : 0, stride = DECODE_THREADS / sharing.lanes;
    float q[ROWS][VEC] = {};
    UNROLL for (int r = 0; r < ROWS; r++)
    {
        Row row = row_at(attn, kv_head, first + r);
        parts[r] = { -INFINITY, 0, {} };
        if (n > 0 && row.query < pairs.of.tq)
            load_any(q[r], attn.q, pairs.q0 + row.query, row.head * attn.dim + c, n);
    }
    keys_of_split(attn, pairs, sharing.splits, split, &begin, &end);
    for (int64_t at = begin; at < end; at += stride) {
        int64_t j = at + (int)threadIdx.x / sharing.lanes;
        float k[VEC] = {}, v[VEC] = {};
        if (n > 0 && j < end) {
            load_any(k, attn.k, pairs.k0 + j, channel, n);
            load_any(v, attn.v, pairs.k0 + j, channel, n);
        }
        UNROLL for (int r = 0; r < ROWS; r++)
        {
            Row row = row_at(attn, kv_head, first + r);
            Part *part = &parts[r];
            float product = 0;
            UNROLL for (int x = 0; x < VEC; x++) product += q[r][x] * k[x];
            for (int distance = sharing.lanes / 2; distance > 0; distance /= 2)
                product += __shfl_xor_sync(ALL_LANES, product, distance);
            pairs.head = row.head;
            float score = j < end ? score_of(attn, pairs, row.query, j, product) : -INFINITY;
            if (score == -INFINITY)
                continue;
            float max = fmaxf(part->max, score), shrink = shrink_of(part->max, max), p = expf(score - max);
            part->sum = part->sum * shrink + p;
            UNROLL for (int x = 0; x < VEC; x++) part->value[x] = part->value[x] * shrink + p * v[x];
            part->max = max;
        }
    }
}

/* Writes one channel of a row of the result; with the first channel also the row's lse. */
__device__ inline void put_result(const Attn &attn, const FwdOutputs &to, int64_t token, int head, int64_t c, float max,
                                  float sum, float value)
{
    bool none = sum == 0;
    store_one(to.o, token, head * attn.dim + c, none ? 0 : value / sum);
    if (c == 0)
        to.lse[head * to.lse_ld + token] = none ? 0 : max + logf(sum);
}

/* Combines the warps' sums of one row, in the order of the warps, into the result or the sums of the split. */
__device__ inline void put_row(const DecodeShared *shared, int r, const Attn &attn, const FwdOutputs &to, int64_t token,
                               int head, const Sharing &sharing, int split)
{
    float max = -INFINITY, sum = 0;
    for (int warp = 0; warp < DECODE_WARPS; warp++)
        max = fmaxf(max, shared->max[r][warp]);
    for (int warp = 0; warp < DECODE_WARPS; warp++)
        sum += shared->sum[r][warp] * shrink_of(shared->max[r][warp], max);
    for (int64_t c = threadIdx.x; c < attn.dim; c += DECODE_THREADS) {
        float value = 0;
        for (int warp = 0; warp < DECODE_WARPS; warp++)
            value += shared->value[r][warp][c] * shrink_of(shared->max[r][warp], max);
        if (sharing.partial == NULL) {
            put_result(attn, to, token, head, c, max, sum, value);
            continue;
        }
        float *part = sharing.partial + ((token * attn.spec.heads + head) * sharing.splits + split) * (attn.dim + 2);
        part[c] = value;
        if (c == 0) {
            part[attn.dim] = max;
            part[attn.dim + 1] = sum;
        }
    }
}

/* A split of the keys of a sequence (block x), for ROWS rows of a head of keys (block y). */
template <int ROWS>
__global__ void __launch_bounds__(DECODE_THREADS)
    attention_decode_kernel(const __grid_constant__ Attn attn, FwdOutputs to, Sharing sharing)
{
    begin_kernel();
    DecodeShared *shared = block_shared<DecodeShared>();
    int split = (int)blockIdx.x % sharing.splits, kv_head = (int)blockIdx.y / sharing.row_groups;
    int first = (int)blockIdx.y % sharing.row_groups * ROWS, warp = (int)threadIdx.x / WARP;
    Pairs pairs = pairs_of(attn, (int)blockIdx.x / sharing.splits, kv_head * attn.group);
    if (pairs.of.tq == 0)
        return;
    Part parts[ROWS];
    sum_keys<ROWS>(parts, attn, pairs, kv_head, first, sharing, split);
    UNROLL for (int r = 0; r < ROWS; r++)
    {
        for (int lanes = sharing.lanes; lanes < WARP; lanes *= 2)
            join(&parts[r], lanes);
        if (lane_number() < sharing.lanes)
            UNROLL for (int x = 0; x < VEC; x++) shared->value[r][warp][lane_number() * VEC + x] = parts[r].value[x];
        if (lane_number() == 0) { /* the sums of other lanes may differ in the last bit: fused multiplications */
            shared->max[r][warp] = parts[r].max;
            shared->sum[r][warp] = parts[r].sum;
        }
    }
    __syncthreads();
    for (int r = 0; r < ROWS; r++) {
        Row row = row_at(attn, kv_head, first + r);
        if (first + r < attn.group * pairs.of.tq)
            put_row(shared, r, attn, to, pairs.q0 + row.query, row.head, sharing, split);
    }
}

/* Combines the splits of a token (block x) and head (block y), in the order of the splits. */
__global__ void attention_join_kernel(const __grid_constant__ Attn attn, FwdOutputs to, Sharing sharing)
{
    begin_kernel();
    int64_t token = blockIdx.x, stride = attn.dim + 2;
    int head = (int)blockIdx.y;
    if (token < attn.spec.cu_q.device[0] || token >= attn.spec.cu_q.device[attn.spec.n_seq])
        return;
    const float *parts = sharing.partial + (token * attn.spec.heads + head) * sharing.splits * stride;
    float max = -INFINITY, sum = 0;
    for (int split = 0; split < sharing.splits; split++)
        max = fmaxf(max, parts[split * stride + attn.dim]);
    for (int split = 0; split < sharing.splits; split++)
        sum += parts[split * stride + attn.dim + 1] * shrink_of(parts[split * stride + attn.dim], max);
    for (int64_t c = threadIdx.x; c < attn.dim; c += WARP) {
        float value = 0;
        for (int split = 0; split < sharing.splits; split++)
            value += parts[split * stride + c] * shrink_of(parts[split * stride + attn.dim], max);
        put_result(attn, to, token, head, c, max, sum, value);
    }
}

template <int ROWS> void run(Gpu *gpu, const Attn &attn, const FwdOutputs &to, int64_t queries, int rows)
{
    const AttnSpec &spec = attn.spec;
    Sharing sharing = { 1, (int)ceil_div(rows, ROWS), 1, NULL };
    while (sharing.lanes * VEC < attn.dim)
        sharing.lanes *= 2;
    int blocks_y = attn_kv_heads(&spec) * sharing.row_groups;
    int64_t wanted = ceil_div(DECODE_BLOCKS, (int64_t)spec.n_seq * blocks_y);
    sharing.splits = (int)least(wanted, ceil_div(spec.max_k, DECODE_KEYS));
    if (sharing.splits > 1)
        sharing.partial = (float *)gpu_scratch(gpu, scratch_splits(queries, spec.heads, sharing.splits, attn.dim));
    launch(gpu, { (unsigned)(spec.n_seq * sharing.splits), (unsigned)blocks_y, DECODE_THREADS, 1 },
           attention_decode_kernel<ROWS>, attn, to, sharing);
    if (sharing.splits > 1 && queries > 0)
        launch(gpu, { (unsigned)queries, (unsigned)spec.heads, WARP, 1 }, attention_join_kernel, attn, to, sharing);
}

} // namespace

void attention_decode(Gpu *gpu, const Attn &attn, const FwdOutputs &to, int64_t queries)
{
    int rows = attn.group * attn.spec.max_q;
    if (rows == 1)
        run<1>(gpu, attn, to, queries, rows);
    else if (rows == 2)
        run<2>(gpu, attn, to, queries, rows);
    else
        run<MOST_ROWS>(gpu, attn, to, queries, rows);
}
