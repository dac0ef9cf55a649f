/* transfer.c: memory of a device, and what goes there and back. */
#include "base/check.h"
#include "device/cast.h"
#include "device/op_table.h"

enum { CHUNK = 1024 }; /* numbers cast at a time */

void *device_alloc(Device *dev, size_t bytes)
{
    return dev->ops->alloc(dev, bytes);
}

void device_free(Device *dev, void *p)
{
    if (p)
        dev->ops->free(dev, p);
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

DeviceMark device_record(Device *dev)
{
    return dev->ops->record(dev);
}

void device_wait(Device *dev, DeviceMark mark)
{
    dev->ops->wait(dev, mark);
}

void device_synchronise(Device *dev)
{
    device_wait(dev, device_record(dev));
}

/* A tensor as runs of numbers without gaps: one, or its rows. */
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
    return (char *)t.p + (size_t)(i * t.ld + offset) * dtype_bytes((DType)t.dtype);
}

void tensor_upload(Device *dev, Tensor to, const void *from)
{
    Pieces pieces = pieces_of(to);
    size_t bytes = (size_t)pieces.length * dtype_bytes((DType)to.dtype);
    for (int64_t i = 0; i < pieces.n; i++)
        device_upload(dev, piece_at(to, i, 0), (const char *)from + (size_t)i * bytes, bytes);
}

void tensor_download(Device *dev, void *to, Tensor from)
{
    Pieces pieces = pieces_of(from);
    size_t bytes = (size_t)pieces.length * dtype_bytes((DType)from.dtype);
    for (int64_t i = 0; i < pieces.n; i++)
        device_download(dev, (char *)to + (size_t)i * bytes, piece_at(from, i, 0), bytes);
}

static int64_t chunk_of(Pieces pieces, int64_t first)
{
    return pieces.length - first < CHUNK ? pieces.length - first : CHUNK;
}

void tensor_write(Device *dev, Tensor to, const void *from, DType dtype)
{
    Pieces pieces = pieces_of(to);
    double cast[CHUNK]; /* as large as any dtype */
    if (to.dtype == dtype) {
        tensor_upload(dev, to, from);
        return;
    }
    for (int64_t i = 0; i < pieces.n; i++)
        for (int64_t first = 0, n; first < pieces.length; first += n) {
            n = chunk_of(pieces, first);
            const char *at = (const char *)from + (size_t)(i * pieces.length + first) * dtype_bytes(dtype);
            cast_numbers(cast, (DType)to.dtype, at, dtype, n);
            device_upload(dev, piece_at(to, i, first), cast, (size_t)n * dtype_bytes((DType)to.dtype));
        }
}

void tensor_read(Device *dev, void *to, DType dtype, Tensor from)
{
    Pieces pieces = pieces_of(from);
    double found[CHUNK];
    if (from.dtype == dtype)
        tensor_download(dev, to, from);
    for (int64_t i = 0; from.dtype != dtype && i < pieces.n; i++)
        for (int64_t first = 0, n; first < pieces.length; first += n) {
            n = chunk_of(pieces, first);
            device_download(dev, found, piece_at(from, i, first), (size_t)n * dtype_bytes((DType)from.dtype));
            device_synchronise(dev);
            char *at = (char *)to + (size_t)(i * pieces.length + first) * dtype_bytes(dtype);
            if (dev->computes)
                cast_numbers(at, dtype, found, (DType)from.dtype, n);
        }
    device_synchronise(dev);
}
