/* Every key that transformers' classes have in config.json, with the defaults of transformers
 * (tests/golden/hf-defaults.json, tools/make-hf-defaults.py): loam has the same defaults, and another value of a key
 * changes the model, or is refused by name, or is listed here as one without effect. */
#include "architectures.h"
#include "base/file.h"
#include "model/hf/config_json.h"

#include <string.h>

static char *scratch;

/* Keys that loam ignores, and why. */
static const struct {
    const char *key, *families; /* "gpt" means all decoders; NULL all that have the key */
    const char *reason;
} ignored[] = {
    { "transformers_version", NULL, "names the program that wrote the file" },
    { "output_hidden_states", NULL, "what a call returns" },
    { "output_attentions", NULL, "what a call returns" },
    { "return_dict", NULL, "what a call returns" },
    { "use_cache", NULL, "speed" },
    { "chunk_size_feed_forward", NULL, "memory" },
    { "deterministic_flash_attn", NULL, "loam's attention is always deterministic" },
    { "reorder_and_upcast_attn", NULL, "rounding" },
    { "pretraining_tp", NULL, "rounding" },
    { "dtype", NULL, "each tensor has its own; train.precision decides" },
    { "is_encoder_decoder", NULL, "follows from the tensors" },
    { "is_decoder", "t5 mt5 umt5", "transformers sets it for each stack" },
    { "decoder_start_token_id", "xglm", "a decoder-only model begins with bos_token_id" },
    { "cls_token_id", NULL, "the tokenizer has it" },
    { "sep_token_id", NULL, "the tokenizer has it" },
    { "initializer_factor", NULL, "weights are in the file" },
    { "initializer_cutoff_factor", NULL, "weights are in the file" },
    { "feed_forward_proj", "t5 mt5 umt5", "dense_act_fn and is_gated_act, which are there too, take precedence" },
    { "sparse_prediction", NULL, "memory" },
    { "sparse_pred_ignore_index", NULL, "memory" },
    { "id2label", "gpt", "classifiers of these families are refused" },
    { "label2id", "gpt", "classifiers of these families are refused" },
    { "problem_type", "gpt", "classifiers of these families are refused" },
    { "summary_type", NULL, "of a class that is not read" },
    { "summary_use_proj", NULL, "of a class that is not read" },
    { "summary_activation", NULL, "of a class that is not read" },
    { "summary_proj_to_labels", NULL, "of a class that is not read" },
    { "summary_first_dropout", NULL, "of a class that is not read" },
    { "embd_pdrop", NULL, "a warning says which rate training uses" },
    { "layerdrop", NULL, "a warning says which rate training uses" },
    { "embedding_dropout", NULL, "a warning says which rate training uses" },
    { "attention_dropout", "modernbert", "a warning says which rate training uses" },
    { "layer_types", "qwen3", "follows from use_sliding_window" },
    { "max_window_layers", NULL, "without effect unless use_sliding_window" },
    { "mlp_dropout", NULL, "a warning says which rate training uses" },
};

static bool is_gpt(const char *family)
{
    for (size_t i = 0; i < n_architectures; i++)
        if (strcmp(architectures[i]->model_type, family) == 0)
            return architectures[i]->family == FAMILY_GPT;
    return false;
}

static bool is_ignored(const char *key, const char *family)
{
    if (strcmp(key, "transformers_version") == 0 && strcmp(family, "mt5") == 0)
        return false; /* transformers 4 and 5 scale the logits of an mT5 differently */
    for (size_t i = 0; i < G_N_ELEMENTS(ignored); i++) {
        g_auto(GStrv) families = g_strsplit(ignored[i].families ? ignored[i].families : family, " ", -1);
        const char *const *names = (const char *const *)families;
        if (strcmp(ignored[i].key, key) == 0 &&
            (g_strv_contains(names, family) || (is_gpt(family) && g_strv_contains(names, "gpt"))))
            return true;
    }
    return false;
}

/* Another value of a key, if no rule of other_value() gives a valid one. */
static const char *const others[][2] = {
    { "transformers_version", "\"4.57.6\"" },
    { "hidden_act", "\"relu\"" },
    { "hidden_activation", "\"relu\"" },
    { "activation_function", "\"relu\"" },
    { "classifier_activation", "\"relu\"" },
    { "feed_forward_proj", "\"silu\"" },
    { "dense_act_fn", "\"silu\"" },
    { "dtype", "\"float16\"" },
    { "summary_type", "\"last\"" },
    { "summary_activation", "\"tanh\"" },
    { "architectures", "[\"AnyForTokenClassification\"]" },
    { "classifier_pooling", "\"mean\"" },
    { "classifier_dropout", "0.3" },
    { "problem_type", "\"multi_label_classification\"" },
    { "id2label", "{\"0\": \"a\", \"1\": \"b\"}" },
    { "label2id", "{\"LABEL_0\": 1, \"LABEL_1\": 0}" },
    { "num_key_value_heads", "16" },
    { "n_inner", "100" },
    { "layer_types", "[\"full_attention\", \"full_attention\"]" },
    { "rope_parameters", "{\"rope_theta\": 500.0, \"full_attention\": {\"rope_theta\": 500.0}}" },
};

static json_t *other_value(const char *key, const json_t *value)
{
    for (size_t i = 0; i < G_N_ELEMENTS(others); i++)
        if (strcmp(others[i][0], key) == 0)
            return json_loads(others[i][1], JSON_DECODE_ANY, NULL);
    if (json_is_boolean(value))
        return json_boolean(json_is_false(value));
    if (json_is_integer(value))
        return json_integer(json_integer_value(value) ? 2 * json_integer_value(value) : 1);
    if (json_is_real(value))
        return json_real(json_number_value(value) > 0 ? json_number_value(value) / 2 : 0.1);
    g_assert_true(json_is_null(value));
    return json_integer(3);
}

/* What loam reads from this config.json: a digest of options and special tokens; NULL with an error. g_free. */
static char *digest_of(json_t *root, GError **error)
{
    g_autofree char *path = g_build_filename(scratch, "config.json", NULL);
    ModelConfig config = { 0 };
    TokenRoles roles = token_roles_none();
    g_assert_cmpint(json_dump_file(root, path, 0), ==, 0);
    const HfArchitecture *arch = hf_config_read(scratch, &config, error);
    if (arch == NULL || !hf_roles_read(scratch, arch, &config, &roles, error))
        return NULL;
    json_t *object = token_roles_json(&roles);
    char *ids = json_dumps(object, JSON_SORT_KEYS);
    g_autofree char *options = g_compute_checksum_for_data(G_CHECKSUM_MD5, (const guchar *)&config, sizeof config);
    char *digest = g_strconcat(options, ids, NULL);
    free(ids);
    json_decref(object);
    token_roles_clear(&roles);
    return digest;
}

static char *digest(json_t *root)
{
    GError *error = NULL;
    char *text = digest_of(root, &error);
    g_assert_no_error(error);
    return text;
}

static json_t *defaults;

static json_t *config_of(const char *family)
{
    json_t *root = json_deep_copy(json_object_get(defaults, family));
    json_object_set_new(root, "model_type", json_string(family));
    return root;
}

static void defaults_are_those_of_transformers(void)
{
    const char *family;
    json_t *keys;
    for (size_t i = 0; i < n_architectures; i++)
        if (json_object_get(defaults, architectures[i]->model_type) == NULL)
            g_error("tests/golden/hf-defaults.json has no %s: run tools/make-hf-defaults.py",
                    architectures[i]->model_type);
    json_object_foreach(defaults, family, keys)
    {
        json_t *bare = json_pack("{s:s, s:O}", "model_type", family, "transformers_version",
                                 json_object_get(keys, "transformers_version")),
               *full = config_of(family);
        g_autofree char *of_bare = digest(bare), *of_full = digest(full);
        if (strcmp(of_bare, of_full) != 0)
            g_error("%s: other defaults:\n%s\n%s", family, of_bare, of_full);
        json_decref(bare);
        json_decref(full);
    }
}

/* Whether another value of the key has an effect: another model, or an error, which names the key. */
static bool has_effect(json_t *root, const char *family, const char *key)
{
    g_autofree char *before = digest(root);
    g_autoptr(GError) error = NULL;
    json_t *changed = json_deep_copy(root);
    json_object_set_new(changed, key, other_value(key, json_object_get(root, key)));
    g_autofree char *after = digest_of(changed, &error);
    json_decref(changed);
    if (error && strstr(error->message, key) == NULL)
        g_error("%s: %s is refused without its name: %s", family, key, error->message);
    return after == NULL || strcmp(before, after) != 0;
}

static void no_key_is_ignored_without_a_reason(void)
{
    const char *family, *key;
    json_t *keys, *value;
    json_object_foreach(defaults, family, keys)
    {
        json_t *plain = config_of(family), *classifier = config_of(family);
        if (!is_gpt(family))
            json_object_set_new(classifier, "architectures", json_pack("[s]", "AnyForSequenceClassification"));
        json_object_foreach(keys, key, value)
        {
            const bool effect = has_effect(plain, family, key) || has_effect(classifier, family, key);
            if (effect == is_ignored(key, family))
                g_error("%s: %s %s", family, key, effect ? "is listed, but has an effect" : "is ignored");
        }
        json_decref(plain);
        json_decref(classifier);
    }
}

/* Keys that the classes do not list, and that transformers reads. */
static void keys_of_no_class_are_refused_by_name(void)
{
    static const char *const cases[][4] = {
        { "bert", "quantization_config", "{\"quant_method\": \"gptq\"}", "quantised (quant_method gptq)" },
        { "t5", "quantization_config", "{\"load_in_8bit\": true}", "quantised (quant_method is missing)" },
        { "llama", "compression_config", "{\"quant_method\": \"compressed-tensors\"}", "compression_config: the" },
        { "llama", "partial_rotary_factor", "0.5", "partial_rotary_factor is 0.5: loam reads 1 only" },
        { "llama", "partial_rotary_factor", "true", "partial_rotary_factor is not a number" },
        { "llama", "sliding_window", "4096", "sliding_window is 4096: loam reads null only" },
        { "gpt2", "attention_chunk_size", "8", "attention_chunk_size is 8: loam reads null only" },
        { "llama", "per_layer_config", "{\"0\": {\"rms_norm_eps\": 0.5}}", "per_layer_config is {" },
        { "t5", "tie_encoder_decoder", "true", "tie_encoder_decoder is true: loam reads false only" },
        { "gpt2", "transformers_weights", "\"other.safetensors\"", "transformers_weights is \"other.safetensors\"" },
        { "qwen3", "is_causal", "false", "is_causal is false: loam reads true only" },
        { "xglm", "is_causal", "null", "is_causal is null: loam reads true only" },
        { "bert", "is_causal", "true", "is_causal is true: loam reads false only" },
        { "modernbert", "is_causal", "true", "is_causal is true: loam reads false only" },
        { "t5", "is_causal", "true", "is_causal is true: loam reads null only" },
        { "umt5", "is_causal", "false", "is_causal is false: loam reads null only" },
        { "roberta", "num_labels", "3", "num_labels is 3, but id2label has 2 names" },
        { "bert", "label2id", "{\"LABEL_0\": 1}",
          "label2id says that \"LABEL_0\" is class 1, id2label that it is class 0" },
        { "gpt2", "hidden_size", "512", "hidden_size differs from n_embd, which is the same setting" },
    };
    for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
        g_autoptr(GError) error = NULL;
        json_t *root = config_of(cases[i][0]);
        if (!is_gpt(cases[i][0]))
            json_object_set_new(root, "architectures", json_pack("[s]", "AnyForSequenceClassification"));
        json_object_set_new(root, cases[i][1], json_loads(cases[i][2], JSON_DECODE_ANY, NULL));
        g_autofree char *text = digest_of(root, &error);
        g_assert_null(text);
        if (strstr(error->message, cases[i][3]) == NULL)
            g_error("\"%s\" does not say \"%s\"", error->message, cases[i][3]);
        json_decref(root);
    }
}

/* What has no effect in transformers either. */
static void harmless_values_are_read(void)
{
    static const char *const cases[][3] = {
        { "bert", "quantization_config", "null" },
        { "llama", "partial_rotary_factor", "1.0" },
        { "modernbert", "partial_rotary_factor", "0.5" }, /* transformers does not read it there */
        { "llama", "sliding_window", "null" },
        { "bert", "num_labels", "2" },
        { "roberta", "is_causal", "false" },
        { "llama", "is_causal", "true" },
        { "t5", "tie_encoder_decoder", "false" },
        { "bert", "label2id", "{\"yes\": 1, \"no\": 0}" }, /* names that id2label does not have */
        { "bert", "label2id", "null" },
        { "xglm", "hidden_size", "1024" },
    };
    for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
        json_t *root = config_of(cases[i][0]);
        g_autofree char *before = digest(root);
        json_object_set_new(root, cases[i][1], json_loads(cases[i][2], JSON_DECODE_ANY, NULL));
        g_autofree char *after = digest(root);
        g_assert_cmpstr(before, ==, after);
        json_decref(root);
    }
}

/* Qwen3Config takes 32 heads of keys and values if the key is absent, and as many as of queries if it is null. */
static void qwen3_has_heads_of_keys_by_those_of_queries_if_null(void)
{
    static const struct {
        int64_t heads;
        bool null;
    } cases[] = { { 16, true }, { 64, true }, { 32, false }, { 64, false } };
    for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
        json_t *root = config_of("qwen3");
        json_object_set_new(root, "num_attention_heads", json_integer(cases[i].heads));
        json_object_set_new(root, "num_key_value_heads", json_integer(cases[i].null ? cases[i].heads : 32));
        g_autofree char *wanted = digest(root);
        json_object_del(root, "num_key_value_heads");
        if (cases[i].null)
            json_object_set_new(root, "num_key_value_heads", json_null());
        g_autofree char *got = digest(root);
        g_assert_cmpstr(wanted, ==, got);
        json_decref(root);
    }
}

/* attribute_map of transformers' classes. */
static void aliases_stand_for_their_keys(void)
{
    static const char *const aliases[][3] = {
        { "t5", "hidden_size", "d_model" },
        { "mt5", "num_attention_heads", "num_heads" },
        { "umt5", "num_hidden_layers", "num_layers" },
        { "t5", "head_dim", "d_kv" },
        { "gpt2", "hidden_size", "n_embd" },
        { "gpt2", "max_position_embeddings", "n_positions" },
        { "gpt2", "num_attention_heads", "n_head" },
        { "gpt2", "num_hidden_layers", "n_layer" },
        { "xglm", "hidden_size", "d_model" },
        { "xglm", "num_attention_heads", "attention_heads" },
        { "xglm", "num_hidden_layers", "num_layers" },
    };
    for (size_t i = 0; i < G_N_ELEMENTS(aliases); i++) {
        json_t *root = config_of(aliases[i][0]), *value = other_value("", json_object_get(root, aliases[i][2]));
        json_object_set(root, aliases[i][2], value);
        g_autofree char *wanted = digest(root);
        json_object_del(root, aliases[i][2]);
        json_object_set_new(root, aliases[i][1], value);
        g_autofree char *got = digest(root);
        g_assert_cmpstr(wanted, ==, got);
        json_decref(root);
    }
}

/* A folder without a generation_config.json has its settings here. */
static void generation_settings_of_old_folders_are_taken(void)
{
    static const char *const settings[] = { "max_length", "min_length", "no_repeat_ngram_size", "num_beams" };
    json_t *root = config_of("t5");
    g_autofree char *before = digest(root);
    g_assert_null(strstr(before, "max_length"));
    for (size_t i = 0; i < G_N_ELEMENTS(settings); i++)
        json_object_set_new(root, settings[i], json_integer(3));
    g_autofree char *after = digest(root);
    for (size_t i = 0; i < G_N_ELEMENTS(settings); i++)
        g_assert_nonnull(strstr(after, settings[i]));
    json_decref(root);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    scratch = g_dir_make_tmp("loam-XXXXXX", NULL);
    defaults = json_load_file(LOAM_SOURCE_DIR "/tests/golden/hf-defaults.json", 0, NULL);
    g_assert_nonnull(defaults);
    g_test_add_func("/hf_keys/defaults_are_those_of_transformers", defaults_are_those_of_transformers);
    g_test_add_func("/hf_keys/no_key_is_ignored_without_a_reason", no_key_is_ignored_without_a_reason);
    g_test_add_func("/hf_keys/keys_of_no_class_are_refused_by_name", keys_of_no_class_are_refused_by_name);
    g_test_add_func("/hf_keys/harmless_values_are_read", harmless_values_are_read);
    g_test_add_func("/hf_keys/qwen3_has_heads_of_keys_by_those_of_queries_if_null",
                    qwen3_has_heads_of_keys_by_those_of_queries_if_null);
    g_test_add_func("/hf_keys/aliases_stand_for_their_keys", aliases_stand_for_their_keys);
    g_test_add_func("/hf_keys/generation_settings_of_old_folders_are_taken",
                    generation_settings_of_old_folders_are_taken);
    const int status = g_test_run();
    json_decref(defaults);
    io_remove_tree(scratch, NULL);
    g_free(scratch);
    return status;
}
