#include "nn/context.h"

/* A device that only measures memory has the rows of the first rank, the most. */
static int context_rank(const Ctx *cx)
{
    return cx->dev->computes ? cx->context->rank : 0;
}

/* Number of query heads that this rank computes attention for: ModelSpec.heads / c. */
static int32_t own_heads(const Ctx *cx)
{
    return cx->model->heads / context_parallel_size(cx->context);
}

Tensor context_head_rows(const Ctx *cx, Tensor of_heads)
{
    const int32_t heads = own_heads(cx);
    return context_divided(cx) && tensor_present(of_heads)
               ? tensor_slice_rows(of_heads, context_rank(cx) * heads, heads)
               : of_heads;
}

void context_attention(const Ctx *cx, AttnSpec *spec, Dropout *probs_drop)
{
    if (!context_divided(cx))
        return;
    spec->heads = own_heads(cx);
    spec->kv_heads /= cx->context->size;
    spec->first_head += context_rank(cx) * spec->heads;
    probs_drop->sample = cx->tokens->all_samples.p;
    probs_drop->position = cx->tokens->all_positions.p;
}

int32_t context_first_row(int32_t all, int size, int rank)
{
    return (int32_t)tensor_parallel_start(all, size, rank);
}

/* The parts of an exchange, in elements. */
typedef struct Parts {
    int64_t *rows, *heads; /* (c + 1) each: of a rank's rows, cut by heads; of a rank's heads, cut by rows. g_free */
} Parts;

/* width: columns of all heads. */
static Parts parts_of(const Ctx *cx, const Tokens *tokens, int64_t width)
{
    const int size = cx->context->size;
    const Parts parts = { g_new(int64_t, size + 1), g_new(int64_t, size + 1) };
    for (int r = 0; r <= size; r++) {
        parts.rows[r] = r * (tokens->n * width / size);
        parts.heads[r] = context_first_row(tokens->all, size, r) * (width / size);
    }
    return parts;
}

static void parts_clear(Parts *parts)
{
    g_free(parts->rows);
    g_free(parts->heads);
}

static int64_t width_of(const Tensor *own, int n_own)
{
    int64_t width = 0;
    for (int i = 0; i < n_own; i++)
        width += own[i].d[1];
    return width;
}

/* Copies the columns of each rank's heads from `own` to packed, a matrix (n, W/c) for each rank, or back. */
static void pack(const Ctx *cx, Tensor packed, const Tensor *own, int n_own, bool back)
{
    const int size = cx->context->size;
    const int64_t n = own[0].d[0], width = tensor_count(packed) / (n * size);
    for (int r = 0; r < size; r++) {
        const Tensor part = tensor_slice_rows(packed, r * n * width, n * width),
                     block = tensor_matrix(part.p, part.dtype, n, width);
        for (int64_t i = 0, at = 0; i < n_own; i++) {
            const int64_t cols = own[i].d[1] / size;
            const Tensor theirs = tensor_slice_cols(own[i], r * cols, cols), there = tensor_slice_cols(block, at, cols);
            op_copy(cx->dev, back ? theirs : there, back ? there : theirs);
            at += cols;
        }
    }
}

Tensor context_heads(const Ctx *cx, Arena *arena, const Tokens *tokens, const Tensor *own, int n_own)
{
    if (!context_divided(cx))
        return own[0];
    const DType dtype = own[0].dtype;
    const int64_t width = width_of(own, n_own);
    Tensor all = arena_tensor(arena, dtype, tokens->all, width / cx->context->size, "context.heads");
    size_t mark = arena_mark(cx->scratch);
    Tensor packed = arena_vector(cx->scratch, dtype, tokens->n * width, "context.packed");
    Parts parts = parts_of(cx, tokens, width);

    pack(cx, packed, own, n_own, false);
    context_parallel_exchange(cx->context, cx->dev, tensor_flat(all), parts.heads, packed, parts.rows);
    parts_clear(&parts);
    arena_reset(cx->scratch, mark);
    return all;
}

void context_rows(const Ctx *cx, const Tokens *tokens, const Tensor *own, int n_own, Tensor all)
{
    size_t mark = arena_mark(cx->scratch);
    const int64_t width = width_of(own, n_own);
    Tensor packed = arena_vector(cx->scratch, all.dtype, tokens->n * width, "context.packed");
    Parts parts = parts_of(cx, tokens, width);

    context_parallel_exchange(cx->context, cx->dev, packed, parts.rows, tensor_flat(all), parts.heads);
    pack(cx, packed, own, n_own, true);
    parts_clear(&parts);
    arena_reset(cx->scratch, mark);
}
