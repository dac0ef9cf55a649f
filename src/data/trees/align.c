/* align.c: nodes over bytes to nodes over tokens. */
#include "data/trees/trees.h"

#include <string.h>

/* (n_tokens) the byte of each token's first character that is no white space, else its first. Ascending. g_free. */
static uint32_t *token_places(const char *text, const uint32_t *ends, int64_t n_tokens)
{
    uint32_t *places = g_new(uint32_t, n_tokens), begin = 0;
    for (int64_t i = 0; i < n_tokens; i++) {
        uint32_t at = begin;
        while (at < ends[i] && g_ascii_isspace(text[at]))
            at++;
        places[i] = at < ends[i] ? at : begin;
        begin = ends[i];
    }
    return places;
}

/* The first token in [from, n) that is placed at or after `byte`. */
static int64_t first_at(const uint32_t *places, int64_t from, int64_t n, uint32_t byte)
{
    int64_t step = 1, low = from, high;
    for (high = from; high < n && places[high] < byte; step *= 2) {
        low = high + 1;
        high += step;
    }
    high = MIN(high, n);
    while (low < high) {
        int64_t middle = low + (high - low) / 2;
        if (places[middle] < byte)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

void trees_align(const GArray *nodes, const Grammar *grammar, const char *text, const uint32_t *ends, int64_t n_tokens,
                 GArray *out)
{
    int n_types = grammar->n_types;
    g_autofree uint16_t *is_name = g_new(uint16_t, n_types);
    g_autofree uint32_t *places = token_places(text, ends, n_tokens);
    int64_t begin = 0; /* nodes start at ascending bytes */
    for (int type = 0; type < n_types; type++)
        is_name[type] = strcmp(grammar_type(grammar, type), "identifier") == 0;
    for (guint i = 0; i < nodes->len; i++) {
        const SyntaxNode *node = &g_array_index(nodes, SyntaxNode, i);
        begin = first_at(places, begin, n_tokens, node->begin);
        int64_t end = first_at(places, begin, n_tokens, node->end);
        const TreeNode placed = { (int32_t)begin, (int32_t)end, node->type, is_name[node->type] };
        if (begin < end)
            g_array_append_val(out, placed);
    }
}

/* The first of n nodes that starts at or after a token. */
static int64_t first_node(const TreeNode *nodes, int64_t n, int64_t token)
{
    int64_t low = 0, high = n;
    while (low < high) {
        int64_t middle = low + (high - low) / 2;
        if (nodes[middle].begin < token)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

void trees_cut(const TreeNode *nodes, int64_t n, int64_t from, int64_t to, GArray *out)
{
    for (int64_t i = first_node(nodes, n, from); i < n && nodes[i].begin < to; i++) {
        TreeNode node = nodes[i];
        node.begin -= (int32_t)from;
        node.end = (int32_t)(MIN(node.end, to) - from);
        g_array_append_val(out, node);
    }
}
