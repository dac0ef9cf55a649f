/* Any bytes as config.json of Hugging Face: an error that names the file, or a model whose own config.json reads back
 * to the same. */
#include "fuzz_folder.h"
#include "model/hf_config.h"

#include <string.h>

static char *written(const HfKind *kind, const ModelConfig *config)
{
    return hf_config_text(kind, config, (HfIds){ 0 }, "F32");
}

static void check_round_trip(const HfKind *kind, const ModelConfig *config)
{
    g_autofree char *text = written(kind, config);
    ModelConfig again = { 0 };
    g_autoptr(GError) error = NULL;
    fuzz_put("config.json", text, strlen(text));
    const HfKind *kind_again = hf_config_read(fuzz_folder(), &again, &error);
    CHECK(kind_again, "%s\n%s", error->message, text);
    again.tie_embeddings = config->tie_embeddings; /* left to the tensors */
    g_autofree char *text_again = written(kind_again, &again);
    CHECK(kind_again == kind && strcmp(text, text_again) == 0, "%s\n%s", text, text_again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    ModelConfig config = { 0 };
    g_autoptr(GError) error = NULL;
    fuzz_put("config.json", data, bytes);
    const HfKind *kind = hf_config_read(fuzz_folder(), &config, &error);
    CHECK((kind == NULL) == (error != NULL), "an error or a model, not both");
    CHECK(kind || strstr(error->message, "config.json"), "%s", error->message);
    ModelConfig fitted;
    if (kind && hf_kind_of(&config, &fitted, NULL) == kind)
        check_round_trip(kind, &config);
    return 0;
}
