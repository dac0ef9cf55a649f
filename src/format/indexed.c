#include "format/indexed.h"

#include "base/check.h"
#include "base/file.h"
#include "format/indexed_index.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <unistd.h>
#include <xxhash.h>

#define STORED_BYTES ((size_t)16 << 10) /* bytes of stored tokens that are read at a time */

/* The .idx is mapped. The .bin is read: if it was truncated or its disk fails, a read returns an error, while touching
 * a mapping would kill the program. */
struct Indexed {
    GMappedFile *idx_map;
    int bin; /* file descriptor; -1 means none */
    size_t bin_bytes;
    char *bin_path;
    IndexView view;
    int64_t first_document, first_sequence; /* the first ones of indexed_window */
    int64_t n_documents, n_sequences, n_tokens;
};

void indexed_close(Indexed *set)
{
    if (set == NULL)
        return;
    if (set->bin >= 0)
        close(set->bin);
    if (set->idx_map)
        g_mapped_file_unref(set->idx_map);
    g_free(set->bin_path);
    g_free(set);
}
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Indexed, indexed_close)

/* Checks that every sequence is within the .bin. */
static bool check_sequences(Indexed *set, GError **error)
{
    const IndexView *view = &set->view;
    for (int64_t i = 0; i < view->n_sequences; i++) {
        int64_t n = index_length(view, i), offset = index_offset(view, i);
        if (n < 0 || n > INT32_MAX)
            return fail_user(error, "sequence %" G_GINT64_FORMAT " has length %" G_GINT64_FORMAT, i, n);
        if (offset < 0 || offset > G_MAXINT64 / 8 || (size_t)offset * view->offset_bytes % view->token_bytes != 0)
            return fail_user(error,
                             "sequence %" G_GINT64_FORMAT " begins at byte %" G_GINT64_FORMAT ", where no token begins",
                             i, offset);
        size_t begin = (size_t)offset * view->offset_bytes, bytes = (size_t)n * view->token_bytes;
        if (begin > set->bin_bytes || bytes > set->bin_bytes - begin)
            return fail_user(error,
                             "sequence %" G_GINT64_FORMAT
                             " ends at byte %zu of %s, which has only %zu: it is truncated, or of another dataset",
                             i, begin + bytes, set->bin_path, set->bin_bytes);
        set->n_tokens += n;
    }
    return true;
}

Indexed *indexed_open(const char *prefix, GError **error)
{
    g_autofree char *idx_path = g_strconcat(prefix, ".idx", NULL);
    g_autoptr(Indexed) set = g_new0(Indexed, 1);
    set->bin_path = g_strconcat(prefix, ".bin", NULL);
    set->bin = -1;
    if (!(set->idx_map = io_map_file(idx_path, error)) ||
        (set->bin = io_open_regular(set->bin_path, &set->bin_bytes, error)) < 0)
        return NULL;
    if (!index_view_read(&set->view, g_mapped_file_get_contents(set->idx_map), g_mapped_file_get_length(set->idx_map),
                         error) ||
        !check_sequences(set, error)) {
        fail_context(error, "%s", idx_path);
        return NULL;
    }
    set->n_documents = set->view.n_documents;
    set->n_sequences = set->view.n_sequences;
    return g_steal_pointer(&set);
}

/* The first sequence of a document, both numbered in the whole file. */
static int64_t boundary(const Indexed *set, int64_t document)
{
    return set->view.documents ? index_load_i64(set->view.documents, document) : document;
}

void indexed_window(Indexed *set, int64_t first, int64_t last)
{
    CHECK(first >= 0 && first <= last && last <= set->n_documents, "documents [%" PRId64 ", %" PRId64 ") of %" PRId64,
          first, last, set->n_documents);
    set->first_document += first;
    set->n_documents = last - first;
    set->first_sequence = boundary(set, set->first_document);
    set->n_sequences = boundary(set, set->first_document + set->n_documents) - set->first_sequence;
    set->n_tokens = 0;
    for (int64_t i = 0; i < set->n_sequences; i++)
        set->n_tokens += indexed_length(set, i);
}

IndexedForm indexed_form(const Indexed *set)
{
    return set->view.form;
}

int64_t indexed_sequences(const Indexed *set)
{
    return set->n_sequences;
}

int64_t indexed_documents(const Indexed *set)
{
    return set->n_documents;
}

int64_t indexed_tokens(const Indexed *set)
{
    return set->n_tokens;
}

int indexed_dtype(const Indexed *set)
{
    return set->view.dtype;
}

int32_t indexed_length(const Indexed *set, int64_t sequence)
{
    CHECK(sequence >= 0 && sequence < set->n_sequences, "sequence %" PRId64 " of %" PRId64, sequence, set->n_sequences);
    return (int32_t)index_length(&set->view, set->first_sequence + sequence);
}

void indexed_document(const Indexed *set, int64_t document, int64_t *first, int64_t *last)
{
    CHECK(document >= 0 && document < set->n_documents, "document %" PRId64 " of %" PRId64, document, set->n_documents);
    *first = boundary(set, set->first_document + document) - set->first_sequence;
    *last = boundary(set, set->first_document + document + 1) - set->first_sequence;
}

/* Copies n elements of TYPE, at any alignment; elements that do not fit into i32 become -1. */
#define COPY(TYPE, FITS)                                                                                               \
    for (int64_t i = 0; i < n; i++) {                                                                                  \
        TYPE value;                                                                                                    \
        memcpy(&value, p + i * (int64_t)sizeof value, sizeof value);                                                   \
        out[i] = (FITS) ? (int32_t)value : -1;                                                                         \
    }                                                                                                                  \
    break;

static void widen_ids(int dtype, const char *p, int64_t n, int32_t *out)
{
    switch (dtype) {
    case 1:
        COPY(uint8_t, true)
    case 2:
        COPY(int8_t, true)
    case 3:
        COPY(int16_t, true)
    case INDEXED_I32:
        memcpy(out, p, (size_t)n * sizeof *out);
        break;
    case 5:
        COPY(int64_t, value >= INT32_MIN && value <= INT32_MAX)
    case INDEXED_U32:
        COPY(uint32_t, value <= INT32_MAX)
    case 10:
        COPY(uint64_t, value <= INT32_MAX)
    default:
        COPY(uint16_t, true)
    }
}

/* Bytes [at, at + n) of the .bin. */
static bool read_bin(const Indexed *set, size_t at, size_t n, void *out, GError **error)
{
    for (size_t done = 0; done < n;) {
        ssize_t got = pread(set->bin, (char *)out + done, n - done, (off_t)(at + done));
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return fail_errno(error, "reading", set->bin_path);
        if (got == 0)
            return fail_machine(error,
                                "%s was cut while it was in use: it had %zu bytes, and byte %zu is not there any more; "
                                "put it back, or run loam prepare again",
                                set->bin_path, set->bin_bytes, at + done);
        done += (size_t)got;
    }
    return true;
}

bool indexed_read(const Indexed *set, int64_t sequence, int64_t from, int64_t n, int32_t *out, GError **error)
{
    int64_t length = indexed_length(set, sequence);
    CHECK(from >= 0 && n >= 0 && from <= length && n <= length - from, "tokens [%lld, + %lld) of %lld", (long long)from,
          (long long)n, (long long)length);
    const IndexView *view = &set->view;
    size_t at = (size_t)index_offset(view, set->first_sequence + sequence) * view->offset_bytes +
                (size_t)from * view->token_bytes;
    char stored[STORED_BYTES];
    const int64_t most = (int64_t)(STORED_BYTES / view->token_bytes);
    for (int64_t done = 0, take; done < n; done += take, at += (size_t)take * view->token_bytes) {
        take = MIN(n - done, most);
        if (!read_bin(set, at, (size_t)take * view->token_bytes, stored, error))
            return false;
        widen_ids(view->dtype, stored, take, out + done);
    }
    for (int64_t i = 0; view->plus_one && i < n; i++)
        out[i] = out[i] > INT32_MIN ? out[i] - 1 : -1;
    return true;
}

int64_t indexed_locate(const Indexed *set, int64_t sequence)
{
    int64_t low = set->first_document, high = low + set->n_documents;
    while (high - low > 1) {
        int64_t middle = low + (high - low) / 2;
        if (boundary(set, middle) <= set->first_sequence + sequence)
            low = middle;
        else
            high = middle;
    }
    return low;
}

/* The xxh3 of n bytes of the .bin, seeded with another hash; 0 if they cannot be read. */
static uint64_t hash_bin(const Indexed *set, size_t at, size_t n, uint64_t seed)
{
    g_autofree char *bytes = g_malloc(n);
    return read_bin(set, at, n, bytes, NULL) ? XXH3_64bits_withSeed(bytes, n, seed) : 0;
}

/* Only the two ends of the .bin are hashed: a corpus of terabytes cannot be read before the first step. */
int64_t indexed_fingerprint(const Indexed *set)
{
    const size_t sample = (size_t)1 << 20, bin = set->bin_bytes;
    uint64_t hash = XXH3_64bits(g_mapped_file_get_contents(set->idx_map), g_mapped_file_get_length(set->idx_map));
    if (bin > 0) {
        size_t n = MIN(bin, sample);
        hash = hash_bin(set, 0, n, hash);
        hash = hash_bin(set, bin - n, n, hash);
    }
    if (set->n_documents != set->view.n_documents) {
        const int64_t window[] = { set->first_document, set->n_documents };
        hash = XXH3_64bits_withSeed(window, sizeof window, hash);
    }
    return (int64_t)(hash >> 1);
}
