#include "base/check.h"
#include "base/fatal.h"
#include "device/op_table.h"

#include <stdlib.h>
#include <string.h>

/* A table holds nothing but function pointers, so a forgotten row is a run of zero bytes. */
static void check_complete(const char *name, const OpTable *ops)
{
    void (*entries[sizeof *ops / sizeof(void (*)(void))])(void);
    _Static_assert(sizeof entries == sizeof *ops, "an operation table holds function pointers only");
    memcpy(entries, ops, sizeof entries);
    for (size_t i = 0; i < sizeof entries / sizeof entries[0]; i++)
        CHECK(entries[i] != NULL, "device %s lacks entry %zu of its operation table", name, i);
}

Precision precision_uniform(DType dtype)
{
    return (Precision){ .compute = dtype, .residual = dtype, .grad = dtype, .master = dtype, .state = dtype };
}

DType precision_fp8(Precision precision, bool e5m2)
{
    return !precision.fp8_bytes ? precision.compute : e5m2 ? DT_E5M2 : DT_E4M3;
}

DType precision_statistic(Precision precision)
{
    return precision.master;
}

Device *device_new(const char *name, const OpTable *ops, Precision precision, bool computes, int threads,
                   const char *isa, void *impl)
{
    check_complete(name, ops);
    Device *dev = malloc(sizeof *dev);
    if (dev == NULL)
        fatal_memory("a device");
    *dev = (Device){ .name = name,
                     .ops = ops,
                     .precision = precision,
                     .dtypes = { [ROLE_COMPUTE] = 1u << precision.compute,
                                 [ROLE_ACCUMULATE] = 1u << precision.residual | 1u << precision.grad,
                                 [ROLE_STATISTIC] = 1u << precision_statistic(precision),
                                 [ROLE_MASTER] = 1u << precision.master,
                                 [ROLE_STATE] = 1u << precision.state,
                                 [ROLE_INDEX] = 1u << DT_I32,
                                 [ROLE_TOTAL] = 1u << DT_F64,
                                 [ROLE_E4M3] = 1u << precision_fp8(precision, false),
                                 [ROLE_E5M2] = 1u << precision_fp8(precision, true) },
                     .computes = computes,
                     .threads = threads,
                     .isa = isa,
                     .impl = impl };
    return dev;
}

void device_close(Device *dev)
{
    if (dev == NULL)
        return;
    dev->ops->close(dev);
    free(dev);
}
