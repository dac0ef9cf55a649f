
#include "format/tensor_file.h"
#include "model/tensor_names.h"

#define TARGET        "optimizer/target/"
#define MAX_BLOCKS    1000
#define DECODER_START 0 /* the token that a decoder of T5X reads first, whatever the padding */

/* A kernel has shape (in, out), and rel_embedding (heads, buckets); loam stores both transposed. */
static const TensorName body[] = {
    TENSOR("shared", "token_embedder/embedding"),
    TENSOR_TRANSPOSED("lm_head", "decoder/logits_dense/kernel"),
    TENSOR_TRANSPOSED("*.relpos", "*/relpos_bias/rel_embedding"),
    TENSOR("encoder.#.self.norm", "encoder/layers_#/pre_attention_layer_norm/scale"),
    TENSOR_TRANSPOSED("encoder.#.self.q", "encoder/layers_#/attention/query/kernel"),
    TENSOR_TRANSPOSED("encoder.#.self.k", "encoder/layers_#/attention/key/kernel"),
    TENSOR_TRANSPOSED("encoder.#.self.v", "encoder/layers_#/attention/value/kernel"),
    TENSOR_TRANSPOSED("encoder.#.self.o", "encoder/layers_#/attention/out/kernel"),
    TENSOR("encoder.final_norm", "encoder/encoder_norm/scale"),
    TENSOR("decoder.#.self.norm", "decoder/layers_#/pre_self_attention_layer_norm/scale"),
    TENSOR_TRANSPOSED("decoder.#.self.q", "decoder/layers_#/self_attention/query/kernel"),
    TENSOR_TRANSPOSED("decoder.#.self.k", "decoder/layers_#/self_attention/key/kernel"),
    TENSOR_TRANSPOSED("decoder.#.self.v", "decoder/layers_#/self_attention/value/kernel"),
    TENSOR_TRANSPOSED("decoder.#.self.o", "decoder/layers_#/self_attention/out/kernel"),
    TENSOR("decoder.#.cross.norm", "decoder/layers_#/pre_cross_attention_layer_norm/scale"),
    TENSOR_TRANSPOSED("decoder.#.cross.q", "decoder/layers_#/encoder_decoder_attention/query/kernel"),
    TENSOR_TRANSPOSED("decoder.#.cross.k", "decoder/layers_#/encoder_decoder_attention/key/kernel"),
    TENSOR_TRANSPOSED("decoder.#.cross.v", "decoder/layers_#/encoder_decoder_attention/value/kernel"),
    TENSOR_TRANSPOSED("decoder.#.cross.o", "decoder/layers_#/encoder_decoder_attention/out/kernel"),
    TENSOR("*.#.mlp.norm", "*/layers_#/pre_mlp_layer_norm/scale"),
    TENSOR_TRANSPOSED("*.#.mlp.*", "*/layers_#/mlp/*/kernel"),
    TENSOR("decoder.final_norm", "decoder/decoder_norm/scale"),
    { 0 },
};

static const TensorNames names = { .model = "T5", .prefix = TARGET, .body = body };

/* The array that the pattern, such as "encoder/layers_#/mlp/wo/kernel", names with `number` for #; NULL means none. */
static const FileTensor *find_numbered(const TensorFile *file, const char *pattern, int number)
{
    g_auto(GStrv) parts = g_strsplit(pattern, "#", 2);
    g_autofree char *name =
        parts[1] ? g_strdup_printf(TARGET "%s%d%s", parts[0], number, parts[1]) : g_strconcat(TARGET, pattern, NULL);
    return tensor_file_find(file, name);
}

/* *matrix becomes the array that the pattern names in block 0; fails unless it is a matrix. */
static bool find_matrix(const TensorFile *file, const char *pattern, const FileTensor **matrix, GError **error)
{
    *matrix = find_numbered(file, pattern, 0);
    if (*matrix == NULL)
        return fail_user(error, "tensor " TARGET "%s is missing", pattern);
    return (*matrix)->rank == 2 || fail_user(error, "%s has %d dimensions, want 2", (*matrix)->name, (*matrix)->rank);
}

/* Number of blocks that have such an array; they are numbered from 0 without gaps. */
static int64_t count_blocks(const TensorFile *file, const char *pattern)
{
    int n = 0;
    while (n < MAX_BLOCKS && find_numbered(file, pattern, n))
        n++;
    return n;
}

/* Sets the configuration from the shapes of the arrays. The file lacks model.rel_max_distance and model.norm_eps, which
 * are the same in all models of T5X and are loam's defaults. */
static bool read_t5x_config(const TensorFile *file, ModelConfig *config, GError **error)
{
    const FileTensor *embedding, *bias, *query, *up;
    config->gated = find_numbered(file, "encoder/layers_#/mlp/wi_0/kernel", 0) != NULL;
    config->tie_embeddings = config->scale_logits = find_numbered(file, "decoder/logits_dense/kernel", 0) == NULL;
    if (!find_matrix(file, "token_embedder/embedding", &embedding, error) ||
        !find_matrix(file, "encoder/relpos_bias/rel_embedding", &bias, error) ||
        !find_matrix(file, "encoder/layers_#/attention/query/kernel", &query, error) ||
        !find_matrix(file, config->gated ? "encoder/layers_#/mlp/wi_0/kernel" : "encoder/layers_#/mlp/wi/kernel", &up,
                     error))
        return false;
    config->vocab = embedding->shape[0];
    config->width = embedding->shape[1];
    config->heads = bias->shape[0];
    config->rel_buckets = bias->shape[1];
    config->ffn = up->shape[1];
    config->n_enc = count_blocks(file, "encoder/layers_#/attention/query/kernel");
    config->n_dec = count_blocks(file, "decoder/layers_#/self_attention/query/kernel");
    if (config->heads == 0 || query->shape[1] % config->heads != 0)
        return fail_user(error, "%s has %" G_GINT64_FORMAT " columns for %" G_GINT64_FORMAT " heads", query->name,
                         query->shape[1], config->heads);
    config->head_dim = query->shape[1] / config->heads;
    config->activation = config->gated ? ACT_GELU_TANH : ACT_RELU;
    /* T5 1.1 was pre-trained without dropout, T5 1.0 with 0.1; the file does not say. */
    config->dropout = config->gated ? 0 : 0.1;
    if (!(config->width > 0 && config->ffn > 0 && config->head_dim > 0 && config->n_enc > 0 && config->n_dec > 0))
        return fail_user(error, "its arrays make no encoder and decoder of T5");
    return model_config_check(config, error);
}

/* Fails if arrays of the model are stored outside the file, in folders beside it. */
static bool check_whole(GHashTable *others, GError **error)
{
    GHashTableIter iter;
    gpointer name;
    g_hash_table_iter_init(&iter, others);
    while (g_hash_table_iter_next(&iter, &name, NULL))
        if (g_str_has_prefix(name, TARGET))
            return fail_user(error,
                             "%s is kept in a folder beside the file (zarr), which loam does not read: write the "
                             "checkpoint once more with all arrays in it",
                             (char *)name);
    return true;
}

Model *t5x_import(Device *dev, const char *path, GError **error)
{
    bool is_folder = g_file_test(path, G_FILE_TEST_IS_DIR);
    g_autofree char *whole = is_folder ? g_build_filename(path, "checkpoint", NULL) : g_strdup(path);
    g_autoptr(GHashTable) others = NULL;
    g_autoptr(TensorFile) file = flax_open(whole, &others, error);
    if (file == NULL)
        return NULL;
    ModelConfig config;
    Model *model = NULL;
    model_config_defaults(&config);
    g_autoptr(GHashTable) tensors = tensor_names_select(file, TARGET);
    if (check_whole(others, error) && read_t5x_config(file, &config, error))
        model = tensor_names_open_model(&names, tensors, "the other arrays make it", dev, &config, false, error);
    if (model)
        model_roles(model)->decoder_start = DECODER_START;
    else
        fail_context(error, "%s", whole);
    return model;
}
