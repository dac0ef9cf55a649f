/* Any bytes as fairseq's dict.txt: an error that names the file, or a dictionary no larger than its file. */
#include "base/check.h"
#include "format/fairseq_dict.h"

#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    int fd = memfd_create("dict", MFD_CLOEXEC);
    g_autofree char *path = g_strdup_printf("/proc/self/fd/%d", fd);
    CHECK(fd >= 0 && write(fd, data, bytes) == (ssize_t)bytes, "%zu bytes", bytes);
    g_autoptr(GError) error = NULL;
    FairseqDict *dict = fairseq_dict_read(path, &error);
    CHECK((dict == NULL) == (error != NULL), "an error or a dictionary, not both");
    CHECK(dict || strstr(error->message, path), "%s", error->message);
    if (dict)
        CHECK(dict->symbols->len == dict->counts->len && fairseq_dict_size(dict) <= (int64_t)bytes + FAIRSEQ_SPECIALS,
              "%lld symbols", (long long)fairseq_dict_size(dict));
    fairseq_dict_free(dict);
    close(fd);
    return 0;
}
