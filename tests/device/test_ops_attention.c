/* labels: starts-first */
#include "device/rig.h"

/* Lengths of queries and keys. */
static const int32_t one_token[] = { 1, -1 }, several[] = { 5, 13, 2, -1 };
static const int32_t unequal[] = { 3, 2, 0, 11, -1 }, longer_keys[] = { 9, 0, 0, 14, -1 };
static const int32_t many_tiles[] = { 150, 33, -1 }, many_key_tiles[] = { 181, 40, -1 };

static BothSides cumulate(Rig *r, const int32_t *lengths, int32_t *n_seq, int32_t *longest)
{
    int32_t *cu = allocate(r, 8 * sizeof *cu);
    *n_seq = *longest = 0;
    for (; lengths[*n_seq] >= 0; ++*n_seq) {
        cu[*n_seq + 1] = cu[*n_seq] + lengths[*n_seq];
        *longest = MAX(*longest, lengths[*n_seq]);
    }
    return (BothSides){ cu, cu };
}

/* `other` may be NO_TENSOR. */
static void outputs(Rig *r, Tensor lse, Tensor o, Tensor dq, Tensor dk, Tensor dv, Tensor other)
{
    Tensor results[] = { o, dq, dk, dv, other };
    output_statistic(r, lse);
    for (size_t i = 0; i < G_N_ELEMENTS(results); i++)
        if (tensor_present(results[i]))
            output(r, results[i]);
}

static void attn(Rig *r, const int32_t *lengths_q, const int32_t *lengths_k, int32_t heads, int64_t dim)
{
    int64_t spare = PICK_SIZE(r, 0, 3), pad = spare; /* rows and diagonals that no sequence covers */
    int bias_form = choose(r, 3);                    /* none; its gradient with beta 0; with beta 1 */
    bool with_bias = bias_form > 0;
    float beta = bias_form == 2 ? 1 : 0;
    double rate = PICK(r, 0, 0.3);
    AttnSpec spec = { .heads = heads, .first_head = 5, .scale = dim == 20 ? 1 : 0.125f };
    bool more_queries = choose(r, 2); /* causal: the first see no key at all */
    spec.causal = choose(r, 2);
    spec.cu_q = cumulate(r, more_queries ? lengths_k : lengths_q, &spec.n_seq, &spec.max_q);
    spec.cu_k = cumulate(r, more_queries ? lengths_q : lengths_k, &spec.n_seq, &spec.max_k);
    int64_t nq = spec.cu_q.host[spec.n_seq] + spare, nk = spec.cu_k.host[spec.n_seq] + spare, c = heads * dim;
    spec.max_q += (int32_t)spare;
    spec.max_k += (int32_t)spare;
    Dropout drop = dropout(r, nq, rate);
    int64_t width = spec.max_q + spec.max_k - 1;
    Tensor q = normal(r, nq, c, pad, 0.5), k = normal(r, nk, c, pad, 0.5), v = normal(r, nk, c, pad, 1);
    Tensor bias = with_bias ? normal(r, heads, width, pad, 1) : NO_TENSOR;
    Tensor dbias = with_bias ? accumulator(r, heads, width, pad, beta) : NO_TENSOR;
    Tensor o = blank(r, nq, c, pad), lse = statistics(r, heads, nq, pad), dout = normal(r, nq, c, pad, 1);
    Tensor dq = blank(r, nq, c, pad), dk = blank(r, nk, c, pad), dv = blank(r, nk, c, pad);
    op_attn_fwd(r->dev, o, lse, q, k, v, bias, &spec, &drop);
    op_attn_bwd(r->dev, dq, dk, dv, dbias, beta, dout, o, lse, q, k, v, bias, &spec, &drop);
    outputs(r, lse, o, dq, dk, dv, dbias);
}

/* With a bias and dropout where there are spare rows, that no sequence covers. */
static void attn_outputs(Rig *r, const AttnSpec *spec, int64_t dim, int64_t spare)
{
    bool with_bias = spare > 0;
    int64_t nq = spec->cu_q.host[spec->n_seq] + spare, nk = spec->cu_k.host[spec->n_seq] + spare;
    int64_t c = spec->heads * dim, ckv = attn_kv_heads(spec) * dim, width = spec->max_q + spec->max_k - 1;
    Dropout drop = dropout(r, nq, with_bias ? 0.3 : 0);
    Tensor q = normal(r, nq, c, spare, 0.5), k = normal(r, nk, ckv, spare, 0.5), v = normal(r, nk, ckv, spare, 1);
    Tensor bias = with_bias ? normal(r, spec->heads, width, spare, 1) : NO_TENSOR;
    Tensor dbias = with_bias ? accumulator(r, spec->heads, width, spare, 0) : NO_TENSOR;
    Tensor o = blank(r, nq, c, spare), lse = statistics(r, spec->heads, nq, spare), dout = normal(r, nq, c, spare, 1);
    Tensor dq = blank(r, nq, c, spare), dk = blank(r, nk, ckv, spare), dv = blank(r, nk, ckv, spare);
    op_attn_fwd(r->dev, o, lse, q, k, v, bias, spec, &drop);
    op_attn_bwd(r->dev, dq, dk, dv, dbias, 0, dout, o, lse, q, k, v, bias, spec, &drop);
    outputs(r, lse, o, dq, dk, dv, dbias);
}

/* Grouped queries, a window, prefixes. */
static void case_attn_forms(Rig *r)
{
    static const int32_t lengths[] = { 21, 1, 140, -1 };
    int32_t *prefix = allocate(r, 3 * sizeof *prefix);
    int64_t spare = PICK_SIZE(r, 0, 3);
    prefix[0] = 3, prefix[2] = 7;
    AttnSpec spec = { .heads = 2, .scale = 0.3f };
    spec.kv_heads = (int32_t)PICK(r, 0, 1);
    spec.window = (int32_t)PICK(r, 0, 17);
    spec.causal = choose(r, 2);
    spec.rescale = spec.causal ? 5 : 0;
    spec.prefix = choose(r, 2) ? (BothSides){ prefix, prefix } : (BothSides){ 0 };
    spec.cu_q = spec.cu_k = cumulate(r, lengths, &spec.n_seq, &spec.max_q);
    spec.max_k = spec.max_q;
    attn_outputs(r, &spec, 6, spare);
}

/* Head sizes beside a power of two; more keys than a tile has columns. */
static void case_attn_sizes(Rig *r)
{
    static const int32_t queries[] = { 35, 1, -1 }, keys[] = { 530, 37, -1 };
    int64_t dim = PICK_SIZE(r, 32, 40, 128, 160), spare = PICK_SIZE(r, 0, 3);
    AttnSpec spec = { .heads = 1, .scale = 0.125f };
    spec.window = (int32_t)PICK(r, 0, 70);
    spec.causal = spec.window > 0;
    spec.cu_q = cumulate(r, queries, &spec.n_seq, &spec.max_q);
    spec.cu_k = cumulate(r, keys, &spec.n_seq, &spec.max_k);
    attn_outputs(r, &spec, dim, spare);
}

/* Three blocks of keys a row, drawn so that they rise; every second row sees its own block only. */
static BlockLayout *layout_new(Rig *r, int32_t size, int32_t blocks, int32_t heads)
{
    BlockLayout *layout = allocate(r, sizeof *layout);
    int32_t *first = allocate(r, (size_t)(heads * blocks + 1) * sizeof *first);
    int32_t *keys = allocate(r, (size_t)(heads * blocks * 3) * sizeof *keys);
    for (int32_t c = 0; c < heads * blocks; c++) {
        int32_t n = first[c];
        if (c % 2)
            keys[n++] = c % blocks;
        else
            for (int32_t k = (int32_t)philox_below(&r->rng, 3); k < blocks && n < first[c] + 3;
                 k += 1 + (int32_t)philox_below(&r->rng, 3))
                keys[n++] = k;
        first[c + 1] = n;
    }
    *layout = (BlockLayout){ size, blocks, heads, { first, first }, { keys, keys } };
    return layout;
}

/* Queries of few and of many keys, blocks smaller and larger than a tile, the last one cut short. */
static void case_attn_layout(Rig *r)
{
    static const int32_t lengths[] = { 21, 1, 150, -1 }, fewer[] = { 3, 0, 150, -1 };
    int32_t size = (int32_t)PICK(r, 4, 16, 144);
    int64_t spare = PICK_SIZE(r, 0, 3, 8); /* with a bias unless 0; with 8 a GPU takes tensor cores */
    AttnSpec spec = { .heads = 2, .scale = 0.3f, .layout = layout_new(r, size, 150 / size + 1, 1 + choose(r, 2)) };
    spec.window = (int32_t)PICK(r, 0, 17);
    spec.causal = choose(r, 2);
    spec.cu_k = cumulate(r, lengths, &spec.n_seq, &spec.max_k);
    spec.cu_q = cumulate(r, choose(r, 2) ? lengths : fewer, &spec.n_seq, &spec.max_q);
    attn_outputs(r, &spec, PICK_SIZE(r, 6, 72, 136), spare); /* tiles of 64, 32 and 16 keys on a GPU */
}

/* Several tiles in both directions of heads that a GPU's tensor cores have in 64 channels, with a bias, dropout,
 * windows, shared keys and prefixes; the stand-in takes the first and the last form. */
static void case_attn_tiles(Rig *r)
{
    static const int32_t queries[] = { 70, 33, -1 }, keys[] = { 161, 65, -1 };
    int32_t *prefix = allocate(r, 2 * sizeof *prefix);
    int64_t dim = PICK_SIZE(r, 64, 56, 40);
    prefix[0] = 120, prefix[1] = 7;
    AttnSpec spec = { .heads = 2, .kv_heads = 1, .scale = 0.125f, .window = 90, .causal = true };
    spec.layout = choose(r, 2) ? layout_new(r, 16, 11, 2) : NULL;
    spec.prefix = (BothSides){ prefix, prefix };
    spec.cu_q = cumulate(r, queries, &spec.n_seq, &spec.max_q);
    spec.cu_k = cumulate(r, keys, &spec.n_seq, &spec.max_k);
    attn_outputs(r, &spec, dim, 8);
}

/* Caches with room to spare, in another order than their sequences: the bias of each ends with the distance 0. */
static void case_attn_caches(Rig *r)
{
    static const int32_t queries[] = { 1, 1, 0, 1, -1 }, keys[] = { 5, 1, 7, 40, -1 };
    enum { ROOM = 45, DIM = 6, CACHES = 4 };
    int32_t *first = allocate(r, CACHES * sizeof *first), biased = choose(r, 2);
    AttnSpec spec = { .heads = 2, .scale = 0.3f };
    spec.kv_heads = (int32_t)PICK(r, 0, 1);
    spec.window = (int32_t)PICK(r, 0, 3);
    spec.layout = choose(r, 2) ? layout_new(r, 4, 10, 1) : NULL;
    spec.cu_q = cumulate(r, queries, &spec.n_seq, &spec.max_q);
    spec.cu_k = cumulate(r, keys, &spec.n_seq, &spec.max_k);
    for (int32_t s = 0; s < CACHES; s++)
        first[s] = ROOM * (CACHES - 1 - s);
    spec.k_first = (BothSides){ first, first };
    int64_t c = spec.heads * DIM, ckv = attn_kv_heads(&spec) * DIM;
    Tensor q = normal(r, 3, c, 0, 0.5), k = normal(r, ROOM * CACHES, ckv, 3, 0.5);
    Tensor v = normal(r, ROOM * CACHES, ckv, 3, 1), bias = biased ? normal(r, 2, spec.max_k, 3, 1) : NO_TENSOR;
    Tensor o = blank(r, 3, c, 0), lse = statistics(r, 2, 3, 0);
    op_attn_fwd(r->dev, o, lse, q, k, v, bias, &spec, &(Dropout){ 0 });
    output(r, o);
    output_statistic(r, lse);
}

/* Few queries, as in steps of decoding: of rows that are wide enough for several threads, grouped and not; of keys that
 * are enough for several threads too. */
static void case_attn_few_queries(Rig *r)
{
    static const int32_t queries[] = { 1, 0, 8, 1, 3, -1 }, keys[] = { 70, 3, 290, 1, 2, -1 };
    int64_t dim = PICK_SIZE(r, 6, 80), spare = PICK_SIZE(r, 0, 3);
    AttnSpec spec = { .heads = 6, .scale = 0.125f, .rescale = (float)PICK(r, 0, 3) };
    bool biased = choose(r, 2);
    spec.kv_heads = (int32_t)PICK(r, 0, 2);
    spec.window = (int32_t)PICK(r, 0, 17);
    spec.causal = choose(r, 2);
    spec.cu_q = cumulate(r, queries, &spec.n_seq, &spec.max_q);
    spec.cu_k = cumulate(r, keys, &spec.n_seq, &spec.max_k);
    int64_t nq = spec.cu_q.host[spec.n_seq] + spare, nk = spec.cu_k.host[spec.n_seq] + spare;
    int64_t c = spec.heads * dim, ckv = attn_kv_heads(&spec) * dim;
    Tensor q = normal(r, nq, c, spare, 0.5), k = normal(r, nk, ckv, spare, 0.5), v = normal(r, nk, ckv, spare, 1);
    Tensor bias = biased ? normal(r, spec.heads, spec.max_q + spec.max_k - 1, spare, 1) : NO_TENSOR;
    Tensor o = blank(r, nq, c, spare), lse = statistics(r, spec.heads, nq, spare);
    op_attn_fwd(r->dev, o, lse, q, k, v, bias, &spec, &(Dropout){ 0 });
    outputs(r, lse, o, NO_TENSOR, NO_TENSOR, NO_TENSOR, NO_TENSOR);
}

/* Embeddings of distances, of `distances` of which not all occur. */
static void attn_distance(Rig *r, AttnSpec spec, int64_t dim, int64_t distances)
{
    int64_t spare = PICK_SIZE(r, 0, 3);
    AttnDistance distance = { .keys = choose(r, 2), .beta = (float)PICK(r, 0, 1) };
    spec.scale = 0.3f;
    spec.distance = &distance;
    int64_t nq = spec.cu_q.host[spec.n_seq] + spare, nk = spec.cu_k.host[spec.n_seq] + spare;
    int64_t c = spec.heads * dim, ckv = attn_kv_heads(&spec) * dim;
    Dropout drop = dropout(r, nq, spare > 0 ? 0.3 : 0);
    Tensor q = normal(r, nq, c, spare, 0.5), k = normal(r, nk, ckv, spare, 0.5), v = normal(r, nk, ckv, spare, 1);
    Tensor o = blank(r, nq, c, spare), lse = statistics(r, spec.heads, nq, spare), dout = normal(r, nq, c, spare, 1);
    Tensor dq = blank(r, nq, c, spare), dk = blank(r, nk, ckv, spare), dv = blank(r, nk, ckv, spare);
    distance.table = normal(r, distances, dim, 0, 0.5);
    distance.dtable = accumulator(r, distances, dim, 0, distance.beta);
    op_attn_fwd(r->dev, o, lse, q, k, v, NO_TENSOR, &spec, &drop);
    op_attn_bwd(r->dev, dq, dk, dv, NO_TENSOR, 0, dout, o, lse, q, k, v, NO_TENSOR, &spec, &drop);
    outputs(r, lse, o, dq, dk, dv, distance.dtable);
}

/* Of one, three or five chunks of channels. */
static void case_attn_distance(Rig *r)
{
    bool more_queries = choose(r, 2);
    AttnSpec spec = { .heads = 2, .kv_heads = (int32_t)PICK(r, 0, 1), .window = (int32_t)PICK(r, 0, 5) };
    spec.causal = choose(r, 2);
    spec.cu_q = cumulate(r, more_queries ? longer_keys : unequal, &spec.n_seq, &spec.max_q);
    spec.cu_k = cumulate(r, more_queries ? unequal : longer_keys, &spec.n_seq, &spec.max_k);
    attn_distance(r, spec, spec.causal ? 20 : spec.window ? 72 : 136, 31);
}

/* Several tiles, which begin at other distances in each sequence. */
static void case_attn_distance_long(Rig *r)
{
    bool more_queries = choose(r, 2);
    AttnSpec spec = { .heads = 1, .causal = choose(r, 2) };
    spec.cu_q = cumulate(r, more_queries ? many_key_tiles : many_tiles, &spec.n_seq, &spec.max_q);
    spec.cu_k = cumulate(r, more_queries ? many_tiles : many_key_tiles, &spec.n_seq, &spec.max_k);
    attn_distance(r, spec, 12, 365);
}

static void case_attn(Rig *r)
{
    bool same = choose(r, 2), many_heads = choose(r, 2);
    attn(r, same ? several : unequal, same ? several : longer_keys, many_heads ? 3 : 1, many_heads ? 20 : 64);
}

/* The softmax of one key is 1 whatever the score is: the gradients of queries, keys and bias cancel to zero, from terms
 * whose size is that of a product of two rows, √64. */
static void case_attn_one_token(Rig *r)
{
    attn(r, one_token, one_token, 1, 64);
}

static void case_attn_long(Rig *r)
{
    attn(r, many_tiles, many_key_tiles, 1, 12);
}

static const Case cases[] = {
    { "attn", case_attn, 1e-6, 0, 3 },
    { "attn_one_token", case_attn_one_token, 1e-6, 8, 2 },
    { "attn_long", case_attn_long, 1e-6, 0, 2 },
    { "attn_forms", case_attn_forms, 1e-6, 0, 2 },
    { "attn_sizes", case_attn_sizes, 1e-6, 0, 2 },
    { "attn_layout", case_attn_layout, 2e-6, 0, 8 },
    { "attn_tiles", case_attn_tiles, 2e-6, 0, 2 },
    { "attn_few_queries", case_attn_few_queries, 1e-6, 0, 2 },
    { "attn_caches", case_attn_caches, 1e-6, 0, 2 },
    { "attn_distance", case_attn_distance, 1e-6, 0, 2 },
    { "attn_distance_long", case_attn_distance_long, 1e-6, 0, 2 },
};

int main(int argc, char **argv)
{
    return run_cases(cases, G_N_ELEMENTS(cases), argc, argv);
}
