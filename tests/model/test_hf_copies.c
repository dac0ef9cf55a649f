/* Tensors of a folder that hold no parameter: copies must be copies, and constants those that loam computes. */
#include "base/file.h"
#include "format/safetensors.h"
#include "model/hf/hf.h"

#include <string.h>

#define FIXTURES LOAM_SOURCE_DIR "/tests/parity/"
#define MOST     4096 /* largest number of elements of an added tensor */

static char *scratch;

typedef enum Values { COPY, OTHER, NUMBERS, NUMBERS_FROM_1 } Values;

/* A tensor that is added to those of a fixture, and what an import says of it; NULL means that it is ignored. */
typedef struct Added {
    const char *fixture, *name, *dtype;
    const char *of; /* the tensor whose shape it has, and for COPY also its values; NULL means (1, 16) */
    Values values;
    const char *words;
} Added;

#define ENCODER "encoder.embed_tokens.weight"
#define DECODER "decoder.embed_tokens.weight"
#define BERT    "bert.embeddings.position_ids"

static const Added cases[] = {
    { "t5-v1.1", ENCODER, "F32", "shared.weight", COPY, NULL },
    { "t5-v1.1", ENCODER, "F64", "shared.weight", COPY, NULL },
    { "t5-v1.1", DECODER, "F32", "shared.weight", COPY, NULL },
    { "t5-v1.1", ENCODER, "F32", "shared.weight", OTHER, "tensor " ENCODER " differs from shared.weight" },
    { "t5-v1.1", ENCODER, "F64", "shared.weight", OTHER, "tensor " ENCODER " differs from shared.weight" },
    { "t5-v1.1", DECODER, "F32", "shared.weight", OTHER, "tensor " DECODER " differs from shared.weight" },
    { "t5-v1.1", DECODER, "F32", NULL, OTHER, "tensor " DECODER " differs from shared.weight" },
    { "t5-v1.0", ENCODER, "F32", "shared.weight", OTHER, "tensor " ENCODER " differs from shared.weight" },
    { "mt5", ENCODER, "F32", "shared.weight", OTHER, "tensor " ENCODER " differs from shared.weight" },
    { "umt5", DECODER, "F32", "shared.weight", OTHER, "tensor " DECODER " differs from shared.weight" },
    { "bert", BERT, "I64", NULL, NUMBERS, NULL },
    { "bert", BERT, "I64", NULL, NUMBERS_FROM_1, "tensor " BERT " is not 0, 1, 2, …" },
    { "bert", BERT, "F32", NULL, OTHER, NULL },
    { "roberta", "roberta.embeddings.position_ids", "I64", NULL, NUMBERS_FROM_1, NULL },
    { "gpt2", "transformer.h.0.attn.bias", "F32", NULL, OTHER, NULL },
    { "llama", "model.layers.0.self_attn.rotary_emb.inv_freq", "F32", NULL, OTHER, NULL },
    { "xglm", "model.embed_positions.weights", "F32", NULL, OTHER, NULL },
};

typedef union Elements {
    float f32[MOST];
    double f64[MOST];
    int64_t i64[MOST];
} Elements;

static void fill(const Added *added, const FileTensor *of, int64_t n, Elements *out)
{
    for (int64_t i = 0; i < n; i++) {
        const float value = added->values == COPY ? ((const float *)of->data)[i] : (float)i;
        if (strcmp(added->dtype, "I64") == 0)
            out->i64[i] = i + (added->values == NUMBERS_FROM_1);
        else if (strcmp(added->dtype, "F64") == 0)
            out->f64[i] = (double)value;
        else
            out->f32[i] = value;
    }
}

/* Copies a file, with one text in place of another of the same or a greater length; "" means none. */
static void edit_file(const char *from, const char *to, const char *name, const char *old, const char *new)
{
    size_t bytes;
    g_autofree char *source = g_build_filename(from, name, NULL), *path = g_build_filename(to, name, NULL);
    g_autofree char *text = io_read_file(source, 1 << 20, &bytes, NULL);
    char *at = *old ? strstr(text, old) : NULL;
    if (at) {
        memmove(at + strlen(new), at + strlen(old), bytes - (size_t)(at - text) - strlen(old));
        memcpy(at, new, strlen(new));
        bytes -= strlen(old) - strlen(new);
    }
    g_assert_true(io_write_file(path, text, bytes, NULL));
}

/* Adds the tensors of a fixture, of which one gets another name; from "" means none. */
static void add_fixture(SafeWriter *writer, const TensorFile *file, const char *from, const char *to)
{
    for (int i = 0; i < tensor_file_count(file); i++) {
        const FileTensor *t = tensor_file_get(file, i);
        safetensors_writer_add(writer, strcmp(t->name, from) == 0 ? to : t->name, t->dtype, t->rank, t->shape, t->data);
    }
}

static void write_folder(const Added *added, const char *folder)
{
    GError *error = NULL;
    g_autofree char *source = g_build_filename(FIXTURES, added->fixture, NULL),
                    *weights = g_build_filename(source, "model.safetensors", NULL);
    g_assert_true(io_make_directories(folder, &error));
    edit_file(source, folder, "config.json", "", "");
    g_autoptr(TensorFile) file = safetensors_open(weights, &error);
    g_autoptr(SafeWriter) writer = safetensors_writer_new();
    add_fixture(writer, file, "", "");
    const FileTensor *of = added->of ? tensor_file_find(file, added->of) : NULL;
    const int64_t *shape = of ? of->shape : (const int64_t[]){ 1, 16 };
    g_autofree Elements *values = g_new(Elements, 1);
    g_assert_cmpint(shape[0] * shape[1], <=, MOST);
    fill(added, of, shape[0] * shape[1], values);
    safetensors_writer_add(writer, added->name, added->dtype, 2, shape, values);
    g_assert_true(safetensors_writer_write_folder(writer, folder, 0, &error));
}

static void copies_are_compared_and_buffers_are_not_read(void)
{
    Device *dev = device_open_cpu(1, precision_uniform(DT_F32));
    for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
        g_autoptr(GError) error = NULL;
        g_autofree char *name = g_strdup_printf("%zu", i), *folder = g_build_filename(scratch, name, NULL);
        write_folder(&cases[i], folder);
        Model *model = hf_import(dev, folder, false, &error);
        if (cases[i].words == NULL)
            g_assert_no_error(error);
        else if (model || !strstr(error->message, cases[i].words))
            g_error("%zu, %s of %s: %s", i, cases[i].name, cases[i].fixture, error ? error->message : "is imported");
        model_close(model);
    }
    device_close(dev);
}

/* A program that saves tied tensors once may keep any of their names. */
static void a_copy_takes_the_place_of_the_embedding(void)
{
    static const char *const renamed[][3] = { { "t5-v1.0", "shared.weight", DECODER },
                                              { "t5-v1.1", "shared.weight", ENCODER },
                                              { "t5-v1.0", "shared.weight", "lm_head.weight" },
                                              { "gpt2", "transformer.wte.weight", "lm_head.weight" } };
    Device *dev = device_open_cpu(1, precision_uniform(DT_F32));
    for (size_t i = 0; i < G_N_ELEMENTS(renamed); i++) {
        g_autoptr(GError) error = NULL;
        g_autofree char *source = g_build_filename(FIXTURES, renamed[i][0], NULL),
                        *weights = g_build_filename(source, "model.safetensors", NULL),
                        *folder = g_build_filename(scratch, "renamed", NULL);
        g_assert_true(io_make_directories(folder, &error));
        edit_file(source, folder, "config.json", "", "");
        g_autoptr(TensorFile) file = safetensors_open(weights, &error);
        g_autoptr(SafeWriter) writer = safetensors_writer_new();
        add_fixture(writer, file, renamed[i][1], renamed[i][2]);
        g_assert_true(safetensors_writer_write_folder(writer, folder, 0, &error));
        Model *model = hf_import(dev, folder, false, &error);
        g_assert_no_error(error);
        const FileTensor *embedding = tensor_file_find(file, renamed[i][1]);
        g_autofree float *read = g_malloc(embedding->bytes);
        params_read(model_params(model), params_index(model_params(model), "shared"), NULL, DT_F32, read);
        g_assert_true(memcmp(read, embedding->data, embedding->bytes) == 0);
        model_close(model);
    }
    device_close(dev);
}

/* The base of an adapter that brings a classifier, whose own heads are left out. */
static void the_base_of_an_adapter_is_compared_too(void)
{
    g_autofree char *adapter = g_build_filename(scratch, "adapter", NULL),
                    *base = g_build_filename(adapter, "base", NULL);
    static const char *const files[] = { "adapter_config.json", "adapter_model.safetensors" };
    static const Values values[] = { NUMBERS, NUMBERS_FROM_1 };
    Device *dev = device_open_cpu(1, precision_uniform(DT_F32));
    for (size_t i = 0; i < G_N_ELEMENTS(values); i++) {
        g_autoptr(GError) error = NULL;
        write_folder(&(Added){ "lora/bert-sequence/base", BERT, "I64", NULL, values[i], NULL }, base);
        edit_file(base, base, "config.json", "BertForSequenceClassification", "BertModel");
        for (size_t j = 0; j < G_N_ELEMENTS(files); j++)
            edit_file(FIXTURES "lora/bert-sequence", adapter, files[j], "", "");
        Model *model = hf_import(dev, adapter, false, &error);
        g_assert_cmpint(model != NULL, ==, i == 0);
        g_assert_true(model || strstr(error->message, "tensor " BERT " is not 0, 1, 2, …"));
        model_close(model);
    }
    device_close(dev);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    scratch = g_dir_make_tmp("loam-copies-XXXXXX", NULL);
    g_test_add_func("/hf_copies/are_compared_and_buffers_are_not_read", copies_are_compared_and_buffers_are_not_read);
    g_test_add_func("/hf_copies/a_copy_takes_the_place_of_the_embedding", a_copy_takes_the_place_of_the_embedding);
    g_test_add_func("/hf_copies/the_base_of_an_adapter_is_compared_too", the_base_of_an_adapter_is_compared_too);
    int status = g_test_run();
    io_remove_tree(scratch, NULL);
    g_free(scratch);
    return status;
}
