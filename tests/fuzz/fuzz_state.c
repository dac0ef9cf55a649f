/* Any bytes, and any JSON object sealed with its right checksum, as the state.json of a checkpoint: an error, or a
 * model and a state. */
#include "fuzz_folder.h"
#include "run/checkpoint/format.h"

#include <string.h>

static bool load(const ModelConfig *config, TrainState *state)
{
    Device *null = device_open_null();
    Model *model = model_open(null, config, false, NULL);
    TokenRoles roles = token_roles_none();
    const Checkpoint checkpoint = { .model = config, .state = state, .roles = &roles };
    bool loaded = model && checkpoint_load(fuzz_folder(), &checkpoint, NULL);
    token_roles_clear(&roles);
    if (model)
        model_close(model);
    device_close(null);
    return loaded;
}

static void read_all(void)
{
    g_autoptr(GError) error = NULL;
    g_autofree char *hash = NULL;
    ModelConfig config = { 0 };
    TrainState state = { 0 };
    bool good = checkpoint_config(fuzz_folder(), &config, &hash, &error);
    CHECK(good || error, "no error");
    if (good && config.n_enc + config.n_dec <= 4) /* more blocks are more of the same, slowly */
        load(&config, &state);
    model_config_clear(&config);
    checkpoint_verify(fuzz_folder(), NULL);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    json_t *root = json_loadb((const char *)data, bytes, JSON_REJECT_DUPLICATES, NULL);
    if (json_is_object(root)) {
        checkpoint_seal(root);
        char *text = json_dumps(root, JSON_COMPACT);
        fuzz_put("state.json", text, strlen(text));
        free(text);
    } else {
        fuzz_put("state.json", data, bytes);
    }
    read_all();
    json_decref(root);
    return 0;
}
