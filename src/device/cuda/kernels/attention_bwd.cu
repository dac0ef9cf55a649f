/* attention_bwd.cu: attention backward. Scores are recomputed from the saved log-sum-exp: once for the gradients of a
 * tile of queries, once for the gradients of a tile of keys, so that every gradient is summed by one thread block in a
 * fixed order. Sums along diagonals, for the bias, are stored by tile and added by another kernel.
 *
 * With p the probabilities, r dropout's factors and δ_i = dout_i·o_i:
 *   ds_ij = p (r dout_i·v_j − δ_i), dv_j = Σ_i r p dout_i, dq_i = scale Σ_j ds k_j, dk_j = scale Σ_i ds q_i,
 *   dbias_(j−i) = Σ ds. */
#include "device/cuda/kernels/attention_launch.h"
#include "device/cuda/kernels/attention_outside.h"
#include "device/cuda/kernels/attention_tiles.h"
#include "device/cuda/kernels/each.h"
#include "device/cuda/kernels/kernels.h"

namespace
{

/* δ of each query and head. `lanes` neighbouring lanes, a power of two, read a head's channels of a row, and the next
 * lanes those of the next head, so a warp reads neighbouring memory. The grid strides over the rows, of which each
 * thread has DELTAS on their way at once. */
enum { DELTAS = 2 };

struct Deltas {
    View dout, o;
    float *delta; /* (heads, rows) */
    int64_t rows, dim;
    int heads, lanes;
};

__global__ void __launch_bounds__(EACH_THREADS, 4) delta_kernel(Deltas d)
{
    begin_kernel();
    int vector = (int)(blockIdx.x * blockDim.x + threadIdx.x), lane = vector & (d.lanes - 1), head = vector / d.lanes;
    int64_t step = (int64_t)gridDim.y * blockDim.y;
    if (d.dim % VEC != 0)
        d.dout.wide = d.o.wide = false;
    for (int64_t block = (int64_t)blockIdx.y * blockDim.y; block < d.rows; block += DELTAS * step) {
        int64_t row = block + threadIdx.y;
        float sums[DELTAS] = {};
        for (int64_t c = lane * VEC; c < d.dim; c += d.lanes * VEC) {
            Bits dout[DELTAS] = {}, o[DELTAS] = {};
            UNROLL for (int k = 0; k < DELTAS; k++) if (head < d.heads && row + k * step < d.rows)
            {
                dout[k] = fetch(d.dout, row + k * step, head * d.dim + c, vec_length(d.dim, c));
                o[k] = fetch(d.o, row + k * step, head * d.dim + c, vec_length(d.dim, c));
            }
            UNROLL for (int k = 0; k < DELTAS; k++)
            {
                float a[VEC], b[VEC];
                convert(a, dout[k], d.dout);
                convert(b, o[k], d.o);
                UNROLL for (int i = 0; i < VEC; i++) sums[k] += a[i] * b[i];
            }
        }
        for (int distance = d.lanes / 2; distance > 0; distance /= 2)
            UNROLL for (int k = 0; k < DELTAS; k++) sums[k] += __shfl_xor_sync(ALL_LANES, sums[k], distance);
        UNROLL for (int k = 0; k < DELTAS; k++) if (lane == 0 && head < d.heads && row + k * step < d.rows)
            d.delta[head * d.rows + row + k * step] = sums[k];
    }
}

void set_deltas(Gpu *gpu, const Gradients &g, int heads, int64_t dim)
{
    int lanes = 1;
    while (lanes < WARP && lanes * VEC < dim)
        lanes *= 2;
    Shape shape = each_shape(ceil_div(g.queries, DELTAS), (int64_t)heads * lanes * VEC);
    if (g.queries > 0)
        launch(gpu, shape, delta_kernel, Deltas{ g.dout, g.o, g.delta, g.queries, dim, heads, lanes });
}

/* The pairs of a tile: p · r, and ds. */
__device__ inline void tile_gradients(float (&weights)[ROWS][COLS], float (&ds)[ROWS][COLS], const Attn &attn,
                                      const Gradients &g, const Pairs &pairs, int64_t i, int64_t j, AttnShared *shared)
{
    tile_scores(weights, attn, pairs, i, j, shared);
    tile_products(ds, shared, g.dout, pairs.q0 + i, pairs.q0 + pairs.of.tq, q_channel(attn, pairs), attn.v,
                  pairs.k0 + j, pairs.k0 + pairs.of.tk, k_channel(attn, pairs), attn.dim);
    UNROLL for (int r = 0; r < ROWS; r++)
    {
        int64_t query = i + first_row() + r, row = pairs.q0 + query;
        bool is_query = query < pairs.of.tq;
        float lse = is_query ? g.lse[pairs.head * g.lse_ld + row] : 0, factors[COLS];
        float delta = is_query ? g.delta[pairs.head * g.queries + row] : 0;
        mask_attention(factors, attn, pairs, query, j + first_col());
        UNROLL for (int c = 0; c < COLS; c++)
        {
            float p = weights[r][c] == -INFINITY ? 0 : expf(weights[r][c] - lse);
            weights[r][c] = p * factors[c];
            ds[r][c] = p * (factors[c] * ds[r][c] - delta);
        }
    }
}

/* Writes a tile of pairs to shared memory, once all threads have read the tile before it. */
__device__ inline void share_pairs(const float (&pairs)[ROWS][COLS], AttnShared *shared)
{
    __syncthreads();
    UNROLL for (int r = 0; r < ROWS; r++) UNROLL for (int c = 0; c < COLS; c++)
        shared->pairs[first_row() + r][first_col() + c] = pairs[r][c];
}

/* sums += Σ ds e over the keys of each query or, TRANSPOSED, over the queries of each key, for channels from `from` on:
 * the part of the embeddings of distances in the gradients of queries and keys. ds is in shared memory. */
template <int CHUNKS, bool TRANSPOSED>
__device__ inline void tile_distances(float (&sums)[CHUNKS][ROWS][OWN], const Attn &attn, const Pairs &pairs, int64_t i,
                                      int64_t j, const AttnShared *shared, int64_t from)
{
    int64_t middle = attn.distance.table.d[0] / 2 + pairs.of.tk - pairs.of.tq;
    int own = (int)threadIdx.x % LANES * OWN;
    for (int r = 0; r < ROWS; r++)
        for (int t = 0; t < ATTN_TILE; t++) {
            int query = TRANSPOSED ? t : first_row() + r, key = TRANSPOSED ? first_row() + r : t;
            float ds = shared->pairs[query][key];
            UNROLL for (int chunk = 0; chunk < CHUNKS; chunk++) UNROLL for (int c = 0; c < OWN; c++)
            {
                int64_t channel = from + chunk * CHANNELS + own + c;
                if (ds != 0 && channel < attn.dim)
                    sums[chunk][r][c] += ds * load_one(attn.table, middle + i + query - j - key, channel);
            }
        }
}

/* Adds the sums of ds (in shared memory) along its diagonals to the sums of the tile of queries. */
__device__ inline void add_diagonals(const AttnShared *shared, float *places, int64_t j, int64_t n_places)
{
    int distance = (int)threadIdx.x - (ATTN_TILE - 1); /* key - query within the tile */
    int64_t at = threadIdx.x + j;
    if (distance >= ATTN_TILE || at >= n_places)
        return;
    float sum = 0;
    for (int r = distance < 0 ? -distance : 0; r < ATTN_TILE && r + distance < ATTN_TILE; r++)
        sum += shared->pairs[r][r + distance];
    places[at] += sum;
}

/* dq of a tile of queries of a sequence (block x), for a head (block y). */
template <int CHUNKS>
__global__ void __launch_bounds__(ATTN_THREADS, 1) attention_dq_kernel(const __grid_constant__ Attn attn, Gradients g)
{
    begin_kernel();
    AttnShared *shared = block_shared<AttnShared>();
    Pairs pairs = pairs_of(attn, g.first_seq + (int)blockIdx.x / g.n_tiles, (int)blockIdx.y);
    int tile = g.first_tile + (int)blockIdx.x % g.n_tiles;
    int64_t i = (int64_t)tile * ATTN_TILE;
    if (i >= pairs.of.tq)
        return;
    float sums[CHUNKS][ROWS][OWN] = {}, scale = attn.spec.scale;
    const float factor[ROWS] = { scale, scale, scale, scale };
    float *places = diagonals_of(attn.spec, g, pairs.seq, pairs.head, tile);
    int64_t n_places = diagonals_used(pairs.of.tk);
    for (int64_t at = threadIdx.x; places && at < n_places; at += ATTN_THREADS)
        places[at] = 0;
    for (int64_t j = 0; j < pairs.of.tk; j += ATTN_TILE) {
        float weights[ROWS][COLS], ds[ROWS][COLS];
        if (!tile_wanted(attn, pairs, i, ATTN_TILE, j, ATTN_TILE))
            continue;
        tile_gradients(weights, ds, attn, g, pairs, i, j, shared);
        share_pairs(ds, shared);
        tile_accumulate<CHUNKS, false>(sums, shared, attn.k, pairs.k0 + j, pairs.k0 + pairs.of.tk,
                                       k_channel(attn, pairs), attn.dim);
        if (attn.table.p)
            tile_distances<CHUNKS, false>(sums, attn, pairs, i, j, shared, 0);
        if (places)
            add_diagonals(shared, places, j, n_places);
    }
    tile_store(sums, g.dq, pairs.q0 + i, pairs.q0 + pairs.of.tq, q_channel(attn, pairs), attn.dim, factor);
}

/* Adds the part of one query head to dk and dv of a tile of keys, for channels from `from` on. */
template <int CHUNKS>
__device__ inline void keys_of_head(float (&dk)[CHUNKS][ROWS][OWN], float (&dv)[CHUNKS][ROWS][OWN], const Attn &attn,
                                    const Gradients &g, const Pairs &pairs, int64_t j, AttnShared *shared, int64_t from)
{
    for (int64_t i = 0; i < pairs.of.tq; i += ATTN_TILE) {
        float weights[ROWS][COLS], ds[ROWS][COLS];
        if (!tile_wanted(attn, pairs, i, ATTN_TILE, j, ATTN_TILE))
            continue;
        tile_gradients(weights, ds, attn, g, pairs, i, j, shared);
        share_pairs(weights, shared);
        tile_accumulate<CHUNKS, true>(dv, shared, g.dout, pairs.q0 + i, pairs.q0 + pairs.of.tq,
                                      q_channel(attn, pairs) + from, attn.dim - from);
        share_pairs(ds, shared);
        tile_accumulate<CHUNKS, true>(dk, shared, attn.q, pairs.q0 + i, pairs.q0 + pairs.of.tq,
                                      q_channel(attn, pairs) + from, attn.dim - from);
        if (attn.table.p && attn.distance.keys)
            tile_distances<CHUNKS, true>(dk, attn, pairs, i, j, shared, from);
    }
}

/* dk and dv of a tile of keys of a sequence (block x), for one of `parts` parts of the channels of a key head (block
 * y), since a thread has registers for the sums of at most 4 chunks of both. */
template <int CHUNKS>
__global__ void __launch_bounds__(ATTN_THREADS, 1)
    attention_dkv_kernel(const __grid_constant__ Attn attn, Gradients g, int tiles, int parts)
{
    begin_kernel();
    AttnShared *shared = block_shared<AttnShared>();
    Pairs pairs = pairs_of(attn, (int)blockIdx.x / tiles, (int)blockIdx.y / parts * attn.group);
    int64_t from = (int64_t)(blockIdx.y % parts) * CHUNKS * CHANNELS;
    int64_t j = (int64_t)(blockIdx.x % tiles) * ATTN_TILE, end = pairs.k0 + pairs.of.tk;
    if (j >= pairs.of.tk)
        return;
    float dk[CHUNKS][ROWS][OWN] = {}, dv[CHUNKS][ROWS][OWN] = {}, scale = attn.spec.scale;
    const float factor[ROWS] = { scale, scale, scale, scale }, one[ROWS] = { 1, 1, 1, 1 };
    for (int head = 0; head < attn.group; head++, pairs.head++)
        keys_of_head<CHUNKS>(dk, dv, attn, g, pairs, j, shared, from);
    pairs.head--;
    tile_store(dk, g.dk, pairs.k0 + j, end, k_channel(attn, pairs) + from, attn.dim - from, factor);
    tile_store(dv, g.dv, pairs.k0 + j, end, k_channel(attn, pairs) + from, attn.dim - from, one);
}

/* dbias of 32 columns (block x) of a head (block y), of the tiles of a launch: row y of the thread block adds the
 * diagonals of every DIAGONAL_ROWS-th sequence, tile by tile; then the rows are added. */
enum { DIAGONAL_ROWS = 16 };
struct DiagonalShared {
    float of[DIAGONAL_ROWS][WARP];
};

__global__ void diagonal_kernel(AttnSpec spec, Gradients g, View dbias, float beta)
{
    begin_kernel();
    DiagonalShared *shared = block_shared<DiagonalShared>();
    int64_t col = (int64_t)blockIdx.x * WARP + threadIdx.x;
    int head = (int)blockIdx.y;
    float sum = 0;
    for (int seq = g.first_seq + (int)threadIdx.y; seq < g.first_seq + g.n_seq; seq += DIAGONAL_ROWS) {
        int64_t tq = spec.cu_q.device[seq + 1] - spec.cu_q.device[seq];
        int64_t n_places = diagonals_used(spec.cu_k.device[seq + 1] - spec.cu_k.device[seq]);
        for (int tile = g.first_tile; tile < g.first_tile + g.n_tiles && tile * DIAGONAL_QUERIES < tq; tile++) {
            int64_t at = col + (int64_t)(tile + 1) * DIAGONAL_QUERIES - spec.max_q;
            if (at >= 0 && at < n_places)
                sum += diagonals_of(spec, g, seq, head, tile)[at];
        }
    }
    shared->of[threadIdx.y][threadIdx.x] = sum;
    __syncthreads();
    if (threadIdx.y > 0 || col >= (int64_t)spec.max_q + spec.max_k - 1)
        return;
    sum = 0;
    for (int y = 0; y < DIAGONAL_ROWS; y++)
        sum += shared->of[y][threadIdx.x];
    store_one(dbias, head, col, blend(dbias, head, col, beta, sum));
}

/* The sum of x over the GROUP consecutive lanes that share a pair, which each of them gets. */
template <int GROUP> __device__ inline float group_sum(float x)
{
    UNROLL for (int distance = GROUP / 2; distance > 0; distance /= 2) x += __shfl_xor_sync(ALL_LANES, x, distance);
    return x;
}

/* ds of one pair, computed by a group of lanes, of which each has VEC channels of q, k and the embedding e; 0 if the
 * query does not see the key. */
template <int GROUP>
__device__ inline float pair_gradient(const Attn &attn, const Gradients &g, const Pairs &pairs, int64_t i, int64_t j,
                                      bool seen, const float (&e)[VEC], const float (&q)[VEC], const float (&k)[VEC])
{
    int64_t c = threadIdx.x % GROUP * VEC, row = pairs.q0 + i;
    float dout[VEC] = {}, v[VEC] = {}, factors[COLS], score = 0, dp = 0;
    if (seen && c < attn.dim) {
        load_any(dout, g.dout, row, q_channel(attn, pairs) + c, vec_length(attn.dim, c));
        load_any(v, attn.v, pairs.k0 + j, k_channel(attn, pairs) + c, vec_length(attn.dim, c));
    }
    UNROLL for (int x = 0; x < VEC; x++)
    {
        score += q[x] * k[x] + q[x] * e[x] + (attn.distance.keys ? k[x] * e[x] : 0);
        dp += dout[x] * v[x];
    }
    score = group_sum<GROUP>(score) * attn.spec.scale;
    dp = group_sum<GROUP>(dp);
    if (!seen)
        return 0;
    mask_attention(factors, attn, pairs, i, j / COLS * COLS);
    float p = expf(score - g.lse[pairs.head * g.lse_ld + row]), factor = 0;
    UNROLL for (int x = 0; x < COLS; x++) factor = j % COLS == x ? factors[x] : factor;
    return p * (factor * dp - g.delta[pairs.head * g.queries + row]);
}

/* Adds the pairs at one distance, of one sequence and head, to the gradient of the distance's embedding; the groups of
 * a block take queries in turns. */
template <int GROUP>
__device__ inline void distance_pairs(float (&sum)[VEC], const Attn &attn, const Gradients &g, const Pairs &pairs,
                                      const float (&e)[VEC])
{
    int64_t back = (int64_t)blockIdx.x - attn.distance.table.d[0] / 2, c = threadIdx.x % GROUP * VEC;
    int64_t shift = pairs.of.tk - pairs.of.tq - back, first = shift < 0 ? -shift : 0; /* key - query; first query */
    int64_t end = least(pairs.of.tq, pairs.of.tk - shift), groups = blockDim.y * (WARP / GROUP);
    /* All lanes take as many turns, since they exchange numbers. */
    for (int64_t top = first; top < end; top += groups) {
        int64_t i = top + threadIdx.y * (WARP / GROUP) + threadIdx.x / GROUP, j = i + shift, from = 0, to = 0;
        float q[VEC] = {}, k[VEC] = {};
        if (i < end)
            attn_visible(&attn.spec, pairs.of, i, &from, &to);
        bool seen = j >= from && j < to;
        if (seen && c < attn.dim) {
            load_any(q, attn.q, pairs.q0 + i, q_channel(attn, pairs) + c, vec_length(attn.dim, c));
            load_any(k, attn.k, pairs.k0 + j, k_channel(attn, pairs) + c, vec_length(attn.dim, c));
        }
        float ds = pair_gradient<GROUP>(attn, g, pairs, i, j, seen, e, q, k) * attn.spec.scale;
        UNROLL for (int x = 0; x < VEC; x++) sum[x] += ds * (q[x] + (attn.distance.keys ? k[x] : 0));
    }
}

enum { DISTANCE_WARPS = 8 };
struct DistanceShared {
    float of[DISTANCE_WARPS * WARP * VEC]; /* a row of sums for each group */
};

/* Partial sums of dtable (parts, distances, dim): a block has one distance, and every gridDim.y-th of the sequences'
 * heads. This simple kernel computes pair by pair, each by as many lanes as have its channels. */
template <int GROUP> __global__ void distance_kernel(const __grid_constant__ Attn attn, Gradients g, float *partial)
{
    begin_kernel();
    DistanceShared *shared = block_shared<DistanceShared>();
    int64_t c = threadIdx.x % GROUP * VEC;
    float sum[VEC] = {}, e[VEC] = {};
    if (c < attn.dim)
        load_any(e, attn.table, blockIdx.x, c, vec_length(attn.dim, c));
    for (int n = (int)blockIdx.y; n < attn.spec.n_seq * attn.spec.heads; n += (int)gridDim.y)
        distance_pairs<GROUP>(sum, attn, g, pairs_of(attn, n / attn.spec.heads, n % attn.spec.heads), e);
    UNROLL for (int x = 0; x < VEC; x++) shared->of[(threadIdx.y * WARP + threadIdx.x) * VEC + x] = sum[x];
    __syncthreads();
    float *to = partial + ((int64_t)blockIdx.y * gridDim.x + blockIdx.x) * attn.dim;
    for (int64_t x = threadIdx.y * WARP + threadIdx.x; x < attn.dim; x += WARP * DISTANCE_WARPS) {
        float total = 0;
        for (int y = 0; y < DISTANCE_WARPS * WARP / GROUP; y++)
            total += shared->of[y * GROUP * VEC + x];
        to[x] = total;
    }
}

/* dtable = beta dtable + the sum of the parts. */
struct DistanceSum {
    View dtable;
    const float *partial; /* (parts, distances, dim) */
    int64_t parts, distances, dim;
    float beta;
    __device__ void operator()(int64_t row, int64_t col, int n) const
    {
        for (int i = 0; i < n; i++) {
            float total = 0;
            for (int64_t part = 0; part < parts; part++)
                total += partial[(part * distances + row) * dim + col + i];
            store_one(dtable, row, col + i, blend(dtable, row, col + i, beta, total));
        }
    }
};

void distance_gradients(Gpu *gpu, const Attn &attn, const Gradients &g, const AttnDistance &distance, float *partial)
{
    int64_t parts = scratch_distance_parts(&attn.spec), n = rows_of(distance.table);
    Shape shape = { (unsigned)n, (unsigned)parts, WARP, DISTANCE_WARPS };
    launch(gpu, shape,
           attn.dim <= 8 * VEC    ? distance_kernel<8>
           : attn.dim <= 16 * VEC ? distance_kernel<16>
                                  : distance_kernel<WARP>,
           attn, g, partial);
    each_vec_of(gpu, n, attn.dim, DistanceSum{ view(distance.dtable), partial, parts, n, attn.dim, distance.beta });
}

template <int CHUNKS> struct Queries {
    static constexpr auto run = attention_dq_kernel<(CHUNKS < 4 ? 4 : CHUNKS)>; /* with 2, ptxas spills on sm_100 */
};

template <int CHUNKS> struct Keys {
    static constexpr auto run = attention_dkv_kernel<(CHUNKS < 4 ? CHUNKS : 4)>;
};

/* As attention_mma_dq and attention_mma_dkv, on CUDA cores. */
void plain_dq(Gpu *gpu, const Attn &attn, const Gradients &g)
{
    Shape shape = { (unsigned)(g.n_seq * g.n_tiles), (unsigned)attn.spec.heads, ATTN_THREADS, 1 };
    launch_by_dim<Queries>(gpu, shape, attn, g);
}

void plain_dkv(Gpu *gpu, const Attn &attn, const Gradients &g)
{
    int tiles = (int)ceil_div(attn.spec.max_k, ATTN_TILE), parts = (int)ceil_div(attn.dim, 4 * CHANNELS);
    Shape shape = { (unsigned)(attn.spec.n_seq * tiles), (unsigned)(attn_kv_heads(&attn.spec) * parts), ATTN_THREADS,
                    1 };
    launch_by_dim<Keys>(gpu, shape, attn, g, tiles, parts);
}

static_assert((int)ATTN_TILE == (int)DIAGONAL_QUERIES, "a block leaves the diagonals of its queries");

/* dq and dbias, of as many sequences and tiles at once as g has: the sums of some are added to dbias before the next
 * are computed, in an order that follows from the shape. */
void query_gradients(Gpu *gpu, const Attn &attn, const Gradients &g, Tensor dbias, float beta)
{
    const AttnSpec &spec = attn.spec;
    const int tiles = (int)ceil_div(spec.max_q, DIAGONAL_QUERIES);
    Gradients part = g;
    do {
        part.n_seq = (int)least(g.n_seq, spec.n_seq - part.first_seq);
        part.first_tile = 0;
        do {
            part.n_tiles = (int)least(g.n_tiles, tiles - part.first_tile);
            if (part.n_seq > 0 && part.n_tiles > 0)
                (attn_on_tensor_cores(attn, g.dout) ? attention_mma_dq : plain_dq)(gpu, attn, part);
            if (dbias.rank)
                launch(gpu, { (unsigned)ceil_div(cols_of(dbias), WARP), (unsigned)spec.heads, WARP, DIAGONAL_ROWS },
                       diagonal_kernel, spec, part, view(dbias),
                       part.first_seq == 0 && part.first_tile == 0 ? beta : 1);
            part.first_tile += g.n_tiles;
        } while (part.first_tile < tiles);
        part.first_seq += g.n_seq;
    } while (part.first_seq < spec.n_seq);
}

/* Sets the number of sequences and of their tiles that are computed at once, and returns the bytes of their sums along
 * diagonals. Those of all tiles of a long sequence would take more memory than its activations. */
size_t divide_diagonals(Gradients *g, const AttnSpec &spec, int64_t dim, bool with_bias)
{
    const int64_t tiles = ceil_div(spec.max_q, DIAGONAL_QUERIES),
                  one = (int64_t)spec.heads * diagonals_used(spec.max_k) * (int64_t)sizeof(float),
                  limit = (int64_t)scratch_diagonals(g->queries, spec.heads, dim, spec.max_k, PARTIAL_BYTES);
    int64_t n_seq = spec.n_seq, n_tiles = tiles;
    if (with_bias && n_seq * n_tiles * one > limit) {
        n_seq = attn_between(limit / one, 1, n_seq);
        n_tiles = attn_between(limit / (one * n_seq), 1, n_tiles);
    }
    g->n_seq = n_seq > 1 ? (int)n_seq : 1;
    g->n_tiles = n_tiles > 1 ? (int)n_tiles : 1;
    return with_bias ? (size_t)(g->n_seq * g->n_tiles * one) : 0;
}

} // namespace

void gpu_attn_bwd(Device *dev, Tensor dq, Tensor dk, Tensor dv, Tensor dbias, float beta_bias, Tensor dout, Tensor o,
                  Tensor lse, Tensor q, Tensor k, Tensor v, Tensor bias, const AttnSpec *spec, const Dropout *drop)
{
    Gpu *gpu = gpu_of(dev);
    Attn attn = attn_of(q, k, v, bias, spec, drop);
    Gradients g = {};
    g.dq = view(dq), g.dk = view(dk), g.dv = view(dv), g.dout = view(dout), g.o = view(o);
    g.lse = (const float *)lse.p;
    g.lse_ld = lse.ld;
    g.queries = rows_of(q);
    const size_t deltas = scratch_deltas(rows_of(q), spec->heads),
                 diagonals = divide_diagonals(&g, *spec, attn.dim, dbias.rank > 0);
    g.delta = (float *)gpu_scratch(gpu, deltas + diagonals + scratch_distances(spec));
    g.diagonals = dbias.rank ? g.delta + deltas / sizeof(float) : NULL;
    clear_outside(dev, dq, spec->cu_q, spec->n_seq, false);
    clear_outside(dev, dk, spec->cu_k, spec->n_seq, false);
    clear_outside(dev, dv, spec->cu_k, spec->n_seq, false);
    set_deltas(gpu, g, spec->heads, attn.dim);
    query_gradients(gpu, attn, g, dbias, beta_bias);
    if (spec->n_seq > 0)
        (attn_on_tensor_cores(attn, g.dout) ? attention_mma_dkv : plain_dkv)(gpu, attn, g);
    if (spec->distance)
        distance_gradients(gpu, attn, g, *spec->distance, g.delta + (deltas + diagonals) / sizeof(float));
}
