#include "data/chunks.h"

#include "base/check.h"

#include <inttypes.h>

/* Epochs whose order is kept; two, because a batch may start in one epoch and end in the next. */
#define CACHED_EPOCHS 2

/* The documents of an epoch: the i-th is document order[i] and starts at token starts[i] of the joined documents. */
typedef struct Epoch {
    int64_t number;  /* -1 means not built yet */
    uint32_t *order; /* (documents); NULL means the order of the file */
    int64_t *starts; /* (documents + 1) */
} Epoch;

struct Chunks {
    const Dataset *data;
    const Indexed *set;
    ChunksSpec spec;
    int64_t n_documents, n_tokens, n_chunks;
    /* TEXT_DOCUMENTS: */
    int64_t n_full;       /* chunks of raw_length tokens */
    int64_t *full_starts; /* (documents + 1) number of the first full chunk of a document */
    uint32_t *rests;      /* (n_chunks - n_full) the document of each shorter chunk */

    Epoch epochs[CACHED_EPOCHS]; /* epoch e is entry e mod CACHED_EPOCHS */
};

static int64_t document_length(const Chunks *chunks, int64_t document)
{
    int64_t first, last, length = (chunks->spec.separator >= 0) - chunks->spec.without_end;
    indexed_document(chunks->set, document, &first, &last);
    for (int64_t sequence = first; sequence < last; sequence++)
        length += indexed_length(chunks->set, sequence);
    return MAX(length, 0);
}

static void cut_documents(Chunks *chunks)
{
    int64_t raw = chunks->spec.raw_length, n_rests = 0;
    chunks->full_starts = g_new0(int64_t, chunks->n_documents + 1);
    chunks->rests = g_new(uint32_t, chunks->n_documents);
    for (int64_t document = 0; document < chunks->n_documents; document++) {
        int64_t length = document_length(chunks, document);
        chunks->full_starts[document + 1] = chunks->full_starts[document] + length / raw;
        if (length % raw >= chunks->spec.min_length)
            chunks->rests[n_rests++] = (uint32_t)document;
    }
    chunks->n_full = chunks->full_starts[chunks->n_documents];
    chunks->n_chunks = chunks->n_full + n_rests;
}

/* The index of a chunk's first token within the joined documents. *n becomes its length unless the text goes on. */
static int64_t chunk_begin(const Chunks *chunks, int64_t chunk, int64_t *n)
{
    const ChunksSpec *spec = &chunks->spec;
    int64_t begin = chunk * (spec->raw_length - spec->overlap);
    *n = spec->raw_length;
    if (spec->cut)
        spec->cut(spec->config, chunk, &begin, n);
    return begin;
}

/* A chunk starts only if at least min_length tokens are left. */
static int64_t count_chunks(const Chunks *chunks)
{
    int64_t last = chunks->n_tokens - chunks->spec.min_length, low = 0, high = last + 1, n;
    while (low < high) {
        int64_t middle = low + (high - low) / 2;
        if (chunk_begin(chunks, middle, &n) <= last)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

Chunks *chunks_open(const Dataset *data, const ChunksSpec *spec)
{
    Chunks *chunks = g_new0(Chunks, 1);
    int64_t stride = spec->raw_length - spec->overlap;
    CHECK(stride > 0, "chunks of %" PRId64 " tokens that share %" PRId64, spec->raw_length, spec->overlap);
    chunks->data = data;
    chunks->set = data->set;
    chunks->spec = *spec;
    chunks->n_documents = indexed_documents(data->set);
    chunks->n_tokens = indexed_tokens(data->set) + (spec->separator >= 0 ? chunks->n_documents : 0);
    if (spec->text == TEXT_DOCUMENTS)
        cut_documents(chunks);
    else
        chunks->n_chunks = count_chunks(chunks);
    for (int i = 0; i < CACHED_EPOCHS; i++)
        chunks->epochs[i].number = -1;
    return chunks;
}

void chunks_close(Chunks *chunks)
{
    if (!chunks)
        return;
    for (int i = 0; i < CACHED_EPOCHS; i++) {
        g_free(chunks->epochs[i].order);
        g_free(chunks->epochs[i].starts);
    }
    g_free(chunks->full_starts);
    g_free(chunks->rests);
    g_free(chunks);
}

int64_t chunks_count(const Chunks *chunks)
{
    return chunks->n_chunks;
}

int64_t chunks_tokens(const Chunks *chunks)
{
    return chunks->n_tokens;
}

int64_t chunks_length(const Chunks *chunks, int64_t chunk)
{
    int64_t raw = chunks->spec.raw_length, n;
    CHECK(chunk >= 0 && chunk < chunks->n_chunks, "chunk %" PRId64 " of %" PRId64, chunk, chunks->n_chunks);
    if (chunks->spec.text == TEXT_CONCATENATED) {
        int64_t left = chunks->n_tokens - chunk_begin(chunks, chunk, &n);
        return MIN(n, left);
    }
    return chunk < chunks->n_full ? raw : document_length(chunks, chunks->rests[chunk - chunks->n_full]) % raw;
}

/* ---- the order of an epoch ---- */

static void shuffle_documents(const Chunks *chunks, Epoch *epoch)
{
    Philox rng = philox_open(philox_key(chunks->spec.seed, PHILOX_DOCUMENT_ORDER, 0), (uint64_t)epoch->number);
    for (uint32_t i = 0; i < chunks->n_documents; i++)
        epoch->order[i] = i;
    for (int64_t i = chunks->n_documents - 1; i > 0; i--) {
        uint64_t j = philox_below(&rng, (uint64_t)i + 1);
        uint32_t swapped = epoch->order[i];
        epoch->order[i] = epoch->order[j];
        epoch->order[j] = swapped;
    }
}

static int64_t document_at(const Epoch *epoch, int64_t i)
{
    return epoch->order ? epoch->order[i] : i;
}

static void build_epoch(const Chunks *chunks, Epoch *epoch, int64_t number)
{
    epoch->number = number;
    if (!epoch->starts)
        epoch->starts = g_new(int64_t, chunks->n_documents + 1);
    if (!chunks->spec.in_order) {
        if (!epoch->order)
            epoch->order = g_new(uint32_t, chunks->n_documents);
        shuffle_documents(chunks, epoch);
    }
    epoch->starts[0] = 0;
    for (int64_t i = 0; i < chunks->n_documents; i++)
        epoch->starts[i + 1] = epoch->starts[i] + document_length(chunks, document_at(epoch, i));
}

static const Epoch *find_epoch(Chunks *chunks, int64_t number)
{
    Epoch *epoch = &chunks->epochs[number % CACHED_EPOCHS];
    if (epoch->number != number)
        build_epoch(chunks, epoch, number);
    return epoch;
}

/* ---- reading ---- */

/* The index of the last of n ranges that starts at or before `at`. */
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

/* Copies tokens [from, from + n) of a document, or up to its end; the separator (EOS) after the document counts as its
 * last token. *copied becomes the number of tokens. */
static bool read_from_document(const Chunks *chunks, int64_t document, int64_t from, int64_t n, int32_t *out,
                               int64_t *copied, GError **error)
{
    bool separated = chunks->spec.separator >= 0;
    int64_t first, last, left = document_length(chunks, document) - from, text = MIN(n, left - separated);
    indexed_document(chunks->set, document, &first, &last);
    if (!dataset_read(chunks->data, first, from, text, chunks->spec.vocab, out, error))
        return false;
    *copied = MIN(n, left);
    if (text < *copied)
        out[text] = chunks->spec.separator;
    return true;
}

static bool read_concatenated(Chunks *chunks, int64_t epoch_number, int64_t begin, int64_t n, int32_t *out,
                              GError **error)
{
    const Epoch *epoch = find_epoch(chunks, epoch_number);
    int64_t done = 0, copied;
    for (int64_t i = find_range(epoch->starts, chunks->n_documents, begin); done < n; i++, done += copied)
        if (!read_from_document(chunks, document_at(epoch, i), begin + done - epoch->starts[i], n - done, out + done,
                                &copied, error))
            return false;
    return true;
}

/* Full chunks are shuffled anew in every epoch, so a sample, whose lengths never change, gets other text in each. */
static int64_t shuffled_chunk(const Chunks *chunks, int64_t epoch, int64_t chunk)
{
    if (chunks->spec.in_order || chunk >= chunks->n_full)
        return chunk;
    return (int64_t)philox_permute(philox_key(chunks->spec.seed, PHILOX_DOCUMENT_ORDER, 0), (uint64_t)epoch,
                                   (uint64_t)chunk, (uint64_t)chunks->n_full);
}

int64_t chunks_document(const Chunks *chunks, int64_t epoch, int64_t chunk, int64_t *from)
{
    int64_t raw = chunks->spec.raw_length, number = shuffled_chunk(chunks, epoch, chunk), document, start;
    CHECK(chunks->spec.text == TEXT_DOCUMENTS, "chunk %" PRId64 " may hold several documents", chunk);
    if (number < chunks->n_full) {
        document = find_range(chunks->full_starts, chunks->n_documents, number);
        start = (number - chunks->full_starts[document]) * raw;
    } else {
        document = chunks->rests[number - chunks->n_full];
        start = document_length(chunks, document) / raw * raw;
    }
    if (from)
        *from = start;
    return document;
}

bool chunks_read(Chunks *chunks, int64_t epoch, int64_t chunk, int32_t *out, GError **error)
{
    int64_t n = chunks_length(chunks, chunk), copied, from;
    if (chunks->spec.text == TEXT_CONCATENATED) {
        int64_t whole, begin = chunk_begin(chunks, chunk, &whole);
        return read_concatenated(chunks, chunks->spec.in_order ? 0 : epoch, begin, n, out, error);
    }
    int64_t document = chunks_document(chunks, epoch, chunk, &from);
    return read_from_document(chunks, document, from, n, out, &copied, error);
}
