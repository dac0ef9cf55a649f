/* A pair of files, cut from any bytes: an error, or a dataset that can be read to its last token. The first byte is the
 * length of the .bin, which follows; the rest is the .idx. */
#include "base/check.h"
#include "base/file.h"
#include "format/indexed.h"

#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

/* PREFIX.bin and PREFIX.idx are links to files in memory. */
static struct {
    char *prefix;
    int bin, idx;
} files;

static int make(const char *suffix)
{
    int fd = memfd_create("fuzz", MFD_CLOEXEC);
    g_autofree char *link = g_strconcat(files.prefix, suffix, NULL);
    g_autofree char *target = g_strdup_printf("/proc/self/fd/%d", fd);
    CHECK(fd >= 0 && symlink(target, link) == 0, "%s", link);
    return fd;
}

static void clean_up(void)
{
    g_autofree char *folder = g_path_get_dirname(files.prefix);
    io_remove_tree(folder, NULL);
}

static void put(int fd, const uint8_t *data, size_t bytes)
{
    CHECK(ftruncate(fd, 0) == 0 && pwrite(fd, data, bytes, 0) == (ssize_t)bytes, "%zu bytes", bytes);
}

static void read_all(const Indexed *set)
{
    int64_t tokens = 0, at = 0;
    for (int64_t d = 0; d < indexed_documents(set); d++) {
        int64_t first, last;
        indexed_document(set, d, &first, &last);
        CHECK(first == at && last >= first, "document %lld has sequences [%lld, %lld)", (long long)d, (long long)first,
              (long long)last);
        for (at = first; at < last; at++) {
            int64_t n = indexed_length(set, at);
            int32_t out[256];
            CHECK(n <= 256, "%lld tokens from at most 255 bytes", (long long)n);
            indexed_read(set, at, 0, n, out, NULL);
            tokens += n;
        }
    }
    CHECK(at == indexed_sequences(set) && tokens == indexed_tokens(set), "documents do not hold every sequence");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    if (files.prefix == NULL) {
        g_autofree char *folder = g_dir_make_tmp("loam-fuzz-XXXXXX", NULL);
        files.prefix = g_build_filename(folder, "set", NULL);
        files.bin = make(".bin");
        files.idx = make(".idx");
        atexit(clean_up);
    }
    if (bytes == 0)
        return 0;
    size_t bin = MIN(data[0], bytes - 1);
    put(files.bin, data + 1, bin);
    put(files.idx, data + 1 + bin, bytes - 1 - bin);
    g_autoptr(GError) error = NULL;
    Indexed *set = indexed_open(files.prefix, &error);
    CHECK((set == NULL) == (error != NULL), "an error or a dataset, not both");
    if (set)
        read_all(set);
    indexed_close(set);
    return 0;
}
