/* Any bytes as a checkpoint of T5X: an error that names the file, or a model with all its weights. */
#include "fuzz_folder.h"
#include "model/tensor_names.h"

#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    g_autoptr(GError) error = NULL;
    g_autofree char *path = g_build_filename(fuzz_folder(), "checkpoint", NULL);
    fuzz_put("checkpoint", data, bytes);
    Device *dev = device_open_cpu(1, precision_uniform(DT_F32));
    Model *model = t5x_import(dev, path, &error);
    CHECK((model == NULL) == (error != NULL), "an error or a model, not both");
    CHECK(model || strstr(error->message, path), "%s", error->message);
    if (model)
        model_close(model);
    device_close(dev);
    return 0;
}
