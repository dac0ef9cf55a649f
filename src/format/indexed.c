#include "format/indexed.h"

#include "base/check.h"
#include "base/file.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <unistd.h>
#include <xxhash.h>

#define STORED_BYTES         ((size_t)16 << 10) /* bytes of stored tokens that are read at a time */
#define HEADER_BYTES         34                 /* Megatron's */
#define FAIRSEQ_BYTES        26
#define LEGACY_BYTES         56 /* Megatron's */
#define LEGACY_FAIRSEQ_BYTES 48
#define MOST                 ((uint64_t)G_MAXINT64 / 64) /* keeps sums of sizes from overflowing */

/* ---- the .idx ---- */

/* The arrays of an .idx, alike for all formats of IndexedForm: addresses in the mapped file, at any alignment. */
typedef struct IndexView {
    IndexedForm form;
    const char *lengths;   /* (n_sequences) integers of length_bytes bytes: number of tokens of each sequence */
    const char *offsets;   /* (n_sequences) i64: start of each sequence in the .bin, in units of offset_bytes bytes */
    const char *documents; /* (n_documents + 1) i64: first sequence of each document; NULL means one sequence each */
    int64_t n_sequences, n_documents;
    int dtype; /* as indexed_dtype */
    size_t token_bytes, length_bytes, offset_bytes;
    bool plus_one; /* stored ids are 1 larger than token ids, as in fairseq's TNTIDX format */
} IndexView;

static const char magic[9] = "MMIDIDX\0", legacy_magic[8] = "TNTIDX\0";

/* Codes that hold tokens: u8, i8, i16, i32, i64, two of floats, u16, u32, u64. */
static const size_t token_bytes_of[] = { 0, 1, 1, 2, 4, 8, 0, 0, 2, 4, 8 };

static uint64_t load_u64(const char *p)
{
    uint64_t value;
    memcpy(&value, p, sizeof value);
    return value;
}

/* Element i of an array of i64, which may have any alignment. */
static int64_t index_load_i64(const char *array, int64_t i)
{
    return (int64_t)load_u64(array + 8 * i);
}

static int64_t index_length(const IndexView *view, int64_t sequence)
{
    if (view->length_bytes == 8)
        return index_load_i64(view->lengths, sequence);
    int32_t value;
    memcpy(&value, view->lengths + 4 * sequence, sizeof value);
    return value;
}

/* As stored: in units of offset_bytes bytes. */
static int64_t index_offset(const IndexView *view, int64_t sequence)
{
    return index_load_i64(view->offsets, sequence);
}

static bool read_dtype(IndexView *view, uint64_t code, uint64_t last, GError **error)
{
    if (code < 1 || code > last)
        return fail_user(error, "dtype code %" G_GUINT64_FORMAT " is unknown", code);
    view->dtype = (int)code;
    view->token_bytes = token_bytes_of[code];
    if (view->token_bytes == 0)
        return fail_user(error, "dtype code %d is for floats, not tokens", view->dtype);
    return true;
}

static bool check_index_size(uint64_t want, size_t bytes, uint64_t sequences, uint64_t entries, GError **error)
{
    if (bytes < want)
        return fail_user(error,
                         "truncated by %" G_GUINT64_FORMAT " bytes: %" G_GUINT64_FORMAT
                         " sequences and %" G_GUINT64_FORMAT " document boundaries need %" G_GUINT64_FORMAT
                         ", it has %zu",
                         want - bytes, sequences, entries, want, bytes);
    if (bytes > want)
        return fail_user(error,
                         "%" G_GUINT64_FORMAT " bytes too long: %" G_GUINT64_FORMAT " sequences and %" G_GUINT64_FORMAT
                         " document boundaries need %" G_GUINT64_FORMAT,
                         bytes - want, sequences, entries, want);
    return true;
}

static bool check_counts(uint64_t sequences, uint64_t entries, GError **error)
{
    if (entries == 0)
        return fail_user(error, "it lists no document boundaries, not even the first");
    if (sequences > MOST || entries > MOST)
        return fail_user(error,
                         "its counts are impossible: %" G_GUINT64_FORMAT " sequences, %" G_GUINT64_FORMAT
                         " document boundaries",
                         sequences, entries);
    return true;
}

/* Megatron's and fairseq's MMIDIDX have the same magic and version; only the sizes of the files tell them apart. */
static bool read_mapped(IndexView *view, const char *idx, size_t bytes, GError **error)
{
    if (bytes < FAIRSEQ_BYTES)
        return fail_user(error, "truncated: its header has %d bytes, it has %zu", HEADER_BYTES, bytes);
    if (load_u64(idx + 9) != 1)
        return fail_user(error, "version %" G_GUINT64_FORMAT " is unknown, only 1 can be read", load_u64(idx + 9));
    uint64_t sequences = load_u64(idx + 18);
    bool fairseq = sequences <= MOST && bytes == FAIRSEQ_BYTES + 12 * sequences;
    if (!fairseq && bytes < HEADER_BYTES)
        return fail_user(error, "truncated: its header has %d bytes, it has %zu", HEADER_BYTES, bytes);
    if (!read_dtype(view, (unsigned char)idx[17], fairseq ? 10 : 8, error))
        return false;
    uint64_t entries = fairseq ? sequences + 1 : load_u64(idx + 26);
    if (!fairseq && (!check_counts(sequences, entries, error) ||
                     !check_index_size(HEADER_BYTES + 12 * sequences + 8 * entries, bytes, sequences, entries, error)))
        return false;
    view->form = fairseq ? INDEXED_FAIRSEQ : INDEXED_MEGATRON;
    view->n_sequences = (int64_t)sequences;
    view->n_documents = (int64_t)entries - 1;
    view->lengths = idx + (fairseq ? FAIRSEQ_BYTES : HEADER_BYTES);
    view->offsets = view->lengths + 4 * sequences;
    view->documents = fairseq ? NULL : view->offsets + 8 * sequences;
    view->length_bytes = 4;
    view->offset_bytes = 1;
    return true;
}

/* A sequence of TNTIDX may have more than one dimension; one of tokens has one. */
static bool check_dimensions(const char *dimensions, int64_t n, GError **error)
{
    for (int64_t i = 0; i <= n; i++)
        if (index_load_i64(dimensions, i) != i)
            return fail_user(error, "sequence %" G_GINT64_FORMAT " has not one dimension, as tokens have",
                             MAX(i - 1, 0));
    return true;
}

/* TNTIDX, of Megatron's and fairseq's `lazy` and `cached` datasets; only Megatron's has documents. */
static bool read_legacy(IndexView *view, const char *idx, size_t bytes, GError **error)
{
    if (bytes < LEGACY_FAIRSEQ_BYTES)
        return fail_user(error, "truncated: its header has %d bytes, it has %zu", LEGACY_FAIRSEQ_BYTES, bytes);
    if (load_u64(idx + 8) != 1)
        return fail_user(error, "version %" G_GUINT64_FORMAT " is unknown, only 1 can be read", load_u64(idx + 8));
    uint64_t token_bytes = load_u64(idx + 24), sequences = load_u64(idx + 32), sizes = load_u64(idx + 40);
    bool fairseq = sequences <= MOST && bytes == LEGACY_FAIRSEQ_BYTES + 24 * sequences + 16;
    if (!fairseq && bytes < LEGACY_BYTES)
        return fail_user(error, "truncated: its header has %d bytes, it has %zu", LEGACY_BYTES, bytes);
    uint64_t entries = fairseq ? sequences + 1 : load_u64(idx + 48);
    if (!read_dtype(view, load_u64(idx + 16), 8, error) || !check_counts(sequences, entries, error))
        return false;
    if (token_bytes != view->token_bytes)
        return fail_user(error, "its tokens have %" G_GUINT64_FORMAT " bytes, but dtype code %d has %zu", token_bytes,
                         view->dtype, view->token_bytes);
    if (sizes != sequences)
        return fail_user(error, "%" G_GUINT64_FORMAT " sizes for %" G_GUINT64_FORMAT " sequences: not one dimension",
                         sizes, sequences);
    uint64_t header = fairseq ? LEGACY_FAIRSEQ_BYTES : LEGACY_BYTES, arrays = 24 * sequences + 16;
    if (!check_index_size(header + arrays + (fairseq ? 0 : 8 * entries), bytes, sequences, entries, error))
        return false;
    view->form = fairseq ? INDEXED_LEGACY_FAIRSEQ : INDEXED_LEGACY;
    view->n_sequences = (int64_t)sequences;
    view->n_documents = (int64_t)entries - 1;
    view->offsets = idx + header + 8 * (sequences + 1);
    view->lengths = view->offsets + 8 * (sequences + 1);
    view->documents = fairseq ? NULL : view->lengths + 8 * sequences;
    view->length_bytes = 8;
    view->offset_bytes = view->token_bytes;
    view->plus_one = fairseq;
    return check_dimensions(idx + header, view->n_sequences, error);
}

static bool check_documents(const IndexView *view, GError **error)
{
    int64_t before = 0;
    if (index_load_i64(view->documents, 0) != 0)
        return fail_user(error, "the first document begins at sequence %" G_GINT64_FORMAT ", not 0",
                         index_load_i64(view->documents, 0));
    for (int64_t i = 1; i <= view->n_documents; i++) {
        int64_t at = index_load_i64(view->documents, i);
        if (at < before)
            return fail_user(error,
                             "document %" G_GINT64_FORMAT " ends at sequence %" G_GINT64_FORMAT
                             ", before it begins (%" G_GINT64_FORMAT ")",
                             i - 1, at, before);
        before = at;
    }
    if (before != view->n_sequences)
        return fail_user(error, "the last document ends at sequence %" G_GINT64_FORMAT " of %" G_GINT64_FORMAT, before,
                         view->n_sequences);
    return true;
}

/* Reads the content of an .idx and checks everything that can be checked without the .bin. */
static bool index_view_read(IndexView *view, const char *idx, size_t bytes, GError **error)
{
    bool mapped = bytes >= sizeof magic && memcmp(idx, magic, sizeof magic) == 0;
    bool legacy = bytes >= sizeof legacy_magic && memcmp(idx, legacy_magic, sizeof legacy_magic) == 0;
    *view = (IndexView){ 0 };
    if (!mapped && !legacy)
        return fail_user(error, "not an index of Megatron's or fairseq's (it does not begin with MMIDIDX or TNTIDX)");
    return (mapped ? read_mapped(view, idx, bytes, error) : read_legacy(view, idx, bytes, error)) &&
           (view->documents == NULL || check_documents(view, error));
}

/* ---- the dataset ---- */

/* The .idx is mapped. The .bin is read: if it is cut or its disk fails, reads fail, while a mapping would kill loam. */
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
        !check_sequences(set, error))
        return fail_context(error, "%s", idx_path);
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
