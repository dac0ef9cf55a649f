/* Any bytes as a checkpoint of Flax: an error that names the file, or arrays whose bytes all lie within it. */
#include "base/check.h"
#include "format/tensor_file.h"

#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

static unsigned sum_of(const FileTensor *array)
{
    const unsigned char *p = array->data;
    unsigned sum = 0;
    for (size_t i = 0; i < array->bytes; i++)
        sum += p[i];
    return sum;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    int fd = memfd_create("flax", MFD_CLOEXEC);
    g_autofree char *path = g_strdup_printf("/proc/self/fd/%d", fd);
    CHECK(fd >= 0 && write(fd, data, bytes) == (ssize_t)bytes, "%zu bytes", bytes);
    g_autoptr(GError) error = NULL;
    g_autoptr(TensorFile) file = flax_open(path, NULL, &error);
    CHECK((file == NULL) == (error != NULL), "an error or a checkpoint, not both");
    CHECK(file || strstr(error->message, path), "%s", error->message);
    for (int i = 0; file && i < tensor_file_count(file); i++) {
        const FileTensor *array = tensor_file_get(file, i);
        CHECK(tensor_file_find(file, array->name) == array, "%s", array->name);
        CHECK(sum_of(array) <= 255 * array->bytes, "%zu bytes", array->bytes);
    }
    close(fd);
    return 0;
}
