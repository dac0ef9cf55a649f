/* params_init.c: initial values of parameters. */
#include "base/check.h"
#include "param/store.h"

#include <string.h>
#include <xxhash.h>

/* Standard deviation of the standard normal truncated at ±2: draws are divided by it, so that theirs is `std`. */
#define TRUNCATED_STD 0.87962566103423978

static double truncated_normal(Philox *rng)
{
    double x;
    do
        x = philox_normal(rng);
    while (fabs(x) > 2);
    return x / TRUNCATED_STD;
}

/* Each element has random numbers of its own, so that any part of a tensor can be filled separately. */
static double draw_element(const ParamSpec *spec, Philox rng, int64_t element)
{
    rng.index = (uint64_t)element << 16;
    switch (spec->init) {
    case INIT_ZEROS:
        return 0;
    case INIT_CONSTANT:
        return spec->std;
    case INIT_NORMAL:
        return spec->std * philox_normal(&rng);
    case INIT_TRUNCATED_NORMAL:
        return spec->std * truncated_normal(&rng);
    case INIT_UNIFORM:
        return spec->std * (2 * philox_uniform(&rng) - 1);
    }
    CHECK(false, "%s: init %d", spec->name, (int)spec->init);
    return 0;
}

/* Values that are drawn at a time: no copy of a whole embedding is needed. */
#define PART_VALUES ((int64_t)4 << 20)

static void init_param(ParamStore *store, int index, PhiloxKey key)
{
    const ParamSpec *spec = params_spec(store, index);
    const Box here = params_get(store, index)->here;
    Philox rng = philox_open(key, XXH64(spec->name, strlen(spec->name), 0));
    int64_t all_cols = MAX(spec->cols, 1), most = MIN(here.shape[0], MAX(1, PART_VALUES / MAX(here.shape[1], 1)));
    bool wide = store->dev->precision.master == DT_F64;
    DType dtype = wide ? DT_F64 : DT_F32;
    g_autofree void *values = g_malloc((gsize)(most * here.shape[1]) * dtype_bytes(dtype));
    for (int64_t first = 0; first < here.shape[0]; first += most) {
        const Box part = { { here.start[0] + first, here.start[1] },
                           { MIN(most, here.shape[0] - first), here.shape[1] } };
#pragma omp parallel for num_threads(store->dev->threads)
        for (int64_t i = 0; i < part.shape[0] * part.shape[1]; i++) {
            int64_t row = part.start[0] + i / part.shape[1], col = part.start[1] + i % part.shape[1];
            double value = draw_element(spec, rng, row * all_cols + col);
            if (wide)
                ((double *)values)[i] = value;
            else
                ((float *)values)[i] = (float)value;
        }
        params_write(store, index, &part, dtype, values);
    }
}

void params_init(ParamStore *store, uint64_t seed)
{
    for (int i = 0; store->dev->computes && i < store->n_params; i++)
        init_param(store, i, philox_key(seed, PHILOX_INIT, 0));
}
