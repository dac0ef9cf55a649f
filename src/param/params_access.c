/* params_access.c: copies boxes of logical tensors to and from host memory. */
#include "base/check.h"
#include "param/store.h"

#include <string.h>
#include <xxhash.h>

int box_split(const Box *box, int64_t first, int64_t n, Box parts[3])
{
    int64_t cols = box->shape[1];
    int n_parts = 0;
    while (n > 0) {
        int64_t row = first / cols, col = first % cols;
        bool whole_rows = col == 0 && n >= cols;
        int64_t rows = whole_rows ? n / cols : 1, width = whole_rows ? cols : MIN(n, cols - col);
        parts[n_parts++] = (Box){ { box->start[0] + row, box->start[1] + col }, { rows, width } };
        first += rows * width;
        n -= rows * width;
    }
    return n_parts;
}

Tensor tensor_box(Tensor t, const Box *box)
{
    if (box == NULL)
        return t;
    Tensor rows = tensor_slice_rows(t, box->start[0], box->shape[0]);
    if (t.rank == 2)
        return tensor_slice_cols(rows, box->start[1], box->shape[1]);
    CHECK(box->start[1] == 0 && box->shape[1] == 1, "columns %lld + %lld of a vector", (long long)box->start[1],
          (long long)box->shape[1]);
    return rows;
}

void params_read_tensor(ParamStore *store, bool on_host, Tensor from, DType dtype, void *to)
{
    if (!on_host) {
        tensor_read(store->dev, to, dtype, from);
        return;
    }
    device_settle(store->dev);
    if (store->dev->computes)
        tensor_read_host(to, dtype, from);
}

void params_write_tensor(ParamStore *store, bool on_host, Tensor to, DType dtype, const void *from)
{
    if (!on_host) {
        tensor_write(store->dev, to, from, dtype);
        return;
    }
    device_settle(store->dev);
    if (store->dev->computes)
        tensor_write_host(to, from, dtype);
}

Box box_in_here(const Box *here, Box box)
{
    for (int d = 0; d < 2; d++) {
        int64_t begin = MAX(box.start[d], here->start[d]),
                end = MIN(box.start[d] + box.shape[d], here->start[d] + here->shape[d]);
        box.start[d] = begin - here->start[d];
        box.shape[d] = MAX(end - begin, 0);
    }
    return box;
}

const void *box_values(const Box *box, const Box *here, Box part, DType dtype, const void *values, void **owned)
{
    size_t size = dtype_bytes(dtype), width = (size_t)part.shape[1] * size, step = (size_t)box->shape[1] * size;
    const char *from = values;
    *owned = NULL;
    if (part.shape[0] == 0 || part.shape[1] == 0)
        return values;
    from += (size_t)(part.start[0] + here->start[0] - box->start[0]) * step;
    from += (size_t)(part.start[1] + here->start[1] - box->start[1]) * size;
    if (width == step)
        return from;
    char *to = *owned = g_malloc((size_t)part.shape[0] * width);
    for (int64_t row = 0; row < part.shape[0]; row++)
        memcpy(to + (size_t)row * width, from + (size_t)row * step, width);
    return to;
}

/* A box of the logical tensor; NULL means all of it. */
static Box logical_box(const Param *param, const Box *box)
{
    return box ? *box : (Box){ { 0, 0 }, { param->spec.rows, MAX(param->spec.cols, 1) } };
}

/* The rows of `own`, this rank's part of a parameter, that lie in a box of Param.here. */
static Box part_in_box(const Param *param, const Box *box)
{
    Box part = *box;
    int64_t begin = MAX(part.start[0], param->first),
            end = MIN(part.start[0] + part.shape[0], param->first + param->rows);
    part.start[0] = begin;
    part.shape[0] = MAX(end - begin, 0);
    return part;
}

/* The tensor of rows `part`, numbered over Param.here, in this rank's part. */
static Tensor own_rows(const Param *param, Region region, Box part)
{
    part.start[0] -= param->first;
    return tensor_box(param->own[region], &part);
}

void params_read(ParamStore *store, int index, const Box *box, DType dtype, void *host)
{
    const Param *param = params_get(store, index);
    const Box wanted = logical_box(param, box), here = box_in_here(&param->here, wanted);
    Tensor from = param->master;
    params_settle(store);
    CHECK(here.shape[0] == wanted.shape[0] && here.shape[1] == wanted.shape[1],
          "%lld x %lld elements of %s are read, of which this rank has %lld x %lld", (long long)wanted.shape[0],
          (long long)wanted.shape[1], param->spec.name, (long long)here.shape[0], (long long)here.shape[1]);
    if (!tensor_present(from)) {
        Box part = part_in_box(param, &here);
        CHECK(part.shape[0] == here.shape[0], "%lld rows of %s are read, of which this rank has %lld",
              (long long)here.shape[0], param->spec.name, (long long)part.shape[0]);
        if (here.shape[0] == 0)
            return;
        from = own_rows(param, REGION_MASTERS, part);
    } else {
        from = tensor_box(from, &here);
    }
    params_read_tensor(store, params_master_on_host(store, param), from, dtype, host);
}

/* w becomes the master, rounded to the dtype of w. */
static void round_master(ParamStore *store, bool on_host, Tensor w, Tensor master)
{
    DType dtype = master.dtype;
    if (!on_host) {
        op_copy(store->dev, w, master);
        return;
    }
    g_autofree void *values = g_malloc0((gsize)tensor_count(master) * dtype_bytes(dtype));
    params_read_tensor(store, true, master, dtype, values);
    tensor_write(store->dev, w, values, dtype);
}

/* w becomes what round_master would compute from masters with these values; another rank has the masters. */
static void write_rounded(ParamStore *store, Tensor w, DType master, DType dtype, const void *host)
{
    g_autofree void *values = g_malloc0((gsize)tensor_count(w) * dtype_bytes(master));
    Tensor masters =
        w.rank == 2 ? tensor_matrix(values, master, w.d[0], w.d[1]) : tensor_vector(values, master, w.d[0]);
    tensor_write_host(masters, host, dtype);
    tensor_write(store->dev, w, values, master);
}

/* Writes the rows of a box of Param.here that this rank holds. */
static void write_part(ParamStore *store, const Param *param, const Box *box, DType dtype, const void *host)
{
    const Box part = part_in_box(param, box);
    bool on_host = params_master_on_host(store, param), whole = tensor_present(param->w);
    int64_t before = part.start[0] - box->start[0];
    if (store->dev->computes && whole)
        write_rounded(store, tensor_box(param->w, box), param->own[REGION_MASTERS].dtype, dtype, host);
    if (part.shape[0] == 0)
        return;
    Tensor master = own_rows(param, REGION_MASTERS, part);
    const char *from = (const char *)host + (size_t)(before * part.shape[1]) * dtype_bytes(dtype);
    params_write_tensor(store, on_host, master, dtype, from);
    if (param_has_master(param) && !whole)
        round_master(store, on_host, own_rows(param, REGION_WEIGHTS, part), master);
}

/* Writes a box of Param.here. */
static void write_here(ParamStore *store, const Param *param, const Box *box, DType dtype, const void *host)
{
    if (!tensor_present(param->master)) {
        write_part(store, param, box, dtype, host);
        return;
    }
    bool on_host = params_master_on_host(store, param);
    Tensor master = tensor_box(param->master, box);
    params_write_tensor(store, on_host, master, dtype, host);
    if (param_has_master(param))
        round_master(store, on_host, tensor_box(param->w, box), master);
}

void params_write(ParamStore *store, int index, const Box *box, DType dtype, const void *host)
{
    const Param *param = params_get(store, index);
    const Box given = logical_box(param, box), here = box_in_here(&param->here, given);
    g_autofree void *owned = NULL;
    const void *values = box_values(&given, &param->here, here, dtype, host, &owned);
    params_settle(store);
    shard_forget(store);
    if (here.shape[0] > 0 && here.shape[1] > 0)
        write_here(store, param, &here, dtype, values);
}

/* Adds the elements of t, a tensor without gaps, to a hash. */
static void hash_tensor(ParamStore *store, XXH3_state_t *hash, Tensor t)
{
    const size_t bytes = (size_t)tensor_count(t) * dtype_bytes(t.dtype);
    g_autofree void *host = g_malloc(bytes);
    tensor_download(store->dev, host, tensor_flat(t));
    device_synchronise(store->dev);
    XXH3_64bits_update(hash, host, bytes);
}

uint64_t params_hash(ParamStore *store, int index, HashOf of)
{
    const Bucket *bucket = params_bucket(store, index);
    const Tensor all = bucket->memory[SPAN_TRAINED][REGION_WEIGHTS].all;
    if (tensor_count(all) == 0)
        return 0;
    XXH3_state_t *hash = XXH3_createState();
    XXH3_64bits_reset(hash);
    params_settle(store);
    if (of == HASH_ALL)
        hash_tensor(store, hash, all);
    for (const Param *param = bucket->params; of != HASH_ALL && param < bucket->params + bucket->n_params; param++)
        if ((of == HASH_COMMON ? !param_is_split(param) : param->spec.split == SPLIT_COPIED) && !param->spec.frozen)
            hash_tensor(store, hash, param->w);
    uint64_t value = XXH3_64bits_digest(hash);
    XXH3_freeState(hash);
    return value;
}

uint64_t params_hash_one(ParamStore *store, int index)
{
    XXH3_state_t *hash = XXH3_createState();
    XXH3_64bits_reset(hash);
    params_settle(store);
    hash_tensor(store, hash, params_get(store, index)->w);
    uint64_t value = XXH3_64bits_digest(hash);
    XXH3_freeState(hash);
    return value;
}

int params_buckets(const ParamStore *store)
{
    return store->n_buckets;
}

const char *params_bucket_name(const ParamStore *store, int bucket)
{
    return store->buckets[bucket].n_params > 0 ? store->buckets[bucket].params[0].spec.name : "";
}

void params_copy(ParamStore *to, int index, ParamStore *from, int source)
{
    const Param *param = params_get(from, source);
    DType dtype = param->own[REGION_MASTERS].dtype;
    g_autofree void *values = g_malloc((gsize)(param->spec.rows * MAX(param->spec.cols, 1)) * dtype_bytes(dtype));
    params_read(from, source, NULL, dtype, values);
    params_write(to, index, NULL, dtype, values);
}
