#include "data/pieces.h"

#include "base/check.h"

#include <inttypes.h>

#define CACHED_EPOCHS 2 /* neighbours: a batch may begin in one and end in the next */

/* The documents of an epoch. Place p holds document order[p]; it begins at token starts[p] of the concatenation. */
typedef struct Epoch {
    int64_t number;  /* -1: not built */
    uint32_t *order; /* (documents); NULL: the file's order */
    int64_t *starts; /* (documents + 1) */
    uint64_t last_use;
} Epoch;

struct Pieces {
    const Dataset *data;
    const Indexed *set;
    PiecesSpec spec;
    int64_t n_documents, n_tokens, n_pieces;
    int64_t n_full;       /* by documents: pieces of raw_length */
    int64_t *full_starts; /* (documents + 1) the first full piece of a document */
    uint32_t *rests;      /* (n_pieces - n_full) the document of each shorter piece */

    Epoch epochs[CACHED_EPOCHS];
    uint64_t uses;
};

static int64_t document_length(const Pieces *pieces, int64_t document)
{
    int64_t first, last, length = pieces->spec.separator >= 0;
    indexed_document(pieces->set, document, &first, &last);
    for (int64_t sequence = first; sequence < last; sequence++)
        length += indexed_length(pieces->set, sequence);
    return length;
}

static void cut_documents(Pieces *pieces)
{
    int64_t raw = pieces->spec.raw_length, n_rests = 0;
    pieces->full_starts = g_new0(int64_t, pieces->n_documents + 1);
    pieces->rests = g_new(uint32_t, pieces->n_documents);
    for (int64_t document = 0; document < pieces->n_documents; document++) {
        int64_t length = document_length(pieces, document);
        pieces->full_starts[document + 1] = pieces->full_starts[document] + length / raw;
        if (length % raw >= pieces->spec.min_length)
            pieces->rests[n_rests++] = (uint32_t)document;
    }
    pieces->n_full = pieces->full_starts[pieces->n_documents];
    pieces->n_pieces = pieces->n_full + n_rests;
}

/* Of the concatenation. */
static int64_t piece_begin(const Pieces *pieces, int64_t piece, int64_t *n)
{
    const PiecesSpec *spec = &pieces->spec;
    int64_t begin = piece * (spec->raw_length - spec->overlap);
    *n = spec->raw_length;
    if (spec->cut)
        spec->cut(spec->config, piece, &begin, n);
    return begin;
}

/* Those that begin where min_length tokens are left at least. */
static int64_t count_pieces(const Pieces *pieces)
{
    int64_t last = pieces->n_tokens - pieces->spec.min_length, low = 0, high = last + 1, n;
    while (low < high) {
        int64_t middle = low + (high - low) / 2;
        if (piece_begin(pieces, middle, &n) <= last)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

Pieces *pieces_open(const Dataset *data, const PiecesSpec *spec)
{
    Pieces *pieces = g_new0(Pieces, 1);
    int64_t stride = spec->raw_length - spec->overlap;
    CHECK(stride > 0, "pieces of %" PRId64 " that share %" PRId64, spec->raw_length, spec->overlap);
    pieces->data = data;
    pieces->set = data->set;
    pieces->spec = *spec;
    pieces->n_documents = indexed_documents(data->set);
    pieces->n_tokens = indexed_tokens(data->set) + (spec->separator >= 0 ? pieces->n_documents : 0);
    if (spec->text == TEXT_DOCUMENTS)
        cut_documents(pieces);
    else
        pieces->n_pieces = count_pieces(pieces);
    for (int i = 0; i < CACHED_EPOCHS; i++)
        pieces->epochs[i].number = -1;
    return pieces;
}

void pieces_close(Pieces *pieces)
{
    if (!pieces)
        return;
    for (int i = 0; i < CACHED_EPOCHS; i++) {
        g_free(pieces->epochs[i].order);
        g_free(pieces->epochs[i].starts);
    }
    g_free(pieces->full_starts);
    g_free(pieces->rests);
    g_free(pieces);
}

int64_t pieces_count(const Pieces *pieces)
{
    return pieces->n_pieces;
}

int64_t pieces_tokens(const Pieces *pieces)
{
    return pieces->n_tokens;
}

int64_t pieces_length(const Pieces *pieces, int64_t piece)
{
    int64_t raw = pieces->spec.raw_length, n;
    CHECK(piece >= 0 && piece < pieces->n_pieces, "piece %" PRId64 " of %" PRId64, piece, pieces->n_pieces);
    if (pieces->spec.text == TEXT_CONCATENATED) {
        int64_t left = pieces->n_tokens - piece_begin(pieces, piece, &n);
        return MIN(n, left);
    }
    return piece < pieces->n_full ? raw : document_length(pieces, pieces->rests[piece - pieces->n_full]) % raw;
}

/* ---- the order of an epoch ---- */

static void shuffle_documents(const Pieces *pieces, Epoch *epoch)
{
    Philox rng = philox_open(philox_key(pieces->spec.seed, PHILOX_DOCUMENT_ORDER, 0), (uint64_t)epoch->number);
    for (uint32_t i = 0; i < pieces->n_documents; i++)
        epoch->order[i] = i;
    for (int64_t i = pieces->n_documents - 1; i > 0; i--) {
        uint64_t j = philox_below(&rng, (uint64_t)i + 1);
        uint32_t swapped = epoch->order[i];
        epoch->order[i] = epoch->order[j];
        epoch->order[j] = swapped;
    }
}

static int64_t document_at(const Epoch *epoch, int64_t place)
{
    return epoch->order ? epoch->order[place] : place;
}

static void build_epoch(const Pieces *pieces, Epoch *epoch, int64_t number)
{
    epoch->number = number;
    if (!epoch->starts)
        epoch->starts = g_new(int64_t, pieces->n_documents + 1);
    if (!pieces->spec.in_order) {
        if (!epoch->order)
            epoch->order = g_new(uint32_t, pieces->n_documents);
        shuffle_documents(pieces, epoch);
    }
    epoch->starts[0] = 0;
    for (int64_t place = 0; place < pieces->n_documents; place++)
        epoch->starts[place + 1] = epoch->starts[place] + document_length(pieces, document_at(epoch, place));
}

static const Epoch *find_epoch(Pieces *pieces, int64_t number)
{
    Epoch *oldest = &pieces->epochs[0];
    for (int i = 0; i < CACHED_EPOCHS; i++) {
        Epoch *epoch = &pieces->epochs[i];
        if (epoch->number == number) {
            epoch->last_use = ++pieces->uses;
            return epoch;
        }
        if (epoch->last_use < oldest->last_use)
            oldest = epoch;
    }
    build_epoch(pieces, oldest, number);
    oldest->last_use = ++pieces->uses;
    return oldest;
}

/* ---- reading ---- */

/* The last of n ranges that begins at or before `at`. */
static int64_t find_range(const int64_t *starts, int64_t n, int64_t at)
{
    int64_t low = 0, high = n;
    while (high - low > 1) {
        int64_t middle = low + (high - low) / 2;
        if (starts[middle] <= at)
            low = middle;
        else
            high = middle;
    }
    return low;
}

/* Copies tokens [from, from + n) of a document and the separator after it, or as many as there are; *copied: how many.
 */
static bool read_document(const Pieces *pieces, int64_t document, int64_t from, int64_t n, int32_t *out,
                          int64_t *copied, GError **error)
{
    int64_t first, last, done = 0;
    indexed_document(pieces->set, document, &first, &last);
    for (int64_t sequence = first; sequence < last && done < n; sequence++) {
        int64_t length = indexed_length(pieces->set, sequence), take = MIN(length - from, n - done);
        if (take > 0) {
            if (!dataset_read(pieces->data, sequence, from, take, pieces->spec.vocab, out + done, error))
                return false;
            done += take;
        }
        from = MAX(from - length, 0);
    }
    if (pieces->spec.separator >= 0 && done < n && from == 0)
        out[done++] = pieces->spec.separator;
    *copied = done;
    return true;
}

static bool read_concatenated(Pieces *pieces, int64_t epoch_number, int64_t begin, int64_t n, int32_t *out,
                              GError **error)
{
    const Epoch *epoch = find_epoch(pieces, epoch_number);
    int64_t done = 0, copied;
    for (int64_t place = find_range(epoch->starts, pieces->n_documents, begin); done < n; place++, done += copied)
        if (!read_document(pieces, document_at(epoch, place), begin + done - epoch->starts[place], n - done, out + done,
                           &copied, error))
            return false;
    return true;
}

/* Full piece `piece` of an epoch is another one in the file: so a sample whose form is fixed meets other text. */
static int64_t deal_piece(const Pieces *pieces, int64_t epoch, int64_t piece)
{
    if (pieces->spec.in_order || piece >= pieces->n_full)
        return piece;
    return (int64_t)philox_permute(philox_key(pieces->spec.seed, PHILOX_DOCUMENT_ORDER, 0), (uint64_t)epoch,
                                   (uint64_t)piece, (uint64_t)pieces->n_full);
}

typedef struct Place {
    int64_t document, from; /* its token that a piece begins with */
} Place;

static Place find_place(const Pieces *pieces, int64_t epoch, int64_t piece)
{
    int64_t raw = pieces->spec.raw_length, dealt = deal_piece(pieces, epoch, piece);
    CHECK(pieces->spec.text == TEXT_DOCUMENTS, "piece %" PRId64 " is of no one document", piece);
    if (dealt < pieces->n_full) {
        int64_t document = find_range(pieces->full_starts, pieces->n_documents, dealt);
        return (Place){ document, (dealt - pieces->full_starts[document]) * raw };
    }
    int64_t document = pieces->rests[dealt - pieces->n_full];
    return (Place){ document, document_length(pieces, document) / raw * raw };
}

bool pieces_read(Pieces *pieces, int64_t epoch, int64_t piece, int32_t *out, GError **error)
{
    int64_t n = pieces_length(pieces, piece), copied;
    if (pieces->spec.text == TEXT_CONCATENATED) {
        int64_t whole, begin = piece_begin(pieces, piece, &whole);
        return read_concatenated(pieces, pieces->spec.in_order ? 0 : epoch, begin, n, out, error);
    }
    Place place = find_place(pieces, epoch, piece);
    return read_document(pieces, place.document, place.from, n, out, &copied, error);
}

int64_t pieces_document(const Pieces *pieces, int64_t epoch, int64_t piece)
{
    return find_place(pieces, epoch, piece).document;
}

int64_t pieces_sentences(const Pieces *pieces, int64_t epoch, int64_t piece, int64_t *out)
{
    Place place = find_place(pieces, epoch, piece);
    int64_t n = pieces_length(pieces, piece), first, last, found = 0, begin = -place.from;
    indexed_document(pieces->set, place.document, &first, &last);
    for (int64_t sequence = first; sequence < last && begin < n; sequence++) {
        if (begin > 0 && (found == 0 || out[found - 1] < begin))
            out[found++] = begin;
        begin += indexed_length(pieces->set, sequence);
    }
    return found;
}
