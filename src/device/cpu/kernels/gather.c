/* gather.c: rows of a table by index, read, written and added to. */
#include "device/cpu/kernels/kernels.h"

#include <string.h>

static void check_ids(Tensor ids, int64_t rows)
{
    const int32_t *id = ids.p;
    for (int64_t i = 0; i < ids.d[0]; i++)
        CHECK(id[i] >= 0 && id[i] < rows, "id %d of token %lld in a table of %lld rows", id[i], (long long)i,
              (long long)rows);
}

void KERNEL(gather)(Device *dev, Tensor y, Tensor table, Tensor ids)
{
    const int32_t *id = ids.p;
    check_ids(ids, table.d[0]);
#pragma omp parallel for num_threads(team(dev, tensor_count(y))) schedule(static)
    for (int64_t i = 0; i < y.d[0]; i++)
        memcpy(row_of(y, i), row_of(table, id[i]), (size_t)y.d[1] * sizeof(float));
}

/* Each thread owns some columns of the table, so sums run in the order of the tokens whatever the number of threads. */
void KERNEL(scatter_add)(Device *dev, Tensor dtable, Tensor dy, Tensor ids, float beta)
{
    const int32_t *id = ids.p;
    check_ids(ids, dtable.d[0]);
    if (beta == 0.0f)
        KERNEL(fill)(dev, dtable, 0);
#pragma omp parallel num_threads(team(dev, tensor_count(dy)))
    {
        Range cols = share(dy.d[1], 16);
        for (int64_t i = 0; beta != 0.0f && beta != 1.0f && i < dtable.d[0]; i++)
            for (int64_t c = cols.begin; c < cols.end; c++)
                row_of(dtable, i)[c] *= beta;
        for (int64_t i = 0; i < dy.d[0]; i++) {
            float *d = row_of(dtable, id[i]);
            const float *g = row_of(dy, i);
            SIMD for (int64_t c = cols.begin; c < cols.end; c++) d[c] += g[c];
        }
    }
}

void KERNEL(scatter)(Device *dev, Tensor y, Tensor x, Tensor rows)
{
    const int32_t *to = rows.p;
    check_ids(rows, y.d[0]);
#pragma omp parallel for num_threads(team(dev, tensor_count(x))) schedule(static)
    for (int64_t i = 0; i < x.d[0]; i++)
        memcpy(row_of(y, to[i]), row_of(x, i), (size_t)x.d[1] * sizeof(float));
}
