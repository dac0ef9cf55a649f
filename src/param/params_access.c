/* params_access.c: boxes of logical tensors, to and from host memory. */
#include "base/check.h"
#include "param/store.h"

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

void params_read(ParamStore *store, int index, const Box *box, DType dtype, void *host)
{
    const Param *param = params_get(store, index);
    params_read_tensor(store, params_master_on_host(store, param), tensor_box(param->master, box), dtype, host);
}

/* The weights that layers compute with become the masters, rounded. */
static void round_master(ParamStore *store, const Param *param, const Box *box)
{
    Tensor w = tensor_box(param->w, box), master = tensor_box(param->master, box);
    DType dtype = (DType)master.dtype;
    if (!params_master_on_host(store, param)) {
        op_copy(store->dev, w, master);
        return;
    }
    g_autofree void *values = g_malloc0((gsize)tensor_count(master) * dtype_bytes(dtype));
    params_read_tensor(store, true, master, dtype, values);
    tensor_write(store->dev, w, values, dtype);
}

void params_write(ParamStore *store, int index, const Box *box, DType dtype, const void *host)
{
    const Param *param = params_get(store, index);
    params_write_tensor(store, params_master_on_host(store, param), tensor_box(param->master, box), dtype, host);
    if (param_has_master(param))
        round_master(store, param, box);
}

void params_copy(ParamStore *to, int index, ParamStore *from, int source)
{
    const Param *param = params_get(from, source);
    DType dtype = (DType)param->master.dtype;
    g_autofree void *values = g_malloc((gsize)tensor_count(param->w) * dtype_bytes(dtype));
    params_read(from, source, NULL, dtype, values);
    params_write(to, index, NULL, dtype, values);
}
