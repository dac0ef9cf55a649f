/* params.c: opening, closing and looking up; how a bucket's tensors lie in its memory. */
#include "base/check.h"
#include "param/store.h"

/* What an acquire writes into a view struct: a parameter, or the matrix that spans a fusion group. */
typedef struct View {
    size_t field;
    Tensor w, g;
} View;

static bool same_group(const ParamSpec *a, const ParamSpec *b)
{
    return a == b || (a->group >= 0 && a->bucket == b->bucket && a->group == b->group);
}

static bool starts_group(const ParamStore *store, int index)
{
    for (int i = 0; i < index; i++)
        if (same_group(&store->params[i].spec, &store->params[index].spec))
            return false;
    return true;
}

/* The rows of params[first] and of the rest of its group. */
static int64_t group_rows(const ParamStore *store, int first)
{
    const ParamSpec *spec = &store->params[first].spec;
    int64_t rows = spec->rows;
    for (int i = first + 1; i < store->n_params; i++) {
        const ParamSpec *member = &store->params[i].spec;
        if (!same_group(spec, member))
            continue;
        CHECK(member->cols == spec->cols, "%s has %lld columns, %s of its group %lld", member->name,
              (long long)member->cols, spec->name, (long long)spec->cols);
        CHECK(member->frozen == spec->frozen, "of a fusion group only one of %s and %s is frozen", member->name,
              spec->name);
        rows += member->rows;
    }
    return rows;
}

static DType region_dtype(const ParamStore *store, Region region)
{
    const Precision *precision = &store->dev->precision;
    return region == REGION_WEIGHTS   ? precision->compute
           : region == REGION_MASTERS ? precision->master
                                      : precision->grad;
}

static Tensor *region_tensor(Param *param, Region region)
{
    return region == REGION_WEIGHTS ? &param->w : region == REGION_MASTERS ? &param->master : &param->g;
}

/* Places params[first] and the rest of its group, row after row, into a region of the bucket. */
static void place_group(ParamStore *store, int first, Arena *arena, Region region)
{
    const ParamSpec *spec = &store->params[first].spec;
    DType dtype = region_dtype(store, region);
    int64_t rows = group_rows(store, first), row = 0;
    Tensor all = spec->cols ? arena_tensor(arena, dtype, rows, spec->cols, spec->name)
                            : arena_vector(arena, dtype, rows, spec->name);
    for (int i = first; i < store->n_params; i++) {
        Param *member = &store->params[i];
        if (!same_group(spec, &member->spec))
            continue;
        *region_tensor(member, region) = tensor_slice_rows(all, row, member->spec.rows);
        row += member->spec.rows;
    }
}

/* Lays the tensors of a bucket into the memory of a region, or measures it. */
static void lay_out(ParamStore *store, int index, Arena *arena, Region region)
{
    for (int i = 0; i < store->n_params; i++) {
        const ParamSpec *spec = &store->params[i].spec;
        bool present = region == REGION_WEIGHTS || !spec->frozen;
        if (spec->bucket == index && present && starts_group(store, i))
            place_group(store, i, arena, region);
    }
}

/* false: no memory. */
static bool region_open(ParamStore *store, int index, Region region)
{
    Bucket *bucket = &store->buckets[index];
    DType dtype = region_dtype(store, region);
    Arena arena;
    arena_init(&arena, "parameters", NULL, 0);
    lay_out(store, index, &arena, region);
    size_t bytes = arena.used;
    void *memory = device_alloc(store->dev, bytes);
    if (memory == NULL)
        return false;
    bucket->regions[region] = tensor_vector(memory, dtype, (int64_t)(bytes / dtype_bytes(dtype)));
    op_fill(store->dev, bucket->regions[region], 0);
    arena_init(&arena, "parameters", memory, bytes);
    lay_out(store, index, &arena, region);
    return true;
}

/* The first `rows` rows from t's first on. */
static Tensor spanning(Tensor t, int64_t rows)
{
    if (!tensor_present(t))
        return t;
    t.d[0] = rows;
    t.ld = t.rank == 1 ? rows : t.ld;
    return t;
}

static void add_views(ParamStore *store, int index)
{
    GArray *views = store->buckets[index].views;
    for (int i = 0; i < store->n_params; i++) {
        Param *param = &store->params[i];
        if (param->spec.bucket != index)
            continue;
        if (!tensor_present(param->master))
            param->master = param->w;
        View view = { param->spec.field, param->w, param->g };
        g_array_append_val(views, view);
        if (param->spec.group < 0 || !starts_group(store, i))
            continue;
        int64_t rows = group_rows(store, i);
        View group = { (size_t)param->spec.group, spanning(param->w, rows), spanning(param->g, rows) };
        g_array_append_val(views, group);
    }
}

/* false: no memory. */
static bool bucket_open(ParamStore *store, int index, bool gradients)
{
    const Precision *precision = &store->dev->precision;
    store->buckets[index].views = g_array_new(FALSE, FALSE, sizeof(View));
    if (!region_open(store, index, REGION_WEIGHTS) || (gradients && !region_open(store, index, REGION_GRADIENTS)) ||
        (gradients && precision->master != precision->compute && !region_open(store, index, REGION_MASTERS)))
        return false;
    add_views(store, index);
    return true;
}

static void add_spec(ParamStore *store, const ParamSpec *spec)
{
    Param *param = &store->params[store->n_params++];
    param->spec = *spec;
    CHECK(spec->bucket >= 0 && spec->rows > 0 && spec->cols >= 0, "%s: bucket %d, (%lld, %lld)", spec->name,
          spec->bucket, (long long)spec->rows, (long long)spec->cols);
    CHECK(g_hash_table_insert(store->by_name, param->spec.name, param), "two parameters are called %s", spec->name);
    store->n_buckets = MAX(store->n_buckets, spec->bucket + 1);
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
    for (int i = 0; ok && i < store->n_buckets; i++) {
        store->buckets[i].uses = uses ? uses[i] : 1;
        ok = bucket_open(store, i, gradients);
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
    for (int i = 0; i < store->n_buckets; i++) {
        for (int region = 0; region < REGION_COUNT; region++)
            device_free(store->dev, store->buckets[i].regions[region].p);
        g_clear_pointer(&store->buckets[i].views, g_array_unref);
    }
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
    CHECK(index >= 0 && index < store->n_params, "parameter %d of %d", index, store->n_params);
    return &store->params[index].spec;
}

Param *params_get(ParamStore *store, int index)
{
    CHECK(index >= 0 && index < store->n_params, "parameter %d of %d", index, store->n_params);
    return &store->params[index];
}

Param *params_find(ParamStore *store, const char *name)
{
    return g_hash_table_lookup(store->by_name, name);
}

int params_index(const ParamStore *store, const char *name)
{
    const Param *param = g_hash_table_lookup(store->by_name, name);
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

Device *params_device(const ParamStore *store)
{
    return store->dev;
}

Bucket *params_bucket(ParamStore *store, int bucket)
{
    CHECK(bucket >= 0 && bucket < store->n_buckets, "bucket %d of %d", bucket, store->n_buckets);
    return &store->buckets[bucket];
}

void params_acquire(ParamStore *store, int bucket, void *views)
{
    GArray *list = params_bucket(store, bucket)->views;
    for (guint i = 0; i < list->len; i++) {
        const View *view = &g_array_index(list, View, i);
        G_STRUCT_MEMBER(Tensor, views, view->field) = view->w;
    }
}

void params_release(ParamStore *store, int bucket)
{
    params_bucket(store, bucket);
}

float grads_acquire(ParamStore *store, int index, void *views)
{
    Bucket *bucket = params_bucket(store, index);
    CHECK(tensor_present(bucket->regions[REGION_GRADIENTS]), "bucket %d was opened without gradients", index);
    for (guint i = 0; i < bucket->views->len; i++) {
        const View *view = &g_array_index(bucket->views, View, i);
        G_STRUCT_MEMBER(Tensor, views, view->field) = view->g;
    }
    float beta = bucket->g_touched ? 1 : 0;
    bucket->g_touched = true;
    return beta;
}
