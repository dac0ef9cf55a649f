#include "model/fairseq/checkpoint.h"

#include "nn/ctx.h"

#include <string.h>

#define MOST_BLOCKS 1000

const char *fairseq_option(const TensorFile *file, const char *name)
{
    static const char *const groups[] = { "cfg/model/", "args/" };
    const char *text = NULL;
    for (size_t i = 0; i < G_N_ELEMENTS(groups) && text == NULL; i++) {
        g_autofree char *key = g_strconcat(groups[i], name, NULL);
        text = tensor_file_metadata(file, key);
    }
    return text;
}

bool fairseq_flag(const TensorFile *file, const char *name)
{
    return g_strcmp0(fairseq_option(file, name), "true") == 0;
}

/* On entry *out holds the default, which stays if the checkpoint does not have the option. */
static bool read_rate(const TensorFile *file, const char *name, double *out, GError **error)
{
    const char *text = fairseq_option(file, name);
    if (text)
        *out = g_ascii_strtod(text, NULL);
    return (*out >= 0 && *out < 1) || fail_user(error, "its option %s is %s, want 0 to 0.99", name, text);
}

static bool read_activation_fn(const TensorFile *file, int *activation, GError **error)
{
    static const struct {
        const char *name;
        Activation activation;
    } activations[] = {
        { "relu", ACT_RELU },           { "gelu", ACT_GELU_ERF },
        { "gelu_fast", ACT_GELU_TANH }, { "gelu_accurate", ACT_GELU_TANH },
        { "tanh", ACT_TANH },
    };
    const char *text = fairseq_option(file, "activation_fn");
    for (size_t i = 0; i < G_N_ELEMENTS(activations); i++)
        if (strcmp(text ? text : "relu", activations[i].name) == 0) {
            *activation = (int)activations[i].activation;
            return true;
        }
    return fail_user(error, "its option activation_fn is %s, want relu, gelu, gelu_fast, gelu_accurate or tanh", text);
}

void fairseq_defaults(ModelConfig *config)
{
    model_config_defaults(config);
    config->norm = NORM_LAYER;
    config->norm_eps = 1e-5;
    config->bias = config->norm_bias = config->scale_scores = true;
    config->gated = config->inner_dropout = false;
    config->dropout = 0.1;
    config->activation_dropout = 0;
}

bool fairseq_complete(const TensorFile *file, ModelConfig *config, GError **error)
{
    return read_activation_fn(file, &config->activation, error) &&
           read_rate(file, "dropout", &config->dropout, error) &&
           read_rate(file, "attention_dropout", &config->attention_dropout, error) &&
           read_rate(file, "activation_dropout", &config->activation_dropout, error) &&
           model_config_check(config, error);
}

bool fairseq_heads(const TensorFile *file, const char *name, int64_t width, int64_t *heads, GError **error)
{
    const char *text = fairseq_option(file, name);
    if (text == NULL)
        return fail_user(error, "it has no option %s, so the model's configuration is incomplete", name);
    *heads = g_ascii_strtoll(text, NULL, 10);
    return (*heads >= 1 && width % *heads == 0) ||
           fail_user(error, "its option %s is %s, for a width of %" G_GINT64_FORMAT, name, text, width);
}

int64_t fairseq_count_blocks(const TensorFile *file, const char *prefix)
{
    for (int n = 0; n < MOST_BLOCKS; n++) {
        g_autofree char *name = g_strdup_printf("%s.%d.fc1.weight", prefix, n);
        if (tensor_file_find(file, name) == NULL)
            return n;
    }
    return MOST_BLOCKS;
}
