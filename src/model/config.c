#include "model/config.h"

static const char *const family_names[] = { "t5", NULL };

#define ROW(name, type, field, standard, min, max, class, help, choices)                                               \
    {                                                                                                                  \
        "model." name, type, offsetof(ModelConfig, field), standard, min, max, class, help, choices                    \
    }

/* clang-format off */
const OptionRow model_options[] = {
    ROW("preset",           OPT_STRING, preset, "", 0, 0, OPT_IDENTITY, "a published shape to start from, such as t5-1.1-small; other model options override it", NULL),
    ROW("family",           OPT_ENUM, family, "t5", 0, 0, OPT_IDENTITY, "encoder-decoder (t5)", family_names),
    ROW("n_enc",            OPT_I64, n_enc, "8", 1, 1000, OPT_IDENTITY, "blocks of the encoder", NULL),
    ROW("n_dec",            OPT_I64, n_dec, "8", 1, 1000, OPT_IDENTITY, "blocks of the decoder", NULL),
    ROW("width",            OPT_I64, width, "512", 1, 65536, OPT_IDENTITY, "channels of the hidden states", NULL),
    ROW("ffn",              OPT_I64, ffn, "1024", 1, 1048576, OPT_IDENTITY, "channels inside the feed-forward network", NULL),
    ROW("heads",            OPT_I64, heads, "6", 1, 1024, OPT_IDENTITY, "attention heads", NULL),
    ROW("head_dim",         OPT_I64, head_dim, "64", 1, 1024, OPT_IDENTITY, "channels of one head", NULL),
    ROW("vocab",            OPT_I64, vocab, "auto", 0, 16777216, OPT_IDENTITY, "rows of the embedding; auto: the tokenizer's size with its sentinels, rounded up to 128", NULL),
    ROW("activation",       OPT_ENUM, activation, "gelu_tanh", 0, 0, OPT_IDENTITY, "of the feed-forward network", activation_names),
    ROW("gated",            OPT_BOOL, gated, "true", 0, 0, OPT_IDENTITY, "feed-forward network with a multiplicative gate", NULL),
    ROW("tie_embeddings",   OPT_BOOL, tie_embeddings, "false", 0, 0, OPT_IDENTITY, "logits from the embedding matrix", NULL),
    ROW("scale_logits",     OPT_BOOL, scale_logits, "false", 0, 0, OPT_IDENTITY, "hidden states times width^-1/2 before the logits (T5 v1.0)", NULL),
    ROW("dropout",          OPT_F64, dropout, "0", 0, 0.99, OPT_TUNABLE, "rate on embeddings, attention weights, hidden and output activations", NULL),
    ROW("norm_eps",         OPT_F64, norm_eps, "1e-6", 0, 1, OPT_IDENTITY, "added to the mean square in the norms", NULL),
    ROW("rel_buckets",      OPT_I64, rel_buckets, "32", 4, 4096, OPT_IDENTITY, "buckets of the relative position bias", NULL),
    ROW("rel_max_distance", OPT_I64, rel_max_distance, "128", 3, 1048576, OPT_IDENTITY, "distance from which on the last bucket is used", NULL),
};
/* clang-format on */

const int n_model_options = G_N_ELEMENTS(model_options);

bool model_config_check(const ModelConfig *config, GError **error)
{
    if (config->rel_buckets % 4 != 0)
        return fail_user(error, "model.rel_buckets is %" G_GINT64_FORMAT ": it must be a multiple of 4",
                         config->rel_buckets);
    if (config->rel_max_distance <= config->rel_buckets / 2)
        return fail_user(error,
                         "model.rel_max_distance is %" G_GINT64_FORMAT
                         ": it must be above half of model.rel_buckets, %" G_GINT64_FORMAT,
                         config->rel_max_distance, config->rel_buckets / 2);
    if (config->vocab != 0 && config->vocab < 2)
        return fail_user(error, "model.vocab is %" G_GINT64_FORMAT ": it must be auto or at least 2", config->vocab);
    return true;
}
