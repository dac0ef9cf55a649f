#include "model/config/sparsity.h"

#include "base/text.h"

#include <stdlib.h>

enum { MAX_BLOCKS = 4096 };

const char *const sparse_pattern_names[] = { [SPARSE_NONE] = "none",
                                             [SPARSE_FIXED] = "fixed",
                                             [SPARSE_VARIABLE] = "variable",
                                             [SPARSE_BIGBIRD] = "bigbird",
                                             [SPARSE_LONGFORMER] = "longformer",
                                             [SPARSE_SLIDING] = "sliding",
                                             NULL };

/* The layout of one head as a matrix of flags, from which the lists of blocks are made. */
typedef struct Grid {
    const Sparsity *is;
    const GArray *local, *global; /* is->local and is->global, as parse_list reads them */
    bool *seen;                   /* (query blocks, key blocks): whether the query block attends to the key block */
    int64_t n;
    int64_t head;
    Philox *rng;
    bool causal;
} Grid;

/* ---- lists of blocks ---- */

/* Reads "2,7-8" as pairs (first, last) of numbers ≥ `least`; NULL if it is no such list. "" means `otherwise`. */
static GArray *parse_list(const char *text, const char *otherwise, int64_t least)
{
    g_autoptr(GArray) list = g_array_new(FALSE, FALSE, sizeof(int64_t));
    g_auto(GStrv) items = text_list(text && *text ? text : otherwise);

    for (char **item = items; *item; item++) {
        g_auto(GStrv) ends = g_strsplit(*item, "-", 2);
        int64_t first = 0, last = 0;
        if (!ends[0] || !g_ascii_string_to_signed(ends[0], 10, least, MAX_BLOCKS, &first, NULL))
            return NULL;
        last = first;
        if (ends[1] && !g_ascii_string_to_signed(ends[1], 10, first, MAX_BLOCKS, &last, NULL))
            return NULL;
        g_array_append_val(list, first);
        g_array_append_val(list, last);
    }
    return list->len ? g_steal_pointer(&list) : NULL;
}

static int64_t list_at(const GArray *list, guint i)
{
    return g_array_index(list, int64_t, i);
}

/* ---- parts of a pattern ---- */

static void see(Grid *grid, int64_t row, int64_t key)
{
    if (!grid->causal || key <= row)
        grid->seen[row * grid->n + key] = true;
}

/* Makes a block global: every block attends to it and, with `rows`, it attends to every block. */
static void see_global(Grid *grid, int64_t block, bool rows)
{
    for (int64_t other = 0; other < grid->n; other++) {
        see(grid, other, block);
        if (rows)
            see(grid, block, other);
    }
}

static void see_listed(Grid *grid, bool rows)
{
    for (guint i = 0; i < grid->global->len; i += 2)
        for (int64_t key = list_at(grid->global, i); key <= MIN(list_at(grid->global, i + 1), grid->n - 1); key++)
            see_global(grid, key, rows);
}

/* Makes blocks first … end - 1 attend to each other. */
static void see_square(Grid *grid, int64_t first, int64_t end)
{
    for (int64_t row = first; row < end; row++)
        for (int64_t key = first; key < end; key++)
            see(grid, row, key);
}

static void see_window(Grid *grid)
{
    int64_t side = grid->is->window / 2;
    for (int64_t row = 0; row < grid->n; row++)
        for (int64_t key = MAX(0, row - side); key < MIN(grid->n, row + side + 1); key++)
            see(grid, row, key);
}

/* per_row random key blocks for each query block, of all or, if causal, up to its own; without replacement. */
static void see_random(Grid *grid, int64_t per_row)
{
    g_autofree int64_t *blocks = g_new(int64_t, grid->n);
    for (int64_t row = 0; row < grid->n; row++) {
        int64_t n = grid->causal ? row + 1 : grid->n;
        for (int64_t k = 0; k < n; k++)
            blocks[k] = k;
        for (int64_t k = 0; k < MIN(per_row, n); k++) {
            int64_t drawn = k + (int64_t)philox_below(grid->rng, (uint64_t)(n - k)), key = blocks[drawn];
            blocks[drawn] = blocks[k];
            see(grid, row, key);
        }
    }
}

/* ---- patterns ---- */

static void fixed(Grid *grid)
{
    const Sparsity *is = grid->is;
    int64_t local = list_at(grid->local, 0), whole = grid->n - grid->n % local;
    int64_t first = local - (1 + grid->head % is->rotations) * is->n_global;

    for (int64_t at = 0; at < grid->n; at += local)
        see_square(grid, at, MIN(at + local, grid->n));
    for (int64_t at = 0; at < grid->n; at += local) {
        int64_t begin = at < whole ? at + first : MAX(0, MIN(whole + first, grid->n - is->n_global));
        for (int64_t key = begin; key < MIN(begin + is->n_global, grid->n); key++)
            see_global(grid, key, is->horizontal);
    }
}

static void variable(Grid *grid)
{
    int64_t begin = 0;
    for (guint i = 0; begin < grid->n; i = MIN(i + 2, grid->local->len - 2)) {
        int64_t end = MIN(begin + list_at(grid->local, i), grid->n);
        see_square(grid, begin, end);
        begin = end;
    }
    see_random(grid, MAX(grid->is->n_random, 0));
    see_listed(grid, grid->is->horizontal);
}

static void bigbird(Grid *grid)
{
    see_random(grid, grid->is->n_random < 0 ? 1 : grid->is->n_random);
    see_window(grid);
    for (int64_t key = 0; key < MIN(grid->is->n_global, grid->n); key++)
        see_global(grid, key, true);
}

static void longformer(Grid *grid)
{
    see_window(grid);
    see_listed(grid, true);
}

static void (*const patterns[])(Grid *grid) = { [SPARSE_FIXED] = fixed,
                                                [SPARSE_VARIABLE] = variable,
                                                [SPARSE_BIGBIRD] = bigbird,
                                                [SPARSE_LONGFORMER] = longformer,
                                                [SPARSE_SLIDING] = see_window };

/* ---- the layout ---- */

static int64_t blocks_of(const Sparsity *is, int64_t positions)
{
    return (positions + is->block - 1) / is->block;
}

static bool check_fixed(const Sparsity *is, int64_t local, GError **error)
{
    if (is->n_global < 1 || local % is->n_global != 0)
        return fail_user(error,
                         "model.sparse_n_global is %" G_GINT64_FORMAT
                         ": pattern fixed needs a divisor of model.sparse_local, %" G_GINT64_FORMAT,
                         is->n_global, local);
    if (is->rotations > local / is->n_global)
        return fail_user(error,
                         "model.sparse_rotations is %" G_GINT64_FORMAT ": a window of %" G_GINT64_FORMAT
                         " blocks has room for %" G_GINT64_FORMAT,
                         is->rotations, local, local / is->n_global);
    return is->rotations == 1 || is->per_head ||
           fail_user(error, "model.sparse_rotations gives heads different layouts: set model.sparse_per_head too");
}

bool sparsity_check(const Sparsity *is, int64_t positions, GError **error)
{
    g_autoptr(GArray) local = parse_list(is->local, "4", 1);
    g_autoptr(GArray) global = parse_list(is->global, "0", 0);

    if (is->pattern == SPARSE_NONE)
        return true;
    if (is->block % 4 != 0)
        return fail_user(error, "model.sparse_block is %" G_GINT64_FORMAT ": it must be a multiple of 4", is->block);
    if (blocks_of(is, positions) > MAX_BLOCKS)
        return fail_user(error,
                         "model.max_positions of %" G_GINT64_FORMAT " are more than %d blocks of model.sparse_block, "
                         "%" G_GINT64_FORMAT " tokens",
                         positions, MAX_BLOCKS, is->block);
    if (!local)
        return fail_user(error, "model.sparse_local \"%s\": write sizes of windows in blocks, such as 4 or 2,4",
                         is->local);
    if (!global)
        return fail_user(error, "model.sparse_global \"%s\": write numbers of blocks, such as 0 or 0,7-8", is->global);
    if (is->window % 2 == 0)
        return fail_user(error, "model.sparse_window is %" G_GINT64_FORMAT ": it must be odd", is->window);
    return is->pattern != SPARSE_FIXED || check_fixed(is, list_at(local, 0), error);
}

static void fill_head(BlockLayout *layout, int32_t *first, GArray *keys, const Grid *grid)
{
    for (int64_t row = 0; row < grid->n; row++) {
        for (int32_t key = 0; key < grid->n; key++)
            if (grid->seen[row * grid->n + key])
                g_array_append_val(keys, key);
        first[grid->head * layout->blocks + row + 1] = (int32_t)keys->len;
    }
}

BlockLayout *sparsity_layout(const Sparsity *is, int64_t positions, int64_t heads, int layer, bool causal)
{
    int64_t n = blocks_of(is, positions), n_heads = is->per_head ? heads : 1;
    BlockLayout *layout = g_new0(BlockLayout, 1);
    Philox rng = philox_open(philox_key((uint64_t)is->seed, PHILOX_SPARSITY, (uint32_t)layer), 0);
    GArray *keys = g_array_new(FALSE, FALSE, sizeof(int32_t));
    g_autoptr(GArray) local = parse_list(is->local, "4", 1);
    g_autoptr(GArray) global = parse_list(is->global, "0", 0);
    g_autofree bool *seen = g_new(bool, n *n);
    int32_t *first = g_new0(int32_t, n_heads * n + 1);

    *layout = (BlockLayout){ .size = (int32_t)is->block, .blocks = (int32_t)n, .heads = (int32_t)n_heads };
    for (int64_t head = 0; head < n_heads; head++) {
        Grid grid = { is, local, global, seen, n, head, &rng, causal };
        memset(seen, 0, (size_t)(n * n) * sizeof *seen);
        patterns[is->pattern](&grid);
        fill_head(layout, first, keys, &grid);
    }
    layout->first.host = first;
    layout->keys.host = (int32_t *)(void *)g_array_free(keys, FALSE);
    return layout;
}

void sparsity_layout_free(BlockLayout *layout)
{
    if (!layout)
        return;
    g_free((int32_t *)layout->first.host);
    g_free((int32_t *)layout->keys.host);
    g_free(layout);
}
