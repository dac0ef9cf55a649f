#include "nn/nn.h"

/* Of one chunk of logits: enough rows for the products to run at full speed, few enough to stay near the cache. */
#define CHUNK_BYTES    (24 << 20)
#define CHUNK_MULTIPLE 16 /* rows */

static int64_t chunk_rows(const Ctx *cx, const HeadW *head, int64_t n)
{
    int64_t rows = CHUNK_BYTES / (head->w.d[0] * (int64_t)dtype_bytes(cx->dtype));
    rows = rows / CHUNK_MULTIPLE * CHUNK_MULTIPLE;
    if (rows < CHUNK_MULTIPLE)
        rows = CHUNK_MULTIPLE;
    return rows < n ? rows : n;
}

static void head_product(Ctx *cx, Tensor logits, Tensor x, const HeadW *head)
{
    op_gemm(cx->dev, logits, x, head->w, false, true, head->scale, 0);
    if (tensor_present(head->b))
        op_bias_add(cx->dev, logits, logits, head->b);
}

/* One chunk of rows, forward and backward together, so that its logits can be forgotten. */
static void chunk_loss(Ctx *cx, Tensor logits, Tensor stats, Tensor dx, Tensor x, const HeadW *head, Tensor targets,
                       Tensor weights, const XentSpec *xent)
{
    head_product(cx, logits, x, head);
    op_xent(cx->dev, logits, stats, targets, weights, xent);
    if (!xent->grad)
        return;
    op_gemm(cx->dev, dx, logits, head->w, false, false, head->scale, 0);
    op_gemm(cx->dev, head->dw, logits, x, true, false, head->scale, cx->g_beta);
    if (tensor_present(head->db))
        op_bias_bwd(cx->dev, head->db, logits, cx->g_beta);
    cx->g_beta = 1;
}

void head_loss(Ctx *cx, Tensor sums, Tensor dx, Tensor x, const HeadW *head, Tensor targets, Tensor weights,
               const XentSpec *xent)
{
    size_t mark = arena_mark(cx->scratch);
    int64_t n = x.d[0], chunk = chunk_rows(cx, head, n);
    Tensor logits = arena_tensor(cx->scratch, cx->dtype, chunk, head->w.d[0], "head.logits");
    Tensor stats = arena_tensor(cx->scratch, cx->dtype, n, XENT_STATS, "head.stats");
    Tensor w = arena_vector(cx->scratch, cx->dtype, n, "head.weights");

    op_copy(cx->dev, w, weights); /* a batch's are f32, whatever the device computes in */
    for (int64_t row = 0; row < n; row += chunk) {
        int64_t rows = n - row < chunk ? n - row : chunk;
        Tensor dx_chunk = xent->grad ? tensor_slice_rows(dx, row, rows) : NO_TENSOR;
        chunk_loss(cx, tensor_slice_rows(logits, 0, rows), tensor_slice_rows(stats, row, rows), dx_chunk,
                   tensor_slice_rows(x, row, rows), head, tensor_slice_rows(targets, row, rows),
                   tensor_slice_rows(w, row, rows), xent);
    }
    op_sum_rows(cx->dev, sums, stats, 0);
    arena_reset(cx->scratch, mark);
}

void head_logits(Ctx *cx, Tensor logits, Tensor x, const HeadW *head)
{
    size_t mark = arena_mark(cx->scratch);
    int64_t n = x.d[0], chunk = chunk_rows(cx, head, n);
    Tensor buffer = arena_tensor(cx->scratch, cx->dtype, chunk, head->w.d[0], "head.logits");

    for (int64_t row = 0; row < n; row += chunk) {
        int64_t rows = n - row < chunk ? n - row : chunk;
        Tensor part = tensor_slice_rows(buffer, 0, rows);
        head_product(cx, part, tensor_slice_rows(x, row, rows), head);
        op_copy(cx->dev, tensor_slice_rows(logits, row, rows), part);
    }
    arena_reset(cx->scratch, mark);
}
