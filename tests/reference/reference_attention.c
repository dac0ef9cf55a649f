#include "base/check.h"
#include "reference/reference.h"

#include <math.h>
#include <stdlib.h>

/* One head of one sequence: rows [q0, q0+tq) see rows [k0, k0+tk). */
typedef struct Block {
    Tensor q, k, v, bias;
    const AttnSpec *spec;
    const Dropout *drop;
    int64_t q0, k0, tq, tk, dim;
    int sequence, head;
} Block;

static bool in_layout(const Block *b, int64_t position, int64_t j)
{
    const BlockLayout *layout = b->spec->layout;
    bool found = !layout;
    if (layout) {
        const int32_t *first = layout->first.device + attn_layout_row(layout, b->spec->first_head + b->head, position);
        for (int32_t k = first[0]; k < first[1]; k++)
            found |= layout->keys.device[k] == j / layout->size;
    }
    return found;
}

static bool visible(const Block *b, int64_t i, int64_t j)
{
    int64_t distance = j - i - (b->tk - b->tq);
    bool in_prefix = b->spec->prefix.device && j < b->spec->prefix.device[b->sequence];
    return (!b->spec->causal || distance <= 0 || in_prefix) &&
           (!b->spec->window || llabs(distance) <= b->spec->window) && in_layout(b, j - distance, j);
}

/* The first channel of the keys and values that the head reads. */
static int64_t kv_channel(const Block *b)
{
    return b->head / (b->spec->heads / attn_kv_heads(b->spec)) * b->dim;
}

static int64_t bias_column(const Block *b, int64_t i, int64_t j)
{
    return j - i + (b->spec->k_first.device ? b->spec->max_k - b->tk : b->spec->max_q - 1);
}

/* Row of the embeddings of distances for query i and key j. */
static int64_t distance_row(const Block *b, int64_t i, int64_t j)
{
    return tensor_rows(b->spec->distance->table) / 2 + i + b->tk - b->tq - j;
}

/* scale (q·k + q·e + k·e) + bias, of query i and key j of the sequence. */
static double score(const Block *b, int64_t i, int64_t j)
{
    const AttnDistance *distance = b->spec->distance;
    const double *q = at(b->q, b->q0 + i, b->head * b->dim), *k = at(b->k, b->k0 + j, kv_channel(b));
    const double *e = distance ? at(distance->table, distance_row(b, i, j), 0) : NULL;
    double sum = 0;
    for (int64_t c = 0; c < b->dim; c++)
        sum += q[c] * k[c] + (e ? q[c] * e[c] + (distance->keys ? k[c] * e[c] : 0) : 0);
    sum *= (double)b->spec->scale;
    if (tensor_present(b->bias))
        sum += *at(b->bias, b->head, bias_column(b, i, j));
    return sum;
}

/* The scores of query i with all keys, -INFINITY for those that it may not see, to be freed. */
static double *scores_of(const Block *b, int64_t i)
{
    double *scores = malloc((size_t)(b->tk + 1) * sizeof *scores);
    CHECK(scores != NULL, "no memory for scores");
    for (int64_t j = 0; j < b->tk; j++)
        scores[j] = visible(b, i, j) ? score(b, i, j) : -INFINITY;
    return scores;
}

/* log of the sum of exp over the scores of visible keys; 0 where there is none. */
static double log_sum_exp(const double *scores, int64_t n)
{
    double max = -INFINITY, sum = 0;
    for (int64_t j = 0; j < n; j++)
        max = fmax(max, scores[j]);
    if (max == -INFINITY)
        return 0;
    for (int64_t j = 0; j < n; j++)
        sum += exp(scores[j] - max);
    return max + log(sum);
}

static Block block(Tensor q, Tensor k, Tensor v, Tensor bias, const AttnSpec *spec, const Dropout *drop, int sequence,
                   int head)
{
    Block b = { .q = q, .k = k, .v = v, .bias = bias, .spec = spec, .drop = drop, .head = head };
    b.sequence = sequence;
    b.q0 = spec->cu_q.device[sequence];
    b.k0 = spec->k_first.device ? spec->k_first.device[sequence] : spec->cu_k.device[sequence];
    b.tq = spec->cu_q.device[sequence + 1] - b.q0;
    b.tk = spec->cu_k.device[sequence + 1] - spec->cu_k.device[sequence];
    b.dim = tensor_cols(q) / spec->heads;
    return b;
}

static void zero(Tensor t)
{
    for (int64_t i = 0; i < tensor_rows(t); i++)
        for (int64_t j = 0; j < tensor_cols(t); j++)
            *at(t, i, j) = 0;
}

static void query_fwd(const Block *b, Tensor o, Tensor lse, int64_t i)
{
    double *scores = scores_of(b, i), log_z = log_sum_exp(scores, b->tk);
    *at(lse, b->head, b->q0 + i) = log_z;
    for (int64_t j = 0; j < b->tk; j++) {
        if (scores[j] == -INFINITY)
            continue;
        double p =
            exp(scores[j] - log_z) * reference_attention_mask(b->drop, b->q0 + i, b->spec->first_head + b->head, j);
        double *to = at(o, b->q0 + i, b->head * b->dim);
        const double *v = at(b->v, b->k0 + j, kv_channel(b));
        for (int64_t c = 0; c < b->dim; c++)
            to[c] += p * v[c];
    }
    free(scores);
}

void reference_attn_fwd(Device *dev, Tensor o, Tensor lse, Tensor q, Tensor k, Tensor v, Tensor bias,
                        const AttnSpec *spec, const Dropout *drop)
{
    (void)dev;
    zero(o);
    zero(lse);
    for (int s = 0; s < spec->n_seq; s++) {
        for (int h = 0; h < spec->heads; h++) {
            Block b = block(q, k, v, bias, spec, drop, s, h);
            for (int64_t i = 0; i < b.tq; i++)
                query_fwd(&b, o, lse, i);
        }
    }
}

typedef struct BlockGradients {
    Tensor dq, dk, dv, dbias, dout, o, lse;
} BlockGradients;

/* What the embedding of the distance adds to the gradients of its score, ds. */
static void distance_bwd(const Block *b, const BlockGradients *g, int64_t i, int64_t j, double ds)
{
    const AttnDistance *distance = b->spec->distance;
    int64_t row = distance_row(b, i, j), query = b->q0 + i, key = b->k0 + j;
    const double *e = at(distance->table, row, 0), *q = at(b->q, query, b->head * b->dim);
    const double *k = at(b->k, key, kv_channel(b));
    double *de = at(distance->dtable, row, 0), *dq = at(g->dq, query, b->head * b->dim);
    double *dk = at(g->dk, key, kv_channel(b));
    for (int64_t c = 0; c < b->dim; c++) {
        de[c] += ds * q[c];
        dq[c] += ds * e[c];
        if (distance->keys) {
            de[c] += ds * k[c];
            dk[c] += ds * e[c];
        }
    }
}

static double product_of_rows(const double *a, const double *b, int64_t n)
{
    double sum = 0;
    for (int64_t c = 0; c < n; c++)
        sum += a[c] * b[c];
    return sum;
}

/* With p the probabilities, r the dropout mask, o = Σ r p v and delta_i = dout_i·o_i:
 *   dv_j += Σ_i r p dout_i,  ds_ij = p (r dout_i·v_j − delta_i),  dq_i += scale Σ_j ds k_j,  dk_j += scale Σ_i ds q_i,
 *   dbias_(j−i) += ds. */
static void pair_bwd(const Block *b, const BlockGradients *g, int64_t i, int64_t j, double p, double delta)
{
    int64_t query = b->q0 + i, key = b->k0 + j, first = b->head * b->dim, first_kv = kv_channel(b);
    const double *q = at(b->q, query, first), *k = at(b->k, key, first_kv), *dout = at(g->dout, query, first);
    double *dq = at(g->dq, query, first), *dk = at(g->dk, key, first_kv), *dv = at(g->dv, key, first_kv);
    double mask = reference_attention_mask(b->drop, query, b->spec->first_head + b->head, j);
    double ds = p * (mask * product_of_rows(dout, at(b->v, key, first_kv), b->dim) - delta);
    for (int64_t c = 0; c < b->dim; c++) {
        dv[c] += mask * p * dout[c];
        dq[c] += (double)b->spec->scale * ds * k[c];
        dk[c] += (double)b->spec->scale * ds * q[c];
    }
    if (tensor_present(g->dbias))
        *at(g->dbias, b->head, bias_column(b, i, j)) += ds;
    if (b->spec->distance)
        distance_bwd(b, g, i, j, (double)b->spec->scale * ds);
}

static void query_bwd(const Block *b, const BlockGradients *g, int64_t i)
{
    int64_t query = b->q0 + i, first = b->head * b->dim;
    double *scores = scores_of(b, i),
           delta = product_of_rows(at(g->dout, query, first), at(g->o, query, first), b->dim);
    for (int64_t j = 0; j < b->tk; j++)
        if (scores[j] != -INFINITY)
            pair_bwd(b, g, i, j, exp(scores[j] - *at(g->lse, b->head, query)), delta);
    free(scores);
}

static void begin_sum(Tensor t, float beta)
{
    for (int64_t i = 0; i < tensor_rows(t); i++)
        for (int64_t c = 0; c < tensor_cols(t); c++)
            *at(t, i, c) = beta == 0 ? 0 : (double)beta * *at(t, i, c);
}

void reference_attn_bwd(Device *dev, Tensor dq, Tensor dk, Tensor dv, Tensor dbias, float beta_bias, Tensor dout,
                        Tensor o, Tensor lse, Tensor q, Tensor k, Tensor v, Tensor bias, const AttnSpec *spec,
                        const Dropout *drop)
{
    (void)dev;
    BlockGradients g = { dq, dk, dv, dbias, dout, o, lse };
    zero(dq);
    zero(dk);
    zero(dv);
    if (tensor_present(dbias))
        begin_sum(dbias, beta_bias);
    if (spec->distance)
        begin_sum(spec->distance->dtable, spec->distance->beta);
    for (int s = 0; s < spec->n_seq; s++) {
        for (int h = 0; h < spec->heads; h++) {
            Block b = block(q, k, v, bias, spec, drop, s, h);
            for (int64_t i = 0; i < b.tq; i++)
                query_bwd(&b, &g, i);
        }
    }
}
