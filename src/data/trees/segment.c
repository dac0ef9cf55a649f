/* segment.c: finds where to cut a program into segments. The least-breaking cut is a dynamic program over the tokens,
 * from the last to the first, with best(i) = min over i < j <= i + limit of broken(j) + best(j), best(n_tokens) = 0,
 * where broken(j) is the number of nodes that a cut before token j breaks. The minimum over a window that moves by one
 * is at the front of a deque whose values rise. Values are pairs (broken nodes, segments), compared in this order. */
#include "data/trees/trees.h"

/* The nodes that a cut before each token breaks, the root included; (n_tokens + 1), 0 at both ends. */
static int64_t *count_broken(const TreeNode *nodes, int64_t n, int64_t n_tokens)
{
    int64_t *broken = g_new0(int64_t, n_tokens + 2), open = 0;
    for (int64_t i = 0; i < n; i++) { /* cuts before tokens begin + 1 … end - 1 break the node */
        broken[nodes[i].begin + 1]++;
        broken[nodes[i].end]--;
    }
    for (int64_t cut = 0; cut <= n_tokens; cut++) {
        open += broken[cut];
        broken[cut] = cut > 0 && cut < n_tokens ? open + 1 : 0;
    }
    return broken;
}

/* broken: NULL means that a cut breaks only the root. */
static int64_t segment_greedily(const int64_t *broken, int64_t n_tokens, int64_t limit, GArray *ends)
{
    int64_t all = 0;
    for (int64_t end = MIN(limit, n_tokens);; end = MIN(end + limit, n_tokens)) {
        g_array_append_val(ends, end);
        all += broken ? broken[end] : end < n_tokens;
        if (end == n_tokens)
            return all;
    }
}

typedef struct Best {
    int64_t broken, segments; /* broken nodes and number of segments of the tokens from here on */
    int64_t next;             /* where the first segment from here ends */
} Best;

/* Whether a cut before token j is at least as good as one before token k, for whoever can reach both. */
static bool at_least_as_good(const Best *best, const int64_t *broken, int64_t j, int64_t k)
{
    int64_t a = broken[j] + best[j].broken, b = broken[k] + best[k].broken;
    return a < b || (a == b && best[j].segments <= best[k].segments);
}

static int64_t segment_least(const int64_t *broken, int64_t n_tokens, int64_t limit, GArray *ends)
{
    g_autofree Best *best = g_new(Best, n_tokens + 1);
    g_autofree int64_t *deque =
        g_new(int64_t, n_tokens + 1); /* cuts, from [front] the best to [back - 1] the nearest */
    int64_t front = 0, back = 0;
    best[n_tokens] = (Best){ 0 };
    for (int64_t i = n_tokens - 1; i >= 0; i--) {
        /* Among equally good cuts the farthest one stays in front, so that the first segment is as long as possible. */
        while (back > front && !at_least_as_good(best, broken, deque[back - 1], i + 1))
            back--;
        deque[back++] = i + 1;
        while (deque[front] > i + limit)
            front++;
        int64_t j = deque[front];
        best[i] = (Best){ broken[j] + best[j].broken, best[j].segments + 1, j };
    }
    for (int64_t at = 0; at < n_tokens; at = best[at].next)
        g_array_append_val(ends, best[at].next);
    return best[0].broken;
}

int64_t trees_segment(const TreeNode *nodes, int64_t n, int64_t n_tokens, int64_t limit, SegmentRule rule, GArray *ends)
{
    if (n_tokens <= 0)
        return 0;
    if (n == 0) /* both rules cut alike; a text may be too long for arrays over its tokens */
        return segment_greedily(NULL, n_tokens, limit, ends);
    g_autofree int64_t *broken = count_broken(nodes, n, n_tokens);
    return rule == SEGMENT_GREEDY ? segment_greedily(broken, n_tokens, limit, ends)
                                  : segment_least(broken, n_tokens, limit, ends);
}
