/* layout.c: how a bucket's tensors lie in its memory, and which rows of them are a rank's part. */
#include "param/store.h"

#include <string.h>

static DType region_dtype(const ParamStore *store, Region region)
{
    const Precision *precision = &store->dev->precision;
    return region == REGION_WEIGHTS   ? precision->compute
           : region == REGION_MASTERS ? precision->master
                                      : precision->grad;
}

/* Vectors (gains of norms, biases) have no separate masters: they lie in REGION_WEIGHTS in the dtype of master weights.
 * They are no operands of matrix products, and in bf16 a gain of 1 would not change before its updates reach 2^-9. */
static bool is_exact(const Param *param)
{
    return param->spec.cols == 0;
}

static DType param_dtype(const ParamStore *store, const Param *param, Region region)
{
    return region_dtype(store, region == REGION_WEIGHTS && is_exact(param) ? REGION_MASTERS : region);
}

static bool in_span(const Param *param, Span span)
{
    return param->spec.frozen == (span == SPAN_FROZEN);
}

/* Whether a parameter of this span has a tensor of its own in the region. */
static bool has_tensor(const ParamStore *store, const Param *param, Region region)
{
    return region == REGION_WEIGHTS || (region == REGION_GRADIENTS && !param->spec.frozen) ||
           (region == REGION_MASTERS && !is_exact(param) &&
            region_dtype(store, REGION_MASTERS) != region_dtype(store, REGION_WEIGHTS));
}

static size_t row_bytes(const ParamStore *store, const Param *param, Region region)
{
    return (size_t)param_cols(param) * dtype_bytes(param_dtype(store, param, region));
}

static Tensor *region_tensor(Param *param, Region region)
{
    return region == REGION_WEIGHTS ? &param->w : region == REGION_MASTERS ? &param->master : &param->g;
}

/* Sets Param.at of the region for all parameters of a span: fused parameters directly follow each other, each group
 * starts at a multiple of ARENA_ALIGN. Returns the total number of bytes. */
static size_t lay_out_bucket(ParamStore *store, Bucket *bucket, Span span, Region region)
{
    const Param *before = NULL;
    size_t used = 0;
    for (Param *param = bucket->params; param < bucket->params + bucket->n_params; param++) {
        bool joins = before && param->spec.group >= 0 && before->spec.group == param->spec.group;
        if (!in_span(param, span) || !has_tensor(store, param, region))
            continue;
        param->at[region] = joins ? used : (used + ARENA_ALIGN - 1) / ARENA_ALIGN * ARENA_ALIGN;
        used = param->at[region] + (size_t)param_rows(param) * row_bytes(store, param, region);
        before = param;
    }
    return (used + ARENA_ALIGN - 1) / ARENA_ALIGN * ARENA_ALIGN;
}

/* ---- parts ---- */

/* The beginning of a rank's part: the first row that begins at or after element rank · count / ranks of the span. */
static Cut cut_by_rows(const ParamStore *store, const Bucket *bucket, Span span, int rank)
{
    int64_t all = 0, first = 0;
    for (int i = 0; i < bucket->n_params; i++)
        all += in_span(&bucket->params[i], span) ? param_elements(&bucket->params[i]) : 0;
    int64_t target = all / store->shards.size * rank + all % store->shards.size * rank / store->shards.size;
    for (int i = 0; rank < store->shards.size && i < bucket->n_params; i++) {
        const Param *param = &bucket->params[i];
        int64_t n = in_span(param, span) ? param_elements(param) : 0, cols = param_cols(param);
        if (target < first + n)
            return (Cut){ i, (target - first + cols - 1) / cols };
        first += n;
    }
    return (Cut){ bucket->n_params, 0 };
}

/* Elements of the whole logical tensor of a trained parameter, which are the same on every tensor-parallel rank. */
static int64_t trained_elements(const Param *param)
{
    return param->spec.frozen ? 0 : param->spec.rows * MAX(param->spec.cols, 1);
}

/* Cuts the trained parameters of a bucket between two parameters. ahead (ranks): how many elements more than their
 * share the ranks before rank r have got in earlier buckets. The cut is where this comes nearest to 0, so that over
 * many blocks all ranks get equally many elements. */
static void cut_by_tensors(const ParamStore *store, const Bucket *bucket, Cut *cuts, int64_t *ahead)
{
    const int ranks = store->shards.size;
    int64_t all = 0, at = 0;
    int i = 0;
    for (int p = 0; p < bucket->n_params; p++)
        all += trained_elements(&bucket->params[p]);
    for (int r = 1; r < ranks; r++) {
        const int64_t share = all / ranks * r + all % ranks * r / ranks, target = share - ahead[r];
        while (i < bucket->n_params && 2 * (target - at) > trained_elements(&bucket->params[i]))
            at += trained_elements(&bucket->params[i++]);
        cuts[r] = (Cut){ i, 0 };
        ahead[r] += at - share;
    }
    cuts[ranks] = (Cut){ bucket->n_params, 0 };
}

/* Whether an optimizer needs whole parameters of the bucket. Then all of them stay whole. */
static bool has_whole_tensors(const ParamStore *store, const Bucket *bucket)
{
    for (const Param *param = bucket->params; param < bucket->params + bucket->n_params; param++)
        if (!param->spec.frozen && store->shards.units[param->spec.kind] == UNIT_MATRIX)
            return true;
    return false;
}

static void find_cuts(ParamStore *store, Bucket *bucket, int64_t *ahead)
{
    for (int span = 0; span < SPANS; span++) {
        Cut *cuts = bucket->cuts[span] = g_new0(Cut, store->shards.size + 1);
        if (span == SPAN_TRAINED && has_whole_tensors(store, bucket)) {
            cut_by_tensors(store, bucket, cuts, ahead);
            continue;
        }
        for (int r = 0; r <= store->shards.size; r++)
            cuts[r] = cut_by_rows(store, bucket, (Span)span, r);
    }
}

/* Number of rows of parameter i before a cut. */
static int64_t rows_before(const Bucket *bucket, Cut cut, int i)
{
    return i < cut.param ? param_rows(&bucket->params[i]) : i == cut.param ? cut.row : 0;
}

static void set_part(const ParamStore *store, Bucket *bucket, Span span)
{
    const Cut *cuts = bucket->cuts[span], begin = cuts[store->shards.rank], end = cuts[store->shards.rank + 1];
    for (int i = 0; i < bucket->n_params; i++) {
        Param *param = &bucket->params[i];
        if (!in_span(param, span))
            continue;
        param->first = rows_before(bucket, begin, i);
        param->rows = rows_before(bucket, end, i) - param->first;
    }
}

int64_t layout_part_start(const Bucket *bucket, int rank)
{
    const Cut cut = bucket->cuts[SPAN_TRAINED][rank];
    int64_t n = 0;
    for (int i = 0; i < bucket->n_params; i++)
        n += in_span(&bucket->params[i], SPAN_TRAINED) ? rows_before(bucket, cut, i) * param_cols(&bucket->params[i])
                                                       : 0;
    return n;
}

/* The byte offset of a cut in a region of `bytes` bytes. */
static size_t cut_offset(const ParamStore *store, const Bucket *bucket, Span span, Region region, Cut cut, size_t bytes)
{
    for (int i = cut.param; i < bucket->n_params; i++) {
        const Param *param = &bucket->params[i];
        if (in_span(param, span) && has_tensor(store, param, region))
            return param->at[region] + (size_t)(i == cut.param ? cut.row : 0) * row_bytes(store, param, region);
    }
    return bytes;
}

static int64_t *part_starts(const ParamStore *store, const Bucket *bucket, Span span, Region region, size_t bytes)
{
    int size = store->shards.size;
    int64_t *starts = g_new0(int64_t, size + 1), unit = (int64_t)dtype_bytes(region_dtype(store, region));
    for (int r = 1; r <= size; r++) {
        starts[r] = (int64_t)cut_offset(store, bucket, span, region, bucket->cuts[span][r], bytes) / unit;
    }
    return starts;
}

/* ---- memory ---- */

static bool is_on_host(const ParamStore *store, Region region)
{
    return region == REGION_MASTERS && store->dev->precision.offload;
}

static void memory_close(ParamStore *store, Memory *memory, Region region)
{
    void *p = tensor_present(memory->all) ? memory->all.p : memory->own.p;
    if (is_on_host(store, region))
        device_host_free(store->dev, p);
    else
        device_free(store->dev, p);
    g_free(memory->starts);
}

/* Allocates the memory of the region, for all rows or only for this rank's part. Returns false if out of memory. */
static bool memory_open(ParamStore *store, Bucket *bucket, Span span, Region region)
{
    Memory *memory = &bucket->memory[span][region];
    const Sharding *shards = &store->shards;
    DType dtype = region_dtype(store, region);
    size_t all = lay_out_bucket(store, bucket, span, region), unit = dtype_bytes(dtype);
    bool cut = shard_cuts(store, bucket, region), on_host = is_on_host(store, region);
    int64_t count = memory->count = (int64_t)(all / unit), begin = 0, end = count;
    if (shards->size > 1) {
        memory->starts = part_starts(store, bucket, span, region, all);
        begin = memory->starts[shards->rank];
        end = memory->starts[shards->rank + 1];
    }
    size_t bytes = cut ? (size_t)(end - begin) * unit : all;
    char *p = on_host ? device_host_alloc(store->dev, bytes) : device_alloc(store->dev, bytes);
    if (p == NULL)
        return false;
    memory->all = cut ? NO_TENSOR : tensor_vector(p, dtype, count);
    memory->own = tensor_vector(cut ? p : p + (size_t)begin * unit, dtype, end - begin);
    Tensor held = cut ? memory->own : memory->all;
    if (!on_host)
        op_fill(store->dev, held, 0);
    else if (store->dev->computes)
        memset(p, 0, bytes);
    return true;
}

static Tensor tensor_at(const ParamStore *store, const Param *param, Region region, int64_t rows, void *p)
{
    DType dtype = param_dtype(store, param, region);
    return param->spec.cols ? tensor_matrix(p, dtype, rows, param_cols(param)) : tensor_vector(p, dtype, rows);
}

void layout_place(ParamStore *store, Bucket *bucket, Region region, char *memory)
{
    size_t before = 0;
    for (int span = 0; span < SPANS; span++) {
        const Memory *of = &bucket->memory[span][region];
        for (Param *param = bucket->params; param < bucket->params + bucket->n_params; param++)
            if (in_span(param, (Span)span) && has_tensor(store, param, region))
                *region_tensor(param, region) =
                    memory ? tensor_at(store, param, region, param_rows(param), memory + before + param->at[region])
                           : NO_TENSOR;
        before += (size_t)of->count * dtype_bytes(region_dtype(store, region));
    }
}

Tensor layout_in_buffer(const Bucket *bucket, Span span, Region region, char *buffer)
{
    const Memory *trained = &bucket->memory[SPAN_TRAINED][region], *memory = &bucket->memory[span][region];
    DType dtype = memory->own.dtype;
    return tensor_vector(buffer + (span == SPAN_FROZEN ? (size_t)trained->count * dtype_bytes(dtype) : 0), dtype,
                         memory->count);
}

/* Sets the tensors of a parameter after the memory of its bucket was allocated. */
static void set_tensors(ParamStore *store, const Bucket *bucket, Param *param, Region region)
{
    const Memory *memory = &bucket->memory[param->spec.frozen][region];
    if (!tensor_present(memory->own) || !has_tensor(store, param, region))
        return;
    bool whole = store->shards.level == ZERO_NONE;
    int64_t first = whole ? 0 : param->first, rows = whole ? param_rows(param) : param->rows;
    size_t offset = param->at[region] + (size_t)first * row_bytes(store, param, region);
    size_t start = memory->starts ? (size_t)memory->starts[store->shards.rank] * dtype_bytes(memory->own.dtype) : 0;
    char *own = memory->own.p;
    if (tensor_present(memory->all))
        *region_tensor(param, region) =
            tensor_at(store, param, region, param_rows(param), (char *)memory->all.p + param->at[region]);
    if (whole)
        own = (char *)memory->all.p + param->at[region];
    else if (rows > 0)
        own += offset - start;
    param->own[region] = tensor_at(store, param, region, rows, own);
}

static bool bucket_open(ParamStore *store, Bucket *bucket, bool gradients)
{
    const Precision *precision = &store->dev->precision;
    for (int span = 0; span < SPANS; span++) {
        bool used = span == SPAN_TRAINED;
        for (int i = 0; i < bucket->n_params; i++)
            used |= in_span(&bucket->params[i], (Span)span);
        if (!used)
            continue;
        set_part(store, bucket, (Span)span);
        if (!memory_open(store, bucket, (Span)span, REGION_WEIGHTS) ||
            (gradients && span == SPAN_TRAINED && !memory_open(store, bucket, (Span)span, REGION_GRADIENTS)) ||
            (gradients && precision->master != precision->compute &&
             !memory_open(store, bucket, (Span)span, REGION_MASTERS)))
            return false;
    }
    for (Param *param = bucket->params; param < bucket->params + bucket->n_params; param++) {
        for (int region = 0; region < REGION_COUNT; region++)
            set_tensors(store, bucket, param, (Region)region);
        if (!tensor_present(param->own[REGION_MASTERS])) {
            param->own[REGION_MASTERS] = param->own[REGION_WEIGHTS];
            param->master = param->w;
        }
    }
    return true;
}

/* Allocates the buffers, if regions of blocks are sharded. */
static bool buffers_open(ParamStore *store, BlockBuffer *buffers, Region region)
{
    size_t most = 0, part = 0;
    for (Bucket *bucket = store->buckets; bucket < store->buckets + store->n_buckets; bucket++) {
        size_t bytes = 0, own = 0;
        for (int span = 0; shard_cuts(store, bucket, region) && span < SPANS; span++) {
            const Memory *memory = &bucket->memory[span][region];
            bytes += tensor_present(memory->own) ? (size_t)memory->count * dtype_bytes(region_dtype(store, region)) : 0;
            own += region == REGION_GRADIENTS ? (size_t)tensor_count(memory->own) * dtype_bytes(memory->own.dtype) : 0;
        }
        most = MAX(most, bytes);
        part = MAX(part, own);
    }
    store->buffer_bytes[region] = most + part;
    for (int i = 0; i < BLOCK_BUFFERS; i++) {
        buffers[i] = (BlockBuffer){ .bucket = -1 };
        if (most == 0)
            continue;
        if ((buffers[i].memory = device_alloc(store->dev, most + part)) == NULL)
            return false;
        buffers[i].sum = buffers[i].memory + most;
    }
    return true;
}

bool layout_open(ParamStore *store, bool gradients)
{
    g_autofree int64_t *ahead = g_new0(int64_t, store->shards.size);
    for (Bucket *bucket = store->buckets; bucket < store->buckets + store->n_buckets; bucket++)
        find_cuts(store, bucket, ahead);
    for (Bucket *bucket = store->buckets; bucket < store->buckets + store->n_buckets; bucket++)
        if (!bucket_open(store, bucket, gradients))
            return false;
    return buffers_open(store, store->weights, REGION_WEIGHTS) &&
           buffers_open(store, store->gradients, REGION_GRADIENTS);
}

void layout_close(ParamStore *store)
{
    for (Bucket *bucket = store->buckets; bucket < store->buckets + store->n_buckets; bucket++)
        for (int span = 0; span < SPANS; span++) {
            g_free(bucket->cuts[span]);
            for (int region = 0; region < REGION_COUNT; region++)
                memory_close(store, &bucket->memory[span][region], (Region)region);
        }
    for (int i = 0; i < BLOCK_BUFFERS; i++) {
        device_free(store->dev, store->weights[i].memory);
        device_free(store->dev, store->gradients[i].memory);
    }
}
