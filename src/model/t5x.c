#include "model/t5x.h"

#include "base/check.h"
#include "format/flax.h"

#include <string.h>

#define TARGET       "optimizer/target/"
#define MAX_BLOCKS   1000
#define MAX_DISTANCE 128 /* T5X's for every model; not in the file */
#define START        0   /* what a decoder of T5X reads first, whatever the padding */

/* One row per logical tensor; # stands for the number of a block. Every matrix but the embedding lies (in, out). */
static const struct {
    const char *ours, *theirs;
} names[] = {
    { "shared", "token_embedder/embedding" },
    { "lm_head", "decoder/logits_dense/kernel" },
    { "encoder.relpos", "encoder/relpos_bias/rel_embedding" },
    { "encoder.#.self.norm", "encoder/layers_#/pre_attention_layer_norm/scale" },
    { "encoder.#.self.q", "encoder/layers_#/attention/query/kernel" },
    { "encoder.#.self.k", "encoder/layers_#/attention/key/kernel" },
    { "encoder.#.self.v", "encoder/layers_#/attention/value/kernel" },
    { "encoder.#.self.o", "encoder/layers_#/attention/out/kernel" },
    { "encoder.#.mlp.norm", "encoder/layers_#/pre_mlp_layer_norm/scale" },
    { "encoder.#.mlp.wi", "encoder/layers_#/mlp/wi/kernel" },
    { "encoder.#.mlp.wi_0", "encoder/layers_#/mlp/wi_0/kernel" },
    { "encoder.#.mlp.wi_1", "encoder/layers_#/mlp/wi_1/kernel" },
    { "encoder.#.mlp.wo", "encoder/layers_#/mlp/wo/kernel" },
    { "encoder.final_norm", "encoder/encoder_norm/scale" },
    { "decoder.relpos", "decoder/relpos_bias/rel_embedding" },
    { "decoder.#.self.norm", "decoder/layers_#/pre_self_attention_layer_norm/scale" },
    { "decoder.#.self.q", "decoder/layers_#/self_attention/query/kernel" },
    { "decoder.#.self.k", "decoder/layers_#/self_attention/key/kernel" },
    { "decoder.#.self.v", "decoder/layers_#/self_attention/value/kernel" },
    { "decoder.#.self.o", "decoder/layers_#/self_attention/out/kernel" },
    { "decoder.#.cross.norm", "decoder/layers_#/pre_cross_attention_layer_norm/scale" },
    { "decoder.#.cross.q", "decoder/layers_#/encoder_decoder_attention/query/kernel" },
    { "decoder.#.cross.k", "decoder/layers_#/encoder_decoder_attention/key/kernel" },
    { "decoder.#.cross.v", "decoder/layers_#/encoder_decoder_attention/value/kernel" },
    { "decoder.#.cross.o", "decoder/layers_#/encoder_decoder_attention/out/kernel" },
    { "decoder.#.mlp.norm", "decoder/layers_#/pre_mlp_layer_norm/scale" },
    { "decoder.#.mlp.wi", "decoder/layers_#/mlp/wi/kernel" },
    { "decoder.#.mlp.wi_0", "decoder/layers_#/mlp/wi_0/kernel" },
    { "decoder.#.mlp.wi_1", "decoder/layers_#/mlp/wi_1/kernel" },
    { "decoder.#.mlp.wo", "decoder/layers_#/mlp/wo/kernel" },
    { "decoder.final_norm", "decoder/decoder_norm/scale" },
};

/* `pattern` with # replaced by `number`, under the target. */
static char *numbered(const char *pattern, const char *number)
{
    g_auto(GStrv) parts = g_strsplit(pattern, "#", 2);
    return g_strconcat(TARGET, parts[0], parts[1] ? number : NULL, parts[1], NULL);
}

/* "encoder.3.self.q" -> "optimizer/target/encoder/layers_3/attention/query/kernel". */
static char *their_name(const char *name)
{
    size_t digits_at = strcspn(name, "0123456789"), n_digits = strspn(name + digits_at, "0123456789");
    bool in_block = digits_at > 0 && name[digits_at - 1] == '.';
    g_autofree char *number = g_strndup(name + digits_at, in_block ? n_digits : 0);
    g_autofree char *pattern =
        in_block ? g_strdup_printf("%.*s#%s", (int)digits_at, name, name + digits_at + n_digits) : g_strdup(name);
    for (size_t i = 0; i < G_N_ELEMENTS(names); i++)
        if (strcmp(names[i].ours, pattern) == 0)
            return numbered(names[i].theirs, number);
    CHECK(false, "parameter %s has no name in T5X", name);
}

static bool fail_absent(const FlaxFile *file, const char *name, GError **error)
{
    if (flax_is_elsewhere(file, name))
        return fail_user(error,
                         "%s is kept in a folder beside the file (zarr), which loam does not read: write the "
                         "checkpoint once more with all arrays in it",
                         name);
    return fail_user(error, "array %s is missing", name);
}

/* A matrix that tells something about the shape of the model. */
static const SafeTensor *find_matrix(const FlaxFile *file, const char *pattern, GError **error)
{
    g_autofree char *name = numbered(pattern, "0");
    const SafeTensor *array = flax_find(file, name);
    if (array == NULL)
        fail_absent(file, name, error);
    else if (array->rank == 2)
        return array;
    else
        fail_user(error, "%s has %d dimensions, want 2", name, array->rank);
    return NULL;
}

/* How many blocks follow each other from 0. */
static int64_t count_blocks(const FlaxFile *file, const char *pattern)
{
    for (int n = 0; n < MAX_BLOCKS; n++) {
        g_autofree char *number = g_strdup_printf("%d", n);
        g_autofree char *name = numbered(pattern, number);
        if (flax_find(file, name) == NULL && !flax_is_elsewhere(file, name))
            return n;
    }
    return MAX_BLOCKS;
}

static bool read_config(const FlaxFile *file, ModelConfig *config, GError **error)
{
    g_autofree char *gate = numbered("encoder/layers_#/mlp/wi_0/kernel", "0");
    g_autofree char *head = numbered("decoder/logits_dense/kernel", "");
    config->gated = flax_find(file, gate) || flax_is_elsewhere(file, gate);
    const SafeTensor *embedding = find_matrix(file, "token_embedder/embedding", error);
    const SafeTensor *bias = embedding ? find_matrix(file, "encoder/relpos_bias/rel_embedding", error) : NULL;
    const SafeTensor *query = bias ? find_matrix(file, "encoder/layers_#/attention/query/kernel", error) : NULL;
    const SafeTensor *up =
        query ? find_matrix(file, config->gated ? "encoder/layers_#/mlp/wi_0/kernel" : "encoder/layers_#/mlp/wi/kernel",
                            error)
              : NULL;
    if (up == NULL)
        return false;
    config->vocab = embedding->shape[0];
    config->width = embedding->shape[1];
    config->heads = bias->shape[0];
    config->rel_buckets = bias->shape[1];
    config->rel_max_distance = MAX_DISTANCE;
    config->ffn = up->shape[1];
    config->n_enc = count_blocks(file, "encoder/layers_#/attention/query/kernel");
    config->n_dec = count_blocks(file, "decoder/layers_#/self_attention/query/kernel");
    if (config->heads == 0 || query->shape[1] % config->heads != 0)
        return fail_user(error, "%s has %" G_GINT64_FORMAT " columns for %" G_GINT64_FORMAT " heads", query->name,
                         query->shape[1], config->heads);
    config->head_dim = query->shape[1] / config->heads;
    config->activation = config->gated ? ACT_GELU_TANH : ACT_RELU;
    config->tie_embeddings = config->scale_logits = !flax_find(file, head) && !flax_is_elsewhere(file, head);
    config->dropout = config->gated ? 0 : 0.1; /* T5 1.1 was pre-trained without; the file does not say */
    config->norm_eps = 1e-6;
    return config->width > 0 && config->ffn > 0 && config->head_dim > 0 && config->n_enc > 0 && config->n_dec > 0
               ? model_config_check(config, error)
               : fail_user(error, "its arrays make no encoder and decoder of T5");
}

static bool is_transposed(const ParamSpec *spec)
{
    return spec->cols > 0 && strcmp(spec->name, "shared") != 0;
}

static bool check_shape(const SafeTensor *array, const ParamSpec *spec, GError **error)
{
    int64_t rows = spec->rows, cols = spec->cols;
    if (cols == 0 && array->rank == 1 && array->shape[0] == rows)
        return true;
    if (is_transposed(spec)) {
        rows = spec->cols;
        cols = spec->rows;
    }
    if (cols > 0 && array->rank == 2 && array->shape[0] == rows && array->shape[1] == cols)
        return true;
    return fail_user(error,
                     "array %s has not the shape (%" G_GINT64_FORMAT ", %" G_GINT64_FORMAT ") that the others give it",
                     array->name, rows, cols);
}

/* Each parameter has its array, and each array of the target its parameter. */
static bool check_arrays(const FlaxFile *file, const ModelConfig *config, GError **error)
{
    Device *null = device_open_null();
    Model *shapes = model_open(null, config, false, error);
    g_autoptr(GHashTable) wanted = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
    bool ok = shapes != NULL;
    for (int i = 0; ok && i < params_count(model_params(shapes)); i++) {
        const ParamSpec *spec = params_spec(model_params(shapes), i);
        char *name = their_name(spec->name);
        const SafeTensor *array = flax_find(file, name);
        g_hash_table_add(wanted, name);
        ok = array ? check_shape(array, spec, error) : fail_absent(file, name, error);
    }
    for (int i = 0; ok && i < flax_count(file); i++) {
        const char *name = flax_get(file, i)->name;
        if (g_str_has_prefix(name, TARGET) && !g_hash_table_contains(wanted, name))
            ok = fail_user(error, "no place in a T5 for the array %s", name);
    }
    if (shapes)
        model_close(shapes);
    device_close(null);
    return ok;
}

/* to (out, in) of theirs (in, out). */
static bool read_transposed(float *to, int64_t out, int64_t in, const SafeTensor *array, GError **error)
{
    g_autofree float *row = g_new(float, (gsize)out);
    bool ok = true;
    for (int64_t i = 0; ok && i < in; i++) {
        ok = safetensors_read_f32(array, i * out, out, row, error);
        for (int64_t o = 0; ok && o < out; o++)
            to[o * in + i] = row[o];
    }
    return ok;
}

static bool read_param(ParamStore *params, int index, const SafeTensor *array, GError **error)
{
    const ParamSpec *spec = params_spec(params, index);
    int64_t n = spec->rows * MAX(spec->cols, 1);
    g_autofree float *values = g_new(float, (gsize)n);
    bool ok = is_transposed(spec) ? read_transposed(values, spec->rows, spec->cols, array, error)
                                  : safetensors_read_f32(array, 0, n, values, error);
    if (ok)
        params_write(params, index, NULL, DT_F32, values);
    return ok;
}

static Model *import_arrays(Device *dev, const FlaxFile *file, GError **error)
{
    ModelConfig config;
    model_config_defaults(&config);
    if (!read_config(file, &config, error) || !check_arrays(file, &config, error))
        return NULL;
    Model *model = model_open(dev, &config, false, error);
    bool ok = model != NULL;
    for (int i = 0; ok && i < params_count(model_params(model)); i++) {
        g_autofree char *name = their_name(params_spec(model_params(model), i)->name);
        const SafeTensor *array = flax_find(file, name);
        ok = read_param(model_params(model), i, array, error);
    }
    if (model && !ok)
        model_close(model);
    return ok ? model : NULL;
}

Model *t5x_import(Device *dev, const char *path, GError **error)
{
    bool folder = g_file_test(path, G_FILE_TEST_IS_DIR);
    g_autofree char *whole = folder ? g_build_filename(path, "checkpoint", NULL) : g_strdup(path);
    FlaxFile *file = flax_open(whole, error);
    if (file == NULL)
        return NULL;
    Model *model = import_arrays(dev, file, error);
    if (model == NULL)
        fail_context(error, "%s", whole);
    flax_close(file);
    if (model)
        model_roles(model)->decoder_start = START;
    return model;
}
