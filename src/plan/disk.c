#include "plan/disk.h"

#include "base/log.h"
#include "base/text.h"
#include "run/run_dir.h"

#include <inttypes.h>
#include <string.h>
#include <sys/statvfs.h>

/* The number of saves; INT64_MAX means unknown. */
static int64_t count_saves(const Config *config, int64_t steps, int64_t epoch_samples)
{
    const TrainConfig *train = &config->train;
    const int64_t every = *train->save_phases ? 1 : config_steps(config, train->save_every, epoch_samples);
    return steps > 0 && every > 0 && train->save_every.unit != UNIT_SECONDS ? steps / every + 1 : INT64_MAX;
}

int64_t disk_checkpoints(const Config *config, int64_t steps, int64_t epoch_samples, bool evaluates)
{
    const TrainConfig *train = &config->train;
    const int64_t saves = count_saves(config, steps, epoch_samples), best = evaluates ? train->keep_best : 0,
                  spikes = train->spike > 0 ? 2 : 0,
                  periodic = train->keep_every > 0 && steps > 0 ? steps / train->keep_every : 0;
    return MIN(train->keep_last, saves) + MIN(best, saves) + spikes + periodic + 1;
}

char *disk_describe(int64_t checkpoints, size_t checkpoint_bytes)
{
    g_autofree char *one = text_bytes(checkpoint_bytes), *all = text_bytes((size_t)checkpoints * checkpoint_bytes);
    return g_strdup_printf("up to %" PRId64 " checkpoints of %s: %s", checkpoints, one, all);
}

/* Bytes that a user may still write on the disk of `dir`; SIZE_MAX means unknown, as on some network file systems. */
static size_t free_bytes(const char *dir)
{
    struct statvfs disk;
    g_autofree char *at = g_canonicalize_filename(dir, NULL);
    while (!g_file_test(at, G_FILE_TEST_EXISTS) && strlen(at) > 1) {
        char *parent = g_path_get_dirname(at);
        g_free(at);
        at = parent;
    }
    return statvfs(at, &disk) < 0 || disk.f_blocks == 0 ? SIZE_MAX : (size_t)disk.f_bavail * disk.f_frsize;
}

bool disk_check(const char *dir, int64_t checkpoints, size_t bytes, GError **error)
{
    const size_t there = free_bytes(dir);
    g_autoptr(GArray) steps = run_checkpoints(dir);
    g_autofree char *one = text_bytes(bytes), *has = text_bytes(there), *most = disk_describe(checkpoints, bytes);
    if (there < bytes)
        return fail_machine(error,
                            "a checkpoint takes %s, and %s has %s free: no save would succeed; make room, or choose "
                            "another run.dir",
                            one, dir, has);
    if (there / bytes < (size_t)MAX(checkpoints - steps->len, 0))
        log_warning("the run has %s at a time, and %s has %s free: later saves would fail; make room, or keep fewer by "
                    "train.keep_last",
                    most, dir, has);
    return true;
}
