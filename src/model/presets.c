#include "base/text.h"
#include "model/config.h"

typedef enum Version { V1_0, V1_1 } Version; /* ReLU, tied, dropout; gated GELU, untied, none in pre-training */

/* name, version, blocks (encoder, decoder), width, ffn, heads, head_dim, vocab */
#define PRESETS(ROW)                                                                                                   \
    ROW("t5-1.1-tiny", V1_1, 4, 4, 256, 512, 4, 64, "auto")                                                            \
    ROW("t5-1.1-small", V1_1, 8, 8, 512, 1024, 6, 64, "32128")                                                         \
    ROW("t5-1.1-base", V1_1, 12, 12, 768, 2048, 12, 64, "32128")                                                       \
    ROW("t5-1.1-large", V1_1, 24, 24, 1024, 2816, 16, 64, "32128")                                                     \
    ROW("t5-1.1-xl", V1_1, 24, 24, 2048, 5120, 32, 64, "32128")                                                        \
    ROW("t5-1.1-xxl", V1_1, 24, 24, 4096, 10240, 64, 64, "32128")                                                      \
    ROW("t5-small", V1_0, 6, 6, 512, 2048, 8, 64, "32128")                                                             \
    ROW("t5-base", V1_0, 12, 12, 768, 3072, 12, 64, "32128")                                                           \
    ROW("t5-large", V1_0, 24, 24, 1024, 4096, 16, 64, "32128")                                                         \
    ROW("t5-3b", V1_0, 24, 24, 1024, 16384, 32, 128, "32128")                                                          \
    ROW("t5-11b", V1_0, 24, 24, 1024, 65536, 128, 128, "32128")

typedef struct Preset {
    Version version;
    const char *n_enc, *n_dec, *width, *ffn, *heads, *head_dim, *vocab;
} Preset;

#define PRESET_NAME(name, ...) name,
#define PRESET_ROW(name, version, n_enc, n_dec, width, ffn, heads, head_dim, vocab)                                    \
    { version, #n_enc, #n_dec, #width, #ffn, #heads, #head_dim, vocab },

const char *const model_preset_names[] = { PRESETS(PRESET_NAME) NULL };
static const Preset presets[] = { PRESETS(PRESET_ROW) };

static const Preset *find(const char *name)
{
    for (size_t i = 0; i < G_N_ELEMENTS(presets); i++)
        if (g_str_equal(model_preset_names[i], name))
            return &presets[i];
    return NULL;
}

bool model_preset_settings(const char *name, GPtrArray *settings, GError **error)
{
    const Preset *preset = find(name);
    if (preset == NULL) {
        const char *nearest = text_nearest(name, model_preset_names);
        g_autofree char *all = g_strjoinv(", ", (char **)model_preset_names);
        if (nearest)
            return fail_user(error, "model.preset %s is unknown; did you mean %s?", name, nearest);
        return fail_user(error, "model.preset %s is unknown; there are %s", name, all);
    }
    bool gated = preset->version == V1_1;
    const char *values[][2] = {
        { "model.family", "t5" },
        { "model.n_enc", preset->n_enc },
        { "model.n_dec", preset->n_dec },
        { "model.width", preset->width },
        { "model.ffn", preset->ffn },
        { "model.heads", preset->heads },
        { "model.head_dim", preset->head_dim },
        { "model.vocab", preset->vocab },
        { "model.activation", gated ? "gelu_tanh" : "relu" },
        { "model.gated", gated ? "true" : "false" },
        { "model.tie_embeddings", gated ? "false" : "true" },
        { "model.scale_logits", gated ? "false" : "true" },
        { "model.dropout", gated ? "0" : "0.1" },
    };
    g_autofree char *origin = g_strdup_printf("preset %s", name);
    for (size_t i = 0; i < G_N_ELEMENTS(values); i++)
        option_settings_add(settings, values[i][0], values[i][1], origin);
    return true;
}
