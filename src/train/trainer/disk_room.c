#include "train/trainer/disk_room.h"

#include "base/text.h"
#include "train/run_dir.h"

#include <sys/statvfs.h>

bool disk_room_check(const char *dir, size_t bytes, GError **error)
{
    struct statvfs disk;
    if (!run_remove_unfinished(dir, error))
        return false;
    if (statvfs(dir, &disk) < 0 || disk.f_blocks == 0) /* unknown, on some network file systems */
        return true;
    size_t there = (size_t)disk.f_bavail * disk.f_frsize;
    if (there >= bytes)
        return true;
    g_autofree char *needed = text_bytes(bytes), *has = text_bytes(there);
    return fail_machine(error,
                        "a checkpoint takes %s, and %s has %s free: no save would succeed; make room, or choose "
                        "another run.dir",
                        needed, dir, has);
}
