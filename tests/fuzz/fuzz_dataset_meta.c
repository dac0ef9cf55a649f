/* Any bytes as a dataset's PREFIX.json: an error that names the file, or facts that read back as they were written. */
#include "data/dataset/dataset.h"
#include "fuzz_folder.h"

#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    DatasetMeta meta = { 0 }, again = { 0 };
    g_autoptr(GError) error = NULL;
    g_autofree char *path = g_build_filename(fuzz_folder(), "p.json", NULL);
    fuzz_put("p.json", data, bytes);
    bool good = dataset_meta_read(&meta, path, &error);
    CHECK(good == (error == NULL) && (good || strstr(error->message, path)), "an error names the file");
    if (good) {
        CHECK(dataset_meta_write(&meta, path, NULL) && dataset_meta_read(&again, path, NULL), "not written as read");
        CHECK(strcmp(meta.tokenizer_hash, again.tokenizer_hash) == 0 && meta.vocab == again.vocab &&
                  meta.counts.tokens == again.counts.tokens && meta.label_kind == again.label_kind &&
                  g_strcmp0(meta.labels, again.labels) == 0,
              "%s", meta.tokenizer_hash);
        dataset_meta_clear(&meta);
        dataset_meta_clear(&again);
    }
    return 0;
}
