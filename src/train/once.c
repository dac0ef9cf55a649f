#include "train/once.h"

#include "base/machine.h"

#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>

typedef struct Key {
    char text[ONCE_KEY];
} Key;

uint64_t ranks_once(Comm *ranks, const char *key, OnceFn fn, const void *context)
{
    const int size = comm_size(ranks), rank = comm_rank(ranks);
    g_autofree Key *keys = g_new0(Key, size);
    g_autofree uint64_t *values = g_new0(uint64_t, size);
    Key own = { 0 };
    int first = 0;
    g_strlcpy(own.text, key, ONCE_KEY);
    comm_share(ranks, keys, &own, sizeof own);
    while (first < rank && (*key == '\0' || memcmp(keys[first].text, own.text, ONCE_KEY) != 0))
        first++;
    const uint64_t value = first == rank ? fn(context) : 0;
    comm_share(ranks, values, &value, sizeof value);
    return values[first];
}

void once_key_of_path(char key[ONCE_KEY], const char *path)
{
    struct stat status;
    char boot[MACHINE_BOOT_ID];
    machine_boot_id(boot);
    *key = '\0';
    if (*boot && stat(path, &status) == 0)
        g_snprintf(key, ONCE_KEY, "%s %" PRIu64 " %" PRIu64, boot, (uint64_t)status.st_dev, (uint64_t)status.st_ino);
}
