#include "param/param.h"

#include "base/check.h"

#include <math.h>
#include <string.h>
#include <xxhash.h>

/* Standard deviation of a standard normal cut at two: what is drawn is divided by it, so that `std` is what results. */
#define TRUNCATED_STD 0.87962566103423978

static double truncated_normal(Philox *rng)
{
    double x;
    do
        x = philox_normal(rng);
    while (fabs(x) > 2);
    return x / TRUNCATED_STD;
}

/* Each element has a sequence of its own, so that any part of a tensor can be filled alone. */
static double draw(const ParamSpec *spec, Philox rng, int64_t element)
{
    rng.index = (uint64_t)element << 16;
    switch (spec->init) {
    case INIT_ZEROS:
        return 0;
    case INIT_ONES:
        return 1;
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

static void init_tensor(Device *dev, const Param *param, PhiloxKey key)
{
    Philox rng = philox_open(key, XXH64(param->spec.name, strlen(param->spec.name), 0));
    int64_t count = tensor_count(param->w);
    bool wide = param->w.dtype == DT_F64;
    g_autofree double *doubles = wide ? g_new(double, count) : NULL;
    g_autofree float *floats = wide ? NULL : g_new(float, count);
#pragma omp parallel for num_threads(device_threads(dev))
    for (int64_t i = 0; i < count; i++) {
        double value = draw(&param->spec, rng, i);
        if (wide)
            doubles[i] = value;
        else
            floats[i] = (float)value;
    }
    tensor_upload(dev, param->w, wide ? (const void *)doubles : floats);
}

void params_init(ParamStore *store, uint64_t seed)
{
    Device *dev = params_device(store);
    CHECK(dev->precision.master == DT_F64 || dev->precision.master == DT_F32, "parameters of %s",
          dtype_name(dev->precision.master));
    if (!dev->computes)
        return;
    for (int i = 0; i < params_count(store); i++)
        init_tensor(dev, params_get(store, i), philox_key(seed, PHILOX_INIT, 0));
}
