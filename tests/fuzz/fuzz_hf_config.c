/* Any bytes as config.json of Hugging Face: an error that names the file, or a model whose own config.json reads back
 * to the same. */
#include "fuzz_folder.h"
#include "model/hf/config_json.h"

#include <string.h>

static char *written(const HfArchitecture *arch, const ModelConfig *config)
{
    TokenRoles roles = token_roles_none();
    json_t *root = hf_config_json(arch, config, &roles, "F32");
    char *json = json_dumps(root, JSON_SORT_KEYS | JSON_REAL_PRECISION(15)), *text = g_strdup(json);
    free(json);
    json_decref(root);
    return text;
}

static void check_round_trip(const HfArchitecture *arch, const ModelConfig *config)
{
    g_autofree char *text = written(arch, config);
    ModelConfig again = { 0 };
    g_autoptr(GError) error = NULL;
    fuzz_put("config.json", text, strlen(text));
    const HfArchitecture *arch_again = hf_config_read(fuzz_folder(), &again, &error);
    CHECK(arch_again, "%s\n%s", error->message, text);
    again.tie_embeddings = config->tie_embeddings; /* left to the tensors */
    g_autofree char *text_again = written(arch_again, &again);
    CHECK(arch_again == arch && strcmp(text, text_again) == 0, "%s\n%s", text, text_again);
}

/* The same bytes as generation_config.json too: an error that names a file, or ids that the model has. */
static void check_roles(const HfArchitecture *arch, const ModelConfig *config)
{
    TokenRoles roles = token_roles_none(), again = token_roles_none();
    g_autoptr(GError) error = NULL;
    if (hf_roles_read(fuzz_folder(), arch, config, &roles, &error)) {
        json_t *object = token_roles_json(&roles), *settings = hf_roles_generation(&roles, config, config->vocab);
        CHECK(token_roles_parse(&again, object, config->vocab, &error), "%s", error->message);
        json_decref(object);
        json_decref(settings);
    } else {
        CHECK(strstr(error->message, "config.json"), "%s", error->message);
    }
    token_roles_clear(&roles);
    token_roles_clear(&again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    ModelConfig config = { 0 };
    g_autoptr(GError) error = NULL;
    fuzz_put("config.json", data, bytes);
    fuzz_put("generation_config.json", data, bytes);
    const HfArchitecture *arch = hf_config_read(fuzz_folder(), &config, &error);
    CHECK((arch == NULL) == (error != NULL), "an error or a model, not both");
    CHECK(arch || strstr(error->message, "config.json"), "%s", error->message);
    if (arch)
        check_roles(arch, &config);
    ModelConfig fitted;
    if (arch && hf_architecture_of(&config, &fitted, NULL) == arch)
        check_round_trip(arch, &config);
    return 0;
}
