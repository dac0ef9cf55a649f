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

void params_read(ParamStore *store, int index, const Box *box, DType dtype, void *host)
{
    tensor_read(store->dev, host, dtype, tensor_box(params_get(store, index)->master, box));
}

void params_write(ParamStore *store, int index, const Box *box, DType dtype, const void *host)
{
    const Param *param = params_get(store, index);
    tensor_write(store->dev, tensor_box(param->master, box), host, dtype);
    if (param_has_master(param))
        op_copy(store->dev, tensor_box(param->w, box), tensor_box(param->master, box));
}

void params_copy(ParamStore *to, int index, ParamStore *from, int source)
{
    const Param *param = params_get(from, source);
    DType dtype = (DType)param->master.dtype;
    g_autofree void *values = g_malloc((gsize)tensor_count(param->w) * dtype_bytes(dtype));
    params_read(from, source, NULL, dtype, values);
    params_write(to, index, NULL, dtype, values);
}
