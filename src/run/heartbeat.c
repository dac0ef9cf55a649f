#include "run/heartbeat.h"

#include "base/file.h"
#include "base/text.h"

#include <errno.h>
#include <fcntl.h>
#include <glib/gstdio.h>
#include <inttypes.h>
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define READS       3   /* number of attempts to read a file while its rank may be writing it */
#define APART_S     0.5 /* seconds: a rank whose last heartbeat is this much older than another's was lost before it */
#define MAX_SECONDS 1e11
#define TIME_FORMAT "%Y-%m-%d %H:%M:%S UTC"

char *heartbeat_path(const char *dir, int rank)
{
    return g_strdup_printf("%s/" HEARTBEAT_FOLDER "/%04d.json", dir, rank);
}

/* ---- one file ---- */

static bool take_count(const json_t *object, const char *name, int64_t least, int64_t *value)
{
    const json_t *number = json_object_get(object, name);
    *value = json_integer_value(number);
    return json_is_integer(number) && *value >= least;
}

static bool take_int(const json_t *object, const char *name, int least, int *value)
{
    int64_t number;
    bool taken = take_count(object, name, least, &number) && number <= INT32_MAX;
    *value = taken ? (int)number : least;
    return taken;
}

static bool take_seconds(const json_t *object, const char *name, double *value)
{
    const json_t *number = json_object_get(object, name);
    *value = json_number_value(number);
    return json_is_number(number) && *value >= 0 && *value < MAX_SECONDS;
}

/* Copies a text of the JSON object for printing on a terminal: control characters become "?". */
static bool take_text(const json_t *object, const char *name, char *text, size_t room)
{
    const json_t *value = json_object_get(object, name);
    if (!json_is_string(value))
        return false;
    g_strlcpy(text, json_string_value(value), room);
    for (char *c = text; *c; c++)
        if (g_ascii_iscntrl(*c) || (*c & 0x80))
            *c = '?';
    return true;
}

static bool take_beat(const json_t *root, Heartbeat *beat)
{
    int64_t last;
    *beat = (Heartbeat){ .stopping = json_is_true(json_object_get(root, "stopping")) };
    return take_count(root, "beat", 0, &beat->beat) && take_count(root, "last", 0, &last) && last == beat->beat &&
           take_int(root, "rank", 0, &beat->rank) && take_int(root, "ranks", 1, &beat->ranks) &&
           beat->ranks <= HEARTBEAT_RANKS && take_text(root, "host", beat->host, sizeof beat->host) &&
           take_count(root, "pid", 0, &beat->pid) && take_count(root, "step", 0, &beat->step) &&
           take_count(root, "microbatch", 0, &beat->microbatch) &&
           take_text(root, "phase", beat->phase, sizeof beat->phase) &&
           take_text(root, "call", beat->call, sizeof beat->call) && take_seconds(root, "since", &beat->since) &&
           take_seconds(root, "time", &beat->time) && take_int(root, "ended", -1, &beat->ended);
}

bool heartbeat_read(const char *dir, int rank, Heartbeat *beat)
{
    g_autofree char *path = heartbeat_path(dir, rank);
    for (int i = 0; i < READS; i++) {
        size_t bytes;
        g_autofree char *text = io_read_regular(path, HEARTBEAT_BYTES, &bytes, NULL);
        if (text == NULL)
            return false;
        json_auto_t *root = json_loadb(text, bytes, 0, NULL);
        if (take_beat(root, beat) && beat->rank == rank)
            return true;
    }
    return false;
}

/* Copies a name and replaces characters that JSON would have to escape. */
static void plain(char *to, const char *from, size_t room)
{
    g_strlcpy(to, from, room);
    for (char *c = to; *c; c++)
        if (!g_ascii_isprint(*c) || *c == '"' || *c == '\\')
            *c = '?';
}

int heartbeat_write(int folder, const char *name, Heartbeat *beat)
{
    char line[HEARTBEAT_BYTES + 1], host[HEARTBEAT_HOST];
    gint64 now = g_get_real_time() / 100000, since = (gint64)(beat->since * 10);
    beat->time = (double)now / 10;
    beat->beat++;
    plain(host, beat->host, sizeof host);
    int n =
        snprintf(line, sizeof line,
                 "{\"beat\":%" PRId64 ",\"rank\":%d,\"ranks\":%d,\"host\":\"%s\",\"pid\":%" PRId64 ",\"step\":%" PRId64
                 ",\"microbatch\":%" PRId64 ",\"phase\":\"%s\",\"call\":\"%s\","
                 "\"since\":%" PRId64 ".%d,\"time\":%" PRId64 ".%d,\"stopping\":%s,\"ended\":%d,\"last\":%" PRId64 "}",
                 beat->beat, beat->rank, beat->ranks, host, beat->pid, beat->step, beat->microbatch, beat->phase,
                 beat->call, since / 10, (int)(since % 10), now / 10, (int)(now % 10),
                 beat->stopping ? "true" : "false", beat->ended, beat->beat);
    n = MIN(n, HEARTBEAT_BYTES - 1);
    memset(line + n, ' ', sizeof line - (size_t)n);
    line[HEARTBEAT_BYTES - 1] = '\n';
    /* The file is opened for each write, because closing it sends the data to the server of a network file system. */
    int file = openat(folder, name, O_WRONLY | O_CREAT | O_NONBLOCK | O_CLOEXEC, 0666);
    if (file < 0)
        return errno;
    const int problem = pwrite(file, line, HEARTBEAT_BYTES, 0) < 0 ? errno : 0;
    close(file);
    return problem;
}

/* "step 17, microbatch 2, update, waits in all-reduce for 2.0s" */
static void append_place(GString *line, const Heartbeat *beat, double now)
{
    g_autofree char *lasted = text_duration(MAX(now - beat->since, 0));
    g_string_append_printf(line, "step %" PRId64, beat->step);
    if (beat->microbatch)
        g_string_append_printf(line, ", microbatch %" PRId64, beat->microbatch);
    g_string_append_printf(line, ", %s", beat->phase);
    if (*beat->call)
        g_string_append_printf(line, ", waits in %s", beat->call);
    g_string_append_printf(line, " for %s", lasted);
}

double heartbeat_present(const char *dir, const Heartbeat *beat, double now)
{
    GStatBuf info;
    g_autofree char *path = heartbeat_path(dir, beat->rank);
    const double file_age = g_stat(path, &info) == 0 ? fabs(now - (double)info.st_mtime) : INFINITY;
    return beat->time + fmin(fabs(now - beat->time), file_age);
}

char *heartbeat_describe(const Heartbeat *beat, double now)
{
    GString *line = g_string_new(NULL);
    g_string_append_printf(line, "rank %d on %s (process %" PRId64 "): ", beat->rank, beat->host, beat->pid);
    append_place(line, beat, now);
    return g_string_free(line, FALSE);
}

/* ---- all ranks ---- */

/* Whether two ranks stand in the same place, or ended with the same status. */
static bool alike(const Heartbeat *a, const Heartbeat *b)
{
    if (a->ended >= 0 || b->ended >= 0)
        return a->ended == b->ended;
    return a->step == b->step && a->microbatch == b->microbatch && strcmp(a->phase, b->phase) == 0 &&
           strcmp(a->call, b->call) == 0;
}

/* "ranks 0, 2-7: …", of all ranks that stand as beats[first] does; those of them that follow it are marked as told.
 * now: by the clock of that rank's host. */
static void append_ranks(GString *lines, const Heartbeat *beats, bool *told, int n, int first, double now)
{
    g_autoptr(GString) names = g_string_new(NULL);
    int ranks = 0;
    for (int r = first; r < n; r++) {
        int end = r;
        while (end < n && !told[end] && alike(&beats[end], &beats[first]))
            told[end++] = true;
        if (end == r)
            continue;
        g_string_append_printf(names, "%s%d", ranks ? ", " : "", beats[r].rank);
        if (end > r + 1)
            g_string_append_printf(names, "-%d", beats[end - 1].rank);
        ranks += end - r;
        r = end - 1;
    }
    const Heartbeat *beat = &beats[first];
    if (ranks == 1)
        g_string_append_printf(lines, "rank %d on %s (process %" PRId64 "): ", beat->rank, beat->host, beat->pid);
    else
        g_string_append_printf(lines, "ranks %s: ", names->str);
    if (beat->ended >= 0)
        g_string_append_printf(lines, "ended with status %d", beat->ended);
    else
        append_place(lines, beat, now);
}

char *heartbeat_places(const char *dir, double now)
{
    Heartbeat beat;
    const int ranks = heartbeat_read(dir, 0, &beat) || heartbeat_read(dir, 1, &beat) ? beat.ranks : 0;
    g_autofree Heartbeat *beats = g_new0(Heartbeat, ranks);
    g_autofree bool *told = g_new0(bool, ranks);
    GString *lines = g_string_new(NULL);
    int n = 0, places = 0;
    for (int r = 0; r < ranks; r++)
        n += heartbeat_read(dir, r, &beats[n]);
    for (int i = 0; i < n; i++) {
        if (told[i])
            continue;
        if (places++ == HEARTBEAT_PLACES) {
            g_string_append(lines, "\nothers stand elsewhere: look into the run's folder ranks");
            break;
        }
        g_string_append(lines, places > 1 ? "\n" : "");
        append_ranks(lines, beats, told, n, i, heartbeat_present(dir, &beats[i], now));
    }
    return g_string_free(lines, n == 0);
}

/* ---- how a run ended ---- */

/* Whether rank `a` was lost before `b`; both ended without an exit status. A rank that the launcher ended because
 * another one died was asked to stop first (`stopping`) and lived longer. */
static bool lost_before(const Heartbeat *a, const Heartbeat *b)
{
    return a->stopping != b->stopping ? b->stopping : a->time < b->time;
}

/* Whether it is certain that `first` was lost before `other`. */
static bool lost_apart(const Heartbeat *first, const Heartbeat *other)
{
    return first->stopping != other->stopping || other->time - first->time > APART_S;
}

static char *clock_text(double time)
{
    g_autoptr(GDateTime) at = g_date_time_new_from_unix_utc((gint64)time);
    return g_date_time_format(at, TIME_FORMAT);
}

/* "; the other 3 ranks were seen up to 1.2s longer, …" */
static void append_others(GString *line, const Heartbeat *first, int n_lost, const Heartbeat *latest, bool apart)
{
    if (first->ranks == 1)
        return;
    g_autofree char *longer = text_duration(latest->time - first->time);
    if (n_lost > 1 && !apart)
        g_string_append_printf(line, "; %d of %d ranks vanished together", n_lost, first->ranks);
    else if (n_lost > 1)
        g_string_append_printf(line, "; the others were seen up to %s longer, so look there first", longer);
    else
        g_string_append_printf(line, "; no other of the %d ranks vanished", first->ranks);
}

char *heartbeat_last_words(const char *dir)
{
    Heartbeat beat, first = { 0 }, latest = { 0 };
    int ranks = heartbeat_read(dir, 0, &beat) ? beat.ranks : 0, n_lost = 0;
    bool apart = true;
    for (int r = 0; r < ranks; r++) {
        if (!heartbeat_read(dir, r, &beat) || beat.ended >= 0)
            continue;
        if (n_lost == 0 || lost_before(&beat, &first)) {
            apart = n_lost == 0 || lost_apart(&beat, &first);
            first = beat;
        } else {
            apart = apart && lost_apart(&first, &beat);
        }
        latest = n_lost == 0 || beat.time > latest.time ? beat : latest;
        n_lost++;
    }
    if (n_lost == 0)
        return NULL;
    g_autofree char *seen = clock_text(first.time), *stood = heartbeat_describe(&first, first.time);
    g_autoptr(GString) line = g_string_new(NULL);
    g_string_append_printf(line, "the last start of this run ended without a word: %s, last seen %s", stood, seen);
    append_others(line, &first, n_lost, &latest, apart);
    return g_string_free(g_steal_pointer(&line), FALSE);
}

/* The paths of all heartbeats in `dir`. */
static GPtrArray *all_paths(const char *dir)
{
    GPtrArray *paths = g_ptr_array_new_with_free_func(g_free);
    g_autofree char *folder = g_build_filename(dir, HEARTBEAT_FOLDER, NULL);
    g_autoptr(GDir) entries = g_dir_open(folder, 0, NULL);
    const char *name;
    while (entries && (name = g_dir_read_name(entries)))
        if (g_ascii_isdigit(*name) && g_str_has_suffix(name, ".json"))
            g_ptr_array_add(paths, g_build_filename(folder, name, NULL));
    return paths;
}

/* Gives a file the time at which another one was written. */
static void copy_time(const char *to, const char *from)
{
    struct stat info;
    if (stat(from, &info) == 0)
        utimensat(AT_FDCWD, to, (struct timespec[]){ info.st_mtim, info.st_mtim }, 0);
}

bool heartbeat_copy_all(const char *to, const char *from, GError **error)
{
    g_autoptr(GPtrArray) paths = all_paths(from);
    g_autofree char *folder = g_build_filename(to, HEARTBEAT_FOLDER, NULL);
    bool copied = io_make_directories(folder, error);
    heartbeat_clear(to);
    for (guint i = 0; copied && i < paths->len; i++) {
        const char *path = paths->pdata[i];
        g_autofree char *name = g_path_get_basename(path), *copy = g_build_filename(folder, name, NULL);
        copied = io_copy_file(path, copy, error);
        copy_time(copy, path);
    }
    return copied;
}

void heartbeat_clear(const char *dir)
{
    g_autoptr(GPtrArray) paths = all_paths(dir);
    for (guint i = 0; i < paths->len; i++)
        unlink(paths->pdata[i]);
}
