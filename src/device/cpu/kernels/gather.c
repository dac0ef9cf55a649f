/* gather.c: rows of a table by index, read, written and added to. */
#include "device/cpu/kernels/rows.h"

static void check_gathered(Tensor ids, int64_t rows)
{
    const int32_t *id = ids.p;
    for (int64_t i = 0; i < ids.d[0]; i++)
        CHECK(id[i] >= 0 && id[i] < rows, "id %d of token %lld in a table of %lld rows", id[i], (long long)i,
              (long long)rows);
}

void KERNEL(gather)(Device *dev, Tensor y, Tensor table, Tensor ids)
{
    const int32_t *id = ids.p;
    check_gathered(ids, table.d[0]);
#pragma omp parallel for num_threads(team(dev, tensor_count(y))) schedule(static)
    for (int64_t i = 0; i < y.d[0]; i++)
        row_copy(y, i, table, id[i], 0, y.d[1]);
}

/* The tokens of each entry of a table, in their order: first[id] is the first token with that id, next[i] the next one
 * with the id of token i; -1 means none. */
typedef struct TokenLists {
    int32_t *first, *next;
} TokenLists;

static TokenLists tokens_of(Device *dev, Tensor ids, int64_t entries)
{
    const int32_t *id = ids.p;
    int32_t *first = cpu_workspace(dev, (size_t)(entries + ids.d[0]) * sizeof *first), *next = first + entries;
    memset(first, -1, (size_t)entries * sizeof *first);
    for (int64_t i = ids.d[0] - 1; i >= 0; i--) {
        next[i] = first[id[i]];
        first[id[i]] = (int32_t)i;
    }
    return (TokenLists){ first, next };
}

enum { CHUNK = 256 };

/* Channels [begin, end) of entry `id` += those of its tokens, from `token` on: in f32, rounded once. */
static void add_tokens(Tensor dtable, int64_t id, Tensor dy, const int32_t *next, int32_t token, Range channels)
{
    for (int64_t first = channels.begin; first < channels.end; first += CHUNK) {
        ALIGNED float sums[CHUNK], buffer[CHUNK];
        int64_t n = min_i64(CHUNK, channels.end - first);
        float *d = row_update(sums, dtable, id, first, n);
        for (int32_t i = token; i >= 0; i = next[i]) {
            const float *g = row_read(buffer, dy, i, first, n);
            SIMD for (int64_t c = 0; c < n; c++) d[c] += g[c];
        }
        row_write(dtable, id, first, n, d);
    }
}

/* Each thread has some columns of the table and adds the tokens of an entry in their order, so the result does not
 * depend on the number of threads. */
void KERNEL(scatter_add)(Device *dev, Tensor dtable, Tensor dy, Tensor ids, float beta)
{
    const int32_t *id = ids.p;
    check_gathered(ids, dtable.d[0]);
    if (beta == 0.0f)
        KERNEL(fill)(dev, dtable, 0);
    else if (beta != 1.0f)
        KERNEL(scale)(dev, dtable, dtable, beta);
    TokenLists tokens = tokens_of(dev, ids, dtable.d[0]);
#pragma omp parallel num_threads(team(dev, tensor_count(dy)))
    {
        Range channels = share(dy.d[1], 32);
        for (int32_t i = 0; i < (int32_t)dy.d[0]; i++)
            if (tokens.first[id[i]] == i)
                add_tokens(dtable, id[i], dy, tokens.next, i, channels);
    }
}

void KERNEL(scatter)(Device *dev, Tensor y, Tensor x, Tensor rows)
{
    const int32_t *to = rows.p;
    check_gathered(rows, y.d[0]);
#pragma omp parallel for num_threads(team(dev, tensor_count(x))) schedule(static)
    for (int64_t i = 0; i < x.d[0]; i++)
        row_copy(y, to[i], x, i, 0, x.d[1]);
}
