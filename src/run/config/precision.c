/* precision.c: the dtypes that a run computes in. */
#include "base/text.h"
#include "device/cuda/cuda.h"
#include "run/compute_device.h"
#include "run/config/config.h"
#include "run/run_dir.h"

#include <string.h>

static int native_precision(const char *device)
{
    return compute_device_is_gpu(device) || device_cpu_bf16() ? PRECISION_BF16 : PRECISION_F32;
}

/* The options of config.yaml that say in which precision a run was trained. */
static const char *const saved_names[] = { "train.precision", "train.f32_residual", "train.f32_gradients", NULL };

static bool find_precision(Config *config, GError **error)
{
    g_auto(Config) saved = { 0 };
    if (config->train.precision != PRECISION_AUTO)
        return true;
    config->train.precision = native_precision(config->train.device);
    if (*config->run.dir == '\0' || !run_has_config(config->run.dir))
        return true;
    if (!config_read_saved(&saved, config->run.dir, saved_names, error))
        return false;
    /* A config.yaml without train.precision was written before the option existed: runs then computed in f32. */
    config->train.precision = saved.train.precision == PRECISION_AUTO ? PRECISION_F32 : saved.train.precision;
    return true;
}

bool config_resolve_precision(Config *config, GError **error)
{
    char why[CUDA_WHY];
    if (!find_precision(config, error))
        return false;
    return config->train.precision != PRECISION_FP8 || compute_device_has_fp8(config->train.device, why) ||
           fail_user(error, "train.precision=fp8: %s; train.precision=bf16 runs on all GPUs", why);
}

static Precision dtypes_of(int precision, const char *device, bool f32_residual, bool f32_gradients)
{
    static const DType dtypes[] = {
        [PRECISION_F32] = DT_F32, [PRECISION_BF16] = DT_BF16, [PRECISION_FP16] = DT_F16, [PRECISION_FP8] = DT_BF16
    };
    DType compute = dtypes[precision == PRECISION_AUTO ? native_precision(device) : precision];
    return (Precision){ .compute = compute,
                        .residual = f32_residual ? DT_F32 : compute,
                        .grad = f32_gradients ? DT_F32 : compute,
                        .master = DT_F32,
                        .state = DT_F32,
                        .large_chunks = compute_device_is_gpu(device) };
}

Precision config_precision(const Config *config)
{
    const TrainConfig *train = &config->train;
    Precision precision = dtypes_of(train->precision, train->device, train->f32_residual, train->f32_gradients);
    precision.tf32 = train->tf32;
    precision.offload = config->optim.offload && compute_device_is_gpu(train->device);
    if (train->precision == PRECISION_FP8) {
        precision.fp8 = fp8_recipe(&config->fp8);
        precision.fp8_bytes = compute_device_is_gpu(train->device);
    }
    return precision;
}

bool precision_of_name(const char *name, const char *device, Precision *precision, GError **error)
{
    static const char *const names[] = { "auto", "f32", "bf16", "fp16", NULL }; /* as in precision_names */
    for (int i = 0; names[i]; i++)
        if (strcmp(names[i], name) == 0) {
            *precision = dtypes_of(i, device, true, true);
            return true;
        }
    const char *nearest = text_nearest(name, names);
    if (strcmp(name, precision_names[PRECISION_FP8]) == 0)
        return fail_user(error, "--precision fp8 is only for training, want auto, f32, bf16 or fp16");
    if (*name == '\0')
        return fail_user(error, "--precision is empty, want auto, f32, bf16 or fp16");
    if (nearest)
        return fail_user(error, "--precision %s is unknown, did you mean %s? It is auto, f32, bf16 or fp16", name,
                         nearest);
    return fail_user(error, "--precision %s is unknown, want auto, f32, bf16 or fp16", name);
}

bool precision_of_run(const char *run, Precision *precision, GError **error)
{
    g_auto(Config) saved = { 0 };
    if (!config_read_saved(&saved, run, saved_names, error))
        return false;
    *precision = config_precision(&saved);
    return true;
}

char *precision_describe(Precision precision)
{
    GString *text = g_string_new(precision.fp8.scaling != FP8_OFF ? "fp8 and " : "");
    g_string_append(text, precision.compute == DT_F16 ? "fp16" : dtype_name(precision.compute));
    if (precision.tf32 && precision.compute == DT_F32)
        g_string_append(text, " as tf32");
    if (precision.compute != DT_F32 && precision.residual != DT_F32)
        g_string_append_printf(text, ", residual %s", dtype_name(precision.residual));
    if (precision.compute != DT_F32 && precision.grad != DT_F32)
        g_string_append_printf(text, ", gradients %s", dtype_name(precision.grad));
    return g_string_free(text, false);
}
