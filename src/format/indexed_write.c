/* indexed_write.c: writes .bin and .idx. */
#include "format/indexed.h"

#include "base/check.h"
#include "base/file.h"
#include "base/lock.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define CHUNK 4096 /* elements converted at a time */

/* Writes token datasets (indexed.h). These files have names while a dataset is being written: the lock, which keeps its
 * name until the others have been moved or removed, and the two files of the dataset. Lengths and document boundaries
 * are in files without a name. */
enum { LOCK, BIN, IDX, N_NAMED };
static const char *const named_suffixes[N_NAMED] = { ".lock.tmp", ".bin.tmp", ".idx.tmp" };

struct IndexedWriter {
    char *prefix;
    char *paths[N_NAMED];
    IoFile *bin, *idx, *lengths, *documents; /* NULL means not open */
    int lock;                                /* descriptor of the locked file: one process writes a dataset at a time */
    bool locked;                             /* the name of the lock led to it when it was taken */
    int64_t vocab, n_sequences, n_documents,
        sequences_ended; /* sequences_ended: number of sequences before the last document boundary */
    IndexedForm form;
    int dtype;
    IndexedWriter *next; /* next in the list of open writers */
};

/* A program that must end at once (base/fatal.h) removes its unfinished files. */
static GMutex open_mutex;
static IndexedWriter *open_writers;

/* False if the dataset's folder, or the lock in it, was removed or replaced: files there belong to another process. */
static bool is_owner(const IndexedWriter *writer)
{
    return !writer->locked || io_is_named(writer->lock, writer->paths[LOCK]);
}

static void remove_unfinished(void)
{
    if (!g_mutex_trylock(&open_mutex))
        return; /* the program ends while a writer is being opened */
    for (IndexedWriter *writer = open_writers; writer; writer = writer->next)
        for (int i = N_NAMED - 1; i >= 0 && is_owner(writer); i--)
            unlink(writer->paths[i]);
}

static void remember(IndexedWriter *writer)
{
    static gsize once;
    if (g_once_init_enter(&once))
        g_once_init_leave(&once, at_quick_exit(remove_unfinished) == 0 ? 1 : 2);
    G_GNUC_UNUSED g_autoptr(GMutexLocker) held = g_mutex_locker_new(&open_mutex);
    writer->next = open_writers;
    open_writers = writer;
}

static void forget(const IndexedWriter *writer)
{
    G_GNUC_UNUSED g_autoptr(GMutexLocker) held = g_mutex_locker_new(&open_mutex);
    for (IndexedWriter **at = &open_writers; *at; at = &(*at)->next)
        if (*at == writer) {
            *at = writer->next;
            break;
        }
}

static void writer_free(IndexedWriter *writer)
{
    for (int i = 0; i < N_NAMED; i++)
        g_free(writer->paths[i]);
    if (writer->lock >= 0)
        close(writer->lock);
    g_free(writer->prefix);
    g_free(writer);
}

void indexed_writer_close(IndexedWriter *writer)
{
    if (writer == NULL)
        return;
    forget(writer);
    io_discard(writer->idx);
    io_discard(writer->bin);
    io_abort(writer->documents);
    io_abort(writer->lengths);
    if (is_owner(writer))
        io_remove_file(writer->paths[LOCK], NULL);
    writer_free(writer);
}

bool indexed_writer_check_owner(const IndexedWriter *writer, GError **error)
{
    return is_owner(writer) ||
           fail_machine(error,
                        "the dataset %s was removed or replaced while it was written, perhaps by another process; "
                        "nothing is written there",
                        writer->prefix);
}

static bool write_i64(IoFile *file, int64_t value, GError **error)
{
    return io_write(file, &value, sizeof value, error);
}

/* Locks PREFIX.lock.tmp before anything is written; fails if another process writes this dataset. A file that
 * another process removed between open and lock is no lock for anybody: then a new one is made. Some file systems give
 * a file another number each time, so the number of tries is limited. */
static bool lock_dataset(IndexedWriter *writer, GError **error)
{
    const char *path = writer->paths[LOCK];
    for (int tries = 0; tries < 100 && !writer->locked; tries++) {
        if (writer->lock >= 0)
            close(writer->lock);
        writer->lock = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
        if (writer->lock < 0)
            return fail_errno(error, "opening", path);
        if (lock_open_file(writer->lock) != LOCK_HELD)
            return fail_user(error, "another process is writing the dataset %s: wait for it, or give another name",
                             writer->prefix);
        writer->locked = io_is_named(writer->lock, path);
    }
    return true;
}

IndexedWriter *indexed_writer_open(const char *prefix, IndexedForm form, int64_t vocab, GError **error)
{
    CHECK(vocab > 0 && vocab <= INT32_MAX, "vocabulary of %lld", (long long)vocab);
    IndexedWriter *writer = g_new0(IndexedWriter, 1);
    writer->lock = -1;
    writer->prefix = g_strdup(prefix);
    writer->vocab = vocab;
    writer->form = form;
    writer->dtype = vocab < 65500 ? INDEXED_U16 : form == INDEXED_FAIRSEQ ? INDEXED_U32 : INDEXED_I32;
    for (int i = 0; i < N_NAMED; i++)
        writer->paths[i] = g_strconcat(prefix, named_suffixes[i], NULL);
    if (!lock_dataset(writer, error)) {
        writer_free(writer);
        return NULL;
    }
    remember(writer);
    g_autofree char *folder = g_path_get_dirname(prefix);
    if ((writer->lengths = io_create_scratch(folder, error)) &&
        (writer->documents = io_create_scratch(folder, error)) &&
        (writer->bin = io_create(writer->paths[BIN], error)) && write_i64(writer->documents, 0, error))
        return writer;
    indexed_writer_close(writer);
    return NULL;
}

static bool write_u16(IoFile *file, const int32_t *tokens, int64_t n, GError **error)
{
    uint16_t narrow[CHUNK];
    for (int64_t at = 0; at < n; at += CHUNK) {
        int64_t m = MIN(CHUNK, n - at);
        for (int64_t i = 0; i < m; i++)
            narrow[i] = (uint16_t)tokens[at + i];
        if (!io_write(file, narrow, (size_t)m * sizeof *narrow, error))
            return false;
    }
    return true;
}

bool indexed_writer_add(IndexedWriter *writer, const int32_t *tokens, int64_t n, GError **error)
{
    if (n > INT32_MAX)
        return fail_user(error, "%s: a sequence of %" G_GINT64_FORMAT " tokens is too long for the format",
                         writer->prefix, n);
    for (int64_t i = 0; i < n; i++)
        CHECK(tokens[i] >= 0 && tokens[i] < writer->vocab, "token %d of a vocabulary of %lld", tokens[i],
              (long long)writer->vocab);
    int32_t length = (int32_t)n;
    writer->n_sequences++;
    return (writer->dtype == INDEXED_U16 ? write_u16(writer->bin, tokens, n, error)
                                         : io_write(writer->bin, tokens, (size_t)n * sizeof *tokens, error)) &&
           io_write(writer->lengths, &length, sizeof length, error);
}

bool indexed_writer_end_document(IndexedWriter *writer, GError **error)
{
    writer->n_documents++;
    writer->sequences_ended = writer->n_sequences;
    return write_i64(writer->documents, writer->n_sequences, error);
}

static bool write_offsets(IndexedWriter *writer, GMappedFile *lengths, GError **error)
{
    const char *at = g_mapped_file_get_contents(lengths);
    int64_t offset = 0, token_bytes = writer->dtype == INDEXED_U16 ? 2 : 4;
    for (int64_t i = 0; i < writer->n_sequences; i++) {
        int32_t length;
        memcpy(&length, at + 4 * i, sizeof length);
        if (!write_i64(writer->idx, offset, error))
            return false;
        offset += length * token_bytes;
    }
    return true;
}

static bool write_index(IndexedWriter *writer, GMappedFile *lengths, GMappedFile *documents, GError **error)
{
    static const char start[17] = "MMIDIDX\0\0\1"; /* magic, and version 1 as u64 */
    char dtype = (char)writer->dtype;
    IoFile *idx = writer->idx;
    bool fairseq = writer->form == INDEXED_FAIRSEQ;
    return io_write(idx, start, sizeof start, error) && io_write(idx, &dtype, 1, error) &&
           write_i64(idx, writer->n_sequences, error) && (fairseq || write_i64(idx, writer->n_documents + 1, error)) &&
           io_write(idx, g_mapped_file_get_contents(lengths), (size_t)writer->n_sequences * 4, error) &&
           write_offsets(writer, lengths, error) &&
           (fairseq ||
            io_write(idx, g_mapped_file_get_contents(documents), g_mapped_file_get_length(documents), error));
}

/* The old index is removed when the new files are complete, and the new one renamed last, so that there is never an
 * index beside the .bin of another dataset. */
static bool move_into_place(IndexedWriter *writer, GError **error)
{
    g_autofree char *bin = g_strconcat(writer->prefix, ".bin", NULL), *idx = g_strconcat(writer->prefix, ".idx", NULL);
    g_autofree char *folder = g_path_get_dirname(writer->prefix);
    return io_sync(writer->bin, error) && io_sync(writer->idx, error) && indexed_writer_check_owner(writer, error) &&
           io_remove_file(idx, error) && io_publish(g_steal_pointer(&writer->bin), bin, error) &&
           io_publish(g_steal_pointer(&writer->idx), idx, error) && io_sync_directory(folder, error);
}

bool indexed_writer_publish(IndexedWriter *writer, GError **error)
{
    CHECK(writer->sequences_ended == writer->n_sequences, "%lld sequences after the last document's end",
          (long long)(writer->n_sequences - writer->sequences_ended));
    g_autoptr(GMappedFile) lengths = NULL, documents = NULL;
    return (lengths = io_map(writer->lengths, error)) && (documents = io_map(writer->documents, error)) &&
           indexed_writer_check_owner(writer, error) && (writer->idx = io_create(writer->paths[IDX], error)) &&
           write_index(writer, lengths, documents, error) && move_into_place(writer, error);
}

bool indexed_writer_finish(IndexedWriter *writer, GError **error)
{
    bool ok = indexed_writer_publish(writer, error);
    indexed_writer_close(writer);
    return ok;
}
