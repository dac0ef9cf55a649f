/* Any bytes as a file of torch.save: an error that names the file, or tensors whose bytes can all be read. */
#include "base/check.h"
#include "format/tensor_file.h"

#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

static unsigned sum_of(const FileTensor *tensor)
{
    const unsigned char *p = tensor->data;
    unsigned sum = 0;
    for (size_t i = 0; i < tensor->bytes; i++)
        sum += p[i];
    return sum;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    int fd = memfd_create("torch", MFD_CLOEXEC);
    g_autofree char *path = g_strdup_printf("/proc/self/fd/%d", fd);
    CHECK(fd >= 0 && write(fd, data, bytes) == (ssize_t)bytes, "%zu bytes", bytes);
    g_autoptr(GError) error = NULL;
    g_autoptr(TensorFile) file = torch_open(path, &error);
    CHECK((file == NULL) == (error != NULL), "an error or a file, not both");
    CHECK(file || strstr(error->message, path), "%s", error->message);
    for (int i = 0; file && i < tensor_file_count(file); i++) {
        const FileTensor *tensor = tensor_file_get(file, i);
        CHECK(tensor_file_find(file, tensor->name) == tensor, "%s", tensor->name);
        CHECK(sum_of(tensor) <= 255 * tensor->bytes, "%zu bytes", tensor->bytes);
    }
    close(fd);
    return 0;
}
