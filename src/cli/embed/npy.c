#include "cli/embed/npy.h"

#include "base/check.h"
#include "base/file.h"

#include <inttypes.h>
#include <string.h>

/* Bytes of the header, enough for any number of rows; the format requires a multiple of 64. */
#define HEADER_BYTES 128

struct NpyWriter {
    char *path;
    IoFile *file;
    int64_t rows, cols;
};

/* Makes the header: magic number, version 1.0, length of the description, the description, spaces, and a newline at its
 * end. */
static void make_header(char header[HEADER_BYTES + 1], int64_t rows, int64_t cols)
{
    enum { BEFORE = 10 };
    const int length = HEADER_BYTES - BEFORE;
    memcpy(header, "\x93NUMPY\x01\x00", 8);
    header[8] = (char)length;
    header[9] = 0;
    int n = g_snprintf(header + BEFORE, (gulong)length,
                       "{'descr': '<f4', 'fortran_order': False, 'shape': (%" PRId64 ", %" PRId64 "), }", rows, cols);
    CHECK(n < length, "a header of %d bytes", n);
    memset(header + BEFORE + n, ' ', (size_t)(length - n));
    header[HEADER_BYTES - 1] = '\n';
}

NpyWriter *npy_create(const char *path, int64_t cols, GError **error)
{
    NpyWriter *writer = g_new0(NpyWriter, 1);
    char header[HEADER_BYTES + 1];
    make_header(header, 0, cols);
    *writer = (NpyWriter){ .path = io_follow_links(path), .cols = cols };
    writer->file = io_create_beside(writer->path, error);
    if (writer->file && io_write(writer->file, header, HEADER_BYTES, error))
        return writer;
    npy_abort(writer);
    return NULL;
}

bool npy_write_row(NpyWriter *writer, const float *row, GError **error)
{
    writer->rows++;
    return io_write(writer->file, row, sizeof *row * (size_t)writer->cols, error);
}

bool npy_close(NpyWriter *writer, GError **error)
{
    char header[HEADER_BYTES + 1];
    make_header(header, writer->rows, writer->cols);
    bool done = io_patch(writer->file, 0, header, HEADER_BYTES, error) &&
                io_publish(g_steal_pointer(&writer->file), writer->path, error);
    npy_abort(writer);
    return done;
}

void npy_abort(NpyWriter *writer)
{
    if (writer == NULL)
        return;
    io_discard(writer->file);
    g_free(writer->path);
    g_free(writer);
}
