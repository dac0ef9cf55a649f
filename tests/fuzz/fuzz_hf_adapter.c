/* Any bytes as adapter_config.json of PEFT: an error that names the file, or an adapter whose numbers are in range. */
#include "fuzz_folder.h"
#include "model/hf/adapter.h"

#include <math.h>
#include <string.h>

static const char base[] = "{\"model_type\": \"t5\", \"vocab_size\": 40}", no_tensors[] = "\x02\0\0\0\0\0\0\0{}";

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    HfAdapter adapter;
    g_autoptr(GError) error = NULL;
    fuzz_keep("config.json", base, strlen(base));
    fuzz_keep("adapter_model.safetensors", no_tensors, sizeof no_tensors - 1);
    fuzz_put(HF_ADAPTER_CONFIG, data, bytes);
    bool opened = hf_adapter_open(&adapter, fuzz_folder(), &error);
    CHECK(opened == (error == NULL), "an error or an adapter, not both");
    CHECK(opened || strstr(error->message, HF_ADAPTER_CONFIG), "%s", error->message);
    const LoraConfig *lora = &adapter.lora;
    CHECK(!opened || (lora->rank >= 1 && lora->rank <= 4096), "rank %d", (int)lora->rank);
    CHECK(!opened || (lora->alpha > 0 && lora->alpha <= 1e6), "alpha %g", lora->alpha);
    CHECK(!opened || (lora->dropout >= 0 && lora->dropout < 1), "dropout %g", lora->dropout);
    CHECK(!opened || adapter.base, "no base");
    hf_adapter_close(&adapter);
    return 0;
}
