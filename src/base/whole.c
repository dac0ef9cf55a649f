#include "base/whole.h"

#include <inttypes.h>
#include <sys/stat.h>

uint64_t whole_size(int file)
{
    struct stat info;
    return fstat(file, &info) == 0 && S_ISREG(info.st_mode) ? (uint64_t)info.st_size : 0;
}

bool whole_check(const char *path, uint64_t done, uint64_t size, GError **error)
{
    return done >= size || fail_user(error,
                                     "%s: the file was cut while it was read: %" PRIu64 " of the %" PRIu64
                                     " bytes that it had are left; run this again when the file is complete",
                                     path, done, size);
}
