#include "format/weights.h"

#include "base/file.h"
#include "format/safetensors.h"
#include "format/torch_file.h"

static const struct {
    const char *name;
    ShardReader read;
} of_folders[] = {
    { "model.safetensors", safetensors_read },
    { "pytorch_model.bin", torch_read },
    { "adapter_model.safetensors", safetensors_read },
    { "adapter_model.bin", torch_read },
};

TensorFile *weights_open(const char *path, GError **error)
{
    if (!g_file_test(path, G_FILE_TEST_IS_DIR))
        return torch_recognises(path) ? torch_open(path, error) : safetensors_open(path, error);
    for (size_t i = 0; i < G_N_ELEMENTS(of_folders); i++)
        if (shards_present(path, of_folders[i].name))
            return shards_open(path, of_folders[i].name, of_folders[i].read, error);
    if (!io_refused(path, error))
        fail_user(error, "%s holds neither %s nor %s, whole or in shards", path, of_folders[0].name,
                  of_folders[1].name);
    return NULL;
}
