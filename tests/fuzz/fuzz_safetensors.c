/* Any bytes as a safetensors file: an error, or tensors that can be read to their last byte and written again. */
#include "base/check.h"
#include "format/safetensors.h"

#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

/* A file in memory and the path it can be opened by. */
static char *put(int *fd, const void *data, size_t bytes)
{
    *fd = memfd_create("fuzz", MFD_CLOEXEC);
    CHECK(*fd >= 0 && write(*fd, data, bytes) == (ssize_t)bytes, "a file in memory of %zu bytes", bytes);
    return g_strdup_printf("/proc/self/fd/%d", *fd);
}

static void read_all(const TensorFile *file)
{
    for (int i = 0; i < tensor_file_count(file); i++) {
        const FileTensor *tensor = tensor_file_get(file, i);
        CHECK(tensor_file_find(file, tensor->name) == tensor, "%s is found elsewhere", tensor->name);
        int64_t n = 1;
        for (int d = 0; d < tensor->rank; d++)
            n *= tensor->shape[d];
        g_autofree float *values = g_new(float, (gsize)MAX(n, 1));
        if (!file_tensor_read_f32(tensor, 0, n, values, NULL)) { /* no float's dtype */
            volatile char sum = 0;
            for (size_t at = 0; at < tensor->bytes; at++)
                sum = (char)(sum ^ ((const char *)tensor->data)[at]);
        }
    }
}

static void write_again(const TensorFile *file)
{
    int fd;
    g_autofree char *path = put(&fd, "", 0);
    SafeWriter *writer = safetensors_writer_new();
    for (int i = 0; i < tensor_file_count(file); i++) {
        const FileTensor *tensor = tensor_file_get(file, i);
        safetensors_writer_add(writer, tensor->name, tensor->dtype, tensor->rank, tensor->shape, tensor->data);
    }
    g_autoptr(GError) error = NULL;
    CHECK(safetensors_writer_write(writer, path, &error), "%s", error->message);
    TensorFile *again = safetensors_open(path, &error);
    CHECK(again, "what was written cannot be read: %s", error->message);
    for (int i = 0; i < tensor_file_count(file); i++) {
        const FileTensor *tensor = tensor_file_get(file, i), *copy = tensor_file_find(again, tensor->name);
        CHECK(copy && copy->bytes == tensor->bytes && memcmp(copy->data, tensor->data, tensor->bytes) == 0,
              "%s came back otherwise", tensor->name);
    }
    tensor_file_close(again);
    safetensors_writer_free(writer);
    close(fd);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    int fd;
    g_autofree char *path = put(&fd, data, bytes);
    g_autoptr(GError) error = NULL;
    TensorFile *file = safetensors_open(path, &error);
    CHECK((file == NULL) == (error != NULL), "an error or a file, not both");
    if (file) {
        read_all(file);
        write_again(file);
        tensor_file_close(file);
    }
    close(fd);
    return 0;
}
