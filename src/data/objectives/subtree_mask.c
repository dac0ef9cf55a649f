/* subtree_mask.c: masks along the syntax tree of a program, and random spans for text without a tree. */
#include "base/check.h"
#include "data/objectives/objectives.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

/* x, rounded up with the probability of its fraction. */
static int64_t round_randomly(Philox *rng, double x)
{
    return (int64_t)floor(x + philox_uniform(rng));
}

/* ---- spans of text ---- */

/* Puts a random subset of k of the n values first. */
static void draw_subset(Philox *rng, int64_t *values, int64_t n, int64_t k)
{
    for (int64_t i = 0; i < k; i++) {
        int64_t j = i + (int64_t)philox_below(rng, (uint64_t)(n - i)), value = values[i];
        values[i] = values[j];
        values[j] = value;
    }
}

static double span_starts(double density, int64_t span_length, int64_t n)
{
    return density * (double)n / ((1 + (double)span_length) / 2);
}

/* All spans grow together: of k with i tokens, k (1 - 1 / (span_length - i)) get another, so lengths are uniform. */
void span_mask(Philox *rng, double density, int64_t span_length, int64_t n, bool *mask)
{
    g_autofree int64_t *ends = g_new(int64_t, n); /* the last token of each span */
    int64_t k = MIN(round_randomly(rng, span_starts(density, span_length, n)), n);
    memset(mask, 0, (size_t)n * sizeof *mask);
    for (int64_t i = 0; i < n; i++)
        ends[i] = i;
    draw_subset(rng, ends, n, k);
    for (int64_t i = 0; i < k; i++)
        mask[ends[i]] = true;
    for (int64_t length = 1; length < span_length; length++) {
        int64_t kept = round_randomly(rng, (double)k * (1 - 1 / (double)(span_length - length + 1)));
        draw_subset(rng, ends, k, kept);
        k = kept;
        for (int64_t i = 0; i < k; i++) {
            ends[i] = (ends[i] + 1) % n;
            mask[ends[i]] = true;
        }
    }
}

int64_t span_mask_most(double density, int64_t span_length, int64_t n)
{
    double k = ceil(span_starts(density, span_length, n)), all = k;
    for (int64_t length = 1; length < span_length; length++)
        all += k = floor(k * (1 - 1 / (double)(span_length - length + 1)) + 1);
    return MIN((int64_t)all, n);
}

/* ---- identifiers ---- */

/* The occurrences of one identifier are names[first] … names[first + count - 1]. */
typedef struct Identifier {
    int64_t first, count;
    double weight; /* tokens of all occurrences */
} Identifier;

static gint compare_rule_names(gconstpointer pa, gconstpointer pb, gpointer opaque)
{
    const TreeNode *a = pa, *b = pb;
    const int32_t *tokens = opaque;
    int32_t length_a = a->end - a->begin, length_b = b->end - b->begin;
    if (length_a != length_b)
        return length_a < length_b ? -1 : 1;
    int order = memcmp(tokens + a->begin, tokens + b->begin, (size_t)length_a * sizeof *tokens);
    return order != 0 ? order : a->begin < b->begin ? -1 : a->begin > b->begin;
}

static bool same_name(const int32_t *tokens, const TreeNode *a, const TreeNode *b)
{
    return a->end - a->begin == b->end - b->begin &&
           memcmp(tokens + a->begin, tokens + b->begin, (size_t)(a->end - a->begin) * sizeof *tokens) == 0;
}

/* names: TreeNode of all identifiers; equal ones follow each other, in the text's order. Returns Identifier. */
static GArray *group_names(const int32_t *tokens, const TreeNode *tree, int64_t n_nodes, GArray *names)
{
    GArray *groups = g_array_new(FALSE, FALSE, sizeof(Identifier));
    int32_t end = 0; /* end of the last identifier, so that an identifier within it is left out */
    for (int64_t i = 0; i < n_nodes; i++)
        if (tree[i].is_name && tree[i].begin >= end) {
            g_array_append_val(names, tree[i]);
            end = tree[i].end;
        }
    g_array_sort_with_data(names, compare_rule_names, (void *)tokens);
    for (guint i = 0; i < names->len; i++) {
        const TreeNode *name = &g_array_index(names, TreeNode, i);
        if (i == 0 || !same_name(tokens, name, &g_array_index(names, TreeNode, i - 1))) {
            const Identifier group = { .first = i };
            g_array_append_val(groups, group);
        }
        Identifier *group = &g_array_index(groups, Identifier, groups->len - 1);
        group->count++;
        group->weight += name->end - name->begin;
    }
    return groups;
}

/* The index of one of n groups, drawn in proportion to their weights. */
static guint draw_group(Philox *rng, const GArray *groups)
{
    double all = 0;
    for (guint i = 0; i < groups->len; i++)
        all += g_array_index(groups, Identifier, i).weight;
    double at = philox_uniform(rng) * all;
    for (guint i = 0; i + 1 < groups->len; i++)
        if ((at -= g_array_index(groups, Identifier, i).weight) < 0)
            return i;
    return groups->len - 1;
}

/* Draws identifiers one after another and masks all occurrences of each; of the last identifier, for which the rest of
 * the budget is too small, some consecutive occurrences. Returns the number of masked tokens. */
static int64_t mask_identifiers(Philox *rng, int64_t budget, const int32_t *tokens, const TreeNode *tree,
                                int64_t n_nodes, bool *mask)
{
    g_autoptr(GArray) names = g_array_new(FALSE, FALSE, sizeof(TreeNode));
    g_autoptr(GArray) groups = group_names(tokens, tree, n_nodes, names);
    int64_t left = budget;
    while (left > 0 && groups->len > 0) {
        guint drawn = draw_group(rng, groups);
        const Identifier group = g_array_index(groups, Identifier, drawn);
        const TreeNode *name = &g_array_index(names, TreeNode, group.first);
        int64_t length = name->end - name->begin, count = MIN(group.count, left / length);
        if (count < group.count)
            name += philox_below(rng, (uint64_t)(group.count - count) + 1);
        for (int64_t i = 0; i < count; i++)
            memset(mask + name[i].begin, true, (size_t)length * sizeof *mask);
        left -= count * length;
        if (count < group.count)
            break;
        g_array_remove_index_fast(groups, drawn);
    }
    return budget - left;
}

/* ---- subtrees ---- */

/* A child of a node: an inner node, or a token that no inner node covers. */
typedef struct Child {
    int32_t begin, end;
    int32_t node;  /* index in the tree; -1 means a token */
    int64_t left;  /* tokens that are not masked yet */
    int64_t quota; /* number of its tokens to be masked */
    double key;    /* place in a shuffle */
} Child;

/* The state of a walk over a tree that chooses the tokens to mask. */
typedef struct Walk {
    Philox *rng;
    const SubtreeMaskSettings *settings;
    const TreeNode *tree;
    const int32_t *next; /* (n_nodes) index of the first node after the subtree */
    bool *mask;
} Walk;

static int64_t count_left(const Walk *walk, int32_t begin, int32_t end)
{
    int64_t n = 0;
    for (int32_t i = begin; i < end; i++)
        n += !walk->mask[i];
    return n;
}

/* Appends a node's children that have tokens left. Returns whether all children, also others, are one token long. */
static bool list_children(const Walk *walk, int32_t node, GArray *children)
{
    int32_t at = walk->tree[node].begin, end = walk->tree[node].end, inner = node + 1, after = walk->next[node];
    bool flat = true;
    while (at < end) {
        bool is_node = inner < after && walk->tree[inner].begin == at;
        Child child = { at, is_node ? walk->tree[inner].end : at + 1, is_node ? inner : -1, 0, 0, 0 };
        inner = is_node ? walk->next[inner] : inner;
        flat = flat && child.end - child.begin == 1;
        at = child.end;
        child.left = count_left(walk, child.begin, child.end);
        if (child.left > 0)
            g_array_append_val(children, child);
    }
    return flat;
}

static void mask_all(const Walk *walk, int32_t begin, int32_t end)
{
    memset(walk->mask + begin, true, (size_t)(end - begin) * sizeof *walk->mask);
}

/* Masks spans that start at random tokens of the node and wrap around at its end, until `quota` tokens are masked. */
static void mask_flat(const Walk *walk, int32_t begin, int32_t end, int64_t quota)
{
    uint64_t n = (uint64_t)(end - begin), longest = (uint64_t)MAX(walk->settings->span_length - 1, 1);
    while (quota > 0) {
        uint64_t at = philox_below(walk->rng, n);
        for (uint64_t length = 1 + philox_below(walk->rng, longest); length > 0 && quota > 0; length--, at++) {
            bool *token = &walk->mask[begin + (int32_t)(at % n)];
            quota -= !*token;
            *token = true;
        }
    }
}

/* A multivariate hypergeometric draw: of all tokens left, `quota` are drawn one after another (Knuth's algorithm S). */
static void share_quota(const Walk *walk, Child *children, guint n, int64_t quota, int64_t left)
{
    for (guint i = 0; i < n; i++)
        for (int64_t k = 0; k < children[i].left; k++, left--)
            if ((int64_t)philox_below(walk->rng, (uint64_t)left) < quota) {
                children[i].quota++;
                quota--;
            }
}

typedef struct Sizes {
    int64_t all, least, most;
    int64_t n_fit; /* children that the pool fits into */
} Sizes;

/* The weight of a child in the shuffle that decides which children are masked first, so that every token is masked with
 * about the same probability: exact where the pool does not reach beyond a child, or with two or three children,
 * otherwise a curve that was fitted to it. */
static double shuffle_weight(Philox *rng, const Sizes *sizes, guint n, int64_t pool, int64_t size)
{
    double s = (double)size, all = (double)sizes->all, m = (double)pool;
    if (pool <= sizes->least)
        return s;
    if (pool >= sizes->all - sizes->most && pool <= sizes->most)
        return size == sizes->most ? all / m - 1 : 1;
    if (n == 2)
        return size == sizes->most ? (all - s) / s : 1;
    if (n == 3 && sizes->n_fit == 2)
        return size == sizes->least ? 1 : s * (all / m - 1) / (all - (double)sizes->least);
    double x = s / all, f1 = fmax(x - 0.5798248, 0), f2 = fmax(x - 0.83561796, 0), f3 = fmax(x - 0.90088475, 0);
    double mean = -0.28175632 + 2.39978213 * x - 0.32083743 * f1 - 0.31381148 * f2 - 0.31374825 * f3;
    double deviation = exp(-2.41134106 - 0.30088176 * x - 0.29200343 * f1 - 0.27931809 * f2 - 0.28136072 * f3);
    return exp(mean + deviation * philox_normal(rng)) + 0.001;
}

static gint compare_keys(gconstpointer a, gconstpointer b)
{
    const Child *first = a, *second = b;
    return first->key < second->key ? -1 : first->key > second->key;
}

/* Puts the children in a random order, drawn one after another with probabilities in proportion to their weights.
 * Equivalent: sort by exponentially distributed times whose rates are the weights. */
static void shuffle(const Walk *walk, Child *children, guint n, int64_t pool)
{
    Sizes sizes = { .least = INT64_MAX };
    for (guint i = 0; i < n; i++) {
        sizes.all += children[i].left;
        sizes.least = MIN(sizes.least, children[i].left);
        sizes.most = MAX(sizes.most, children[i].left);
        sizes.n_fit += children[i].left >= pool;
    }
    for (guint i = 0; i < n; i++) {
        double weight = shuffle_weight(walk->rng, &sizes, n, pool, children[i].left);
        children[i].key = -log1p(-philox_uniform(walk->rng)) / fmax(weight, 1e-9);
    }
    qsort(children, n, sizeof *children, compare_keys);
}

static void mask_node(const Walk *walk, int32_t node, int64_t quota);

/* Masks `quota` tokens of a child. A child that is a single token is masked as a whole. */
static void mask_part(const Walk *walk, const Child *child, int64_t quota)
{
    if (quota >= child->left)
        mask_all(walk, child->begin, child->end);
    else if (quota > 0)
        mask_node(walk, child->node, quota);
}

/* Masks whole children in a random order until `pool` tokens are masked, of the last child perhaps only a part. */
static void mask_pool(const Walk *walk, Child *children, guint n, int64_t pool)
{
    if (n == 0 || pool == 0)
        return;
    shuffle(walk, children, n, pool);
    for (guint i = 0; i < n && pool > 0; i++) {
        int64_t quota = MIN(pool, children[i].left);
        mask_part(walk, &children[i], quota);
        pool -= quota;
    }
}

/* Masks `quota` tokens of a node that has at least `quota` tokens left. */
static void mask_node(const Walk *walk, int32_t node, int64_t quota)
{
    g_autoptr(GArray) list = g_array_new(FALSE, FALSE, sizeof(Child));
    const SubtreeMaskSettings *settings = walk->settings;
    bool flat = list_children(walk, node, list);
    Child *children = (Child *)(void *)list->data;
    int64_t left = 0, pool = 0;
    guint n_pool = 0;
    for (guint i = 0; i < list->len; i++)
        left += children[i].left;
    if (quota >= left) {
        mask_all(walk, walk->tree[node].begin, walk->tree[node].end);
        return;
    }
    if (flat) {
        mask_flat(walk, walk->tree[node].begin, walk->tree[node].end, quota);
        return;
    }
    int64_t split = settings->least_split +
                    (int64_t)philox_below(walk->rng, (uint64_t)(settings->most_split - settings->least_split) + 1);
    share_quota(walk, children, list->len, quota, left);
    for (guint i = 0; i < list->len; i++) {
        if (children[i].quota > split) {
            mask_part(walk, &children[i], children[i].quota);
            continue;
        }
        pool += children[i].quota;
        children[n_pool++] = children[i];
    }
    mask_pool(walk, children, n_pool, pool);
}

/* (n_nodes) the index of the first node after each subtree; see Walk. */
static int32_t *find_next(const TreeNode *tree, int64_t n_nodes)
{
    int32_t *next = g_new(int32_t, n_nodes);
    g_autoptr(GArray) open = g_array_new(FALSE, FALSE, sizeof(int32_t));
    for (int32_t i = 0; i <= n_nodes; i++) {
        while (open->len > 0) {
            int32_t around = g_array_index(open, int32_t, open->len - 1);
            if (i < n_nodes && tree[i].begin < tree[around].end)
                break;
            next[around] = i;
            g_array_set_size(open, open->len - 1);
        }
        g_array_append_val(open, i);
    }
    return next;
}

void subtree_mask(Philox *rng, const SubtreeMaskSettings *settings, double density, const int32_t *tokens, int64_t n,
                  const TreeNode *tree, int64_t n_nodes, bool *mask)
{
    g_autofree int32_t *next = find_next(tree, n_nodes);
    const Walk walk = { rng, settings, tree, next, mask };
    int64_t quota = MIN(round_randomly(rng, density * (double)n), n);
    CHECK(n_nodes > 0 && tree[0].begin == 0 && tree[0].end == n, "a root over %d of %" PRId64 " tokens", tree[0].end,
          n);
    memset(mask, 0, (size_t)n * sizeof *mask);
    if (philox_uniform(rng) < settings->identifier_probability) {
        int64_t budget = MIN(round_randomly(rng, settings->identifier_share * (double)quota), quota);
        quota -= mask_identifiers(rng, budget, tokens, tree, n_nodes, mask);
    }
    if (quota > 0)
        mask_node(&walk, 0, quota);
}
