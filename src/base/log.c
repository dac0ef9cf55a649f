#include "base/log.h"

#include "base/clock.h"
#include "base/fault.h"
#include "base/file.h"
#include "base/text.h"

#include <errno.h>
#include <inttypes.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#define REDRAW_S   0.1
#define BAR_CELLS  24
#define CLEAR_LINE "\r\033[K"

/* The progress bar; `what` NULL means that there is none. */
typedef struct Progress {
    char *what, *unit, *note;
    uint64_t total, done;
    uint64_t first_done;     /* count at the first update; a resumed run does not start at 0 */
    double first_s, drawn_s; /* when it was first updated, last drawn */
    bool updated;
} Progress;

/* A log file. */
typedef struct LogFile {
    IoFile *io;     /* NULL means that lines are not written to a file */
    int64_t missed; /* lines since the last one that could be written */
} LogFile;

static GMutex lock;    /* guards everything below, and keeps lines on standard error whole */
static LogFile common; /* of all threads that have no file of their own */
static Progress bar;
static atomic_bool unread;
static atomic_int process_rank;

static _Thread_local int thread_rank = -1; /* of a thread that speaks for one rank; -1 means that of the process */
static _Thread_local LogFile own;          /* of a thread that speaks for a rank above 0 */

void log_set_rank(int rank, bool process)
{
    if (process)
        process_rank = rank;
    else
        thread_rank = rank;
}

bool log_speaks(void)
{
    return (thread_rank >= 0 ? thread_rank : process_rank) == 0;
}

static LogFile *current_file(void)
{
    return thread_rank > 0 ? &own : &common;
}

static void write_stderr(const char *text)
{
    size_t bytes = strlen(text);
    if (fwrite(text, 1, bytes, stderr) < bytes && errno == EPIPE)
        unread = true;
    fflush(stderr);
}

bool log_unread(void)
{
    return unread;
}

int log_columns(int descriptor)
{
    struct winsize size;
    return ioctl(descriptor, TIOCGWINSZ, &size) != 0 ? 0 : size.ws_col > 0 ? size.ws_col : 80;
}

static int terminal_columns(void)
{
    const int columns = log_columns(STDERR_FILENO);
    return columns > 0 ? columns : 80;
}

static char *amount_text(uint64_t n)
{
    return strcmp(bar.unit, "B") == 0 ? text_bytes(n) : text_count((double)n);
}

/* Appends the percentage that is done, and a bar of `cells` characters if those are at least 4. */
static void append_bar(GString *line, int cells)
{
    double fraction = MIN(1.0, (double)bar.done / (double)bar.total);
    int filled = (int)(fraction * cells);
    g_string_append_printf(line, " %3d%%", (int)(fraction * 100));
    if (cells < 4)
        return;
    g_string_append(line, " [");
    for (int i = 0; i < cells; i++)
        g_string_append_c(line, i < filled ? '=' : ' ');
    g_string_append_c(line, ']');
}

/* Appends count, rate and time left. The rate is measured from the first update on. */
static void append_numbers(GString *line, double now)
{
    bool bytes = strcmp(bar.unit, "B") == 0;
    g_autofree char *done = amount_text(bar.done);
    g_string_append_printf(line, " %s", done);
    if (bar.total > 0) {
        g_autofree char *total = amount_text(bar.total);
        g_string_append_printf(line, "/%s", total);
    }
    if (!bytes)
        g_string_append_printf(line, " %s", bar.unit);
    double elapsed = now - bar.first_s;
    if (!bar.updated || elapsed <= 0 || bar.done <= bar.first_done)
        return;
    double per_second = (double)(bar.done - bar.first_done) / elapsed;
    g_autofree char *rate = bytes ? text_bytes((uint64_t)per_second) : text_count(per_second);
    g_string_append_printf(line, ", %s/s", rate);
    if (bar.total > bar.done) {
        g_autofree char *left = text_duration((double)(bar.total - bar.done) / per_second);
        g_string_append_printf(line, ", %s left", left);
    }
}

/* Draws the bar as one line, cut to the width of the terminal, since a line that wraps could not be cleared. */
static void draw_bar(void)
{
    double now = clock_seconds();
    GString *line = g_string_new(bar.what);
    g_autoptr(GString) numbers = g_string_new(NULL);
    append_numbers(numbers, now);
    if (bar.note)
        g_string_append_printf(numbers, "  %s", bar.note);
    int room = terminal_columns() - (int)(line->len + numbers->len) - (int)strlen(" 100% []") - 1;
    if (bar.total > 0)
        append_bar(line, MIN(room, BAR_CELLS));
    g_string_append(line, numbers->str);
    g_autofree char *valid = g_utf8_make_valid(line->str, (gssize)line->len);
    g_autofree char *shown = g_utf8_substring(valid, 0, MIN(g_utf8_strlen(valid, -1), terminal_columns() - 1));
    g_string_printf(line, CLEAR_LINE "%s", shown);
    write_stderr(line->str);
    g_string_free(line, TRUE);
    bar.drawn_s = now;
}

/* A line that cannot be written is lost as a whole; the next line that can be written says how many are missing. A file
 * that was renamed or deleted is made again. */
static void copy_to_file(LogFile *file, const char *line)
{
    g_autoptr(GDateTime) now = g_date_time_new_now_utc();
    g_autofree char *time = g_date_time_format(now, "%Y-%m-%dT%H:%M:%SZ "), *again = io_append_again(file->io),
                    *said = again ? g_strdup_printf("warning: %s\n", again) : NULL;
    g_autoptr(GString) text = g_string_new(NULL);
    g_autoptr(GError) error = NULL;
    fault_point("log");
    if (said)
        g_string_append_printf(text, "%s%s", time, said);
    if (said && log_speaks())
        write_stderr(said);
    if (file->missed)
        g_string_append_printf(text, "%swarning: %" PRId64 " lines are missing here: they could not be written\n", time,
                               file->missed);
    g_string_append_printf(text, "%s%s", time, line);
    if (io_write(file->io, text->str, text->len, &error) && io_flush(file->io, &error)) {
        file->missed = 0;
        return;
    }
    if (file->missed++ > 0)
        return;
    g_autofree char *warning =
        g_strdup_printf("warning: %s; until it can be written the log is here only\n", error->message);
    write_stderr(warning);
}

/* Replaces "-nan", as printf writes a NaN with its sign bit set, by "nan". */
static void unsign_nan(char *text)
{
    for (char *p = text; (p = strstr(p, "-nan")); p++)
        if ((p == text || !g_ascii_isalnum(p[-1])) && !g_ascii_isalnum(p[4]))
            memmove(p, p + 1, strlen(p));
}

void log_line(const char *prefix, bool shown, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    g_autofree char *message = g_strdup_vprintf(format, args);
    va_end(args);
    unsign_nan(message);
    g_autofree char *printable = text_printable(message), *line = g_strconcat(prefix, printable, "\n", NULL);
    LogFile *file = current_file();
    shown = shown && log_speaks();
    G_GNUC_UNUSED g_autoptr(GMutexLocker) held = g_mutex_locker_new(&lock);
    if (shown && bar.what)
        write_stderr(CLEAR_LINE);
    if (shown)
        write_stderr(line);
    if (file->io)
        copy_to_file(file, line);
    if (shown && bar.what)
        draw_bar();
}

bool log_to_file(const char *path, GError **error)
{
    IoFile *opened = path ? io_append(path, error) : NULL;
    if (path && opened == NULL)
        return false;
    LogFile *file = current_file();
    G_GNUC_UNUSED g_autoptr(GMutexLocker) held = g_mutex_locker_new(&lock);
    io_abort(file->io); /* nothing is lost: every line was flushed */
    *file = (LogFile){ .io = opened };
    return true;
}

static void clear_bar(void)
{
    g_free(bar.what);
    g_free(bar.unit);
    g_free(bar.note);
    bar = (Progress){ 0 };
}

void progress_open(const char *what, const char *unit, uint64_t total)
{
    if (!log_speaks() || !isatty(STDERR_FILENO) || g_strcmp0(g_getenv("TERM"), "dumb") == 0)
        return;
    G_GNUC_UNUSED g_autoptr(GMutexLocker) held = g_mutex_locker_new(&lock);
    clear_bar();
    bar.what = g_strdup(what);
    bar.unit = g_strdup(unit);
    bar.total = total;
    draw_bar();
}

void progress_update(uint64_t done)
{
    if (!log_speaks())
        return;
    G_GNUC_UNUSED g_autoptr(GMutexLocker) held = g_mutex_locker_new(&lock);
    if (bar.what) {
        double now = clock_seconds();
        if (!bar.updated) {
            bar.first_done = done;
            bar.first_s = now;
            bar.updated = true;
        }
        bar.done = done;
        if (now - bar.drawn_s >= REDRAW_S)
            draw_bar();
    }
}

void progress_note(const char *format, ...)
{
    va_list args;
    if (!log_speaks())
        return;
    va_start(args, format);
    g_autofree char *note = g_strdup_vprintf(format, args);
    va_end(args);
    G_GNUC_UNUSED g_autoptr(GMutexLocker) held = g_mutex_locker_new(&lock);
    if (bar.what) {
        g_free(bar.note);
        bar.note = g_steal_pointer(&note);
    }
}

void progress_close(void)
{
    if (!log_speaks())
        return;
    G_GNUC_UNUSED g_autoptr(GMutexLocker) held = g_mutex_locker_new(&lock);
    if (bar.what)
        write_stderr(CLEAR_LINE);
    clear_bar();
}
