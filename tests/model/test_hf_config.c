/* config.json: settings that change nothing are read, and those that do change the model. */
#include "base/file.h"
#include "model/hf/config_json.h"

#include <string.h>

#define FIXTURES LOAM_SOURCE_DIR "/tests/parity/"

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
    static const char *const fixtures[] = {
        "bert", "gpt2", "llama", "modernbert", "roberta", "t5-v1.1", "umt5", "xglm"
    };
    for (size_t i = 0; i < G_N_ELEMENTS(fixtures); i++) {
        ModelConfig config = { 0 };
        g_autofree char *folder = g_build_filename(FIXTURES, fixtures[i], NULL);
        const HfArchitecture *arch = hf_config_read(folder, &config, NULL);
        g_assert_nonnull(arch);
        g_assert_cmpint(config.architecture, !=, ARCHITECTURE_AUTO);
        g_assert_true(hf_architecture(&config) == arch);
    }
    ModelConfig config = config_with("roberta", "bos_token_id", "0");
    config.position_offset = 0; /* in a checkpoint of an earlier version it would be a BERT */
    g_assert_cmpstr(hf_architecture(&config)->model_type, ==, "roberta");
    config.architecture = ARCHITECTURE_AUTO;
    g_assert_cmpstr(hf_architecture(&config)->model_type, ==, "bert");
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
    g_test_add_func("/hf_config/a_roberta_without_a_row_for_padding_is_refused",
                    a_roberta_without_a_row_for_padding_is_refused);
    g_test_add_func("/hf_config/the_scale_of_a_tied_mt5_is_its_makers", the_scale_of_a_tied_mt5_is_its_makers);
    int status = g_test_run();
    io_remove_tree(scratch, NULL);
    g_free(scratch);
    return status;
}
