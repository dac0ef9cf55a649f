/* What goes out of a model that no class of transformers has as it is. */
#include "base/file.h"
#include "format/safetensors.h"
#include "format/tensor_file.h"
#include "model/hf/hf.h"

#include <math.h>
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
    hf_export(model, NULL, (HfForm){ .dtype = "F32" }, folder, &error);
    g_assert_no_error(error);
    return folder;
}

static TensorFile *tensors_of(const char *folder)
{
    GError *error = NULL;
    TensorFile *file = weights_open(folder, &error);
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
    Device *dev = device_open_cpu(1, precision_uniform(DT_F32));
    for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
        g_autofree char *source = g_build_filename(FIXTURES, cases[i].fixture, NULL);
        Model *model = import(dev, source);
        g_autofree char *out = export(model, cases[i].fixture);
        model_close(model);
        TensorFile *file = tensors_of(out), *theirs = tensors_of(source);
        const FileTensor *live = tensor_file_find(theirs, cases[i].live);
        const FileTensor *names[] = { tensor_file_find(file, cases[i].bias), tensor_file_find(file, cases[i].live) };
        for (int j = 0; j < 2; j++) {
            g_assert_nonnull(names[j]);
            g_assert_cmpuint(names[j]->bytes, ==, live->bytes);
            g_assert_true(memcmp(names[j]->data, live->data, live->bytes) == 0);
        }
        tensor_file_close(file);
        tensor_file_close(theirs);
    }
    device_close(dev);
}

/* A folder with the tensors of a fixture, and its config.json with an edit; g_free. */
static char *edited(const char *fixture, const char *from, const char *to)
{
    GError *error = NULL;
    size_t n_tensors;
    char *folder = g_strconcat(scratch, "/", fixture, "-edited", NULL);
    g_autofree char *config_path = g_strconcat(FIXTURES, fixture, "/config.json", NULL), *config = NULL;
    g_autofree char *tensors_path = g_strconcat(FIXTURES, fixture, "/model.safetensors", NULL);
    g_autofree char *tensors = io_read_file(tensors_path, (size_t)1 << 26, &n_tensors, &error);
    g_assert_true(g_file_get_contents(config_path, &config, NULL, NULL));
    g_auto(GStrv) parts = g_strsplit(config, from, -1);
    g_assert_cmpuint(g_strv_length(parts), ==, 2);
    g_autofree char *out = g_strjoinv(to, parts);
    g_autofree char *out_config = g_build_filename(folder, "config.json", NULL);
    g_autofree char *out_tensors = g_build_filename(folder, "model.safetensors", NULL);
    g_assert_true(io_make_directories(folder, &error) && io_write_file(out_config, out, strlen(out), &error) &&
                  io_write_file(out_tensors, tensors, n_tensors, &error));
    return folder;
}

/* transformers scales logits only with tied embeddings: of a scaled T5 with a head of its own the factor goes into the
 * head, which gives the same logits unscaled. Every other tensor stays as it is. */
static void the_scale_of_an_untied_t5_goes_into_its_head(void)
{
    Device *dev = device_open_cpu(1, precision_uniform(DT_F32));
    g_autofree char *source = edited("t5-v1.1", "\"tie_word_embeddings\": false", "\"tie_word_embeddings\": true");
    Model *model = import(dev, source);
    g_assert_true(model_config(model)->scale_logits && !model_config(model)->tie_embeddings);
    const float factor = 1 / sqrtf((float)model_config(model)->width);
    g_autofree char *out = export(model, "unscaled");
    model_close(model);
    model = import(dev, out);
    g_assert_false(model_config(model)->scale_logits || model_config(model)->tie_embeddings);
    model_close(model);
    TensorFile *file = tensors_of(out), *theirs = tensors_of(source);
    const FileTensor *head = tensor_file_find(file, "lm_head.weight"),
                     *was = tensor_file_find(theirs, "lm_head.weight");
    const FileTensor *shared = tensor_file_find(file, "shared.weight");
    const FileTensor *shared_was = tensor_file_find(theirs, "shared.weight");
    g_assert_true(head->bytes == was->bytes && shared->bytes == shared_was->bytes);
    for (size_t i = 0; i < head->bytes / sizeof(float); i++)
        g_assert_cmpfloat(((const float *)head->data)[i], ==, ((const float *)was->data)[i] * factor);
    g_assert_true(memcmp(shared->data, shared_was->data, shared->bytes) == 0);
    tensor_file_close(file);
    tensor_file_close(theirs);
    device_close(dev);
}

/* Its adapters alone do not go out: transformers 4 would tie their base. */
static void adapters_of_a_scaled_untied_t5_are_refused(void)
{
    GError *error = NULL;
    Device *dev = device_open_cpu(1, precision_uniform(DT_F32));
    g_autofree char *source = edited("t5-v1.1", "\"tie_word_embeddings\": false", "\"tie_word_embeddings\": true");
    g_autofree char *out = g_build_filename(scratch, "adapters", NULL), *targets = g_strdup("self.q");
    Model *base = import(dev, source);
    ModelConfig config = *model_config(base);
    config.lora = (LoraConfig){ .rank = 2, .alpha = 6, .targets = targets };
    Model *model = model_open(dev, &config, false, &error);
    g_assert_no_error(error);
    g_assert_false(hf_export_adapter(model, NULL, source, out, &error));
    g_assert_nonnull(strstr(error->message, "transformers 4 has no base for these adapters: --to hf writes the model"));
    g_assert_false(g_file_test(out, G_FILE_TEST_EXISTS));
    g_clear_error(&error);
    model_close(model);
    model_close(base);
    device_close(dev);
}

/* Heads of a model, the class that it goes out as, and what that class has not. */
typedef struct Heads {
    const char *fixture;
    bool transform, pooler, sentence, untied;
    const char *class, *kept[2], *dropped[3]; /* tensors */
} Heads;

static const Heads heads[] = {
    { "bert",
      true,
      true,
      true,
      false,
      "BertForPreTraining",
      { "bert.pooler.dense.weight", "cls.seq_relationship.bias" },
      { NULL } },
    { "bert", true, true, false, false, "BertForMaskedLM", { "cls.predictions.bias" }, { "bert.pooler.dense.weight" } },
    { "bert",
      true,
      false,
      false,
      true,
      "BertForMaskedLM",
      { "cls.predictions.decoder.bias" },
      { "bert.pooler.dense.weight" } },
    { "bert",
      false,
      true,
      true,
      false,
      "BertForNextSentencePrediction",
      { "cls.seq_relationship.weight", "bert.pooler.dense.bias" },
      { "cls.predictions.bias" } },
    { "bert",
      false,
      true,
      false,
      true,
      "BertModel",
      { "bert.pooler.dense.weight" },
      { "cls.predictions.decoder.weight", "cls.predictions.bias", "cls.predictions.decoder.bias" } },
    { "roberta", true, true, true, false, "RobertaForMaskedLM", { "lm_head.bias" }, { "roberta.pooler.dense.weight" } },
    { "roberta",
      false,
      true,
      true,
      true,
      "RobertaModel",
      { "roberta.pooler.dense.weight" },
      { "lm_head.decoder.weight", "lm_head.bias" } },
    { "modernbert", true, true, true, false, "ModernBertForMaskedLM", { "head.dense.weight" }, { NULL } },
    { "modernbert", false, true, false, true, "ModernBertModel", { "model.final_norm.weight" }, { "decoder.weight" } },
};

static bool has(const TensorFile *file, const char *name)
{
    return tensor_file_find(file, name) != NULL;
}

static void check_folder(const Heads *want, const char *folder)
{
    GError *error = NULL;
    g_autofree char *path = g_build_filename(folder, "config.json", NULL);
    g_autofree char *text = io_read_file(path, 1 << 20, NULL, &error);
    g_assert_no_error(error);
    g_autofree char *quoted = g_strdup_printf("\"%s\"", want->class);
    g_assert_nonnull(strstr(text, quoted));
    TensorFile *file = tensors_of(folder);
    for (int i = 0; i < 2 && want->kept[i]; i++)
        g_assert_true(has(file, want->kept[i]));
    for (int i = 0; i < 3 && want->dropped[i]; i++)
        g_assert_false(has(file, want->dropped[i]));
    tensor_file_close(file);
}

static void heads_that_no_class_has_stay_behind(void)
{
    GError *error = NULL;
    Device *dev = device_open_cpu(1, precision_uniform(DT_F32));
    for (size_t i = 0; i < G_N_ELEMENTS(heads); i++) {
        g_autofree char *source = g_build_filename(FIXTURES, heads[i].fixture, NULL);
        g_autofree char *name = g_strdup_printf("heads-%zu", i);
        Model *fixture = import(dev, source);
        ModelConfig config = *model_config(fixture);
        config.head_transform = heads[i].transform;
        config.head_bias = true;
        config.pooler = heads[i].pooler;
        config.sentence_head = heads[i].sentence;
        config.tie_embeddings = !heads[i].untied;
        Model *model = model_open(dev, &config, false, &error);
        g_assert_no_error(error);
        g_autofree char *out = export(model, name);
        check_folder(&heads[i], out);
        Model *again = import(dev, out);
        g_assert_true(model_config(again)->head_transform == heads[i].transform);
        model_close(again);
        model_close(model);
        model_close(fixture);
    }
    device_close(dev);
}

int main(int argc, char **argv)
{
    GError *error = NULL;
    g_test_init(&argc, &argv, NULL);
    scratch = g_dir_make_tmp("loam-export-XXXXXX", &error);
    g_assert_no_error(error);
    g_test_add_func("/hf_export/the_scale_of_an_untied_t5_goes_into_its_head",
                    the_scale_of_an_untied_t5_goes_into_its_head);
    g_test_add_func("/hf_export/adapters_of_a_scaled_untied_t5_are_refused",
                    adapters_of_a_scaled_untied_t5_are_refused);
    g_test_add_func("/hf_export/an_untied_bias_has_both_its_names", an_untied_bias_has_both_its_names);
    g_test_add_func("/hf_export/heads_that_no_class_has_stay_behind", heads_that_no_class_has_stay_behind);
    int status = g_test_run();
    io_remove_tree(scratch, NULL);
    g_free(scratch);
    return status;
}
