/* params.c: opens and closes a store, finds parameters, fills view structs. */
#include "base/check.h"
#include "param/store.h"

/* Whether two parameters are fused with each other; fused parameters follow each other in the list of specs. */
static bool same_group(const ParamSpec *a, const ParamSpec *b)
{
    return a->group >= 0 && a->bucket == b->bucket && a->group == b->group;
}

/* Index after the last parameter fused with params[first], the first of its group; first + 1 if it is not fused. */
static int group_end(const Bucket *bucket, int first)
{
    int end = first + 1;
    while (end < bucket->n_params && same_group(&bucket->params[first].spec, &bucket->params[end].spec))
        end++;
    return end;
}

/* The box of a tensor that this tensor-parallel rank has. */
static Box box_here(const ParamStore *store, const ParamSpec *spec)
{
    Box box = { { 0, 0 }, { spec->rows, MAX(spec->cols, 1) } };
    const TensorParallel *tp = &store->shards.tp;
    int d = spec->split == SPLIT_COLS, size = tensor_parallel_size(tp), rank = tensor_parallel_rank(tp);
    int64_t n = box.shape[d];
    if (!split_divides(spec->split))
        return box;
    if (spec->split == SPLIT_COPIED) {
        size /= tensor_parallel_copies(tp);
        rank /= tensor_parallel_copies(tp);
    }
    CHECK(n >= size && (spec->split == SPLIT_ROWS || n % size == 0), "%s: %lld %s for %d ranks", spec->name,
          (long long)n, d ? "columns" : "rows", size);
    box.start[d] = tensor_parallel_start(n, size, rank);
    box.shape[d] = tensor_parallel_start(n, size, rank + 1) - box.start[d];
    return box;
}

static void add_spec(ParamStore *store, const ParamSpec *spec)
{
    Param *param = &store->params[store->n_params++];
    const ParamSpec *before = param == store->params ? NULL : &param[-1].spec;
    bool joins = before && same_group(before, spec);
    param->spec = *spec;
    if (spec->cols == 0)
        param->spec.kind = PARAM_VECTOR;
    param->here = box_here(store, spec);
    CHECK(spec->bucket >= store->n_buckets - 1 && spec->rows > 0 && spec->cols >= 0, "%s: bucket %d, (%lld, %lld)",
          spec->name, spec->bucket, (long long)spec->rows, (long long)spec->cols);
    CHECK(!joins || (before->cols == spec->cols && before->frozen == spec->frozen &&
                     split_by_rows(before->split) == split_by_rows(spec->split)),
          "%s and %s of one fusion group differ in their columns, their split, or only one is frozen", before->name,
          spec->name);
    for (const Param *other = store->params; !joins && other < param; other++)
        CHECK(!same_group(&other->spec, spec), "%s stands apart from its fusion group", spec->name);
    CHECK(g_hash_table_insert(store->by_name, param->spec.name, param), "two parameters are called %s", spec->name);
    store->n_buckets = spec->bucket + 1;
}

/* The parameters of each bucket. */
static void list_buckets(ParamStore *store, const int *uses)
{
    store->buckets = g_new0(Bucket, store->n_buckets);
    for (int i = 0, first = 0; i < store->n_buckets; i++) {
        Bucket *bucket = &store->buckets[i];
        *bucket = (Bucket){ .params = store->params + first, .uses = uses ? uses[i] : 1 };
        while (first < store->n_params && store->params[first].spec.bucket == i)
            bucket->tied |= store->params[first++].spec.tie != TIE_NONE;
        bucket->n_params = (int)(store->params + first - bucket->params);
        bucket->block = i >= store->shards.first_block;
    }
}

static void begin_reduction(void *store, int bucket)
{
    shard_reduce(store, bucket);
}

ParamStore *params_open_sharded(Device *dev, const ParamSpec *specs, int n_specs, const int *uses, bool gradients,
                                const Sharding *shards)
{
    ParamStore *store = g_new0(ParamStore, 1);
    store->dev = dev;
    store->shards = shards ? *shards : (Sharding){ 0 };
    if (store->shards.size <= 1) {
        store->shards.size = 1;
        store->shards.rank = 0;
        store->shards.level = ZERO_NONE;
        store->shards.ranks = NULL;
    }
    store->params = g_new0(Param, n_specs);
    store->by_name = g_hash_table_new(g_str_hash, g_str_equal);
    for (int i = 0; i < n_specs; i++)
        add_spec(store, &specs[i]);
    list_buckets(store, uses);
    if (store->shards.size > 1 || tensor_parallel_size(&store->shards.tp) > 1) {
        store->ready = begin_reduction;
        store->ready_context = store;
    }
    store->sum = device_alloc(dev, sizeof(double));
    if (layout_open(store, gradients) && store->sum)
        return store;
    params_close(store);
    return NULL;
}

ParamStore *params_open(Device *dev, const ParamSpec *specs, int n_specs, const int *uses, bool gradients)
{
    return params_open_sharded(dev, specs, n_specs, uses, gradients, NULL);
}

void params_close(ParamStore *store)
{
    if (!store)
        return;
    params_settle(store);
    layout_close(store);
    device_free(store->dev, store->sum);
    g_hash_table_unref(store->by_name);
    g_free(store->buckets);
    g_free(store->params);
    g_free(store);
}

int params_count(const ParamStore *store)
{
    return store->n_params;
}

const ParamSpec *params_spec(const ParamStore *store, int index)
{
    return &params_get(store, index)->spec;
}

Param *params_get(const ParamStore *store, int index)
{
    CHECK(index >= 0 && index < store->n_params, "parameter %d of %d", index, store->n_params);
    return &store->params[index];
}

Param *params_find(const ParamStore *store, const char *name)
{
    return g_hash_table_lookup(store->by_name, name);
}

int params_index(const ParamStore *store, const char *name)
{
    const Param *param = params_find(store, name);
    return param ? (int)(param - store->params) : -1;
}

int64_t params_elements(const ParamStore *store)
{
    int64_t n = 0;
    for (int i = 0; i < store->n_params; i++)
        n += store->params[i].spec.rows * MAX(store->params[i].spec.cols, 1);
    return n;
}

static size_t tensor_bytes(Tensor t)
{
    return (size_t)tensor_count(t) * dtype_bytes(t.dtype);
}

ParamBytes params_bytes(const ParamStore *store)
{
    size_t buffers = BLOCK_BUFFERS * store->buffer_bytes[REGION_WEIGHTS];
    ParamBytes bytes = { .weights = buffers, .gradients = BLOCK_BUFFERS * store->buffer_bytes[REGION_GRADIENTS] };
    for (int i = 0; i < store->n_params; i++) {
        const Param *param = &store->params[i];
        const Tensor *own = param->own;
        bytes.weights += tensor_bytes(tensor_present(param->w) ? param->w : own[REGION_WEIGHTS]);
        bytes.masters += param_has_master(param) ? tensor_bytes(own[REGION_MASTERS]) : 0;
        bytes.gradients += tensor_bytes(tensor_present(param->g) ? param->g : own[REGION_GRADIENTS]);
        if (!param->spec.frozen)
            bytes.updated += tensor_bytes(own[REGION_GRADIENTS]) + 2 * tensor_bytes(own[REGION_WEIGHTS]) +
                             (param_has_master(param) ? 2 * tensor_bytes(own[REGION_MASTERS]) : 0);
    }
    return bytes;
}

Box params_part(const ParamStore *store, int index)
{
    const Param *param = params_get(store, index);
    bool saves = param_counts(store, param);
    return (Box){ { param->here.start[0] + param->first, param->here.start[1] },
                  { saves ? param->rows : 0, param_cols(param) } };
}

Box params_held(const ParamStore *store, int index)
{
    const Param *param = params_get(store, index);
    Box held = param->here;
    if (!tensor_present(param->w)) {
        held.start[0] += param->first;
        held.shape[0] = param->rows;
    }
    return held;
}

Bucket *params_bucket(ParamStore *store, int bucket)
{
    CHECK(bucket >= 0 && bucket < store->n_buckets, "bucket %d of %d", bucket, store->n_buckets);
    return &store->buckets[bucket];
}

static Tensor region_tensor(const Param *param, Region region)
{
    return region == REGION_WEIGHTS ? param->w : param->g;
}

/* Fills a view struct from a region, weights or gradients: with each parameter's tensor and fused matrices. */
static void fill_views(const Bucket *bucket, Region region, void *views)
{
    for (int first = 0, end; first < bucket->n_params; first = end) {
        const ParamSpec *spec = &bucket->params[first].spec;
        Tensor all = region_tensor(&bucket->params[first], region);
        end = group_end(bucket, first);
        G_STRUCT_MEMBER(Tensor, views, spec->field) = all;
        for (int i = first + 1; i < end; i++) {
            Tensor member = region_tensor(&bucket->params[i], region);
            G_STRUCT_MEMBER(Tensor, views, bucket->params[i].spec.field) = member;
            all.d[0] += member.d[0];
        }
        all.ld = all.rank == 1 ? all.d[0] : all.ld;
        if (spec->group >= 0)
            G_STRUCT_MEMBER(Tensor, views, spec->group) = all;
    }
}

void params_acquire(ParamStore *store, int bucket, void *views)
{
    const Bucket *of = params_bucket(store, bucket);
    shard_acquire(store, bucket);
    fill_views(of, REGION_WEIGHTS, views);
}

void params_release(ParamStore *store, int bucket)
{
    params_bucket(store, bucket);
    shard_release(store, bucket);
}

void grads_begin_with_zeros(ParamStore *store, int index)
{
    Bucket *bucket = params_bucket(store, index);
    CHECK(!bucket->block, "bucket %d may keep only a part of its gradients", index);
    bucket->zeroed = true;
}

float grads_acquire(ParamStore *store, int index, void *views)
{
    Bucket *bucket = params_bucket(store, index);
    const Memory *gradients = &bucket->memory[SPAN_TRAINED][REGION_GRADIENTS];
    CHECK(tensor_present(gradients->own), "bucket %d was opened without gradients", index);
    bool cut = shard_cuts(store, bucket, REGION_GRADIENTS) && gradients->count > 0;
    if (cut)
        shard_acquire_gradients(store, index);
    fill_views(bucket, REGION_GRADIENTS, views);
    if (bucket->zeroed && !bucket->g_touched && gradients->count > 0) {
        op_fill(store->dev, gradients->all, 0);
        bucket->g_touched = true;
    }
    float beta = bucket->g_touched && !cut ? 1 : 0;
    bucket->g_touched = true;
    return beta;
}
