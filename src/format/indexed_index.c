#include "format/indexed_index.h"

#include <string.h>

#define HEADER_BYTES         34 /* Megatron's */
#define FAIRSEQ_BYTES        26
#define LEGACY_BYTES         56 /* Megatron's */
#define LEGACY_FAIRSEQ_BYTES 48
#define MOST                 ((uint64_t)G_MAXINT64 / 64) /* keeps sums of sizes from overflowing */

static const char magic[9] = "MMIDIDX\0", legacy_magic[8] = "TNTIDX\0";

/* Codes that hold tokens: u8, i8, i16, i32, i64, two of floats, u16, u32, u64. */
static const size_t token_bytes_of[] = { 0, 1, 1, 2, 4, 8, 0, 0, 2, 4, 8 };

static uint64_t load_u64(const char *p)
{
    uint64_t value;
    memcpy(&value, p, sizeof value);
    return value;
}

int64_t index_load_i64(const char *array, int64_t i)
{
    return (int64_t)load_u64(array + 8 * i);
}

int64_t index_length(const IndexView *view, int64_t sequence)
{
    if (view->length_bytes == 8)
        return index_load_i64(view->lengths, sequence);
    int32_t value;
    memcpy(&value, view->lengths + 4 * sequence, sizeof value);
    return value;
}

int64_t index_offset(const IndexView *view, int64_t sequence)
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

bool index_view_read(IndexView *view, const char *idx, size_t bytes, GError **error)
{
    bool mapped = bytes >= sizeof magic && memcmp(idx, magic, sizeof magic) == 0;
    bool legacy = bytes >= sizeof legacy_magic && memcmp(idx, legacy_magic, sizeof legacy_magic) == 0;
    *view = (IndexView){ 0 };
    if (!mapped && !legacy)
        return fail_user(error, "not an index of Megatron's or fairseq's (it does not begin with MMIDIDX or TNTIDX)");
    return (mapped ? read_mapped(view, idx, bytes, error) : read_legacy(view, idx, bytes, error)) &&
           (view->documents == NULL || check_documents(view, error));
}
