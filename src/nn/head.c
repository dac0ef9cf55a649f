#include "nn/layers.h"

/* Limit on the bytes of a chunk's logits. Each chunk reads and writes the whole gradient of the projection's weights,
 * so chunks should have many rows; on a GPU, that takes as long as the products of a few hundred rows. */
#define CHUNK_BYTES    ((int64_t)128 << 20)
#define GPU_BYTES      ((int64_t)1 << 30)
#define CHUNK_MULTIPLE 32 /* rows of a chunk are a multiple of this */

/* The most rows per chunk. */
static int64_t most_rows(int64_t vocab, const Precision *precision)
{
    int64_t bytes = precision->large_chunks ? GPU_BYTES : CHUNK_BYTES;
    int64_t most = bytes / (vocab * (int64_t)dtype_bytes(precision->compute));
    return most < CHUNK_MULTIPLE ? CHUNK_MULTIPLE : most / CHUNK_MULTIPLE * CHUNK_MULTIPLE;
}

int64_t head_chunk_rows(int64_t vocab, const Precision *precision, int64_t n)
{
    int64_t most = most_rows(vocab, precision);
    int64_t chunks = (n + most - 1) / most, rows = chunks > 0 ? (n + chunks - 1) / chunks : 0;
    rows = (rows + CHUNK_MULTIPLE - 1) / CHUNK_MULTIPLE * CHUNK_MULTIPLE;
    return rows < n ? rows : n;
}

int64_t head_first_token(const Ctx *cx, int rank)
{
    return tensor_parallel_start(cx->model->vocab, tensor_parallel_size(cx->tp), rank);
}

/* The ranks that divide the head's classes; 1 means that this rank has them all. */
static int head_ranks(const Ctx *cx, const HeadW *head)
{
    return head->vocabulary ? tensor_parallel_size(cx->tp) : 1;
}

/* Number of classes of all ranks. */
static int64_t head_classes(const Ctx *cx, const HeadW *head)
{
    return head_ranks(cx, head) > 1 ? cx->model->vocab : head->w.d[0];
}

/* A smaller n may have a larger chunk: 14,592 rows of which 2,080 fit are 8 chunks of 1,824. So a device that only
 * measures memory takes the largest chunk of all n up to this one. */
static int64_t chunk_rows(const Ctx *cx, int64_t classes, int64_t n)
{
    int64_t most = most_rows(classes, &cx->precision);
    if (!cx->dev->computes)
        return n < most ? n : most;
    return head_chunk_rows(classes, &cx->precision, n);
}

/* A chunk runs backward immediately, so activations that it saves for backward are temporary. */
static Ctx chunk_context(const Ctx *cx)
{
    Ctx chunk = *cx;
    chunk.save = cx->scratch;
    return chunk;
}

/* The input of the projection: t(x), or x without a transform. */
static Tensor head_input(const Ctx *cx, Tensor x, const HeadW *head, TransformSave *save)
{
    if (!head->transform)
        return x;
    Tensor y = arena_tensor(cx->scratch, cx->precision.compute, x.d[0], x.d[1], "head.transform");
    transform_fwd(cx, y, x, head->transform, head->activation, save);
    return y;
}

/* dx (l,C) from dlogits (l,V) of a chunk of l rows; input (l,C) is t(x). */
static void head_chunk_bwd(const Ctx *cx, Tensor dx, Tensor dlogits, Tensor input, const HeadW *head, float beta,
                           const TransformSave *save)
{
    op_gemm(cx->dev, dx, dlogits, head->w, false, false, head->scale, 0);
    if (head_ranks(cx, head) > 1)
        tensor_parallel_sum(cx->tp, cx->dev, dx);
    if (tensor_present(head->dw))
        op_gemm(cx->dev, head->dw, dlogits, input, true, false, head->scale, beta);
    if (tensor_present(head->db))
        op_column_sums(cx->dev, head->db, dlogits, beta);
    if (head->transform)
        transform_bwd(cx, dx, dx, head->transform, head->activation, head->dtransform, beta, save);
}

/* The number of classes that have a probability. */
static int64_t head_ids(const Ctx *cx, const HeadW *head)
{
    return head->n_ids > 0 ? MIN(head->n_ids, head_classes(cx, head)) : head_classes(cx, head);
}

/* The columns of this rank's logits whose classes have a probability. A rank without such a class has one column of
 * −∞, which adds nothing to the sums of the others. */
static Tensor likely_columns(const Ctx *cx, Tensor logits, const HeadW *head)
{
    const int64_t n = head_ids(cx, head) - head_first_token(cx, tensor_parallel_rank(cx->tp));
    Tensor columns = tensor_slice_cols(logits, 0, CLAMP(n, 1, logits.d[1]));
    if (n < 1)
        op_fill(cx->dev, columns, -INFINITY);
    return columns;
}

/* Cross-entropy of a chunk whose classes the ranks divide: they exchange XENT_PARTS numbers per row. */
static void divided_xent(const Ctx *cx, Tensor logits, Tensor stats, const HeadRows *chunk, const HeadW *head,
                         const XentSpec *xent)
{
    size_t mark = arena_mark(cx->scratch);
    int size = head_ranks(cx, head);
    int64_t m = logits.d[0];
    g_autofree int64_t *starts = g_new(int64_t, size + 1);
    Tensor likely = likely_columns(cx, logits, head);
    Tensor parts = arena_tensor(cx->scratch, precision_statistic(cx->precision), size * m, XENT_PARTS, "head.parts");
    Tensor own = tensor_slice_rows(parts, tensor_parallel_rank(cx->tp) * m, m);

    for (int r = 0; r <= size; r++)
        starts[r] = r * m * XENT_PARTS;
    op_xent_part(cx->dev, own, likely, chunk->targets);
    tensor_parallel_gather(cx->tp, cx->dev, tensor_flat(parts), tensor_flat(own), starts);
    op_xent_join(cx->dev, likely, stats, parts, chunk->targets, chunk->weights, (int32_t)head_ids(cx, head), xent);
    arena_reset(cx->scratch, mark);
}

/* Forward and backward of one chunk of rows, so that its logits need not be kept. beta: for the head's gradients. */
static void chunk_loss(const Ctx *cx, Tensor stats, Tensor dx, Tensor x, const HeadW *head, float beta,
                       const HeadRows *chunk, const XentSpec *xent)
{
    size_t mark = arena_mark(cx->scratch);
    int64_t m = chunk->rows.d[0], width = x.d[1];
    Tensor logits = arena_rows(cx->scratch, cx->precision.compute, m, head->w.d[0], "head.logits");
    Tensor picked = arena_tensor(cx->scratch, cx->precision.compute, m, width, "head.picked");
    Tensor d = arena_tensor(cx->scratch, cx->precision.compute, m, width, "head.d");
    TransformSave save;

    op_gather(cx->dev, picked, x, chunk->rows);
    Tensor input = head_input(cx, picked, head, &save);
    op_linear(cx->dev, logits, input, head->w, head->b, head->scale);
    if (head_ranks(cx, head) > 1)
        divided_xent(cx, logits, stats, chunk, head, xent);
    else
        op_xent(cx->dev, tensor_slice_cols(logits, 0, head_ids(cx, head)), stats, chunk->targets, chunk->weights, xent);
    if (xent->grad) {
        head_chunk_bwd(cx, d, logits, input, head, beta, &save);
        op_scatter_add(cx->dev, dx, d, chunk->rows, 1);
    }
    arena_reset(cx->scratch, mark);
}

void head_loss(const Ctx *cx, Tensor sums, Tensor dx, Tensor x, const HeadW *head, const HeadRows *rows,
               const XentSpec *xent)
{
    size_t mark = arena_mark(cx->scratch);
    const Ctx inner = chunk_context(cx);
    /* The chunks of the rank with the most classes, so that all ranks have the same. */
    int64_t classes = tensor_parallel_start(head_classes(cx, head), head_ranks(cx, head), 1);
    int64_t m = rows->rows.d[0], chunk = chunk_rows(cx, classes, m);
    Tensor stats = arena_tensor(cx->scratch, precision_statistic(cx->precision), m, XENT_STATS, "head.stats");

    for (int64_t row = 0; row < m; row += chunk) {
        int64_t n = m - row < chunk ? m - row : chunk;
        const HeadRows part = { tensor_slice_rows(rows->rows, row, n), tensor_slice_rows(rows->targets, row, n),
                                tensor_slice_rows(rows->weights, row, n) };
        chunk_loss(&inner, tensor_slice_rows(stats, row, n), dx, x, head, row == 0 ? head->beta : 1, &part, xent);
    }
    op_sum_rows(cx->dev, sums, stats, 0);
    arena_reset(cx->scratch, mark);
}

/* logits (l,V) = those of all ranks, each of which computes the logits of its classes. */
static void gather_logits(const Ctx *cx, Tensor logits, Tensor input, const HeadW *head)
{
    size_t mark = arena_mark(cx->scratch);
    int size = head_ranks(cx, head), rank = tensor_parallel_rank(cx->tp);
    int64_t rows = logits.d[0];
    g_autofree int64_t *starts = g_new(int64_t, size + 1);
    Tensor all = arena_vector(cx->scratch, logits.dtype, rows * logits.d[1], "head.gathered");

    for (int r = 0; r <= size; r++)
        starts[r] = rows * head_first_token(cx, r);
    Tensor own = tensor_slice_rows(all, starts[rank], starts[rank + 1] - starts[rank]);
    op_linear(cx->dev, tensor_matrix(own.p, own.dtype, rows, head->w.d[0]), input, head->w, head->b, head->scale);
    tensor_parallel_gather(cx->tp, cx->dev, all, own, starts);
    for (int r = 0; r < size; r++) {
        int64_t first = head_first_token(cx, r), n = head_first_token(cx, r + 1) - first;
        Tensor part = tensor_slice_rows(all, starts[r], rows * n);
        op_copy(cx->dev, tensor_slice_cols(logits, first, n), tensor_matrix(part.p, part.dtype, rows, n));
    }
    arena_reset(cx->scratch, mark);
}

/* The tensor for the logits of rows first … first + l - 1, a chunk of l rows. */
typedef void (*LogitsFn)(const Ctx *cx, void *to, Tensor logits, int64_t first);

static void each_chunk(const Ctx *cx, Tensor x, const HeadW *head, LogitsFn take, void *to)
{
    size_t mark = arena_mark(cx->scratch);
    const Ctx inner = chunk_context(cx);
    int64_t n = x.d[0], classes = head_classes(cx, head), chunk = chunk_rows(cx, classes, n);
    Tensor buffer = arena_rows(cx->scratch, cx->precision.compute, chunk, classes, "head.logits");

    for (int64_t row = 0; row < n; row += chunk) {
        size_t part_mark = arena_mark(cx->scratch);
        int64_t rows = n - row < chunk ? n - row : chunk;
        Tensor part = tensor_slice_rows(buffer, 0, rows);
        TransformSave unused;
        Tensor input = head_input(&inner, tensor_slice_rows(x, row, rows), head, &unused);
        if (head_ranks(cx, head) > 1)
            gather_logits(cx, part, input, head);
        else
            op_linear(cx->dev, part, input, head->w, head->b, head->scale);
        take(cx, to, part, row);
        arena_reset(cx->scratch, part_mark);
    }
    arena_reset(cx->scratch, mark);
}

static void read_logits(const Ctx *cx, void *to, Tensor logits, int64_t first)
{
    tensor_read(cx->dev, (float *)to + first * logits.d[1], DT_F32, logits);
}

void head_logits(const Ctx *cx, float *logits, Tensor x, const HeadW *head)
{
    const int64_t vocab = head_classes(cx, head), n_ids = head_ids(cx, head);
    each_chunk(cx, x, head, read_logits, logits);
    if (!cx->dev->computes)
        return;
    for (int64_t row = 0; row < x.d[0]; row++)
        for (int64_t id = n_ids; id < vocab; id++)
            logits[row * vocab + id] = -INFINITY;
}

typedef struct Top {
    Tensor values, ids, log_sum;
    int64_t n_ids;
} Top;

static void take_top(const Ctx *cx, void *to, Tensor logits, int64_t first)
{
    const Top *top = to;
    int64_t n = logits.d[0];
    op_top(cx->dev, tensor_slice_rows(top->values, first, n), tensor_slice_rows(top->ids, first, n),
           tensor_slice_rows(top->log_sum, first, n), tensor_slice_cols(logits, 0, top->n_ids));
}

void head_top(const Ctx *cx, Tensor values, Tensor ids, Tensor log_sum, Tensor x, const HeadW *head)
{
    each_chunk(cx, x, head, take_top, &(Top){ values, ids, log_sum, head_ids(cx, head) });
}
