/* Any bytes as model.safetensors.index.json beside two shards: an error that names it, or every tensor it maps. */
#include "format/safetensors.h"
#include "format/tensor_file.h"
#include "fuzz_folder.h"

#include <string.h>

static const char *const shards[] = { "model-00001-of-00002.safetensors", "model-00002-of-00002.safetensors" };

static void put_shards(void)
{
    static const float values[4] = { 1, 2, 3, 4 };
    static const int64_t shape[2] = { 2, 2 };
    static const char *const names[] = { "a", "b" };
    for (int i = 0; i < 2; i++) {
        SafeWriter *writer = safetensors_writer_new();
        g_autofree char *path = g_build_filename(fuzz_folder(), shards[i], NULL);
        safetensors_writer_add(writer, names[i], "F32", 2, shape, values);
        CHECK(safetensors_writer_write(writer, path, NULL), "%s", path);
        safetensors_writer_free(writer);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    g_autoptr(GError) error = NULL;
    if (fuzz_folder_path == NULL)
        put_shards();
    fuzz_put("model.safetensors.index.json", data, bytes);
    TensorFile *set = weights_open(fuzz_folder(), &error);
    CHECK((set == NULL) == (error != NULL), "an error or tensors, not both");
    CHECK(set || strstr(error->message, "index.json"), "%s", error->message);
    for (int i = 0; set && i < tensor_file_count(set); i++) {
        float values[4];
        CHECK(file_tensor_read_f32(tensor_file_get(set, i), 0, 4, values, NULL) && values[3] > 3, "tensor %d", i);
    }
    tensor_file_close(set);
    return 0;
}
