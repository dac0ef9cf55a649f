/* labels: starts-first */
/* Attention of random forms: head sizes, lengths, masks and layouts that nobody chose; the seed of a form is the number
 * of its combination. */
#include "device/rig.h"

#if defined RIG_SHIM || defined RIG_CUDA
enum { FORMS = 101 };
#else
enum { FORMS = 25 };
#endif
enum { MOST_SEQUENCES = 40 };

typedef struct Form {
    Philox rng;
    AttnSpec spec;
    BlockLayout layout;
    int64_t dim, spare; /* rows that no sequence covers */
    bool biased;
    double rate;
} Form;

static int64_t below(Form *form, int64_t n)
{
    return (int64_t)philox_below(&form->rng, (uint64_t)n);
}

#define ONE_OF(form, ...)                                                                                              \
    (((const int32_t[]){ __VA_ARGS__ })[below(form, sizeof((int32_t[]){ __VA_ARGS__ }) / sizeof(int32_t))])

static BothSides integers_of(Rig *r, int32_t **list, int64_t n)
{
    *list = allocate(r, (size_t)n * sizeof **list);
    return (BothSides){ *list, *list };
}

/* Lengths at the edges of tiles, or many short sequences; keys as many as queries, or others. */
static void choose_lengths(Rig *r, Form *form)
{
    AttnSpec *spec = &form->spec;
    bool many = below(form, 6) == 0, same = below(form, 2);
    int32_t *q, *k, *prefix;
    spec->n_seq = (int32_t)(many ? MOST_SEQUENCES : 1 + below(form, 4));
    spec->cu_q = integers_of(r, &q, spec->n_seq + 1);
    spec->cu_k = integers_of(r, &k, spec->n_seq + 1);
    BothSides prefixes = integers_of(r, &prefix, spec->n_seq);
    for (int32_t s = 0; s < spec->n_seq; s++) {
        int32_t tq = many ? (int32_t)below(form, 4) : ONE_OF(form, 0, 1, 2, 7, 8, 9, 15, 16, 17, 63, 64, 65, 127, 130);
        int32_t tk = same   ? tq
                     : many ? (int32_t)below(form, 4)
                            : ONE_OF(form, 0, 1, 3, 16, 31, 32, 33, 64, 65, 129, 140);
        q[s + 1] = q[s] + tq;
        k[s + 1] = k[s] + tk;
        prefix[s] = (int32_t)(below(form, 2) ? tk : below(form, tk + 1));
        spec->max_q = MAX(spec->max_q, tq);
        spec->max_k = MAX(spec->max_k, tk);
    }
    spec->max_q = MAX(spec->max_q, 1) + (int32_t)form->spare;
    spec->max_k = MAX(spec->max_k, 1) + (int32_t)form->spare;
    spec->prefix = below(form, 3) ? (BothSides){ 0 } : prefixes;
}

/* Some blocks of keys, perhaps none, for each block of queries; only where no sequence has more queries than keys. */
static void choose_layout(Rig *r, Form *form)
{
    AttnSpec *spec = &form->spec;
    BlockLayout *layout = &form->layout;
    int32_t *first, *keys;
    for (int32_t s = 0; s < spec->n_seq; s++)
        if (spec->cu_q.host[s + 1] - spec->cu_q.host[s] > spec->cu_k.host[s + 1] - spec->cu_k.host[s])
            return;
    layout->size = ONE_OF(form, 4, 8, 20, 64, 100);
    layout->blocks = spec->max_k / layout->size + 1;
    layout->heads = below(form, 2) ? 1 : spec->first_head + spec->heads;
    int64_t rows = (int64_t)layout->heads * layout->blocks;
    layout->first = integers_of(r, &first, rows + 1);
    layout->keys = integers_of(r, &keys, rows * layout->blocks);
    for (int64_t row = 0; row < rows; row++) {
        first[row + 1] = first[row];
        for (int32_t key = 0; key < layout->blocks; key++)
            if (below(form, 3) == 0)
                keys[first[row + 1]++] = key;
    }
    spec->layout = layout;
}

static void choose_form(Rig *r, Form *form)
{
    AttnSpec *spec = &form->spec;
    *form = (Form){ .rng = philox_open(philox_key(11, PHILOX_OTHER, 0), (uint64_t)choose(r, FORMS)) };
    form->dim = ONE_OF(form, 1, 7, 8, 31, 32, 33, 40, 63, 64, 65, 72, 80, 96, 100, 127, 128, 129, 160, 200, 255, 256);
    form->spare = below(form, 3) ? 0 : 3;
    form->biased = below(form, 2);
    form->rate = (double)ONE_OF(form, 0, 0, 10, 50, 90) / 100;
    spec->kv_heads = ONE_OF(form, 1, 1, 2);
    spec->heads = spec->kv_heads * ONE_OF(form, 1, 1, 2, form->dim <= 64 ? 8 : 3);
    spec->first_head = (int32_t)below(form, 5);
    spec->scale = 1 / sqrtf((float)form->dim);
    spec->causal = below(form, 2);
    spec->window = ONE_OF(form, 0, 0, 1, 2, 40);
    choose_lengths(r, form);
    if (below(form, 4) == 0)
        choose_layout(r, form);
}

static void case_attn_random(Rig *r)
{
    Form form;
    choose_form(r, &form);
    const AttnSpec *spec = &form.spec;
    int64_t pad = form.spare, nq = spec->cu_q.host[spec->n_seq] + pad, nk = spec->cu_k.host[spec->n_seq] + pad;
    int64_t c = spec->heads * form.dim, ckv = attn_kv_heads(spec) * form.dim, width = spec->max_q + spec->max_k - 1;
    Dropout drop = dropout(r, nq, form.rate);
    Tensor q = normal(r, nq, c, pad, 1), k = normal(r, nk, ckv, pad, 1), v = normal(r, nk, ckv, pad, 1);
    Tensor bias = form.biased ? normal(r, spec->heads, width, pad, 1) : NO_TENSOR;
    Tensor dbias = form.biased ? accumulator(r, spec->heads, width, pad, 0) : NO_TENSOR;
    Tensor o = blank(r, nq, c, pad), lse = statistics(r, spec->heads, nq, pad), dout = normal(r, nq, c, pad, 1);
    Tensor dq = blank(r, nq, c, pad), dk = blank(r, nk, ckv, pad), dv = blank(r, nk, ckv, pad);
    op_attn_fwd(r->dev, o, lse, q, k, v, bias, spec, &drop);
    op_attn_bwd(r->dev, dq, dk, dv, dbias, 0, dout, o, lse, q, k, v, bias, spec, &drop);
    Tensor results[] = { o, dq, dk, dv, dbias };
    output_statistic(r, lse);
    for (size_t i = 0; i < G_N_ELEMENTS(results); i++)
        if (tensor_present(results[i]))
            output(r, results[i]);
}

/* The floor: gradients of queries with one key cancel to zero. */
static const Case cases[] = { { "attn_of_random_forms", case_attn_random, 3e-6, 1, 4 } };

int main(int argc, char **argv)
{
    return run_cases(cases, G_N_ELEMENTS(cases), argc, argv);
}
