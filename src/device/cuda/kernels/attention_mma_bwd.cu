/* attention_mma_bwd.cu: attention backward on tensor cores. Scores are recomputed from the saved log-sum-exp twice: by
 * a block per query tile, which sums their gradients, and by a block per key tile, which sums those of keys and values.
 * So each gradient is summed by one thread block in a fixed order. The equations are in attention_bwd.cu. */
#include "device/cuda/kernels/attention_launch.h"
#include "device/cuda/kernels/attention_mma.h"

namespace
{

enum { OWN_ROWS = 16 * MMA_WARPS }; /* rows of a block: queries for gradients of queries, keys for gradients of keys */
static_assert((int)OWN_ROWS == (int)DIAGONAL_QUERIES, "a block leaves the diagonals of its queries");

/* For each row g of each warp, at key - query + OWN_ROWS - 1, where both count within the tile, the sums of ds of
 * lanes 4g … 4g + 3 along diagonals; 0 where these lanes have none, so that no sum asks. Rows begin nine banks apart,
 * of which the shift of diagonals by g takes one: eight lanes of a column store to four banks, not to one. */
template <int KEYS> struct DiagonalStrips {
    enum { PLACES = KEYS + OWN_ROWS - 1, PITCH = (PLACES - 9 + WARP - 1) / WARP * WARP + 9 };
    float of[MMA_WARPS * 8 * PITCH];

    __device__ inline void clear(void)
    {
        for (int at = (int)threadIdx.x; at < MMA_WARPS * 8 * PITCH; at += MMA_THREADS)
            of[at] = 0;
    }
    /* The same places in each tile, so that the others stay 0. */
    template <int N> __device__ inline void leave(const float (&ds)[1][N][4], int first_row)
    {
        float *strip = &of[first_row / 2 * PITCH + lane_row() * (PITCH - 1) + lane_col() + OWN_ROWS - 9 - first_row];
        EACH(u, N + 1)
        EACH(e, 2)
        strip[8 * u + e] = (u > 0 ? ds[0][u > 0 ? u - 1 : 0][e] : 0) + (u < N ? ds[0][u < N ? u : 0][2 + e] : 0);
    }
};

/* Sizes of the pass over keys; BLOCKS blocks fit a multiprocessor by their registers. */
template <int DIM_, int KEYS_, int BUFFERS_, int BLOCKS_> struct QuerySizes {
    enum { DIM = DIM_, M = 1, QUERIES = OWN_ROWS, KEYS = KEYS_, BUFFERS = BUFFERS_, N = KEYS_ / 8 };
    enum { BLOCKS = BLOCKS_ };
    struct Shared {
        Tile<QUERIES, DIM> q, dout;
        Tile<KEYS, DIM> k[BUFFERS], v[BUFFERS];
        BiasStrip<QUERIES, KEYS> bias[2];
        uint32_t groups[2][QUERIES]; /* Seen.groups of the queries, with a layout */
        DiagonalStrips<KEYS> diagonals;
        float carried[2][OWN_ROWS - 1]; /* sums to which the next tile of keys adds */
    };
};

/* Adds the strips of a tile, which are those of keys from j on, to the sums that the tile of keys before carried over.
 * The next tile begins `shift` keys later, with the sums from that place on: they are carried to it. Those before are
 * complete. At the last tile, and before a gap that no diagonal crosses, shift is PLACES. */
template <int KEYS>
__device__ inline void add_strips(float *places, int64_t n_places, const DiagonalStrips<KEYS> &strips,
                                  const float (&carried)[OWN_ROWS - 1], float (&carry)[OWN_ROWS - 1], int j, int shift)
{
    enum { PLACES = DiagonalStrips<KEYS>::PLACES };
    static_assert((int)PLACES <= (int)MMA_THREADS, "a thread for each");
    int at = (int)threadIdx.x;
    if (at >= PLACES)
        return;
    float sum = 0;
    EACH(row, MMA_WARPS * 8) sum += strips.of[row * DiagonalStrips<KEYS>::PITCH + at];
    sum = (at < OWN_ROWS - 1 ? carried[at] : 0) + sum;
    if (at >= shift)
        carry[at - shift] = sum;
    else if (j + at < n_places)
        places[j + at] = sum;
    if (at >= PLACES - shift && at < OWN_ROWS - 1)
        carry[at] = 0;
}

/* For the lane's two queries: log-sum-exp times log2(e), and δ. Queries that do not exist have probabilities 0. */
struct OwnQueries {
    float lse[2], delta[2];
};

__device__ inline OwnQueries own_queries(const Gradients &g, const Pairs &pairs, int64_t i, int first_row)
{
    OwnQueries own;
    EACH(h, 2)
    {
        int64_t query = i + row_of(first_row, 0, h);
        bool is_query = query < pairs.of.tq;
        own.lse[h] = is_query ? g.lse[pairs.head * g.lse_ld + pairs.q0 + query] * LOG2_E : INFINITY;
        own.delta[h] = is_query ? g.delta[pairs.head * g.queries + pairs.q0 + query] : 0;
    }
    return own;
}

/* s becomes ds = p (r dp - δ), dp becomes r dp. */
template <int N>
__device__ inline void gradients_of_scores(float (&s)[1][N][4], float (&dp)[1][N][4], const Attn &attn,
                                           const Pairs &pairs, int64_t i, int first_row, int64_t j,
                                           const OwnQueries &own)
{
    if (attn.mask.sample) {
        uint32_t keep[1];
        keep_of_queries<1, N>(keep, attn, pairs, i, first_row, j);
        EACH_SUM(1, N) dp[m][n][2 * h + e] = is_kept(keep[m], n, h, e) ? attn.mask.kept * dp[m][n][2 * h + e] : 0;
    }
    EACH_SUM(1, N)
    s[m][n][2 * h + e] = exp2_fast(s[m][n][2 * h + e] - own.lse[h]) * (dp[m][n][2 * h + e] - own.delta[h]);
}

/* dq of a tile of queries of a sequence (block x, those with the most keys first), for a head (block y). HELD: queries
 * and gradients of outputs, which many products take as left operands, lie in registers. */
template <int DTYPE, class Sizes, bool HELD>
__device__ inline void gradients_of_queries(const Attn &attn, const Gradients &g)
{
    enum { N = Sizes::N, PLACES = DiagonalStrips<Sizes::KEYS>::PLACES };
    auto *shared = block_shared_large<typename Sizes::Shared>();
    Pairs pairs = pairs_of(attn, g.first_seq + (int)blockIdx.x / g.n_tiles, (int)blockIdx.y);
    int tile = g.first_tile + g.n_tiles - 1 - (int)blockIdx.x % g.n_tiles, first_row = (int)threadIdx.x / WARP * 16;
    int64_t i = (int64_t)tile * OWN_ROWS, n_places = diagonals_used(pairs.of.tk);
    if (i >= pairs.of.tq)
        return;
    float dq[1][Sizes::DIM / 8][4] = {};
    const float factor[1][2] = { { attn.spec.scale, attn.spec.scale } };
    float *places = diagonals_of(attn.spec, g, pairs.seq, pairs.head, tile);
    OwnQueries own = own_queries(g, pairs, i, first_row);
    Left<1, OWN_ROWS, Sizes::DIM, HELD> q = { shared->q, first_row, {} }, dout = { shared->dout, first_row, {} };
    KeyFetch<Sizes> fetch;
    for (int64_t at = threadIdx.x; places && at < n_places; at += MMA_THREADS)
        places[at] = 0;
    if (places)
        shared->diagonals.clear();
    if (threadIdx.x < OWN_ROWS - 1)
        shared->carried[0][threadIdx.x] = 0;
    KeySpan span = keys_of(attn, pairs, i, OWN_ROWS);
    int j = next_keys(attn, pairs, span, i, OWN_ROWS, span.begin / Sizes::KEYS * Sizes::KEYS, Sizes::KEYS);
    int64_t q_end = pairs.q0 + pairs.of.tq, channel = q_channel(attn, pairs);
    stage_rows<MMA_THREADS>(&shared->q, attn.q, pairs.q0 + i, q_end, channel, (int)attn.dim);
    stage_rows<MMA_THREADS>(&shared->dout, g.dout, pairs.q0 + i, q_end, channel, (int)attn.dim);
    begin_keys<Sizes>(shared, &fetch, attn, pairs, span, i, j);
    q.hold();
    dout.hold();
    for (int turn = 0; j < span.end; turn ^= 1) {
        float s[1][N][4], dp[1][N][4];
        int buffer = turn % Sizes::BUFFERS;
        int next = next_keys(attn, pairs, span, i, OWN_ROWS, j + Sizes::KEYS, Sizes::KEYS);
        await_keys<Sizes>(shared, &fetch, attn, pairs, span, i, next, turn);
        multiply_transposed<DTYPE>(s, q, shared->k[buffer]);
        multiply_transposed<DTYPE>(dp, dout, shared->v[buffer]);
        await_products<1>(s);
        finish_scores<Sizes>(s, attn, pairs, span, i, j, first_row, shared->bias[turn], shared->groups[turn]);
        await_products<0>(dp);
        gradients_of_scores(s, dp, attn, pairs, i, first_row, j, own);
        multiply_add<DTYPE>(dq, s, shared->k[buffer], 0);
        if (places) {
            shared->diagonals.leave(s, first_row);
            __syncthreads();
            int shift = next < span.end ? (int)least(next - j, PLACES) : (int)PLACES;
            add_strips(places, n_places, shared->diagonals, shared->carried[turn], shared->carried[turn ^ 1], j, shift);
        }
        await_products<0>(dq);
        finish_keys<Sizes>(shared, fetch, attn, pairs, span, i, next, turn);
        j = next;
    }
    store_rows<DTYPE>(g.dq, dq, factor, pairs.q0 + i, q_end, first_row, channel, attn.dim);
}

template <int DTYPE, class Sizes>
__global__ void __launch_bounds__(MMA_THREADS, Sizes::BLOCKS)
    attention_mma_dq_kernel(const __grid_constant__ Attn attn, const __grid_constant__ Gradients g)
{
    begin_kernel();
    if (by_warpgroup()) /* which reads shared memory as fast as registers */
        gradients_of_queries<DTYPE, Sizes, false>(attn, g);
    else
        gradients_of_queries<DTYPE, Sizes, Sizes::DIM <= 64>(attn, g);
}

/* For each query of a tile: log-sum-exp times log2(e), δ = dout·o, and the keys that it attends to. */
template <int QUERIES> struct QueryRows {
    float lse[QUERIES], delta[QUERIES];
    Seen seen[QUERIES];
};

/* Sizes of the pass over queries; a block sums OUT channels, since a thread has no registers for more. */
template <int DIM_, int OUT_, int QUERIES_, int BUFFERS_, int BLOCKS_> struct KeySizes {
    enum { DIM = DIM_, OUT = OUT_, QUERIES = QUERIES_, KEYS = OWN_ROWS, BUFFERS = BUFFERS_, N = QUERIES_ / 8 };
    enum { BLOCKS = BLOCKS_ };
    struct Shared {
        Tile<KEYS, DIM> k, v;
        Tile<QUERIES, DIM> q[BUFFERS], dout[BUFFERS];
        BiasStrip<QUERIES, KEYS> bias[2];
        QueryRows<QUERIES> rows[2];
    };
};

/* A tile of queries that attends to a key of the block's tile. */
struct QueryTile {
    int head;
    int64_t i; /* its first query */
    bool full; /* all its queries attend to all keys of the tile */
};

/* Finds the first such tile from `at` on, up to last_head; false if there is none. */
__device__ inline bool find_queries(const Attn &attn, const Pairs &pairs, QueryTile *at, int last_head, int n_queries,
                                    int64_t j)
{
    Pairs of = pairs;
    for (; at->head <= last_head; at->head++, at->i = 0)
        for (of.head = at->head; at->i < of.of.tq; at->i += n_queries) {
            KeySpan span = keys_of(attn, of, at->i, n_queries);
            if (j >= span.end || j + OWN_ROWS <= span.begin || !tile_in_layout(attn, of, at->i, n_queries, j, OWN_ROWS))
                continue;
            at->full = tile_full(attn, span, j, least(j + OWN_ROWS, of.of.tk));
            return true;
        }
    return false;
}

/* What a thread loads of each tile of queries; some stays in registers until it is stored in shared memory. */
template <class Sizes> struct QueryFetch {
    TileCopy<2, MMA_THREADS, Sizes::QUERIES, Sizes::DIM> copy; /* queries and gradients of outputs */
    BiasFetch<Sizes::QUERIES, Sizes::KEYS> bias;
    float lse, delta;
    Seen seen;

    __device__ inline void open(const Attn &attn, const Gradients &g, const Pairs &pairs)
    {
        copy.open(pairs.q0, pairs.q0 + pairs.of.tq, q_channel(attn, pairs), (int)attn.dim, { attn.q, g.dout });
        bias.open(attn, pairs);
    }
    /* Starts to copy a tile; pairs.head is the block's first head. */
    __device__ inline void stage(typename Sizes::Shared *shared, int buffer, const Attn &attn, const Gradients &g,
                                 const Pairs &pairs, const QueryTile &tile) const
    {
        int64_t column = (tile.head - pairs.head) * attn.dim;
        copy.start(&shared->q[buffer], 0, attn.q.ld, (int)tile.i, column);
        copy.start(&shared->dout[buffer], 1, g.dout.ld, (int)tile.i, column);
    }
    __device__ inline void fetch(const Attn &attn, const Gradients &g, const Pairs &pairs, const QueryTile &tile,
                                 int64_t j)
    {
        int64_t query = tile.i + (int)threadIdx.x, row = pairs.q0 + query;
        bool is_query = threadIdx.x < Sizes::QUERIES && query < pairs.of.tq;
        bias.fetch(attn, tile.head, (int)(j - tile.i));
        lse = is_query ? g.lse[tile.head * g.lse_ld + row] * LOG2_E : INFINITY;
        delta = is_query ? g.delta[tile.head * g.queries + row] : 0;
        if (!tile.full && threadIdx.x < Sizes::QUERIES) {
            Pairs of = pairs;
            of.head = tile.head;
            seen = seen_by(attn, of, query, j, Sizes::KEYS);
        }
        __syncwarp(); /* wgmma takes whole warps */
    }
    __device__ inline void put(typename Sizes::Shared *shared, int turn, bool full) const
    {
        bias.put(&shared->bias[turn]);
        if (threadIdx.x >= Sizes::QUERIES)
            return;
        shared->rows[turn].lse[threadIdx.x] = lse;
        shared->rows[turn].delta[threadIdx.x] = delta;
        if (!full)
            shared->rows[turn].seen[threadIdx.x] = seen;
    }
};

/* Rows are keys, columns queries: s = kᵀq and dp, which is waited for, become r p and ds. */
template <class Sizes, int N>
__device__ inline void weights_of_keys(float (&s)[1][N][4], float (&dp)[1][N][4], const Attn &attn, Pairs pairs,
                                       const QueryTile &tile, int64_t j, int first_row,
                                       const typename Sizes::Shared *shared, int turn)
{
    const QueryRows<Sizes::QUERIES> &rows = shared->rows[turn];
    const float *strip = &shared->bias[turn].of[lane_row() - lane_col() + first_row + Sizes::QUERIES - 1];
    float scale = attn.spec.scale * LOG2_E;
    uint32_t keep[1] = {};
    pairs.head = tile.head;
    if (attn.bias.p)
        EACH_SUM(1, N) s[m][n][2 * h + e] = s[m][n][2 * h + e] * scale + strip[8 * (h - n) - e];
    else
        EACH_SUM(1, N) s[m][n][2 * h + e] *= scale;
    if (!tile.full) {
        uint32_t seen = 0;
        ROLLED for (int n = 0; n < N; n++) /* rolled: to see them all at once needs many registers */
            EACH(h, 2) EACH(e, 2) seen |=
            (uint32_t)is_seen(rows.seen[column_of(n, e)], row_of(first_row, 0, h)) << (4 * n + 2 * h + e);
        EACH_SUM(1, N) if (!is_kept(seen, n, h, e)) s[m][n][2 * h + e] = -INFINITY;
    }
    if (attn.mask.sample)
        keep_of_keys<1, N>(keep, attn, pairs, tile.i, j, first_row);
    await_products<0>(dp);
    if (attn.mask.sample)
        EACH_SUM(1, N) dp[m][n][2 * h + e] = is_kept(keep[m], n, h, e) ? attn.mask.kept * dp[m][n][2 * h + e] : 0;
    EACH_SUM(1, N)
    {
        s[m][n][2 * h + e] = exp2_fast(s[m][n][2 * h + e] - rows.lse[column_of(n, e)]);
        dp[m][n][2 * h + e] = s[m][n][2 * h + e] * (dp[m][n][2 * h + e] - rows.delta[column_of(n, e)]);
    }
    if (attn.mask.sample)
        EACH_SUM(1, N) s[m][n][2 * h + e] = is_kept(keep[m], n, h, e) ? attn.mask.kept * s[m][n][2 * h + e] : 0;
}

/* Loads the tile of keys and the first tile of queries; false if there is none. */
template <class Sizes>
__device__ inline bool begin_queries(typename Sizes::Shared *shared, QueryFetch<Sizes> *fetched, const Attn &attn,
                                     const Gradients &g, const Pairs &pairs, QueryTile *tile, int last_head, int64_t j)
{
    int64_t end = pairs.k0 + pairs.of.tk, channel = k_channel(attn, pairs);
    stage_rows<MMA_THREADS>(&shared->k, attn.k, pairs.k0 + j, end, channel, (int)attn.dim);
    stage_rows<MMA_THREADS>(&shared->v, attn.v, pairs.k0 + j, end, channel, (int)attn.dim);
    bool found = find_queries(attn, pairs, tile, last_head, Sizes::QUERIES, j);
    fetched->open(attn, g, pairs);
    if (found) {
        fetched->stage(shared, 0, attn, g, pairs, *tile);
        fetched->fetch(attn, g, pairs, *tile, j);
        fetched->put(shared, 0, tile->full);
    }
    copy_wait();
    __syncthreads();
    return found;
}

/* dk and dv of a tile of keys of a sequence (block x), for one of `parts` parts of the channels of a key head (block
 * y), summed over the query heads that read it. */
template <int DTYPE, class Sizes>
__global__ void __launch_bounds__(MMA_THREADS, Sizes::BLOCKS)
    attention_mma_dkv_kernel(const __grid_constant__ Attn attn, const __grid_constant__ Gradients g, int tiles,
                             int parts)
{
    begin_kernel();
    enum { N = Sizes::N, QUERIES = Sizes::QUERIES, OUT = Sizes::OUT / 8 };
    auto *shared = block_shared_large<typename Sizes::Shared>();
    Pairs pairs = pairs_of(attn, (int)blockIdx.x / tiles, (int)blockIdx.y / parts * attn.group);
    int from = (int)blockIdx.y % parts * Sizes::OUT, first_row = (int)threadIdx.x / WARP * 16;
    int last_head = pairs.head + attn.group - 1;
    int64_t j = (int64_t)(blockIdx.x % tiles) * OWN_ROWS, end = pairs.k0 + pairs.of.tk,
            channel = k_channel(attn, pairs);
    if (j >= pairs.of.tk)
        return;
    float dk[1][OUT][4] = {}, dv[1][OUT][4] = {};
    const float factor[1][2] = { { attn.spec.scale, attn.spec.scale } }, one[1][2] = { { 1, 1 } };
    Left<1, OWN_ROWS, Sizes::DIM, false> k = { shared->k, first_row, {} };
    Left<1, OWN_ROWS, Sizes::DIM, false> v = { shared->v, first_row, {} };
    QueryFetch<Sizes> fetched;
    QueryTile tile = { pairs.head, 0, false };
    bool more = begin_queries<Sizes>(shared, &fetched, attn, g, pairs, &tile, last_head, j);
    for (int turn = 0; more; turn ^= 1) {
        float s[1][N][4], dp[1][N][4];
        int buffer = turn % Sizes::BUFFERS;
        QueryTile next = { tile.head, tile.i + QUERIES, false };
        more = find_queries(attn, pairs, &next, last_head, QUERIES, j);
        copy_wait();
        __syncthreads(); /* this tile is complete, and all threads have read the previous one */
        if (more) {
            if (Sizes::BUFFERS == 2)
                fetched.stage(shared, buffer ^ 1, attn, g, pairs, next);
            fetched.fetch(attn, g, pairs, next, j);
        }
        multiply_transposed<DTYPE>(s, k, shared->q[buffer]);
        multiply_transposed<DTYPE>(dp, v, shared->dout[buffer]);
        await_products<1>(s);
        weights_of_keys<Sizes>(s, dp, attn, pairs, tile, j, first_row, shared, turn);
        multiply_add<DTYPE>(dv, s, shared->dout[buffer], from);
        multiply_add<DTYPE>(dk, dp, shared->q[buffer], from);
        await_products<1>(dv);
        await_products<0>(dk);
        if (more) {
            if (Sizes::BUFFERS == 1) {
                __syncthreads();
                fetched.stage(shared, 0, attn, g, pairs, next);
            }
            fetched.put(shared, turn ^ 1, next.full);
        }
        tile = next;
    }
    store_rows<DTYPE>(g.dk, dk, factor, pairs.k0 + j, end, first_row, channel + from, attn.dim - from);
    store_rows<DTYPE>(g.dv, dv, one, pairs.k0 + j, end, first_row, channel + from, attn.dim - from);
}

/* Tiles of heads of 33 to 64 channels on a GPU that shares little: two blocks fit a multiprocessor. */
typedef QuerySizes<64, 32, 2, 2> LittleQueries;
typedef KeySizes<64, 64, 32, 2, 2> LittleKeys;
static_assert(fits_little<LittleQueries>() && fits_little<LittleKeys>(),
              "other numbers of blocks fit by registers and by shared memory");

template <int DTYPE> struct OfQueries {
    template <class Sizes> static void run(Gpu *gpu, const Attn &attn, const Gradients &g)
    {
        launch_large<typename Sizes::Shared>(
            gpu, { (unsigned)(g.n_seq * g.n_tiles), (unsigned)attn.spec.heads, MMA_THREADS, 1 },
            attention_mma_dq_kernel<DTYPE, Sizes>, attn, g);
    }

    static void run_by_dim(Gpu *gpu, const Attn &attn, const Gradients &g)
    {
        const bool little = gpu_shares_little(gpu);
        (attn.dim <= 32              ? run<QuerySizes<32, 64, 2, 3>>
         : attn.dim <= 64 && !little ? run<QuerySizes<64, 64, 2, 3>>
         : attn.dim <= 64            ? run<LittleQueries>
         : attn.dim <= 128           ? run<QuerySizes<128, 32, 2, 2>>
                                     : run<QuerySizes<256, 16, 1, 1>>)(gpu, attn, g);
    }
};

template <int DTYPE> struct OfKeys {
    template <class Sizes> static void run(Gpu *gpu, const Attn &attn, const Gradients &g)
    {
        const AttnSpec &spec = attn.spec;
        int tiles = (int)ceil_div(spec.max_k, OWN_ROWS), parts = (int)ceil_div(attn.dim, Sizes::OUT);
        launch_large<typename Sizes::Shared>(
            gpu, { (unsigned)(spec.n_seq * tiles), (unsigned)(attn_kv_heads(&spec) * parts), MMA_THREADS, 1 },
            attention_mma_dkv_kernel<DTYPE, Sizes>, attn, g, tiles, parts);
    }

    static void run_by_dim(Gpu *gpu, const Attn &attn, const Gradients &g)
    {
        const bool little = gpu_shares_little(gpu);
        (attn.dim <= 32              ? run<KeySizes<32, 32, 64, 2, 3>>
         : attn.dim <= 64 && !little ? run<KeySizes<64, 64, 64, 2, 3>>
         : attn.dim <= 64            ? run<LittleKeys>
         : attn.dim <= 128           ? run<KeySizes<128, 128, 16, 2, 2>>
                                     : run<KeySizes<256, 128, 16, 1, 1>>)(gpu, attn, g);
    }
};

} // namespace

void attention_mma_dq(Gpu *gpu, const Attn &attn, const Gradients &g)
{
    (attn.q.dtype == DT_BF16 ? OfQueries<DT_BF16>::run_by_dim : OfQueries<DT_F16>::run_by_dim)(gpu, attn, g);
}

void attention_mma_dkv(Gpu *gpu, const Attn &attn, const Gradients &g)
{
    (attn.q.dtype == DT_BF16 ? OfKeys<DT_BF16>::run_by_dim : OfKeys<DT_F16>::run_by_dim)(gpu, attn, g);
}
