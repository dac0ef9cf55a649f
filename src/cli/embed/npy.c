#include "cli/embed/npy.h"

#include "base/check.h"
#include "base/file.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* Bytes of the header, enough for any number of rows; the format requires a multiple of 64. */
#define HEADER_BYTES 128

struct NpyWriter {
    char *path, *tmp;
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
    writer->file = io_create_beside(writer->path, &writer->tmp, error);
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

static void writer_free(NpyWriter *writer)
{
    g_free(writer->path);
    g_free(writer->tmp);
    g_free(writer);
}

/* Overwrites the header, now with the number of rows. */
static bool patch(const NpyWriter *writer, GError **error)
{
    char header[HEADER_BYTES + 1];
    make_header(header, writer->rows, writer->cols);
    int descriptor = open(writer->tmp, O_WRONLY | O_CLOEXEC);
    bool done =
        descriptor >= 0 && pwrite(descriptor, header, HEADER_BYTES, 0) == HEADER_BYTES && fsync(descriptor) == 0;
    if (!done)
        fail_errno(error, "writing", writer->tmp);
    if (descriptor >= 0)
        close(descriptor);
    return done;
}

bool npy_close(NpyWriter *writer, GError **error)
{
    IoFile *file = g_steal_pointer(&writer->file);
    if (io_close(file, false, error) && patch(writer, error) && io_rename(writer->tmp, writer->path, error)) {
        writer_free(writer);
        return true;
    }
    npy_abort(writer);
    return false;
}

void npy_abort(NpyWriter *writer)
{
    if (writer == NULL)
        return;
    if (writer->file)
        io_abort(writer->file);
    if (writer->tmp)
        io_remove_file(writer->tmp, NULL);
    writer_free(writer);
}
