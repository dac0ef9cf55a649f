/* An adapter of PEFT that has tensors of some blocks only. */
#include "base/file.h"
#include "format/safetensors.h"
#include "model/hf/adapter.h"
#include "model/hf/hf.h"

#include <jansson.h>
#include <string.h>

#define FIXTURE LOAM_SOURCE_DIR "/tests/parity/lora/gpt2"

static void copy_config(const char *folder)
{
    g_autofree char *path = g_build_filename(folder, HF_ADAPTER_CONFIG, NULL);
    json_t *config = json_load_file(FIXTURE "/" HF_ADAPTER_CONFIG, 0, NULL);
    json_object_set_new(config, "base_model_name_or_path", json_string(FIXTURE "/base"));
    g_assert_cmpint(json_dump_file(config, path, 0), ==, 0);
    json_decref(config);
}

/* Copies the tensors of the block with this name, ".h.1.". */
static void copy_block(const char *folder, const char *block)
{
    GError *error = NULL;
    g_autofree char *out = g_build_filename(folder, "adapter_model.safetensors", NULL);
    g_autoptr(TensorFile) file = safetensors_open(FIXTURE "/adapter_model.safetensors", &error);
    g_autoptr(SafeWriter) writer = safetensors_writer_new();
    g_assert_no_error(error);
    for (int i = 0; i < tensor_file_count(file); i++) {
        const FileTensor *tensor = tensor_file_get(file, i);
        if (strstr(tensor->name, block))
            safetensors_writer_add(writer, tensor->name, tensor->dtype, tensor->rank, tensor->shape, tensor->data);
    }
    g_assert_true(safetensors_writer_write(writer, out, &error));
}

static void an_adapter_of_some_blocks_is_refused(void)
{
    static const char *const cases[][2] = { { ".h.1.", "adapters of some blocks only" }, { ".h.0.", "h.1." } };
    Device *dev = device_open_cpu(1, precision_uniform(DT_F32));
    g_autofree char *folder = g_dir_make_tmp("loam-lora-XXXXXX", NULL);
    copy_config(folder);
    for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
        g_autoptr(GError) error = NULL;
        copy_block(folder, cases[i][0]);
        g_assert_null(hf_import(dev, folder, false, &error));
        if (!strstr(error->message, cases[i][1]))
            g_error("%s: %s", cases[i][0], error->message);
    }
    g_assert_true(io_remove_tree(folder, NULL));
    device_close(dev);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/lora/an_adapter_of_some_blocks_is_refused", an_adapter_of_some_blocks_is_refused);
    return g_test_run();
}
