#include "model/model.h"

#include <string.h>

/* The configuration of a preset, with one more setting ("" for none). */
static bool apply(ModelConfig *config, const char *preset, const char *assignment, GError **error)
{
    g_autoptr(GPtrArray) settings = option_settings_new();
    memset(config, 0, sizeof *config);
    options_set_defaults(&model_table, config);
    if (*preset && !model_preset_settings(preset, settings, error))
        return false;
    if (*assignment && !option_settings_parse(settings, assignment, error))
        return false;
    return options_apply(&model_table, config, settings, error) && model_config_check(config, error);
}

static void clear(ModelConfig *config)
{
    options_clear(&model_table, config);
}

static void presets_have_the_published_counts(void)
{
    static const struct {
        const char *preset;
        gint64 params;
    } published[] = {
        { "t5-1.1-small", 76961152 },
        { "t5-1.1-base", 247577856 },
        { "t5-1.1-large", 783150080 },
        { "t5-1.1-xl", 2849757184 },
        { "t5-1.1-xxl", 11135332352 },
        { "t5-small", 60506624 },
        { "t5-base", 222903552 },
        { "t5-large", 737668096 },
        { "t5-3b", 2851598336 },
        { "t5-11b", 11307321344 },
        { "mt5-small", 300176768 },
        { "mt5-base", 582401280 },
        { "mt5-large", 1229581312 },
        { "mt5-xl", 3742619648 },
        { "mt5-xxl", 12921057280 },
        { "umt5-small", 306601984 },
        { "umt5-base", 592043520 },
        { "umt5-xl", 3768356864 },
        { "umt5-xxl", 12972531712 },
        { "flan-t5-small", 76961152 },
        { "flan-t5-base", 247577856 },
        { "flan-t5-large", 783150080 },
        { "flan-t5-xl", 2849757184 },
        { "flan-t5-xxl", 11135332352 },
        { "t5-micro", 45821440 },
        { "byt5-base", 581653248 },
        { "byt5-large", 1228183552 },
        { "byt5-xl", 3737801728 },
        { "byt5-xxl", 12906899328 },
        { "byt5-small", 299637760 },
        { "ast-t5-base", 277863168 },
        { "t5-base-cdq", 237759744 },
        { "bert-base", 110106428 },
        { "bert-large", 336226108 },
        { "gpt2", 124439808 },
        { "gpt2-medium", 354823168 },
        { "gpt2-large", 774030080 },
        { "gpt2-xl", 1557611200 },
        { "roberta-base", 124697433 },
        { "roberta-large", 355412057 },
        { "fairseq-gpt3-13b", 12853473280 },
        { "tinyllama-1.1b", 1100048384 },
        { "qwen3-0.6b", 596049920 },
        { "modernbert-base", 149655232 },
    };
    for (size_t i = 0; i < G_N_ELEMENTS(published); i++) {
        ModelConfig config;
        GError *error = NULL;
        apply(&config, published[i].preset, "", &error);
        g_assert_no_error(error);
        g_assert_cmpint(model_config_params(&config), ==, published[i].params);
        clear(&config);
    }
}

/* Counts of the reference systems that name a vocabulary or an option apart from the preset's. */
static void variants_have_the_published_counts(void)
{
    static const struct {
        const char *preset, *assignment;
        gint64 params;
    } published[] = {
        { "tr1-13b", "model.vocab=50432", 12854282240 },
        { "fairseq-transformer-lm", "model.vocab=1000", 18915328 + 1024 * 1000 },
        { "fairseq-gpt3-13b", "model.tie_embeddings=false", 13110865920 },
        { "bert-base", "model.n_enc=4", 53403452 },
        { "bert-4l-preln-rel", "", 53012156 },
        { "bert-4l-preln-rope", "", 53011772 },
    };
    for (size_t i = 0; i < G_N_ELEMENTS(published); i++) {
        ModelConfig config;
        GError *error = NULL;
        apply(&config, published[i].preset, published[i].assignment, &error);
        g_assert_no_error(error);
        g_assert_cmpint(model_config_params(&config), ==, published[i].params);
        clear(&config);
    }
}

static void every_preset_applies(void)
{
    for (int i = 0; model_preset_names[i]; i++) {
        ModelConfig config;
        GError *error = NULL;
        apply(&config, model_preset_names[i], "", &error);
        g_assert_no_error(error);
        clear(&config);
    }
}

static void bare_config_is_t5_1_1_small_with_the_tokenizers_vocabulary(void)
{
    ModelConfig config;
    GError *error = NULL;
    apply(&config, "", "", &error);
    g_assert_no_error(error);
    g_assert_cmpint(config.vocab, ==, 0);
    config.vocab = 32128;
    g_assert_cmpint(model_config_params(&config), ==, 76961152);
    clear(&config);
}

static void store_holds_what_is_counted(void)
{
    ModelConfig config;
    GError *error = NULL;
    apply(&config, "t5-1.1-small", "model.vocab=256", &error);
    g_assert_no_error(error);
    Device *dev = device_open_null();
    Model *model = model_open(dev, &config, true, &error);
    g_assert_no_error(error);
    g_assert_cmpint(params_elements(model_params(model)), ==, model_config_params(&config));
    model_close(model);
    device_close(dev);
    clear(&config);
}

/* Where, what, and what would be right. */
static void errors_say_what_would_be_right(void)
{
    static const struct {
        const char *preset, *assignment, *says;
    } wrong[] = {
        { "t5-1.1-smal", "", "t5-1.1-small" },
        { "qwerty", "", "nearest are gpt2, qwen3-0.6b, t5-3b" },
        { "", "model.rel_buckets=30", "multiple of 4" },
        { "", "model.rel_max_distance=16", "above half of model.rel_buckets, 16" },
        { "", "model.vocab=1", "at least 2" },
        { "", "model.dropout=1", "model.dropout" },
        { "", "model.heads=0", "model.heads" },
        { "", "model.n_enc=0", "model.n_enc is 0: family t5 needs it to be at least 1" },
        { "gpt2", "model.n_enc=2", "family gpt needs it to be 0" },
        { "gpt2", "model.kv_heads=5", "must divide model.heads, 12" },
        { "gpt2", "model.pooler=true", "of family bert, not gpt" },
        { "gpt2", "model.rel_per_block=true", "need model.position relative_bias" },
        { "gpt2", "model.memory_tokens=4", "of family t5, not gpt" },
        { "gpt2", "model.context_queries=true", "of an encoder, family gpt has none" },
        { "bert-base", "model.pooler=false", "set model.pooler too" },
        { "gpt2", "model.position=relative_key", "are of family bert" },
        { "bert-base", "model.norm=rmsnorm", "needs model.norm layernorm" },
        { "tinyllama-1.1b", "model.rotary_dim=65", "must be even and at most 64" },
        { "tinyllama-1.1b", "model.rotary_dim=66", "must be even and at most 64" },
    };
    for (size_t i = 0; i < G_N_ELEMENTS(wrong); i++) {
        ModelConfig config;
        g_autoptr(GError) error = NULL;
        g_assert_false(apply(&config, wrong[i].preset, wrong[i].assignment, &error));
        g_assert_error(error, LOAM_ERROR, LOAM_ERROR_USER);
        if (!strstr(error->message, wrong[i].says))
            g_error("'%s' does not say '%s'", error->message, wrong[i].says);
        clear(&config);
    }
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/config/presets_have_the_published_counts", presets_have_the_published_counts);
    g_test_add_func("/config/variants_have_the_published_counts", variants_have_the_published_counts);
    g_test_add_func("/config/every_preset_applies", every_preset_applies);
    g_test_add_func("/config/bare_config_is_t5_1_1_small_with_the_tokenizers_vocabulary",
                    bare_config_is_t5_1_1_small_with_the_tokenizers_vocabulary);
    g_test_add_func("/config/store_holds_what_is_counted", store_holds_what_is_counted);
    g_test_add_func("/config/errors_say_what_would_be_right", errors_say_what_would_be_right);
    return g_test_run();
}
