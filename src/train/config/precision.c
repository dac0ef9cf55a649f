/* precision.c: the dtypes that a run computes in. */
#include "train/config/config.h"

static int native_precision(void)
{
    return device_cpu_bf16() ? PRECISION_BF16 : PRECISION_F32;
}

bool config_resolve_precision(Config *config, GError **error)
{
    g_autofree char *path = g_build_filename(config->run.dir, "config.yaml", NULL);
    if (config->train.precision != PRECISION_AUTO)
        return true;
    config->train.precision = native_precision();
    if (*config->run.dir == '\0' || !g_file_test(path, G_FILE_TEST_EXISTS))
        return true;
    Config saved = { 0 };
    bool read = config_load(&saved, path, NULL, 0, error);
    if (read && saved.train.precision != PRECISION_AUTO)
        config->train.precision = saved.train.precision;
    config_clear(&saved);
    return read;
}

Precision config_precision(const Config *config)
{
    static const DType dtypes[] = { [PRECISION_F32] = DT_F32, [PRECISION_BF16] = DT_BF16, [PRECISION_FP16] = DT_F16 };
    const TrainConfig *train = &config->train;
    DType compute = dtypes[train->precision == PRECISION_AUTO ? native_precision() : train->precision];
    return (Precision){ .compute = compute,
                        .residual = train->f32_residual ? DT_F32 : compute,
                        .grad = train->f32_gradients ? DT_F32 : compute,
                        .master = DT_F32,
                        .state = DT_F32 };
}
