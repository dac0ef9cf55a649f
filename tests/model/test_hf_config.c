/* config.json: settings that change nothing are read, and those that do change the model. */
#include "architectures.h"
#include "base/file.h"
#include "model/hf/config_json.h"

#include <string.h>

static char *scratch;

/* The config.json of a fixture with one setting more, or another value of it. */
static const HfArchitecture *read_with(const char *fixture, const char *key, const char *json, ModelConfig *config,
                                       GError **error)
{
    g_autofree char *path = g_build_filename(FIXTURES, fixture, "config.json", NULL);
    g_autofree char *out = g_build_filename(scratch, "config.json", NULL);
    json_t *root = json_load_file(path, 0, NULL), *value = json_loads(json, JSON_DECODE_ANY, NULL);
    g_assert_true(root && value);
    json_object_set_new(root, key, value);
    g_assert_cmpint(json_dump_file(root, out, 0), ==, 0);
    json_decref(root);
    return hf_config_read(scratch, config, error);
}

static ModelConfig config_with(const char *fixture, const char *key, const char *json)
{
    ModelConfig config = { 0 };
    GError *error = NULL;
    read_with(fixture, key, json, &config, &error);
    g_assert_no_error(error);
    return config;
}

static void settings_that_change_nothing_are_read(void)
{
    static const char *const cases[][3] = {
        { "llama", "rope_scaling", "{\"rope_type\": \"default\"}" },
        { "llama", "rope_scaling", "{\"type\": \"default\"}" },
        { "llama", "rope_scaling", "{\"rope_type\": \"linear\", \"factor\": 1.0}" },
        { "llama", "rope_parameters", "null" },
        { "llama", "rope_parameters", "{\"rope_type\": \"default\"}" },
        { "llama", "rope_parameters", "{\"rope_type\": \"default\", \"rope_theta\": 5000.0}" },
        { "llama", "pretraining_tp", "2" },
        { "xglm", "layerdrop", "0" },
        { "xglm", "layerdrop", "0.1" },
        { "bert", "is_decoder", "null" },
        { "modernbert", "rope_scaling", "{\"rope_type\": \"default\"}" },
    };
    for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
        ModelConfig plain = config_with(cases[i][0], "loam", "null");
        ModelConfig config = config_with(cases[i][0], cases[i][1], cases[i][2]);
        g_assert_true(memcmp(&plain, &config, sizeof plain) == 0);
    }
}

static void settings_that_contradict_each_other_are_refused(void)
{
    static const char *const cases[][4] = {
        { "llama", "rope_parameters", "{\"rope_theta\": 300.0}", "rope_theta is 5000, but rope_theta of its rotary" },
        { "llama", "rope_scaling", "{\"rope_type\": \"linear\", \"factor\": 2.0}", "rope_scaling is {" },
        { "llama", "tie_word_embeddings", "\"no\"", "tie_word_embeddings is neither true nor false" },
        { "xglm", "scale_embedding", "7", "scale_embedding is neither true nor false" },
        { "gpt2", "scale_attn_weights", "null", "scale_attn_weights is null: loam reads true only" },
    };
    for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
        ModelConfig config = { 0 };
        g_autoptr(GError) error = NULL;
        g_assert_null(read_with(cases[i][0], cases[i][1], cases[i][2], &config, &error));
        if (strstr(error->message, cases[i][3]) == NULL)
            g_error("\"%s\" does not say \"%s\"", error->message, cases[i][3]);
    }
}

/* What feed_forward_proj, dense_act_fn and is_gated_act say goes out as it came in. */
static void every_feed_forward_network_of_t5_goes_in_and_out(void)
{
    static const struct {
        const char *json;
        Activation activation;
        bool gated;
        const char *written;
    } cases[] = {
        { "\"feed_forward_proj\": \"gated-silu\"", ACT_SILU, true, "\"gated-silu\"" },
        { "\"feed_forward_proj\": \"gated-gelu\"", ACT_GELU_TANH, true, "\"gated-gelu\"" },
        { "\"feed_forward_proj\": \"gelu\"", ACT_GELU_ERF, false, "\"gelu\"" },
        { "\"feed_forward_proj\": \"gated-gelu\", \"dense_act_fn\": \"gelu\"", ACT_GELU_ERF, true,
          "\"dense_act_fn\": \"gelu\"" },
        { "\"dense_act_fn\": \"gelu_new\"", ACT_GELU_TANH, false, "\"feed_forward_proj\": \"gelu_new\"" },
        { "\"is_gated_act\": true", ACT_RELU, true, "\"gated-relu\"" },
    };
    g_autofree char *path = g_build_filename(scratch, "config.json", NULL);
    for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
        ModelConfig config = { 0 }, again = { 0 };
        g_autofree char *json = g_strdup_printf("{\"model_type\": \"t5\", %s}", cases[i].json);
        g_assert_true(g_file_set_contents(path, json, -1, NULL) && hf_config_read(scratch, &config, NULL));
        g_assert_true(config.activation == (int)cases[i].activation && config.gated == cases[i].gated);
        const TokenRoles roles = token_roles_none();
        json_t *root = hf_config_json(&hf_t5, &config, &roles, "F32");
        char *text = json_dumps(root, 0);
        g_assert_nonnull(strstr(text, cases[i].written));
        g_assert_true(g_file_set_contents(path, text, -1, NULL) && hf_config_read(scratch, &again, NULL));
        g_assert_true(again.activation == config.activation && again.gated == config.gated);
        free(text);
        json_decref(root);
    }
}

static void a_modernbert_without_a_local_theta_has_one_for_all_layers(void)
{
    ModelConfig config = config_with("modernbert", "local_rope_theta", "null");
    g_assert_cmpfloat(config.rotary_local, ==, config.rotary_base);
}

static void the_architecture_of_a_folder_is_stored(void)
{
    g_auto(GStrv) fixtures = fixtures_with("config.json");
    g_autoptr(GHashTable) seen = g_hash_table_new(NULL, NULL);
    for (char **fixture = fixtures; *fixture; fixture++) {
        ModelConfig config = { 0 };
        g_autofree char *folder = g_build_filename(FIXTURES, *fixture, NULL);
        const HfArchitecture *arch = hf_config_read(folder, &config, NULL);
        g_assert_nonnull(arch);
        g_assert_cmpint(config.architecture, !=, ARCHITECTURE_AUTO);
        g_assert_true(hf_architecture(&config) == (arch == &hf_mt5 ? &hf_t5 : arch));
        g_hash_table_add(seen, (gpointer)arch);
    }
    for (size_t i = 0; i < n_architectures; i++)
        if (!g_hash_table_contains(seen, architectures[i]))
            g_error("tests/parity has no model of %s", architectures[i]->model_type);
    ModelConfig config = config_with("roberta", "bos_token_id", "0");
    config.position_offset = 0; /* in a checkpoint of an earlier version it would be a BERT */
    g_assert_cmpstr(hf_architecture(&config)->model_type, ==, "roberta");
    config.architecture = ARCHITECTURE_AUTO;
    g_assert_cmpstr(hf_architecture(&config)->model_type, ==, "bert");
}

static void every_architecture_is_in_the_list_of_import(void)
{
    g_autofree char *page = NULL;
    g_assert_true(g_file_get_contents(LOAM_SOURCE_DIR "/docs/import.md", &page, NULL, NULL));
    for (size_t i = 0; i < n_architectures; i++) {
        g_autofree char *item = g_strdup_printf("- `%s`: ", architectures[i]->model_type);
        if (strstr(page, item) == NULL)
            g_error("docs/import.md does not have %s", item);
    }
}

/* transformers reads a RoBERTa without pad_token_id as one whose positions begin at row 2. */
static void a_roberta_without_a_row_for_padding_is_refused(void)
{
    g_autoptr(GError) error = NULL;
    ModelConfig fitted, config = config_with("roberta", "bos_token_id", "0");
    g_assert_nonnull(hf_architecture_of(&config, &fitted, NULL));
    config.position_offset = 0;
    g_assert_null(hf_architecture_of(&config, &fitted, &error));
    g_assert_nonnull(strstr(error->message, "model.position_offset is 0"));
}

/* transformers 4 scales an mT5's logits where it ties them, transformers 5 never. */
static void the_scale_of_a_tied_mt5_is_its_makers(void)
{
    g_assert_true(config_with("mt5", "tie_word_embeddings", "true").scale_logits);
    g_assert_false(config_with("mt5", "tie_word_embeddings", "false").scale_logits);
    g_assert_false(config_with("mt5-tf5", "tie_word_embeddings", "true").scale_logits);
}

/* A value that is not the option's default. g_free. */
static char *other_value(const OptionRow *row)
{
    switch (row->type) {
    case OPT_BOOL:
        return g_strdup(strcmp(row->default_value, "true") == 0 ? "false" : "true");
    case OPT_ENUM:
        return g_strdup(row->choices[strcmp(row->choices[0], row->default_value) == 0 ? 1 : 0]);
    case OPT_I64:
    case OPT_F64: {
        const double value = g_ascii_strtod(row->default_value, NULL); /* 0 of "auto" */
        return g_strdup_printf("%g", value + 1 > row->max ? row->min + row->max / 3 : value + 1);
    }
    default:
        return g_strdup("other");
    }
}

/* Options whose value stays in an architecture that has no name for it: it changes no model without another option that
 * is set back, or it belongs to the initial weights or to the tokenizer. */
static bool is_kept(const char *name)
{
    static const char *const names[] = { "model.preset",
                                         "model.vocab_multiple",
                                         "model.max_positions",
                                         "model.position_zero",
                                         "model.rotary_base",
                                         "model.qk_layer_scaling",
                                         "model.labels",
                                         "model.head_activation",
                                         "model.tie_embeddings",
                                         "model.init",
                                         "model.init_std",
                                         "model.init_scale_outputs",
                                         "model.init_zero_outputs",
                                         "model.mup",
                                         "model.inner_dropout",
                                         "model.rel_buckets",
                                         "model.rel_max_distance",
                                         "model.width",
                                         "model.ffn",
                                         "model.heads",
                                         "model.head_dim",
                                         "model.vocab",
                                         "model.activation",
                                         "model.norm_eps",
                                         NULL };
    const bool detail = g_str_has_prefix(name, "model.sparse_") && strcmp(name, "model.sparse_pattern") != 0;
    return detail || g_str_has_prefix(name, "lora.") || g_strv_contains(names, name);
}

/* A new option which no architecture of config.json knows must not survive in a model that is read from there. */
static void options_that_no_architecture_names_have_their_defaults(void)
{
    ModelConfig plain, other;
    g_autoptr(GPtrArray) settings = option_settings_new();
    model_config_defaults(&plain);
    other = model_config_copy(&plain);
    for (int i = 0; i < n_model_options; i++) {
        g_autofree char *value = other_value(&model_options[i]);
        option_settings_add(settings, model_options[i].name, value, "test");
    }
    GError *error = NULL;
    options_apply(&model_table, &other, settings, &error);
    g_assert_no_error(error);
    g_autoptr(GPtrArray) all = options_differences(&model_table, &plain, &other, OPT_IDENTITY);
    g_autoptr(GHashTable) fixed = g_hash_table_new(g_str_hash, g_str_equal);
    for (size_t a = 0; a < n_architectures; a++) {
        ModelConfig from_plain = plain, from_other = other;
        hf_fit(architectures[a], &from_plain);
        hf_fit(architectures[a], &from_other);
        g_autoptr(GPtrArray) rows = options_differences(&model_table, &from_plain, &from_other, OPT_IDENTITY);
        for (guint i = 0; i < all->len; i++)
            if (!g_ptr_array_find(rows, all->pdata[i], NULL))
                g_hash_table_add(fixed, (gpointer)((const OptionRow *)all->pdata[i])->name);
    }
    for (guint i = 0; i < all->len; i++) {
        const char *name = ((const OptionRow *)all->pdata[i])->name;
        if (!is_kept(name) && !g_hash_table_contains(fixed, name))
            g_error("%s: no architecture of Hugging Face sets it back", name);
    }
    model_config_clear(&other);
}

int main(int argc, char **argv)
{
    GError *error = NULL;
    g_test_init(&argc, &argv, NULL);
    scratch = g_dir_make_tmp("loam-config-XXXXXX", &error);
    g_assert_no_error(error);
    g_test_add_func("/hf_config/settings_that_change_nothing_are_read", settings_that_change_nothing_are_read);
    g_test_add_func("/hf_config/settings_that_contradict_each_other_are_refused",
                    settings_that_contradict_each_other_are_refused);
    g_test_add_func("/hf_config/every_feed_forward_network_of_t5_goes_in_and_out",
                    every_feed_forward_network_of_t5_goes_in_and_out);
    g_test_add_func("/hf_config/a_modernbert_without_a_local_theta_has_one_for_all_layers",
                    a_modernbert_without_a_local_theta_has_one_for_all_layers);
    g_test_add_func("/hf_config/the_architecture_of_a_folder_is_stored", the_architecture_of_a_folder_is_stored);
    g_test_add_func("/hf_config/every_architecture_is_in_the_list_of_import",
                    every_architecture_is_in_the_list_of_import);
    g_test_add_func("/hf_config/a_roberta_without_a_row_for_padding_is_refused",
                    a_roberta_without_a_row_for_padding_is_refused);
    g_test_add_func("/hf_config/the_scale_of_a_tied_mt5_is_its_makers", the_scale_of_a_tied_mt5_is_its_makers);
    g_test_add_func("/hf_config/options_that_no_architecture_names_have_their_defaults",
                    options_that_no_architecture_names_have_their_defaults);
    int status = g_test_run();
    io_remove_tree(scratch, NULL);
    g_free(scratch);
    return status;
}
