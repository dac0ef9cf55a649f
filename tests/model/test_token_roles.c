#include "architectures.h"
#include "base/file.h"
#include "model/hf/config_json.h"

#include <string.h>

static char *folder;

static void put(const char *name, const char *text)
{
    g_autofree char *path = g_build_filename(folder, name, NULL);
    if (text)
        g_assert_true(io_write_file(path, text, strlen(text), NULL));
    else
        remove(path);
}

/* Reads the two files as those of a model of 100 ids. */
static bool read_files(const HfArchitecture *arch, const char *config_json, const char *generation_json,
                       TokenRoles *roles, GError **error)
{
    const ModelConfig config = { .family = (int)arch->family,
                                 .n_enc = arch->family != FAMILY_GPT,
                                 .n_dec = arch->family != FAMILY_BERT,
                                 .vocab = 100 };
    *roles = token_roles_none();
    put("config.json", config_json);
    put("generation_config.json", generation_json);
    return hf_roles_read(folder, arch, &config, roles, error);
}

static void generation_config_wins_over_config(void)
{
    TokenRoles roles;
    g_assert_true(read_files(&hf_llama, "{\"eos_token_id\": 2, \"bos_token_id\": 1, \"pad_token_id\": -1}",
                             "{\"eos_token_id\": [3, 7], \"bos_token_id\": 4, \"top_p\": 0.9}", &roles, NULL));
    g_assert_cmpint(roles.eos.n, ==, 2);
    g_assert_true(token_list_has(&roles.eos, 3) && token_list_has(&roles.eos, 7));
    g_assert_cmpint(roles.bos, ==, 4);
    g_assert_cmpint(roles.pad, ==, -1);
    g_assert_cmpuint(json_object_size(roles.generation), ==, 1);
    token_roles_clear(&roles);
}

/* Training starts as config.json says, generation as its own file says. */
static void a_decoder_starts_as_its_files_say(void)
{
    TokenRoles roles;
    g_assert_true(read_files(&hf_t5, "{\"pad_token_id\": 3, \"decoder_start_token_id\": 5}", NULL, &roles, NULL));
    g_assert_cmpint(roles.decoder_start, ==, 5);
    g_assert_cmpint(roles.generation_start, ==, -1);
    token_roles_clear(&roles);
    g_assert_true(read_files(&hf_t5, "{\"pad_token_id\": 3}", "{\"decoder_start_token_id\": 6}", &roles, NULL));
    g_assert_cmpint(roles.decoder_start, ==, 3);
    g_assert_cmpint(roles.generation_start, ==, 6);
    token_roles_clear(&roles);
    g_assert_true(read_files(&hf_t5, "{}", NULL, &roles, NULL));
    g_assert_cmpint(roles.decoder_start, ==, 0);
    g_assert_cmpint(roles.pad, ==, 0);
    g_assert_true(roles.eos.n == 1 && roles.eos.ids[0] == 1);
    token_roles_clear(&roles);
}

/* A file of a small model may keep the ids of the big one it was cut from. */
static void ids_beyond_the_vocabulary_are_left_out(void)
{
    TokenRoles roles;
    g_assert_true(read_files(&hf_gpt2, "{}", NULL, &roles, NULL)); /* 50256, if nothing is said */
    g_assert_cmpint(roles.eos.n, ==, 0);
    g_assert_cmpint(roles.bos, ==, -1);
    token_roles_clear(&roles);
    g_assert_true(read_files(&hf_gpt2, "{\"eos_token_id\": null}", NULL, &roles, NULL));
    g_assert_cmpint(roles.eos.n, ==, 0);
    token_roles_clear(&roles);
}

/* Absent keys would be transformers' own ids, by which answers end. */
static void a_model_without_ends_goes_out_without_them(void)
{
    for (size_t i = 0; i < n_architectures; i++) {
        if (architectures[i]->family == FAMILY_BERT)
            continue;
        ModelConfig config;
        TokenRoles roles;
        model_config_defaults(&config);
        g_assert_true(
            read_files(architectures[i], "{\"eos_token_id\": null, \"bos_token_id\": null}", NULL, &roles, NULL));
        json_t *root = hf_config_json(architectures[i], &config, &roles, "F32");
        char *text = json_dumps(root, 0);
        token_roles_clear(&roles);
        g_assert_true(read_files(architectures[i], text, NULL, &roles, NULL));
        free(text);
        json_decref(root);
        g_assert_cmpint(roles.eos.n, ==, 0);
        g_assert_cmpint(roles.bos, ==, -1);
        token_roles_clear(&roles);
    }
}

static void several_ends_stay_with_every_architecture(void)
{
    for (size_t i = 0; i < n_architectures; i++) {
        ModelConfig config;
        TokenRoles roles;
        model_config_defaults(&config);
        config.global_every = 1;
        g_assert_true(read_files(architectures[i], "{\"eos_token_id\": [1, 2]}", NULL, &roles, NULL));
        json_t *root = hf_config_json(architectures[i], &config, &roles, "F32");
        g_assert_cmpuint(json_array_size(json_object_get(root, "eos_token_id")), ==, 2);
        json_decref(root);
        token_roles_clear(&roles);
    }
}

static void settings_in_config_are_those_of_generation(void)
{
    TokenRoles roles;
    g_assert_true(read_files(&hf_gpt2, "{\"do_sample\": true, \"top_k\": 7, \"n_layer\": 2, \"top_p\": null}", NULL,
                             &roles, NULL));
    g_assert_cmpuint(json_object_size(roles.generation), ==, 2);
    g_assert_cmpint((int)json_integer_value(json_object_get(roles.generation, "top_k")), ==, 7);
    token_roles_clear(&roles);
}

static void what_is_no_id_is_refused_by_name(void)
{
    static const char *const wrong[][3] = {
        { "{\"eos_token_id\": \"</s>\"}", NULL, "/config.json: eos_token_id is not a token id" },
        { "{\"eos_token_id\": 1}", "{\"eos_token_id\": [1, 2.5]}",
          "/generation_config.json: eos_token_id is not a token id" },
        { "{\"decoder_start_token_id\": 100}", NULL, "decoder_start_token_id is 100; the model's ids are 0 to 99" },
        { "{}", "{\"top_k\": ", "generation_config.json:1: " },
        { "{}", "[]", "generation_config.json: not a JSON object" },
    };
    for (size_t i = 0; i < G_N_ELEMENTS(wrong); i++) {
        TokenRoles roles;
        g_autoptr(GError) error = NULL;
        g_assert_false(read_files(&hf_t5, wrong[i][0], wrong[i][1], &roles, &error));
        g_assert_error(error, LOAM_ERROR, LOAM_ERROR_USER);
        g_assert_nonnull(strstr(error->message, wrong[i][2]));
        token_roles_clear(&roles);
    }
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    folder = g_dir_make_tmp("loam-roles-XXXXXX", NULL);
    g_test_add_func("/roles/generation_config_wins_over_config", generation_config_wins_over_config);
    g_test_add_func("/roles/a_decoder_starts_as_its_files_say", a_decoder_starts_as_its_files_say);
    g_test_add_func("/roles/ids_beyond_the_vocabulary_are_left_out", ids_beyond_the_vocabulary_are_left_out);
    g_test_add_func("/roles/a_model_without_ends_goes_out_without_them", a_model_without_ends_goes_out_without_them);
    g_test_add_func("/roles/several_ends_stay_with_every_architecture", several_ends_stay_with_every_architecture);
    g_test_add_func("/roles/settings_in_config_are_those_of_generation", settings_in_config_are_those_of_generation);
    g_test_add_func("/roles/what_is_no_id_is_refused_by_name", what_is_no_id_is_refused_by_name);
    int status = g_test_run();
    io_remove_tree(folder, NULL);
    g_free(folder);
    return status;
}
