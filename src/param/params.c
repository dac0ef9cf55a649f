#include "param/param.h"

#include "base/check.h"

#include <math.h>

/* What an acquire writes into a view struct: a parameter, or the matrix that spans a fusion group. */
typedef struct View {
    size_t field;
    Tensor w, g;
} View;

typedef struct Bucket {
    GArray *views;
    size_t bytes;   /* of the weights, and again of the gradients */
    void *w, *g;    /* g NULL without gradients */
    bool g_touched; /* since grads_begin */
} Bucket;

struct ParamStore {
    Device *dev;
    Param *params;
    int n_params;
    Bucket *buckets;
    int n_buckets;
    GHashTable *by_name; /* char * of the spec -> Param * */
    void *sum;           /* device memory, one f64 */
};

static Tensor spec_tensor(const ParamSpec *spec, DType dtype, char *p)
{
    return spec->cols ? tensor_matrix(p, dtype, spec->rows, spec->cols) : tensor_vector(p, dtype, spec->rows);
}

static bool same_group(const ParamSpec *a, const ParamSpec *b)
{
    return a == b || (a->group >= 0 && a->bucket == b->bucket && a->group == b->group);
}

/* The logical tensor that params[first] and the rest of its group make together: rows summed. */
static ParamSpec group_spec(const ParamStore *store, int first)
{
    ParamSpec sum = store->params[first].spec;
    for (int i = first + 1; i < store->n_params; i++) {
        const ParamSpec *member = &store->params[i].spec;
        if (!same_group(&store->params[first].spec, member))
            continue;
        CHECK(member->cols == sum.cols, "%s has %lld columns, %s of its group %lld", member->name,
              (long long)member->cols, sum.name, (long long)sum.cols);
        sum.rows += member->rows;
    }
    return sum;
}

static bool starts_group(const ParamStore *store, int index)
{
    for (int i = 0; i < index; i++)
        if (same_group(&store->params[i].spec, &store->params[index].spec))
            return false;
    return true;
}

/* Places params[first] and the rest of its group, row after row, into a piece of the bucket's weights or gradients;
 * the Tensor of each goes where `slot` (offset in Param) says. Returns the tensor of the whole group. */
static Tensor place_group(ParamStore *store, int first, Arena *arena, size_t slot)
{
    ParamSpec whole = group_spec(store, first);
    DType dtype = store->dev->precision.master;
    size_t count = (size_t)whole.rows * (size_t)MAX(whole.cols, 1);
    Tensor all = spec_tensor(&whole, dtype, arena_push(arena, count * dtype_bytes(dtype), whole.name));
    int64_t row = 0;
    for (int i = first; i < store->n_params; i++) {
        Param *member = &store->params[i];
        if (!same_group(&store->params[first].spec, &member->spec))
            continue;
        G_STRUCT_MEMBER(Tensor, member, slot) = tensor_slice_rows(all, row, member->spec.rows);
        row += member->spec.rows;
    }
    return all;
}

/* Lays the tensors of a bucket into its memory. With views NULL only measures. */
static void lay_out(ParamStore *store, int index, Arena *w, Arena *g, GArray *views)
{
    for (int i = 0; i < store->n_params; i++) {
        Param *param = &store->params[i];
        if (param->spec.bucket != index || !starts_group(store, i))
            continue;
        Tensor all_w = place_group(store, i, w, offsetof(Param, w));
        Tensor all_g = g ? place_group(store, i, g, offsetof(Param, g)) : NO_TENSOR;
        if (views && param->spec.group >= 0) {
            View view = { (size_t)param->spec.group, all_w, all_g };
            g_array_append_val(views, view);
        }
    }
    for (int i = 0; views && i < store->n_params; i++) {
        const Param *param = &store->params[i];
        if (param->spec.bucket == index) {
            View view = { param->spec.field, param->w, param->g };
            g_array_append_val(views, view);
        }
    }
}

/* All its weights or gradients, with the gaps between tensors, which are zeros for ever. */
static Tensor whole_bucket(const ParamStore *store, const Bucket *bucket, void *p)
{
    DType dtype = store->dev->precision.master;
    return tensor_vector(p, dtype, (int64_t)(bucket->bytes / dtype_bytes(dtype)));
}

/* false: no memory. */
static bool bucket_open(ParamStore *store, int index, bool gradients)
{
    Bucket *bucket = &store->buckets[index];
    Arena measure, w, g;
    arena_init(&measure, "parameters", NULL, 0);
    lay_out(store, index, &measure, NULL, NULL);
    bucket->bytes = measure.used;
    bucket->w = device_alloc(store->dev, bucket->bytes);
    bucket->g = gradients ? device_alloc(store->dev, bucket->bytes) : NULL;
    bucket->views = g_array_new(FALSE, FALSE, sizeof(View));
    if (!bucket->w || (gradients && !bucket->g))
        return false;
    op_fill(store->dev, whole_bucket(store, bucket, bucket->w), 0);
    if (gradients)
        op_fill(store->dev, whole_bucket(store, bucket, bucket->g), 0);
    arena_init(&w, "parameters", bucket->w, bucket->bytes);
    arena_init(&g, "gradients", bucket->g, bucket->bytes);
    lay_out(store, index, &w, gradients ? &g : NULL, bucket->views);
    return true;
}

ParamStore *params_open(Device *dev, const ParamSpec *specs, int n_specs, bool gradients)
{
    ParamStore *store = g_new0(ParamStore, 1);
    store->dev = dev;
    store->n_params = n_specs;
    store->params = g_new0(Param, n_specs);
    store->by_name = g_hash_table_new(g_str_hash, g_str_equal);
    for (int i = 0; i < n_specs; i++) {
        Param *param = &store->params[i];
        param->spec = specs[i];
        CHECK(specs[i].bucket >= 0 && specs[i].rows > 0 && specs[i].cols >= 0, "%s: bucket %d, (%lld, %lld)",
              specs[i].name, specs[i].bucket, (long long)specs[i].rows, (long long)specs[i].cols);
        CHECK(g_hash_table_insert(store->by_name, param->spec.name, param), "two parameters are called %s",
              specs[i].name);
        store->n_buckets = MAX(store->n_buckets, specs[i].bucket + 1);
    }
    store->buckets = g_new0(Bucket, store->n_buckets);
    store->sum = device_alloc(dev, sizeof(double));
    bool ok = store->sum != NULL;
    for (int i = 0; ok && i < store->n_buckets; i++)
        ok = bucket_open(store, i, gradients);
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
        device_free(store->dev, store->buckets[i].w);
        device_free(store->dev, store->buckets[i].g);
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

Param *params_get(ParamStore *store, int index)
{
    CHECK(index >= 0 && index < store->n_params, "parameter %d of %d", index, store->n_params);
    return &store->params[index];
}

Param *params_find(ParamStore *store, const char *name)
{
    return g_hash_table_lookup(store->by_name, name);
}

int64_t params_elements(const ParamStore *store)
{
    int64_t n = 0;
    for (int i = 0; i < store->n_params; i++)
        n += tensor_count(store->params[i].w);
    return n;
}

Device *params_device(const ParamStore *store)
{
    return store->dev;
}

static Bucket *get_bucket(ParamStore *store, int bucket)
{
    CHECK(bucket >= 0 && bucket < store->n_buckets, "bucket %d of %d", bucket, store->n_buckets);
    return &store->buckets[bucket];
}

void params_acquire(ParamStore *store, int bucket, void *views)
{
    GArray *list = get_bucket(store, bucket)->views;
    for (guint i = 0; i < list->len; i++) {
        const View *view = &g_array_index(list, View, i);
        G_STRUCT_MEMBER(Tensor, views, view->field) = view->w;
    }
}

void params_release(ParamStore *store, int bucket)
{
    get_bucket(store, bucket);
}

float grads_acquire(ParamStore *store, int index, void *views)
{
    Bucket *bucket = get_bucket(store, index);
    CHECK(bucket->g, "bucket %d was opened without gradients", index);
    for (guint i = 0; i < bucket->views->len; i++) {
        const View *view = &g_array_index(bucket->views, View, i);
        G_STRUCT_MEMBER(Tensor, views, view->field) = view->g;
    }
    float beta = bucket->g_touched ? 1 : 0;
    bucket->g_touched = true;
    return beta;
}

void grads_ready(ParamStore *store, int bucket)
{
    get_bucket(store, bucket);
}

void grads_begin(ParamStore *store)
{
    for (int i = 0; i < store->n_buckets; i++)
        store->buckets[i].g_touched = false;
}

double grads_norm(ParamStore *store)
{
    Tensor sum = tensor_vector(store->sum, DT_F64, 1);
    double found = 0;
    op_fill(store->dev, sum, 0);
    for (int i = 0; i < store->n_buckets; i++) {
        Bucket *bucket = &store->buckets[i];
        CHECK(bucket->g, "bucket %d was opened without gradients", i);
        Tensor all = whole_bucket(store, bucket, bucket->g);
        if (!bucket->g_touched)
            op_fill(store->dev, all, 0);
        bucket->g_touched = true;
        op_sumsq(store->dev, sum, all, 1);
    }
    tensor_download(store->dev, &found, sum);
    device_wait(store->dev, device_record(store->dev));
    return sqrt(found);
}
