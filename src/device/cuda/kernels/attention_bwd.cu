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
    tile_products(ds, shared, g.dout, pairs.q0, i, pairs.of.tq, q_channel(attn, pairs), attn.v, pairs.k0, j,
                  pairs.of.tk, k_channel(attn, pairs), attn.dim);
    UNROLL for (int r = 0; r < ROWS; r++)
    {
        int64_t query = i + first_row() + r, row = pairs.q0 + query;
        bool there = is_query(pairs, query);
        float lse = there ? g.lse[pairs.head * g.lse_ld + row] : 0, factors[COLS];
        float delta = there ? g.delta[pairs.head * g.queries + row] : 0;
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
                                      int64_t j, AttnShared *shared, int64_t from)
{
    int own = (int)threadIdx.x % LANES * OWN;
    UNROLL for (int chunk = 0; chunk < CHUNKS; chunk++)
    {
        int64_t channel = from + chunk * CHANNELS;
        if (channel >= attn.dim)
            break;
        __syncthreads(); /* pairs are written, and all threads have read the previous chunk */
        stage_strip(shared->operands, attn, pairs, i, j, channel, least(CHANNELS, attn.dim - channel));
        __syncthreads();
        for (int t = 0; t < ATTN_TILE; t++)
            UNROLL for (int r = 0; r < ROWS; r++)
            {
                int query = TRANSPOSED ? t : first_row() + r, key = TRANSPOSED ? first_row() + r : t;
                UNROLL for (int c = 0; c < OWN; c++) sums[chunk][r][c] +=
                    shared->pairs[query][key] * shared->operands[query - key + ATTN_TILE - 1][own + c];
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
        tile_accumulate<CHUNKS, false>(sums, shared, attn.k, pairs.k0, j, pairs.of.tk, k_channel(attn, pairs),
                                       attn.dim);
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
        tile_accumulate<CHUNKS, true>(dv, shared, g.dout, pairs.q0, i, pairs.of.tq, q_channel(attn, pairs) + from,
                                      attn.dim - from);
        share_pairs(ds, shared);
        tile_accumulate<CHUNKS, true>(dk, shared, attn.q, pairs.q0, i, pairs.of.tq, q_channel(attn, pairs) + from,
                                      attn.dim - from);
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

/* The gradient of the embeddings of distances is summed by bands. Band b consists of the tiles whose first query has a
 * position (i + Tk - Tq) ATTN_TILE b behind that of the first key, so its distances are ATTN_TILE (b - 1) … ATTN_TILE
 * (b
 * + 1) - 1. A thread has ROWS of the last ATTN_TILE of them (sums[0]) and those ATTN_TILE before (sums[1]), which
 * together have ROWS pairs in each row of a tile. Here: adds ds q, or with KEYS ds (q + k), of one chunk; ds and the
 * chunks of q and k are in shared memory. */
template <bool KEYS> __device__ inline void add_pair(float (&sum)[OWN], const AttnShared *shared, int query, int key)
{
    int own = (int)threadIdx.x % LANES * OWN;
    UNROLL for (int c = 0; c < OWN; c++)
    {
        float x = shared->operands[query][own + c];
        sum[c] += shared->pairs[query][key] * (KEYS ? x + shared->operands[ATTN_TILE + key][own + c] : x);
    }
}

template <bool KEYS>
__device__ inline void add_chunk(float (&last)[ROWS][OWN], float (&before)[ROWS][OWN], const AttnShared *shared)
{
    int own = first_row();
    for (int i = 0; i < own; i++)
        UNROLL for (int r = 0; r < ROWS; r++) add_pair<KEYS>(before[r], shared, i, i - own - r + ATTN_TILE);
    UNROLL for (int i = 0; i < ROWS; i++) UNROLL for (int r = 0; r < ROWS; r++)
        add_pair<KEYS>(i < r ? before[r] : last[r], shared, own + i, i < r ? i - r + ATTN_TILE : i - r);
    for (int i = own + ROWS; i < ATTN_TILE; i++)
        UNROLL for (int r = 0; r < ROWS; r++) add_pair<KEYS>(last[r], shared, i, i - own - r);
}

/* Adds a tile to the sums of its band; ds is in shared memory. */
template <int CHUNKS>
__device__ inline void add_tile(float (&sums)[2][CHUNKS][ROWS][OWN], const Attn &attn, const Pairs &pairs, int64_t i,
                                int64_t j, AttnShared *shared, int64_t from)
{
    UNROLL for (int chunk = 0; chunk < CHUNKS; chunk++)
    {
        int64_t channel = from + chunk * CHANNELS, n = least(CHANNELS, attn.dim - channel);
        if (n <= 0)
            break;
        __syncthreads(); /* pairs are written, and all threads have read the previous chunk */
        stage(shared->operands, attn.q, pairs.q0, i, pairs.of.tq, q_channel(attn, pairs) + channel, n);
        if (attn.distance.keys)
            stage(shared->operands + ATTN_TILE, attn.k, pairs.k0, j, pairs.of.tk, k_channel(attn, pairs) + channel, n);
        __syncthreads();
        if (attn.distance.keys)
            add_chunk<true>(sums[0][chunk], sums[1][chunk], shared);
        else
            add_chunk<false>(sums[0][chunk], sums[1][chunk], shared);
    }
}

/* Partial sums of dtable (parts, bands, 2 ATTN_TILE, dim): block x has every gridDim.x-th of the sequences' heads;
 * block y one band, those with the most tiles first, and one of `channel_parts` parts of the channels. */
template <int CHUNKS>
__global__ void __launch_bounds__(ATTN_THREADS, 1)
    distance_kernel(const __grid_constant__ Attn attn, Gradients g, float *partial, int bands, int channel_parts)
{
    begin_kernel();
    AttnShared *shared = block_shared<AttnShared>();
    int64_t from = (int64_t)(blockIdx.y % channel_parts) * CHUNKS * CHANNELS;
    int number = (int)blockIdx.y / channel_parts, band = number % 2 ? -(number + 1) / 2 : number / 2;
    float sums[2][CHUNKS][ROWS][OWN] = {};
    for (int n = (int)blockIdx.x; n < attn.spec.n_seq * attn.spec.heads; n += (int)gridDim.x) {
        Pairs pairs = pairs_of(attn, n / attn.spec.heads, n % attn.spec.heads);
        for (int64_t j = 0; j < pairs.of.tk; j += ATTN_TILE) {
            float weights[ROWS][COLS], ds[ROWS][COLS];
            int64_t i = j + band * ATTN_TILE + pairs.of.tq - pairs.of.tk; /* may be before the first query */
            if (i <= -ATTN_TILE || i >= pairs.of.tq || !tile_wanted(attn, pairs, i, ATTN_TILE, j, ATTN_TILE))
                continue;
            tile_gradients(weights, ds, attn, g, pairs, i, j, shared);
            share_pairs(ds, shared);
            add_tile<CHUNKS>(sums, attn, pairs, i, j, shared, from);
        }
    }
    partial += ((int64_t)blockIdx.x * bands + bands / 2 + band) * 2 * ATTN_TILE * attn.dim;
    UNROLL for (int before = 0; before < 2; before++) UNROLL for (int chunk = 0; chunk < CHUNKS; chunk++)
        UNROLL for (int r = 0; r < ROWS; r++) UNROLL for (int c = 0; c < OWN; c++)
    {
        int64_t channel = from + chunk * CHANNELS + (int)threadIdx.x % LANES * OWN + c;
        if (channel < attn.dim)
            partial[((1 - before) * ATTN_TILE + first_row() + r) * attn.dim + channel] =
                attn.spec.scale * sums[before][chunk][r][c];
    }
}

/* dtable = beta dtable + the sum of the parts, of the two bands that have a distance. */
struct DistanceSum {
    View dtable;
    const float *partial; /* (parts, bands, 2 ATTN_TILE, dim) */
    int64_t parts, bands, distances, dim;
    float beta;
    __device__ void operator()(int64_t row, int64_t col, int n) const
    {
        float total[VEC] = {};
        int64_t place = row - distances / 2 + bands / 2 * ATTN_TILE, band = place / ATTN_TILE;
        for (int64_t at = 0; at < 2 * parts; at++) {
            int64_t of = band + at % 2; /* a band, whose first distance has the place ATTN_TILE (of - 1) */
            if (place < 0 || of >= bands)
                continue;
            int64_t from = (at / 2 * bands + of) * 2 * ATTN_TILE + place - (of - 1) * ATTN_TILE;
            UNROLL for (int i = 0; i < VEC; i++) total[i] += i < n ? partial[from * dim + col + i] : 0;
        }
        for (int i = 0; i < n; i++)
            store_one(dtable, row, col + i, blend(dtable, row, col + i, beta, total[i]));
    }
};

template <int CHUNKS> struct Distances {
    static constexpr auto run = distance_kernel<(CHUNKS < 4 ? CHUNKS : 4)>;
};

void distance_gradients(Gpu *gpu, const Attn &attn, const Gradients &g, const AttnDistance &distance, float *partial)
{
    int64_t bands = scratch_distance_bands(&attn.spec), parts = scratch_distance_parts(&attn.spec, DISTANCE_BLOCKS);
    int64_t n = rows_of(distance.table), channel_parts = ceil_div(attn.dim, 4 * CHANNELS);
    launch_by_dim<Distances>(gpu, { (unsigned)parts, (unsigned)(bands * channel_parts), ATTN_THREADS, 1 }, attn, g,
                             partial, (int)bands, (int)channel_parts);
    each_vec_of(gpu, n, attn.dim,
                DistanceSum{ view(distance.dtable), partial, parts, bands, n, attn.dim, distance.beta });
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
    g.delta = (float *)gpu_scratch(gpu, deltas + diagonals + scratch_distances(spec, attn.dim, DISTANCE_BLOCKS));
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
