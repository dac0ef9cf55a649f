/* What goes out of a model that no class of transformers has as it is. */
#include "base/file.h"
#include "format/safetensors.h"
#include "model/hf.h"

#include <string.h>

#define FIXTURES LOAM_SOURCE_DIR "/tests/parity/"

static char *scratch;

static Model *import(Device *dev, const char *folder)
{
    GError *error = NULL;
    Model *model = hf_import(dev, folder, false, &error);
    g_assert_no_error(error);
    return model;
}

/* Exports into a folder of this name; g_free. */
static char *export(Model *model, const char *name)
{
    GError *error = NULL;
    char *folder = g_build_filename(scratch, name, NULL);
    hf_export(model, NULL, folder, &error);
    g_assert_no_error(error);
    return folder;
}

static SafeTensors *tensors_of(const char *folder)
{
    GError *error = NULL;
    SafeTensors *file = safetensors_open_folder(folder, &error);
    g_assert_no_error(error);
    return file;
}

/* transformers 5 reads the bias of an untied head under the second name, transformers 4 under either. */
static void an_untied_bias_has_both_its_names(void)
{
    static const struct {
        const char *fixture, *bias, *live;
    } cases[] = { { "bert-untied-tf5", "cls.predictions.bias", "cls.predictions.decoder.bias" },
                  { "roberta-untied-tf5", "lm_head.bias", "lm_head.decoder.bias" } };
    Device *dev = device_open_cpu(1);
    for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
        g_autofree char *source = g_build_filename(FIXTURES, cases[i].fixture, NULL);
        Model *model = import(dev, source);
        g_autofree char *out = export(model, cases[i].fixture);
        model_close(model);
        SafeTensors *file = tensors_of(out), *theirs = tensors_of(source);
        const SafeTensor *live = safetensors_find(theirs, cases[i].live);
        const SafeTensor *names[] = { safetensors_find(file, cases[i].bias), safetensors_find(file, cases[i].live) };
        for (int j = 0; j < 2; j++) {
            g_assert_nonnull(names[j]);
            g_assert_cmpuint(names[j]->bytes, ==, live->bytes);
            g_assert_true(memcmp(names[j]->data, live->data, live->bytes) == 0);
        }
        safetensors_close(file);
        safetensors_close(theirs);
    }
    device_close(dev);
}

int main(int argc, char **argv)
{
    GError *error = NULL;
    g_test_init(&argc, &argv, NULL);
    scratch = g_dir_make_tmp("loam-export-XXXXXX", &error);
    g_assert_no_error(error);
    g_test_add_func("/hf_export/an_untied_bias_has_both_its_names", an_untied_bias_has_both_its_names);
    int status = g_test_run();
    io_remove_tree(scratch, NULL);
    g_free(scratch);
    return status;
}
