/* params.c: opening, closing and looking up; how a bucket's tensors lie in its memory. */
#include "base/check.h"
#include "param/store.h"

#include <string.h>

/* Parameters of one fusion group, which follow each other in the list of specs. */
static bool same_group(const ParamSpec *a, const ParamSpec *b)
{
    return a->group >= 0 && a->bucket == b->bucket && a->group == b->group;
}

/* The end of the fusion group that params[first] of the bucket begins; first + 1 for a parameter without a group. */
static int group_end(const Bucket *bucket, int first)
{
    int end = first + 1;
    while (end < bucket->n_params && same_group(&bucket->params[first].spec, &bucket->params[end].spec))
        end++;
    return end;
}

static DType region_dtype(const ParamStore *store, Region region)
{
    const Precision *precision = &store->dev->precision;
    return region == REGION_WEIGHTS   ? precision->compute
           : region == REGION_MASTERS ? precision->master
                                      : precision->grad;
}

/* Vectors (gains of norms, biases) have one memory, of the dtype of master weights, in REGION_WEIGHTS: they are no
 * operands of matrix products, and a gain of 1 would not change in bf16 before its updates add up to 2^-9. */
static bool is_exact(const ParamSpec *spec)
{
    return spec->cols == 0;
}

static Tensor *region_tensor(Param *param, Region region)
{
    return region == REGION_WEIGHTS ? &param->w : region == REGION_MASTERS ? &param->master : &param->g;
}

/* Lays the tensors of a bucket into the memory of a region, or measures it: the members of a group row after row.
 * exact: the dtype of is_exact in REGION_WEIGHTS. */
static void lay_out(Bucket *bucket, Region region, DType dtype, DType exact, Arena *arena)
{
    for (int first = 0, end; first < bucket->n_params; first = end) {
        const ParamSpec *spec = &bucket->params[first].spec;
        int64_t rows = 0, row = 0;
        end = group_end(bucket, first);
        for (int i = first; i < end; i++)
            rows += bucket->params[i].spec.rows;
        if ((region == REGION_GRADIENTS && spec->frozen) || (region == REGION_MASTERS && is_exact(spec)))
            continue;
        Tensor all = spec->cols ? arena_tensor(arena, dtype, rows, spec->cols, spec->name)
                                : arena_vector(arena, region == REGION_WEIGHTS ? exact : dtype, rows, spec->name);
        for (int i = first; i < end; i++) {
            Param *member = &bucket->params[i];
            *region_tensor(member, region) = tensor_slice_rows(all, row, member->spec.rows);
            row += member->spec.rows;
        }
    }
}

static bool is_on_host(const ParamStore *store, int region)
{
    return region == REGION_MASTERS && store->dev->precision.offload;
}

static void region_close(ParamStore *store, const Bucket *bucket, int region)
{
    if (is_on_host(store, region))
        device_host_free(store->dev, bucket->regions[region].p);
    else
        device_free(store->dev, bucket->regions[region].p);
}

/* false: no memory. */
static bool region_open(ParamStore *store, Bucket *bucket, Region region)
{
    DType dtype = region_dtype(store, region);
    Arena arena;
    arena_init(&arena, "parameters", NULL, 0);
    lay_out(bucket, region, dtype, store->dev->precision.master, &arena);
    size_t bytes = arena.used;
    bool on_host = is_on_host(store, region);
    void *memory = on_host ? device_host_alloc(store->dev, bytes) : device_alloc(store->dev, bytes);
    if (memory == NULL)
        return false;
    bucket->regions[region] = tensor_vector(memory, dtype, (int64_t)(bytes / dtype_bytes(dtype)));
    if (!on_host)
        op_fill(store->dev, bucket->regions[region], 0);
    else if (store->dev->computes)
        memset(memory, 0, bytes);
    arena_init(&arena, "parameters", memory, bytes);
    lay_out(bucket, region, dtype, store->dev->precision.master, &arena);
    return true;
}

/* false: no memory. */
static bool bucket_open(ParamStore *store, Bucket *bucket, bool gradients)
{
    const Precision *precision = &store->dev->precision;
    if (!region_open(store, bucket, REGION_WEIGHTS) || (gradients && !region_open(store, bucket, REGION_GRADIENTS)) ||
        (gradients && precision->master != precision->compute && !region_open(store, bucket, REGION_MASTERS)))
        return false;
    for (Param *param = bucket->params; param < bucket->params + bucket->n_params; param++)
        if (!tensor_present(param->master))
            param->master = param->w;
    return true;
}

static void add_spec(ParamStore *store, const ParamSpec *spec)
{
    Param *param = &store->params[store->n_params++];
    const ParamSpec *before = param == store->params ? NULL : &param[-1].spec;
    bool joins = before && same_group(before, spec);
    param->spec = *spec;
    CHECK(spec->bucket >= store->n_buckets - 1 && spec->rows > 0 && spec->cols >= 0, "%s: bucket %d, (%lld, %lld)",
          spec->name, spec->bucket, (long long)spec->rows, (long long)spec->cols);
    CHECK(!joins || (before->cols == spec->cols && before->frozen == spec->frozen),
          "%s and %s of one fusion group differ in their columns, or only one is frozen", before->name, spec->name);
    for (const Param *other = store->params; !joins && other < param; other++)
        CHECK(!same_group(&other->spec, spec), "%s stands apart from its fusion group", spec->name);
    CHECK(g_hash_table_insert(store->by_name, param->spec.name, param), "two parameters are called %s", spec->name);
    store->n_buckets = spec->bucket + 1;
}

ParamStore *params_open(Device *dev, const ParamSpec *specs, int n_specs, const int *uses, bool gradients)
{
    ParamStore *store = g_new0(ParamStore, 1);
    store->dev = dev;
    store->params = g_new0(Param, n_specs);
    store->by_name = g_hash_table_new(g_str_hash, g_str_equal);
    for (int i = 0; i < n_specs; i++)
        add_spec(store, &specs[i]);
    store->buckets = g_new0(Bucket, store->n_buckets);
    store->sum = device_alloc(dev, sizeof(double));
    bool ok = store->sum != NULL;
    for (int i = 0, first = 0; ok && i < store->n_buckets; i++) {
        Bucket *bucket = &store->buckets[i];
        *bucket = (Bucket){ .params = store->params + first, .uses = uses ? uses[i] : 1 };
        while (first < n_specs && specs[first].bucket == i)
            first++;
        bucket->n_params = (int)(store->params + first - bucket->params);
        ok = bucket_open(store, bucket, gradients);
    }
    if (ok)
        return store;
    params_close(store);
    return NULL;
}

void params_close(ParamStore *store)
{
    if (!store)
        return;
    for (int i = 0; i < store->n_buckets; i++)
        for (int region = 0; region < REGION_COUNT; region++)
            region_close(store, &store->buckets[i], region);
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
        n += tensor_count(store->params[i].w);
    return n;
}

static size_t tensor_bytes(Tensor t)
{
    return (size_t)tensor_count(t) * dtype_bytes((DType)t.dtype);
}

ParamBytes params_bytes(const ParamStore *store)
{
    ParamBytes bytes = { 0 };
    for (int i = 0; i < store->n_params; i++) {
        const Param *param = &store->params[i];
        bytes.weights += tensor_bytes(param->w);
        bytes.masters += param_has_master(param) ? tensor_bytes(param->master) : 0;
        bytes.gradients += tensor_bytes(param->g);
    }
    return bytes;
}

Bucket *params_bucket(ParamStore *store, int bucket)
{
    CHECK(bucket >= 0 && bucket < store->n_buckets, "bucket %d of %d", bucket, store->n_buckets);
    return &store->buckets[bucket];
}

/* Fills the fields of a view struct from a region: each parameter, and the tensor that spans a fusion group. */
static void fill_views(const Bucket *bucket, Region region, void *views)
{
    for (int first = 0, end; first < bucket->n_params; first = end) {
        const ParamSpec *spec = &bucket->params[first].spec;
        Tensor all = *region_tensor(&bucket->params[first], region);
        end = group_end(bucket, first);
        G_STRUCT_MEMBER(Tensor, views, spec->field) = all;
        for (int i = first + 1; i < end; i++) {
            Tensor member = *region_tensor(&bucket->params[i], region);
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
    fill_views(params_bucket(store, bucket), REGION_WEIGHTS, views);
}

void params_release(ParamStore *store, int bucket)
{
    params_bucket(store, bucket);
}

float grads_acquire(ParamStore *store, int index, void *views)
{
    Bucket *bucket = params_bucket(store, index);
    CHECK(tensor_present(bucket->regions[REGION_GRADIENTS]), "bucket %d was opened without gradients", index);
    fill_views(bucket, REGION_GRADIENTS, views);
    float beta = bucket->g_touched ? 1 : 0;
    bucket->g_touched = true;
    return beta;
}
