#include "model/heads/classifier.h"

#include "base/check.h"

#include <string.h>

#define ROW_SHARE  8    /* for classes of sequences, a chunk has at most (tokens of the batch) / ROW_SHARE rows */
#define LEAST_ROWS 64   /* smallest limit on the rows of a chunk, and largest number of rows of one group */
#define GRID_SHARE 4    /* the grid of a softmax has at most GRID_SHARE · (rows of a chunk) · columns cells */
#define UNSEEN     -3e4 /* logit of an unused cell of the grid; fits f16 */

_Static_assert(LEAST_ROWS >= LABELS_MAX_CHOICES, "the choices of a question are in one chunk");

/* A batch's rows with a target, in groups: of one row, of the tokens of a sequence, or of the sequences of a sample. */
typedef struct Rows {
    GArray *tokens;  /* int32_t: the token that each row reads */
    GArray *starts;  /* int32_t: group g is rows starts[g] … starts[g + 1] - 1 */
    GArray *targets; /* int32_t: one per group; two per group for spans */
} Rows;

#define AT(array, i) g_array_index(array, int32_t, i)

static GArray *integers(void)
{
    return g_array_new(false, false, sizeof(int32_t));
}

static Rows rows_new(void)
{
    const int32_t zero = 0;
    Rows rows = { integers(), integers(), integers() };
    g_array_append_val(rows.starts, zero);
    return rows;
}

static void rows_clear(Rows *rows)
{
    g_array_unref(rows->tokens);
    g_array_unref(rows->starts);
    g_array_unref(rows->targets);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Rows, rows_clear)

static int32_t rows_groups(const Rows *rows)
{
    return (int32_t)rows->starts->len - 1;
}

static bool by_token(LabelKind kind)
{
    return kind == LABELS_TOKENS || kind == LABELS_SPAN;
}

static void end_group(Rows *rows, int32_t target)
{
    const int32_t end = (int32_t)rows->tokens->len;
    g_array_append_val(rows->starts, end);
    g_array_append_val(rows->targets, target);
}

static void add_span(Rows *rows, const TokenStream *stream, const Batch *batch, int32_t s)
{
    const int32_t length = stream->cu[s + 1] - stream->cu[s];
    for (int32_t token = stream->cu[s]; token < stream->cu[s + 1]; token++)
        g_array_append_val(rows->tokens, token);
    CHECK(batch->labels[s] < length && batch->label_ends[s] >= 0 && batch->label_ends[s] < length,
          "a span from %d to %d of %d tokens", batch->labels[s], batch->label_ends[s], length);
    end_group(rows, batch->labels[s]);
    g_array_append_val(rows->targets, batch->label_ends[s]);
}

/* Whether a sequence begins a sample: its dropout_position is 0. */
static bool begins_sample(const TokenStream *stream, int32_t s)
{
    return s == stream->n_seq || stream->dropout_position[stream->cu[s]] == 0;
}

static void add_choices(Rows *rows, const TokenStream *stream, const Batch *batch)
{
    for (int32_t s = 0, end; s < stream->n_seq; s = end) {
        for (end = s + 1; !begins_sample(stream, end); end++)
            continue;
        if (batch->labels[s] < 0)
            continue;
        CHECK(batch->labels[s] < end - s, "choice %d of %d", batch->labels[s], end - s);
        for (int32_t i = s; i < end; i++)
            g_array_append_val(rows->tokens, stream->cu[i]);
        end_group(rows, batch->labels[s]);
    }
}

/* The token that a classifier of sequences reads in sequence s. */
static int32_t token_of(const TokenStream *stream, int32_t s, bool last)
{
    return last ? stream->cu[s + 1] - 1 : stream->cu[s];
}

static Rows rows_with_target(LabelKind kind, bool last, const Batch *batch)
{
    const TokenStream *stream = batch_loss_stream(batch);
    Rows rows = rows_new();
    if (kind == LABELS_CHOICE)
        add_choices(&rows, stream, batch);
    for (int64_t i = 0; kind == LABELS_TOKENS && i < batch->n_targets; i++) {
        g_array_append_val(rows.tokens, batch->target_indices[i]);
        end_group(&rows, batch->target_ids[i]);
    }
    for (int32_t s = 0; kind <= LABELS_VALUE && s < stream->n_seq; s++)
        if (batch->labels[s] != -1) {
            const int32_t token = token_of(stream, s, last);
            g_array_append_val(rows.tokens, token);
            end_group(&rows, batch->labels[s]);
        }
    for (int32_t s = 0; kind == LABELS_SPAN && s < stream->n_seq; s++)
        if (batch->labels[s] >= 0)
            add_span(&rows, stream, batch, s);
    return rows;
}

/* On the null device: as many groups as fit a chunk, so that a dry run measures enough memory for every batch. */
static Rows rows_most(LabelKind kind, int32_t room)
{
    Rows rows = rows_new();
    const int32_t token = 0;
    for (int32_t i = 0; i < room; i++) {
        g_array_append_val(rows.tokens, token);
        if (kind != LABELS_SPAN)
            end_group(&rows, 0);
    }
    if (kind == LABELS_SPAN) {
        end_group(&rows, 0);
        g_array_append_val(rows.targets, token);
    }
    return rows;
}

double classifier_count(LabelKind kind, const float *class_weights, const Batch *batch)
{
    double sum = 0;
    if (kind == LABELS_NONE)
        return 0;
    g_auto(Rows) rows = rows_with_target(kind, false, batch);
    bool classes = kind == LABELS_SEQUENCE || kind == LABELS_TOKENS;
    for (guint i = 0; i < rows.targets->len; i++)
        sum += class_weights && classes ? (double)class_weights[AT(rows.targets, i)] : 1;
    return sum;
}

/* ---- a chunk of groups ---- */

typedef struct Chunk {
    const Ctx *cx;
    const Classifier *c;
    const Rows *rows;
    int32_t first, end; /* groups */
    int32_t row, n;     /* first row, number of rows */
    int32_t widest;     /* rows of the largest group, 2 or more: a softmax is over several */
    int32_t room;       /* limit on the rows of a chunk */
    Tensor index;       /* (n) i32: tokens */
    Dropout drop_in, drop;
    Tensor picked, input, dropped; /* (n,C) each. picked: the rows of x at the tokens, with dropout; input = t(picked);
                                      dropped = dropout(input) */
    Tensor logits;                 /* (n,O) f32; replaced by their gradient after the loss */
    TransformSave save;
} Chunk;

static int32_t chunk_room(const Ctx *cx, LabelKind kind)
{
    int32_t n = cx->tokens->n;
    return by_token(kind) ? n : MIN(n, MAX(LEAST_ROWS, n / ROW_SHARE));
}

/* A chunk of as many groups from `first` on as fit: their rows and softmax's grid (groups, widest) are limited. */
static Chunk chunk_from(const Ctx *cx, const Classifier *c, const Rows *rows, int32_t first)
{
    Chunk chunk = { .cx = cx, .c = c, .rows = rows, .first = first, .end = first, .widest = 2 };
    chunk.room = chunk_room(cx, c->kind);
    chunk.row = AT(rows->starts, first);
    for (; chunk.end < rows_groups(rows); chunk.end++) {
        int32_t size = AT(rows->starts, chunk.end + 1) - AT(rows->starts, chunk.end);
        int32_t widest = MAX(chunk.widest, size), groups = chunk.end + 1 - first;
        if (groups > 1 && (chunk.n + size > chunk.room || (int64_t)groups * widest > (int64_t)GRID_SHARE * chunk.room))
            break;
        chunk.widest = widest;
        chunk.n += size;
    }
    CHECK(chunk.n <= chunk.room, "a group of %d rows, room for %d", chunk.n, chunk.room);
    return chunk;
}

/* Dropout of the chunk's rows; each row has the mask of its token. */
static Dropout chunk_dropout(const Chunk *chunk, const Batch *batch, DropoutSite site, float rate)
{
    const Ctx *cx = chunk->cx;
    const TokenStream *stream = batch_loss_stream(batch);
    g_autofree int64_t *samples = g_new(int64_t, (gsize)chunk->n);
    g_autofree int32_t *positions = g_new(int32_t, (gsize)chunk->n);
    Dropout drop = ctx_dropout(cx, site);
    Tensor sample = arena_vector(cx->scratch, DT_I64, chunk->room, "classifier.sample");

    for (int32_t i = 0; i < chunk->n; i++) {
        int32_t token = AT(chunk->rows->tokens, chunk->row + i);
        samples[i] = stream->sample[token];
        positions[i] = stream->dropout_position[token];
    }
    tensor_upload(cx->dev, tensor_slice_rows(sample, 0, chunk->n), samples);
    drop.rate = cx->train ? rate : 0;
    drop.sample = sample.p;
    drop.position = indices_upload(cx->dev, cx->scratch, positions, chunk->n, chunk->room, "classifier.position").p;
    return drop;
}

static Tensor rows_tensor(const Chunk *chunk, DType dtype, int64_t cols, const char *tag)
{
    return tensor_slice_rows(arena_tensor(chunk->cx->scratch, dtype, chunk->room, cols, tag), 0, chunk->n);
}

static Tensor chunk_tensor(const Chunk *chunk, int64_t cols, const char *tag)
{
    return rows_tensor(chunk, chunk->cx->precision.compute, cols, tag);
}

/* In f32 whatever the model computes in: answers are not rounded. */
static Tensor outputs_tensor(const Chunk *chunk, int64_t cols, const char *tag)
{
    return rows_tensor(chunk, precision_statistic(chunk->cx->precision), cols, tag);
}

/* y = dropout(x), or x itself without dropout. */
static Tensor dropped(const Chunk *chunk, Tensor x, const Dropout *drop)
{
    if (drop->rate <= 0)
        return x;
    Tensor y = chunk_tensor(chunk, x.d[1], "classifier.dropped");
    op_dropout_fwd(chunk->cx->dev, y, x, NO_TENSOR, drop);
    return y;
}

static Linear projection(const HeadW *head)
{
    return (Linear){ .w = head->w, .b = head->b };
}

static void chunk_fwd(Chunk *chunk, Tensor x, const Batch *batch)
{
    const Ctx *cx = chunk->cx;
    const HeadW *head = chunk->c->head;
    const int32_t *tokens = &AT(chunk->rows->tokens, chunk->row);

    chunk->index = indices_upload(cx->dev, cx->scratch, tokens, chunk->n, chunk->room, "classifier.rows");
    chunk->drop_in = chunk_dropout(chunk, batch, SITE_CLASSIFIER_IN, chunk->c->dropout_in);
    chunk->drop = chunk_dropout(chunk, batch, SITE_CLASSIFIER, chunk->c->dropout);
    Tensor picked = chunk_tensor(chunk, x.d[1], "classifier.picked");
    op_gather(cx->dev, picked, x, chunk->index);
    chunk->picked = dropped(chunk, picked, &chunk->drop_in);
    chunk->input = chunk->picked;
    if (head->transform) {
        chunk->input = chunk_tensor(chunk, x.d[1], "classifier.input");
        transform_fwd(cx, chunk->input, chunk->picked, head->transform, head->activation, &chunk->save);
    }
    chunk->dropped = dropped(chunk, chunk->input, &chunk->drop);
    chunk->logits = outputs_tensor(chunk, head->w.d[0], "classifier.logits");
    const Linear w = projection(head);
    linear_fwd(cx, chunk->logits, chunk->dropped, &w);
}

/* The gradient of the logits as an operand of matrix products. */
static Tensor logits_gradient(const Chunk *chunk)
{
    if (chunk->logits.dtype == chunk->cx->precision.compute)
        return chunk->logits;
    Tensor d = chunk_tensor(chunk, chunk->logits.d[1], "classifier.dlogits");
    op_copy(chunk->cx->dev, d, chunk->logits);
    return d;
}

/* dx += the gradient of x; chunk->logits holds the gradient of the logits. */
static void chunk_bwd(const Chunk *chunk, Tensor dx, float beta)
{
    const Ctx *cx = chunk->cx;
    const HeadW *head = chunk->c->head;
    const Linear w = projection(head), g = { .w = head->dw, .b = head->db };
    Tensor d = chunk_tensor(chunk, dx.d[1], "classifier.d");

    linear_bwd(cx, d, 0, logits_gradient(chunk), chunk->dropped, &w, &g, beta);
    if (chunk->drop.rate > 0)
        op_dropout_bwd(cx->dev, d, d, &chunk->drop);
    if (head->transform)
        transform_bwd(cx, d, d, head->transform, head->activation, head->dtransform, beta, &chunk->save);
    if (chunk->drop_in.rate > 0)
        op_dropout_bwd(cx->dev, d, d, &chunk->drop_in);
    op_scatter_add(cx->dev, dx, d, chunk->index, 1);
}

/* ---- losses ---- */

/* Tensors of a cross-entropy over n rows of logits. */
typedef struct Rated {
    Tensor logits, stats, ids, weights; /* (n, classes), (n, XENT_STATS), (n), (n) */
} Rated;

/* sums = beta sums + cross-entropy. */
static void cross_entropy(const Chunk *chunk, Tensor sums, float beta, const Rated *rated, const XentSpec *xent)
{
    const Ctx *cx = chunk->cx;
    op_xent(cx->dev, rated->logits, rated->stats, rated->ids, rated->weights, xent);
    op_sum_rows(cx->dev, sums, rated->stats, beta);
}

/* Allocates the tensors for n rows of logits (n, classes), with memory for `room` rows; each row has weight 1. */
static Rated rate(const Chunk *chunk, Tensor logits, int64_t room, const int32_t *targets)
{
    const Ctx *cx = chunk->cx;
    const DType statistic = precision_statistic(cx->precision);
    int64_t n = logits.d[0];
    Rated rated = {
        .logits = logits,
        .stats = tensor_slice_rows(arena_tensor(cx->scratch, statistic, room, XENT_STATS, "classifier.stats"), 0, n),
        .weights = tensor_slice_rows(arena_vector(cx->scratch, statistic, room, "classifier.weights"), 0, n),
        .ids = indices_upload(cx->dev, cx->scratch, targets, n, room, "classifier.targets")
    };
    op_fill(cx->dev, rated.weights, 1);
    return rated;
}

/* Sums over the rows of a chunk: all statistics except one, or only that one. */
static Tensor part_sums(const Chunk *chunk, const Rated *rated, const XentSpec *xent, int statistic, bool alone)
{
    const Ctx *cx = chunk->cx;
    Tensor sums = arena_vector(cx->scratch, DT_F64, XENT_STATS, "classifier.sums");
    cross_entropy(chunk, sums, 0, rated, xent);
    for (int i = 0; i < XENT_STATS; i++)
        if ((i == statistic) != alone)
            op_fill(cx->dev, tensor_slice_rows(sums, i, 1), 0);
    return sums;
}

/* Class weights apply to the loss but not to XENT_CORRECT, which is computed with weight 1 for every row. */
static void weighted_loss(Chunk *chunk, Tensor sums, const Rated *rated, const int32_t *targets, const XentSpec *xent)
{
    const Ctx *cx = chunk->cx;
    const XentSpec forward = { 0 };
    g_autofree float *weights = g_new(float, (gsize)chunk->n);

    op_total_add(cx->dev, sums, part_sums(chunk, rated, &forward, XENT_CORRECT, true));
    for (int32_t i = 0; i < chunk->n; i++)
        weights[i] = chunk->c->class_weights[targets[i]];
    tensor_write(cx->dev, rated->weights, weights, DT_F32);
    op_total_add(cx->dev, sums, part_sums(chunk, rated, xent, XENT_CORRECT, false));
}

static void class_loss(Chunk *chunk, Tensor sums, float beta, const XentSpec *xent)
{
    const Ctx *cx = chunk->cx;
    const int32_t *targets = &AT(chunk->rows->targets, chunk->first);
    const Rated rated = rate(chunk, chunk->logits, chunk->room, targets);

    if (chunk->c->class_weights && beta == 0)
        op_fill(cx->dev, sums, 0);
    if (chunk->c->class_weights)
        weighted_loss(chunk, sums, &rated, targets, xent);
    else
        cross_entropy(chunk, sums, beta, &rated, xent);
}

/* Cross-entropy over the rows of each group, for each column of the logits: they are scattered into a grid (groups ·
 * columns, widest), whose other cells have probability 0. */
static void group_loss(Chunk *chunk, Tensor sums, float beta, const XentSpec *xent)
{
    const Ctx *cx = chunk->cx;
    const int32_t columns = (int32_t)chunk->logits.d[1], groups = chunk->end - chunk->first, widest = chunk->widest;
    const int64_t cells = (int64_t)groups * columns * widest, room = (int64_t)GRID_SHARE * chunk->room * columns;
    g_autofree int32_t *index = g_new(int32_t, (gsize)chunk->n * (gsize)columns);

    for (int32_t g = 0; g < groups; g++) {
        int32_t first = AT(chunk->rows->starts, chunk->first + g), end = AT(chunk->rows->starts, chunk->first + g + 1);
        for (int32_t row = first; row < end; row++)
            for (int32_t k = 0; k < columns; k++)
                index[(row - chunk->row) * columns + k] = (g * columns + k) * widest + row - first;
    }
    Tensor at = indices_upload(cx->dev, cx->scratch, index, (int64_t)chunk->n * columns, (int64_t)chunk->room * columns,
                               "classifier.cells"),
           flat = tensor_matrix(chunk->logits.p, chunk->logits.dtype, (int64_t)chunk->n * columns, 1),
           memory = arena_vector(cx->scratch, chunk->logits.dtype, room, "classifier.grid"),
           column = tensor_matrix(memory.p, memory.dtype, cells, 1),
           grid = tensor_matrix(memory.p, memory.dtype, (int64_t)groups * columns, widest);
    op_fill(cx->dev, column, UNSEEN);
    op_scatter(cx->dev, column, flat, at);
    const Rated rated =
        rate(chunk, grid, (int64_t)chunk->room * columns, &AT(chunk->rows->targets, chunk->first * columns));
    cross_entropy(chunk, sums, beta, &rated, xent);
    if (xent->grad)
        op_gather(cx->dev, flat, column, at);
}

/* loss = Σ (logit − value)². */
static void value_loss(Chunk *chunk, Tensor sums, float beta, const XentSpec *xent)
{
    const Ctx *cx = chunk->cx;
    g_autofree float *values = g_new(float, (gsize)chunk->n);
    Tensor negative = outputs_tensor(chunk, 1, "classifier.values");

    memcpy(values, &AT(chunk->rows->targets, chunk->first), (gsize)chunk->n * sizeof *values);
    for (int32_t i = 0; i < chunk->n; i++)
        values[i] = -values[i];
    tensor_write(cx->dev, negative, values, DT_F32);
    op_add(cx->dev, chunk->logits, chunk->logits, negative);
    if (beta == 0)
        op_fill(cx->dev, sums, 0);
    op_sumsq(cx->dev, tensor_slice_rows(sums, XENT_LOSS, 1), chunk->logits, beta);
    if (xent->grad)
        op_scale(cx->dev, chunk->logits, chunk->logits, 2 * xent->scale);
}

static void chunk_loss(Chunk *chunk, Tensor sums, float beta, const XentSpec *xent)
{
    const Classifier *c = chunk->c;
    if (c->kind == LABELS_VALUE)
        value_loss(chunk, sums, beta, xent);
    else if (c->kind == LABELS_SPAN || c->kind == LABELS_CHOICE)
        group_loss(chunk, sums, beta, xent);
    else
        class_loss(chunk, sums, beta, xent);
}

/* A chunk runs backward immediately, so activations saved for it are temporary. */
static Ctx chunk_context(const Ctx *cx)
{
    Ctx inner = *cx;
    inner.save = cx->scratch;
    return inner;
}

/* If no row has a target, the gradients of the head must still be written: those of row 0, multiplied by 0. */
static void write_no_loss(const Ctx *cx, Tensor sums, Tensor dx, Tensor x, const Classifier *c, const Batch *batch)
{
    g_auto(Rows) rows = rows_most(c->kind, 1);
    Chunk chunk = chunk_from(cx, c, &rows, 0);
    chunk_fwd(&chunk, x, batch);
    op_fill(cx->dev, sums, 0);
    op_scale(cx->dev, chunk.logits, chunk.logits, 0);
    chunk_bwd(&chunk, dx, c->head->beta);
}

void classifier_loss(const Ctx *cx, Tensor sums, Tensor dx, Tensor x, const Classifier *c, const Batch *batch,
                     const XentSpec *xent)
{
    const Ctx inner = chunk_context(cx);
    g_auto(Rows) rows =
        cx->dev->computes ? rows_with_target(c->kind, c->last, batch) : rows_most(c->kind, chunk_room(cx, c->kind));
    size_t mark = arena_mark(cx->scratch);

    if (rows_groups(&rows) == 0 && xent->grad)
        write_no_loss(&inner, sums, dx, x, c, batch);
    else if (rows_groups(&rows) == 0)
        op_fill(cx->dev, sums, 0);
    for (int32_t first = 0; first < rows_groups(&rows);) {
        Chunk chunk = chunk_from(&inner, c, &rows, first);
        chunk_fwd(&chunk, x, batch);
        chunk_loss(&chunk, sums, first > 0, xent);
        if (xent->grad)
            chunk_bwd(&chunk, dx, first > 0 ? 1 : c->head->beta);
        first = chunk.end;
        arena_reset(cx->scratch, mark);
    }
    if (c->kind == LABELS_VALUE)
        op_fill(cx->dev, tensor_slice_rows(sums, XENT_WEIGHT, 1), rows_groups(&rows));
    arena_reset(cx->scratch, mark);
}

/* Rows for answers without targets: one group per sequence, or one per token. */
static Rows rows_all(LabelKind kind, bool last, const TokenStream *stream)
{
    Rows rows = rows_new();
    int32_t n = by_token(kind) ? stream->n_tokens : stream->n_seq;
    for (int32_t i = 0; i < n; i++) {
        const int32_t token = by_token(kind) ? i : token_of(stream, i, last);
        g_array_append_val(rows.tokens, token);
        end_group(&rows, 0);
    }
    return rows;
}

void classifier_logits(const Ctx *cx, float *logits, Tensor x, const Classifier *c, const Batch *batch)
{
    const Ctx inner = chunk_context(cx);
    int64_t columns = c->head->w.d[0];
    g_auto(Rows) rows = rows_all(c->kind, c->last, batch_loss_stream(batch));
    size_t mark = arena_mark(cx->scratch);

    for (int32_t first = 0; first < rows_groups(&rows);) {
        Chunk chunk = chunk_from(&inner, c, &rows, first);
        chunk_fwd(&chunk, x, batch);
        tensor_read(cx->dev, logits + chunk.row * columns, DT_F32, chunk.logits);
        first = chunk.end;
        arena_reset(cx->scratch, mark);
    }
}
