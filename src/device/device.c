/* device.c: opens and closes a device; its memory, and transfers to and from it. */
#include "base/check.h"
#include "base/fatal.h"
#include "device/cast.h"
#include "device/op_table.h"

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

/* ---- memory and transfers ---- */

enum { CHUNK = 1024 }; /* numbers that are converted at a time */

void *device_alloc(Device *dev, size_t bytes)
{
    return dev->ops->alloc(dev, bytes);
}

void device_free(Device *dev, void *p)
{
    if (p)
        dev->ops->free(dev, p);
}

size_t device_memory_available(Device *dev)
{
    return dev->ops->memory_available(dev);
}

void device_upload(Device *dev, void *to, const void *from, size_t bytes)
{
    if (bytes > 0)
        dev->ops->upload(dev, to, from, bytes);
}

void device_download(Device *dev, void *to, const void *from, size_t bytes)
{
    if (bytes > 0)
        dev->ops->download(dev, to, from, bytes);
}

DeviceEvent device_record_event(Device *dev)
{
    return dev->ops->record_event(dev);
}

void device_wait_event(Device *dev, DeviceEvent event)
{
    dev->ops->wait_event(dev, event);
}

void device_synchronise(Device *dev)
{
    device_wait_event(dev, device_record_event(dev));
}

void *device_host_alloc(Device *dev, size_t bytes)
{
    return dev->ops->host_alloc(dev, bytes);
}

void device_host_free(Device *dev, void *p)
{
    if (p)
        dev->ops->host_free(dev, p);
}

void device_copy_to(Device *dev, void *to, const void *from, size_t bytes)
{
    if (bytes > 0)
        dev->ops->copy_to(dev, to, from, bytes);
}

void device_copy_from(Device *dev, void *to, const void *from, size_t bytes)
{
    if (bytes > 0)
        dev->ops->copy_from(dev, to, from, bytes);
}

void device_follow(Device *dev, DeviceQueue queue, DeviceQueue earlier)
{
    dev->ops->follow(dev, queue, earlier);
}

void device_settle(Device *dev)
{
    device_follow(dev, QUEUE_WORK, QUEUE_COPY_TO);
    device_follow(dev, QUEUE_WORK, QUEUE_COPY_FROM);
    device_synchronise(dev);
}

/* A tensor as contiguous pieces: one piece, or its rows. */
typedef struct Pieces {
    int64_t n, length;
} Pieces;

static Pieces pieces_of(Tensor t)
{
    int64_t rows = tensor_rows(t), cols = tensor_cols(t);
    return rows <= 1 || t.ld == cols ? (Pieces){ 1, rows * cols } : (Pieces){ rows, cols };
}

/* Number `offset` of piece i. */
static char *piece_at(Tensor t, int64_t i, int64_t offset)
{
    return (char *)t.p + (size_t)(i * t.ld + offset) * dtype_bytes(t.dtype);
}

/* How many numbers from `first` on are transferred at a time: at most CHUNK if they are converted. */
static int64_t chunk_count(Pieces pieces, int64_t first, bool cast)
{
    return cast && pieces.length - first > CHUNK ? CHUNK : pieces.length - first;
}

void tensor_write(Device *dev, Tensor to, const void *from, DType dtype)
{
    Pieces pieces = pieces_of(to);
    double numbers[CHUNK]; /* as large as any dtype */
    bool cast = to.dtype != dtype;
    for (int64_t i = 0; i < pieces.n; i++)
        for (int64_t first = 0, n; first < pieces.length; first += n) {
            n = chunk_count(pieces, first, cast);
            const char *at = (const char *)from + (size_t)(i * pieces.length + first) * dtype_bytes(dtype);
            if (cast)
                cast_numbers(numbers, to.dtype, at, dtype, n);
            device_upload(dev, piece_at(to, i, first), cast ? (const void *)numbers : at,
                          (size_t)n * dtype_bytes(to.dtype));
        }
}

/* Waits only if it converts. */
static void read_device_numbers(Device *dev, void *to, DType dtype, Tensor from)
{
    Pieces pieces = pieces_of(from);
    double numbers[CHUNK];
    bool cast = from.dtype != dtype;
    for (int64_t i = 0; i < pieces.n; i++)
        for (int64_t first = 0, n; first < pieces.length; first += n) {
            n = chunk_count(pieces, first, cast);
            char *at = (char *)to + (size_t)(i * pieces.length + first) * dtype_bytes(dtype);
            device_download(dev, cast ? (void *)numbers : at, piece_at(from, i, first),
                            (size_t)n * dtype_bytes(from.dtype));
            if (cast)
                device_synchronise(dev);
            if (cast && dev->computes)
                cast_numbers(at, dtype, numbers, from.dtype, n);
        }
}

void tensor_read(Device *dev, void *to, DType dtype, Tensor from)
{
    read_device_numbers(dev, to, dtype, from);
    device_synchronise(dev);
}

void tensor_upload(Device *dev, Tensor to, const void *from)
{
    tensor_write(dev, to, from, to.dtype);
}

void tensor_download(Device *dev, void *to, Tensor from)
{
    read_device_numbers(dev, to, from.dtype, from);
}

void tensor_write_host(Tensor to, const void *from, DType dtype)
{
    Pieces pieces = pieces_of(to);
    for (int64_t i = 0; i < pieces.n; i++)
        cast_numbers(piece_at(to, i, 0), to.dtype,
                     (const char *)from + (size_t)(i * pieces.length) * dtype_bytes(dtype), dtype, pieces.length);
}

void tensor_read_host(void *to, DType dtype, Tensor from)
{
    Pieces pieces = pieces_of(from);
    for (int64_t i = 0; i < pieces.n; i++)
        cast_numbers((char *)to + (size_t)(i * pieces.length) * dtype_bytes(dtype), dtype, piece_at(from, i, 0),
                     from.dtype, pieces.length);
}
