#include "data/compat/compat.h"

#include "data/compat/mt19937.h"

#include <inttypes.h>

#define BATCH_MULTIPLE 8 /* fairseq's default of --required-batch-size-multiple */

/* ---- blocks ---- */

/* Cuts n tokens, which start with an item (a line of text), into blocks; returns the number of blocks. */
static int64_t cut_blocks(const int32_t *sizes, int64_t item, int64_t n, int64_t block_size, FairseqBlock *out)
{
    int64_t blocks = 0;
    for (int64_t offset = 0; n > 0; n -= block_size, offset += block_size) {
        while (offset >= sizes[item])
            offset -= sizes[item++];
        out[blocks++] = (FairseqBlock){ (uint32_t)item, (int32_t)offset, (int32_t)MIN(n, block_size) };
    }
    return blocks;
}

static int64_t most_blocks(const int32_t *sizes, int64_t n_items, int64_t block_size)
{
    int64_t tokens = 0;
    for (int64_t i = 0; i < n_items; i++)
        tokens += sizes[i];
    return n_items + tokens / block_size + 1;
}

FairseqBlock *fairseq_blocks(const int32_t *sizes, int64_t n_items, BreakMode mode, int64_t block_size,
                             int64_t *n_blocks)
{
    FairseqBlock *blocks = g_new(FairseqBlock, most_blocks(sizes, n_items, block_size));
    int64_t n = 0, first = 0, held = 0; /* `held` tokens, from item `first` on, are in no block yet */
    for (int64_t i = 0; i < n_items; i++) {
        bool ends_document = mode == BREAK_COMPLETE_DOC && sizes[i] == 1;
        if (ends_document || mode == BREAK_EOS || (mode != BREAK_NONE && held + sizes[i] > block_size)) {
            n += cut_blocks(sizes, first, held, block_size, blocks + n);
            first = i + ends_document;
            held = 0;
        }
        held += ends_document ? 0 : sizes[i];
    }
    *n_blocks = n + cut_blocks(sizes, first, held, block_size, blocks + n);
    return g_renew(FairseqBlock, blocks, *n_blocks);
}

/* ---- batches ---- */

/* out becomes the indices of the blocks sorted by length; blocks of equal length are in a random order. */
static void sort_blocks(const FairseqBlock *blocks, int64_t n, GRand *rng, uint32_t *out)
{
    g_autofree uint32_t *rank = g_new(uint32_t, n), *drawn = g_new(uint32_t, n);
    int32_t longest = 0;
    for (int64_t i = 0; i < n; i++) {
        rank[i] = (uint32_t)i;
        longest = MAX(longest, blocks[i].length);
    }
    numpy_shuffle(rng, rank, n, sizeof *rank);
    for (int64_t i = 0; i < n; i++)
        drawn[rank[i]] = (uint32_t)i;
    g_autofree int64_t *next = g_new0(int64_t, longest + 2); /* index in `out` of the next block of this length */
    for (int64_t i = 0; i < n; i++)
        next[blocks[i].length + 1]++;
    for (int32_t length = 0; length <= longest; length++)
        next[length + 1] += next[length];
    for (int64_t i = 0; i < n; i++)
        out[next[blocks[drawn[i]].length]++] = drawn[i];
}

static bool is_full(Amount size, int64_t n, int64_t longest)
{
    double held = size.unit == UNIT_TOKENS ? (double)((n + 1) * longest) : (double)(n + 1);
    return n > 0 && held > size.value;
}

/* Blocks are sorted by length, so the block that is added last is the longest of its batch. */
FairseqBatches *fairseq_batches(const FairseqBlock *blocks, int64_t n_blocks, Amount size, uint32_t seed)
{
    FairseqBatches *batches = g_new0(FairseqBatches, 1);
    g_autoptr(GRand) rng = g_rand_new_with_seed(seed + 1);
    batches->n_blocks = n_blocks;
    batches->blocks = g_new(uint32_t, n_blocks);
    batches->starts = g_new0(uint32_t, n_blocks + 1);
    sort_blocks(blocks, n_blocks, rng, batches->blocks);
    int64_t first = 0;
    for (int64_t i = 0; i < n_blocks; i++) {
        int64_t n = i - first;
        if (is_full(size, n, blocks[batches->blocks[i]].length)) {
            first += MAX(n / BATCH_MULTIPLE * BATCH_MULTIPLE, n % BATCH_MULTIPLE);
            batches->starts[++batches->n_batches] = (uint32_t)first;
        }
    }
    batches->starts[++batches->n_batches] = (uint32_t)n_blocks;
    batches->starts = g_renew(uint32_t, batches->starts, batches->n_batches + 1);
    return batches;
}

void fairseq_batches_free(FairseqBatches *batches)
{
    g_free(batches->blocks);
    g_free(batches->starts);
    g_free(batches);
}

void fairseq_batches_shuffle(const FairseqBatches *batches, uint32_t seed, int64_t epoch, uint32_t *order)
{
    g_autoptr(GRand) rng = g_rand_new_with_seed(seed + (uint32_t)epoch);
    for (int64_t i = 0; i < batches->n_batches; i++)
        order[i] = (uint32_t)i;
    numpy_shuffle(rng, order, batches->n_batches, sizeof *order);
}

/* ---- samples ---- */

typedef struct Fairseq {
    CompatSpec spec;
    int64_t n_blocks;
    FairseqBlock *blocks;
    FairseqBatches *batches; /* NULL means held-out data: blocks in the order of the text */
    int64_t epoch;           /* the epoch of `visited`; -1 means none */
    uint32_t *visited;       /* (n_blocks) indices of the blocks in the order of that epoch */
    int32_t *tokens;         /* (raw_length) */
} Fairseq;

static void make_blocks(Fairseq *task)
{
    const CompatSpec *spec = &task->spec;
    const Indexed *set = spec->data->set;
    int64_t n = indexed_sequences(set);
    g_autofree int32_t *sizes = g_new(int32_t, n);
    for (int64_t i = 0; i < n; i++)
        sizes[i] = indexed_length(set, i);
    task->blocks = fairseq_blocks(sizes, n, spec->break_mode, spec->config->raw_length - 1, &task->n_blocks);
    if (!spec->held_out && task->n_blocks > 0) {
        task->batches = fairseq_batches(task->blocks, task->n_blocks, spec->batch, spec->seed);
        task->visited = g_new(uint32_t, task->n_blocks);
    }
}

static void *open_fairseq(const CompatSpec *spec, int64_t *n_samples, GError **error)
{
    const Indexed *set = spec->data->set;
    int64_t most = indexed_sequences(set) + indexed_tokens(set) / (spec->config->raw_length - 1) + 1;
    if (most > UINT32_MAX)
        return fail_user(error, "the dataset %s makes up to %" PRId64 " blocks, more than %u; split it",
                         spec->data->prefix, most, UINT32_MAX);
    Fairseq *task = g_new(Fairseq, 1);
    *task = (Fairseq){ .spec = *spec, .epoch = -1, .tokens = g_new(int32_t, spec->config->raw_length) };
    make_blocks(task);
    *n_samples = task->n_blocks;
    return task;
}

static void close_task(void *memory)
{
    Fairseq *task = memory;
    g_clear_pointer(&task->batches, fairseq_batches_free);
    g_free(task->blocks);
    g_free(task->visited);
    g_free(task->tokens);
    g_free(task);
}

static void visit_epoch(Fairseq *task, int64_t epoch)
{
    const FairseqBatches *batches = task->batches;
    g_autofree uint32_t *order = g_new(uint32_t, batches->n_batches);
    int64_t n = 0;
    fairseq_batches_shuffle(batches, task->spec.seed, epoch, order);
    for (int64_t i = 0; i < batches->n_batches; i++)
        for (uint32_t at = batches->starts[order[i]]; at < batches->starts[order[i] + 1]; at++)
            task->visited[n++] = batches->blocks[at];
    task->epoch = epoch;
}

/* Reads a block and the token before it, or </s> if the block starts an item. */
static bool read_block(const Fairseq *task, const FairseqBlock *block, GError **error)
{
    bool inside = block->offset > 0;
    task->tokens[0] = task->spec.config->eos;
    return dataset_read(task->spec.data, block->item, block->offset - inside, block->length + inside,
                        task->spec.config->vocab, task->tokens + !inside, error);
}

/* Epochs are numbered from 1 in fairseq. */
static bool fill_block(void *memory, int64_t epoch, int64_t sample, Example *out, GError **error)
{
    Fairseq *task = memory;
    if (task->batches && task->epoch != epoch + 1)
        visit_epoch(task, epoch + 1);
    const FairseqBlock *block = &task->blocks[task->batches ? task->visited[sample] : sample];
    if (!read_block(task, block, error))
        return false;
    const Text text = { .tokens = task->tokens, .n = block->length + 1 };
    task->spec.objective->apply(task->spec.config, NULL, NULL, &text, out);
    return true;
}

const CompatKind compat_fairseq = { COMPAT_FAIRSEQ, "clm", open_fairseq, close_task, fill_block };
