#include "data/prepare/repeats.h"

#include "base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#define FIRST_SLOTS ((uint64_t)1 << 16)

typedef struct Hash {
    uint64_t low, high; /* both 0 in a free slot */
} Hash;

struct SeenTable {
    char *folder;
    Hash *slots;
    uint64_t n_slots, n_used; /* n_slots: a power of two, at most half of them used */
};

/* Maps zeroed slots from a file without a name. Disk blocks are allocated beforehand, since the kernel kills a
 * program that writes to a mapping when the disk is full. */
static Hash *map_slots(const char *folder, uint64_t n_slots, GError **error)
{
    size_t bytes = n_slots * sizeof(Hash);
    int fd = io_scratch(folder, error);
    if (fd < 0)
        return NULL;
    void *slots = MAP_FAILED;
    errno = posix_fallocate(fd, 0, (off_t)bytes);
    if (errno == 0)
        slots = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (slots == MAP_FAILED)
        fail_errno(error, "no room for the table of seen documents in", folder);
    close(fd);
    return slots == MAP_FAILED ? NULL : slots;
}

SeenTable *seen_table_open(const char *folder, GError **error)
{
    Hash *slots = map_slots(folder, FIRST_SLOTS, error);
    if (!slots)
        return NULL;
    SeenTable *table = g_new0(SeenTable, 1);
    table->folder = g_strdup(folder);
    table->slots = slots;
    table->n_slots = FIRST_SLOTS;
    return table;
}

void seen_table_close(SeenTable *table)
{
    if (!table)
        return;
    munmap(table->slots, table->n_slots * sizeof(Hash));
    g_free(table->folder);
    g_free(table);
}

static bool is_free(Hash slot)
{
    return slot.low == 0 && slot.high == 0;
}

/* The slot that holds the hash, or the free slot for it. */
static Hash *find_slot(Hash *slots, uint64_t n_slots, Hash hash)
{
    uint64_t at = hash.low & (n_slots - 1);
    while (!is_free(slots[at]) && (slots[at].low != hash.low || slots[at].high != hash.high))
        at = (at + 1) & (n_slots - 1);
    return &slots[at];
}

static bool grow(SeenTable *table, GError **error)
{
    uint64_t n_slots = 2 * table->n_slots;
    Hash *slots = map_slots(table->folder, n_slots, error);
    if (!slots)
        return false;
    for (uint64_t i = 0; i < table->n_slots; i++)
        if (!is_free(table->slots[i]))
            *find_slot(slots, n_slots, table->slots[i]) = table->slots[i];
    munmap(table->slots, table->n_slots * sizeof(Hash));
    table->slots = slots;
    table->n_slots = n_slots;
    return true;
}

bool seen_table_add(SeenTable *table, uint64_t low, uint64_t high, bool *fresh, GError **error)
{
    Hash hash = { low, high };
    if (is_free(hash))
        hash.high = 1;
    if (2 * table->n_used >= table->n_slots && !grow(table, error))
        return false;
    Hash *slot = find_slot(table->slots, table->n_slots, hash);
    *fresh = is_free(*slot);
    if (*fresh) {
        *slot = hash;
        table->n_used++;
    }
    return true;
}
