#include "format/indexed.h"

#include "base/check.h"
#include "format/map.h"

#include <string.h>

#define HEADER_BYTES 34

static const char magic[9] = "MMIDIDX\0";

struct Indexed {
    GMappedFile *bin_map, *idx_map;
    const char *tokens;    /* the .bin */
    const char *lengths;   /* i32 (sequences), tokens each; nothing in the .idx is aligned */
    const char *offsets;   /* i64 (sequences), bytes into the .bin */
    const char *documents; /* i64 (documents + 1), first sequence of each; ends with `n_sequences` */
    int64_t n_sequences, n_documents, n_tokens;
    int dtype;
    size_t token_bytes;
};

/* Megatron's codes that hold tokens; 6 and 7 are floats. */
static const size_t token_bytes_of[] = { 0, 1, 1, 2, 4, 8, 0, 0, 2 };

static uint64_t load_u64(const char *p)
{
    uint64_t value;
    memcpy(&value, p, sizeof value);
    return value;
}

static int64_t load_i64(const char *array, int64_t i)
{
    return (int64_t)load_u64(array + 8 * i);
}

static int32_t load_i32(const char *array, int64_t i)
{
    int32_t value;
    memcpy(&value, array + 4 * i, sizeof value);
    return value;
}

void indexed_close(Indexed *set)
{
    if (set == NULL)
        return;
    if (set->bin_map)
        g_mapped_file_unref(set->bin_map);
    if (set->idx_map)
        g_mapped_file_unref(set->idx_map);
    g_free(set);
}
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Indexed, indexed_close)

/* The file must have the size that its two counts ask for; arrays are found only then. */
static bool check_size(Indexed *set, const char *idx, size_t bytes, GError **error)
{
    uint64_t sequences = load_u64(idx + 18), entries = load_u64(idx + 26);
    uint64_t most = (uint64_t)G_MAXINT64 / 32; /* keeps the sum below from overflowing */
    if (bytes == 26 + 12 * (sequences <= most ? sequences : 0))
        return fail_user(error, "this is fairseq's index, which knows no documents; Megatron's is wanted");
    if (entries == 0)
        return fail_user(error, "it lists no document boundaries, not even the first");
    if (sequences > most || entries > most)
        return fail_user(error,
                         "its counts are impossible: %" G_GUINT64_FORMAT " sequences, %" G_GUINT64_FORMAT
                         " document boundaries",
                         sequences, entries);
    uint64_t want = HEADER_BYTES + 12 * sequences + 8 * entries;
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
    set->n_sequences = (int64_t)sequences;
    set->n_documents = (int64_t)entries - 1;
    set->lengths = idx + HEADER_BYTES;
    set->offsets = set->lengths + 4 * sequences;
    set->documents = set->offsets + 8 * sequences;
    return true;
}

static bool read_header(Indexed *set, GError **error)
{
    const char *idx = g_mapped_file_get_contents(set->idx_map);
    size_t bytes = g_mapped_file_get_length(set->idx_map);
    if (bytes < sizeof magic || memcmp(idx, magic, sizeof magic) != 0)
        return fail_user(error, "not an index of Megatron's (it does not begin with MMIDIDX)");
    if (bytes < HEADER_BYTES)
        return fail_user(error, "truncated: its header has %d bytes, it has %zu", HEADER_BYTES, bytes);
    if (load_u64(idx + 9) != 1)
        return fail_user(error, "version %" G_GUINT64_FORMAT " is unknown, only 1 can be read", load_u64(idx + 9));
    set->dtype = (unsigned char)idx[17];
    if (set->dtype < 1 || set->dtype > 8)
        return fail_user(error, "dtype code %d is unknown", set->dtype);
    set->token_bytes = token_bytes_of[set->dtype];
    if (set->token_bytes == 0)
        return fail_user(error, "dtype code %d is for floats, not tokens", set->dtype);
    return check_size(set, idx, bytes, error);
}

/* Every sequence must lie within the .bin. */
static bool check_sequences(Indexed *set, const char *bin_path, size_t bin_bytes, GError **error)
{
    for (int64_t i = 0; i < set->n_sequences; i++) {
        int64_t n = load_i32(set->lengths, i), offset = load_i64(set->offsets, i);
        if (n < 0)
            return fail_user(error, "sequence %" G_GINT64_FORMAT " has length %" G_GINT64_FORMAT, i, n);
        if (offset < 0 || (size_t)offset % set->token_bytes != 0)
            return fail_user(error,
                             "sequence %" G_GINT64_FORMAT " begins at byte %" G_GINT64_FORMAT ", which no token does",
                             i, offset);
        if ((size_t)offset > bin_bytes || (size_t)n * set->token_bytes > bin_bytes - (size_t)offset)
            return fail_user(error,
                             "sequence %" G_GINT64_FORMAT " ends at byte %" G_GUINT64_FORMAT
                             " of %s, which has only %zu: it is truncated, or of another dataset",
                             i, (uint64_t)offset + (uint64_t)n * set->token_bytes, bin_path, bin_bytes);
        set->n_tokens += n;
    }
    return true;
}

static bool check_documents(const Indexed *set, GError **error)
{
    int64_t before = 0;
    if (load_i64(set->documents, 0) != 0)
        return fail_user(error, "the first document begins at sequence %" G_GINT64_FORMAT ", not 0",
                         load_i64(set->documents, 0));
    for (int64_t i = 1; i <= set->n_documents; i++) {
        int64_t at = load_i64(set->documents, i);
        if (at < before)
            return fail_user(error,
                             "document %" G_GINT64_FORMAT " ends at sequence %" G_GINT64_FORMAT
                             ", before it begins (%" G_GINT64_FORMAT ")",
                             i - 1, at, before);
        before = at;
    }
    if (before != set->n_sequences)
        return fail_user(error, "the last document ends at sequence %" G_GINT64_FORMAT " of %" G_GINT64_FORMAT, before,
                         set->n_sequences);
    return true;
}

Indexed *indexed_open(const char *prefix, GError **error)
{
    g_autofree char *bin_path = g_strconcat(prefix, ".bin", NULL), *idx_path = g_strconcat(prefix, ".idx", NULL);
    g_autoptr(Indexed) set = g_new0(Indexed, 1);
    if (!(set->idx_map = map_file(idx_path, error)) || !(set->bin_map = map_file(bin_path, error)))
        return NULL;
    set->tokens = g_mapped_file_get_contents(set->bin_map);
    if (!read_header(set, error) || !check_sequences(set, bin_path, g_mapped_file_get_length(set->bin_map), error) ||
        !check_documents(set, error)) {
        fail_context(error, "%s", idx_path);
        return NULL;
    }
    return g_steal_pointer(&set);
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
    return set->dtype;
}

int32_t indexed_length(const Indexed *set, int64_t sequence)
{
    CHECK(sequence >= 0 && sequence < set->n_sequences, "sequence %lld of %lld", (long long)sequence,
          (long long)set->n_sequences);
    return load_i32(set->lengths, sequence);
}

void indexed_document(const Indexed *set, int64_t document, int64_t *first, int64_t *last)
{
    CHECK(document >= 0 && document < set->n_documents, "document %lld of %lld", (long long)document,
          (long long)set->n_documents);
    *first = load_i64(set->documents, document);
    *last = load_i64(set->documents, document + 1);
}

/* Copies n elements of TYPE; `from` is not aligned to anything. */
#define WIDEN(TYPE)                                                                                                    \
    for (int64_t i = 0; i < n; i++) {                                                                                  \
        TYPE value;                                                                                                    \
        memcpy(&value, p + i * (int64_t)sizeof value, sizeof value);                                                   \
        out[i] = value;                                                                                                \
    }

void indexed_read(const Indexed *set, int64_t sequence, int64_t from, int64_t n, int32_t *out)
{
    int64_t length = indexed_length(set, sequence);
    CHECK(from >= 0 && n >= 0 && from <= length && n <= length - from, "tokens [%lld, + %lld) of %lld", (long long)from,
          (long long)n, (long long)length);
    if (n == 0)
        return; /* the .bin may be empty, and then not mapped */
    const char *p = set->tokens + load_i64(set->offsets, sequence) + from * (int64_t)set->token_bytes;
    switch (set->dtype) {
    case 1:
        WIDEN(uint8_t)
        break;
    case 2:
        WIDEN(int8_t)
        break;
    case 3:
        WIDEN(int16_t)
        break;
    case INDEXED_I32:
        memcpy(out, p, (size_t)n * sizeof *out);
        break;
    case 5:
        for (int64_t i = 0; i < n; i++) {
            int64_t value = load_i64(p, i);
            out[i] = value >= INT32_MIN && value <= INT32_MAX ? (int32_t)value : -1;
        }
        break;
    default:
        WIDEN(uint16_t)
    }
}
